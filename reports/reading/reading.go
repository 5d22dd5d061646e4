// Package reading reads a run folder for the sections of a report. It passes over each table
// once for all of them, holds the facts that all sections share, and knows nothing of what
// a section is. It makes no text, and reads the folder and nothing else, so that it works on
// last month's run.
//
// Some numbers depend on others: how long the points of charts are, on when runs end; which
// samples matter, on which transfers were slow. So there are several passes. The first one is
// the survey: when runs end, how fast flows are, how ports are used, what completed. Then the
// facts are settled. In the later passes readers collect what they need. Memory grows with the
// numbers of flows and ports, not with the length of a run.
package reading

import (
	"errors"
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/metrics/meaning"
	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Reading is a run folder while it is read. All but Facts is settled by Open; Facts, Totals and
// the fields after it by the survey.
type Reading struct {
	Folder   *runfolder.Folder
	Manifest *runfolder.Manifest
	Summary  *runfolder.Summary
	Meaning  meaning.Of
	Metrics  *FlowMetrics // of single flows

	Facts
	Totals  *Totals
	Flows   []runfolder.Flow              // of all variants, each name once
	Times   map[RunID][]float64           // completion times of a run in µs, ascending
	Rates   Rates                         // of flows
	Medians map[string]map[string]float64 // of Rates, by variant and flow
	Ports   []Port                        // all ports with their use, in the order of the manifest

	// Elsewhere is for comparisons of two folders, whose pictures have the same rows: how long
	// the ports of the other folder were busy in the run that charts show, in µs, by variant of
	// this folder and name of the port. It is nil without another folder. Set it after Survey.
	Elsewhere map[string]map[string]float64

	group map[string]int // of a flow, in Groups
	done  *completed
	pairs *achieved

	shared []Reader
}

// Reader is what reads in passes.
type Reader interface {
	// Pass asks for the tables that the reader wants to see in the n-th pass, from 0. It is
	// called before every pass, so that it also is where a reader settles what the pass before
	// brought. Before pass 0 the manifest and the summary are known, before pass 1 all facts.
	// There are passes as long as some reader asks for a table; the last call finds all read.
	Pass(n int, p *Pass) error
}

// Open begins to read a folder, whose metrics have the units of a meaning. Errors wrap
// runfolder.ErrDamaged when a table cannot be read.
func Open(f *runfolder.Folder, of meaning.Of) (*Reading, error) {
	m := &f.Manifest
	if len(m.Variants) == 0 {
		return nil, errors.New("the manifest names no variant")
	}
	if m.IntervalUS <= 0 {
		return nil, errors.New("the manifest has no telemetry interval")
	}
	metrics, err := readFlowMetrics(f)
	if err != nil {
		return nil, err
	}
	r := &Reading{Folder: f, Manifest: m, Summary: &f.Summary, Meaning: of, Metrics: metrics}
	r.Totals = newTotals(m, r.Summary, metrics)
	r.done, r.pairs = newCompleted(r), newAchieved(m)
	r.Facts = newFacts(r)
	return r, nil
}

// Survey makes the first pass, for the facts and for readers.
func (r *Reading) Survey(readers ...Reader) error {
	if _, err := r.pass(0, append([]Reader{surveyor{r}}, readers...)); err != nil {
		return err
	}
	r.settle()
	return nil
}

// Finish makes all passes after the first one, until no reader asks for a table.
func (r *Reading) Finish(readers ...Reader) error {
	for n := 1; n < maxPasses; n++ {
		if more, err := r.pass(n, readers); err != nil || !more {
			return err
		}
	}
	return fmt.Errorf("readers ask for more than %d passes", maxPasses)
}

// maxPasses bounds the passes: a reader that never ends to ask is a bug of ours.
const maxPasses = 16

// pass makes a pass. It reports whether a reader asked for a table.
func (r *Reading) pass(n int, readers []Reader) (more bool, err error) {
	p := &Pass{}
	for _, reader := range append(slices.Clone(r.shared), readers...) {
		if err := reader.Pass(n, p); err != nil {
			return false, err
		}
	}
	return !p.empty(), p.read(r.Folder)
}

// surveyor is the reader of the facts.
type surveyor struct{ *Reading }

// Pass implements Reader.
func (s surveyor) Pass(_ int, p *Pass) error {
	p.Ports(s.Totals.port)
	p.Flows(s.Totals.flow)
	p.Flows(s.pairs.flow)
	p.Phases(s.done.phase)
	return nil
}

// settle computes the facts of the survey.
func (r *Reading) settle() {
	m, t := r.Manifest, r.Totals
	r.Flows = listFlows(m, t.heard)
	r.done.settle(r)
	r.Achieved = r.pairs.list(m)
	r.Rates = t.rates(r.Metrics)
	r.Medians = r.Rates.Medians()
	r.Ports = usedPorts(m, t)
	r.PointUS = pointUS(m, t.longest())
	r.Limits = busiestPorts(m, r.Ports)
	r.Crossings = crossings(m, r.Flows, r.Limits)
	r.Sharing = sharing(m, t, r.Flows, r.Medians)
	r.Losses = losses(r.Ports)
	first := r.Medians[m.Variants[0].Name]
	r.Slowest = slowestFlow(r.Flows, r.Sharing, first)
	r.Groups, r.group = groupFlows(r.Flows, first)
}

// Group returns the index in Groups of a flow's group. It reports whether charts
// show the flow: they leave out programs of which no receiver got anything.
func (r *Reading) Group(flow string) (index int, ok bool) {
	index, ok = r.group[flow]
	return index, ok
}

// ShownRun returns the run of a variant that charts show.
func (r *Reading) ShownRun(variant string) RunID {
	return RunID{variant, r.Totals.Shown[variant]}
}

// RunsOf returns the runs of a variant, by seed.
func (r *Reading) RunsOf(variant string) (runs []RunID) {
	for _, seed := range r.Totals.Seeds[variant] {
		runs = append(runs, RunID{variant, seed})
	}
	return runs
}

// Measured reports whether a telemetry window belongs to the measuring window.
func (r *Reading) Measured(startUS float64) bool { return inWindow(r.Manifest, startUS) }

// Share returns the reader of a type that several sections share: made when the first of them
// asks for it, which they do before the survey. Its Pass is called before those of sections.
func Share[T Reader](r *Reading, make func() T) T {
	for _, shared := range r.shared {
		if t, ok := shared.(T); ok {
			return t
		}
	}
	t := make()
	r.shared = append(r.shared, t)
	return t
}

// Rows returns about how many rows all passes read: for showing the progress
// (runfolder.Folder.OnRows).
func Rows(f *runfolder.Folder) int64 {
	t := f.Manifest.Tables
	rows := 2*(t["ports"]+t["flows"]) + t["signals"] + t["cc"] + t["phases"] + t["truth"] + 2*t["instances"] + t["operations"]
	if t["operations"] > 0 || t["phases"] > 0 { // whose places are looked for
		rows += t["ports"] + t["signals"] + t["phases"]
	}
	if t["operations"] > 0 { // which are timed again
		rows += t["ports"] + t["operations"]
	}
	if slices.Contains(f.Manifest.Details, ofFlows) {
		rows += t["metrics"]
	}
	return rows
}
