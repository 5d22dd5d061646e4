package verdict

// Change is what the candidate does otherwise than the baseline in one experiment.
type Change string

// Changes. Traces are those of deterministic clocks: under clock wall runs differ by
// themselves, and statistics alone compare them.
const (
	// Identical: all traces and all values are equal.
	Identical Change = "identical"
	// Changed: traces or values differ, and no metric got worse.
	Changed Change = "changed"
	// Worse: a metric fails.
	Worse Change = "worse"
	// Undecided: traces or values differ, no metric fails, and one is inconclusive.
	Undecided Change = "undecided"
	// NotWorse: runs differ by themselves, and every metric passes.
	NotWorse Change = "not worse"
	// NoResult: the experiment is invalid.
	NoResult Change = "no result"
)

// clockWall is the clock under which runs differ by themselves.
const clockWall = "wall"

// ByFingerprint is Metric.By of a metric with equal traces and equal values.
const ByFingerprint = "fingerprint"

// ChangeOf returns the change of an experiment from its traces, its metrics and its clock.
func ChangeOf(e *Experiment) Change {
	equal := e.Identical
	outcomes := make([]Outcome, 0, len(e.Metrics))
	for i := range e.Metrics {
		equal = equal && e.Metrics[i].By == ByFingerprint
		outcomes = append(outcomes, e.Metrics[i].Outcome)
	}
	outcome := Of(outcomes...)
	if len(e.Reasons) > 0 {
		outcome = Invalid
	}
	switch {
	case outcome == Invalid:
		return NoResult
	case outcome == Fail:
		return Worse
	case outcome == Inconclusive:
		return Undecided
	case e.Clock == clockWall || e.Noise != nil:
		return NotWorse
	case equal:
		return Identical
	}
	return Changed
}

// Differs reports whether the change is one that Document.Strict refuses.
func (c Change) Differs() bool { return c == Changed || c == Worse || c == Undecided }

// Counts is how many experiments have which change.
type Counts struct {
	Identical int `json:"identical"`
	Changed   int `json:"changed"`
	Worse     int `json:"worse"`
	Undecided int `json:"undecided"`
	NotWorse  int `json:"notWorse"`
	NoResult  int `json:"noResult"`
}

// Add counts an experiment.
func (n *Counts) Add(c Change) {
	switch c {
	case Identical:
		n.Identical++
	case Changed:
		n.Changed++
	case Worse:
		n.Worse++
	case Undecided:
		n.Undecided++
	case NotWorse:
		n.NotWorse++
	default:
		n.NoResult++
	}
}
