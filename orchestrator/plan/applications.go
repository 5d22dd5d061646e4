package plan

import (
	"fmt"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/shim"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/units"
)

// Applications is the unmodified programs of a run.
type Applications struct {
	Programs         []Program  // of the hosts with an Edge
	ApplicationMTU   units.Size // of the programs' interface
	ApplicationImage string     // see experiment.Applications
}

// Program is a program that a host runs, unmodified.
type Program struct {
	Host       int
	Args       []string
	Start      units.Time
	Background bool // it ends with the run, which does not wait for it
}

// newApplications returns the programs of a run.
func newApplications(a *experiment.Applications) (list Applications, err error) {
	if a == nil {
		return list, nil
	}
	list.ApplicationMTU, list.ApplicationImage = a.MTU, a.Image
	for i, program := range a.Programs {
		args, err := program.Args()
		if err != nil {
			return list, failure.At(fmt.Sprintf("applications.programs[%d].run", i), err)
		}
		list.Programs = append(list.Programs, Program{
			Host: program.Host, Args: args, Start: units.Time(program.Start), Background: program.Background,
		})
	}
	return list, nil
}

// edges is the edges of hosts that run programs, by host.
type edges struct {
	beside []*shim.EdgeConfig // the transport, of a host that sends or receives transfers
	alone  []*shim.Config
}

// newEdges gives each host that runs programs its edge.
func newEdges(r *run) (edges, error) {
	all, a, tags := edges{make([]*shim.EdgeConfig, r.hosts), make([]*shim.Config, r.hosts)}, r.experiment.Applications, r.signals.tags
	if a == nil {
		return all, nil
	}
	signals := applicationSignals(a, tags)
	programs := r.flows.pairs[:r.flows.programs]
	for _, h := range a.Hosts {
		c := shim.EdgeConfig{
			Node: h, Name: r.fabric.graph.Nodes[h].Name, Queue: a.Queue, Pairs: pairsOf(programs, h), Sizes: r.format.Sizes, CSIG: r.signals.domain(),
			Seed: r.seed, Measure: r.Measure, Records: r.Interval, Traced: r.Traced,
		}
		if c.Queue == 0 {
			c.Queue = r.buffers.port(r.fabric.rate(h)).queue
		}
		if tags != nil && !r.fabric.strips(r.fabric.up(h).Peer.Node) {
			c.Init = shim.Init{Sampling: tags.tagging.Sampling, Signals: signals}
		}
		for _, pair := range c.Pairs {
			src, dst := int(pair.Source), int(pair.Destination)
			c.Covered = append(c.Covered, r.paths.between(src, dst).Covered)
			if r.secondPaths != nil {
				c.CoveredSecond = append(c.CoveredSecond, r.secondPaths.between(src, dst).Covered)
			}
			if tags != nil && src == h {
				classes, err := r.signals.classes(r.experiment.CSIG, &r.flows.list[pair.Flow], c.Init)
				if err != nil {
					return all, err
				}
				c.Classes = append(c.Classes, classes...)
			}
		}
		if r.busy[h] {
			all.beside[h] = &c
		} else {
			all.alone[h] = &shim.Config{EdgeConfig: c, Rate: r.fabric.rate(h)}
		}
	}
	return all, nil
}

// applicationSignals returns how often tags of programs' packets ask for each type of
// signal: once for each time that the list has it.
func applicationSignals(a *experiment.Applications, t *tags) (w csig.Weights) {
	if len(a.Signals) == 0 && t != nil {
		return csig.Only(t.tagging.Signal)
	}
	for _, t := range a.Signals {
		w = w.Merge(csig.Only(t))
	}
	return w
}
