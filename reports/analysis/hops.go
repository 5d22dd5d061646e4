package analysis

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"slices"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// hopKey identifies the connection of a run whose transfers are on a critical path.
type hopKey struct {
	run
	flow int32
}

// portKey identifies a port in a run.
type portKey struct {
	run
	PortID
}

// hopPiece is a transfer on a critical path, and what is known of the ports on its way in
// its time.
type hopPiece struct {
	*PathPiece
	samples map[int32]*hopSamples // by locator
	ports   map[PortID]float64    // the deepest queues, in bytes
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

// hopSamples is the CSIG samples of one locator.
type hopSamples struct {
	weight  float64 // what makes it the hop: delays or depths, or the number of samples
	delayNS float64 // sum; of samples of delay
	delays  int64
}

// route is the shortest paths of a flow.
type route struct {
	dst    int32
	name   string
	ports  []*runfolder.Port // of all nodes on them
	hops   []int32           // by port, how many links it is from the source
	rate   float64           // bits/s: of the narrowest place
	rttUS  float64
	header float64 // wire bytes over payload bytes
}

// resolve sets what transfers take unloaded, and at which port they waited.
func (w *jobReader) resolve() error {
	lists := map[hopKey][]*hopPiece{}
	add := func(r run, list []PathPiece) {
		for i := range list {
			if p := &list[i]; p.flow >= 0 {
				k := hopKey{r, p.flow}
				lists[k] = append(lists[k], &hopPiece{PathPiece: p})
			}
		}
	}
	for i := range w.jobs {
		r := run{w.jobs[i].Variant, w.jobs[i].Seed}
		for _, p := range w.wanted[i].steps {
			add(r, p.pieces)
		}
		for _, c := range w.jobs[i].Collectives {
			if c.SlowestIn != nil {
				add(r, c.SlowestIn.pieces)
			}
		}
		for _, c := range w.wanted[i].slow {
			add(r, c.pieces)
		}
	}
	for i := range w.transfers {
		t := &w.transfers[i]
		add(t.run, t.pieces)
	}
	if len(lists) == 0 {
		return nil
	}
	pieces := make(map[hopKey]*timeline, len(lists))
	for k, list := range lists {
		pieces[k] = newTimeline(list)
	}
	routes := w.routes(pieces)
	w.routed = routes
	if err := w.readRTTs(routes); err != nil {
		return err
	}
	interval := w.folder.Manifest.IntervalUS
	for r, err := range w.folder.Signals() {
		if err != nil {
			return err
		}
		for p := range pieces[hopKey{run{r.Variant, r.Seed}, r.Flow}].during(r.StartUS, interval) {
			if r.Locator == 0 || r.Step != nil && *r.Step == 0 {
				continue
			}
			if p.samples == nil {
				p.samples = map[int32]*hopSamples{}
			}
			s := p.samples[r.Locator]
			if s == nil {
				s = &hopSamples{}
				p.samples[r.Locator] = s
			}
			switch r.Type {
			case "delay":
				s.delayNS += float64(r.PointSum)
				s.delays += r.Samples
				s.weight += float64(r.PointSum)
			case "nqd":
				s.weight += float64(r.PointSum)
			default:
				s.weight += float64(r.Samples)
			}
		}
	}
	if err := w.readQueues(pieces, routes, interval); err != nil {
		return err
	}
	locators := map[string]map[int32][]string{}
	for k, of := range pieces {
		ports, ok := locators[k.variant]
		if !ok {
			ports = portsByLocator(locatorsOf(&w.folder.Manifest, k.variant))
			locators[k.variant] = ports
		}
		for _, p := range of.pieces {
			p.settle(routes[k], ports)
		}
	}
	return nil
}

// settle sets what the transfer takes unloaded, and its hop.
func (p *hopPiece) settle(r *route, locators map[int32][]string) {
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
	var best int32
	total := 0.0
	p.hopShare = 1
	for locator, s := range p.samples {
		total += s.weight
		b := p.samples[best]
		if b == nil || s.weight > b.weight || s.weight == b.weight && locator < best {
			best = locator
		}
	}
	if s := p.samples[best]; s != nil && s.weight > 0 {
		p.sampled, p.hopShare = true, s.weight/total
		names := portsOf(locators, best)
		p.Hop = names[0]
		if r != nil && len(names) > 1 { // the one that is on the way
			for _, port := range r.ports {
				if slices.Contains(names, port.Name) {
					p.Hop = port.Name
				}
			}
		}
		if s.delays > 0 {
			p.HopDelayUS = s.delayNS / float64(s.delays) / 1e3
		}
		return
	}
	if r == nil {
		return
	}
	var deepest float64
	far := map[int32]float64{} // the longest queue in us, by distance from the source
	for i, port := range r.ports {
		bytes := p.ports[PortID{port.Node, port.Port}]
		us := bytes * 8e6 / float64(port.RateBPS)
		if bytes > deepest {
			deepest, p.Hop, p.HopDelayUS = bytes, port.Name, us
		}
		if bytes > 0 {
			far[r.hops[i]] = max(far[r.hops[i]], us)
		}
	}
	if p.Hop != "" && p.HopDelayUS > 0 {
		for _, hop := range slices.Sorted(maps.Keys(far)) { // in order, as sums are rounded
			total += far[hop]
		}
		p.hopShare = min(1, p.HopDelayUS/total)
	}
}

// routes returns the shortest paths of flows.
func (w *jobReader) routes(pieces map[hopKey]*timeline) map[hopKey]*route {
	m := &w.folder.Manifest
	graphs := map[string]*paths{}
	routes := make(map[hopKey]*route, len(pieces))
	for k := range pieces {
		ports, flows := m.PortsOf(k.variant), m.FlowsOfRun(k.variant, k.seed)
		g := graphs[k.variant]
		if g == nil {
			g = newPaths(ports)
			graphs[k.variant] = g
		}
		at := slices.IndexFunc(flows, func(f runfolder.Flow) bool { return f.Flow == k.flow })
		if at < 0 {
			continue
		}
		f := &flows[at]
		r := &route{name: f.Name, dst: f.Dst, header: 1}
		if v := slices.IndexFunc(m.Variants, func(v runfolder.Variant) bool { return v.Name == k.variant }); m.Variants[v].MTU > m.Variants[v].Header {
			r.header = float64(m.Variants[v].MTU+m.Variants[v].Overhead) / float64(m.Variants[v].MTU-m.Variants[v].Header)
		}
		from, to := g.search(g.out, f.Src), g.search(g.in, f.Dst)
		if from.has(f.Dst) {
			widest := map[int32]float64{} // by distance from the source
			for i := range ports {
				p := &ports[i]
				if from.has(p.Node) && to.has(p.Peer) && from.distance[p.Node]+1+to.distance[p.Peer] == from.distance[f.Dst] {
					d := from.distance[p.Node]
					r.ports, r.hops = append(r.ports, p), append(r.hops, d)
					widest[d] = max(widest[d], float64(p.RateBPS))
				}
			}
			for _, rate := range widest {
				if r.rate == 0 || rate < r.rate {
					r.rate = rate
				}
			}
		}
		routes[k] = r
	}
	return routes
}

// readRTTs sets the base RTTs of flows.
func (w *jobReader) readRTTs(routes map[hopKey]*route) error {
	for r, err := range w.folder.Phases() {
		if err != nil {
			return err
		}
		if of := routes[hopKey{run{r.Variant, r.Seed}, r.Flow}]; of != nil {
			of.rttUS = r.BaseRTTUS
		}
	}
	return nil
}

// readQueues finds the deepest queues on the ways of the transfers that have no sample.
func (w *jobReader) readQueues(pieces map[hopKey]*timeline, routes map[hopKey]*route, interval float64) error {
	crossing := map[portKey][]*hopPiece{}
	for k, of := range pieces {
		r := routes[k]
		if r == nil {
			continue
		}
		for _, p := range of.pieces {
			if p.samples != nil {
				continue
			}
			for _, port := range r.ports {
				key := portKey{k.run, PortID{port.Node, port.Port}}
				crossing[key] = append(crossing[key], p)
			}
		}
	}
	if len(crossing) == 0 {
		return nil
	}
	queues := make(map[portKey]*timeline, len(crossing))
	for k, list := range crossing {
		queues[k] = newTimeline(list)
	}
	for r, err := range w.folder.Ports() {
		if err != nil {
			return err
		}
		id := PortID{r.Node, r.Port}
		if r.QueueMax == 0 {
			continue
		}
		for p := range queues[portKey{run{r.Variant, r.Seed}, id}].during(r.StartUS, interval) {
			if p.ports == nil {
				p.ports = map[PortID]float64{}
			}
			p.ports[id] = max(p.ports[id], float64(r.QueueMax))
		}
	}
	return nil
}
