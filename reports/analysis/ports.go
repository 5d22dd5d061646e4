package analysis

import (
	"cmp"
	"slices"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Ports that send for more than fullShare of the time are full. Results list at
// most maxPorts ports.
const (
	fullShare = 0.9
	maxPorts  = 2
)

// PortID names a port within the experiment.
type PortID struct {
	Node int32 `json:"node"`
	Port int32 `json:"port"`
}

// Port is a switch port and how it was used while measured.
type Port struct {
	PortID
	Peer     int32  `json:"peer"`               // the node at the other end of the link
	From     string `json:"from"`               // name of the port's node
	To       string `json:"to"`                 // name of the peer
	Parallel bool   `json:"parallel,omitempty"` // other links join the same two nodes
	RateBPS  int64  `json:"rateBps"`
	Full     bool   `json:"full"` // in some variant
	Use      []Use  `json:"use"`  // by variant, without those that lack the port
}

// Use is how a port was used in one variant. Times count as shares of the
// measuring window.
type Use struct {
	Variant        string  `json:"variant"`
	Utilisation    float64 `json:"utilisation"`    // share of the time that the port was sending, line overhead included
	MeanQueueBytes float64 `json:"meanQueueBytes"` // of the data queue
	PeakQueueBytes float64 `json:"peakQueueBytes"`
}

// In returns the use in a variant. It reports whether the variant has the port.
func (p *Port) In(variant string) (Use, bool) {
	for _, u := range p.Use {
		if u.Variant == variant {
			return u, true
		}
	}
	return Use{}, false
}

// Busiest returns the use with the highest utilisation.
func (p *Port) Busiest() Use {
	var best Use
	for _, u := range p.Use {
		if u.Utilisation > best.Utilisation {
			best = u
		}
	}
	return best
}

// queue returns the sum of the mean queues over the variants.
func (p *Port) queue() (bytes float64) {
	for _, u := range p.Use {
		bytes += u.MeanQueueBytes
	}
	return bytes
}

// busiestPorts returns the switch ports that limit the flows: those that are full
// in some variant, the deepest mean queue over the variants first. When no port
// is full it returns the busiest ones.
func busiestPorts(m *runfolder.Manifest, t *totals) []Port {
	ports := map[PortID]*Port{}
	var order []PortID
	for _, v := range m.Variants {
		nodes := map[int32]runfolder.Node{}
		for _, n := range m.NodesOf(v.Name) {
			nodes[n.Node] = n
		}
		span := t.measured(run{v.Name, t.shown[v.Name]})
		if !(span > 0) {
			continue
		}
		for _, p := range m.PortsOf(v.Name) {
			if nodes[p.Node].Kind != runfolder.KindSwitch || p.RateBPS <= 0 {
				continue
			}
			id := PortID{p.Node, p.Port}
			port := ports[id]
			if port == nil {
				port = &Port{PortID: id, Peer: p.Peer, From: nodes[p.Node].Name, To: nodes[p.Peer].Name, Parallel: parallel(m, p), RateBPS: p.RateBPS}
				ports[id] = port
				order = append(order, id)
			}
			use := Use{Variant: v.Name}
			if sums := t.ports[v.Name][id]; sums != nil {
				use.Utilisation = float64(sums.txBytes+sums.txPackets*v.Overhead) * 8e6 / float64(port.RateBPS) / span
				use.MeanQueueBytes = sums.queueByteNS / 1000 / span
				use.PeakQueueBytes = float64(sums.queueMax)
			}
			port.Use = append(port.Use, use)
			port.Full = port.Full || use.Utilisation > fullShare
		}
	}
	full, used := []Port{}, []Port{}
	for _, id := range order {
		if p := ports[id]; p.Full {
			full = append(full, *p)
		} else if p.Busiest().Utilisation > 0 {
			used = append(used, *p)
		}
	}
	if len(full) > 0 {
		slices.SortStableFunc(full, func(a, b Port) int { return cmp.Compare(b.queue(), a.queue()) })
		return full[:min(maxPorts, len(full))]
	}
	slices.SortStableFunc(used, func(a, b Port) int { return cmp.Compare(b.Busiest().Utilisation, a.Busiest().Utilisation) })
	return used[:min(maxPorts, len(used))]
}

// parallel reports whether another link joins the nodes of a port's link.
func parallel(m *runfolder.Manifest, p runfolder.Port) bool {
	return slices.ContainsFunc(m.Ports, func(o runfolder.Port) bool { return o.Node == p.Node && o.Peer == p.Peer && o.Port != p.Port })
}
