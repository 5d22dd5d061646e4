package bisect

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
)

// world is a history whose programs have a metric.
type world struct {
	level    []float64 // of the metric, by candidate
	program  []int     // candidates of one number are one build; nil: each its own
	noise    float64   // standard deviation of the logarithm, of a candidate's seed
	between  float64   // of a candidate's trace; 0: all candidates of one level have the same runs
	broken   map[int]bool
	exit     map[int]int // of runs
	alike    map[int]int // by candidate: so many seeds first have the level of candidate 0
	wall     bool
	refactor bool // each candidate has traces of its own
	question Question

	mu       sync.Mutex
	ran      map[string]int // trials, by identity, seed and repeat
	prepared []int
	failAt   int // the trial that fails, counted from 1
	count    int
}

var errDisk = errors.New("no space left on device")

func (w *world) identity(i int) string {
	if w.program != nil {
		i = w.program[i]
	}
	return fmt.Sprintf("source-%d", i)
}

// Run implements trial.Runner.
func (w *world) Run(_ context.Context, t trial.Trial) (trial.Outcome, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count++; w.count == w.failAt {
		return trial.Outcome{}, errDisk
	}
	if w.ran == nil {
		w.ran = map[string]int{}
	}
	w.ran[fmt.Sprint(t.Identity, t.Seed, t.Repeat)]++
	var program int
	fmt.Sscanf(t.Identity, "source-%d", &program)
	i := program
	if w.program != nil {
		i = slices.Index(w.program, program)
	}
	own := uint64(0)
	if w.between > 0 {
		own = uint64(program) + 1
	}
	seed := rand.New(rand.NewPCG(t.Seed, 1))
	mine := rand.New(rand.NewPCG(t.Seed, 1000*own+uint64(t.Repeat)))
	level := w.level[i]
	if t.Seed <= uint64(w.alike[i]) {
		level = w.level[0]
	}
	v := level * math.Exp(w.noise*seed.NormFloat64()+w.between*mine.NormFloat64())
	o := trial.Outcome{Exit: w.exit[i], Metrics: map[string]float64{"fct_us.p99": v}, TraceHash: fmt.Sprint(v), Seconds: 1}
	if w.refactor {
		o.TraceHash += t.Identity
	}
	if o.Exit > 1 {
		o.Reasons = []string{"a frame is lost"}
	}
	return o, nil
}

// campaign returns the search in this world.
func (w *world) campaign() *Campaign {
	c := &Campaign{Question: w.question, Runner: w, Parallel: 2, Last: len(w.level) - 1}
	c.Metric = "fct_us.p99"
	c.Repeating = !w.wall
	c.Prepare = func(_ context.Context, i int, known func(string) bool) (Subject, func(), error) {
		w.prepared = append(w.prepared, i)
		s := Subject{Name: fmt.Sprintf("c%d", i), Identity: w.identity(i)}
		if w.broken[i] {
			return s, nil, fmt.Errorf("%w: it does not compile", ErrSkip)
		}
		if !known(s.Identity) {
			s.Program = "/" + s.Identity
		}
		return s, func() {}, nil
	}
	return c
}

func journal(t *testing.T, dir string) *trial.Journal {
	t.Helper()
	j, err := trial.OpenJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

// step is a history of n candidates whose metric is factor times 100 from turn on.
func step(n, turn int, factor float64) []float64 {
	level := make([]float64, n)
	for i := range level {
		if level[i] = 100; i >= turn {
			level[i] *= factor
		}
	}
	return level
}

// Runs that repeat are told apart by their traces: no more seeds for each candidate than for
// the ends, nothing is run twice, a build is judged once, and what cannot be run is skipped.
func TestRunByFingerprint(t *testing.T) {
	w := &world{level: step(33, 20, 1.1), noise: 0.05, broken: map[int]bool{16: true, 8: true, 24: true}, exit: map[int]int{22: 3, 21: 1}}
	w.program = make([]int, 33)
	for i := range w.program {
		w.program[i] = i
	}
	w.program[21], w.program[19] = 20, 18 // commits that change no source
	c := w.campaign()
	c.Journal = journal(t, t.TempDir())
	var judged []string
	c.Judged = func(s Step) error {
		judged = append(judged, s.Name+" "+s.Verdict+" by "+s.By)
		return nil
	}
	r, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.Bad.Name != "c20" || r.Good.Name != "c19" || len(r.Candidates) != 1 || r.Candidates[0] != 20 || !r.Exact || r.Better != Lower {
		t.Errorf("%+v\n%q", r, judged)
	}
	if ch := r.Change; ch == nil || math.Abs(*ch.Effect-0.1) > 1e-9 || r.Delta < 0.049 || r.Delta > 0.051 {
		t.Errorf("the change is %+v, the limit %v", r.Change, r.Delta)
	}
	for name, n := range w.ran {
		if n > 1 {
			t.Errorf("%s ran %d times", name, n)
		}
	}
	if !slices.ContainsFunc(judged, func(s string) bool { return s == "c16 skipped by build" }) {
		t.Errorf("judged %q", judged)
	}
	if most := c.looks[0] * len(judged); len(w.ran) > most {
		t.Errorf("%d runs for %q, want at most %d", len(w.ran), judged, most)
	}
	// Skipped candidates beside the change are named with it.
	w = &world{level: step(33, 20, 1.1), noise: 0.05, broken: map[int]bool{20: true, 18: true}, exit: map[int]int{19: 3}}
	if r, err = w.campaign().Run(t.Context()); err != nil || !slices.Equal(r.Candidates, []int{18, 19, 20, 21}) {
		t.Errorf("%+v, %v", r, err)
	}
	for _, s := range r.Steps {
		if s.Candidate == 19 && (s.By != "run" || !strings.Contains(s.Reason, "exit code 3: a frame is lost")) {
			t.Errorf("%+v", s)
		}
	}
}

// With runs that all differ, statistics find the change, and seldom another place: designed
// at 5 %.
func TestRunByStatistics(t *testing.T) {
	campaigns := 300
	if checkout.Long(t) {
		campaigns = 50
	}
	wrong, undecided := 0, 0
	for i := range campaigns {
		r := rand.New(rand.NewPCG(15, uint64(i)))
		n := 3 + r.IntN(60)
		turn := 1 + r.IntN(n-1)
		w := &world{level: step(n, turn, 1.1), noise: 0.1, between: 0.03, wall: i%2 == 1}
		for k := range w.level { // the level is part of what the noise depends on: another history each time
			w.level[k] *= 1 + 1e-9*r.Float64()
		}
		w.program = make([]int, n)
		for k := range w.program {
			w.program[k] = 1000*i + k
		}
		got, err := w.campaign().Run(t.Context())
		switch {
		case errors.Is(err, ErrInconclusive):
			undecided++
		case err != nil:
			t.Fatal(err)
		case !slices.Contains(got.Candidates, turn):
			wrong++
		case len(got.Candidates) > 1:
			undecided++
		}
	}
	t.Logf("of %d searches, %d are wrong and %d do not end at one candidate", campaigns, wrong, undecided)
	if share := float64(wrong) / float64(campaigns); share > 1-confidence {
		t.Errorf("%d of %d searches are wrong", wrong, campaigns)
	}
	if share := float64(undecided) / float64(campaigns); share > 0.2 {
		t.Errorf("%d of %d searches do not end at one candidate", undecided, campaigns)
	}
}

// A change that few seeds do not show is found: nothing is decided by fewer seeds than
// statistics need, or than told the ends apart.
func TestRunLateSeeds(t *testing.T) {
	for name, alike := range map[string]func(i int) int{
		"all":      func(int) int { return 3 },
		"between":  func(i int) int { return map[bool]int{true: 3}[i < 15] },
		"far away": func(i int) int { return map[bool]int{true: 9}[i >= 15] },
	} {
		w := &world{level: step(20, 10, 1.2), noise: 0.05, alike: map[int]int{}, question: Question{Better: Lower, Delta: 0.05}}
		for i := 10; i < 20; i++ {
			w.alike[i] = alike(i)
		}
		r, err := w.campaign().Run(t.Context())
		if name == "far away" { // the ends are alike for all seeds of the first look
			if !errors.Is(err, ErrNoChange) || !strings.Contains(err.Error(), "with all 9 seeds") {
				t.Errorf("%s: %+v, %v", name, r, err)
			}
			continue
		}
		if err != nil || !slices.Equal(r.Candidates, []int{10}) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

// What was skipped because its runs did not count is judged again by another session, and so
// is what was the same build.
func TestLasting(t *testing.T) {
	w := &world{level: step(20, 12, 1.2), noise: 0.05, exit: map[int]int{10: 3}}
	w.program = []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 10, 10, 12, 13, 14, 15, 16, 17, 18, 19}
	w.exit = map[int]int{9: 3} // of build 10
	w.broken = map[int]bool{8: true}
	first, err := w.campaign().Run(t.Context())
	if err != nil || slices.Equal(first.Candidates, []int{12}) {
		t.Fatalf("%+v, %v", first, err)
	}
	byRun, byBuild := 0, 0
	for _, s := range first.Steps {
		switch {
		case s.By == "run":
			byRun++
		case s.By == "build" && s.Verdict == Skipped.String() && s.Identity != "":
			byBuild++
		}
	}
	if byRun == 0 || byBuild == 0 {
		t.Fatalf("%d skipped by a run, %d as the same build: %+v", byRun, byBuild, first.Steps)
	}
	kept := Lasting(first.Steps)
	if len(kept) != len(first.Steps)-byRun-byBuild {
		t.Errorf("kept %+v, of %+v", kept, first.Steps)
	}
	w.exit = nil
	again := w.campaign()
	again.Steps = kept
	if r, err := again.Run(t.Context()); err != nil || !slices.Equal(r.Candidates, []int{12}) {
		t.Errorf("%+v, %v", r, err)
	}
}

// The ends are checked before anything else.
func TestEnds(t *testing.T) {
	for name, c := range map[string]struct {
		w    *world
		want error
		text string
	}{
		"the same runs":       {&world{level: step(9, 9, 1), noise: 0.1}, ErrNoChange, "the runs of both are the same, packet by packet"},
		"the same build":      {&world{level: step(3, 1, 1), program: []int{1, 2, 1}}, ErrNoChange, "both are the same build"},
		"equal values":        {&world{level: step(3, 3, 1), noise: 0.1, refactor: true, question: Question{Better: Lower}}, ErrNoChange, "fct_us.p99 of good c0 and bad c2 are equal"},
		"better":              {&world{level: step(9, 4, 0.8), noise: 0.1, question: Question{Better: Lower}}, ErrNoChange, "-20 % [-20 %, -20 %], which is better; to find what made it better, say --better higher"},
		"below the limit":     {&world{level: step(9, 4, 1.02), noise: 0.1, question: Question{Better: Lower, Delta: 0.05}}, ErrNoChange, "with a limit of 5 %"},
		"too much noise":      {&world{level: step(9, 4, 1.02), noise: 0.1, between: 0.3, question: Question{Better: Lower, Delta: 0.01}}, ErrInconclusive, "24 seeds do not tell them apart"},
		"no direction":        {&world{level: step(9, 4, 1.001), noise: 0.1, between: 0.3}, ErrInconclusive, "24 seeds do not tell them apart"},
		"good does not build": {&world{level: step(9, 4, 2), broken: map[int]bool{0: true}}, ErrEnd, "it does not compile"},
		"bad does not build":  {&world{level: step(9, 4, 2), broken: map[int]bool{8: true}}, ErrEnd, "it does not compile"},
		"good does not run":   {&world{level: step(9, 4, 2), exit: map[int]int{0: 3}}, ErrEnd, "good c0: the run with seed 1 ends with exit code 3: a frame is lost"},
		"bad does not run":    {&world{level: step(9, 4, 2), exit: map[int]int{8: 2}}, ErrEnd, "exit code 2"},
		"few seeds":           {&world{level: step(9, 4, 2), question: Question{Seeds: 3}}, ErrEnd, "3 seeds cannot tell good from bad with 95 % confidence: want"},
		"good is 0":           {&world{level: append(make([]float64, 4), 1, 1, 1, 1)}, ErrEnd, "state --delta in the metric's unit"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := c.w.campaign().Run(t.Context())
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%+v, %v; want %v with %q", r, err, c.want, c.text)
			}
			if len(c.w.prepared) > 2 {
				t.Errorf("candidates %v are prepared", c.w.prepared)
			}
		})
	}
	// What gets higher by default is worse if nothing is known; else what was asked for.
	for better, factor := range map[Direction]float64{Unknown: 0.5, Higher: 0.5, Lower: 2} {
		w := &world{level: step(9, 4, factor), noise: 0.1, question: Question{Better: better}}
		if r, err := w.campaign().Run(t.Context()); err != nil || r.Bad.Candidate != 4 {
			t.Errorf("%v times %v: %+v, %v", better, factor, r, err)
		}
	}
	// An absolute limit may start from 0.
	w := &world{level: append(make([]float64, 4), 1, 1, 1, 1), question: Question{Delta: 0.5, Absolute: true, Better: Lower}}
	if r, err := w.campaign().Run(t.Context()); err != nil || r.Bad.Candidate != 4 {
		t.Errorf("from 0: %+v, %v", r, err)
	}
}

// A search that was stopped at any run goes on where it was, and comes to the same.
func TestRunAgain(t *testing.T) {
	fresh := func() *world {
		return &world{level: step(20, 13, 1.15), noise: 0.1, between: 0.02, broken: map[int]bool{10: true}}
	}
	w := fresh()
	whole := w.campaign()
	whole.Journal = journal(t, t.TempDir())
	want, err := whole.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	total := w.count
	for failAt := 1; failAt <= total; failAt += 7 {
		dir := t.TempDir()
		var steps []Step
		ran := map[string]int{}
		session := func(failAt int) (*Result, error) {
			j := journal(t, dir)
			defer j.Close()
			w := fresh()
			w.failAt, w.ran = failAt, ran
			c := w.campaign()
			c.Journal, c.Parallel, c.Steps = j, 1, slices.Clone(steps)
			c.Judged = func(s Step) error {
				steps = append(steps, s)
				return nil
			}
			return c.Run(t.Context())
		}
		if _, err := session(failAt); !errors.Is(err, errDisk) {
			t.Fatalf("at run %d: %v", failAt, err)
		}
		got, err := session(0)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("after run %d, got - want +:\n%s", failAt, diff)
		}
		for name, n := range ran {
			if n > 1 {
				t.Errorf("after run %d: %s ran %d times", failAt, name, n)
			}
		}
	}
}
