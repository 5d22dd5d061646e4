package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/wildcard"
	"github.com/csiglab/csiglab/nodes/fault"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/failure"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
)

// Fault is a fault of a run, in words and times. What it does is in the configurations
// of the nodes that it touches.
type Fault struct {
	Name  string // unique in the run
	Kind  string // see experiment.FaultKinds
	Where []string
	What  string     // in words, such as "link tor0-agg0 is down"
	From  units.Time // when it begins
	Until units.Time // when it ends; units.Never: with the run
	// Reroute is how long after it begins and ends routing follows;
	// experiment.NoReroute: never.
	Reroute units.Duration
}

// Strands reports whether the run has a fault without end that may leave a flow no way.
func (p *Plan) Strands() bool {
	return slices.ContainsFunc(p.Faults, func(f Fault) bool { return f.Until == units.Never && f.drops() })
}

// FaultsDrop reports whether the run has a fault that drops packets.
func (p *Plan) FaultsDrop() bool {
	return slices.ContainsFunc(p.Faults, func(f Fault) bool { return f.drops() })
}

// drops reports whether the fault drops packets.
func (f *Fault) drops() bool { return f.Kind != experiment.LinkRate && f.Kind != experiment.SlowNIC }

// giveUpTimeouts is for how many retransmission timeouts a flow waits for an answer when
// no fault changes any more. A flow of which one packet in a hundred gets through, and one
// ACK in a hundred, gives up in one of 1e43 tries.
const giveUpTimeouts = 1000

// maxChanges is how many beginnings and ends of faults all nodes of a run have at most.
const maxChanges = 1 << 20

// faults returns the faults of an experiment, with their names, and behind them those that
// a workload's file has: links that are down from the beginning, and that routes avoid, as
// htsim takes them out of its routes (add_failed_link of its fat_tree_topology.cpp).
func faults(e *experiment.Experiment, g *topologies.Graph, failures []workloads.Failure) ([]experiment.Fault, error) {
	all := slices.Clone(e.Faults)
	for i := range all {
		all[i].Name = e.FaultName(i)
	}
	if len(failures) == 0 {
		return all, nil
	}
	upwards := map[string][]string{} // names of links, by the switch at their lower end
	for id, l := range g.Links {
		if l.A.Node >= g.Hosts() {
			name := g.Nodes[l.A.Node].Name
			upwards[name] = append(upwards[name], g.LinkName(id))
		}
	}
	for i, f := range failures {
		links := upwards[fmt.Sprint(f.Tier, f.Switch)]
		if f.Link >= len(links) {
			return nil, failure.At("workload", fmt.Errorf("failure %d of the file: link %d upwards of switch %s%d; it has %d such links", i+1, f.Link, f.Tier, f.Switch, len(links)))
		}
		all = append(all, experiment.Fault{Name: fmt.Sprintf("failure-%d", i), Kind: experiment.LinkDown, Links: links[f.Link], Direction: experiment.FaultDirections[0]})
	}
	return all, nil
}

// faultPlaces finds the links, switches or hosts that each fault names: ids of links of
// the graph, or of nodes.
func faultPlaces(g *topologies.Graph, faults []experiment.Fault) ([][]int, error) {
	if len(faults) == 0 {
		return nil, nil
	}
	links, adjacency := g.LinkNames(), g.Adjacency()
	hosts, switches := nodeNames(g.Nodes[:g.Hosts()]), nodeNames(g.Nodes[g.Hosts():])
	places := make([][]int, len(faults))
	for i := range faults {
		f := &faults[i]
		at := fmt.Sprintf("faults[%d].", i)
		key, names, pattern, first := "links", links, f.Links, 0
		switch {
		case f.Switches != "":
			key, names, pattern, first = "switches", switches, f.Switches, g.Hosts()
		case f.Hosts != "":
			key, names, pattern = "hosts", hosts, f.Hosts
		}
		for id, name := range names {
			if wildcard.Match(pattern, name) {
				places[i] = append(places[i], first+id)
			}
		}
		if len(places[i]) == 0 {
			return nil, failure.At(at+key, unknownPlace(key, pattern, names))
		}
		if f.Random > len(places[i]) {
			return nil, failure.At(at+"random", fmt.Errorf("%d of the %d %s that %q stands for", f.Random, len(places[i]), key, pattern))
		}
		if err := checkRate(g, adjacency, f, places[i]); err != nil {
			return nil, failure.At(at+"rate", err)
		}
	}
	return places, nil
}

func nodeNames(nodes []topologies.Node) []string {
	names := make([]string, len(nodes))
	for i, n := range nodes {
		names[i] = n.Name
	}
	return names
}

// unknownPlace returns the error of a name or a pattern that no link, switch or host has.
func unknownPlace(key, pattern string, names []string) error {
	switch {
	case key == "links":
		return UnknownLink(pattern, names)
	case key == "switches":
		return unknownSwitch(pattern, names)
	}
	return fmt.Errorf("no host is called %q; hosts go from %s to %s", pattern, names[0], names[len(names)-1])
}

// checkRate refuses a rate above that of a link.
func checkRate(g *topologies.Graph, adjacency [][]topologies.Adjacent, f *experiment.Fault, places []int) error {
	for _, id := range places {
		if f.Hosts != "" {
			id = adjacency[id][0].Link
		}
		if f.Switches == "" && f.Rate > g.Links[id].Rate {
			return fmt.Errorf("%v is above the rate of link %s, %v", f.Rate, g.LinkName(id), g.Links[id].Rate)
		}
	}
	return nil
}

// faultPlanner compiles the faults of one plan.
type faultPlanner struct {
	graph     *topologies.Graph
	grants    func(node int) bool // reports whether it is a host that grants credits
	adjacency [][]topologies.Adjacent
	links     []string // names
	changes   [][]fault.Change
	count     int
	rates     map[topologies.End][]rateFault // of ports
	kept      map[int32]bool                 // faults of rates that leave the sizes of ports as they are
	resized   resized
	routing   []routeFault
}

// rateFault is a rate that a port has at most for some time.
type rateFault struct {
	from, until units.Time
	fault       int32
	rate        units.Rate
}

// routeFault is links that routing takes out and puts back.
type routeFault struct {
	from, until units.Time
	links       []int
}

// addFaults draws where faults are, and adds what each node suffers to its
// specification.
func (s *Shape) addFaults(p *Plan, seed uint64) error {
	faults := s.faults
	if len(faults) == 0 {
		return nil
	}
	b := &faultPlanner{
		graph: s.graph, adjacency: s.graph.Adjacency(), links: s.graph.LinkNames(),
		changes: make([][]fault.Change, len(s.graph.Nodes)), rates: map[topologies.End][]rateFault{}, kept: map[int32]bool{},
		resized: resized{shape: s, nodes: map[int][]dataplane.PortSizes{}, known: map[resizedKey]int{}},
		grants:  func(node int) bool { return s.sizing.credits && p.Nodes[node].Host != nil },
	}
	for i := range faults {
		f := &faults[i]
		places := drawn(s.faultPlaces[i], f.Random, seed, i)
		until := units.Never
		if end := f.End(); end != 0 {
			until = units.Time(end)
		}
		info := Fault{Name: f.Name, Kind: f.Kind, From: units.Time(f.At), Until: until, Reroute: f.Reroute}
		b.add(i, f, &info, places)
		info.What = inWords(f, &info, len(s.faultPlaces[i]))
		p.Faults = append(p.Faults, info)
		if b.count > maxChanges {
			return failure.At("faults", fmt.Errorf("they begin and end at more than %d ports; use fewer, or random", maxChanges/2))
		}
	}
	if err := b.addRates(); err != nil {
		return err
	}
	for n, sizes := range b.resized.nodes { // order: each on its own
		p.Nodes[n].Switch.Resized = sizes
	}
	if err := b.addRoutes(s.routes); err != nil {
		return failure.At("faults", err)
	}
	last := units.Time(0)
	for n, changes := range b.changes {
		if len(changes) == 0 {
			continue
		}
		slices.SortStableFunc(changes, func(x, y fault.Change) int { return cmp.Compare(x.At, y.At) })
		last = max(last, changes[len(changes)-1].At)
		p.Nodes[n].Faults = &fault.Config{Node: n, Seed: seed, Changes: changes}
	}
	if p.Strands() {
		for h := range p.Hosts() {
			if c := p.Nodes[h].Host; c != nil {
				c.GiveUp = transport.GiveUp{From: last, Silence: giveUpTimeouts * c.RTO}
			}
		}
	}
	return nil
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
func (b *faultPlanner) add(number int, f *experiment.Fault, info *Fault, places []int) {
	id := int32(number)
	var dead []int
	for _, place := range places {
		switch f.Kind {
		case experiment.LinkDown:
			b.linkDown(id, info, place)
			dead = append(dead, place)
		case experiment.SwitchRestart:
			b.change(place, fault.Change{At: info.From, Kind: fault.Restart, Begin: true, Fault: id})
			for _, a := range b.adjacency[place] {
				b.linkDown(id, info, a.Link)
				dead = append(dead, a.Link)
			}
		case experiment.LinkRate:
			b.rate(id, f, info, place, f.Direction)
		case experiment.SlowNIC:
			b.rate(id, f, info, b.adjacency[place][0].Link, directionUp)
		case experiment.Loss, experiment.Corruption:
			b.loss(id, f, info, place)
		}
		if f.Links != "" {
			info.Where = append(info.Where, b.links[place])
		} else {
			info.Where = append(info.Where, b.graph.Nodes[place].Name)
		}
	}
	if f.Reroute != experiment.NoReroute && len(dead) > 0 {
		until := info.Until
		if until != units.Never {
			until = until.Add(f.Reroute)
		}
		b.routing = append(b.routing, routeFault{info.From.Add(f.Reroute), until, dead})
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
	l := &b.graph.Links[link]
	for _, e := range []topologies.End{l.A, l.B} {
		b.between(e.Node, fault.Change{Kind: fault.Down, Fault: id, Port: e.Port, Delay: l.Delay}, info)
	}
}

const directionUp, directionDown = "up", "down" // of experiment.FaultDirections

// senders returns the ends of a link that send in a direction.
func (b *faultPlanner) senders(link int, direction string) []topologies.End {
	l := &b.graph.Links[link]
	switch direction {
	case directionUp:
		return []topologies.End{l.A}
	case directionDown:
		return []topologies.End{l.B}
	}
	return []topologies.End{l.A, l.B}
}

func (b *faultPlanner) rate(id int32, f *experiment.Fault, info *Fault, link int, direction string) {
	b.kept[id] = f.Kind != experiment.LinkRate || f.Buffers == experiment.BuffersKept
	rate := f.Rate
	if rate == 0 {
		rate = max(1, units.Rate(f.Share*float64(b.graph.Links[link].Rate)))
	}
	for _, e := range b.senders(link, direction) {
		b.rates[e] = append(b.rates[e], rateFault{info.From, info.Until, id, rate})
	}
}

func (b *faultPlanner) loss(id int32, f *experiment.Fault, info *Fault, link int) {
	kind := fault.Loss
	if f.Kind == experiment.Corruption {
		kind = fault.Corruption
	}
	l := &b.graph.Links[link]
	for _, from := range b.senders(link, f.Direction) {
		to := l.A
		if from == l.A {
			to = l.B
		}
		b.between(to.Node, fault.Change{Kind: kind, Fault: id, Port: to.Port, Share: f.Share, Burst: f.Burst}, info)
	}
}

// addRates adds the changes of the ports' rates: of several faults the one that leaves
// least counts, and says whether the sizes of the port follow.
func (b *faultPlanner) addRates() error {
	for n, ports := range b.adjacency {
		for port, a := range ports {
			list := b.rates[topologies.End{Node: n, Port: port}]
			var times []units.Time
			for _, r := range list {
				times = append(times, r.from)
				if r.until != units.Never {
					times = append(times, r.until)
				}
			}
			slices.Sort(times)
			full := b.graph.Links[a.Link].Rate
			before := fault.Change{Rate: full}
			for _, at := range slices.Compact(times) {
				c := fault.Change{At: at, Kind: fault.Rate, Port: port, Rate: full}
				for _, r := range list {
					if r.from <= at && at < r.until && r.rate < c.Rate {
						c.Rate, c.Fault, c.Begin = r.rate, r.fault, true
					}
				}
				if err := b.resize(topologies.End{Node: n, Port: port}, a.Link, &c); err != nil {
					return err
				}
				if c.Rate != before.Rate || c.Sizes != before.Sizes {
					b.change(n, c)
					if err := b.arrival(a, c); err != nil {
						return err
					}
				}
				before = c
			}
		}
	}
	return nil
}

// addRoutes adds the routes that switches get when routing has learnt of a fault.
func (b *faultPlanner) addRoutes(intact []topologies.Routes) error {
	var times []units.Time
	for _, r := range b.routing {
		times = append(times, r.from)
		if r.until != units.Never {
			times = append(times, r.until)
		}
	}
	slices.Sort(times)
	times = slices.Compact(times)
	if size := b.graph.Size(); int64(len(times))*size.Steps() > maxSteps {
		return errors.New("routes would be computed too many times for this fabric; use fewer faults with reroute_delay")
	}
	known := map[string][]topologies.Routes{} // by dead links
	before := intact
	for _, at := range times {
		dead, text := make([]bool, len(b.graph.Links)), make([]byte, len(b.graph.Links))
		for _, r := range b.routing {
			if r.from <= at && at < r.until {
				for _, link := range r.links {
					dead[link], text[link] = true, 1
				}
			}
		}
		routes, ok := known[string(text)]
		if !ok {
			routes = intact
			if slices.Contains(dead, true) {
				routes = topologies.NextHopsWithout(b.graph, dead)
			}
			known[string(text)] = routes
		}
		for n := b.graph.Hosts(); n < len(routes); n++ {
			if !sameRoutes(&before[n], &routes[n], b.graph.Hosts()) {
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

// inWords returns what a fault is, without its times. It is at some of so many places.
func inWords(f *experiment.Fault, info *Fault, places int) string {
	const most = 4
	kind := "link"
	switch {
	case f.Switches != "":
		kind = "switch"
	case f.Hosts != "":
		kind = "the NIC of host"
	}
	what := kind + " " + info.Where[0]
	plural := map[string]string{"link": "links", "switch": "switches", "the NIC of host": "NICs of hosts"}[kind]
	switch n := len(info.Where); {
	case n < places: // others for another seed
		what = fmt.Sprintf("%d of %d %s %s", n, places, plural, f.Links+f.Switches+f.Hosts)
	case n > 1:
		what = fmt.Sprintf("%d %s (%s", n, plural, strings.Join(info.Where[:min(n, most)], ", "))
		if n > most {
			what += ", …"
		}
		what += ")"
	}
	left := f.Rate.String()
	if f.Rate == 0 {
		left = fmt.Sprintf("%g %% of the rate", f.Share*100)
	}
	lost := fmt.Sprintf("%g %% of the packets", f.Share*100)
	if f.Burst > 0 {
		lost += fmt.Sprintf(" in bursts of %g", f.Burst)
	}
	direction := map[string]string{directionUp: " away from the hosts", directionDown: " towards the hosts"}[f.Direction]
	switch f.Kind {
	case experiment.LinkDown:
		return what + " down"
	case experiment.SwitchRestart:
		return what + " restarting"
	case experiment.Loss:
		return what + direction + " losing " + lost
	case experiment.Corruption:
		return what + direction + " corrupting " + lost
	}
	if f.Buffers == experiment.BuffersKept {
		left += ", with the queues of the whole rate"
	}
	return what + direction + " at " + left
}
