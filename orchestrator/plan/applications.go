package plan

import (
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host"
	"github.com/csiglab/csiglab/nodes/host/shim"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/failure"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
)

// assignApplications gives each host that runs programs its edge, and names the flows
// between them, which come after those of the workload. A host without transfers gets
// the machine of a shim; the others get the edge beside the transport.
func (s *Shape) assignApplications(p *Plan, hosts []host.Config, a *experiment.Applications, seed uint64) error {
	p.ApplicationMTU, p.ApplicationImage = a.MTU, a.Image
	p.Format.Raw = true
	s.pairApplications(p, a.Hosts)
	signals, err := applicationSignals(a, s.tags)
	if err != nil {
		return failure.At("applications.signals", err)
	}
	busy := s.transportHosts()
	for _, h := range a.Hosts {
		c := shim.EdgeConfig{
			Node: h, Name: hosts[h].Name, Queue: a.Queue, Sizes: p.Format.Sizes, CSIG: p.CSIG,
			Seed: seed, Measure: p.Measure, Records: p.Interval, Traced: p.Traced,
		}
		if c.Queue == 0 {
			c.Queue = s.sizing.port(hosts[h].Rate).queue
		}
		if s.tags != nil {
			c.Init = shim.Init{Sampling: s.tags.tagging.Sampling, Signals: signals}
		}
		for _, pair := range p.Pairs {
			if int(pair.Source) == h || int(pair.Destination) == h {
				c.Pairs = append(c.Pairs, pair)
				c.Covered = append(c.Covered, s.paths.between(int(pair.Source), int(pair.Destination)).Covered)
				if s.secondPaths != nil {
					c.CoveredSecond = append(c.CoveredSecond, s.secondPaths.between(int(pair.Source), int(pair.Destination)).Covered)
				}
			}
			if s.tags != nil && int(pair.Source) == h {
				classes, err := s.classes(&p.Flows[pair.Flow], c.Init)
				if err != nil {
					return err
				}
				c.Classes = append(c.Classes, classes...)
			}
		}
		if busy[h] {
			hosts[h].Edge = &c
		} else {
			p.Nodes[h].Shim = &shim.Config{EdgeConfig: c, Rate: hosts[h].Rate}
		}
	}
	for i, program := range a.Programs {
		args, err := program.Args()
		if err != nil {
			return failure.At(fmt.Sprintf("applications.programs[%d].run", i), err)
		}
		p.Programs = append(p.Programs, Program{
			Host: program.Host, Args: args, Start: units.Time(program.Start), Background: program.Background,
		})
	}
	return nil
}

// pairApplications names the flows between hosts that run programs.
func (s *Shape) pairApplications(p *Plan, hosts []int) {
	hosts = slices.Sorted(slices.Values(hosts))
	name := func(h int) string { return s.graph.Nodes[h].Name }
	for _, src := range hosts {
		for _, dst := range hosts {
			if src == dst {
				continue
			}
			id := int32(len(p.Flows))
			p.Flows = append(p.Flows, metrics.FlowInfo{
				Flow: id, Name: fmt.Sprintf("%s-%s app", name(src), name(dst)), Src: int32(src), Dst: int32(dst),
			})
			p.Pairs = append(p.Pairs, metrics.Pair{Flow: id, Source: int32(src), Destination: int32(dst)})
		}
	}
}

// transportHosts returns the hosts that send or receive transfers.
func (s *Shape) transportHosts() map[int]bool {
	busy := map[int]bool{}
	for _, t := range s.workload.Transfers {
		busy[t.Src], busy[t.Dst] = true, true
	}
	return busy
}

// applicationSignals returns how often tags of programs' packets ask for each type of
// signal: once for each time that the list has it.
func applicationSignals(a *experiment.Applications, t *tags) (w csig.Weights, err error) {
	if len(a.Signals) == 0 && t != nil {
		return csig.Only(t.tagging.Signal), nil
	}
	for _, text := range a.Signals {
		t, err := csig.ParseType(text)
		if err != nil {
			return w, err
		}
		w = w.Merge(csig.Only(t))
	}
	return w, nil
}

// checkWorkload refuses a workload without transfers, unless there is other traffic.
func checkWorkload(w *workloads.Workload, e *experiment.Experiment) error {
	if len(w.Transfers) == 0 && e.Applications == nil && len(e.Generators) == 0 && len(w.Jobs) == 0 {
		return w.Validate()
	}
	return nil
}
