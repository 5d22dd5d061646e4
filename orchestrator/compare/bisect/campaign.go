package bisect

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/orchestrator/compare/statistics"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
)

// Errors of Run.
var (
	// ErrNoChange: the bad end is no worse than the good one.
	ErrNoChange = errors.New("bad is no worse than good")
	// ErrInconclusive: the runs do not tell the two ends apart.
	ErrInconclusive = errors.New("inconclusive")
	// ErrEnd: an end cannot be run; it wraps the reason.
	ErrEnd = errors.New("an end cannot be judged")
	// ErrSkip is what Campaign.Prepare wraps to skip a candidate.
	ErrSkip = errors.New("skipped")
)

// Direction in which the metric gets better.
type Direction int

// Directions.
const (
	Unknown Direction = iota // the good end is the better one
	Lower
	Higher
)

// Question is what to search for.
type Question struct {
	Trial     trial.Trial // experiment, content, variant, flags and overrides of every run
	Metric    string
	Better    Direction
	Delta     float64 // the smallest worsening that is bad; 0: half of that between the ends
	Absolute  bool    // Delta is in the metric's unit, not a share of the good end's value
	Seeds     int     // the most seeds for each candidate; 0: DefaultSeeds
	Repeating bool    // equal runs give equal traces: all clocks but wall
}

// DefaultSeeds is how many seeds a candidate is run with at most.
const DefaultSeeds = 24

// confidence of the whole search: the probability that no verdict by statistics is wrong.
const confidence = 0.95

// Subject is a candidate as it is run.
type Subject struct {
	Name     string   // for people, such as 4be1c2f9a
	Program  string   // csiglab to run
	Identity string   // of the program
	Set      []string // overrides beside those of the question
}

// Campaign is a search with runs of an experiment.
type Campaign struct {
	Question
	Runner   trial.Runner
	Journal  *trial.Journal // may be nil
	Parallel int
	Last     int // the candidates are 0, the good end, to Last, the bad one

	// Prepare returns a candidate ready to be run, and what releases it. The error wraps
	// ErrSkip if the candidate cannot be run but others can. If known reports that an
	// identity was judged before, the subject needs no program.
	Prepare func(ctx context.Context, candidate int, known func(identity string) bool) (s Subject, release func(), err error)
	// Steps are those of an earlier session, whose candidates are not judged again; see
	// Lasting.
	Steps []Step
	// Judged is called with each new step, the two ends included; it may be nil.
	Judged func(Step) error
	// Progress is called while runs of a candidate go on; it may be nil.
	Progress func(name string, done, total int)

	looks     []int
	alpha     float64 // of each verdict
	good, bad Subject
	ends      [2]Step         // on them
	reference []Value         // the good end's, under clocks that repeat
	same      map[string]Step // verdicts by Subject.key
}

// Step is the verdict on one candidate.
type Step struct {
	Candidate int      `json:"candidate"`
	Name      string   `json:"name"`
	Identity  string   `json:"identity,omitempty"`
	Set       []string `json:"set,omitempty"`
	Verdict   string   `json:"verdict"` // good, bad or skipped
	By        string   `json:"by"`      // reference, fingerprint, statistics, build; of skipped ones, build, run or statistics
	Reason    string   `json:"reason,omitempty"`
	Seconds   float64  `json:"seconds"` // of runs
	Runs      []Value  `json:"runs,omitempty"`
	// The comparison with the good end; nil without one.
	Effect *Effect `json:"effect,omitempty"`
}

// Value is the metric of a run.
type Value struct {
	Seed  uint64  `json:"seed"`
	Value float64 `json:"value"`
	Trace string  `json:"trace,omitempty"`
}

// Effect is how much larger the metric is than that of a reference: a share of it, or an
// absolute difference. Low and High are nil where the interval has no end.
type Effect struct {
	Reference float64  `json:"reference"` // medians over the seeds
	Value     float64  `json:"value"`
	Effect    *float64 `json:"effect"` // nil: infinite
	Low       *float64 `json:"low"`
	High      *float64 `json:"high"`
	P         float64  `json:"p"` // of "no worse than the limit"
}

// verdict returns the step's verdict as a Verdict.
func (s *Step) verdict() Verdict {
	for _, v := range []Verdict{Good, Bad} {
		if s.Verdict == v.String() {
			return v
		}
	}
	return Skipped
}

// Result is what a search came to.
type Result struct {
	Good, Bad  Step    // the last good and the first bad candidate that were judged
	Candidates []int   // any of them may be the first bad one; one, unless some were skipped
	Steps      []Step  // in the order in which they were judged, the two ends first
	Change     *Effect // from Good to Bad, over the seeds of both
	Delta      float64 // the limit that was used
	Exact      bool    // every verdict but that on the bad end is by fingerprint
	Confidence float64 // that all verdicts by statistics are right
	Better     Direction
	Runs       int
	Seconds    float64
}

// Run judges the two ends, and searches. The error wraps ErrNoChange, ErrInconclusive or
// ErrEnd if the ends are not as they should be; otherwise it is the context's, the runner's
// or Prepare's.
func (c *Campaign) Run(ctx context.Context) (*Result, error) {
	if err := c.plan(); err != nil {
		return nil, err
	}
	good, release, err := c.end(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer release()
	c.good = good
	if err := c.judgeEnds(ctx); err != nil {
		return nil, err
	}
	first, last, err := Search(ctx, c.Last, func(ctx context.Context, i int) (Verdict, error) {
		s, err := c.judge(ctx, i)
		return s.verdict(), err
	})
	if err != nil {
		return nil, err
	}
	return c.result(first, last), nil
}

// plan fixes the looks and the error probability of each verdict.
func (c *Campaign) plan() error {
	if c.Seeds == 0 {
		c.Seeds = DefaultSeeds
	}
	c.same = map[string]Step{}
	c.alpha = (1 - confidence) / float64(Steps(c.Last)+1)
	// Statistics begin where they can decide, and look again after about twice as many seeds.
	for looks := 1; ; looks++ {
		first := max(c.statistics(0, looks).Fewest())
		c.looks = statistics.Looks(first, c.Seeds)
		if c.Seeds < first {
			return fmt.Errorf("%w: %d seeds cannot tell good from bad with %.0f %% confidence: want %d or more", ErrEnd, c.Seeds, 100*confidence, first)
		}
		if len(c.looks) <= looks {
			return nil
		}
	}
}

// statistics returns the plan of a verdict: each of them is wrong with probability alpha.
func (c *Campaign) statistics(delta float64, looks int) statistics.Plan {
	return statistics.Plan{
		Delta: delta, Absolute: c.Absolute, Higher: c.Better == Higher,
		Confidence: 1 - c.alpha, FalseFail: c.alpha, Looks: looks,
	}
}

// end prepares an end, which cannot be skipped.
func (c *Campaign) end(ctx context.Context, candidate int) (Subject, func(), error) {
	s, release, err := c.Prepare(ctx, candidate, func(string) bool { return false })
	if errors.Is(err, ErrSkip) {
		err = fmt.Errorf("%w: %s %s: %s", ErrEnd, map[bool]Verdict{true: Good, false: Bad}[candidate == 0], s.Name, reasonOf(err))
	}
	return s, release, err
}

// judgeEnds finds out in which direction the metric gets worse and what the limit is, and
// checks that the good end is good and the bad one bad.
func (c *Campaign) judgeEnds(ctx context.Context) error {
	bad, release, err := c.end(ctx, c.Last)
	if err != nil {
		return err
	}
	defer release()
	c.bad = bad
	c.ends[0] = Step{Candidate: 0, Name: c.good.Name, Identity: c.good.Identity, Set: c.good.Set, Verdict: Good.String(), By: "reference"}
	c.ends[1] = Step{Candidate: c.Last, Name: bad.Name, Identity: bad.Identity, Set: bad.Set, Verdict: Bad.String(), By: "statistics"}
	if c.good.key() == bad.key() {
		return fmt.Errorf("%w: both are the same build", ErrNoChange)
	}
	for _, n := range c.looks {
		p, err := c.pairs(ctx, bad, n, c.Last)
		var run *RunError
		if errors.As(err, &run) && !errors.Is(err, ErrEnd) {
			return fmt.Errorf("%w: bad %s: %w", ErrEnd, bad.Name, err)
		}
		if err != nil {
			return err
		}
		c.ends[0].Runs, c.ends[1].Runs, c.ends[1].Seconds = p.good, p.values, p.seconds
		if p.identical(c.Repeating) {
			return fmt.Errorf("%w: the runs of both are the same, packet by packet, with all %d seeds", ErrNoChange, n)
		}
		done, err := c.decideEnds(p, n == c.Seeds)
		if err != nil {
			return err
		}
		if done {
			break
		}
	}
	if c.Repeating {
		c.reference = c.ends[0].Runs
	}
	if err := errors.Join(c.keep(c.ends[0]), c.keep(c.ends[1])); err != nil || c.Repeating {
		return err
	}
	again, err := c.sample(ctx, c.good, 0) // another time
	if err == nil && again.verdict() != Good {
		return fmt.Errorf("%w: good %s, run a second time, is %s against itself: the noise is too large for the limit of %s", ErrInconclusive, c.good.Name, again.Verdict, c.Limit())
	}
	return err
}

// decideEnds judges the bad end at one look. It sets Better and Delta where they are not
// given.
func (c *Campaign) decideEnds(p *pairs, last bool) (done bool, err error) {
	both := statistics.Compare(p.list, c.statistics(0, len(c.looks)))
	better, names := c.Better, fmt.Sprintf("%s of good %s and bad %s", c.Metric, c.good.Name, c.bad.Name)
	if better == Unknown {
		if better = Lower; both.Effect < 0 {
			better = Higher
		}
		if both.P > c.alpha { // no direction yet
			if last {
				return false, fmt.Errorf("%w: %s: %s; %d seeds do not tell them apart", ErrInconclusive, names, c.words(both.Effect, both.Low, both.High), len(p.list))
			}
			return false, nil
		}
	}
	c.Better = better
	j := statistics.Judge(p.list, c.statistics(c.Delta, len(c.looks)))
	c.ends[1].Effect = effectOf(j)
	words := c.words(j.Effect, j.Low, j.High)
	switch better := both.Effect < 0 == (c.Better == Lower); {
	case j.Outcome == statistics.Worse:
		if c.Delta == 0 {
			if c.Delta = math.Abs(j.Effect) / 2; math.IsInf(j.Effect, 0) {
				return false, fmt.Errorf("%w: %s: the good end's value is 0, so that no share of it is a limit: state --delta in the metric's unit", ErrEnd, names)
			}
		}
		return true, nil
	case both.P <= c.alpha && better && both.Effect != 0:
		return false, fmt.Errorf("%w: %s: %s, which is better; to find what made it better, say --better %s", ErrNoChange, names, words, map[Direction]string{Lower: "higher", Higher: "lower"}[c.Better])
	case both.Low == 0 && both.High == 0:
		return false, fmt.Errorf("%w: %s are equal", ErrNoChange, names)
	case j.Outcome == statistics.NoWorse:
		return false, fmt.Errorf("%w: %s: %s%s", ErrNoChange, names, words, c.withLimit())
	case last:
		return false, fmt.Errorf("%w: %s: %s%s: %d seeds do not tell them apart", ErrInconclusive, names, words, c.withLimit(), len(p.list))
	}
	return false, nil
}

// withLimit says what the limit is, if it was given.
func (c *Campaign) withLimit() string {
	if c.Delta == 0 {
		return ""
	}
	return ", with a limit of " + c.Limit()
}

// judge returns the verdict on a candidate between the ends.
func (c *Campaign) judge(ctx context.Context, candidate int) (Step, error) {
	if s, ok := c.before(candidate); ok {
		return s, nil
	}
	subject, release, err := c.Prepare(ctx, candidate, func(identity string) bool {
		_, ok := c.same[Subject{Identity: identity}.key()]
		return ok
	})
	if errors.Is(err, ErrSkip) {
		s := Step{Candidate: candidate, Name: subject.Name, Verdict: Skipped.String(), By: "build", Reason: reasonOf(err)}
		return s, c.keep(s)
	}
	if err != nil {
		return Step{}, err
	}
	defer release()
	s, ok := c.same[subject.key()]
	if ok {
		s.By, s.Reason, s.Seconds = "build", "the same build as "+s.Name, 0
		s.Candidate, s.Name = candidate, subject.Name
	} else if s, err = c.sample(ctx, subject, candidate); err != nil {
		return s, err
	}
	return s, c.keep(s)
}

// sample runs a candidate and the good end until it is known what the candidate is, or all
// seeds are spent.
func (c *Campaign) sample(ctx context.Context, subject Subject, candidate int) (Step, error) {
	s := Step{Candidate: candidate, Name: subject.Name, Identity: subject.Identity, Set: subject.Set, By: "statistics"}
	var run *RunError
	for _, n := range c.looks {
		p, err := c.pairs(ctx, subject, n, candidate)
		if errors.As(err, &run) && !errors.Is(err, ErrEnd) {
			s.Verdict, s.By, s.Reason = Skipped.String(), "run", err.Error()
			return s, nil
		}
		if err != nil {
			return s, err
		}
		s.Runs, s.Seconds = p.values, p.seconds
		// A candidate that equals an end is taken for it, but not before all seeds are run that
		// told the ends apart: with fewer of them, the ends may equal each other.
		if n <= len(c.ends[1].Runs) {
			good, bad := p.identical(c.Repeating), c.Repeating && equal(p.values, c.ends[1].Runs[:n])
			switch {
			case (good || bad) && n < len(c.ends[1].Runs):
				continue
			case good:
				s.Verdict, s.By, s.Reason, s.Runs = Good.String(), "fingerprint", "the same runs as "+c.good.Name, c.reference
				return s, nil
			case bad:
				s.Verdict, s.By, s.Reason, s.Runs = Bad.String(), "fingerprint", "the same runs as "+c.bad.Name, c.ends[1].Runs
				s.Effect = c.ends[1].Effect
				return s, nil
			}
		}
		j := statistics.Judge(p.list, c.statistics(c.Delta, len(c.looks)))
		s.Effect, s.Reason = effectOf(j), j.Reason
		if j.Outcome != statistics.Undecided {
			s.Verdict = map[statistics.Outcome]Verdict{statistics.NoWorse: Good, statistics.Worse: Bad}[j.Outcome].String()
			return s, nil
		}
	}
	s.Verdict = Skipped.String()
	s.Reason = fmt.Sprintf("%d seeds do not say whether it is good or bad", len(s.Runs))
	return s, nil
}

// Lasting returns the steps of an earlier session that hold in another one. Candidates whose
// runs did not count are judged again, as is what was skipped as the same build: a machine
// may have been at fault.
func Lasting(steps []Step) []Step {
	failed := map[string]bool{}
	for _, s := range steps {
		if s.By == "run" {
			failed[s.key()] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(steps), func(s Step) bool { return s.verdict() == Skipped && failed[s.key()] })
}

// key returns that of the subject. A step whose candidate did not build has none.
func (s *Step) key() string { return Subject{Identity: s.Identity, Set: s.Set}.key() }

// reasonOf returns why a candidate is skipped.
func reasonOf(err error) string { return strings.TrimPrefix(err.Error(), ErrSkip.Error()+": ") }

// before returns the step of an earlier session on a candidate.
func (c *Campaign) before(candidate int) (Step, bool) {
	i := slices.IndexFunc(c.Steps, func(s Step) bool { return s.Candidate == candidate })
	if i < 0 {
		return Step{}, false
	}
	return c.Steps[i], true
}

// keep records a step.
func (c *Campaign) keep(s Step) error {
	if s.Identity != "" {
		c.same[s.key()] = s
	}
	if _, ok := c.before(s.Candidate); ok {
		return nil
	}
	c.Steps = append(c.Steps, s)
	if c.Judged == nil {
		return nil
	}
	return c.Judged(s)
}
