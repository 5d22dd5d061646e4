package measure

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/csiglab/csiglab/metrics/meaning"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/topologies"
)

// foreignMetrics are what foreign switches did to tags.
var foreignMetrics = Group{Title: "Foreign switches", Entries: []*Entry{foreignTags, foreignLost}}

var (
	foreignTags = &Entry{Form: "foreign_tags.<effect>.<port>", Packets: true, Words: []*words{named(effectNames[:]...), {of: foreignPorts}}, Unit: "frames", Needs: []*need{needForeign, needCSIG},
		Doc: "frames that left a port of a [foreign switch](../how-to/foreign.md) with the CSIG tag that they had as they came (`untouched`), with one that the rules of the domain make of it (`updated`), with any other (`damaged`), without it (`removed`), or with one that they did not have (`added`). Of many frames those count that a hash of their content chooses"}
	foreignLost = &Entry{Form: "foreign_lost.<switch>", Packets: true, Words: []*words{{of: foreignSwitches}}, Unit: "frames", Better: meaning.Lower, Needs: []*need{needForeign},
		Absent: "it has a link to another foreign node, of which nothing is known",
		Doc:    "frames that were sent to the foreign switch and did not come out, of those that the hash chooses"}
	needForeign = &need{"foreign switches", func(p *plan.Plan) bool { return len(foreignSwitches(&subjects{Plan: p})) > 0 }, "it has no foreign switches"}
)

// foreignSwitches returns the names of the foreign nodes through which frames go.
func foreignSwitches(s *subjects) (names []string) {
	for i := range s.Plan.Foreign {
		if f := &s.Plan.Foreign[i]; passes(s.Plan, f) {
			names = append(names, s.Plan.Graph.Nodes[f.Node].Name)
		}
	}
	return names
}

// foreignPorts returns the names of the ports of foreign switches that lead to nodes of csiglab's.
func foreignPorts(s *subjects) (names []string) {
	adjacency := s.Plan.Graph.Adjacency()
	for i := range s.Plan.Foreign {
		f := &s.Plan.Foreign[i]
		for port, a := range adjacency[f.Node] {
			if passes(s.Plan, f) && s.Plan.ForeignNode(a.Peer.Node) == nil {
				names = append(names, plan.PortName(s.Plan.Graph, adjacency, f.Node, port))
			}
		}
	}
	return names
}

// passes reports whether frames go through a node that is none of csiglab's.
func passes(p *plan.Plan, f *plan.Foreign) bool { return !f.Kernel && f.Node >= p.Hosts() }

// effect is what a foreign switch did to the tag of a frame.
type effect int

const (
	untouched effect = iota
	updated
	damaged
	removed
	added
	effects
)

var effectNames = [effects]string{"untouched", "updated", "damaged", "removed", "added"}

// exchanged is what the neighbours of a foreign node have sent to it and got from it.
type exchanged struct {
	name     string
	to, from int64 // frames
	tagged   [2]int64
	ports    []foreignPort // that lead to nodes of csiglab's, of a switch
	looked   int64         // frames to it that count for tags
	lost     int64         // of these; -1: not known
}

type foreignPort struct {
	name string
	tags [effects]int64
}

// exchanges returns those of all foreign nodes.
func exchanges(r *Run) (list []exchanged) {
	counts := make(map[topologies.End]*emu.PortCount, len(r.Outcome.Ports))
	for i := range r.Outcome.Ports {
		c := &r.Outcome.Ports[i]
		counts[topologies.End{Node: c.Node, Port: c.Port}] = c
	}
	adjacency, domain := r.Plan.Graph.Adjacency(), r.Plan.Domain()
	for i := range r.Plan.Foreign {
		f := &r.Plan.Foreign[i]
		if f.Kernel {
			continue // kernelSwitches
		}
		x := exchanged{name: r.Plan.Graph.Nodes[f.Node].Name}
		var peers []*emu.PortCount
		var mask uint64
		for port, a := range adjacency[f.Node] {
			c := counts[a.Peer]
			if c == nil || c.Foreign == nil { // another foreign node
				x.lost = -1
				continue
			}
			x.to, x.from = x.to+c.Sent, x.from+c.Received
			x.tagged[0], x.tagged[1] = x.tagged[0]+c.Foreign.Sent.Tagged, x.tagged[1]+c.Foreign.Received.Tagged
			mask |= c.Foreign.Sent.Mask | c.Foreign.Received.Mask
			peers = append(peers, c)
			x.ports = append(x.ports, foreignPort{name: plan.PortName(r.Plan.Graph, adjacency, f.Node, port)})
		}
		if passes(r.Plan, f) {
			x.compare(peers, mask, domain)
		} else {
			x.ports = nil
		}
		list = append(list, x)
	}
	return list
}

// seen counts frames by key and tag.
type seen map[uint64]map[uint64]int64

func (s seen) add(of *emu.Sightings, mask uint64) {
	for one, n := range of.Seen {
		if one.Key&mask != 0 {
			continue
		}
		if s[one.Key] == nil {
			s[one.Key] = map[uint64]int64{}
		}
		s[one.Key][one.Tag] += n
	}
}

// frames returns how many frames had one of the tags.
func frames(tags map[uint64]int64) (sum int64) {
	for _, n := range tags {
		sum += n
	}
	return sum
}

// compare compares what a switch was sent with what came out of its ports. peers are the other ends
// of these, and mask chooses what all of them have seen.
func (x *exchanged) compare(peers []*emu.PortCount, mask uint64, domain *csig.Domain) {
	in, out := seen{}, seen{}
	for _, c := range peers {
		in.add(&c.Foreign.Sent, mask)
	}
	for i, c := range peers {
		here := seen{}
		here.add(&c.Foreign.Received, mask)
		out.add(&c.Foreign.Received, mask)
		for key, tags := range here {
			before := in[key]
			if before == nil {
				continue // a frame of its own
			}
			for tag, n := range tags {
				if e := effectOf(domain, before, tag); e < effects {
					x.ports[i].tags[e] += n
				}
			}
		}
	}
	for key, tags := range in {
		n := frames(tags)
		x.looked += n
		if x.lost >= 0 {
			x.lost += max(0, n-frames(out[key]))
		}
	}
}

// effectOf returns what a switch did to the tag of a frame that had one of the tags before, which
// are counted; effects if the frame has none and had none. 0 stands for no tag.
func effectOf(domain *csig.Domain, before map[uint64]int64, tag uint64) effect {
	_, had := before[tag]
	switch {
	case had && tag == 0:
		return effects
	case had:
		return untouched
	case tag == 0:
		return removed
	case len(before) == 1 && before[0] > 0:
		return added
	}
	now := octets(tag)
	for b := range before {
		if old := octets(b); domain != nil && (domain.Explains(old, now) || domain.Second() != nil && domain.Second().Explains(old, now)) {
			return updated
		}
	}
	return damaged
}

func octets(tag uint64) []byte { return binary.BigEndian.AppendUint64(nil, tag) }

// addForeign adds what foreign switches did to tags.
func addForeign(e *emitter, r *Run) {
	for _, x := range exchanges(r) {
		for _, p := range x.ports {
			for k, n := range p.tags {
				if r.Plan.CSIG != nil {
					e.set(foreignTags, float64(n), effectNames[k], p.name)
				}
			}
		}
		if x.ports != nil && x.lost >= 0 {
			e.set(foreignLost, float64(x.lost), x.name)
		}
	}
}

// foreignNodes says what the neighbours of each foreign node have sent to it and got from it.
func foreignNodes(r *Run, _ *Records) (notes []string) {
	for _, x := range exchanges(r) {
		note := fmt.Sprintf("%s is a foreign node, whose queues are not known: it was sent %d frames, %d of them with a CSIG tag, and sent %d, %d of them with one", x.name, x.to, x.tagged[0], x.from, x.tagged[1])
		if x.looked > 0 {
			note += fmt.Sprintf("; of %d frames to it that were looked at", x.looked)
			switch {
			case x.lost < 0:
				note += " it is not known how many did not come out"
			default:
				note += fmt.Sprintf(" %d did not come out", x.lost)
			}
		}
		for _, p := range x.ports {
			var did []string
			for k, n := range p.tags {
				if n > 0 {
					did = append(did, fmt.Sprintf("%d %s", n, effectNames[k]))
				}
			}
			if len(did) > 0 {
				note += fmt.Sprintf("; tags out of %s: %s", p.name, strings.Join(did, ", "))
			}
		}
		notes = append(notes, note)
	}
	return notes
}

// kernelSwitches says what each switch in the kernel has done.
func kernelSwitches(r *Run, _ *Records) (notes []string) {
	for _, n := range r.Nodes {
		if f := r.Plan.ForeignNode(int(n.Node)); f == nil || !f.Kernel {
			continue
		}
		var sent, marked int64
		for i := range n.Ports {
			sent, marked = sent+n.Ports[i].TxPackets, marked+n.Ports[i].MarkedPackets
		}
		did := ""
		for _, c := range n.Drops {
			if c.Packets > 0 {
				did += fmt.Sprintf(", %d dropped (%s)", c.Packets, c.Name)
			}
		}
		for _, c := range n.Tags {
			if c.Packets > 0 {
				did += fmt.Sprintf(", %d tags %s", c.Packets, c.Name)
			}
		}
		notes = append(notes, fmt.Sprintf("%s forwarded %d frames in the kernel: %d marked%s", n.Name, sent, marked, did))
	}
	return notes
}
