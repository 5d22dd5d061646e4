// Package whatif lays a prediction of what one changed value does to a recorded run beside the run
// that has it: how long the steps of jobs were, were predicted to be, and are, and which other
// metrics moved. It reads run folders and runs nothing.
package whatif

import (
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/metrics/meaning"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/compare"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/waits"
	"github.com/csiglab/csiglab/reports/words"
)

// Schema is the version of Result in JSON.
const Schema = 1

// Result is what a change was predicted to do to a run, and what it does. Times are microseconds
// of model time.
type Result struct {
	Schema  int      `json:"schema"` // the constant
	First   string   `json:"first"`  // folders of runs
	Second  string   `json:"second"`
	Variant string   `json:"variant"`
	Set     []string `json:"set"` // the change, as PATH=VALUE
	// NoPrediction is why Jobs is empty or has no predictions; "" if it has.
	NoPrediction string              `json:"noPrediction,omitempty"`
	Jobs         []Job               `json:"jobs"`
	Comparison   *compare.Comparison `json:"comparison"`
}

// Job is the steps of one job: medians over the seeds that both runs have.
type Job struct {
	Job      string  `json:"job"`
	FirstUS  float64 `json:"firstUs"` // mean duration of a step
	SecondUS float64 `json:"secondUs"`
	Saved    float64 `json:"saved"` // share of the step, of each seed; negative: it takes longer
	// Predicted is the share that was predicted, nil without a prediction, and Error how many
	// percentage points of the step it is above Saved.
	Predicted *float64 `json:"predicted,omitempty"`
	Error     float64  `json:"errorPoints"`
	Steps     int      `json:"steps,omitempty"` // that the prediction is of, from the first one
	Seeds     []uint64 `json:"seeds"`
}

// Asked is a change and what is known of it before the second run.
type Asked struct {
	Variant string
	Set     []string
	Change  waits.Change
	Unknown string // why there is no prediction, "" otherwise
}

// Check lays the prediction beside the second run. The error is an *compare.Error or one of a run's
// folder.
func (a *Asked) Check(first, second string, of meaning.Of) (*Result, error) {
	r := &Result{Schema: Schema, First: first, Second: second, Variant: a.Variant, Set: a.Set, NoPrediction: a.Unknown, Jobs: []Job{}}
	pair, err := compare.Open([]string{first + ":" + a.Variant, second + ":" + a.Variant}, compare.NewDesign(of))
	if err != nil {
		return nil, err
	}
	if r.Comparison, err = pair.Compare(); err != nil {
		return nil, err
	}
	was, is := pair.Runs()
	var all []waits.Predicted
	if a.Unknown == "" {
		full := false
		if all, full, err = waits.Predict(was, of, a.Variant, a.Change); err != nil {
			return nil, err
		}
		switch {
		case full:
			r.NoPrediction = "the recorded operations are too many"
		case len(all) == 0 && len(a.Change.Rates) > 0 && slices.ContainsFunc(was.Manifest.Variants, func(v runfolder.Variant) bool { return v.Name == a.Variant && v.Flow }):
			r.NoPrediction = "what other rates do follows from queues, and the run has no packets"
		case len(all) == 0:
			r.NoPrediction = "the run has no steps of jobs of which the operations were kept (telemetry.operations)"
		}
	}
	for _, j := range was.Manifest.JobsOf(a.Variant) {
		if one, ok := newJob(j.Name, a.Variant, was, is, all); ok {
			r.Jobs = append(r.Jobs, one)
		}
	}
	return r, nil
}

// newJob returns the steps of a job; ok is false if no seed has them on both sides.
func newJob(name, variant string, was, is *runfolder.Folder, all []waits.Predicted) (j Job, ok bool) {
	j.Job = name
	var first, second, saved, predicted []float64
	for _, run := range was.Summary.Variants[variant].Runs {
		metric := "iteration_us.mean." + name
		a := run.Metrics[metric]
		b, _ := is.Summary.Metric(variant, run.Seed, metric)
		if !(a > 0 && b > 0) {
			continue
		}
		first, second, saved, j.Seeds = append(first, a), append(second, b), append(saved, 1-b/a), append(j.Seeds, run.Seed)
		for k := range all {
			if p := &all[k]; p.Job == name && p.Run.Seed == run.Seed {
				predicted, j.Steps = append(predicted, p.Saved()), p.Steps
			}
		}
	}
	if len(first) == 0 {
		return j, false
	}
	j.FirstUS, j.SecondUS, j.Saved = runfolder.Median(first), runfolder.Median(second), runfolder.Median(saved)
	if len(predicted) > 0 {
		p := runfolder.Median(predicted)
		j.Predicted, j.Error = &p, 100*(p-j.Saved)
	}
	return j, true
}

// leavesOut is what a prediction does not know.
const leavesOut = "A prediction re-times the recorded operations with other queues and computes at the place that was changed. It leaves out what follows in turn: queues elsewhere, congestion control, paths, other jobs."

// Text returns the result for a terminal. report is that of the second run, more the command that
// shows all metrics.
func (r *Result) Text(report, more string) string {
	var w strings.Builder
	p := words.Plain(r)
	fmt.Fprintf(&w, "%s with %s\n", p.Variant, strings.Join(p.Set, " and "))
	for i := range p.Jobs {
		j := &p.Jobs[i]
		fmt.Fprintf(&w, "steps of %s%s: %s before, %s after: the change %s\n", j.Job, median(len(j.Seeds)), words.Short(j.FirstUS), words.Short(j.SecondUS), saves(j.Saved))
		if j.Predicted != nil {
			fmt.Fprintf(&w, "  predicted: it %s; off by %.1f percentage points of the step\n", saves(*j.Predicted), max(j.Error, -j.Error))
		}
	}
	switch {
	case p.NoPrediction != "":
		fmt.Fprintf(&w, "no prediction: %s\n", p.NoPrediction)
	case len(p.Jobs) > 0:
		fmt.Fprintln(&w, leavesOut)
	}
	fmt.Fprintln(&w)
	r.Comparison.WriteText(&w, more) // cannot fail: text in memory
	fmt.Fprintf(&w, "\nrun     %s\nreport  %s\n", r.Second, report)
	return w.String()
}

func median(seeds int) string {
	if seeds == 1 {
		return ""
	}
	return fmt.Sprintf(", median of %d seeds", seeds)
}

// saves says what a change does to a step.
func saves(share float64) string {
	if share < 0 {
		return "adds " + words.Percent(-share)
	}
	return "saves " + words.Percent(share)
}

// Row is one row of the blame of a run.
type Row struct {
	What     string    `json:"what"`
	Place    string    `json:"place"`
	Removals []Removal `json:"removals"` // none: no value of the experiment removes what is blamed
}

// Removal is a change that removes what a row blames.
type Removal struct {
	What      string   `json:"what"`
	Predicted *float64 `json:"predicted,omitempty"` // share of the steps that it would save
	Command   string   `json:"command"`             // that checks it
}

// Text returns the rows of the blame of a variant for a terminal.
func Text(variant string, rows []Row) string {
	if len(rows) == 0 {
		return "no collective of " + variant + " is slow\n"
	}
	var w strings.Builder
	for i, row := range *words.Plain(&rows) {
		fmt.Fprintf(&w, "%d. %s waits at %s\n", i+1, row.What, row.Place)
		for _, r := range row.Removals {
			predicted := "no prediction"
			if r.Predicted != nil {
				predicted = "predicted: it " + saves(*r.Predicted) + " of the steps"
			}
			fmt.Fprintf(&w, "   %s: %s\n     %s\n", r.What, predicted, r.Command)
		}
		if len(row.Removals) == 0 {
			fmt.Fprintln(&w, "   no value of the experiment removes it")
		}
	}
	return w.String()
}

// Longest returns the variant of a folder whose steps take longest, or else the first one.
func Longest(f *runfolder.Folder) string { return reading.Told(&f.Manifest, &f.Summary) }
