package reading

import (
	"cmp"
	"slices"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Achieved is what the programs of one host got through to those of another in one run.
type Achieved struct {
	Variant, Source, Destination string
	Seed                         uint64
	Bytes                        int64   // of IP packets that were received
	SpanUS                       float64 // from the first packet to the last, to a window
	PausedUS                     float64 // pauses in it in which nothing came for more than a second
}

// pauseUS is how long nothing comes from a program that pauses.
const pauseUS = 1e6

// activity is the windows of one flow of programs.
type activity struct {
	Achieved
	firstUS, lastUS float64 // when the first window began and the last one ended
}

// achieved takes the windows of flows in the order of the table.
type achieved struct {
	programs map[string]bool // flows
	runs     map[RunID]map[string]*activity
}

func newAchieved(m *runfolder.Manifest) *achieved {
	a := &achieved{programs: map[string]bool{}, runs: map[RunID]map[string]*activity{}}
	for _, v := range m.Variants {
		for _, f := range m.FlowsOf(v.Name) {
			if OfPrograms(f) {
				a.programs[f.Name] = true
			}
		}
	}
	return a
}

// flow takes a window of a flow.
func (a *achieved) flow(row *runfolder.FlowRow) {
	if !a.programs[row.FlowName] || row.PayloadBytes == 0 {
		return
	}
	run := RunID{row.Variant, row.Seed}
	if a.runs[run] == nil {
		a.runs[run] = map[string]*activity{}
	}
	f := a.runs[run][row.FlowName]
	if f == nil {
		f = &activity{Achieved{Variant: row.Variant, Source: row.SrcName, Destination: row.DstName, Seed: row.Seed}, row.StartUS, row.StartUS}
		a.runs[run][row.FlowName] = f
	}
	if pause := row.StartUS - f.lastUS; pause > pauseUS {
		f.PausedUS += pause
	}
	f.Bytes += row.PayloadBytes
	f.lastUS = row.StartUS + row.WindowUS
	f.SpanUS = f.lastUS - f.firstUS
}

// list returns the flows of all runs, in the order of the manifest, those with the most bytes
// first.
func (a *achieved) list(m *runfolder.Manifest) (all []Achieved) {
	for _, run := range m.Runs {
		var of []Achieved
		for _, f := range a.runs[RunID{run.Variant, run.Seed}] {
			of = append(of, f.Achieved)
		}
		slices.SortFunc(of, func(x, y Achieved) int {
			return cmp.Or(cmp.Compare(y.Bytes, x.Bytes), cmp.Compare(x.Source, y.Source), cmp.Compare(x.Destination, y.Destination))
		})
		all = append(all, of...)
	}
	return all
}
