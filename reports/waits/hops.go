package waits

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"slices"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
)

// hopPiece is a transfer on a critical path, and what is known of the ports on its way in
// its time.
type hopPiece struct {
	*Piece
	samples map[int32]*hopSamples      // by locator
	queues  map[reading.PortID]float64 // the deepest, in bytes
	busy    map[reading.PortID]float64 // for how long, in us; where some messages are no packets
}

// hopSamples is the CSIG samples of one locator.
type hopSamples struct {
	weight  float64 // what makes it the hop: delays or depths, or the number of samples
	delayNS float64 // sum; of samples of delay
	delays  int64
}

// timeline is transfers in order of their beginning, with the latest end up to each of
// them, so that those of a window are found without a look at all.
type timeline struct {
	pieces []*hopPiece
	latest []float64
}

func newTimeline(pieces []*hopPiece) *timeline {
	slices.SortStableFunc(pieces, func(a, b *hopPiece) int { return cmp.Compare(a.FromUS, b.FromUS) })
	t := &timeline{pieces, make([]float64, len(pieces))}
	latest := math.Inf(-1)
	for i, p := range pieces {
		latest = max(latest, p.ToUS)
		t.latest[i] = latest
	}
	return t
}

// during yields the pieces that overlap a window, or whose samples may come in it.
func (t *timeline) during(start, interval float64) iter.Seq[*hopPiece] {
	return func(yield func(*hopPiece) bool) {
		if t == nil {
			return
		}
		i, _ := slices.BinarySearch(t.latest, math.Nextafter(start, math.Inf(1)))
		for ; i < len(t.pieces) && t.pieces[i].FromUS < start+interval; i++ {
			if p := t.pieces[i]; p.ToUS > start && !yield(p) {
				return
			}
		}
	}
}

// Route is the shortest paths of a flow.
type Route struct {
	Ports []*runfolder.Port // of all nodes on them
	Hops  []int32           // by port, how many links it is from the source

	name   string
	rate   float64 // bits/s: of the narrowest place, all ports there together if the flow takes all paths
	one    bool    // path at a time
	flow   bool    // some messages are no packets
	rttUS  float64
	header float64 // wire bytes over payload bytes
}

// hops finds where the transfers of a run waited.
type hops struct {
	reading *reading.Reading
	run     reading.RunID
	rtts    []float64
	lists   map[int32][]*hopPiece // by flow
	pieces  map[int32]*timeline   // of lists
	routes  map[int32]*Route
	settled bool
}

func newHops(r *reading.Reading, run reading.RunID, rtts []float64) *hops {
	return &hops{reading: r, run: run, rtts: rtts, lists: map[int32][]*hopPiece{}, pieces: map[int32]*timeline{}, routes: map[int32]*Route{}}
}

// add adds the transfers of a path over the fabric.
func (h *hops) add(path []Piece) {
	for i := range path {
		if p := &path[i]; p.FlowNumber >= 0 {
			h.lists[p.FlowNumber] = append(h.lists[p.FlowNumber], &hopPiece{Piece: p})
		}
	}
}

// ask asks for the samples and queues in the time of the transfers, if there are any.
func (h *hops) ask(p *reading.Pass) {
	if len(h.lists) == 0 {
		return
	}
	for flow, list := range h.lists {
		h.pieces[flow] = newTimeline(list)
	}
	h.findRoutes()
	interval := h.reading.Manifest.IntervalUS
	p.Signals(func(row *runfolder.SignalRow) {
		if row.Locator == 0 || row.Step != nil && *row.Step == 0 {
			return
		}
		for piece := range h.pieces[row.Flow].during(row.StartUS, interval) {
			piece.sample(row)
		}
	}, h.run)
	crossing := map[reading.PortID][]*hopPiece{}
	for flow, list := range h.lists {
		if r := h.routes[flow]; r != nil {
			for _, port := range r.Ports {
				id := reading.PortID{Node: port.Node, Port: port.Port}
				crossing[id] = append(crossing[id], list...)
			}
		}
	}
	queues := make(map[reading.PortID]*timeline, len(crossing))
	for id, list := range crossing {
		queues[id] = newTimeline(list)
	}
	flow := without(variantOf(h.reading, h.run))
	p.Ports(func(row *runfolder.PortRow) {
		if row.QueueMax == 0 && !flow {
			return
		}
		id := reading.PortID{Node: row.Node, Port: row.Port}
		for piece := range queues[id].during(row.StartUS, interval) {
			if piece.queues == nil {
				piece.queues, piece.busy = map[reading.PortID]float64{}, map[reading.PortID]float64{}
			}
			if row.QueueMax > 0 {
				piece.queues[id] = max(piece.queues[id], float64(row.QueueMax))
			}
			if flow {
				piece.busy[id] += row.BusyUS()
			}
		}
	}, h.run)
}

// sample takes samples of the time of the transfer.
func (p *hopPiece) sample(row *runfolder.SignalRow) {
	if p.samples == nil {
		p.samples = map[int32]*hopSamples{}
	}
	s := p.samples[row.Locator]
	if s == nil {
		s = &hopSamples{}
		p.samples[row.Locator] = s
	}
	switch row.Type {
	case "delay":
		s.delayNS += float64(row.PointSum)
		s.delays += row.Samples
		s.weight += float64(row.PointSum)
	case "nqd":
		s.weight += float64(row.PointSum)
	default:
		s.weight += float64(row.Samples)
	}
}

// settle sets what transfers take unloaded, and at which port they waited.
func (h *hops) settle() {
	if h.settled {
		return
	}
	h.settled = true
	locators := reading.PortsByLocator(reading.LocatorsOf(h.reading.Manifest, h.run.Variant))
	for flow, list := range h.lists {
		for _, p := range list {
			p.settle(h.routes[flow], locators)
		}
	}
	h.lists, h.pieces = nil, nil
}

// settle sets what the transfer takes unloaded, and its hop.
func (p *hopPiece) settle(r *Route, locators map[int32][]string) {
	p.HopShare = 1
	if r != nil {
		p.Flow = r.name
	}
	if r != nil && r.rate > 0 {
		p.UnloadedUS = float64(p.Bytes) * r.header * 8e6 / r.rate
		switch {
		case p.chained: // the path of the message before it is paid for
		case p.send:
			p.UnloadedUS += r.rttUS
		default:
			p.UnloadedUS += r.rttUS / 2
		}
	}
	switch {
	case p.samples != nil:
		p.bySamples(r, locators)
	case r != nil:
		if p.byQueues(r); p.Hop == "" && r.flow {
			p.byLoad(r)
		}
	}
}

// byLoad sets the busiest port, which is the one that limits a flow without packets. There is none
// if that is the sender's NIC.
func (p *hopPiece) byLoad(r *Route) {
	most := 0.0
	for i, port := range r.Ports {
		if busy := p.busy[reading.PortID{Node: port.Node, Port: port.Port}]; busy > most {
			if most, p.Hop = busy, port.Name; r.Hops[i] == 0 {
				p.Hop = ""
			}
		}
	}
	p.ByLoad = p.Hop != ""
}

// bySamples sets the hop that most of the samples are of. There is none if they say that
// packets never waited.
func (p *hopPiece) bySamples(r *Route, locators map[int32][]string) {
	var best int32
	total := 0.0
	for locator, s := range p.samples {
		total += s.weight
		b := p.samples[best]
		if b == nil || s.weight > b.weight || s.weight == b.weight && locator < best {
			best = locator
		}
	}
	s := p.samples[best]
	if s == nil || !(s.weight > 0) {
		return
	}
	p.Sampled, p.HopShare = true, s.weight/total
	names := reading.PortsOf(locators, best)
	p.Hop = names[0]
	if r != nil && len(names) > 1 { // the one that is on the way
		for _, port := range r.Ports {
			if slices.Contains(names, port.Name) {
				p.Hop = port.Name
			}
		}
	}
	if s.delays > 0 {
		p.HopDelayUS = s.delayNS / float64(s.delays) / 1e3
	}
}

// byQueues sets the hop with the deepest queue, if there is one.
func (p *hopPiece) byQueues(r *Route) {
	var deepest float64
	far := map[int32]float64{} // the longest queue in us, by distance from the source
	for i, port := range r.Ports {
		bytes := p.queues[reading.PortID{Node: port.Node, Port: port.Port}]
		us := bytes * 8e6 / float64(port.RateBPS)
		if bytes > deepest {
			deepest, p.Hop, p.HopDelayUS = bytes, port.Name, us
		}
		if bytes > 0 {
			far[r.Hops[i]] = max(far[r.Hops[i]], us)
		}
	}
	if p.Hop == "" || !(p.HopDelayUS > 0) {
		return
	}
	total := 0.0
	for _, hop := range slices.Sorted(maps.Keys(far)) { // in order, as sums are rounded
		total += far[hop]
	}
	p.HopShare = min(1, p.HopDelayUS/total)
}

// variantOf returns the variant of a run.
func variantOf(r *reading.Reading, run reading.RunID) *runfolder.Variant {
	all := r.Manifest.Variants
	return &all[slices.IndexFunc(all, func(v runfolder.Variant) bool { return v.Name == run.Variant })]
}

// without reports whether some messages of a variant are no packets, or all.
func without(v *runfolder.Variant) bool { return v.Flow || v.Hybrid }

// findRoutes finds the shortest paths of the flows.
func (h *hops) findRoutes() {
	m := h.reading.Manifest
	ports := m.PortsOf(h.run.Variant)
	g := reading.NewPaths(ports)
	header := 1.0
	v := variantOf(h.reading, h.run)
	if v.MTU > v.Header {
		header = float64(v.MTU+v.Overhead) / float64(v.MTU-v.Header)
	}
	flows := m.FlowsOfRun(h.run.Variant, h.run.Seed)
	for i := range flows {
		f := &flows[i]
		if h.lists[f.Flow] == nil || h.routes[f.Flow] != nil {
			continue
		}
		r := &Route{name: f.Name, one: v.OnePath, flow: without(v), header: header}
		h.routes[f.Flow] = r
		if int(f.Flow) < len(h.rtts) {
			r.rttUS = h.rtts[f.Flow]
		}
		from, to := g.Search(g.Out, f.Src), g.Search(g.In, f.Dst)
		if !from.Has(f.Dst) {
			continue
		}
		rates := map[int32]float64{} // by distance from the source
		for i := range ports {
			p := &ports[i]
			if from.Has(p.Node) && to.Has(p.Peer) && from.Distance[p.Node]+1+to.Distance[p.Peer] == from.Distance[f.Dst] {
				d := from.Distance[p.Node]
				r.Ports, r.Hops = append(r.Ports, p), append(r.Hops, d)
				if v.OnePath {
					rates[d] = max(rates[d], float64(p.RateBPS))
				} else {
					rates[d] += float64(p.RateBPS)
				}
			}
		}
		for _, rate := range rates {
			if r.rate == 0 || rate < r.rate {
				r.rate = rate
			}
		}
	}
}
