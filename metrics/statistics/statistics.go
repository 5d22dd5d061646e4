// Package statistics compares samples of a candidate with those of a baseline, paired by
// seed. Tests are exact permutation tests of signed ranks (Wilcoxon), intervals are their
// inversion, and tails are compared by a paired bootstrap with a seed of its own, so that
// equal samples give equal numbers. It knows nothing of runs.
package statistics

// Pair is the values of one seed.
type Pair struct{ Baseline, Candidate float64 }

// Estimate is how much larger the candidate is: a share of the baseline's value, or an
// absolute difference. Low and High may be infinite.
type Estimate struct {
	Effect, Low, High float64
}

// Plan is how one metric is judged.
type Plan struct {
	Delta      float64 // the smallest worsening that matters, as a share, or absolute
	Absolute   bool
	Higher     bool    // higher values are better
	Quantile   float64 // of the seeds; 0.5: the median of the pairs' effects
	Confidence float64 // of passing, and of the interval, over all looks; such as 0.95
	FalseFail  float64 // for this metric over all looks
	Looks      int     // how often the samples may be looked at
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
	Estimate
	Baseline, Candidate float64 // the quantile over the seeds
	P                   float64 // of "no worse than Delta", corrected for the looks, not for other metrics
	Outcome             Outcome // Worse: P <= Plan.FalseFail
	Reason              string  // where the numbers do not say it
}
