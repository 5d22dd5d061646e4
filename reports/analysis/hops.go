package analysis

import (
	"slices"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// hopKey identifies the connection of a run whose transfers are on a critical path.
type hopKey struct {
	run
	flow int32
}

// hopPiece is a transfer on a critical path, and what is known of the ports on its way in
// its time.
type hopPiece struct {
	*PathPiece
	samples map[int32]*hopSamples // by locator
	ports   map[PortID]float64    // the deepest queues, in bytes
}

// hopSamples is the CSIG samples of one locator.
type hopSamples struct {
	weight  float64 // what makes it the hop: delays or depths, or the number of samples
	delayNS float64 // sum; of samples of delay
	delays  int64
}

// route is the shortest paths of a flow.
type route struct {
	name   string
	ports  []*runfolder.Port
	rate   float64 // bits/s: of the narrowest place
	rttUS  float64
	header float64 // wire bytes over payload bytes
}

// resolve sets what transfers take unloaded, and at which port they waited.
func (w *jobReader) resolve() error {
	pieces := map[hopKey][]*hopPiece{}
	add := func(r run, list []PathPiece) {
		for i := range list {
			if p := &list[i]; p.flow >= 0 {
				k := hopKey{r, p.flow}
				pieces[k] = append(pieces[k], &hopPiece{PathPiece: p})
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
	}
	if len(pieces) == 0 {
		return nil
	}
	for _, list := range pieces {
		slices.SortFunc(list, func(a, b *hopPiece) int {
			return int(min(max((a.FromUS-b.FromUS)*1e6, -1), 1)) // a picosecond and more
		})
	}
	routes := w.routes(pieces)
	if err := w.readRTTs(routes); err != nil {
		return err
	}
	interval := w.folder.Manifest.IntervalUS
	for r, err := range w.folder.Signals() {
		if err != nil {
			return err
		}
		for _, p := range during(pieces[hopKey{run{r.Variant, r.Seed}, r.Flow}], r.StartUS, interval) {
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
	for k, list := range pieces {
		ports := portsByLocator(locatorsOf(&w.folder.Manifest, k.variant))
		for _, p := range list {
			p.settle(routes[k], ports)
		}
	}
	return nil
}

// during returns the pieces that overlap a window, or whose samples may come in it.
func during(list []*hopPiece, start, interval float64) []*hopPiece {
	var in []*hopPiece
	for _, p := range list {
		if p.FromUS >= start+interval {
			break
		}
		if p.ToUS > start {
			in = append(in, p)
		}
	}
	return in
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
	for locator, s := range p.samples {
		b := p.samples[best]
		if b == nil || s.weight > b.weight || s.weight == b.weight && locator < best {
			best = locator
		}
	}
	if s := p.samples[best]; s != nil && s.weight > 0 {
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
	for _, port := range r.ports {
		if bytes := p.ports[PortID{port.Node, port.Port}]; bytes > deepest {
			deepest, p.Hop, p.HopDelayUS = bytes, port.Name, bytes*8e6/float64(port.RateBPS)
		}
	}
}

// routes returns the shortest paths of flows.
func (w *jobReader) routes(pieces map[hopKey][]*hopPiece) map[hopKey]*route {
	m := &w.folder.Manifest
	graphs := map[string]*paths{}
	routes := make(map[hopKey]*route, len(pieces))
	for k := range pieces {
		ports, flows := m.PortsOf(k.variant), m.FlowsOf(k.variant)
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
		r := &route{name: f.Name, header: 1}
		if v := slices.IndexFunc(m.Variants, func(v runfolder.Variant) bool { return v.Name == k.variant }); m.Variants[v].MTU > m.Variants[v].Header {
			r.header = float64(m.Variants[v].MTU+m.Variants[v].Overhead) / float64(m.Variants[v].MTU-m.Variants[v].Header)
		}
		from, to := g.search(g.out, f.Src), g.search(g.in, f.Dst)
		if from.has(f.Dst) {
			widest := map[int32]float64{} // by distance from the source
			for i := range ports {
				p := &ports[i]
				if from.has(p.Node) && to.has(p.Peer) && from.distance[p.Node]+1+to.distance[p.Peer] == from.distance[f.Dst] {
					r.ports = append(r.ports, p)
					d := from.distance[p.Node]
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
func (w *jobReader) readQueues(pieces map[hopKey][]*hopPiece, routes map[hopKey]*route, interval float64) error {
	type portKey struct {
		run
		PortID
	}
	crossing := map[portKey][]*hopPiece{}
	for k, list := range pieces {
		r := routes[k]
		if r == nil {
			continue
		}
		for _, p := range list {
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
	for _, list := range crossing {
		slices.SortFunc(list, func(a, b *hopPiece) int { return int(min(max((a.FromUS-b.FromUS)*1e6, -1), 1)) })
	}
	for r, err := range w.folder.Ports() {
		if err != nil {
			return err
		}
		id := PortID{r.Node, r.Port}
		if r.QueueMax == 0 {
			continue
		}
		for _, p := range during(crossing[portKey{run{r.Variant, r.Seed}, id}], r.StartUS, interval) {
			if p.ports == nil {
				p.ports = map[PortID]float64{}
			}
			p.ports[id] = max(p.ports[id], float64(r.QueueMax))
		}
	}
	return nil
}
