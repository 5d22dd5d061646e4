// Package trial performs single runs of experiments, each in a csiglab process of its own,
// and keeps a journal of what they came to. Sweeps, regressions and searches for a first
// bad revision are made of trials. A process of its own for each run keeps the crash of one
// run from ending a campaign, and lets two sides of a comparison be two programs.
package trial

import "context"

// Trial is one run: one variant of an experiment with one seed.
type Trial struct {
	Program    string   `json:"program,omitempty"` // csiglab to run; empty: this one
	Identity   string   `json:"identity"`          // of the program's content; trials of one identity are interchangeable
	Experiment string   `json:"experiment"`        // a name, or a file
	Content    string   `json:"content,omitempty"` // digest of the experiment's text and files
	Set        []string `json:"set,omitempty"`     // overrides, as PATH=VALUE
	Variant    string   `json:"variant"`
	Seed       uint64   `json:"seed"`
	Flags      []string `json:"flags,omitempty"`  // further flags of csiglab run
	Repeat     int      `json:"repeat,omitempty"` // tells repetitions of one run under clock wall apart
}

// Outcome is what a trial came to.
type Outcome struct {
	// Exit is the exit code of csiglab run: 0 or 1 (an expectation failed) mean a run whose
	// numbers count; 2 is a mistake in the experiment, 3 an invalid run or a fault of the
	// machine.
	Exit      int                `json:"exit"`
	Reasons   []string           `json:"reasons,omitempty"` // why the numbers do not count
	TraceHash string             `json:"traceHash,omitempty"`
	Metrics   map[string]float64 `json:"metrics,omitempty"`
	Seconds   float64            `json:"seconds"`          // of the wall clock
	Folder    string             `json:"folder,omitempty"` // where the run folder was kept
}

// Counts reports whether the numbers count.
func (o *Outcome) Counts() bool { return o.Exit == 0 || o.Exit == 1 }

// Runner performs a trial. Its error is the context's, or of a machine on which no trial can
// go on, such as a full disk; a run that goes wrong is an Outcome. It is called from several
// goroutines.
type Runner interface {
	Run(ctx context.Context, t Trial) (Outcome, error)
}
