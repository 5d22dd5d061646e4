package reading

import (
	"iter"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Pass is one pass over the tables of a folder. Tables are read in the order of the methods,
// each once, and not at all if no reader asks for it. A row is valid during the call alone.
type Pass struct {
	ports      feed[runfolder.PortRow]
	flows      feed[runfolder.FlowRow]
	cc         feed[runfolder.CCRow]
	signals    feed[runfolder.SignalRow]
	phases     feed[runfolder.PhaseRow]
	instances  feed[runfolder.InstanceRow]
	operations feed[runfolder.OperationRow]
	truth      feed[runfolder.TruthRow]
}

// Ports asks for the windows of ports: of the given runs, or of all without any. So do the
// other methods for their tables.
func (p *Pass) Ports(see func(*runfolder.PortRow), of ...RunID) { p.ports.add(see, of) }

// Flows asks for the windows of flows.
func (p *Pass) Flows(see func(*runfolder.FlowRow), of ...RunID) { p.flows.add(see, of) }

// CC asks for the windows of congestion controls.
func (p *Pass) CC(see func(*runfolder.CCRow), of ...RunID) { p.cc.add(see, of) }

// Signals asks for the CSIG samples.
func (p *Pass) Signals(see func(*runfolder.SignalRow), of ...RunID) { p.signals.add(see, of) }

// Phases asks for the transfers.
func (p *Pass) Phases(see func(*runfolder.PhaseRow), of ...RunID) { p.phases.add(see, of) }

// Instances asks for the instances of collectives and steps.
func (p *Pass) Instances(see func(*runfolder.InstanceRow), of ...RunID) { p.instances.add(see, of) }

// Operations asks for the operations of ranks.
func (p *Pass) Operations(see func(*runfolder.OperationRow), of ...RunID) { p.operations.add(see, of) }

// Truth asks for the samples that stand beside the exact values of hops.
func (p *Pass) Truth(see func(*runfolder.TruthRow), of ...RunID) { p.truth.add(see, of) }

func (p *Pass) empty() bool {
	return p.ports.empty() && p.flows.empty() && p.cc.empty() && p.signals.empty() && p.phases.empty() && p.instances.empty() && p.operations.empty() && p.truth.empty()
}

func (p *Pass) read(f *runfolder.Folder) error {
	for _, read := range []func() error{
		p.ports.reader(f.Ports, func(r *runfolder.PortRow) RunID { return RunID{r.Variant, r.Seed} }),
		p.flows.reader(f.Flows, func(r *runfolder.FlowRow) RunID { return RunID{r.Variant, r.Seed} }),
		p.cc.reader(f.CC, func(r *runfolder.CCRow) RunID { return RunID{r.Variant, r.Seed} }),
		p.signals.reader(f.Signals, func(r *runfolder.SignalRow) RunID { return RunID{r.Variant, r.Seed} }),
		p.phases.reader(f.Phases, func(r *runfolder.PhaseRow) RunID { return RunID{r.Variant, r.Seed} }),
		p.instances.reader(f.Instances, func(r *runfolder.InstanceRow) RunID { return RunID{r.Variant, r.Seed} }),
		p.operations.reader(f.Operations, func(r *runfolder.OperationRow) RunID { return RunID{r.Variant, r.Seed} }),
		p.truth.reader(f.Truth, func(r *runfolder.TruthRow) RunID { return RunID{r.Variant, r.Seed} }),
	} {
		if err := read(); err != nil {
			return err
		}
	}
	return nil
}

// feed passes the rows of one table to those who asked for them.
type feed[Row any] struct {
	all   []func(*Row)
	byRun map[RunID][]func(*Row)
}

func (f *feed[Row]) add(see func(*Row), of []RunID) {
	if len(of) == 0 {
		f.all = append(f.all, see)
		return
	}
	if f.byRun == nil {
		f.byRun = map[RunID][]func(*Row){}
	}
	for _, r := range of {
		f.byRun[r] = append(f.byRun[r], see)
	}
}

func (f *feed[Row]) empty() bool { return len(f.all) == 0 && len(f.byRun) == 0 }

// reader returns what reads a table, unless nobody asks for it.
func (f *feed[Row]) reader(table func() iter.Seq2[Row, error], of func(*Row) RunID) func() error {
	return func() error {
		if f.empty() {
			return nil
		}
		var row Row // one for all: what asks for rows does not keep them
		for next, err := range table() {
			if err != nil {
				return err
			}
			row = next
			for _, see := range f.all {
				see(&row)
			}
			if f.byRun != nil {
				for _, see := range f.byRun[of(&row)] {
					see(&row)
				}
			}
		}
		return nil
	}
}
