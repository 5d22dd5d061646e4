package regress

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
)

// noisy is a Runner whose metrics have a value, multiplicative noise that all trials of a
// seed share, and noise of their own, log-normal both. The candidate's are changed by
// effects.
type noisy struct {
	campaign uint64
	noise    float64
	effects  map[string]float64 // by metric: 0.1 is 10 % more

	mu   sync.Mutex
	runs []trial.Trial
	// after, if not nil, may change an outcome, or end the campaign.
	after func(t trial.Trial, out *trial.Outcome) error
}

var fakeMetrics = []string{"fct_us.mean", "fct_us.p99", "fct_us.max", "goodput_gbps.0-13", "packets.retransmitted", "trims"}

func (n *noisy) Run(_ context.Context, t trial.Trial) (trial.Outcome, error) {
	n.mu.Lock()
	n.runs = append(n.runs, t)
	n.mu.Unlock()
	source := func(parts ...any) *rand.Rand {
		h := fnv.New64a()
		fmt.Fprint(h, parts...)
		return rand.New(rand.NewPCG(n.campaign, h.Sum64()))
	}
	common, own := source("seed", t.Seed, filepath.Base(t.Experiment)), source(t.Identity, t.Set, t.Seed, filepath.Base(t.Experiment), t.Repeat)
	out := trial.Outcome{TraceHash: fmt.Sprintf("%s %d", t.Identity, t.Seed), Metrics: map[string]float64{}, Seconds: 1}
	for _, m := range fakeMetrics {
		v := 100 * math.Exp(0.2*common.NormFloat64()+n.noise*own.NormFloat64())
		if t.Identity == "candidate" {
			v *= 1 + n.effects[m]
		}
		out.Metrics[m] = v
	}
	if n.after != nil {
		if err := n.after(t, &out); err != nil {
			return trial.Outcome{}, err
		}
	}
	return out, nil
}

const fakeSuite = `
schema: 1
name: fake
seeds: {first: 8, most: 32}
experiments:
  - experiment: one
    metrics: {fct_us.mean: 5%, fct_us.p99: 5%}
  - name: two
    experiment: one
    metrics: {fct_us.max: 5%, packets.retransmitted: 5%}
`

func readFake(t *testing.T, text string) *Suite {
	t.Helper()
	s, err := ReadSuite("fake.yaml", t.TempDir(), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func fakeCampaign(t *testing.T, text string, r *noisy) *Campaign {
	t.Helper()
	c := &Campaign{Suite: readFake(t, text), Folder: t.TempDir(), Runner: r, Machine: "machine", Arguments: []string{"fake.yaml"},
		Baseline:  Side{Side: verdict.Side{Kind: KindSelf, Label: "self"}, Identity: "baseline"},
		Candidate: Side{Side: verdict.Side{Kind: KindProgram, Label: "program:new", Flags: []string{"--candidate", "program:new one"}}, Program: "new one", Identity: "candidate"},
	}
	if err := c.Prepare(); err != nil {
		t.Fatal(err)
	}
	return c
}

func run(t *testing.T, c *Campaign) *verdict.Document {
	t.Helper()
	d, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// upperBound is the exact upper bound of a share at 95 % confidence, of k successes in n
// (Clopper and Pearson 1934): the share with which k or fewer come up with 5 %.
func upperBound(k, n int) float64 {
	tail := func(p float64) (sum float64) {
		for i := range k + 1 {
			choose, _ := math.Lgamma(float64(n + 1))
			a, _ := math.Lgamma(float64(i + 1))
			b, _ := math.Lgamma(float64(n - i + 1))
			sum += math.Exp(choose - a - b + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
		}
		return sum
	}
	low, high := float64(k)/float64(n), 1.0
	for range 100 {
		if mid := (low + high) / 2; tail(mid) > 0.05 {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}

func TestUpperBound(t *testing.T) {
	// The rule of three, exactly: 1 - 0.05^(1/n). The second is of statistical tables.
	if got, want := upperBound(0, 1000), 1-math.Pow(0.05, 1e-3); math.Abs(got-want) > 1e-9 {
		t.Errorf("0 of 1000: %v, want %v", got, want)
	}
	if got := upperBound(5, 100); math.Abs(got-0.10225) > 1e-5 {
		t.Errorf("5 of 100: %v, want 0.10225", got)
	}
}

// TestThousandCampaigns runs campaigns of identical candidates, of candidates that are just
// at the limit in every metric, and of candidates with a planted slowdown, with noise of 3 %
// in each run. Suites are designed for 2 % of false fails.
func TestThousandCampaigns(t *testing.T) {
	campaigns := 1000
	if checkout.SlowRace(t) {
		campaigns = 50
	}
	for _, test := range []struct {
		name    string
		effects map[string]float64
		check   func(t *testing.T, n map[verdict.Outcome]int)
	}{
		{"identical", nil, func(t *testing.T, n map[verdict.Outcome]int) {
			if bound := upperBound(n[verdict.Fail], campaigns); bound > 0.05 && !checkout.RaceDetector {
				t.Errorf("false fails: %d of %d, 95 %% upper bound %.3f; want at most 0.05", n[verdict.Fail], campaigns, bound)
			}
			if n[verdict.Pass] < campaigns*95/100 {
				t.Errorf("%d of %d pass; want 95 %%", n[verdict.Pass], campaigns)
			}
		}},
		// The hardest candidates that must not fail: no worse than the limit, but just.
		{"at the limit", map[string]float64{"fct_us.mean": 0.05, "fct_us.p99": 0.05, "fct_us.max": 0.05, "packets.retransmitted": 0.05}, func(t *testing.T, n map[verdict.Outcome]int) {
			if bound := upperBound(n[verdict.Fail], campaigns); bound > 0.05 && !checkout.RaceDetector {
				t.Errorf("false fails: %d of %d, 95 %% upper bound %.3f; want at most 0.05", n[verdict.Fail], campaigns, bound)
			}
			if n[verdict.Pass] > campaigns*5/100 { // a candidate at the limit is no worse with 5 % at most
				t.Errorf("%d of %d pass; want at most 5 %%", n[verdict.Pass], campaigns)
			}
		}},
		{"10 % slower", map[string]float64{"fct_us.max": 0.1}, func(t *testing.T, n map[verdict.Outcome]int) {
			if n[verdict.Fail] < campaigns*95/100 {
				t.Errorf("found in %d of %d; want 95 %%", n[verdict.Fail], campaigns)
			}
		}},
		{"1 % slower", map[string]float64{"fct_us.max": 0.01}, func(t *testing.T, n map[verdict.Outcome]int) {
			if n[verdict.Pass] < campaigns*95/100 || n[verdict.Fail] > 0 {
				t.Errorf("%d of %d pass and %d fail; want 95 %% to pass and none to fail", n[verdict.Pass], campaigns, n[verdict.Fail])
			}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := &noisy{noise: 0.03, effects: test.effects}
			c := fakeCampaign(t, fakeSuite, r)
			c.texts = nil
			outcomes, seeds := map[verdict.Outcome]int{}, 0
			for i := range campaigns {
				r.campaign, r.runs = uint64(i), nil
				d := run(t, c)
				outcomes[d.Outcome]++
				for _, e := range d.Experiments {
					seeds += len(e.Seeds)
					for _, m := range e.Metrics {
						if m.Outcome == verdict.Fail && test.effects[m.Name] == 0 && d.Outcome != verdict.Fail {
							t.Errorf("campaign %d: %s fails and the suite does not", i, m.Name)
						}
					}
				}
			}
			t.Logf("%v; %.1f seeds for an experiment", outcomes, float64(seeds)/float64(campaigns)/2)
			test.check(t, outcomes)
		})
	}
}

// TestOrder: pairs are interleaved, and the sides take turns in being first.
func TestOrder(t *testing.T) {
	r := &noisy{noise: 0.01}
	c := fakeCampaign(t, fakeSuite, r)
	run(t, c)
	var got []string
	for _, one := range r.runs[:8] {
		got = append(got, fmt.Sprintf("%c%d", one.Identity[0], one.Seed))
	}
	if want := "b1 c1 c2 b2 b3 c3 c4 b4"; strings.Join(got, " ") != want {
		t.Errorf("order %v, want %s", got, want)
	}
	if file := r.runs[0].Experiment; !strings.HasPrefix(file, c.Folder) || file != r.runs[1].Experiment || r.runs[0].Content == "" {
		t.Errorf("the sides run %s and %s; want one file of the campaign", file, r.runs[1].Experiment)
	}
	if r.runs[1].Program != "new one" || r.runs[0].Variant != "run" {
		t.Errorf("trial %+v", r.runs[1])
	}
}

// TestFingerprint: equal traces with equal values need no statistics, and nothing else may
// pass by them.
func TestFingerprint(t *testing.T) {
	same := func(t trial.Trial, out *trial.Outcome) error {
		out.TraceHash = fmt.Sprint("trace of seed ", t.Seed)
		for m := range out.Metrics {
			out.Metrics[m] = 100
		}
		return nil
	}
	t.Run("identical", func(t *testing.T) {
		r := &noisy{after: same}
		d := run(t, fakeCampaign(t, fakeSuite, r))
		for _, e := range d.Experiments {
			if !e.Identical || len(e.Seeds) != 8 || e.Looked != 1 || e.Outcome != verdict.Pass || e.Metrics[0].By != "fingerprint" || e.Metrics[0].P != nil {
				t.Errorf("%+v", e)
			}
		}
	})
	t.Run("another value", func(t *testing.T) { // of a trace that is the same: the metric's code has changed
		r := &noisy{after: func(x trial.Trial, out *trial.Outcome) error {
			same(x, out)
			if x.Identity == "candidate" {
				out.Metrics["fct_us.mean"] = 150
			}
			return nil
		}}
		d := run(t, fakeCampaign(t, fakeSuite, r))
		e := d.Experiments[0]
		if e.Outcome != verdict.Fail || e.Metrics[0].By != "statistics" || e.Metrics[1].By != "fingerprint" {
			t.Errorf("%+v", e)
		}
	})
	t.Run("another trace", func(t *testing.T) { // of one seed
		r := &noisy{after: func(x trial.Trial, out *trial.Outcome) error {
			same(x, out)
			if x.Identity == "candidate" && x.Seed == 8 {
				out.TraceHash = "another"
			}
			return nil
		}}
		e := run(t, fakeCampaign(t, fakeSuite, r)).Experiments[0]
		if e.Identical || e.Outcome != verdict.Pass || e.Metrics[0].By != "statistics" {
			t.Errorf("%+v", e)
		}
	})
	t.Run("no trace", func(t *testing.T) {
		r := &noisy{after: func(x trial.Trial, out *trial.Outcome) error {
			same(x, out)
			out.TraceHash = ""
			return nil
		}}
		if e := run(t, fakeCampaign(t, fakeSuite, r)).Experiments[0]; e.Identical || e.Metrics[0].By != "statistics" {
			t.Errorf("%+v", e)
		}
	})
}

// TestInvalid: a run that does not count makes its experiment invalid, whatever the others
// say, and nothing else.
func TestInvalid(t *testing.T) {
	for _, out := range []trial.Outcome{
		{Exit: 3, Reasons: []string{"node h1 died"}},
		{Exit: 3},
		{Exit: 2, Reasons: []string{"unknown key"}},
	} {
		r := &noisy{after: func(x trial.Trial, o *trial.Outcome) error {
			if x.Identity == "candidate" && x.Seed == 3 && x.Experiment == "" {
				*o = out
			}
			return nil
		}}
		c := fakeCampaign(t, fakeSuite, r)
		c.cells[0].file[1] = "" // that of the first experiment
		d := run(t, c)
		e := d.Experiments[0]
		if d.Outcome != verdict.Invalid || e.Outcome != verdict.Invalid || len(e.Seeds) != 8 || len(e.Reasons) != 1 || !strings.Contains(e.Reasons[0], "candidate, seed 3: ") {
			t.Errorf("exit %d: %+v", out.Exit, e)
		}
		if len(out.Reasons) > 0 && !strings.Contains(e.Reasons[0], out.Reasons[0]) {
			t.Errorf("reasons %q lack %q", e.Reasons, out.Reasons)
		}
		for _, m := range e.Metrics {
			if m.Outcome != verdict.Invalid {
				t.Errorf("%s: %s", m.Name, m.Outcome)
			}
		}
		if d.Experiments[1].Outcome != verdict.Pass {
			t.Errorf("the other experiment: %s", d.Experiments[1].Outcome)
		}
	}
}

// TestLacking: metrics that runs lack never pass.
func TestLacking(t *testing.T) {
	for _, test := range []struct {
		name                string
		baseline, candidate func(seed uint64) bool // lacks it
		want                verdict.Outcome
		reason              string
	}{
		{"candidate never has it", nil, func(uint64) bool { return true }, verdict.Fail, "the candidate lacks the metric under all 16 seeds"},
		{"candidate lacks it once", nil, func(s uint64) bool { return s == 2 }, verdict.Invalid, "the candidate alone under 1"},
		{"baseline never has it", func(uint64) bool { return true }, nil, verdict.Invalid, "the baseline alone lacks the metric under 8"},
		{"neither has it", func(uint64) bool { return true }, func(uint64) bool { return true }, verdict.Invalid, "no run of either side"},
		{"both lack it once", func(s uint64) bool { return s == 2 }, func(s uint64) bool { return s == 2 }, verdict.Pass, "under 1 of 8 seeds neither side has the metric"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &noisy{noise: 0.01, after: func(x trial.Trial, out *trial.Outcome) error {
				lacks := test.baseline
				if x.Identity == "candidate" {
					lacks = test.candidate
				}
				if lacks != nil && lacks(x.Seed) {
					delete(out.Metrics, "fct_us.mean")
				}
				return nil
			}}
			m := run(t, fakeCampaign(t, fakeSuite, r)).Experiments[0].Metrics[0]
			if m.Outcome != test.want || !strings.Contains(m.Reason, test.reason) {
				t.Errorf("%s: %s; want %s: %s", m.Outcome, m.Reason, test.want, test.reason)
			}
		})
	}
}

// TestResumeOfJournal: a campaign that is interrupted after any number of trials, and
// resumed, has the verdict of one that was not, and runs no trial twice.
func TestResumeOfJournal(t *testing.T) {
	effects := map[string]float64{"fct_us.max": 0.1, "fct_us.mean": 0.045}
	whole := run(t, fakeCampaign(t, fakeSuite, &noisy{noise: 0.03, effects: effects}))
	total := 0
	for stop := 1; ; stop += 13 {
		folder := t.TempDir()
		ended := 0
		session := func(most int) (*verdict.Document, error) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r := &noisy{noise: 0.03, effects: effects, after: func(trial.Trial, *trial.Outcome) error {
				if ended++; ended > most {
					ended--
					cancel()
					return ctx.Err()
				}
				return nil
			}}
			c := fakeCampaign(t, fakeSuite, r)
			j, err := trial.OpenJournal(folder)
			if err != nil {
				t.Fatal(err)
			}
			defer j.Close()
			c.Journal = j
			return c.Run(ctx)
		}
		_, err := session(stop)
		if err == nil {
			break
		}
		d, err := session(math.MaxInt)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := verdictOf(d), verdictOf(whole); got != want {
			t.Fatalf("resumed after %d trials:\n%s\nwant\n%s", stop, got, want)
		}
		if total == 0 {
			total = ended
		}
		if ended != total {
			t.Fatalf("resumed after %d trials: %d trials in all, want %d", stop, ended, total)
		}
	}
}

// verdictOf returns a verdict as text, without times.
func verdictOf(d *verdict.Document) string {
	c := *d
	c.Seconds, c.Started = 0, c.Started.Truncate(1<<62)
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", c.Outcome)
	number := func(v *float64) string {
		if v == nil {
			return "none"
		}
		return fmt.Sprint(*v)
	}
	for _, e := range c.Experiments {
		fmt.Fprintf(&b, "%s %s %v %v %d %v\n", e.Name, e.Outcome, e.Identical, e.Seeds, e.Looked, e.Reasons)
		for _, m := range e.Metrics {
			fmt.Fprintf(&b, "  %s %s %s %s %s %s %s %s %v\n", m.Name, m.Outcome, m.By, number(m.Effect), number(m.Low), number(m.High), number(m.P), m.Reason, m.Pairs)
		}
	}
	return b.String()
}

// TestHolm: what is undecided when its seeds are spent fails where all metrics of the suite
// together allow it.
func TestHolm(t *testing.T) {
	p := func(v float64) *float64 { return &v }
	c := &Campaign{Suite: &Suite{FalseFail: 0.02}, cells: []*cell{
		{entry: &Entry{Name: "a"}, result: verdict.Experiment{Metrics: []verdict.Metric{{Outcome: verdict.Fail, P: p(0.001)}, {Outcome: verdict.Inconclusive, P: p(0.006)}}}},
		{entry: &Entry{Name: "b"}, result: verdict.Experiment{Metrics: []verdict.Metric{{Outcome: verdict.Pass}, {Outcome: verdict.Inconclusive, P: p(0.011)}}}},
	}}
	c.correct()
	var got []string
	for _, one := range c.cells {
		for _, m := range one.result.Metrics {
			text := string(m.Outcome)
			if m.P != nil {
				text += fmt.Sprintf(" %.3f", *m.P)
			}
			got = append(got, text)
		}
		got = append(got, "= "+string(one.result.Outcome))
	}
	// By hand: 4 x 0.001; 3 x 0.006 <= 0.02 fails; 2 x 0.011 > 0.02 does not.
	if want := "fail 0.004, fail 0.018, = fail, pass, inconclusive 0.022, = inconclusive"; strings.Join(got, ", ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), want)
	}
}

// TestUnfailable: a rule for a tail that shares few false fails with many metrics is refused,
// since the bootstrap could not fail it.
func TestUnfailable(t *testing.T) {
	text := strings.Replace(fakeSuite, "name: fake", "name: fake\nfalse_fail: 0.0005", 1)
	fakeCampaign(t, text, &noisy{})
	text = strings.Replace(text, "fct_us.p99: 5%", "fct_us.p99: {delta: 5%, of: p90}", 1)
	c := &Campaign{Suite: readFake(t, text), Folder: t.TempDir(), Runner: &noisy{}}
	if err := c.Prepare(); err == nil || !strings.Contains(err.Error(), "fct_us.p99") || !strings.Contains(err.Error(), "it could never fail") {
		t.Error(err)
	}
}

// TestReproduce: the command names the experiment, both sides and the seeds, quoted for a
// shell.
func TestReproduce(t *testing.T) {
	c := fakeCampaign(t, fakeSuite, &noisy{})
	c.Filter.Seeds = 12
	if got, want := c.reproduce(c.cells[1]), "csiglab regress fake.yaml --only two --candidate 'program:new one' --seeds 12"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got, want := spelling.ShellWord("it's"), `'it'\''s'`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestFullDisk: an error of the machine ends the campaign without a verdict.
func TestFullDisk(t *testing.T) {
	full := fmt.Errorf("no space left")
	r := &noisy{after: func(x trial.Trial, _ *trial.Outcome) error {
		if x.Seed == 4 {
			return full
		}
		return nil
	}}
	d, err := fakeCampaign(t, fakeSuite, r).Run(t.Context())
	if d != nil || err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("%v, %v", d, err)
	}
}

const wallSuite = `
schema: 1
name: wall
seeds: {first: 10, most: 20}
experiments:
  - experiment: one
    set: [clock=wall, runtime=netns]
    metrics: {fct_us.mean: 20%}
`

// TestCalibration: under clock wall the baseline runs twice under each seed, one run at a
// time. A machine that changes between them makes the experiment invalid.
func TestCalibration(t *testing.T) {
	t.Run("steady", func(t *testing.T) {
		r := &noisy{noise: 0.02}
		c := fakeCampaign(t, wallSuite, r)
		c.Parallel = 4
		e := run(t, c).Experiments[0]
		if e.Outcome != verdict.Pass || e.Noise == nil || e.Noise.Pairs != 10 || !(e.Noise.Floor["fct_us.mean"] > 0.005 && e.Noise.Floor["fct_us.mean"] < 0.1) || e.Identical {
			t.Errorf("%+v %+v", e, e.Noise)
		}
		var order []string
		for _, x := range r.runs[:6] {
			order = append(order, fmt.Sprintf("%c%d/%d", x.Identity[0], x.Seed, x.Repeat))
		}
		if want := "b1/0 c1/1 b1/2 b2/2 c2/1 b2/0"; strings.Join(order, " ") != want {
			t.Errorf("order %v, want %s", order, want)
		}
	})
	t.Run("slower from run to run", func(t *testing.T) {
		r := &noisy{noise: 0.02}
		r.after = func(x trial.Trial, out *trial.Outcome) error {
			if x.Repeat == repeatBaseline {
				out.Metrics["fct_us.mean"] *= 1.15
			}
			return nil
		}
		d := run(t, fakeCampaign(t, wallSuite, r))
		if e := d.Experiments[0]; d.Outcome != verdict.Invalid || len(e.Reasons) != 1 || !strings.Contains(e.Reasons[0], "the baseline differs from itself: fct_us.mean") {
			t.Errorf("%s %+v", d.Outcome, e)
		}
	})
}

// TestSideBySide: runs go on side by side, and a trial that both sides share is run once.
func TestSideBySide(t *testing.T) {
	r := &noisy{noise: 0.03}
	c := fakeCampaign(t, fakeSuite, r)
	c.Parallel = 3
	parallel := verdictOf(run(t, c))
	if one := verdictOf(run(t, fakeCampaign(t, fakeSuite, &noisy{noise: 0.03}))); one != parallel {
		t.Errorf("three at a time:\n%s\nwant\n%s", parallel, one)
	}
	r = &noisy{noise: 0.03}
	c = fakeCampaign(t, fakeSuite, r)
	c.Candidate = c.Baseline
	c.cells = nil
	d := run(t, c)
	if len(r.runs) != 16 || d.Outcome != verdict.Pass || !slices.ContainsFunc(d.Notes, func(n string) bool { return strings.Contains(n, "compares it with itself") }) {
		t.Errorf("%d runs, %s, notes %q", len(r.runs), d.Outcome, d.Notes)
	}
}

// TestOnly: entries and variants that are not asked for are left out.
func TestOnly(t *testing.T) {
	c := fakeCampaign(t, fakeSuite, &noisy{})
	c.cells, c.Filter.Only = nil, []string{"two"}
	if err := c.Prepare(); err != nil || len(c.cells) != 1 || c.cells[0].name() != "two" {
		t.Errorf("%v, %v", c.cells, err)
	}
	c.cells, c.Filter.Only = nil, []string{"twoo"}
	if err := c.Prepare(); err == nil || err.Error() != `--only twoo: the suite fake has no such experiment (did you mean "two"?); it has one two` {
		t.Error(err)
	}
}
