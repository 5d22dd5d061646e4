package parts

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/plan/estimate"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Placement is which node of a plan runs in which part, and what that costs.
type Placement struct {
	Of    []int // by node: its part; every part has a node
	Parts []Part
	Links []int // IDs of the graph's links that are cut, ascending
	// Control is how many control links of the plan are cut.
	Control int
	// Lookahead is the smallest delay of a cut link (or control link between parts): a
	// window in which parts advance without each other. 0 if nothing is cut.
	Lookahead units.Duration
	Crossing  float64 // predicted frames on cut links, both directions
	Exchanges float64 // predicted exchanges of bounds in lockstep, of each part
	// Seconds is the predicted wall time in lockstep. It counts nothing for the processors
	// that several machines have more than one.
	Seconds  float64
	Slowdown float64 // Seconds as a multiple of one machine's; 0 if nothing is known of the traffic
}

// Part is one part of a placement.
type Part struct {
	Hosts, Switches int
	Load            float64 // predicted share of the run's work, of 1
}

// Cut cuts a plan into so many parts. The same plan is always cut alike. An error wraps
// failure.ErrConfiguration and says why there can be no such cut: more parts than nodes, or
// links without any lookahead.
func Cut(p *plan.Plan, parts int) (*Placement, error) {
	return newFabric(p).cut(parts)
}

// CutGraph cuts a fabric of which no traffic is known: into parts with about as many nodes,
// with as few links between them as possible. The errors are those of Cut.
func CutGraph(g *topologies.Graph, parts int) (*Placement, error) {
	f := &fabric{graph: g, frames: make([]float64, len(g.Links)), loads: make([]float64, len(g.Nodes))}
	names := g.LinkNames()
	for id, l := range g.Links {
		f.links = append(f.links, plan.Link{A: l.A, B: l.B, Delay: l.Delay, Name: names[id]})
	}
	f.share()
	return f.cut(parts)
}

// fabric is nodes and links with what they are expected to do.
type fabric struct {
	graph  *topologies.Graph
	links  []plan.Link // those of the graph, then the control links
	end    units.Time
	work   estimate.Work
	frames []float64 // by link: both directions
	loads  []float64 // by node, positive; of 1 in all
}

func newFabric(p *plan.Plan) *fabric {
	f := &fabric{graph: p.Graph, links: p.Links, end: p.End, frames: make([]float64, len(p.Links)), loads: make([]float64, len(p.Nodes))}
	var directed []float64
	f.work, directed = estimate.Frames(p, nil)
	for id := range p.Graph.Links {
		f.frames[id] = directed[2*id] + directed[2*id+1]
	}
	f.addPrograms(p)
	f.addMessages(p)
	f.share()
	return f
}

// cut cuts the fabric into so many parts.
func (f *fabric) cut(parts int) (*Placement, error) {
	refuse := func(err error) (*Placement, error) {
		return nil, failure.Configuration(fmt.Errorf("cut the fabric into %d parts: %w", parts, err))
	}
	switch nodes := len(f.loads); {
	case parts < 1:
		return refuse(errors.New("want at least 1"))
	case parts > nodes:
		return refuse(fmt.Errorf("it has %d nodes, and each part needs one", nodes))
	}
	pieces, err := f.pieces(parts)
	if err != nil {
		return refuse(err)
	}
	placed := &Placement{Of: f.place(pieces, parts), Parts: make([]Part, parts)}
	placed.describe(f)
	return placed, nil
}

// mostPairs bounds the pairs of programs whose paths are walked.
const mostPairs = 1 << 16

// addPrograms adds the frames between hosts with programs. Nobody knows how many there will
// be: each pair of hosts has as many as any other, one.
func (f *fabric) addPrograms(p *plan.Plan) {
	pairs := slices.DeleteFunc(slices.Clone(p.Pairs), func(pair metrics.Pair) bool {
		return !p.HasPrograms(int(pair.Source)) || !p.HasPrograms(int(pair.Destination))
	})
	if len(pairs) == 0 {
		return
	}
	paths, stride := topologies.NewPaths(p.Graph), len(pairs)/mostPairs+1
	var links []int
	for i := 0; i < len(pairs); i += stride {
		links = paths.AppendLinks(links[:0], int(pairs[i].Source), int(pairs[i].Destination))
		for _, id := range links {
			f.frames[id]++
		}
	}
}

// addMessages adds the messages on control links: a hit of a trigger at another host is one.
func (f *fabric) addMessages(p *plan.Plan) {
	messages := map[topologies.End]float64{}
	for node := range p.Nodes[:p.Hosts()] {
		if h := p.Nodes[node].Host; h != nil {
			for _, hit := range h.Player.Hits {
				messages[topologies.End{Node: node, Port: hit.Port}]++
			}
		}
	}
	first := len(p.Graph.Links)
	for id, l := range p.Control() {
		f.frames[first+id] += messages[l.A] + messages[l.B]
	}
}

// idle is the load of a node that does nothing, as a share of the mean of all nodes: it has
// a process and memory.
const idle = 0.1

// share makes loads of the frames.
func (f *fabric) share() {
	var sum float64
	for id, l := range f.links { // a frame is work for its sender and for its receiver
		f.loads[l.A.Node] += f.frames[id] / 2
		f.loads[l.B.Node] += f.frames[id] / 2
		sum += f.frames[id]
	}
	least := idle * cmp.Or(sum, 1) / float64(len(f.loads))
	sum = 0
	for i := range f.loads {
		f.loads[i] += least
		sum += f.loads[i]
	}
	for i := range f.loads {
		f.loads[i] /= sum
	}
}

// describe fills in what follows from Of.
func (pl *Placement) describe(f *fabric) {
	hosts := f.graph.Hosts()
	for node, part := range pl.Of {
		pl.Parts[part].Load += f.loads[node]
		if node < hosts {
			pl.Parts[part].Hosts++
		} else {
			pl.Parts[part].Switches++
		}
	}
	for id, l := range f.links {
		if pl.Of[l.A.Node] == pl.Of[l.B.Node] {
			continue
		}
		if id < len(f.graph.Links) {
			pl.Links = append(pl.Links, id)
		} else {
			pl.Control++
		}
		pl.Crossing += f.frames[id]
		if pl.Lookahead == 0 || l.Delay < pl.Lookahead {
			pl.Lookahead = l.Delay
		}
	}
	pl.predict(f)
}

// busyWindows is the share of windows of a cut's lookahead in which there is an exchange in
// lockstep: in the others no node can do anything.
const busyWindows = 0.85

// predict predicts the exchanges of a cut and what they cost.
func (pl *Placement) predict(f *fabric) {
	model := f.work.ModelTime
	if f.end != units.Never {
		model = min(model, units.Duration(f.end))
	}
	costs := &estimate.Reference
	alone := costs.Lockstep(float64(f.work.PacketHops)).Seconds()
	pl.Seconds = alone
	if pl.Lookahead > 0 {
		pl.Exchanges = busyWindows * float64(model) / float64(pl.Lookahead)
		pl.Seconds += (costs.Exchanges(pl.Exchanges) + costs.Lockstep(pl.Crossing)).Seconds()
	}
	if alone > 0 {
		pl.Slowdown = pl.Seconds / alone
	}
}
