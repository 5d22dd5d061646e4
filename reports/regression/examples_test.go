package regression

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
)

// sample is a metric of an example: pairs around a change, and what came of them.
type sample struct {
	name     string
	unit     string
	better   verdict.Better
	delta    float64
	absolute bool
	of       string

	baseline, change, noise float64 // change and noise as shares, or absolute
	pairs                   int
	p                       float64
	outcome                 verdict.Outcome
}

func pointer(v float64) *float64 { return &v }

// metric makes the verdict of a sample, with pairs from the seed.
func (s sample) metric(seed uint64) verdict.Metric {
	random := rand.New(rand.NewPCG(seed, uint64(len(s.name))))
	m := verdict.Metric{Name: s.name, Unit: s.unit, Better: s.better, Delta: s.delta, Absolute: s.absolute, Of: s.of, Outcome: s.outcome, By: "statistics"}
	if m.Of == "" {
		m.Of = "median"
	}
	var effects, baselines, candidates []float64
	for i := range s.pairs {
		base := s.baseline * (1 + 0.1*random.NormFloat64())
		effect := s.change + s.noise*random.NormFloat64()
		p := verdict.Pair{Seed: uint64(i + 1), Baseline: base, Candidate: base * (1 + effect)}
		if s.absolute {
			p.Candidate = base + effect
		}
		m.Pairs = append(m.Pairs, p)
		effects, baselines, candidates = append(effects, effect), append(baselines, p.Baseline), append(candidates, p.Candidate)
	}
	middle := func(v []float64) *float64 { slices.Sort(v); return pointer(v[len(v)/2]) }
	m.Baseline, m.Candidate, m.Effect = middle(baselines), middle(candidates), middle(effects)
	width := 2.2 * s.noise / math.Sqrt(float64(s.pairs))
	m.Low, m.High = pointer(*m.Effect-width), pointer(*m.Effect+width)
	if s.p > 0 {
		m.P = &s.p
	}
	return m
}

// fingerprint is a metric whose values are the same on both sides.
func fingerprint(name, unit string, value float64, pairs int) verdict.Metric {
	m := verdict.Metric{Name: name, Unit: unit, Better: verdict.Lower, Delta: 0.05, Of: "median", Outcome: verdict.Pass, By: "fingerprint",
		Baseline: &value, Candidate: &value, Effect: pointer(0), Low: pointer(0), High: pointer(0)}
	for i := range pairs {
		m.Pairs = append(m.Pairs, verdict.Pair{Seed: uint64(i + 1), Baseline: value, Candidate: value})
	}
	return m
}

func seedsTo(n int) (seeds []uint64) {
	for i := range n {
		seeds = append(seeds, uint64(i+1))
	}
	return seeds
}

// document is an example without experiments.
func document(outcome verdict.Outcome, experiments ...verdict.Experiment) *verdict.Document {
	d := &verdict.Document{
		Schema: verdict.Schema, Suite: "standard", Version: "0.15.0", Command: []string{"csiglab", "regress", "standard", "--baseline", "git:main"}, Machine: "builder-7",
		Started: time.Date(2026, 11, 23, 2, 41, 0, 0, time.UTC), Seconds: 412,
		Baseline:  verdict.Side{Label: "git:main (4be1c2f)", Kind: "git", Build: "0.15.0-4be1c2f", Flags: []string{"--baseline", "git:4be1c2f"}},
		Candidate: verdict.Side{Label: "git:HEAD (9a0b77d)", Kind: "git", Build: "0.15.0-9a0b77d", Flags: []string{"--candidate", "git:9a0b77d"}},
		Design:    verdict.Design{Confidence: 0.95, FalseFail: 0.02}, Outcome: outcome, Experiments: experiments,
	}
	for i := range d.Experiments {
		e := &d.Experiments[i]
		d.Design.Metrics += len(e.Metrics)
		name := e.Name
		if e.Variant != "" {
			name += "/" + e.Variant
		}
		if e.Reproduce == "" {
			e.Reproduce = "csiglab regress standard --only " + name + " --baseline git:4be1c2f --candidate git:9a0b77d"
		}
	}
	return d
}

func experimentOf(name, variant string, outcome verdict.Outcome, pairs int, metrics ...verdict.Metric) verdict.Experiment {
	return verdict.Experiment{Name: name, Variant: variant, Clock: "virtual", Differ: pairs, Outcome: outcome, Seeds: seedsTo(pairs), Looks: []int{6, 12, 24}, Looked: pairs, Seconds: 61.5, Metrics: metrics}
}

// passing returns metrics that are no worse than their limits.
func passing(n, pairs int) (metrics []verdict.Metric) {
	kinds := []sample{
		{name: "fct_us.p99", unit: "µs", better: verdict.Lower, baseline: 2310, noise: 0.01},
		{name: "fct_us.mean", unit: "µs", better: verdict.Lower, baseline: 840, noise: 0.008, change: -0.01},
		{name: "goodput_gbps.mean", unit: "Gb/s", better: verdict.Higher, baseline: 91.2, noise: 0.004},
		{name: "fairness", better: verdict.Higher, baseline: 0.93, noise: 0.004},
		{name: "queue_peak_kb", unit: "kB", better: verdict.Lower, baseline: 410, noise: 0.02, change: 0.004},
		{name: "cct_us.p50", unit: "µs", better: verdict.Lower, baseline: 18_400, noise: 0.006, change: 0.01},
		{name: "packets.retransmitted", unit: "packets", better: verdict.Lower, baseline: 120, noise: 0.02},
	}
	for i := range n {
		s := kinds[i%len(kinds)]
		if i >= len(kinds) {
			s.name += fmt.Sprintf(".job%d", i/len(kinds))
		}
		s.pairs, s.delta, s.outcome, s.p = pairs, 0.05, verdict.Pass, 1
		metrics = append(metrics, s.metric(uint64(i)))
	}
	return metrics
}

// examples are documents of all cases.
func examples() map[string]*verdict.Document {
	worse := []verdict.Metric{
		sample{name: "fct_us.p99", unit: "µs", better: verdict.Lower, delta: 0.05, of: "p90", baseline: 2310, change: 0.118, noise: 0.03, pairs: 12, p: 0.0004, outcome: verdict.Fail}.metric(3),
		sample{name: "goodput_gbps.mean", unit: "Gb/s", better: verdict.Higher, delta: 0.03, baseline: 91.2, change: -0.062, noise: 0.01, pairs: 12, p: 0.00001, outcome: verdict.Fail}.metric(4),
	}
	lost := sample{name: "packets.lost", unit: "packets", better: verdict.Lower, delta: 5, absolute: true, baseline: 40, change: 31, noise: 6, pairs: 24, p: 0.002, outcome: verdict.Fail}.metric(5)
	moved := sample{name: "fairness_ratio", better: verdict.Same, delta: 0.05, baseline: 1.4, change: -0.4, noise: 0.01, pairs: 12, p: 0.0004, outcome: verdict.Fail}.metric(9)
	moved.Reason = "the suite says that it has no reason to move"
	open := sample{name: "cct_us.p99", unit: "µs", better: verdict.Lower, delta: 0.05, baseline: 18_700, change: 0.031, noise: 0.08, pairs: 24, p: 0.9, outcome: verdict.Inconclusive}.metric(6)
	atLimit := sample{name: "queue_peak_kb", unit: "kB", better: verdict.Lower, delta: 0.05, baseline: 400, change: 0.05, noise: 0.05, pairs: 24, p: 0.5, outcome: verdict.Inconclusive}.metric(7)
	improved := sample{name: "steps.time_us", unit: "µs", better: verdict.Lower, delta: 0.05, baseline: 70_000, change: -0.12, noise: 0.01, pairs: 12, p: 1, outcome: verdict.Pass}.metric(8)
	identical := func(name, variant string) verdict.Experiment {
		e := experimentOf(name, variant, verdict.Pass, 6, fingerprint("fct_us.p99", "µs", 2310, 6), fingerprint("fct_us.mean", "µs", 911.25, 6), fingerprint("fairness", "", 0.93, 6))
		e.Identical, e.Differ, e.Looked = true, 0, 6
		return e
	}

	fail := document(verdict.Fail,
		experimentOf("incast", "csig", verdict.Fail, 12, append(worse, passing(11, 12)...)...),
		experimentOf("permutation", "baseline", verdict.Pass, 12, passing(10, 12)...),
		experimentOf("lb-failure", "reps", verdict.Fail, 24, append([]verdict.Metric{lost}, passing(9, 24)...)...),
		experimentOf("training-step", "", verdict.Pass, 12, append([]verdict.Metric{improved}, passing(3, 12)...)...),
		identical("three-flow", "csig"))

	wall := experimentOf("iperf", "csig", verdict.Inconclusive, 24, open, atLimit)
	wall.Clock, wall.Noise = "wall", &verdict.Calibration{Pairs: 12, Floor: map[string]float64{"cct_us.p99": 0.071, "queue_peak_kb": 0.02}}
	few := verdict.Metric{Name: "fct_us.p99", Unit: "µs", Better: verdict.Lower, Delta: 0.05, Of: "p90", Outcome: verdict.Inconclusive, By: "statistics", Baseline: pointer(2000), Candidate: pointer(2010), Effect: pointer(0.005),
		Pairs: []verdict.Pair{{Seed: 1, Baseline: 2000, Candidate: 2010}, {Seed: 2, Baseline: 2000, Candidate: 2012}}}
	inconclusive := document(verdict.Inconclusive, wall, experimentOf("incast", "csig", verdict.Inconclusive, 2, few), experimentOf("permutation", "baseline", verdict.Pass, 12, passing(8, 12)...))

	broken := experimentOf("lb-failure", "reps", verdict.Invalid, 3)
	broken.Reasons = []string{"candidate, seed 2: csiglab was killed (SIGKILL)", "candidate, seed 3: csiglab was killed (SIGKILL)", "baseline, seed 3: no space left on device"}
	noisy := experimentOf("iperf", "csig", verdict.Invalid, 12)
	noisy.Clock, noisy.Reasons = "wall", []string{"the baseline differs from itself by 9 % (fct_us.p99): the machine is too noisy, or other programs ran"}
	invalid := document(verdict.Invalid, broken, noisy, experimentOf("permutation", "baseline", verdict.Pass, 12, passing(8, 12)...))

	mixed := document(verdict.Invalid, broken, fail.Experiments[0], wall, experimentOf("permutation", "baseline", verdict.Pass, 12, passing(8, 12)...))
	mixed.Notes = []string{"the stored baseline was made by csiglab 0.14.2"}

	many := document(verdict.Fail)
	for i := range 60 {
		metrics := passing(20, 12)
		outcome := verdict.Pass
		if i%10 == 0 {
			metrics, outcome = append(metrics, worse...), verdict.Fail
		}
		many.Experiments = append(many.Experiments, experimentOf(fmt.Sprintf("experiment-%02d", i), "variant-with-a-name", outcome, 12, metrics...))
		many.Experiments[i].Reproduce = fmt.Sprintf("csiglab regress standard --only experiment-%02d/variant-with-a-name", i)
	}

	lacking := verdict.Metric{Name: "jobs.done", Better: verdict.Higher, Delta: 0.05, Of: "median", Outcome: verdict.Fail, By: "statistics", Baseline: pointer(40), P: pointer(0.004), Reason: "the candidate lacks the metric under all 8 seeds"}

	all := map[string]*verdict.Document{
		"lacking": document(verdict.Fail, experimentOf("incast", "", verdict.Fail, 8, worse[0], lacking)),
		"fail":    fail, "inconclusive": inconclusive, "invalid": invalid, "mixed": mixed, "many": many,
		"pass":      document(verdict.Pass, experimentOf("incast", "csig", verdict.Pass, 12, append([]verdict.Metric{improved}, passing(7, 12)...)...), identical("three-flow", "csig")),
		"identical": document(verdict.Pass, identical("three-flow", "csig"), identical("incast", "csig"), identical("training-step", "")),
		"moved":     document(verdict.Fail, experimentOf("three-flow", "csig", verdict.Fail, 12, moved)),
		"one":       document(verdict.Fail, experimentOf("incast", "csig", verdict.Fail, 12, worse[0])),
		"empty":     document(verdict.Pass),
		"ended":     document(verdict.Invalid),
		"hostile":   hostile(fail),
	}
	executed := func(changed int, not ...string) *verdict.Document {
		d := document(verdict.Pass, identical("three-flow", "csig"))
		d.Execution = &verdict.Execution{Changed: changed, NotRun: not}
		return d
	}
	all["not executed"], all["partly executed"] = executed(1, "conformance.Find"), executed(3, "conformance.Find")
	all["executed"] = executed(3)
	all["ended"].Notes = []string{"write runs/x/trials.jsonl: no space left on device"}
	all["empty"].Machine, all["empty"].Started, all["empty"].Suite = "", time.Time{}, ""
	return all
}

// hostileNames are what somebody may write into a suite or a document.
var hostileNames = []string{
	`</script><script>hacked=1</script>`,
	`"><img src=x onerror=hacked=1>`,
	"a | b ` c `` d \\| e ]]> &amp; <!-- x -->",
	"two\nlines\tand\x00a bell\x07 \u202egnihtyna",
	"[link](javascript:hacked=1) @everyone #12 https://example.com/x www.example.com *b* _i_ $x$ ~~s~~",
	"```\n# heading\n</details>",
	strings.Repeat("<long & wide>", 800),
	"",
}

// hostile returns a document like d with names and texts of hostileNames.
func hostile(d *verdict.Document) *verdict.Document {
	h := *d
	n := 0
	name := func() string { n++; return hostileNames[n%len(hostileNames)] }
	h.Suite, h.Machine, h.Version = name(), name(), name()
	h.Baseline.Label, h.Baseline.Build, h.Candidate.Label, h.Candidate.Set = name(), name(), name(), []string{name(), name()}
	h.Notes = slices.Clone(hostileNames)
	h.Experiments = slices.Clone(d.Experiments)
	for i := range h.Experiments {
		e := &h.Experiments[i]
		e.Name, e.Variant, e.Reproduce, e.Clock = name(), name(), name(), name()
		e.Reasons = []string{name(), name()}
		e.Metrics = slices.Clone(e.Metrics)
		for k := range e.Metrics {
			m := &e.Metrics[k]
			m.Name, m.Unit, m.Of, m.Reason = name(), name(), name(), name()
			n++
		}
	}
	h.Experiments[1].Outcome = "excellent"
	zero := &h.Experiments[2].Metrics[0]
	zero.Delta, zero.Low, zero.High, zero.Baseline = 0, nil, nil, nil
	huge := &h.Experiments[3].Metrics[0]
	huge.Effect, huge.Low, huge.High, huge.P, huge.Pairs = pointer(math.MaxFloat64), pointer(-math.MaxFloat64), pointer(math.Inf(1)), pointer(math.NaN()), nil
	return &h
}
