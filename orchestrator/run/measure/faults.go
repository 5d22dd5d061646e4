package measure

import (
	"fmt"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/meaning"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/units"
)

// faultMetrics are what faults did.
var faultMetrics = Group{Title: "Faults", Entries: []*Entry{faultDrops, faultDropsOfOne}}

var (
	faultDrops = &Entry{Form: "fault_drops", Packets: true, Better: meaning.Lower, Needs: []*need{needFaults},
		Doc: "packets that the [faults](../how-to/faults.md) of the experiment dropped, on links and in switches. They are among `drops`; those of switches are also drops of ports"}
	faultDropsOfOne = &Entry{Form: "fault_drops.<fault>", Packets: true, Words: []*words{{of: func(s *subjects) []string {
		names := make([]string, len(s.Plan.Faults))
		for i := range s.Plan.Faults {
			names[i] = s.Plan.Faults[i].Name
		}
		return names
	}}}, Better: meaning.Lower, Needs: []*need{needFaults}, Doc: "packets that the fault dropped"}
)

// addFaults adds the packets that faults dropped: of each fault and of all.
func addFaults(e *emitter, r *Run) {
	if len(r.Plan.Faults) == 0 {
		return
	}
	all := 0.0
	for i, t := range faultTotals(r.Plan, r.Nodes) {
		packets := float64(t.Arriving + t.Queued)
		e.set(faultDropsOfOne, packets, r.Plan.Faults[i].Name)
		all += packets
	}
	e.set(faultDrops, all)
}

// faultTotals returns what each fault of a plan dropped at all nodes.
func faultTotals(p *plan.Plan, nodes []metrics.NodeTotals) []metrics.FaultTotals {
	totals := make([]metrics.FaultTotals, len(p.Faults))
	for _, n := range nodes {
		for _, t := range n.Faults {
			sum := &totals[t.Fault]
			sum.Arriving += t.Arriving
			sum.AddQueued(t.Queued, t.Bytes)
		}
	}
	return totals
}

// Faults returns the faults of a run, for the run folder.
func Faults(p *plan.Plan, out *backend.Outcome, nodes []metrics.NodeTotals) []runfolder.Fault {
	var list []runfolder.Fault
	for i, t := range faultTotals(p, nodes) {
		f := &p.Faults[i]
		one := runfolder.Fault{
			Name: f.Name, Kind: f.Kind, What: f.What, Where: f.Where, FromUS: units.Duration(f.From).Microseconds(),
			Happened: happened(f, out), Arriving: t.Arriving, Queued: t.Queued, Bytes: t.Bytes,
		}
		if f.Until != units.Never && f.Until < out.End {
			until := units.Duration(f.Until).Microseconds()
			one.UntilUS = &until
		}
		list = append(list, one)
	}
	return list
}

// happened reports whether a fault began before the end of a run.
func happened(f *plan.Fault, out *backend.Outcome) bool { return f.From == 0 || f.From < out.End }

// lateFaults finds faults that began after the run had ended.
func lateFaults(r *Run, _ *Records) []string {
	var notes []string
	for i := range r.Plan.Faults {
		if f := &r.Plan.Faults[i]; !happened(f, r.Outcome) {
			notes = append(notes, fmt.Sprintf("fault %s did not happen: it was to begin at %v, and the run ended at %v", f.Name, units.Duration(f.From), units.Duration(r.Outcome.End)))
		}
	}
	return notes
}

// stranded finds flows that a fault without end left no way.
func stranded(r *Run, _ *Records) []string {
	if !r.Outcome.Drained || !r.Plan.Strands() {
		return nil
	}
	var first *metrics.Flow
	gaveUp, open, transfers := 0, 0, r.transfers()
	for i := range transfers {
		f := &transfers[i]
		if f.Sender.Done != units.Never {
			continue
		}
		if open++; first == nil {
			first = f
		}
		if f.Sender.GaveUp {
			gaveUp++
		}
	}
	if open == 0 {
		return nil
	}
	text := fmt.Sprintf("faults that do not end left %d of %d flows no way, such as %s; the run ended when nothing else was left to do", open, len(transfers), first.Info.Name)
	if gaveUp > 0 {
		text += fmt.Sprintf(": %d of them gave up, after %v without an answer", gaveUp, r.Plan.Nodes[first.Info.Src].Host.GiveUp.Silence)
	}
	return []string{text}
}
