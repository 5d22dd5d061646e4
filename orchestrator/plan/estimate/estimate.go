// Package estimate estimates what a run will do (packets, rows, model time) from its plan alone,
// and what that costs in CPU time and memory by a table of measured costs. It measures nothing,
// and it does not know how many runs there are or where.
//
//	plan ─▶ Work: packets, rows, ports ─▶ Reference: costs of each ─▶ CPU time, memory
package estimate

import (
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Work is what a run is expected to do. It is the same on every machine.
type Work struct {
	PacketHops  int64          // transmissions on a link: data, ACKs, NACKs and what is sent again
	DataPackets int64          // sent, those that are sent again included
	ModelTime   units.Duration // fluid bound: what the most loaded link needs for its bytes
	Rows        int64          // of the tables of windows and events
	InFlight    int64          // packets at the same time
	Operations  int64          // of jobs
	Live        int64          // of these at the same time
	HopValues   int64          // of telemetry.truth, kept until the end
	// BusyPorts is the number of ports that a packet is spread over: the exponential of
	// the entropy of the port that sends it. It is Ports if all send the same, and smaller
	// where few links carry most of the packets.
	BusyPorts float64

	Hosts, Nodes, Ports, Flows int
	Tagged                     bool // packets have CSIG tags
}

// Of returns the work of a plan. paths are those of its graph; nil: they are found anew.
func Of(p *plan.Plan, paths *topologies.Paths) Work {
	w, _ := Frames(p, paths)
	return w
}

// Frames returns the work of a plan, and how many frames the run is expected to send in
// each direction of each link of the fabric: 2*id from end A of link id to end B, 2*id+1
// back. Frames of programs are not known, and are not in either.
func Frames(p *plan.Plan, paths *topologies.Paths) (Work, []float64) {
	if paths == nil {
		paths = topologies.NewPaths(p.Graph)
	}
	t := newTraffic(p, paths)
	for i := range p.Flows[:p.Transfers] {
		t.offer(&p.Flows[i])
	}
	t.spread.run()
	for i := range p.Flows[:p.Transfers] {
		t.transfer(&p.Flows[i])
	}
	for _, s := range p.Streams() {
		t.stream(s)
	}
	for i := range p.Jobs {
		t.job(&p.Jobs[i], &p.Loads[i])
	}
	return t.sum(), t.packets
}
