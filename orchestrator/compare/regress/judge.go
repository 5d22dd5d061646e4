package regress

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/orchestrator/compare/statistics"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
)

// What decided a metric, where it is not verdict.ByFingerprint.
const (
	byStatistics  = "statistics"
	byExpectation = "expectations"
	byChecks      = "checks"
)

// exitFailed is trial.Outcome.Exit of a run in which an expectation failed.
const exitFailed = 1

// judge judges the metrics of a cell by all samples so far, and reports whether all are
// decided. Samples of an earlier look are part of them, so that what is said rests on the
// same runs for all metrics of a cell; Plan.Looks accounts for the looks before.
func (c *Campaign) judge(one *cell, s *samples) (decided bool) {
	r := &one.result
	r.Metrics, one.kept = r.Metrics[:0], one.kept[:0]
	r.Differ = 0
	if one.deterministic() {
		r.Differ = s.differ()
	}
	r.Identical = one.deterministic() && r.Differ == 0
	decided = true
	for i := range one.rules {
		m := c.metric(one, s, &one.rules[i])
		decided = decided && m.Outcome != verdict.Inconclusive
		r.Metrics = append(r.Metrics, m)
	}
	if m, ok := c.expectations(one, s); ok {
		decided = decided && m.Outcome != verdict.Inconclusive
		r.Metrics = append(r.Metrics, m)
	}
	return decided
}

// expectations judges the expectations of the experiment, if the candidate fails them and
// the baseline never does. Flows that do not complete make the FCT of the others look good.
// If the candidate were as likely to fail them as the baseline, all n seeds that differ
// would be the candidate's with a probability of 2^-n (sign test).
func (c *Campaign) expectations(one *cell, s *samples) (m verdict.Metric, ok bool) {
	failed, seeds := s.failed(), len(s.sides[0])
	if failed[1] == 0 {
		return m, false
	}
	one.note = fmt.Sprintf("%s: expectations of the experiment fail under %d of %d seeds of the candidate, and under %d of the baseline", one.name(), failed[1], seeds, failed[0])
	if failed[0] > 0 {
		return m, false
	}
	return c.bySigns(one, "expectations", byExpectation, failed[1],
		fmt.Sprintf("expectations of the experiment fail under %d of %d seeds of the candidate, and under none of the baseline", failed[1], seeds)), true
}

// bySigns judges by a sign test what n seeds of the candidate do, and none of the baseline.
func (c *Campaign) bySigns(one *cell, name, by string, n int, reason string) verdict.Metric {
	p := min(1, float64(len(one.looks))*math.Pow(0.5, float64(n)))
	baseline, candidate := 0.0, float64(n)
	m := verdict.Metric{Name: name, Better: verdict.Lower, Absolute: true, By: by, Outcome: verdict.Inconclusive,
		Baseline: &baseline, Candidate: &candidate, P: &p, Pairs: []verdict.Pair{}, Reason: reason}
	if p <= c.Suite.FalseFail/float64(c.metrics()) {
		m.Outcome = verdict.Fail
	}
	return m
}

// promised are the checks of a run that csiglab promises to pass whatever the machine does, unless
// real frames or time are lost there, which other checks notice.
var promised = []string{"completion", "conservation", "deadlock", "lossless", trial.Crash}

// broke reports whether a run does not count because its program broke a promise, and for
// nothing else.
func broke(out *trial.Outcome) bool {
	return len(out.Failed) > 0 && !slices.ContainsFunc(out.Failed, func(name string) bool { return !slices.Contains(promised, name) })
}

// brokenAlone reports whether the runs that do not count are the candidate's, which broke
// promises there. Its numbers do not count, and that the baseline keeps them does.
func (s *samples) brokenAlone() bool { return s.broken > 0 && s.broken == s.invalid }

// promises judges that the candidate alone breaks promises, by the sign test of expectations.
func (c *Campaign) promises(one *cell, s *samples) verdict.Metric {
	var names []string
	for i := range s.sides[1] {
		if out := &s.sides[1][i]; !out.Counts() {
			names = append(names, out.Failed...)
		}
	}
	slices.Sort(names)
	return c.bySigns(one, "promises", byChecks, s.broken,
		fmt.Sprintf("the candidate breaks what csiglab promises (%s) under %d of %d seeds, and the baseline under none: %s; the metrics of such runs mean nothing",
			strings.Join(slices.Compact(names), ", "), s.broken, len(s.sides[1]), s.reasons[0]))
}

// failed returns under how many seeds an expectation failed, by side.
func (s *samples) failed() (n [2]int) {
	for side := range s.sides {
		for i := range s.sides[side] {
			if s.sides[side][i].Exit == exitFailed {
				n[side]++
			}
		}
	}
	return n
}

// differ returns how many seeds have not the same trace on both sides.
func (s *samples) differ() (n int) {
	for i := range s.sides[0] {
		if hash := s.sides[0][i].TraceHash; hash == "" || hash != s.sides[1][i].TraceHash {
			n++
		}
	}
	return n
}

// metric judges one metric.
func (c *Campaign) metric(one *cell, s *samples, r *judged) verdict.Metric {
	m := verdict.Metric{Name: r.Metric, Unit: r.unit, Better: r.Better, Delta: r.Delta, Absolute: r.Absolute, Of: r.Of,
		By: byStatistics, Outcome: verdict.Inconclusive, Pairs: []verdict.Pair{}}
	pairs, lacking := pairsOf(s.sides[0], s.sides[1], r.Metric)
	equal := true
	for _, p := range pairs {
		m.Pairs = append(m.Pairs, verdict.Pair{Seed: p.seed, Baseline: p.Baseline, Candidate: p.Candidate})
		equal = equal && p.Baseline == p.Candidate
	}
	plan := c.plan(one, r)
	one.kept = append(one.kept, lacking.reason())
	if !lacking.none() {
		return lacking.judge(m, plan)
	}
	j := statistics.Judge(values(pairs), plan)
	m.Baseline, m.Candidate = statistics.Finite(j.Baseline), statistics.Finite(j.Candidate)
	m.Effect, m.Low, m.High = statistics.Finite(j.Effect), statistics.Finite(j.Low), statistics.Finite(j.High)
	if one.result.Identical && equal {
		zero := 0.0
		m.By, m.Outcome, m.Effect, m.Low, m.High = verdict.ByFingerprint, verdict.Pass, &zero, &zero, &zero
		return m
	}
	m.P, m.Reason = statistics.Finite(j.P), join(lacking.reason(), j.Reason)
	switch fewest := c.fewestToCalibrate(one, r); {
	case j.Outcome == statistics.NoWorse && len(s.again) < fewest && s.again != nil:
		m.Reason = join(lacking.reason(), fmt.Sprintf("it would pass, but to find out whether the machine is steady takes %d pairs of the baseline with itself", fewest))
	case j.Outcome == statistics.NoWorse:
		m.Outcome = verdict.Pass
	case j.Outcome == statistics.Worse:
		fail(&m, m.Reason)
	}
	return m
}

// fail makes a metric fail, for what its numbers do not say. It asks about one that should be
// the same.
func fail(m *verdict.Metric, reason string) {
	m.Outcome, m.Reason = verdict.Fail, reason
	if m.Better == verdict.Same {
		m.Reason = join(reason, unexpected)
	}
}

// unexpected asks about a metric that moved and should be the same.
const unexpected = "the suite says that it has no reason to move; if the change means to move it, say so there: better: lower, or higher"

// pair is the values of a seed.
type pair struct {
	seed uint64
	statistics.Pair
}

func values(pairs []pair) []statistics.Pair {
	list := make([]statistics.Pair, len(pairs))
	for i, p := range pairs {
		list[i] = p.Pair
	}
	return list
}

// lacking counts the seeds under which runs lack a metric.
type lacking struct {
	seeds                     int // in all
	both, baseline, candidate int // on both sides, on one alone
}

// pairsOf returns the values of the seeds under which both sides have a metric.
func pairsOf(baseline, candidate []trial.Outcome, metric string) (pairs []pair, l lacking) {
	l.seeds = len(baseline)
	for i := range baseline {
		b, ok := baseline[i].Metrics[metric]
		c, also := candidate[i].Metrics[metric]
		switch {
		case ok && also:
			pairs = append(pairs, pair{uint64(i + 1), statistics.Pair{Baseline: b, Candidate: c}})
		case ok:
			l.candidate++
		case also:
			l.baseline++
		default:
			l.both++
		}
	}
	return pairs, l
}

// none reports whether there are pairs, and no value without its pair.
func (l lacking) none() bool { return l.baseline == 0 && l.candidate == 0 && l.both < l.seeds }

// reason says which seeds are left out.
func (l lacking) reason() string {
	if l.both == 0 {
		return ""
	}
	return fmt.Sprintf("under %d of %d seeds neither side has the metric; they are left out", l.both, l.seeds)
}

// judge judges a metric that runs lack. A candidate that never has what the baseline has is
// worse by any measure: its n seeds all say so, which chance does with a probability of at
// most 2^-n if the median of the effects is within the limit. Everything else cannot be
// compared.
func (l lacking) judge(m verdict.Metric, plan statistics.Plan) verdict.Metric {
	if l.both == 0 && l.baseline == 0 && l.candidate == l.seeds {
		p := min(1, float64(plan.Looks)*math.Pow(0.5, float64(l.seeds)))
		m.P, m.Reason = &p, fmt.Sprintf("the candidate lacks the metric under all %d seeds; the baseline has it", l.seeds)
		if p <= plan.FalseFail {
			m.Outcome = verdict.Fail
		}
		return m
	}
	m.Outcome = verdict.Invalid
	if l.both == l.seeds {
		m.Reason = "no run of either side has the metric"
	} else {
		m.Reason = fmt.Sprintf("of %d seeds, the baseline alone lacks the metric under %d, the candidate alone under %d, both under %d", l.seeds, l.baseline, l.candidate, l.both)
	}
	return m
}

func join(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), "; ")
}

// conclude fills in what is known of a cell when its last trial has ended, but for Holm's
// correction over the suite.
func (c *Campaign) conclude(one *cell, s *samples) {
	r := &one.result
	r.Seeds = make([]uint64, len(s.sides[0]))
	for i := range r.Seeds {
		r.Seeds[i] = uint64(i + 1)
	}
	r.Seconds = math.Round(s.seconds*1e3) / 1e3
	r.Reasons = s.reasons
	if len(s.reasons) == 0 {
		c.calibrate(one, s)
		return
	}
	if s.brokenAlone() {
		if m := c.promises(one, s); m.Outcome == verdict.Fail {
			r.Reasons, r.Metrics, one.kept, r.Differ = nil, append(r.Metrics[:0], m), nil, s.differ()
			return
		}
	}
	r.Metrics = r.Metrics[:0]
	for i := range one.rules {
		rule := &one.rules[i]
		r.Metrics = append(r.Metrics, verdict.Metric{Name: rule.Metric, Unit: rule.unit, Better: rule.Better, Delta: rule.Delta, Absolute: rule.Absolute,
			Of: rule.Of, Outcome: verdict.Invalid, By: byStatistics, Pairs: []verdict.Pair{}, Reason: "runs of the experiment are invalid"})
	}
}

// calibrate compares the baseline with itself under clock wall. A baseline that differs from
// itself makes the experiment invalid: what differs is the machine.
func (c *Campaign) calibrate(one *cell, s *samples) {
	if s.again == nil {
		return
	}
	noise := &verdict.Calibration{Pairs: len(s.again), Floor: map[string]float64{}}
	for i := range one.rules {
		r := &one.rules[i]
		pairs, l := pairsOf(s.sides[0], s.again, r.Metric)
		if !l.none() {
			continue // judged as lacking already, or no runs to calibrate with
		}
		plan, level := c.calibration(one, r)
		if floor := statistics.Floor(values(pairs), plan); !math.IsInf(floor, 0) {
			noise.Floor[r.Metric] = floor
		}
		if d := statistics.Compare(values(pairs), plan); d.P <= level {
			one.result.Reasons = append(one.result.Reasons, fmt.Sprintf("the baseline differs from itself: %s of its repeated runs is %s (p = %.2g); the machine was not steady",
				r.Metric, effectText(d.Effect, r.Absolute, r.unit), d.P))
		}
	}
	one.result.Noise = noise
}

// falseAlarms is the greatest share of suites in which the A/A calibration finds an unsteady
// machine where there is none. It is shared by all metrics under clock wall.
const falseAlarms = 0.05

// calibration returns how the baseline is compared with itself, and the level of the
// two-sided p-value at which it differs.
func (c *Campaign) calibration(one *cell, r *judged) (statistics.Plan, float64) {
	n := 0
	for _, other := range c.cells {
		if !other.deterministic() {
			n += len(other.rules)
		}
	}
	plan := c.plan(one, r)
	plan.Looks = 1
	return plan, falseAlarms / float64(max(1, n))
}

// fewestToCalibrate returns the smallest number of pairs with which the calibration can find
// that the baseline differs from itself. With fewer it says nothing.
func (c *Campaign) fewestToCalibrate(one *cell, r *judged) int {
	plan, level := c.calibration(one, r)
	plan.FalseFail = level / 2
	_, fewest := plan.Fewest()
	return fewest
}

// effectText returns an effect in words.
func effectText(effect float64, absolute bool, unit string) string {
	word := "higher"
	if effect < 0 {
		word = "lower"
	}
	if absolute {
		return strings.TrimSpace(fmt.Sprintf("%.3g %s", math.Abs(effect), unit)) + " " + word
	}
	return fmt.Sprintf("%.1f %% %s", 100*math.Abs(effect), word)
}

// outcome returns the outcome of a cell from those of its metrics.
func (c *cell) outcome() verdict.Outcome {
	if len(c.result.Reasons) > 0 {
		return verdict.Invalid
	}
	var all []verdict.Outcome
	for _, m := range c.result.Metrics {
		all = append(all, m.Outcome)
	}
	return verdict.Of(all...)
}

// correct corrects the metrics of all cells for each other by Holm's method, which may turn
// what was undecided into a fail. Metrics without a p-value count as those whose null
// hypothesis holds.
func (c *Campaign) correct() {
	var metrics []*verdict.Metric
	var p []float64
	var kept []string
	for _, one := range c.cells {
		for i := range one.result.Metrics {
			m := &one.result.Metrics[i]
			metrics = append(metrics, m)
			if i < len(one.kept) {
				kept = append(kept, one.kept[i])
			} else {
				kept = append(kept, m.Reason)
			}
			if m.P == nil {
				p = append(p, 1)
			} else {
				p = append(p, *m.P)
			}
		}
	}
	for i, adjusted := range statistics.Holm(p) {
		m := metrics[i]
		if m.P == nil {
			continue
		}
		m.P = &adjusted
		if m.Outcome == verdict.Inconclusive && adjusted <= c.Suite.FalseFail {
			fail(m, kept[i])
		}
	}
	for _, one := range c.cells {
		r := &one.result
		r.Outcome, r.Change = one.outcome(), verdict.ChangeOf(r)
		if c.Strict && r.Change.Differs() {
			r.Outcome = verdict.Fail
		}
	}
}
