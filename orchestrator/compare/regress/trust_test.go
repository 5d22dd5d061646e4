package regress

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
)

// saved returns the baseline file of a suite, saved with overrides.
func saved(t *testing.T, text string, set ...string) *Stored {
	t.Helper()
	c := fakeCampaign(t, text, &noisy{noise: 0.02})
	c.cells, c.Baseline.Set = nil, set
	s, err := c.Save(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.File = "b.json"
	return s
}

// TestStoredOverrides: the verdict names the overrides that a baseline file was saved with,
// and a candidate without them is not compared with it.
func TestStoredOverrides(t *testing.T) {
	slow := saved(t, fakeSuite, "links.mtu=1500B")
	against := func(candidate ...string) (*Campaign, error) {
		c := fakeCampaign(t, fakeSuite, &noisy{noise: 0.02})
		c.cells, c.Baseline, c.Candidate.Set = nil, slow.Side(), candidate
		return c, c.Prepare()
	}
	for _, set := range [][]string{nil, {"links.mtu=9000B"}, {"tie_seed=7", "links.mtu=1500B"}} {
		_, err := against(set...)
		if !errors.Is(err, failure.ErrConfiguration) || !strings.Contains(err.Error(), "b.json:") || !strings.Contains(err.Error(), "saved with the overrides links.mtu=1500B, and the candidate has not got them: --candidate-set") {
			t.Errorf("%q: %v", set, err)
		}
	}
	for _, set := range [][]string{{"links.mtu=1500B"}, {"links.mtu=1500B", "tie_seed=7"}} {
		c, err := against(set...)
		if err != nil {
			t.Fatal(err)
		}
		if d := run(t, c); !slices.Equal(d.Baseline.Set, []string{"links.mtu=1500B"}) || !slices.Equal(d.Candidate.Set, set) {
			t.Errorf("baseline %q, candidate %q", d.Baseline.Set, d.Candidate.Set)
		}
	}
	slow.Cells[1].Set = nil
	if _, err := against("links.mtu=1500B"); err == nil || !strings.Contains(err.Error(), "other overrides than") {
		t.Errorf("cells of different overrides: %v", err)
	}
}

// TestExpectations: a candidate that fails the experiment's expectations does not pass if the
// baseline never does; also against a baseline file. Without, a note says so.
func TestExpectations(t *testing.T) {
	always, never := func(uint64) bool { return true }, func(uint64) bool { return false }
	once := func(seed uint64) bool { return seed == 2 }
	for _, test := range []struct {
		name                string
		baseline, candidate func(seed uint64) bool
		want                verdict.Outcome
		note                string
	}{
		{"always", never, always, verdict.Fail, "one: expectations of the experiment fail under 16 of 16 seeds of the candidate, and under 0 of the baseline"},
		{"once", never, once, verdict.Inconclusive, "under 1 of 32 seeds of the candidate"},
		{"both", always, always, verdict.Pass, "under 8 of 8 seeds of the candidate, and under 8 of the baseline"},
		{"baseline", always, never, verdict.Pass, ""},
		{"none", never, never, verdict.Pass, ""},
	} {
		for _, stored := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, stored %v", test.name, stored), func(t *testing.T) {
				r := &noisy{noise: 0.01, effects: map[string]float64{"fct_us.mean": -0.1}, after: func(x trial.Trial, out *trial.Outcome) error {
					if x.Identity == "baseline" && test.baseline(x.Seed) || x.Identity == "candidate" && test.candidate(x.Seed) {
						out.Exit = 1
					}
					return nil
				}}
				c := fakeCampaign(t, fakeSuite, r)
				if stored {
					s, err := c.Save(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					c = fakeCampaign(t, fakeSuite, r)
					c.cells, c.Baseline = nil, s.Side()
				}
				d := run(t, c)
				e := d.Experiments[0]
				if e.Outcome != test.want || d.Outcome != test.want {
					t.Errorf("%s, want %s: %+v", e.Outcome, test.want, e.Metrics)
				}
				if m := e.Metrics[len(e.Metrics)-1]; test.want != verdict.Pass && (m.Name != "expectations" || m.Outcome != test.want || !strings.Contains(m.Reason, "of the candidate, and under none of the baseline")) {
					t.Errorf("%+v", m)
				}
				if got := slices.ContainsFunc(d.Notes, func(n string) bool { return strings.Contains(n, "expectations") && strings.Contains(n, test.note) }); got != (test.note != "") {
					t.Errorf("notes %q, want %q", d.Notes, test.note)
				}
			})
		}
	}
}

// TestStoredUnderWall: values of another day cannot be calibrated, so that they never pass.
func TestStoredUnderWall(t *testing.T) {
	s := saved(t, wallSuite)
	for side := range 2 {
		r := &noisy{noise: 0.02}
		c := fakeCampaign(t, wallSuite, r)
		c.cells = nil
		*c.sides()[side] = s.Side()
		d := run(t, c)
		if e := d.Experiments[0]; d.Outcome != verdict.Invalid || len(e.Reasons) != 1 || !strings.Contains(e.Reasons[0], "cannot be calibrated") || len(r.runs) > 0 {
			t.Errorf("side %d: %s, %d runs, %+v", side, d.Outcome, len(r.runs), e)
		}
	}
}

const wideWallSuite = `
schema: 1
name: wall
seeds: {first: 8, most: MOST}
experiments:
  - experiment: one
    set: [clock=wall, runtime=netns]
    metrics: {fct_us.mean: 50%, fct_us.p99: 50%, fct_us.max: 50%, packets.retransmitted: 50%}
  - name: two
    experiment: one
    set: [clock=wall, runtime=netns]
    metrics: {fct_us.mean: 50%, fct_us.p99: 50%, fct_us.max: 50%, packets.retransmitted: 50%}
`

// TestCalibrationHasPower: with eight pairs a calibration of eight metrics finds nothing at
// its level, whatever the values are. Nothing passes before it could.
func TestCalibrationHasPower(t *testing.T) {
	unsteady := func() *noisy {
		return &noisy{noise: 0.02, after: func(x trial.Trial, out *trial.Outcome) error {
			if x.Repeat == repeatBaseline {
				out.Metrics["fct_us.mean"] *= 1.15
			}
			return nil
		}}
	}
	wide := strings.Replace(wideWallSuite, "MOST", "16", 1)
	for _, e := range run(t, fakeCampaign(t, wide, unsteady())).Experiments {
		if e.Outcome != verdict.Invalid || len(e.Reasons) != 1 || !strings.Contains(e.Reasons[0], "the baseline differs from itself: fct_us.mean") {
			t.Errorf("%s: %s %q", e.Name, e.Outcome, e.Reasons)
		}
	}
	for _, e := range run(t, fakeCampaign(t, wide, &noisy{noise: 0.02})).Experiments {
		if e.Outcome != verdict.Pass || len(e.Seeds) != 16 {
			t.Errorf("a steady machine: %s after %d seeds: %q", e.Outcome, len(e.Seeds), e.Reasons)
		}
	}
	few := strings.Replace(wideWallSuite, "MOST", "8", 1)
	for _, e := range run(t, fakeCampaign(t, few, unsteady())).Experiments {
		if e.Outcome != verdict.Inconclusive || !strings.Contains(e.Metrics[0].Reason, "takes 9 pairs of the baseline with itself") {
			t.Errorf("eight pairs: %s %+v", e.Outcome, e.Metrics[0])
		}
	}
}

// TestFalseAlarms: a steady machine is found unsteady in 5 % of the suites at most, with a
// margin for chance: 30 of 300 or more have a probability of 0.0003 then.
func TestFalseAlarms(t *testing.T) {
	checkout.SkipSlowRace(t)
	r := &noisy{noise: 0.02}
	c := fakeCampaign(t, strings.Replace(wideWallSuite, "MOST", "16", 1), r)
	c.texts = nil
	invalid := 0
	for i := range 300 {
		r.campaign = uint64(i)
		if d := run(t, c); d.Outcome == verdict.Invalid {
			invalid++
		}
	}
	if invalid >= 30 {
		t.Errorf("%d of 300 suites are invalid on a steady machine", invalid)
	}
}

// TestReproduceAfterOnly: what was left out stays out, and an experiment without a suite is
// chosen by its variant.
func TestReproduceAfterOnly(t *testing.T) {
	c := fakeCampaign(t, fakeSuite, &noisy{})
	c.cells, c.Filter.Only = nil, []string{"two"}
	if err := c.Prepare(); err != nil {
		t.Fatal(err)
	}
	if got, want := c.reproduce(c.cells[0]), "csiglab regress fake.yaml --only two --candidate 'program:new one'"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	c = fakeCampaign(t, fakeSuite, &noisy{})
	c.Suite = One("three-flow", []string{"csig", "baseline"}, nil, DefaultSeeds, []Rule{{Metric: "fct_us.p99", Delta: 0.05, Of: "median"}})
	c.cells, c.Arguments = nil, []string{"--experiment", "three-flow", "--variant", "csig", "--variant", "baseline", "--metric", "fct_us.p99", "--delta", "5%"}
	if err := c.Prepare(); err != nil {
		t.Fatal(err)
	}
	if got, want := c.reproduce(c.cells[1]), "csiglab regress --experiment three-flow --metric fct_us.p99 --delta 5% --variant baseline --candidate 'program:new one'"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestMetricsKept: of a run's metrics those that are judged stay in memory.
func TestMetricsKept(t *testing.T) {
	c := fakeCampaign(t, fakeSuite, &noisy{noise: 0.02})
	c.runner = c.Runner
	s := &samples{cell: c.cells[0]}
	if err := c.sample(t.Context(), c.cells[0], s, 3); err != nil {
		t.Fatal(err)
	}
	for side, list := range s.sides {
		for _, out := range list {
			if len(out.Metrics) != 2 || out.Metrics["fct_us.mean"] == 0 || out.Metrics["fct_us.p99"] == 0 {
				t.Errorf("side %d has %v", side, out.Metrics)
			}
		}
	}
}

// atOnce counts the trials that run at once.
type atOnce struct {
	trial.Runner
	now, most atomic.Int32
}

func (a *atOnce) Run(ctx context.Context, t trial.Trial) (trial.Outcome, error) {
	a.most.Store(max(a.most.Load(), a.now.Add(1)))
	defer a.now.Add(-1)
	for range 100 {
		runtime.Gosched() // so that others begin, if they may
	}
	return a.Runner.Run(ctx, t)
}

// TestOneAtATime: runs that use the machine's network and clock go one at a time.
func TestOneAtATime(t *testing.T) {
	for _, clock := range []string{"lockstep", "wall"} {
		c := fakeCampaign(t, strings.Replace(wallSuite, "clock=wall", "clock="+clock, 1), &noisy{noise: 0.02})
		if c.Parallel = 4; c.parallel(c.cells[0]) != 1 {
			t.Errorf("%s: %d at once", clock, c.parallel(c.cells[0]))
		}
		a := &atOnce{Runner: c.Runner}
		c.Runner = a
		if run(t, c); a.most.Load() != 1 {
			t.Errorf("%s: %d at once", clock, a.most.Load())
		}
	}
	if c := fakeCampaign(t, fakeSuite, &noisy{}); c.parallel(c.cells[0]) != 1 {
		t.Error("without Parallel: more than one at once")
	} else if c.Parallel = 4; c.parallel(c.cells[0]) != 4 {
		t.Error("virtual: not 4 at once")
	}
}

// TestHolmReason: what fails by all metrics together says no longer how many seeds would
// decide it, and still what its values lack.
func TestHolmReason(t *testing.T) {
	p := func(v float64) *float64 { return &v }
	c := &Campaign{Suite: &Suite{FalseFail: 0.02}, cells: []*cell{{entry: &Entry{Name: "a"}, kept: []string{"2 seeds lack it", ""},
		result: verdict.Experiment{Metrics: []verdict.Metric{
			{Outcome: verdict.Inconclusive, P: p(0.006), Reason: "2 seeds lack it; about 40 pairs would decide"},
			{Outcome: verdict.Inconclusive, P: p(0.5), Reason: "about 90 pairs would decide"}}}}}}
	c.correct()
	m := c.cells[0].result.Metrics
	if m[0].Outcome != verdict.Fail || m[0].Reason != "2 seeds lack it" || m[1].Outcome != verdict.Inconclusive || m[1].Reason != "about 90 pairs would decide" {
		t.Errorf("%+v", m)
	}
}

// TestSame: a campaign goes on with the experiments that it began with, all of them and no
// others.
func TestSame(t *testing.T) {
	now := map[string][2]string{"a": {"1", "1"}, "b": {"2", "2"}}
	for _, test := range []struct {
		plan map[string][2]string
		want string
	}{
		{map[string][2]string{"a": {"1", "1"}, "b": {"2", "2"}}, ""},
		{nil, "lacks the digests of a"},
		{map[string][2]string{"a": {"1", "1"}}, "lacks the digests of b"},
		{map[string][2]string{"a": {"1", "1"}, "b": {"2", "3"}}, "of b have changed"},
		{map[string][2]string{"a": {"1", "1"}, "b": {"2", "2"}, "c": {}}, `an experiment "c" that the suite has not got`},
	} {
		err := (&Plan{Contents: test.plan}).Same("folder", now)
		if test.want == "" && err != nil || test.want != "" && (!errors.Is(err, failure.ErrConfiguration) || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%v: %v; want %q", test.plan, err, test.want)
		}
	}
	dir := t.TempDir()
	p := &Plan{Suite: *One("incast", nil, nil, DefaultSeeds, nil)}
	if err := p.Write(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadPlan(dir); err == nil || !strings.Contains(err.Error(), "is damaged") {
		t.Errorf("an entry without metrics: %v", err)
	}
}
