package plan

import (
	"cmp"
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// IdleFCTs returns the flow completion time of each transfer over its path on an idle
// fabric: the packets leave back to back, wait for nobody, and the ACK of the last one
// comes back at once. Window and congestion control do not limit it. Of several shortest
// paths it is the one by the lowest ports.
func (p *Plan) IdleFCTs() []units.Duration {
	adjacency := p.Graph.Adjacency()
	times := make([]units.Duration, p.Transfers)
	var rates, home []units.Rate // of the links of a path, and of the ACK's
	oneWay := p.Graph.OneWay()
	for i := range times {
		f := &p.Flows[i]
		var delay, back units.Duration // of links and switches
		rates, delay = p.rates(adjacency, int(f.Src), int(f.Dst), rates[:0])
		if back = delay; oneWay {
			home, back = p.rates(adjacency, int(f.Dst), int(f.Src), home[:0])
		} else {
			home = rates
		}
		full, last := p.Path.MTU, f.Size-units.Size(f.Packets-1)*(p.Path.MTU-p.Path.Header)+p.Path.Header
		extra := p.Format.Overhead + p.tagOf(f)
		times[i] = delay + back + lastArrival(rates, f.Packets, full+extra, last+extra)
		for _, r := range home {
			times[i] += r.Serialisation(p.Path.Header + p.Format.Overhead) // of the ACK
		}
	}
	return times
}

// rates appends the rates of the links of a shortest path, and returns its delay.
func (p *Plan) rates(adjacency [][]topologies.Adjacent, src, dst int, rates []units.Rate) ([]units.Rate, units.Duration) {
	delay := p.walk(adjacency, src, dst, func(_ topologies.End, link *topologies.Link, _ int) { rates = append(rates, link.Rate) })
	return rates, delay
}

// walk visits the ports of a shortest path, which it goes by the lowest of the ways that there
// are at each, and returns the delay of its links and switches.
func (p *Plan) walk(adjacency [][]topologies.Adjacent, src, dst int, visit func(at topologies.End, link *topologies.Link, ways int)) (delay units.Duration) {
	for at, ways := (topologies.End{Node: src}), 1; ; {
		next := adjacency[at.Node][at.Port]
		link := &p.Graph.Links[next.Link]
		visit(at, link, ways)
		delay += link.Delay
		if at.Node = next.Peer.Node; at.Node == dst {
			return delay
		}
		delay += p.Graph.Nodes[at.Node].Delay
		to := p.Nodes[at.Node].Switch.Forward.Routes.To(dst)
		at.Port, ways = int(to[0]), len(to)
	}
}

// tagOf returns what the tag of a data packet of a flow adds to its size; 0 where only
// some packets have one.
func (p *Plan) tagOf(f *metrics.FlowInfo) units.Size {
	h := p.Nodes[f.Src].Host
	if !p.Format.CountTag || p.CSIG == nil || p.CSIG.Format == csig.FormatNone || h == nil || h.Tagging.Sampling != csig.All {
		return 0
	}
	return units.Size(p.formatOf(h, f.Flow).Size())
}

// formatOf returns the format of the tags of a transfer, which a host sends.
func (p *Plan) formatOf(h *host.Config, id int32) csig.Format {
	if p.CSIG.Second == nil {
		return p.CSIG.Format
	}
	i, ok := slices.BinarySearchFunc(h.Sends, int(id), func(f host.Flow, id int) int { return f.ID - id })
	if !ok {
		return p.CSIG.Format
	}
	return cmp.Or(h.TaggingOf(&h.Sends[i]).Format, p.CSIG.Format)
}

// lastArrival returns how long links take to store and forward packets in a row, without
// their delays: all but the last of one size, the last one no larger. Each packet leaves
// a link after the packet before it, and after it has come over the link before: the
// time is the longest chain of transmissions from the first packet on the first link to
// the last packet on the last link.
func lastArrival(rates []units.Rate, packets int64, full, last units.Size) (longest units.Duration) {
	var lasts units.Duration // of the last packet over the links from here on
	for _, r := range rates {
		lasts += r.Serialisation(last)
	}
	if packets == 1 {
		return lasts
	}
	var fulls units.Duration // of a full packet over the links up to here
	slowest := rates[0]
	for _, r := range rates { // the last packet is the next of the chain on this link
		fulls += r.Serialisation(full)
		slowest = min(slowest, r)
		longest = max(longest, fulls+slowest.Serialisation(full*units.Size(packets-2))+lasts)
		lasts -= r.Serialisation(last)
	}
	return longest
}
