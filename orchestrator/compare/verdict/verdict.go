// Package verdict has the result of a comparison of a candidate with a baseline: what
// csiglab regress writes to verdict.json and reports renders. It is plain data; the rule
// that leads to an Outcome is in orchestrator/compare/statistics.
package verdict

import "time"

// Schema is the version of verdict.json. It grows when a reader of an older version would
// misunderstand a newer file.
const Schema = 1

// FileName is the file of a verdict's folder that has its numbers.
const FileName = "verdict.json"

// File is a form of a verdict.
type File struct {
	Name string
	Data []byte
}

// Outcome is what is said of one metric, of an experiment, and of all.
type Outcome string

// Outcomes. The outcome of several is the first of these that one of them has: Invalid,
// Fail, Inconclusive, Pass.
const (
	// Pass: the candidate is no worse than the limit, with Design.Confidence.
	Pass Outcome = "pass"
	// Fail: the candidate is worse than the limit. Of candidates that are just at it, a
	// share of Design.FalseFail fails, over all metrics and looks.
	Fail Outcome = "fail"
	// Inconclusive: all samples are spent, and it is neither of the two.
	Inconclusive Outcome = "inconclusive"
	// Invalid: a run could not be trusted or did not end.
	Invalid Outcome = "invalid"
)

// Better says in which direction a metric improves.
type Better string

// Directions.
const (
	Lower  Better = "lower"
	Higher Better = "higher"
	// Same: the metric has no reason to move, and fails if it does, to whichever side.
	Same Better = "same"
)

// Document is the result of a suite.
type Document struct {
	Schema   int       `json:"schema"`
	Suite    string    `json:"suite"`
	Version  string    `json:"version"` // of the csiglab that compared
	Command  []string  `json:"command"`
	Machine  string    `json:"machine"` // host name
	Started  time.Time `json:"started"`
	Seconds  float64   `json:"seconds"`  // of the wall clock, over all sessions
	Building float64   `json:"building"` // of Seconds, what the last session spent on the programs of both sides

	Baseline  Side `json:"baseline"`
	Candidate Side `json:"candidate"`

	Design  Design  `json:"design"`
	Outcome Outcome `json:"outcome"`
	// Strict makes what has changed a Fail, also where nothing got worse.
	Strict      bool         `json:"strict,omitempty"`
	Counts      Counts       `json:"counts"`
	Experiments []Experiment `json:"experiments"`
	Notes       []string     `json:"notes,omitempty"`
	// Execution is nil where it is not known: of sides that were not built for the comparison,
	// or with modules, and of runs that are not in virtual time.
	Execution *Execution `json:"execution,omitempty"`
}

// Execution says what the candidate's runs under one seed executed of the code that changed.
type Execution struct {
	// Changed is how many functions the candidate has otherwise than the baseline, and files
	// that declare something else otherwise. Comments and layout are no change.
	Changed int      `json:"changed"`
	NotRun  []string `json:"notRun"` // those of them that no run executed
}

// Side is one of the two that are compared.
type Side struct {
	Label string `json:"label"` // for people, such as git:main (4be1c2f)
	Kind  string `json:"kind"`  // self, git, folder, program, file or stored
	Build string `json:"build"` // the version of the csiglab that ran
	// Date is when a revision was committed, zero of other sides.
	Date time.Time `json:"date,omitzero"`
	Set  []string  `json:"set,omitempty"` // overrides, as PATH=VALUE
	// Flags of csiglab regress that give this side again.
	Flags []string `json:"flags,omitempty"`
}

// Design is what the statistics were asked for.
type Design struct {
	Confidence float64 `json:"confidence"` // of Pass and of the intervals, such as 0.95
	FalseFail  float64 `json:"falseFail"`  // the greatest share of false Fails of a whole suite, such as 0.02
	Metrics    int     `json:"metrics"`    // how many metrics share FalseFail
}

// Experiment is one variant of an experiment of the suite.
type Experiment struct {
	Name    string  `json:"name"`    // of the experiment; NAME/VARIANT names it in a suite
	Variant string  `json:"variant"` // empty: the experiment has one
	File    string  `json:"file,omitempty"`
	Clock   string  `json:"clock"`
	Outcome Outcome `json:"outcome"`
	// Identical: the traces of all seeds are the same on both sides.
	Identical bool     `json:"identical"`
	Differ    int      `json:"differ"` // of the seeds, those whose traces differ; 0 under clock wall
	Change    Change   `json:"change"`
	Seeds     []uint64 `json:"seeds"` // that were run on both sides
	Looks     []int    `json:"looks"` // numbers of seeds after which the statistics were to look; the last is the most
	Looked    int      `json:"looked"`
	Reasons   []string `json:"reasons,omitempty"` // why it is invalid
	Seconds   float64  `json:"seconds"`           // spent in runs of both sides
	Metrics   []Metric `json:"metrics"`
	// Noise is the A/A calibration of runs under clock wall; nil under other clocks.
	Noise *Calibration `json:"noise,omitempty"`
	// Reproduce is a command that gives the verdict on this experiment alone.
	Reproduce string `json:"reproduce"`
}

// Calibration is the comparison of the baseline with itself.
type Calibration struct {
	Pairs int `json:"pairs"`
	// Floor is the smallest relative effect that this many pairs would show, by metric.
	Floor map[string]float64 `json:"floor"`
}

// Metric is the verdict on one metric.
type Metric struct {
	Name   string `json:"name"`
	Unit   string `json:"unit,omitempty"`
	Better Better `json:"better"`
	// Delta is the smallest worsening (with Same: movement) that matters: a share of the baseline's value, or a
	// number in the metric's unit with Absolute. Effects are in the same form.
	Delta    float64 `json:"delta"`
	Absolute bool    `json:"absolute"`
	Of       string  `json:"of"` // over the seeds: median, or a percentile such as p90; empty for expectations
	Outcome  Outcome `json:"outcome"`
	// By says what decided: fingerprint (equal traces and equal values), statistics,
	// expectations (those of the experiment, which the candidate alone fails), or checks (of
	// runs, which the candidate's alone fail).
	By string `json:"by"`

	Baseline  *float64 `json:"baseline"` // Of over the seeds; nil: a side lacks the metric
	Candidate *float64 `json:"candidate"`
	// Effect is candidate against baseline, positive where the value has grown, whatever is
	// better. Low and High enclose it with Design.Confidence at every look; nil: unbounded.
	Effect *float64 `json:"effect"`
	Low    *float64 `json:"low"`
	High   *float64 `json:"high"`
	P      *float64 `json:"p"` // of "no worse than Delta", corrected for looks and metrics
	// Found is the smallest worsening that is found in nine of ten comparisons with all seeds of the
	// suite, with the noise of Pairs (statistics.Found); nil: not known, or none is.
	Found  *float64 `json:"found,omitempty"`
	Pairs  []Pair   `json:"pairs"`
	Reason string   `json:"reason,omitempty"` // in words, where the numbers do not say it
}

// Pair is the values of one seed.
type Pair struct {
	Seed      uint64  `json:"seed"`
	Baseline  float64 `json:"baseline"`
	Candidate float64 `json:"candidate"`
}

// Of returns the outcome of several; Pass of none.
func Of(outcomes ...Outcome) Outcome {
	for _, first := range []Outcome{Invalid, Fail, Inconclusive} {
		for _, o := range outcomes {
			if o == first {
				return first
			}
		}
	}
	return Pass
}
