// Package plan turns an experiment and a seed into a Plan: the specifications of all
// nodes, the links between them, and what the run measures and captures. It makes
// every decision before a run; it runs nothing. A Plan is plain data: it can be sent
// to another process or machine.
//
// A plan is made by stages, which compile.go lists in their order: each is a function that
// takes values of stages before it, and returns one. Variants.NewShape has those that do not
// depend on the seed, Shape.Plan the others.
package plan

import (
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/capture"
	"github.com/csiglab/csiglab/nodes/class"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/fluid"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/machine"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Plan is one variant with one seed, compiled. Nothing is decided later.
type Plan struct {
	Network
	Traffic
	Applications
	Recording
	Tags
	// Notes are remarks for the user on how the inputs were read, such as a value
	// that is not used, and on what in the configuration may mislead.
	Notes []string
}

// Network is what runs, and for how long.
type Network struct {
	Graph *topologies.Graph
	Nodes []machine.Spec // as Graph.Nodes: the hosts, then the switches
	Links []Link         // as Graph.Links; then the control links
	// Foreign are the nodes that are none of csiglab's, ascending. What Nodes has in their places
	// does not run.
	Foreign []Foreign

	// Fluid carries the messages of flows, all or those that are not packets. It is a machine behind
	// those of Nodes, to which control links lead; nil: all are packets.
	Fluid *fluid.Config

	Path    congestion.Path // of the first host
	Format  wire.Format
	Classes []class.Class // of data; nil: one, which may lose packets
	Faults  []Fault       // in the order of the experiment
	TieSeed uint64
	End     units.Time // exclusive; units.Never: until all is done
}

// Traffic is what hosts send.
type Traffic struct {
	Flows     []metrics.FlowInfo // by flow id: the workload's transfers, then the flows of Pairs
	Transfers int                // how many of Flows are transfers
	Calls     []Call             // RPCs among the transfers
	Pairs     []metrics.Pair     // the flows of raw frames: between hosts with programs, and from generators
	Groups    []Group            // of Flows: all transfers, each job's, then those of the experiment
	Jobs      []metrics.JobInfo  // training jobs, by their number in records; nil: none
	Loads     []JobLoad          // of Jobs
	// StartUnit is the unit in which start times of a workload file were read, such as
	// us; "" without a file.
	StartUnit string
}

// Tags is what the tags of a fabric mean.
type Tags struct {
	CSIG     *csig.Config  // nil without CSIG
	Locators *LocatorTable // nil without CSIG
	Second   *LocatorTable // of tags of CSIG.Second; nil without
}

// Link joins ports of two nodes. A control link joins control ports of two hosts
// between which dependencies of the workload run: it is no link of the fabric, and
// its messages take Delay and nothing else.
type Link struct {
	A, B  topologies.End
	Delay units.Duration
	Name  string
}

// Call is the flows of an RPC.
type Call struct{ Request, Response int32 }

// Machines returns how many machines run: Nodes, and Fluid.
func (p *Plan) Machines() int {
	if p.Fluid != nil {
		return len(p.Nodes) + 1
	}
	return len(p.Nodes)
}

// NoPackets reports whether nothing is packets.
func (p *Plan) NoPackets() bool {
	return p.Fluid != nil && !slices.ContainsFunc(p.Fluid.Flows, func(f fluid.Flow) bool { return f.Packets > 0 })
}

// Control returns the control links.
func (p *Plan) Control() []Link { return p.Links[len(p.Graph.Links):] }

// Hosts returns how many of Nodes are hosts; they come first.
func (p *Plan) Hosts() int { return p.Graph.Hosts() }

// Switch returns the configuration of a switch's node, nil for a host's.
func (p *Plan) Switch(node int) *dataplane.Config { return p.Nodes[node].Switch }

// switches yields the configurations of the switches that are csiglab's.
func (p *Plan) switches(yield func(*dataplane.Config) bool) {
	for i := range p.Nodes {
		if s := p.Nodes[i].Switch; s != nil && p.ForeignNode(i) == nil && !yield(s) {
			return
		}
	}
}

// switchPorts yields the ports of the switches.
func (p *Plan) switchPorts(yield func(topologies.End, *dataplane.Port) bool) {
	for s := range p.switches {
		for i := range s.Ports {
			if !yield(topologies.End{Node: s.Node, Port: i}, &s.Ports[i]) {
				return
			}
		}
	}
}

// AQM returns the name of the policy of the switches' ports, "" without switches.
func (p *Plan) AQM() string {
	for s := range p.switches {
		return s.AQM.Name // all have the same
	}
	return ""
}

// Bytes returns the payload bytes of all transfers.
func (p *Plan) Bytes() (sum units.Size) {
	for _, f := range p.Flows[:p.Transfers] {
		sum += f.Size
	}
	return sum
}

// Completing returns how many of the transfers are complete at some time: those that are no
// connections of jobs, which come last.
func (p *Plan) Completing() int {
	n := p.Transfers
	for n > 0 && p.Flows[n-1].Messages > 0 {
		n--
	}
	return n
}

// ApplicationHosts returns the hosts that run programs, ascending.
func (p *Plan) ApplicationHosts() []int {
	var hosts []int
	for i := range p.Nodes {
		if p.HasPrograms(i) {
			hosts = append(hosts, i)
		}
	}
	return hosts
}

// HasPrograms reports whether a node is a host that runs programs.
func (p *Plan) HasPrograms(node int) bool { return p.Nodes[node].Edge() != nil }

// MaxPayload returns the longest payload of a packet, or what is behind the header of
// Ethernet in a raw frame.
func (p *Plan) MaxPayload() units.Size {
	longest := max(p.Path.MTU-p.Path.Header, p.ApplicationMTU)
	for _, s := range p.Streams() {
		longest = max(longest, s.Size)
	}
	return longest
}

// Domain returns the CSIG domain of the run, nil without CSIG.
func (p *Plan) Domain() *csig.Domain {
	if p.CSIG == nil {
		return nil
	}
	return checked(csig.NewDomain(*p.CSIG))
}

// Capture returns the configuration for reading the captured packets of the run.
func (p *Plan) Capture() capture.Config {
	c := capture.Config{Ports: p.Captured, Format: p.Format, Domain: p.Domain()}
	if c.Domain == nil {
		return c
	}
	w := newWiring(p.Graph)
	meaning := func(d *csig.Domain) func(uint16) string {
		return capture.Meaning(p.Graph, checked(d.Locators().Assign(places(&w))))
	}
	c.Meaning = meaning(c.Domain)
	if second := c.Domain.Second(); second != nil {
		c.SecondMeaning = meaning(second)
	}
	return c
}

// SmallestDelay returns the smallest delay that matters: that of a link, or the
// time of a full packet on the fastest one, line overhead included.
func (p *Plan) SmallestDelay() units.Duration {
	shortest := p.Links[0].Delay
	for _, l := range p.Links {
		shortest = min(shortest, l.Delay)
	}
	for _, l := range p.Graph.Links {
		shortest = min(shortest, l.Rate.Serialisation(p.Path.MTU+p.Format.Overhead))
	}
	return shortest
}

// LastStart returns when the last program starts, 0 without programs.
func (p *Plan) LastStart() (last units.Time) {
	for _, program := range p.Programs {
		last = max(last, program.Start)
	}
	return last
}

// PortNames returns what each locator stands for: the name of its port, such as
// tor0-agg0 (see PortName), or locator-9 for a locator that several ports share. Locator
// 0 is "none": no hop has written the tag.
func (p *Plan) PortNames() map[uint32]string {
	names := map[uint32]string{0: "none"}
	if p.Second != nil {
		names[metrics.SecondFormat] = "none"
	}
	for _, t := range p.LocatorTables() {
		for i := range t.Locators {
			l := &t.Locators[i]
			names[l.Locator] = l.Ports[0]
			if l.Shared() {
				names[l.Locator] = fmt.Sprintf("locator-%d", l.Locator)
			}
		}
	}
	return names
}

// LocatorTables returns the locators of each format of tags.
func (p *Plan) LocatorTables() (tables []*LocatorTable) {
	for _, t := range []*LocatorTable{p.Locators, p.Second} {
		if t != nil {
			tables = append(tables, t)
		}
	}
	return tables
}

// controlName names a control link.
func controlName(g *topologies.Graph, a, b topologies.End) string {
	return fmt.Sprintf("%s~%s", g.Nodes[a.Node].Name, g.Nodes[b.Node].Name)
}

// graphLinks returns the links of the graph.
func graphLinks(g *topologies.Graph) []Link {
	links := make([]Link, len(g.Links))
	names := g.LinkNames()
	for id, l := range g.Links {
		links[id] = Link{A: l.A, B: l.B, Delay: l.Delay, Name: names[id]}
	}
	return slices.Clip(links)
}
