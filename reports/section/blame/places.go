package blame

import (
	"cmp"
	"math"
	"slices"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/waits"
)

// blamed is a Blame in the making.
type blamed struct {
	Blame
	piece  *waits.Piece // that waited the longest at Port
	nodes  map[int32]runfolder.Node
	route  *waits.Route      // of piece
	faults map[string]string // name of a fault, by the link or node that it touched
	port   *runfolder.Port
	others []*runfolder.Port
	sole   []*runfolder.Port // behind port, that all paths of the transfer take; in their order
	busyUS map[reading.PortID]float64
	sent   map[string]int64 // bytes to Dst, by source host
}

// ofCollective returns where an instance lost its time; nil if it is not slow.
func ofCollective(j *waits.Job, p *waits.Path) *blamed {
	if len(p.Whole) == 0 {
		return nil
	}
	b := &blamed{Blame: Blame{
		Variant: j.Run.Variant, Seed: j.Run.Seed, Job: j.Info.Name, Step: p.Step, Collective: p.Collective, Group: p.Group,
		FromUS: p.FromUS, ToUS: p.ToUS, FastestUS: j.Fastest[p.Collective], Rank: -1,
	}}
	places := map[place]*waited{}
	wait := func(at place, us float64, s *waits.Piece) {
		of := places[at]
		if of == nil {
			of = &waited{from: math.Inf(1)}
			places[at] = of
		}
		of.us += us
		if s != nil {
			of.from, of.to = min(of.from, s.FromUS), max(of.to, s.ToUS)
		}
		if s != nil && (of.longest == nil || s.WaitUS() > of.longest.WaitUS()) {
			of.longest = s
		}
	}
	late := place{rank: p.LateRank, node: p.LateHost}
	for i := range p.Whole {
		s := &p.Whole[i]
		own := s.Collective == p.Collective
		transfer := s.Kind == waits.KindTransfer || s.Kind == waits.KindLocal
		if own && s.Kind != waits.KindIdle {
			b.UnloadedUS += min(s.US(), s.UnloadedUS)
		}
		switch {
		case transfer && s.WaitUS() > 0:
			wait(placeOf(s), s.WaitUS()*s.HopShare, s)
		case own && s.Kind == waits.KindCompute:
			wait(place{rank: s.Rank, node: s.Host}, s.WaitUS(), nil)
		}
		if !own && s.Kind != waits.KindIdle && p.LateUS > 0 { // before the last rank came
			rest := s.US()
			if transfer {
				rest -= s.WaitUS()
			}
			wait(late, rest, nil)
		}
	}
	b.LostUS = p.US() - b.UnloadedUS
	return b.choose(places)
}

// ofTransfer returns where a transfer lost its time; nil if it is not slow.
func ofTransfer(run reading.RunID, t *waits.Transfer) *blamed {
	p := &t.Whole[0]
	b := &blamed{Blame: Blame{
		Variant: run.Variant, Seed: run.Seed, Transfer: t.Name, FromUS: p.FromUS, ToUS: p.ToUS, Open: t.Open, UnloadedUS: min(p.UnloadedUS, p.US()), Rank: -1,
	}}
	if t.Slowdown >= 1 && !t.Open {
		b.UnloadedUS = p.US() / t.Slowdown
	}
	b.LostUS = p.US() - b.UnloadedUS
	return b.choose(map[place]*waited{placeOf(p): {max(0, b.LostUS) * p.HopShare, p, p.FromUS, p.ToUS}})
}

// place is a place where time is lost: a port, or, without one, a rank, or the NIC of
// a host.
type place struct {
	rank int32
	node string
	port string
}

// placeOf returns where a transfer waited.
func placeOf(p *waits.Piece) place {
	if p.Hop == "" {
		return place{rank: -1, node: p.Host}
	}
	return place{rank: -1, port: p.Hop}
}

// waited is the time that is lost at a place.
type waited struct {
	us       float64
	longest  *waits.Piece
	from, to float64
}

// choose sets the place where the most time was lost: in the network, if its places together cost
// more than ranks do, as there are many ports and few ranks in the way of a message. It returns nil if
// too little was lost.
func (b *blamed) choose(places map[place]*waited) *blamed {
	var byPorts, byRanks []float64
	for p, of := range places {
		if p.rank >= 0 {
			byRanks = append(byRanks, of.us)
		} else {
			byPorts = append(byPorts, of.us)
		}
	}
	late := sum(byRanks) > sum(byPorts)
	var at place
	var most *waited
	for p, of := range places {
		if of.us > 0 && (p.rank >= 0) == late && (most == nil || cmp.Or(cmp.Compare(of.us, most.us), cmp.Compare(at.port, p.port), cmp.Compare(at.rank, p.rank), cmp.Compare(at.node, p.node)) > 0) {
			at, most = p, of
		}
	}
	if most == nil || !(b.LostUS >= leastBlame*b.US()) {
		return nil
	}
	b.Kind, b.Port, b.Node, b.Rank, b.WaitUS, b.Share = NIC, at.port, at.node, at.rank, most.us, most.us/b.US()
	if at.rank >= 0 {
		b.Kind = Rank
		return b
	}
	p := most.longest
	b.piece = p
	b.Flow, b.Src, b.Dst, b.WaitFromUS, b.WaitToUS = p.Flow, p.Host, p.PeerHost, most.from, most.to
	switch {
	case at.port == "":
	case p.Sampled:
		b.By = ByCSIG
	case p.ByLoad:
		b.By = ByLoad
	default:
		b.By = ByQueues
	}
	return b
}

// sum adds values in order, as sums are rounded.
func sum(values []float64) (total float64) {
	for _, v := range slices.Sorted(slices.Values(values)) {
		total += v
	}
	return total
}

// fault returns the name of the fault that touched a port, "" without.
func (b *blamed) fault(p *runfolder.Port) string {
	return cmp.Or(b.faults[p.Link], b.faults[b.nodes[p.Node].Name], b.faults[b.nodes[p.Peer].Name])
}

// at sets the port, what else the transfer could have taken, and what it could not avoid.
func (b *blamed) at(p *runfolder.Port) {
	b.port, b.Port, b.Link, b.Node = p, p.Name, p.Link, b.nodes[p.Node].Name
	b.others, b.sole, b.Fault = nil, nil, b.fault(p)
	switch {
	case b.nodes[p.Node].Kind == runfolder.KindHost:
		b.Kind = NIC
	case b.nodes[p.Peer].Kind == runfolder.KindHost:
		b.Kind = Edge // incast, if others send there too
	default:
		b.Kind = Core
	}
	r := b.route
	if r == nil {
		return
	}
	at := slices.IndexFunc(r.Ports, func(o *runfolder.Port) bool { return o.Node == p.Node && o.Port == p.Port })
	if at < 0 {
		return
	}
	var far []*runfolder.Port
	count, hop := map[int32]int{}, map[*runfolder.Port]int32{}
	for i, o := range r.Ports {
		hop[o] = r.Hops[i]
		count[r.Hops[i]]++
		switch {
		case i == at || o.RateBPS <= 0 || b.fault(o) != "":
		case o.Node == p.Node:
			b.others = append(b.others, o)
		case r.Hops[i] == r.Hops[at]:
			far = append(far, o)
		case r.Hops[i] > r.Hops[at]:
			b.sole = append(b.sole, o)
		}
	}
	if len(b.others) == 0 {
		b.others = far
	}
	b.Other = len(b.others)
	b.sole = slices.DeleteFunc(b.sole, func(o *runfolder.Port) bool { return count[hop[o]] > 1 })
	slices.SortFunc(b.sole, func(x, y *runfolder.Port) int { return cmp.Compare(hop[x], hop[y]) })
}
