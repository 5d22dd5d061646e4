// Package statistics compares samples of a candidate with those of a baseline. Samples are
// paired by seed (Judge, Compare), or come from different seeds (Unpaired). Medians are
// compared by exact rank tests: Wilcoxon's signed ranks for pairs, rank sums otherwise.
// Their inversion gives the intervals, which therefore need no normal noise. Tails are
// compared by a bootstrap with a fixed seed, so that equal samples give equal numbers. The
// package knows nothing of runs and metrics; docs/explanation/statistics.md has the rule for users.
package statistics

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/csiglab/csiglab/internal/spelling"
)

// Pair is the values of one seed.
type Pair struct{ Baseline, Candidate float64 }

// Estimate is how much larger the candidate is: a share of the baseline's value (0.1: 10 %
// more), or an absolute difference. Low <= Effect <= High; the ends may be infinite. The
// effect is infinite where a share of a baseline of 0 is asked for.
type Estimate struct {
	Effect, Low, High float64
}

// Finite returns a number for JSON, which has neither infinities nor NaN; nil stands for them.
func Finite(v float64) *float64 {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return nil
	}
	return &v
}

// Plan is how one metric is judged. Fields that are 0 have the default that is stated.
type Plan struct {
	Delta      float64 // the smallest worsening that matters, as a share, or absolute; not negative
	Absolute   bool
	Higher     bool    // higher values are better
	Both       bool    // neither is: any effect beyond Delta is worse. Higher means nothing then
	Quantile   float64 // of the seeds; 0.5: the median of the pairs' effects; 0: 0.5
	Confidence float64 // of the interval over all looks, and so of passing; 0: 0.95
	FalseFail  float64 // for this metric over all looks; 0: 0.02
	Looks      int     // how often the samples may be looked at; 0: 1
}

// Check returns an error that names the field which has no meaning, or with which no sample
// could decide.
func (p Plan) Check() error {
	open := func(v float64) bool { return v > 0 && v < 1 } // false for NaN
	p = p.withDefaults()
	switch {
	case !(p.Delta >= 0) || math.IsInf(p.Delta, 0):
		return fmt.Errorf("delta %v: want a number of at least 0", p.Delta)
	case (p.Higher || p.Both) && !p.Absolute && p.Delta >= 1:
		return fmt.Errorf("delta %v: want a share below 1, since no value of a metric that should be high, or the same, falls by more than all of it", p.Delta)
	case !open(p.Quantile):
		return fmt.Errorf("quantile %v: want a share between 0 and 1", p.Quantile)
	case !open(p.Confidence):
		return fmt.Errorf("confidence %v: want a share between 0 and 1", p.Confidence)
	case !open(p.FalseFail):
		return fmt.Errorf("false fails %v: want a share between 0 and 1", p.FalseFail)
	case p.Looks < 1:
		return fmt.Errorf("%d looks: want 1 or more", p.Looks)
	}
	if p.Quantile == 0.5 {
		return nil
	}
	// What the draws of a bootstrap cannot reach, no number of pairs can.
	const least = 1.0 / (resamples + 1)
	if level := p.fail(); level < least {
		return fmt.Errorf("quantile %v at %.2g false fails, at each of %d looks: the bootstrap knows no probability below %v, so that it could never fail; allow more false fails, compare fewer metrics, or compare the median", p.Quantile, p.FalseFail, p.Looks, least)
	}
	if level := p.side(); level < least {
		return fmt.Errorf("quantile %v with confidence %v, at each of %d looks: the bootstrap knows no probability below %v, so that it could never pass; want less confidence, or compare the median", p.Quantile, p.Confidence, p.Looks, least)
	}
	return nil
}

func (p Plan) withDefaults() Plan {
	p.Quantile = cmp.Or(p.Quantile, 0.5)
	p.Confidence = cmp.Or(p.Confidence, 0.95)
	p.FalseFail = cmp.Or(p.FalseFail, 0.02)
	p.Looks = cmp.Or(p.Looks, 1)
	return p
}

// side is the error probability of one end of the interval at one look.
func (p Plan) side() float64 { return (1 - p.Confidence) / 2 / float64(p.Looks) }

// fail is the level at one look of the test in the direction that is worse, or in each of
// both.
func (p Plan) fail() float64 {
	level := p.FalseFail / float64(p.Looks)
	if p.Both {
		level /= 2
	}
	return level
}

// limit is the effect beyond which the candidate is worse than Delta.
func (p Plan) limit() float64 {
	if p.Higher {
		return -p.Delta
	}
	return p.Delta
}

// Fewest returns the smallest numbers of pairs with which Judge can say NoWorse and Worse.
// With metrics that share FalseFail by Holm, give FalseFail divided by their number.
func (p Plan) Fewest() (noWorse, worse int) {
	p = p.withDefaults()
	return p.fewest(p.side()), p.fewest(p.fail())
}

// fewest is the smallest number of pairs whose p-value can be as small as the level: all
// pairs say the same with a probability of 2^-n, and all samples lie on one side of a
// quantile q with q^n.
func (p Plan) fewest(level float64) int {
	far := max(p.Quantile, 1-p.Quantile)
	n := max(1, int(math.Log(level)/math.Log(far)))
	for math.Pow(far, float64(n)) > level {
		n++
	}
	return n
}

// Outcome of a Judgement.
type Outcome int

// Outcomes.
const (
	Undecided Outcome = iota // more samples may tell
	NoWorse                  // than Delta, with Confidence
	Worse                    // than Delta
)

// Judgement is what samples say at one look.
type Judgement struct {
	Estimate                    // holds with Plan.Confidence at all looks together
	Baseline, Candidate float64 // the quantile over the seeds
	P                   float64 // of "no worse than Delta", corrected for the looks, not for other metrics
	Outcome             Outcome // Worse: P <= Plan.FalseFail; NoWorse: the interval lies on the good side of Delta, its end included
	// Enough is about how many pairs would decide if effect and noise stayed as they are; 0
	// if the outcome is decided, or if no number below 10,000 would do.
	Enough int
	Reason string // where the numbers do not say it
}

// Judge judges the pairs of one look. Pairs are in the order of seeds; only the first
// mostPairs count. Give it all pairs so far, at Plan.Looks sizes that are fixed beforehand
// (Looks). It panics if the plan fails Check.
//
// The sequence of P over the looks is a valid sequential p-value: the smallest of them is
// at most a with a probability of at most a if the candidate is no worse than Delta, so
// that Holm may take the P of several metrics at any look.
func Judge(pairs []Pair, p Plan) Judgement {
	c := compare(pairs, p)
	p = c.plan
	j := Judgement{Estimate: c.Estimate, Baseline: c.Baseline, Candidate: c.Candidate, P: 1, Reason: c.Reason}
	if !c.usable {
		return j
	}
	limit := p.limit()
	low, high := j.Low >= limit-c.rounding, j.High <= limit+c.rounding
	good := high
	switch {
	case p.Both:
		j.P, good = 2*min(c.above(p.Delta), c.below(-p.Delta)), c.within()
	case p.Higher:
		j.P, good = c.below(limit), low
	default:
		j.P = c.above(limit)
	}
	j.P = min(1, j.P*float64(p.Looks))
	switch {
	case j.P <= p.FalseFail:
		j.Outcome = Worse
	case good:
		j.Outcome = NoWorse
	default:
		j.undecided(c.pairs, p)
	}
	return j
}

// undecided says what is missing.
func (j *Judgement) undecided(n int, p Plan) {
	noWorse, worse := p.Fewest()
	if p.Both { // the nearer limit decides
		p.Higher = j.Effect < 0
	}
	limit := p.limit()
	bad := j.Effect > limit
	end := j.High
	if p.Higher {
		bad, end = j.Effect < limit, j.Low
	}
	fewest := noWorse
	if bad {
		fewest = worse
		end = j.Low + j.High - end // the other one
	}
	far, distance := math.Abs(end-j.Effect), math.Abs(limit-j.Effect)
	need := float64(n) * (far / distance) * (far / distance)
	if bad { // the level of a fail is another than that of the interval's end
		ratio := deviations(p.fail()) / deviations(p.side())
		need *= ratio * ratio
	}
	if math.IsInf(end, 0) {
		fewest = max(fewest, noWorse)
	}
	switch {
	case n < fewest:
		j.Enough = fewest
		j.add(fmt.Sprintf("%s cannot decide, whatever the values are: %d or more can", spelling.Plural(n, "pair"), fewest))
	case math.IsNaN(need) || need >= 1e4:
		j.add("the effect is too close to the limit, compared with its noise, for any reasonable number of pairs")
	default:
		j.Enough = max(int(math.Ceil(need)), n+1, fewest)
		j.add(fmt.Sprintf("about %d pairs would decide if effect and noise stayed as they are", j.Enough))
	}
}

// deviations is how many standard deviations a normal variable exceeds with a probability.
func deviations(p float64) float64 { return math.Sqrt2 * math.Erfinv(1-2*p) }

func (j *Judgement) add(reason string) {
	if j.Reason != "" {
		j.Reason += "; "
	}
	j.Reason += reason
}

// Comparison is how two sets of samples differ, whatever is better.
type Comparison struct {
	Estimate                    // holds with Plan.Confidence at all looks together
	Baseline, Candidate float64 // the quantile over the samples
	P                   float64 // of "there is no difference", two-sided, corrected for the looks, not for other metrics
	Within              bool    // the interval lies within ±Delta, its ends included
	Reason              string  // where the numbers do not say it
}

// Compare compares pairs. Plan.Higher and Plan.FalseFail mean nothing to it. It panics if the
// plan fails Check.
func Compare(pairs []Pair, p Plan) Comparison { return compare(pairs, p).public() }

// Unpaired compares samples of runs with different seeds, by rank sums and, for other
// quantiles than the median, by a bootstrap of each side. Effects are those of every
// candidate's value on every baseline's value. Only the first mostPairs of each side count.
// It panics if the plan fails Check.
func Unpaired(baseline, candidate []float64, p Plan) Comparison {
	return unpaired(baseline, candidate, p).public()
}

// Floor returns the smallest effect that as many pairs with the same noise would show: half
// the width of the interval. It is infinite where there are too few pairs.
func Floor(pairs []Pair, p Plan) float64 {
	c := compare(pairs, p)
	if math.IsInf(c.Low, 0) || math.IsInf(c.High, 0) {
		return math.Inf(1)
	}
	return (c.High - c.Low) / 2
}

// mostPairs is how many pairs a test takes at most. Its time grows with their square.
const mostPairs = 1000

// comparison is what Judge, Compare and Unpaired have in common.
type comparison struct {
	Estimate
	Baseline, Candidate float64
	Reason              string
	usable              bool // Estimate, above and below are given
	pairs               int
	plan                Plan // with defaults
	// above and below return the p-values, at one look, of "the effect is at most v" and
	// "the effect is at least v".
	above, below func(v float64) float64
	// rounding is how close effects are that count as equal.
	rounding float64
}

func (c *comparison) public() Comparison {
	out := Comparison{Estimate: c.Estimate, Baseline: c.Baseline, Candidate: c.Candidate, P: 1, Reason: c.Reason}
	if !c.usable {
		return out
	}
	out.P = min(1, 2*float64(c.plan.Looks)*min(c.above(0), c.below(0)))
	out.Within = c.within()
	return out
}

// within reports whether the interval lies within ±Delta, its ends included.
func (c *comparison) within() bool {
	return -c.plan.Delta-c.rounding <= c.Low && c.High <= c.plan.Delta+c.rounding
}

// unknown is a comparison that says nothing.
func unknown(p Plan, reason string) *comparison {
	return &comparison{plan: p, Estimate: Estimate{Low: math.Inf(-1), High: math.Inf(1)}, Reason: reason}
}

func compare(pairs []Pair, p Plan) *comparison {
	pairs = pairs[:min(len(pairs), mostPairs)]
	n := len(pairs)
	baseline, candidate := make([]float64, n), make([]float64, n)
	for i, one := range pairs {
		baseline[i], candidate[i] = one.Baseline, one.Candidate
	}
	return compareSides(baseline, candidate, p, "there is no pair", true, func(s scale) ([]float64, []float64) {
		effects := make([]float64, 0, n*(n+1)/2)
		for i := range pairs {
			for j := range pairs[:i+1] {
				effects = append(effects, s.walsh(pairs[i], pairs[j]))
			}
		}
		return effects, signedRanks(n)
	})
}

func unpaired(baseline, candidate []float64, p Plan) *comparison {
	baseline, candidate = baseline[:min(len(baseline), mostPairs)], candidate[:min(len(candidate), mostPairs)]
	return compareSides(baseline, candidate, p, "a side has no sample", false, func(s scale) ([]float64, []float64) {
		effects := make([]float64, 0, len(baseline)*len(candidate))
		for _, b := range baseline {
			for _, v := range candidate {
				effects = append(effects, s.of(b, v))
			}
		}
		return effects, rankSums(len(baseline), len(candidate))
	})
}

// compareSides compares samples, of which none is why there may be none. single returns all
// single effects and the distribution of their number above the true effect.
func compareSides(baseline, candidate []float64, p Plan, none string, paired bool, single func(scale) (effects, tail []float64)) *comparison {
	p = p.checked()
	if len(baseline) == 0 || len(candidate) == 0 {
		return unknown(p, none)
	}
	scale, reason := scaleOf(baseline, candidate, p.Absolute)
	if reason != "" {
		return unknown(p, reason)
	}
	c := &comparison{plan: p, usable: true, pairs: min(len(baseline), len(candidate)), Reason: scale.note, rounding: scale.rounding}
	if p.Quantile != 0.5 {
		c.bootstrap(baseline, candidate, scale, paired)
		return c
	}
	c.Baseline, c.Candidate = median(slices.Sorted(slices.Values(baseline))), median(slices.Sorted(slices.Values(candidate)))
	c.ranks(single(scale))
	return c
}

// checked returns the plan with its defaults.
func (p Plan) checked() Plan {
	if err := p.Check(); err != nil {
		panic("statistics: " + err.Error())
	}
	return p.withDefaults()
}

// ranks fills in a comparison from all single effects and the distribution of their number
// above the true effect: tail[k] is the probability of k or more. The effect is their median
// (Hodges and Lehmann). An effect that equals the tested value counts for neither side, which
// errs towards not rejecting, and agrees with the interval, which has its ends.
func (c *comparison) ranks(effects []float64, tail []float64) {
	slices.Sort(effects)
	c.Effect = median(effects)
	c.above = func(v float64) float64 { return tail[len(effects)-after(effects, v+c.rounding)] }
	c.below = func(v float64) float64 { return tail[before(effects, v-c.rounding)] }
	c.Low, c.High = math.Inf(-1), math.Inf(1)
	level := c.plan.side()
	if k, _ := slices.BinarySearchFunc(tail, level, func(t, level float64) int {
		if t > level { // tail falls
			return -1
		}
		return 1
	}); k < len(tail) {
		c.Low, c.High = effects[len(effects)-k], effects[k-1]
	}
}

// after returns the index of the first of the sorted values that is greater than v.
func after(values []float64, v float64) int {
	at, _ := slices.BinarySearchFunc(values, v, func(value, v float64) int {
		if value <= v {
			return -1
		}
		return 1
	})
	return at
}

// before returns the index of the first of the sorted values that is not less than v.
func before(values []float64, v float64) int {
	at, _ := slices.BinarySearch(values, v)
	return at
}

// median returns the median of sorted values. The mean of two infinities of opposite signs
// is 0.
func median(values []float64) float64 {
	n := len(values)
	low, high := values[(n-1)/2], values[n/2]
	if low == high {
		return low
	}
	switch below, above := math.IsInf(low, -1), math.IsInf(high, 1); {
	case below && above:
		return 0
	case below:
		return low
	case above:
		return high
	}
	return low/2 + high/2
}
