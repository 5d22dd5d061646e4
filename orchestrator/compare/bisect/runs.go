package bisect

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/orchestrator/compare/statistics"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
)

// key returns what runs depend on: subjects of one key are the same.
func (s Subject) key() string { return s.Identity + "\x00" + strings.Join(s.Set, "\x00") }

// pairs are runs of a candidate and of the good end with the same seeds.
type pairs struct {
	good, values []Value
	list         []statistics.Pair
	seconds      float64
}

// RunError says why a run of a candidate does not count.
type RunError struct {
	Exit int // exit code of csiglab run; 2 if it has not the metric, too
	why  string
}

func (e *RunError) Error() string { return e.why }

// pairs runs a candidate and the good end with the first n seeds, in turns. What was run
// before is not run again: under clocks that repeat, that is the good end too; under clock
// wall, it is run again beside each candidate. The error is a *RunError if a run of the
// candidate does not count.
func (c *Campaign) pairs(ctx context.Context, s Subject, n, candidate int) (*pairs, error) {
	trials := make([]trial.Trial, 0, 2*n)
	for i := range n {
		of := []Subject{c.good, s}
		if i%2 == 1 {
			slices.Reverse(of)
		}
		for k := range of {
			t := c.Trial
			t.Program, t.Identity, t.Seed = of[k].Program, of[k].Identity, uint64(i+1)
			t.Set = slices.Concat(t.Set, of[k].Set)
			if !c.Repeating {
				t.Repeat = 2*candidate + (k+i)%2 // 1: the candidate
			}
			trials = append(trials, t)
		}
	}
	outcomes, err := trial.All(ctx, c.Runner, c.Journal, trials, c.Parallel, func(done, total int) {
		if c.Progress != nil {
			c.Progress(s.Name, done, total)
		}
	})
	if err != nil {
		return nil, err
	}
	p := &pairs{}
	for i := range n {
		g, v := i%2, 1-i%2
		good, err := c.value(trials[2*i+g], outcomes[2*i+g])
		if err != nil {
			return nil, fmt.Errorf("%w: good %s: %w", ErrEnd, c.good.Name, err)
		}
		value, err := c.value(trials[2*i+v], outcomes[2*i+v])
		if err != nil {
			return nil, err
		}
		p.good, p.values = append(p.good, good), append(p.values, value)
		p.list = append(p.list, statistics.Pair{Baseline: good.Value, Candidate: value.Value})
		p.seconds += outcomes[2*i].Seconds + outcomes[2*i+1].Seconds
	}
	return p, nil
}

// value returns the metric of a run that counts.
func (c *Campaign) value(t trial.Trial, o trial.Outcome) (Value, error) {
	if !o.Counts() {
		why := strings.Join(o.Reasons, "; ")
		return Value{}, &RunError{o.Exit, fmt.Sprintf("the run with seed %d ends with exit code %d: %s", t.Seed, o.Exit, cmp.Or(why, "it says nothing"))}
	}
	v, ok := o.Metrics[c.Metric]
	if !ok || math.IsNaN(v) {
		return Value{}, &RunError{2, fmt.Sprintf("the run with seed %d has no metric %s", t.Seed, c.Metric)}
	}
	return Value{t.Seed, v, o.TraceHash}, nil
}

// identical reports whether all runs of both are equal, packet by packet.
func (p *pairs) identical(repeating bool) bool { return repeating && equal(p.values, p.good) }

// equal reports whether two lists have equal values and traces. Runs without a trace are
// equal to none.
func equal(a, b []Value) bool {
	return slices.EqualFunc(a, b, func(a, b Value) bool { return a == b && a.Trace != "" })
}

func effectOf(j statistics.Judgement) *Effect {
	return &Effect{j.Baseline, j.Candidate, statistics.Finite(j.Effect), statistics.Finite(j.Low), statistics.Finite(j.High), j.P}
}

// words says how large an effect is.
func (c *Campaign) words(effect, low, high float64) string {
	return fmt.Sprintf("%s [%s, %s]", c.amount(effect), c.amount(low), c.amount(high))
}

// amount returns an effect with its unit.
func (c *Campaign) amount(v float64) string {
	switch {
	case math.IsInf(v, 0):
		return map[bool]string{true: "+∞", false: "-∞"}[v > 0]
	case !c.Absolute:
		return Percent(v)
	}
	return strings.TrimSpace(fmt.Sprintf("%+.4g %s", v, measure.Meaning(c.Metric).Unit))
}

// Percent returns a share with its sign, in percent: three digits, and all that are before the
// point.
func Percent(share float64) string {
	if v := 100 * share; math.Abs(v) >= 999.5 {
		return fmt.Sprintf("%+.0f %%", v)
	}
	return fmt.Sprintf("%+.3g %%", 100*share)
}

// Limit returns Delta in words.
func (c *Campaign) Limit() string { return strings.TrimPrefix(c.amount(c.Delta), "+") }

// result describes the end of a search.
func (c *Campaign) result(good, bad int) *Result {
	r := &Result{Delta: c.Delta, Confidence: confidence, Better: c.Better, Exact: true}
	steps := map[int]Step{}
	for _, s := range c.Steps {
		steps[s.Candidate] = s
	}
	steps[0], steps[c.Last] = c.ends[0], c.ends[1]
	r.Steps = []Step{c.ends[0], c.ends[1]}
	for _, s := range c.Steps {
		if s.Candidate == 0 || s.Candidate == c.Last {
			continue
		}
		r.Steps = append(r.Steps, s)
		if s.By == "statistics" {
			r.Exact = false
		}
	}
	for _, s := range r.Steps {
		r.Runs += len(s.Runs)
		r.Seconds += s.Seconds
	}
	r.Good, r.Bad = steps[good], steps[bad]
	for i := good + 1; i <= bad; i++ {
		r.Candidates = append(r.Candidates, i)
	}
	var both []statistics.Pair
	for _, g := range r.Good.Runs {
		for _, b := range r.Bad.Runs {
			if g.Seed == b.Seed {
				both = append(both, statistics.Pair{Baseline: g.Value, Candidate: b.Value})
			}
		}
	}
	if len(both) > 0 {
		p := statistics.Plan{Absolute: c.Absolute, Higher: c.Better == Higher, Confidence: confidence}
		r.Change = effectOf(statistics.Judge(both, p))
	}
	return r
}
