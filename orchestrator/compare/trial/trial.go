// Package trial performs single runs of experiments in other csiglab processes, and keeps a
// journal of what they came to. Sweeps, regressions and searches for a first bad revision are
// made of trials. Processes keep the crash of one run from ending a campaign, and let two sides
// of a comparison be two programs.
//
//	[]Trial ──▶ All, Each ──▶ Runner (Local: csiglab run) ──▶ Outcome ──▶ Journal
package trial

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"
)

// Trial is one run: one variant of an experiment with one seed.
type Trial struct {
	Program    string   `json:"program,omitempty"` // csiglab to run; empty: this one
	Identity   string   `json:"identity"`          // of the program's content; trials of one identity are interchangeable
	Experiment string   `json:"experiment"`        // a name, or a file
	Content    string   `json:"content,omitempty"` // digest of the experiment's text and files
	Set        []string `json:"set,omitempty"`     // overrides, as PATH=VALUE
	Variant    string   `json:"variant"`           // empty: the experiment has one
	Seed       uint64   `json:"seed"`
	Flags      []string `json:"flags,omitempty"`  // further flags of csiglab run
	Repeat     int      `json:"repeat,omitempty"` // tells repetitions of one run under clock wall apart
}

// Key identifies what a trial runs: trials of equal keys are interchangeable. It does not
// depend on where the program is, nor, if Content is given, on where the experiment is.
func (t Trial) Key() [16]byte {
	t.Program = ""
	if t.Content != "" {
		t.Experiment = ""
	}
	text, err := json.Marshal(t)
	if err != nil {
		panic("trial: " + err.Error()) // texts and numbers
	}
	sum := sha256.Sum256(text)
	return [16]byte(sum[:16])
}

// Name returns a name for the trial's run folder, such as csig-seed3-5e1f0a9b2c44. Trials
// of different keys have different names.
func (t Trial) Name() string {
	key, variant := t.Key(), t.Variant
	if variant == "" {
		variant = "run"
	}
	name := make([]byte, 0, 64)
	for _, c := range []byte(variant[:min(len(variant), 64)]) {
		if !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-') { // not a variant's name; Local says so
			c = '-'
		}
		name = append(name, c)
	}
	return fmt.Sprintf("%s-seed%d-%x", name, t.Seed, key[:6])
}

// Place returns the folder of a sweep, a regression or a search to which nobody gives one.
func Place(in, name string, started time.Time) string {
	return filepath.Join(in, fmt.Sprintf("%s-%s-%05x", name, started.Format("20060102-150405"), started.Nanosecond()&0xfffff))
}

// Unfinished is the error of a campaign that another process can go on with.
type Unfinished struct {
	Err  error
	Rest string // what is kept, and what does the rest
}

func (u *Unfinished) Error() string { return u.Err.Error() + "\n" + u.Rest }

// Unwrap returns the error that ended the campaign.
func (u *Unfinished) Unwrap() error { return u.Err }

// Outcome is what a trial came to.
type Outcome struct {
	// Exit is the exit code of csiglab run: 0 or 1 (an expectation failed) mean a run whose
	// numbers count; 2 is a mistake in the experiment, 3 an invalid run or a fault of the
	// machine.
	Exit      int                `json:"exit"`
	Reasons   []string           `json:"reasons,omitempty"` // why the numbers do not count
	Failed    []string           `json:"failed,omitempty"`  // the checks of the run that failed, such as lossless; or Crash
	TraceHash string             `json:"traceHash,omitempty"`
	Metrics   map[string]float64 `json:"metrics,omitempty"`
	Seconds   float64            `json:"seconds"`          // of the wall clock
	Folder    string             `json:"folder,omitempty"` // where the run folder was kept
}

// Crash is Outcome.Failed of a program that panicked.
const Crash = "crash"

// Counts reports whether the numbers count.
func (o *Outcome) Counts() bool { return o.Exit == 0 || o.Exit == 1 }

// Runner performs a trial. Its error is the context's, or of a machine on which no trial can
// go on, such as a full disk; a run that goes wrong is an Outcome. It is called from several
// goroutines.
type Runner interface {
	Run(ctx context.Context, t Trial) (Outcome, error)
}

// InTurner is a runner that performs trials one after the other for less than one by one, with equal
// outcomes. The runner that InTurn returns is for the calling goroutine alone, which calls end.
type InTurner interface {
	Runner
	InTurn() (r Runner, end func())
}
