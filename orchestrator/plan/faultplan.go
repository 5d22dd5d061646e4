package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/nodes/fault"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// giveUpTimeouts is for how many retransmission timeouts a flow waits for an answer when
// no fault changes any more. A flow of which one packet in a hundred gets through, and one
// ACK in a hundred, gives up in one of 1e43 tries.
const giveUpTimeouts = 1000

// maxChanges is how many beginnings and ends of faults all nodes of a run have at most.
const maxChanges = 1 << 20

const directionUp, directionDown = "up", "down" // of experiment.FaultDirections

// faultPlan is the faults of a run, and what each node suffers.
type faultPlan struct {
	list    []Fault
	nodes   []*fault.Config               // by node; nil without faults
	resized map[int][]dataplane.PortSizes // by switch
	last    units.Time                    // of all changes
}

// giveUp returns when a flow gives up whose retransmission timeout is given.
func (f *faultPlan) giveUp(rto units.Duration) transport.GiveUp {
	if !slices.ContainsFunc(f.list, Fault.strands) {
		return transport.GiveUp{}
	}
	return transport.GiveUp{From: f.last, Silence: giveUpTimeouts * rto}
}

// newFaultPlan draws where faults are, and compiles them into what each node suffers.
func newFaultPlan(r *run, k kinds) (plan faultPlan, err error) {
	plan.nodes = make([]*fault.Config, len(r.fabric.graph.Nodes))
	if len(r.faults) == 0 {
		return plan, nil
	}
	b := &faultPlanner{
		run: r, kinds: k, links: r.fabric.graph.LinkNames(),
		changes: make([][]fault.Change, len(plan.nodes)), rates: map[topologies.End][]rateFault{}, kept: map[int32]bool{},
		resized: map[int][]dataplane.PortSizes{}, sizes: map[portRate]int{},
	}
	for i := range r.faults {
		f := &r.faults[i]
		info := Fault{Name: f.Name, Kind: f.Kind, From: units.Time(f.At), Until: f.until(), Reroute: f.Reroute}
		b.add(int32(i), f, &info, drawn(f.places, f.Random, r.seed, i))
		info.What = inWords(f, &info)
		plan.list = append(plan.list, info)
		if b.count > maxChanges {
			return plan, failure.At("faults", fmt.Errorf("they begin and end at more than %d ports; use fewer, or random", maxChanges/2))
		}
	}
	if err := b.addRates(); err != nil {
		return plan, err
	}
	plan.resized = b.resized
	if err := b.addRoutes(); err != nil {
		return plan, failure.At("faults", err)
	}
	for n, changes := range b.changes {
		if len(changes) == 0 {
			continue
		}
		slices.SortStableFunc(changes, func(x, y fault.Change) int { return cmp.Compare(x.At, y.At) })
		plan.last = max(plan.last, changes[len(changes)-1].At)
		plan.nodes[n] = &fault.Config{Node: n, Seed: r.seed, Changes: changes}
	}
	return plan, nil
}

// until returns when a fault ends.
func (f *placedFault) until() units.Time {
	if end := f.End(); end != 0 {
		return units.Time(end)
	}
	return units.Never
}

// faultPlanner compiles the faults of one plan.
type faultPlanner struct {
	*run
	kinds
	links   []string // names
	changes [][]fault.Change
	count   int
	rates   map[topologies.End][]rateFault // of ports
	kept    map[int32]bool                 // faults of rates that leave the sizes of ports as they are
	routing []routeFault
	resized map[int][]dataplane.PortSizes // of ports with less than the rate of their links, by switch
	sizes   map[portRate]int              // the place in resized, from 1
}

// portRate is a port with less than the rate of its link.
type portRate struct {
	port topologies.End
	rate units.Rate
}

// period is when something holds: from its beginning to before its end.
type period struct{ from, until units.Time }

func (p period) has(at units.Time) bool { return p.from <= at && at < p.until }

// rateFault is a rate that a port has at most for some time.
type rateFault struct {
	period
	fault int32
	rate  units.Rate
}

// routeFault is links that routing takes out and puts back.
type routeFault struct {
	period
	links []int
}

// bounds returns when periods begin and end, ascending.
func bounds[T any](list []T, of func(T) period) (times []units.Time) {
	for _, t := range list {
		times = append(times, of(t).from)
		if until := of(t).until; until != units.Never {
			times = append(times, until)
		}
	}
	slices.Sort(times)
	return slices.Compact(times)
}

// drawn returns count of the places, ascending, drawn by seed; all of them for 0.
func drawn(places []int, count int, seed uint64, number int) []int {
	if count == 0 {
		return places
	}
	places = slices.Clone(places)
	random := node.Random(seed, node.NoNode, node.RandomFault, number)
	random.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
	places = places[:count]
	slices.Sort(places)
	return places
}

// add adds a fault at some places.
func (b *faultPlanner) add(id int32, f *placedFault, info *Fault, places []int) {
	var dead []int
	for _, place := range places {
		switch f.Kind {
		case experiment.LinkDown:
			b.linkDown(id, info, place)
			dead = append(dead, place)
		case experiment.SwitchRestart:
			b.change(place, fault.Change{At: info.From, Kind: fault.Restart, Begin: true, Fault: id})
			for _, a := range b.fabric.adjacency[place] {
				b.linkDown(id, info, a.Link)
				dead = append(dead, a.Link)
			}
		case experiment.LinkRate:
			b.rate(id, f, place, f.Direction)
		case experiment.SlowNIC:
			b.rate(id, f, b.fabric.adjacency[place][0].Link, directionUp)
		case experiment.Loss, experiment.Corruption:
			b.loss(id, f, info, place)
		}
		if f.Links != "" {
			info.Where = append(info.Where, b.links[place])
		} else {
			info.Where = append(info.Where, b.fabric.graph.Nodes[place].Name)
		}
	}
	if f.Reroute != experiment.NoReroute && len(dead) > 0 {
		until := info.Until
		if until != units.Never {
			until = until.Add(f.Reroute)
		}
		b.routing = append(b.routing, routeFault{period{info.From.Add(f.Reroute), until}, dead})
	}
}

func (b *faultPlanner) change(n int, c fault.Change) {
	b.changes[n] = append(b.changes[n], c)
	b.count++
}

// between adds the beginning of a fault, and its end if it has one.
func (b *faultPlanner) between(n int, c fault.Change, info *Fault) {
	c.At, c.Begin = info.From, true
	b.change(n, c)
	if info.Until != units.Never {
		b.change(n, fault.Change{At: info.Until, Kind: c.Kind, Fault: c.Fault, Port: c.Port, Delay: c.Delay})
	}
}

func (b *faultPlanner) linkDown(id int32, info *Fault, link int) {
	l := &b.fabric.graph.Links[link]
	for _, e := range []topologies.End{l.A, l.B} {
		b.between(e.Node, fault.Change{Kind: fault.Down, Fault: id, Port: e.Port, Delay: l.Delay}, info)
	}
}

// senders returns the ends of a link that send in a direction.
func (b *faultPlanner) senders(link int, direction string) []topologies.End {
	l := &b.fabric.graph.Links[link]
	switch direction {
	case directionUp:
		return []topologies.End{l.A}
	case directionDown:
		return []topologies.End{l.B}
	}
	return []topologies.End{l.A, l.B}
}

func (b *faultPlanner) rate(id int32, f *placedFault, link int, direction string) {
	b.kept[id] = f.Kind != experiment.LinkRate || f.Buffers == experiment.BuffersKept
	rate := f.Rate
	if rate == 0 {
		rate = max(1, units.Rate(f.Share*float64(b.fabric.graph.Links[link].Rate)))
	}
	for _, e := range b.senders(link, direction) {
		b.rates[e] = append(b.rates[e], rateFault{period{units.Time(f.At), f.until()}, id, rate})
	}
}

func (b *faultPlanner) loss(id int32, f *placedFault, info *Fault, link int) {
	kind := fault.Loss
	if f.Kind == experiment.Corruption {
		kind = fault.Corruption
	}
	l := &b.fabric.graph.Links[link]
	for _, from := range b.senders(link, f.Direction) {
		to := otherEnd(l, from)
		b.between(to.Node, fault.Change{Kind: kind, Fault: id, Port: to.Port, Share: f.Share, Burst: f.Burst}, info)
	}
}

// addRates adds the changes of the ports' rates: of several faults the one that leaves
// least counts, and says whether the sizes of the port follow.
func (b *faultPlanner) addRates() error {
	for n, ports := range b.fabric.adjacency {
		for port, a := range ports {
			list := b.rates[topologies.End{Node: n, Port: port}]
			link := &b.fabric.graph.Links[a.Link]
			before := fault.Change{Rate: link.Rate}
			for _, at := range bounds(list, func(r rateFault) period { return r.period }) {
				c := fault.Change{At: at, Kind: fault.Rate, Port: port, Rate: link.Rate}
				for _, r := range list {
					if r.has(at) && r.rate < c.Rate {
						c.Rate, c.Fault, c.Begin = r.rate, r.fault, true
					}
				}
				if err := b.resize(topologies.End{Node: n, Port: port}, link, &c); err != nil {
					return err
				}
				if c.Rate != before.Rate || c.Sizes != before.Sizes {
					b.change(n, c)
					if err := b.arrival(a.Peer, link, c); err != nil {
						return err
					}
				}
				before = c
			}
		}
	}
	return nil
}

// resize has a switch port follow the rate of a change, if its fault says so: the port that
// sends, or that of a peer with lossless classes.
func (b *faultPlanner) resize(at topologies.End, l *topologies.Link, c *fault.Change) error {
	if b.kept[c.Fault] && c.Begin || c.Rate == l.Rate || at.Node < b.hosts {
		return nil
	}
	key := portRate{at, c.Rate}
	if b.sizes[key] == 0 {
		p := b.buffers.sizes(l, c.Rate, otherEnd(l, at).Node < b.hosts)
		if err := b.buffers.check(c.Rate, &p); err != nil {
			return failure.At(fmt.Sprintf("faults[%d].buffers", c.Fault), err)
		}
		b.resized[at.Node] = append(b.resized[at.Node], p)
		b.sizes[key] = len(b.resized[at.Node])
	}
	c.Sizes = b.sizes[key]
	return nil
}

// otherEnd returns the end of a link that is not the given one.
func otherEnd(l *topologies.Link, end topologies.End) topologies.End {
	if end == l.A {
		return l.B
	}
	return l.A
}

// arrival has the peer of a port know of the port's rate, if something there follows from
// it: the residence in a switch and the thresholds of its flow control, and the credits of
// a host.
func (b *faultPlanner) arrival(peer topologies.End, l *topologies.Link, c fault.Change) error {
	scaled := c.Sizes != 0
	c.Kind, c.At, c.Port, c.Sizes = fault.Arrival, c.At.Add(l.Delay), peer.Port, 0
	switch {
	case peer.Node < b.hosts && !(b.buffers.credits && b.transport(peer.Node)):
		return nil
	case scaled && b.buffers.data.lossless():
		if err := b.resize(peer, l, &c); err != nil {
			return err
		}
	}
	b.change(peer.Node, c)
	return nil
}

// addRoutes adds the routes that switches get when routing has learnt of a fault.
func (b *faultPlanner) addRoutes() error {
	intact := b.fabric.routes
	times := bounds(b.routing, func(r routeFault) period { return r.period })
	if size := b.fabric.graph.Size(); int64(len(times))*size.Steps() > topologies.Checked.Steps {
		return errors.New("routes would be computed too many times for this fabric; use fewer faults with reroute_delay")
	}
	known := map[string][]topologies.Routes{} // by dead links
	before := intact
	for _, at := range times {
		dead, text := make([]bool, len(b.fabric.graph.Links)), make([]byte, len(b.fabric.graph.Links))
		for _, r := range b.routing {
			if r.has(at) {
				for _, link := range r.links {
					dead[link], text[link] = true, 1
				}
			}
		}
		routes, ok := known[string(text)]
		if !ok {
			routes = intact
			if slices.Contains(dead, true) {
				routes = topologies.NextHopsWithout(b.fabric.graph, dead)
			}
			known[string(text)] = routes
		}
		for n := b.fabric.graph.Hosts(); n < len(routes); n++ {
			if !sameRoutes(&before[n], &routes[n], b.fabric.graph.Hosts()) {
				b.change(n, fault.Change{At: at, Kind: fault.Routes, Routes: routes[n]})
			}
		}
		before = routes
	}
	return nil
}

// sameRoutes reports whether two tables lead to every host and every pod alike.
func sameRoutes(a, b *topologies.Routes, hosts int) bool {
	for h := range hosts {
		if !slices.Equal(a.To(h), b.To(h)) {
			return false
		}
	}
	for pod := range a.Pods {
		if !slices.Equal(a.Ports(a.ToPod(pod)), b.Ports(b.ToPod(pod))) {
			return false
		}
	}
	return true
}
