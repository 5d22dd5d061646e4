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
		rates, delay = p.path(adjacency, int(f.Src), int(f.Dst), rates[:0])
		if back = delay; oneWay {
			home, back = p.path(adjacency, int(f.Dst), int(f.Src), home[:0])
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

// path appends the rates of the links of a shortest path, and returns its delay.
func (p *Plan) path(adjacency [][]topologies.Adjacent, src, dst int, rates []units.Rate) ([]units.Rate, units.Duration) {
	var delay units.Duration
	for at, port := src, 0; ; {
		next := adjacency[at][port]
		link := &p.Graph.Links[next.Link]
		rates = append(rates, link.Rate)
		delay += link.Delay
		if at = next.Peer.Node; at == dst {
			return rates, delay
		}
		delay += p.Graph.Nodes[at].Delay
		port = int(p.Nodes[at].Switch.Forward.Routes.To(dst)[0])
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
