package measure

import (
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/units"
)

// noteRule returns what a reader of a run's results should know of the run, a
// sentence without a final period for each remark; nothing if there is none. The
// manifest keeps the sentences and the report shows them at its top, with the variant
// and the seed. Records has the sums over windows that its consumers keep.
type noteRule func(r *Run, records *Records) []string

// noteRules is the table of the rules of Notes. A new note is an entry. Notes that
// follow from the experiment alone belong to plan.Shape.
var noteRules = []noteRule{droppedRecords, shortRun, starved, lateFaults, stranded, undivided, truthNotes, noPackets, foreignNodes, kernelSwitches}

// Notes returns the notes of a run, in the order of noteRules.
func Notes(p *plan.Plan, out *backend.Outcome, records *Records) []string {
	r := newRun(p, out, records)
	var notes []string
	for _, rule := range noteRules {
		notes = append(notes, rule(r, records)...)
	}
	return notes
}

func droppedRecords(_ *Run, records *Records) []string {
	n := records.dropped()
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d records were dropped, which came faster than they could be written; tables and charts lack them", n)}
}

// starvedRTTs is for how many RTTs a flow may want CSIG samples and get none before
// that is worth a note.
const starvedRTTs = 10

// starved finds flows whose samples stayed away. It names the worst.
func starved(r *Run, _ *Records) []string {
	var worst *metrics.Flow
	flows, transfers := 0, r.transfers()
	for i := range transfers {
		f := &transfers[i]
		if f.Sender.SampleGap <= starvedRTTs*r.Plan.Path.NetworkRTT {
			continue
		}
		flows++
		if worst == nil || f.Sender.SampleGap > worst.Sender.SampleGap {
			worst = f
		}
	}
	if worst == nil {
		return nil
	}
	gap := worst.Sender.SampleGap
	text := fmt.Sprintf("flow %s wanted CSIG samples and got none for %.4g us, %.0f network RTTs", worst.Info.Name, gap.Microseconds(), float64(gap)/float64(r.Plan.Path.NetworkRTT))
	if flows > 1 {
		text += fmt.Sprintf("; so did %d others for more than %d", flows-1, starvedRTTs)
	}
	return []string{text}
}

// shortRun finds a run that ended within its measuring window.
func shortRun(r *Run, _ *Records) []string {
	to := r.Plan.Measure.To
	if to == units.Never || !r.Outcome.Drained || r.Outcome.End >= to {
		return nil
	}
	return []string{fmt.Sprintf("the measuring window goes on to %v, and the run ends at %v: there the window ends too", units.Duration(to), units.Duration(r.Outcome.End))}
}

// undivided finds jobs whose steps are too large to be divided into their parts.
func undivided(_ *Run, records *Records) (notes []string) {
	for i := range records.jobs.jobs {
		if j := &records.jobs.jobs[i]; j.iterations.lacks {
			notes = append(notes, fmt.Sprintf("the iterations of job %s are not divided into compute and waiting: a step has more than %d operations", j.info.Name, mostWaits))
		}
	}
	return notes
}

// noPackets finds a run of which some messages were to be packets, and none was.
func noPackets(r *Run, _ *Records) []string {
	if r.Plan.Fluid == nil || r.Plan.NoPackets() || slices.ContainsFunc(r.transfers(), func(f metrics.Flow) bool { return f.Sender.NewPackets > 0 }) {
		return nil
	}
	return []string{"no message was packets: none was sent of those that packets chooses"}
}
