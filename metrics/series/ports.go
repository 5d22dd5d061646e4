package series

import (
	"cmp"
	"maps"
	"slices"

	"github.com/csiglab/csiglab/metrics/exposition"
	"github.com/csiglab/csiglab/metrics/runfolder"
)

// writeEach is after how many windows the histograms of a port are written: they are for
// times that are longer than a window.
const writeEach = 10

type portKey struct{ node, port int32 }

// ports are the ports of a run.
type ports struct {
	run    *run
	own    map[portKey]*port
	others map[[2]string]*otherPorts // by tier and direction
	all    []*port                   // in the order of the manifest
	metric map[portKey]*rank         // while ports are being chosen
}

// rank is how much a port matters.
type rank struct{ queue, bytes int64 }

// portWindow is what a port, or several, did in one window.
type portWindow struct {
	length                                   int64 // ps
	bytes, packets, marked, trimmed, dropped int64
	utilisation, queue                       float64
	peak                                     int64
	// available is in B/s, or while the windows of other ports are put together a share of
	// the port's rate; negative: no meter.
	available float64
}

// port writes the series of one port.
type port struct {
	of        *ports
	rate      float64 // B/s
	labels    []string
	latest    int64 // ps: the window that came last
	windows   int64 // that came
	block     int64 // number of the last windows/writeEach that is not written
	counters  [5]*counter
	gauges    [3]*gauge
	available *gauge        // nil before the first window with a meter's value
	used      *distribution // nil of other ports
	queued    *distribution
}

// otherPorts are the ports of a tier and direction that have no series of their own.
type otherPorts struct {
	rate    float64 // B/s, summed
	windows map[int64]*portWindow
}

// readPorts reads ports.parquet.
func (r *reader) readPorts() error {
	ranked := false
	for _, one := range r.list {
		n := len(r.f.Manifest.PortsOf(one.Variant))
		one.ports = ports{run: one, own: map[portKey]*port{}, others: map[[2]string]*otherPorts{}}
		if n > MostPorts {
			one.ports.metric, ranked = map[portKey]*rank{}, true
		}
	}
	if ranked {
		if err := r.rankPorts(); err != nil {
			return err
		}
	}
	for _, one := range r.list {
		one.ports.open()
	}
	for row, err := range r.f.Ports() {
		if err == nil {
			err = r.check()
		}
		if err != nil {
			return err
		}
		if one := r.of(row.Variant, row.Seed); one != nil {
			if err := one.ports.add(&row); err != nil {
				return err
			}
		}
	}
	return nil
}

// rankPorts reads how much each port matters, of runs that have too many.
func (r *reader) rankPorts() error {
	for row, err := range r.f.Ports() {
		if err == nil {
			err = r.check()
		}
		if err != nil {
			return err
		}
		one := r.of(row.Variant, row.Seed)
		if one == nil || one.ports.metric == nil {
			continue
		}
		key := portKey{row.Node, row.Port}
		m := one.ports.metric[key]
		if m == nil {
			m = &rank{}
			one.ports.metric[key] = m
		}
		m.queue, m.bytes = max(m.queue, row.QueueMax), m.bytes+row.TxBytes
	}
	return nil
}

// open opens the series of the ports that have their own.
func (p *ports) open() {
	nodes := map[int32]string{}
	info := func(one *runfolder.Port) {
		p.run.line(exposition.PortInfo, nodes[one.Node], one.Name, one.Tier, one.Direction, nodes[one.Peer]).set(p.run.zero, 1)
	}
	for _, n := range p.run.f.Manifest.NodesOf(p.run.Variant) {
		nodes[n.Node] = n.Name
	}
	list := slices.Clone(p.run.f.Manifest.PortsOf(p.run.Variant))
	if p.metric != nil {
		slices.SortStableFunc(list, func(a, b runfolder.Port) int {
			ra, rb := cmp.Or(p.metric[portKey{a.Node, a.Port}], &rank{}), cmp.Or(p.metric[portKey{b.Node, b.Port}], &rank{})
			return cmp.Or(cmp.Compare(rb.queue, ra.queue), cmp.Compare(rb.bytes, ra.bytes))
		})
		for _, one := range list[MostPorts/2:] {
			key := [2]string{one.Tier, one.Direction}
			if p.others[key] == nil {
				p.others[key] = &otherPorts{windows: map[int64]*portWindow{}}
			}
			p.others[key].rate += float64(one.RateBPS) / 8
		}
		p.run.out.OtherPorts = max(p.run.out.OtherPorts, len(list)-MostPorts/2)
		list = list[:MostPorts/2]
		p.metric = nil
	}
	for _, one := range list {
		key := portKey{one.Node, one.Port}
		if p.own[key] == nil {
			info(&one)
			p.own[key] = p.newPort(float64(one.RateBPS)/8, true, nodes[one.Node], one.Name, one.Tier, one.Direction)
			p.all = append(p.all, p.own[key])
		}
	}
}

// newPort opens the series of a port.
func (p *ports) newPort(rate float64, histograms bool, labels ...string) *port {
	r := p.run
	one := &port{of: p, rate: rate, labels: labels, latest: -1}
	r.line(exposition.PortRate, labels...).set(r.zero, rate)
	for i, name := range []string{exposition.PortBytes, exposition.PortPackets, exposition.PortMarked, exposition.PortTrimmed, exposition.PortDropped} {
		one.counters[i] = r.counter(name, labels...)
	}
	for i, name := range []string{exposition.PortUtilisation, exposition.PortQueue, exposition.PortQueuePeak} {
		one.gauges[i] = r.gauge(name, 0, highest, labels...)
	}
	if histograms {
		one.used, one.queued = r.distribution(exposition.PortWindowUtilisation, labels...), r.distribution(exposition.PortWindowQueue, labels...)
	}
	return one
}

// add counts a row.
func (p *ports) add(row *runfolder.PortRow) error {
	r := p.run
	start, length, err := r.window(row.StartUS, row.WindowUS)
	if err != nil {
		return err
	}
	w := portWindow{
		length: length,
		bytes:  row.TxBytes, packets: row.TxPackets, marked: row.Marked, trimmed: row.Trimmed, dropped: row.Dropped,
		peak: row.QueueMax, queue: float64(row.QueueByteNS) / (float64(length) / 1e3), available: -1,
	}
	if row.ABWBPS != nil {
		w.available = float64(*row.ABWBPS) / 8
	}
	if row.BusyPS != nil {
		w.utilisation = float64(*row.BusyPS) / float64(length)
	}
	if one := p.own[portKey{row.Node, row.Port}]; one != nil {
		one.add(start, &w)
		return nil
	}
	o := p.others[[2]string{row.Tier, row.Direction}]
	if o == nil {
		return nil // of no port of the manifest
	}
	if w.available >= 0 && row.RateBPS > 0 {
		w.available /= float64(row.RateBPS) / 8
	} else {
		w.available = -1
	}
	at := o.windows[start]
	if at == nil {
		o.windows[start] = &w
		return nil
	}
	at.length = max(at.length, w.length)
	at.bytes, at.packets, at.marked = at.bytes+w.bytes, at.packets+w.packets, at.marked+w.marked
	at.trimmed, at.dropped = at.trimmed+w.trimmed, at.dropped+w.dropped
	at.utilisation, at.queue, at.peak = max(at.utilisation, w.utilisation), max(at.queue, w.queue), max(at.peak, w.peak)
	if at.available < 0 || w.available >= 0 && w.available < at.available {
		at.available = w.available
	}
	return nil
}

// add writes a window.
func (p *port) add(start int64, w *portWindow) {
	r := p.of.run
	if start <= p.latest {
		r.out.Late++
		return
	}
	p.latest = start
	from, to := r.floor(start), r.ceil(start+w.length)
	for i, n := range []int64{w.bytes, w.packets, w.marked, w.trimmed, w.dropped} {
		p.counters[i].add(from, to, float64(n))
	}
	end := r.floor(start + w.length)
	for i, v := range []float64{w.utilisation, w.queue, float64(w.peak)} {
		p.gauges[i].window(from, end, v)
	}
	if w.available >= 0 {
		if p.available == nil {
			p.available = r.gauge(exposition.PortAvailable, p.rate, lowest, p.labels...)
		}
		p.available.window(from, end, w.available)
	}
	if p.used == nil {
		return
	}
	if block := start / r.interval / writeEach; block > p.block {
		p.write((p.block + 1) * writeEach)
		if block > p.block+1 {
			p.write(block * writeEach)
		}
		p.block = block
	}
	// A longer window counts as so many of its mean, of which one has the longest queue.
	n := w.length / r.interval
	p.windows += n
	p.used.observe(w.utilisation, n)
	p.queued.observe(float64(w.peak), 1)
	if n > 1 {
		p.queued.observe(w.queue, n-1)
	}
}

// write writes the histograms after a number of windows. Those without a row were idle.
func (p *port) write(windows int64) {
	if idle := windows - p.windows; idle > 0 {
		p.windows += idle
		p.used.observe(0, idle)
		p.queued.observe(0, idle)
	}
	at := p.of.run.ceil(windows * p.of.run.interval)
	p.used.write(at)
	p.queued.write(at)
}

// finish writes the ports that are together, and lets the gauges rest at the end.
func (p *ports) finish() {
	r := p.run
	for _, key := range slices.SortedFunc(maps.Keys(p.others), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		o := p.others[key]
		one := p.newPort(o.rate, false, "", OtherPorts, key[0], key[1])
		for _, start := range slices.Sorted(maps.Keys(o.windows)) {
			w := o.windows[start]
			w.available *= o.rate
			one.add(start, w)
		}
		p.all = append(p.all, one)
	}
	end := r.ceil(r.end)
	for _, one := range p.all {
		for _, g := range one.gauges {
			g.rest(end)
		}
		if one.available != nil {
			one.available.rest(end)
		}
		if one.used != nil {
			one.write(max(1, r.end/r.interval))
		}
	}
	*p = ports{}
}
