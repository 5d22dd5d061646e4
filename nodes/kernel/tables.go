package kernel

import (
	"math"
	"math/bits"
	"slices"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/switch/aqm"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/switch/meter"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// slotSize is the size of struct slot, and leastPacket that of the smallest frame with its
// check sequence.
const (
	slotSize    = 16
	leastPacket = 18
)

// queueSlots returns how many packets the virtual queue of a port holds: more than there is
// room for, a power of two.
func queueSlots(ports []dataplane.Port) uint64 {
	longest := units.Size(0)
	for i := range ports {
		longest = max(longest, ports[i].Buffer.Longest())
	}
	return 1 << bits.Len64(uint64(longest/leastPacket)+1)
}

// routesOf returns the routes of all hosts, and the ports that they go through.
func routesOf(r *topologies.Routes) (routes []transitRoute, hops []uint32) {
	known := map[topologies.Route]transitRoute{}
	for host := range len(r.Blocks) * topologies.HostsPerBlock {
		way := r.Route(host)
		route, ok := known[way]
		if !ok {
			ports := r.Ports(way)
			route = transitRoute{First: uint32(len(hops)), Count: uint32(len(ports))}
			for _, p := range ports {
				hops = append(hops, uint32(p))
			}
			known[way] = route
		}
		routes = append(routes, route)
	}
	return routes, hops
}

// constants returns the program's constants by name.
func (s *Switch) constants(domain *csig.Domain, slots uint64) map[string]any {
	c := &s.cfg.Switch
	values := map[string]any{
		"tpids": [2]uint16{s.cfg.Format.TPIDCompact, s.cfg.Format.TPIDWide}, "seed": c.Forward.Seed,
		"delay": uint64(c.Delay), "overhead": uint64(c.Sizes.Overhead), "count_tag": c.Sizes.CountTag, "queue_mask": slots - 1,
		"start": uint64(s.cfg.Start), "dilation": uint64(max(1, s.cfg.Dilation)), "scripted": s.cfg.scripted,
	}
	if domain == nil {
		return values
	}
	values["wait"] = c.CSIG.Delay == dataplane.Wait
	var layouts [2]transitLayout
	var tables [csig.Standard]transitBands
	var steps [csig.Standard]transitLinear
	var overrides [csig.Standard]bool
	for d := domain; d != nil; d = d.Second() {
		if d.Format() == csig.FormatNone {
			continue
		}
		layouts[d.Format()-1] = newLayout(d)
		for t := range csig.Standard {
			if d.Format() == csig.FormatCompact {
				tables[t] = newBands(d.Quantiser(t), t.Min())
			} else {
				steps[t] = newLinear(d.Quantiser(t), t)
			}
		}
	}
	for t := range csig.Standard {
		overrides[t] = domain.Config().OverrideD[t]
	}
	values["layouts"], values["bands"], values["linear"], values["override_d"] = layouts, tables, steps, overrides
	return values
}

// newLayout returns where a tag of the domain's format has its locator and its D bit.
func newLayout(d *csig.Domain) transitLayout {
	l := transitLayout{Present: 1}
	if d.Dialect() == csig.UEC050 {
		l.D_mask, l.LmShift = 1, 1
	}
	l.LmMask = d.MaxLocator() << l.LmShift
	return l
}

// Codes of compact tags: the one of a fresh tag is all ones where hops keep the smallest
// value and otherwise 0.
const (
	codes    = 32
	noRank   = 255
	freshMin = codes - 1
)

// newBands returns the table of a compact tag's quantiser.
func newBands(q csig.Quantiser, smallest bool) (b transitBands) {
	n := len(q.Edges)
	for code := range b.Rank {
		b.Rank[code] = noRank
	}
	if b.Rank[0] = 0; smallest {
		b.Rank[0], b.Rank[freshMin] = noRank, uint8(n+1)
	}
	for i := range b.Lower {
		if b.Lower[i] = math.MaxUint64; i >= n {
			continue
		}
		code := uint8(i)
		if q.Bands != nil {
			code = q.Bands[i]
		}
		b.Lower[i], b.Code[i], b.Rank[code] = q.Edges[i], code, uint8(i+1)
	}
	b.Last = uint8(n - 1)
	return b
}

// newLinear returns the steps of a wide tag's quantiser.
func newLinear(q csig.Quantiser, t csig.Type) transitLinear {
	l := transitLinear{Base: q.Base, Limit: math.MaxUint64, Shift: uint8(bits.TrailingZeros64(q.Step))}
	if t.Definition().Unit == csig.PPM {
		l.Limit = 1_000_000
	}
	return l
}

// port returns what the program knows of a port before the first packet.
func (s *Switch) port(i int, machine *dataplane.Switch) (*transitPort, error) {
	c, cfg := &s.cfg.Switch, &s.cfg.Switch.Ports[i]
	p := &transitPort{Rate: uint64(cfg.Rate), Limit: uint64(cfg.Buffer.Longest()), Threshold: math.MaxUint64, WindowEnd: math.MaxUint64}
	if i < len(s.cfg.Interfaces) {
		p.Ifindex = uint32(s.cfg.Interfaces[i])
	}
	if perByte := 8 * uint64(units.Second); perByte%p.Rate == 0 {
		p.PerByte = perByte / p.Rate
	}
	if c.AQM.Name == "step" {
		policy, _ := aqm.Table.Lookup(c.AQM.Name)
		resolved, err := policy.Resolve(aqm.Port{Rate: cfg.Rate, Queue: cfg.Buffer.Data, ECN: cfg.ECN}, c.AQM.Params)
		if err != nil {
			return nil, err
		}
		threshold, err := units.ParseSize(resolved["threshold"])
		if err != nil {
			return nil, err
		}
		p.Threshold = uint64(threshold)
	}
	domain := machine.Domain()
	if domain == nil {
		return p, nil
	}
	bandwidth := machine.Bandwidth(i)
	w := bandwidth.Windows()
	p.Sub, p.Interval, p.Count = uint64(w.Length), uint64(w.Length)*uint64(w.Count), uint32(w.Count)
	p.WindowEnd, p.Fraction = uint64(w.FirstEnd), uint32(w.Fraction)
	p.Full = uint64(meter.NewDepth(c.CSIG.Depth, cfg.Buffer.Data, cfg.Rate, c.CSIG.Tau).Full())
	for d := domain; d != nil; d = d.Second() {
		locator, policies := cfg.Locator, &cfg.Policies
		if d != domain {
			locator, policies = cfg.Second.Locator, &cfg.Second.Policies
		}
		if f := d.Format(); f != csig.FormatNone {
			p.Locators[f-1] = locator
			for t := range csig.Standard {
				p.Policies[f-1][t] = uint8(policies[t])
			}
		}
	}
	return p, nil
}

// terminates reports whether tags end at a port.
func terminates(p *dataplane.Port) bool {
	return slices.Contains(p.Policies[:], dataplane.Terminate) || p.Second != nil && slices.Contains(p.Second.Policies[:], dataplane.Terminate)
}
