package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/csiglab/csiglab/nodes/class"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/switch/meter"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Bounds of the rules about what a port can say of itself.
const (
	lostShare    = 10 // 1/lostShare of the slowest port free must not read as 0
	hpccPackets  = 20 // of BDP: below, csig-hpcc has too few
	hpccStep     = 20 // its step is 1/hpccStep of the BDP or more
	hpccFlows    = 10 // of its automatic step
	hpccEtaGiven = 0.95
)

// slowest returns the rate of the slowest link.
func (c *signalling) slowest() units.Rate {
	return slices.MinFunc(c.plan.Graph.Links, func(a, b topologies.Link) int { return cmp.Compare(a.Rate, b.Rate) }).Rate
}

// scope returns whose available bandwidth ports write.
func (c *signalling) scope() meter.Scope { return c.plan.Switch(c.plan.Hosts()).CSIG.Available }

// pausedPorts finds available bandwidth of ports that may be paused: in docs/examples/paused.yaml
// a port that is paused 74 % of the time reads 73 % free, and raw readings send a victim there.
func pausedPorts(c *signalling) []string {
	signal, ok := available(c.transfers)
	if !ok || class.Lossless(c.plan.Classes) == 0 || c.scope() != meter.Raw {
		return nil
	}
	return []string{fmt.Sprintf("csig.abw: a port that is paused sends nothing, and so its %s reads as free: senders who go by it choose ports that others have paused; use pause-aware, or the signals delay or nqd", signal)}
}

// onePortManyClasses finds available bandwidth of ports whose classes are served
// differently: beside a full lower class a strict one reads 0 of the port, and per-class all of it.
func onePortManyClasses(c *signalling) []string {
	signal, ok := available(c.transfers)
	if !ok || len(c.plan.Classes) < 2 || c.scope() == meter.PerClass {
		return nil
	}
	strict := "what its weight gives to it"
	if slices.ContainsFunc(c.plan.Classes, func(k class.Class) bool { return k.Strict }) {
		strict = "what it could take from classes behind it"
	}
	return []string{fmt.Sprintf("csig.abw: %s is that of the port, and there are %d classes: each reads what all of them leave, not %s; use per-class", signal, len(c.plan.Classes), strict)}
}

// lostBandwidth finds a slow port much of whose available bandwidth reads as 0: the first of the 32
// ranges of abw-geo(R) ends at R/256, which is 3.1 Gb/s beside a link of 800 Gb/s.
func lostBandwidth(c *signalling) []string {
	rate := c.slowest()
	if !c.transfers[csig.ABW] && !c.programs[csig.ABW] {
		return nil
	}
	first := c.domain.Quantise(csig.ABW, 0)
	lost := units.Rate(8 * (first.High + 1))
	if first.Point != 0 || lost <= rate/lostShare || first.High >= uint64(c.plan.CSIG.MaxRate/8) {
		return nil
	}
	return []string{fmt.Sprintf("csig.quantisers.abw: at the slowest port, %v, all that is free below %.3gGbps reads as 0, the first range of a quantiser for faster ports; use csig.format: wide, the signal abw-c, or edges of your own",
		rate, float64(lost)/1e9)}
}

// saturatedDepth finds lossless classes, whose queues grow beyond what reads as full.
func saturatedDepth(c *signalling) []string {
	set := class.Lossless(c.plan.Classes)
	if !c.transfers[csig.NQD] || set == 0 {
		return nil
	}
	var worst struct {
		name       string
		full, most units.Size
	}
	for node := c.plan.Hosts(); node < len(c.plan.Nodes); node++ {
		s := c.plan.Switch(node)
		for k, of := range c.plan.Classes {
			if set>>k&1 == 0 {
				continue
			}
			var room units.Size // of what comes in by all ports
			for i := range s.Ports {
				in := &s.Ports[i].Classes[k].Ingress
				room += in.XOff + in.Headroom
			}
			for i := range s.Ports {
				p := &s.Ports[i]
				full, most := p.Classes[k].Queue, room-p.Classes[k].Ingress.XOff-p.Classes[k].Ingress.Headroom
				if s.CSIG.Depth == meter.Drain {
					full = p.Rate.Volume(s.CSIG.Tau)
				}
				if most > full && (worst.name == "" || uint64(most)*uint64(worst.full) > uint64(worst.most)*uint64(full)) {
					worst.name, worst.full, worst.most = fmt.Sprintf("%s at port %s", of.Name, c.run.fabric.portName(topologies.End{Node: node, Port: i})), full, most
				}
			}
		}
	}
	if worst.name == "" {
		return nil
	}
	return []string{fmt.Sprintf("csig.nqd: a lossless class has no limit of its queue: nqd of class %s reads full from %v on, and flow control lets up to %v queue there; beyond that all ports read alike; use the signal delay, or a lower links.pfc.xoff",
		worst.name, worst.full, worst.most)}
}

// weakSteps finds csig-hpcc with an additive step that is too small to even out what
// flows with several bottlenecks lose, or with a window of few packets. Own runs of three-flow
// (nqd: drain, wide, 20 to 40 ms), neighbours over victim: at 100 Gb/s, 42 packets, 4.8 with steps
// of 0.5 % (auto), 2.4 with 2 %, 1.7 with 8 %; at 25 Gb/s, 10 packets, 11.7, 9.0 and 5.0.
func weakSteps(c *signalling) []string {
	path := c.plan.Path
	window := path.LinkRate.Volume(path.NetworkRTT)
	if len(c.customers) == 0 || c.customers[0].name != "csig-hpcc" || c.plan.Transfers == 0 {
		return nil
	}
	step, err := units.ParseSize(c.run.experiment.Hosts.CC.Params["window_ai"])
	if err != nil { // auto
		eta, err := strconv.ParseFloat(c.run.experiment.Hosts.CC.Params["eta"], 64)
		if err != nil {
			eta = hpccEtaGiven
		}
		step = units.Size((1 - eta) * float64(window) / hpccFlows)
	}
	packets := float64(window) / float64(path.MTU)
	if step*hpccStep >= window && packets >= hpccPackets {
		return nil
	}
	return []string{fmt.Sprintf("hosts.cc.window_ai: csig-hpcc steps by %v, %.2g %% of a window of %.0f packets; flows that share several full links then get a fraction of the others' rate "+
		"(three-flow, steps of 0.5 %%: a fifth at 100Gbps, a twelfth at 25Gbps); use steps of %v or more, and at least %d packets", step, 100*float64(step)/float64(window), packets, window/hpccStep+1, hpccPackets)}
}
