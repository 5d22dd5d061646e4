package experiment

import (
	"fmt"

	"github.com/csiglab/csiglab/workloads"
	"github.com/csiglab/csiglab/workloads/formats"
)

// WorkloadFile is the name of an htsim connection matrix, .cm or .tm, or of HPCC's flows.
type WorkloadFile string

// Check implements WorkloadSpec: the file is read when the workload is built.
func (WorkloadFile) Check(*Check) {}

// Build implements WorkloadSpec.
func (f WorkloadFile) Build(in WorkloadInput) (*workloads.Workload, []string, error) {
	name := string(f)
	read, err := formats.Open(name, formats.Options{StartUnit: in.StartUnit, Hosts: in.Hosts, MaxSize: in.Links.MaxTransfer()})
	if err != nil {
		return nil, nil, inputError{err}
	}
	load := read.Workload
	if load == nil {
		return nil, nil, inputError{fmt.Errorf("%s: a file of programs of ranks (%s), not of transfers; it belongs into a job, as trace", name, read.Format)}
	}
	var notes []string
	for _, n := range read.Notes {
		notes = append(notes, name+": "+n)
	}
	for _, lost := range read.Loss.Items() {
		notes = append(notes, fmt.Sprintf("not used of %s: %d %s, the first at %s", name, lost.Count, lost.What, lost.First))
	}
	if in.Hosts > 0 && load.Hosts > in.Hosts {
		return nil, nil, inputError{fmt.Errorf("%s: the file has host %d, the topology has hosts 0 to %d", name, load.Hosts-1, in.Hosts-1)}
	}
	load.Hosts = max(load.Hosts, in.Hosts) // flow.txt does not say how many there are
	for _, t := range load.Transfers {
		if t.Priority != 0 {
			notes = append(notes, name+": prio is not used; all data of a port shares one queue")
			break
		}
	}
	return load, notes, nil
}
