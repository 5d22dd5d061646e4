package plan

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host"
	"github.com/csiglab/csiglab/nodes/host/balance"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/host/generator"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/units"
)

// checkAlgorithms checks the parameters of the congestion control with the link of each host,
// and those of the load balancer, before a host is built.
func checkAlgorithms(e *experiment.Experiment, f *fabric, s sizing, domain *csig.Config) error {
	a := e.Hosts.CC
	cc, ok := congestion.Table.Lookup(a.Name)
	if !ok {
		return failure.Configuration(fmt.Errorf("unknown congestion control %q", a.Name))
	}
	checked := map[units.Rate]bool{}
	for h := range f.graph.Hosts() {
		rate := f.rate(h)
		if checked[rate] {
			continue
		}
		checked[rate] = true
		_, err := cc.New(s.path(rate), a.Params)
		var param *algorithm.ParamError
		if h > 0 && errors.As(err, &param) { // a parameter that does not fit the first host fits none as a rule
			err = &algorithm.ParamError{Param: param.Param, Err: fmt.Errorf("at %s: %w", f.graph.Nodes[h].Name, param.Err)}
		}
		if err != nil {
			return failure.AtParam("hosts.cc", err)
		}
	}
	lb, ok := balance.Table.Lookup(e.Hosts.LB.Name)
	if !ok {
		return failure.Configuration(fmt.Errorf("unknown load balancer %q", e.Hosts.LB.Name))
	}
	if _, err := lb.New(sampleFlow(s.path(f.rate(0)), domain), e.Hosts.LB.Params); err != nil {
		return failure.AtParam("hosts.lb", err)
	}
	return nil
}

// sampleFlow is what a load balancer is built with to see what it makes of its parameters.
func sampleFlow(p congestion.Path, c *csig.Config) balance.Flow {
	flow := host.BalanceFlow(p, c)
	flow.Random = rand.New(rand.NewPCG(0, 0))
	return flow
}

// kinds is the machines of hosts: a generator, a shim, or else a host with the transport.
type kinds struct {
	edges
	generators []*generator.Config // by host
}

// transport reports whether a host has the transport.
func (k *kinds) transport(h int) bool { return k.generators[h] == nil && k.alone[h] == nil }

// newHosts returns the hosts with the transport, by host.
func newHosts(r *run, d *decided) []*host.Config {
	hosts := make([]*host.Config, r.hosts)
	e, f := r.experiment, &r.fabric
	for h := range hosts {
		if !d.transport(h) {
			continue
		}
		up, rate := f.up(h), f.rate(h)
		c := &host.Config{
			Node:       h,
			Name:       f.graph.Nodes[h].Name,
			IP:         wire.HostIP(h),
			MAC:        wire.MAC(h, 0),
			NextHopMAC: wire.MAC(up.Peer.Node, up.Peer.Port),
			Rate:       rate,
			Control:    d.ports[h],
			MTU:        e.Links.MTU,
			Sizes:      r.format.Sizes,
			RTO:        r.buffers.rto(e.Hosts.MinRTO, rate),
			AckEvery:   e.Hosts.AckEvery,
			Recovery:   e.Hosts.Recovery,
			Credits:    e.Hosts.Credits,
			CC:         e.Hosts.CC,
			LB:         e.Hosts.LB,
			Path:       r.buffers.path(rate),
			CSIG:       r.signals.domain(),
			Place:      e.Hosts.TrimPlace,
			Player:     d.players[h],
			Edge:       d.beside[h],
			Seed:       r.seed,
			Measure:    r.Measure,
			Records:    r.Interval,
			Traced:     r.Traced,
			Truth:      r.Truth,
		}
		if tags := r.signals.tags; tags != nil {
			c.Tagging, c.LastHops = tags.tagging, tags.lastHops
		}
		if data := r.buffers.data; data != nil {
			c.Classes = data.list
		}
		if d.collecting.host == h {
			c.Collector = d.collecting.config
		}
		c.GiveUp = d.faults.giveUp(c.RTO)
		if d.fluid.ports != nil {
			c.Fluid = d.fluid.ports[h]
		}
		hosts[h] = c
	}
	fluid := func(i int) bool { return d.fluid.ports != nil && at(d.choices, i) == nil }
	sends, receives := make([]int, r.hosts), make([]int, r.hosts)
	for i := range r.workload.Transfers {
		if fluid(i) {
			continue
		}
		sends[r.workload.Transfers[i].Src]++
		receives[r.workload.Transfers[i].Dst]++
	}
	for i, t := range r.workload.Transfers {
		if fluid(i) {
			continue
		}
		src, dst := hosts[t.Src], hosts[t.Dst]
		if src.Sends == nil {
			src.Sends = make([]host.Flow, 0, sends[t.Src])
		}
		if dst.Receives == nil {
			dst.Receives = make([]host.End, 0, receives[t.Dst])
		}
		end := host.End{ID: i, Peer: wire.HostIP(t.Src), Size: t.Size, Stop: units.Time(t.Stop), Connection: t.Messages > 0}
		dst.Receives = append(dst.Receives, end)
		end.Peer = wire.HostIP(t.Dst)
		end.Class = at(d.class, i)
		flow := host.Flow{End: end, Paths: r.paths.between(t.Src, t.Dst), Tagging: at(d.tagging, i), CC: at(d.cc, i), Packets: at(d.choices, i)}
		if flow.Tagging != nil && flow.Tagging.Format != csig.FormatNone {
			flow.Paths = r.secondPaths.between(t.Src, t.Dst)
		}
		src.Sends = append(src.Sends, flow)
	}
	return hosts
}
