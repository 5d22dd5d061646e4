package experiment

import (
	"github.com/csiglab/csiglab/workloads"
	"github.com/csiglab/csiglab/workloads/htsim"
)

// WorkloadFile is the name of an htsim connection matrix, .cm or .tm.
type WorkloadFile string

var _ = RegisterWorkload(WorkloadKind{
	Kind: Kind{
		Name: "file", Doc: "an htsim connection matrix", Rank: 10,
		Keys: []Key{{Doc: "htsim `.cm` or `.tm` file", Rule: InputFile()}},
	},
	Spec:   WorkloadFile(""),
	Matrix: true,
})

// Check implements WorkloadSpec: the file is read when the workload is built.
func (WorkloadFile) Check(*Check) {}

// Build implements WorkloadSpec.
func (f WorkloadFile) Build(in WorkloadInput) (*workloads.Workload, []string, error) {
	name := string(f)
	unit, err := htsim.ParseStartUnit(in.StartUnit)
	if err != nil {
		return nil, nil, &PathError{join(workloadSection, "start_unit"), err}
	}
	r, err := openInput(name, maxMatrixFile)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close() // opened for reading
	load, list, err := htsim.ReadMatrix(name, r, htsim.Options{StartUnit: unit, Hosts: in.Hosts, MaxSize: in.Links.MaxTransfer()})
	if err != nil {
		return nil, nil, inputError{err}
	}
	var notes []string
	for _, n := range list {
		notes = append(notes, name+": "+n)
	}
	for _, t := range load.Transfers {
		if t.Priority != 0 {
			notes = append(notes, name+": prio is not used; all data of a port shares one queue")
			break
		}
	}
	return load, notes, nil
}
