package plan

import (
	"cmp"
	"slices"

	"github.com/csiglab/csiglab/nodes/switch/forward"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Demand is what a training job sends through the fabric in a step.
type Demand struct {
	Ports   []PortDemand   // ascending by node and port
	Latency units.Duration // of a full packet, on the longest of its ways on an idle fabric, without its time on one link
	// Ambiguous is the name of a connection that has several shortest paths, or that the
	// routing may send elsewhere: Ports has one of its ways. "": there is none.
	Ambiguous string
	Within    bool // some messages do not cross the fabric, but go through a server
}

// PortDemand is what a job sends through one port in a step.
type PortDemand struct {
	Node, Port int
	Rate       units.Rate
	Bytes      float64 // on the line: payload, headers, tags, and what the line adds
	Senders    int     // connections that send at a time: the ranks, each with its channels
}

// Demands returns what each of Jobs sends through the fabric, as Jobs.
func (p *Plan) Demands() []Demand {
	if len(p.Jobs) == 0 {
		return nil
	}
	type sender struct {
		rank    int32
		channel uint16
	}
	adjacency := p.Graph.Adjacency()
	all := make([]Demand, len(p.Jobs))
	ports, senders := make([]map[topologies.End]*PortDemand, len(all)), make([]map[topologies.End]map[sender]bool, len(all))
	for i := range all {
		ports[i], senders[i] = map[topologies.End]*PortDemand{}, map[topologies.End]map[sender]bool{}
	}
	for i := range p.Flows[:p.Transfers] {
		f := &p.Flows[i]
		if f.Messages == 0 {
			continue
		}
		d, ports, senders := &all[f.Job], ports[f.Job], senders[f.Job]
		onLine := p.Path.Header + p.Format.Overhead + p.tagOf(f)
		bytes := (float64(f.Size) + float64(f.Packets)*float64(onLine)) / float64(max(1, p.Jobs[f.Job].Steps))
		full := p.Path.MTU - p.Path.Header + onLine
		var lines, longest units.Duration
		delay := p.walk(adjacency, int(f.Src), int(f.Dst), func(at topologies.End, link *topologies.Link, ways int) {
			if ports[at] == nil {
				ports[at], senders[at] = &PortDemand{Node: at.Node, Port: at.Port, Rate: link.Rate}, map[sender]bool{}
			}
			ports[at].Bytes += bytes
			senders[at][sender{f.SrcRank, f.Channel}] = true
			line := link.Rate.Serialisation(full)
			lines, longest = lines+line, max(longest, line)
			if s := p.Switch(at.Node); s != nil {
				if policy, _ := forward.Lookup(s.Forward.Routing); ways > 1 || !policy.Hashes {
					d.Ambiguous = cmp.Or(d.Ambiguous, f.Name)
				}
			}
		})
		d.Latency = max(d.Latency, delay+lines-longest)
	}
	for i := range all {
		for at, d := range ports[i] {
			d.Senders = len(senders[i][at])
			all[i].Ports = append(all[i].Ports, *d)
		}
		slices.SortFunc(all[i].Ports, func(a, b PortDemand) int { return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Port, b.Port)) })
	}
	for h := range p.Hosts() {
		if c := p.Nodes[h].Host; c != nil {
			for i := range c.Player.Jobs {
				j := &c.Player.Jobs[i]
				for _, r := range j.Routes {
					all[j.Job].Within = all[j.Job].Within || r.Flow < 0
				}
			}
		}
	}
	return all
}
