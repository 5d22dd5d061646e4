package plan

import (
	"errors"
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/internal/wildcard"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/fluid"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
)

// hybridNote says what a run cannot show in which some messages are packets.
func hybridNote(p *Plan) string {
	shared := 0
	for i := range p.Fluid.Flows {
		if p.Fluid.Flows[i].Packets > 0 {
			shared++
		}
	}
	return fmt.Sprintf("fidelity: hybrid has packets of %d of %d flows, and of these of the messages that are chosen: queues, marks, losses, CSIG samples and reactions are theirs. The others are a fluid, which packets wait for, and which waits for nothing; it leaves each flow of packets its share of links, whether they use it or not", shared, len(p.Fluid.Flows))
}

// newPacketChoices returns by transfer which of its messages are packets, nil if none are; nil
// without fidelity hybrid.
func newPacketChoices(r *run) ([]*fluid.Choice, error) {
	e := r.experiment
	if e.Fidelity != experiment.Hybrid {
		return nil, nil
	}
	hosts, err := r.fabric.hostsAt(e.Packets.Nodes)
	if err != nil {
		return nil, err
	}
	byJob, err := jobChoices(r)
	if err != nil {
		return nil, err
	}
	choices, some := make([]*fluid.Choice, len(r.workload.Transfers)), false
	for i := range choices {
		if t := &r.workload.Transfers[i]; hosts == nil || hosts[t.Src] || hosts[t.Dst] {
			choices[i] = byJob[min(t.Job, len(byJob)-1)]
			some = some || choices[i] != nil
		}
	}
	if !some {
		return nil, failure.At("packets", errors.New("no flow has such messages; fidelity: flow is for runs without packets"))
	}
	return choices, nil
}

// jobChoices returns the choice of each job, and, behind these, that of transfers that are not a
// job's.
func jobChoices(r *run) ([]*fluid.Choice, error) {
	c := &r.experiment.Packets
	if c.To > 0 && c.To <= c.From {
		return nil, failure.At("packets.to", fmt.Errorf("%v is not after from, %v", c.To, c.From))
	}
	span := metrics.Span{From: units.Time(c.From), To: units.Never}
	if c.To > 0 {
		span.To = units.Time(c.To)
	}
	choices, phases, steps := []*fluid.Choice(nil), []string(nil), 0
	for i := range r.workload.Jobs {
		source := r.workload.Jobs[i].Source
		own, labels := &fluid.Choice{Span: span}, source.Labels().Phases
		steps = max(steps, source.Steps())
		for _, s := range c.Steps {
			if s <= source.Steps() {
				own.Steps = append(own.Steps, int32(s))
			}
		}
		for k, name := range labels {
			if slices.Contains(c.Phases, name) {
				own.Phases = append(own.Phases, int16(k+1))
			}
			if !slices.Contains(phases, name) {
				phases = append(phases, name)
			}
		}
		if len(c.Steps) > 0 && own.Steps == nil || len(c.Phases) > 0 && own.Phases == nil {
			own = nil
		}
		choices = append(choices, own)
	}
	for i, name := range c.Phases {
		if !slices.Contains(phases, name) {
			return nil, failure.At(fmt.Sprintf("packets.phases[%d]", i), fmt.Errorf("no job has a phase %q; they have %q%s", name, phases, spelling.Hint(spelling.Nearest(name, phases))))
		}
	}
	for i, s := range c.Steps {
		if s > steps {
			return nil, failure.At(fmt.Sprintf("packets.steps[%d]", i), fmt.Errorf("no job has a step %d; they have up to %d", s, steps))
		}
	}
	if len(c.Steps)+len(c.Phases) > 0 {
		return append(choices, nil), nil
	}
	return append(choices, &fluid.Choice{Span: span}), nil
}

// hostsAt returns which hosts are named, or are on switches that are; nil for no names.
func (f *fabric) hostsAt(patterns []string) (hosts map[int]bool, err error) {
	for i, pattern := range patterns {
		found := false
		for n := range f.graph.Nodes {
			if !wildcard.Match(pattern, f.graph.Nodes[n].Name) {
				continue
			}
			for _, h := range f.hostsOn(n) {
				if hosts == nil {
					hosts = map[int]bool{}
				}
				found, hosts[h] = true, true
			}
		}
		if !found {
			names := nodeNames(f.graph.Nodes)
			if slices.ContainsFunc(names, func(name string) bool { return wildcard.Match(pattern, name) }) {
				return nil, failure.At(fmt.Sprintf("packets.nodes[%d]", i), fmt.Errorf("%s has no hosts", pattern))
			}
			return nil, failure.At(fmt.Sprintf("packets.nodes[%d]", i), fmt.Errorf("no host or switch is called %q%s", pattern, spelling.Hint(spelling.Nearest(pattern, names))))
		}
	}
	return hosts, nil
}

// hostsOn returns a host itself, or the hosts on a switch.
func (f *fabric) hostsOn(n int) (hosts []int) {
	if n < f.graph.Hosts() {
		return []int{n}
	}
	for _, p := range f.portsOf(n) {
		if p.toHost {
			hosts = append(hosts, p.peer.Node)
		}
	}
	return hosts
}

// packetPart returns about what part of the messages of a transfer are packets. It does not know
// how long phases are.
func (r *run) packetPart(t *workloads.Transfer, c *fluid.Choice) float64 {
	if c == nil {
		return 0
	}
	part, length := 1.0, r.length
	if t.Job < len(r.workload.Jobs) {
		if c.Steps != nil {
			part = float64(len(c.Steps)) / float64(r.workload.Jobs[t.Job].Source.Steps())
		}
		length = max(length, r.jobs.loads[t.Job].Length)
	}
	if c.Span.To != units.Never && length > 0 {
		part *= min(1, max(0.001, float64(c.Span.To.Sub(c.Span.From))/float64(length)))
	}
	return part
}

// share notes the ports that ACKs of packets may cross.
func (w *crossings) share(d *decided) {
	for i, c := range d.choices {
		if c == nil {
			continue
		}
		t := &w.run.workload.Transfers[i]
		back := []fluid.Way{w.way(topologies.End{Node: t.Dst}, 1)}
		w.crossed(w.all(back, w.run.fabric.up(t.Dst).Peer.Node, t.Src))
	}
}

// crossed notes that packets cross ports.
func (w *crossings) crossed(ways []fluid.Way) {
	for _, way := range ways {
		w.packets[way.Port] = true
	}
}
