package predict

import (
	"math"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/host/balance"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
)

// Estimate is what a run is expected to do. It follows from the plan alone and is the same
// on every machine. Times and memory follow from it with Costs.
type Estimate struct {
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

// Shares that hold where nothing is congested and where something is (measured with the
// embedded experiments and permutations of 16 to 1024 hosts, 2026-11-22).
const (
	acksMore      = 0.09 // ACKs per data packet beyond those by hosts.ack_every, at the ends of windows
	acksCongested = 0.85 // ACKs per data packet: a marked packet is acknowledged at once
	congested     = 1.3  // load of a link, in units of that of the senders' links, from which on packets are marked
	collisions    = 3    // load of the fullest of several links over the mean, if each flow takes one of them
	inFlightBDPs  = 1.1  // packets of a sender that nothing holds back, in BDPs; it may have 1.5 (hosts.cc.cwnd)
	windowBDPs    = 1.5  // first window
	utilisation   = 0.85 // of the fullest link, of a run that is cut off
	mostAgain     = 3.0  // bounds the estimate of packets that are sent again, per data packet
	mixedSignals  = 0.5  // share of the parallel paths that the samples of a window name
)

// Run returns the estimate of a plan.
func Run(p *plan.Plan) Estimate { return estimate(p, topologies.NewPaths(p.Graph)) }

func estimate(p *plan.Plan, paths *topologies.Paths) Estimate {
	return newTraffic(p, paths).estimated()
}

// estimated adds what all flows of the plan do, and returns the estimate.
func (t *traffic) estimated() Estimate {
	p := t.plan
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
	return t.sum()
}

// traffic collects what the flows of a plan do to the links of its fabric.
type traffic struct {
	plan      *plan.Plan
	paths     *topologies.Paths
	adjacency [][]topologies.Adjacent
	spread    *spread
	roots     []int     // by host: transfers that wait for no other one
	packets   []float64 // by link and direction
	single    []bool    // by host: each of its flows keeps to one path
	bdp       float64   // packets on the longest path
	queue     float64   // packets that the data queue of a port holds
	interval  float64   // s of a telemetry window

	estimate   Estimate
	hops, data float64
	switches   float64 // that data packets of transfers cross
	rows       float64
	inFlight   []float64 // by source: packets at the same time
	towards    []float64 // by destination
	length     float64   // s
	links      []int     // of a path, for use again
	flowsFrom  []int     // by host
}

func newTraffic(p *plan.Plan, paths *topologies.Paths) *traffic {
	t := &traffic{
		plan: p, paths: paths, adjacency: p.Graph.Adjacency(), interval: p.Interval.Seconds(),
		packets: make([]float64, 2*len(p.Graph.Links)),
		roots:   make([]int, p.Hosts()), inFlight: make([]float64, p.Hosts()), towards: make([]float64, p.Hosts()), flowsFrom: make([]int, p.Hosts()), single: make([]bool, p.Hosts()),
	}
	t.spread = newSpread(p, t.adjacency)
	t.bdp = max(1, float64(p.Path.LinkRate.Volume(p.Path.NetworkRTT))/float64(max(1, p.Path.MTU)))
	t.queue = t.bdp
	for n := p.Hosts(); n < len(p.Nodes); n++ {
		if s := p.Switch(n); s != nil && len(s.Ports) > 0 {
			t.queue = float64(max(s.Ports[0].Buffer.Data, p.Path.MTU)) / float64(max(1, p.Path.MTU))
			break
		}
	}
	e := &t.estimate
	e.Hosts, e.Nodes, e.Flows, e.Tagged = p.Hosts(), len(p.Nodes), len(p.Flows), p.CSIG != nil
	for i := range p.Nodes {
		e.Ports += p.Nodes[i].Ports()
		h := p.Nodes[i].Host
		if h == nil {
			continue
		}
		lb, _ := balance.Table.Lookup(h.LB.Name)
		t.single[i] = lb.OnePath
		for _, start := range h.Player.Starts {
			if start.After == workloads.None {
				t.roots[i]++
			}
		}
	}
	return t
}

// job adds what playing a job takes, beside its messages.
func (t *traffic) job(info *metrics.JobInfo, load *plan.JobLoad) {
	t.estimate.Operations += load.Operations
	t.estimate.Live += load.Live
	steps := 0
	if info.Kept.First > 0 {
		steps = min(info.Steps, info.Kept.First+1)
	}
	done := 1.0
	length := (units.Duration(info.Start) + load.Length).Seconds()
	if p := t.plan; p.End != units.Never {
		done = min(1, units.Duration(p.End).Seconds()/max(length, 1e-12))
	}
	t.rows += float64(info.Records) * float64(steps) * done
	t.length = max(t.length, length)
}

// bytes returns what a flow takes on the line, headers not counted.
func (t *traffic) bytes(f *metrics.FlowInfo) float64 {
	return float64(f.Size + units.Size(f.Packets)*t.plan.Format.Overhead)
}

// offer adds the bytes of a transfer to its links.
func (t *traffic) offer(f *metrics.FlowInfo) {
	t.flowsFrom[f.Src]++
	t.spread.offer(int(f.Src), int(f.Dst), t.bytes(f))
}

// transfer adds what a transfer does, once the load of each link is known.
func (t *traffic) transfer(f *metrics.FlowInfo) {
	p := t.plan
	up, down := t.spread.load(t.adjacency[f.Src][0], int(f.Src)), t.spread.load(t.adjacency[f.Dst][0], -1)
	longest, ways := max(up, down), 1
	t.links = t.paths.AppendLinks(t.links[:0], int(f.Src), int(f.Dst))
	links := t.links
	if inner := t.spread.inner(int(f.Src), links); inner > 0 {
		ways = t.spread.ways(int(f.Src), int(f.Dst))
		if t.single[f.Src] && ways > 1 {
			inner *= min(collisions, float64(ways))
		}
		longest = max(longest, inner)
	}
	contention := longest / up
	t.length = max(t.length, longest)
	done := 1.0 // share that is sent before the end
	if p.End != units.Never {
		done = min(1, utilisation*units.Duration(p.End).Seconds()/max(longest, 1e-12))
	}

	count := float64(f.Packets)
	again := t.again(contention, count)
	acks := t.acks(int(f.Src))
	if contention > congested {
		acks = max(acks, acksCongested)
	}
	sent := count * done
	transmitted := sent * (1 + again)
	t.data += transmitted
	t.switches += transmitted * float64(len(links)-1)
	// A trimmed packet goes on to the receiver, and its NACK comes back.
	crossings := sent * (1 + acks + 2*again)
	t.hops += crossings*float64(len(links)) + transmitted*t.spread.detour*float64(len(links)-2)
	t.cross(int(f.Src), links, crossings)

	t.inFlight[f.Src] += min(windowBDPs*t.bdp, count)
	t.towards[f.Dst] += min(windowBDPs*t.bdp, count)
	t.rowsOf(f, sent, acks, longest*done, ways)
}

// again returns how often a data packet is sent again, when a number of senders share a
// link, each with a flow of so many packets. First the windows of all arrive together,
// and what finds no room is trimmed. Later each sender keeps at least a packet on its way.
// One that is queued comes back after the time of a BDP and a queue, one that is trimmed
// after that of a BDP; the link serves one packet at a time. With n senders this gives a
// share of (n - BDP - queue) / (n - BDP) trimmed packets.
func (t *traffic) again(senders, packets float64) float64 {
	room := t.bdp + t.queue
	first := max(0, senders*min(windowBDPs*t.bdp, packets)-room) / (senders * packets)
	return min(first+max(0, senders-room)/t.queue, mostAgain)
}

// acks returns the ACKs per data packet of a sender that is not held back.
func (t *traffic) acks(host int) float64 {
	h := t.plan.Nodes[host].Host
	if h == nil || h.AckEvery <= 0 {
		return acksMore
	}
	return min(1, float64(h.MTU-h.Sizes.Header)/float64(h.AckEvery)+acksMore)
}

// cross adds packets to the links of a path.
func (t *traffic) cross(source int, links []int, packets float64) {
	at := source
	for _, id := range links {
		l := &t.plan.Graph.Links[id]
		direction := 0
		if l.A.Node != at {
			direction = 1
		}
		at = l.A.Node + l.B.Node - at
		t.packets[2*id+direction] += packets
	}
}

// rowsOf adds the rows of a transfer: of its receiver, its controller and its samples.
// busy is the time in which its fullest link is busy.
func (t *traffic) rowsOf(f *metrics.FlowInfo, sent, acks, busy float64, ways int) {
	if t.interval <= 0 || sent <= 0 {
		return
	}
	// Its sender has as many transfers under way as wait for no other, one after another.
	share := float64(max(1, t.roots[f.Src])) / float64(max(1, t.flowsFrom[f.Src]))
	windows := min(sent, busy*min(1, share)/t.interval+1)
	t.rows += 2 * windows
	if t.estimate.Tagged {
		samples := sent * acks / windows
		t.rows += windows * max(1, min(samples, mixedSignals*float64(ways)))
	}
}

// stream adds the frames of a generator, which nobody acknowledges.
func (t *traffic) stream(s plan.Stream) {
	links := t.paths.Links(s.Source, s.Destination)
	t.hops += float64(s.Frames) * float64(len(links))
	t.data += float64(s.Frames)
	t.cross(s.Source, links, float64(s.Frames))
	t.length = max(t.length, units.Duration(s.End).Seconds())
	busy := float64(s.Frames) * float64(s.Size+t.plan.Format.Overhead) * 8 / float64(t.plan.Graph.Links[links[0]].Rate)
	t.length = max(t.length, busy)
	t.rows += min(float64(s.Frames), t.length/t.interval+1)
}

// sum returns the estimate.
func (t *traffic) sum() Estimate {
	e, p := &t.estimate, t.plan
	e.PacketHops, e.DataPackets = int64(t.hops), int64(t.data)
	e.ModelTime = units.Duration(math.Round(t.length * float64(units.Second)))
	length := t.length
	if p.End != units.Never {
		length = min(length, units.Duration(p.End).Seconds())
	}
	t.spread.share(t.packets)
	var sum, logs float64
	for _, n := range t.packets {
		if n <= 0 {
			continue
		}
		sum += n
		logs += n * math.Log(n)
		if t.interval > 0 {
			t.rows += min(n, length/t.interval+1)
		}
	}
	if sum > 0 {
		e.BusyPorts = sum * math.Exp(-logs/sum) // from the entropy of a packet's port
	}
	var from, to float64
	for h := range t.inFlight {
		from += min(t.inFlight[h], inFlightBDPs*t.bdp)
		to += min(t.towards[h], t.bdp+t.queue)
	}
	e.InFlight = int64(min(from, to))
	e.Rows = int64(t.rows) + p.TracedEvents()
	if p.Truth > 0 && e.Tagged {
		e.HopValues = int64(min(t.switches/float64(p.Truth), metrics.MaxHopValues))
	}
	return *e
}

// spread is the load of links, in seconds that they need for their bytes, when each
// packet may take each of the shortest paths.
type spread struct {
	plan      *plan.Plan
	adjacency [][]topologies.Adjacent
	loads     []float64 // by link and direction, s
	between   []demand
	sampled   bool // the loads between switches are of a sample of the flows
	// detour is how many more links between switches data takes than on minimal paths, as
	// a share of those.
	detour float64

	shares []float64 // by node: the bytes that are there
	next   []int32
	at     []int32
}

// demand is bytes between the switches of two hosts.
type demand struct {
	source, destination int32 // hosts
	bytes               float64
}

// mostSteps bounds the walk over links and flows. With more, a part of the flows stands
// for all.
const mostSteps = 3_000_000

func newSpread(p *plan.Plan, adjacency [][]topologies.Adjacent) *spread {
	return &spread{
		plan: p, adjacency: adjacency, loads: make([]float64, 2*len(p.Graph.Links)), shares: make([]float64, len(p.Nodes)),
		between: make([]demand, 0, len(p.Flows)),
	}
}

// direction returns the index in loads of a link from a node.
func (s *spread) direction(link, from int) int {
	if s.plan.Graph.Links[link].A.Node == from {
		return 2 * link
	}
	return 2*link + 1
}

func (s *spread) seconds(link int, bytes float64) float64 {
	return bytes * 8 / float64(s.plan.Graph.Links[link].Rate)
}

// offer adds bytes from a host to another.
func (s *spread) offer(source, destination int, bytes float64) {
	up, down := s.adjacency[source][0], s.adjacency[destination][0]
	s.loads[s.direction(up.Link, source)] += s.seconds(up.Link, bytes)
	s.loads[s.direction(down.Link, down.Peer.Node)] += s.seconds(down.Link, bytes)
	if up.Peer.Node != down.Peer.Node {
		s.between = append(s.between, demand{int32(source), int32(destination), bytes})
	}
}

// load returns the load of a host's link: from the host, or, if that is -1, towards it.
func (s *spread) load(up topologies.Adjacent, host int) float64 {
	if host < 0 {
		return s.loads[s.direction(up.Link, up.Peer.Node)]
	}
	return s.loads[s.direction(up.Link, host)]
}

// run spreads the bytes that were offered over the links between switches.
func (s *spread) run() {
	var all, walked float64
	for _, d := range s.between {
		all += d.bytes
	}
	inner := make([]float64, len(s.loads))
	d := newDetours(s)
	n, steps := len(s.between), 0
	const stride = 1_000_003 // prime, so that a part of the flows is from everywhere
	for i := 0; i < n && steps < mostSteps; i++ {
		one := &s.between[i*stride%n]
		if n%stride == 0 {
			one = &s.between[i]
		}
		steps += s.walk(one, inner)
		if d != nil {
			steps += d.walk(one)
		}
		walked += one.bytes
		s.sampled = i < n-1
	}
	if d != nil {
		s.detour = d.mix(inner)
	}
	for i, load := range inner {
		if load > 0 {
			s.loads[i] += load * all / walked
		}
	}
}

// walk adds the bytes of a demand to the links between switches, and returns how many
// links it has visited.
func (s *spread) walk(d *demand, inner []float64) (steps int) {
	first, last := s.adjacency[d.source][0].Peer.Node, s.adjacency[d.destination][0].Peer.Node
	s.at = append(s.at[:0], int32(first))
	s.shares[first] = d.bytes
	for len(s.at) > 0 {
		s.next = s.next[:0]
		for _, at := range s.at {
			bytes := s.shares[at]
			s.shares[at] = 0
			if int(at) == last {
				continue
			}
			ports := nextHops(s.plan, int(at), int(d.destination))
			for _, port := range ports {
				to := s.adjacency[at][port]
				share := bytes / float64(len(ports))
				inner[s.direction(to.Link, int(at))] += s.seconds(to.Link, share)
				if s.shares[to.Peer.Node] == 0 {
					s.next = append(s.next, int32(to.Peer.Node))
				}
				s.shares[to.Peer.Node] += share
				steps++
			}
		}
		s.at, s.next = s.next, s.at
	}
	return steps
}

// inner returns the greatest load of the links between switches on a path. Where the
// loads are of a sample of the flows, single links tell nothing: it is the load that all
// such links have on the mean.
func (s *spread) inner(source int, links []int) (greatest float64) {
	if len(links) <= 2 || s.sampled {
		return 0
	}
	at := source
	for i, id := range links {
		l := &s.plan.Graph.Links[id]
		if i > 0 && i < len(links)-1 {
			greatest = max(greatest, s.loads[s.direction(id, at)])
		}
		at = l.A.Node + l.B.Node - at
	}
	return greatest
}

// ways returns how many ports the first switches of a path have to choose from.
func (s *spread) ways(source, destination int) int {
	ways := 1
	at, last := s.adjacency[source][0].Peer.Node, s.adjacency[destination][0].Peer.Node
	for at != last {
		ports := nextHops(s.plan, at, destination)
		if len(ports) == 0 {
			break
		}
		ways *= len(ports)
		at = s.adjacency[at][ports[0]].Peer.Node
	}
	return ways
}

// share moves packets, which were counted on one path for each flow, to all links of
// the same kind of hop: those whose load between switches is positive get them by load.
func (s *spread) share(packets []float64) {
	hosts := s.plan.Hosts()
	var sum, load float64
	for id := range s.plan.Graph.Links {
		l := &s.plan.Graph.Links[id]
		if l.A.Node < hosts || l.B.Node < hosts {
			continue
		}
		for d := range 2 {
			sum += packets[2*id+d]
			load += s.loads[2*id+d]
		}
	}
	if load == 0 {
		return
	}
	for id := range s.plan.Graph.Links {
		l := &s.plan.Graph.Links[id]
		if l.A.Node < hosts || l.B.Node < hosts {
			continue
		}
		for d := range 2 {
			packets[2*id+d] = sum * s.loads[2*id+d] / load
		}
	}
}

// nextHops returns the ports of a switch on shortest paths to a host.
func nextHops(p *plan.Plan, node, host int) []uint16 {
	return p.Nodes[node].Switch.Forward.Routes.To(host)
}
