package plan

import (
	"errors"
	"fmt"
	"os"

	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/failure"
	"github.com/csiglab/csiglab/topologies"
	topohtsim "github.com/csiglab/csiglab/topologies/htsim"
	"github.com/csiglab/csiglab/workloads"
	loadhtsim "github.com/csiglab/csiglab/workloads/htsim"
)

// MatrixOptions are how to read a matrix and what it must fit.
type MatrixOptions = loadhtsim.Options

// ReadTopology reads a .topo file and builds its graph. Notes tell the user
// which of its values are not used. The error wraps failure.ErrConfiguration.
func ReadTopology(file string) (g *topologies.Graph, notes []string, err error) {
	tree, notes, err := readTree(file)
	if err != nil {
		return nil, nil, err
	}
	g, err = buildFatTree(tree)
	return g, notes, err
}

func readTree(file string) (tree topologies.FatTree, notes []string, err error) {
	r, err := open(file)
	if err != nil {
		return tree, nil, err
	}
	defer r.Close() // opened for reading
	tree, err = topohtsim.ReadTopology(file, r)
	if err != nil {
		return tree, nil, failure.Configuration(err)
	}
	for _, t := range tree.Tiers {
		if t.QueueUp != 0 || t.QueueDown != 0 {
			notes = append(notes, file+": Queue_Up and Queue_Down are not used, as in the reference simulator; set the size of queues with links.queue")
			break
		}
	}
	return tree, notes, nil
}

// ReadWorkload reads a .cm or .tm file. Notes tell the user what was assumed and
// what is not used. The error wraps failure.ErrConfiguration.
func ReadWorkload(file string, opts MatrixOptions) (w *workloads.Workload, notes []string, err error) {
	r, err := open(file)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close() // opened for reading
	w, list, err := loadhtsim.ReadMatrix(file, r, opts)
	if err != nil {
		return nil, nil, failure.Configuration(err)
	}
	for _, n := range list {
		notes = append(notes, file+": "+n)
	}
	for _, t := range w.Transfers {
		if t.Priority != 0 {
			notes = append(notes, file+": prio is not used; all data of a port shares one queue")
			break
		}
	}
	return w, notes, nil
}

// open opens a regular file; others, such as a folder, fail later and worse.
func open(file string) (*os.File, error) {
	fail := func(err error) (*os.File, error) {
		return nil, failure.Configuration(fmt.Errorf("%s: %w", file, cause.Of(err)))
	}
	info, err := os.Stat(file)
	if err != nil {
		return fail(err)
	}
	if !info.Mode().IsRegular() {
		return fail(errors.New("not a regular file"))
	}
	r, err := os.Open(file)
	if err != nil {
		return fail(err)
	}
	return r, nil
}

func buildFatTree(t topologies.FatTree) (*topologies.Graph, error) {
	g, err := t.Build()
	if err != nil {
		return nil, failure.At("topology", err)
	}
	return g, nil
}

// buildWorkload reads or generates the workload of an experiment.
func buildWorkload(e *experiment.Experiment, hosts int) (load *workloads.Workload, notes []string, err error) {
	w := e.Workload
	switch {
	case w.File != "":
		opts := MatrixOptions{Hosts: hosts, MaxSize: e.Links.MaxTransfer()}
		if opts.StartUnit, err = loadhtsim.ParseStartUnit(w.StartUnit); err != nil {
			return nil, nil, failure.At("workload.start_unit", err)
		}
		if load, notes, err = ReadWorkload(w.File, opts); err != nil {
			return nil, nil, err
		}
	case w.Permutation != nil:
		load, err = workloads.Permutation(hosts, w.Permutation.Size, w.Permutation.Seed)
	case w.Incast != nil:
		load, err = workloads.Incast(hosts, w.Incast.Dst, w.Incast.FanIn, w.Incast.Size)
	case w.AllToAll != nil:
		load, err = buildAllToAll(w.AllToAll, hosts)
	default:
		load = &workloads.Workload{Hosts: hosts}
		for _, t := range w.Transfers {
			load.Transfers = append(load.Transfers, workloads.Transfer{
				Src: t.Src, Dst: t.Dst, Size: t.Size, Start: t.Start,
				After: workloads.None, SendDone: workloads.None, RecvDone: workloads.None,
			})
		}
	}
	// Programs alone are a workload too.
	if err == nil && (len(load.Transfers) > 0 || e.Applications == nil) {
		err = load.Validate()
	}
	if err == nil {
		err = checkHosts(e.Applications, load)
	}
	if err != nil {
		return nil, nil, failure.At("workload", err)
	}
	return load, notes, nil
}

func buildAllToAll(a *experiment.AllToAll, hosts int) (*workloads.Workload, error) {
	part := a.Hosts
	if part == 0 {
		part = hosts
	}
	load, err := workloads.AllToAll(part, a.Parallel, a.Size)
	if err != nil {
		return nil, err
	}
	load.Hosts = hosts
	return load, nil
}
