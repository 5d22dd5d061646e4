package estimate

import (
	"math"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/host/balance"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
)

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

	work       Work
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
	e := &t.work
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
	t.work.Operations += load.Operations
	t.work.Live += load.Live
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

	part := 1.0 // that is packets
	if p.Fluid != nil {
		if part = p.Fluid.Flows[f.Flow].Packets; part < 1 {
			t.message(f, done*(1-part), longest)
		}
		if part == 0 {
			return
		}
	}
	count := float64(f.Packets) * part
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

// fluidMessage is what a message takes in hops of packets, where a fluid carries it: it is told,
// it begins and ends, and both ends hear of it.
const fluidMessage = 12

// message adds what the messages of a flow take that a fluid carries.
func (t *traffic) message(f *metrics.FlowInfo, done, busy float64) {
	sent := float64(max(1, f.Messages)) * done
	t.hops += fluidMessage * sent
	if t.interval > 0 {
		ways := float64(len(t.plan.Fluid.Epochs[0].Ways[f.Flow]))
		t.rows += (1 + ways/float64(max(1, t.flowsFrom[f.Src]))) * min(sent, busy/t.interval+1)
	}
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
		t.packets[t.spread.direction(id, at)] += packets
		l := &t.plan.Graph.Links[id]
		at = l.A.Node + l.B.Node - at
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
	if t.work.Tagged {
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

// sum returns the work of all.
func (t *traffic) sum() Work {
	e, p := &t.work, t.plan
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
