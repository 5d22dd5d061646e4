// Package thinning merges the windows of records into longer ones, so that the records of a
// run that goes on for hours take less room the older they are. It has no file; package
// runfolder keeps what it makes.
package thinning

import (
	"cmp"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/units"
)

// Split returns a batch with what of b ages, which is its windows, and the events of flows, and
// one with the rest. They share the memory of b.
func Split(b *metrics.Batch) (aging, rest metrics.Batch) {
	aging = metrics.Batch{Node: b.Node, Ports: b.Ports, Flows: b.Flows, CC: b.CC, Signals: b.Signals, Events: b.Events}
	rest = *b
	rest.Ports, rest.Flows, rest.CC, rest.Signals, rest.Events = nil, nil, nil, nil, nil
	return aging, rest
}

// Latest returns the latest beginning of a window, or time of an event, of a batch; 0 without
// any.
func Latest(b *metrics.Batch) (at units.Time) {
	for i := range b.Ports {
		at = max(at, b.Ports[i].Start)
	}
	for i := range b.Flows {
		at = max(at, b.Flows[i].Start)
	}
	for i := range b.CC {
		at = max(at, b.CC[i].Start)
	}
	for i := range b.Signals {
		at = max(at, b.Signals[i].Start)
	}
	for i := range b.Events {
		at = max(at, b.Events[i].At)
	}
	return at
}

// Within keeps the windows of a batch that begin at from or later and before until, and the
// events of this time.
func Within(b *metrics.Batch, from, until units.Time) {
	out := func(at units.Time) bool { return at < from || at >= until }
	b.Ports = slices.DeleteFunc(b.Ports, func(w metrics.PortWindow) bool { return out(w.Start) })
	b.Flows = slices.DeleteFunc(b.Flows, func(w metrics.FlowWindow) bool { return out(w.Start) })
	b.CC = slices.DeleteFunc(b.CC, func(w metrics.CCWindow) bool { return out(w.Start) })
	b.Signals = slices.DeleteFunc(b.Signals, func(w metrics.SignalWindow) bool { return out(w.Start) })
	b.Events = slices.DeleteFunc(b.Events, func(e metrics.Event) bool { return out(e.At) })
}

// Merger merges the windows that it consumes into longer ones of what they are of, and hands
// these on: sums and counts add up, extremes stay, and a state is the last one. Windows in
// which nothing was recorded stay absent. Build it with New, and end it with Flush. It belongs
// to one goroutine.
//
// A merged window is handed on once its node has records of two windows later. What comes later
// still makes one more window of the same beginning, so that sums are right in any case.
type Merger struct {
	interval units.Duration
	to       metrics.Consumer
	nodes    map[int32]*node
}

// node is the windows of one node that are open.
type node struct {
	ports   open[portKey, metrics.PortWindow]
	flows   open[int32, metrics.FlowWindow]
	cc      open[ccKey, metrics.CCWindow]
	signals open[signalKey, metrics.SignalWindow]
	latest  units.Time // beginning of the latest one
	done    metrics.Batch
}

type (
	portKey struct{ node, port int32 }
	ccKey   struct {
		flow int32
		tag  metrics.Tag
	}
	signalKey struct {
		flow    int32
		signal  uint8
		locator uint32
		tag     metrics.Tag
	}
)

// New returns a Merger into windows of the interval, which must be positive and a multiple of
// that of the windows which it gets.
func New(interval units.Duration, to metrics.Consumer) *Merger {
	return &Merger{interval: interval, to: to, nodes: map[int32]*node{}}
}

// Consume implements metrics.Consumer. Events, and what else is no window, are dropped.
func (m *Merger) Consume(b *metrics.Batch) {
	n := m.nodes[b.Node]
	if n == nil {
		n = &node{}
		n.done.Node = b.Node
		m.nodes[b.Node] = n
	}
	for i := range b.Ports {
		w := b.Ports[i]
		w.Start = m.start(n, w.Start)
		n.ports.add(portKey{w.Node, w.Port}, w, startOfPort, mergePorts, n.emitPort)
	}
	for i := range b.Flows {
		w := b.Flows[i]
		w.Start = m.start(n, w.Start)
		n.flows.add(w.Flow, w, startOfFlow, mergeFlows, n.emitFlow)
	}
	for i := range b.CC {
		w := b.CC[i]
		w.Start, w.Actions = m.start(n, w.Start), slices.Clone(w.Actions)
		slices.SortFunc(w.Actions, byName)
		n.cc.add(ccKey{w.Flow, w.Tag}, w, startOfCC, mergeCC, n.emitCC)
	}
	for i := range b.Signals {
		w := b.Signals[i]
		w.Start = m.start(n, w.Start)
		n.signals.add(signalKey{w.Flow, w.Type, w.Locator, w.Tag}, w, startOfSignal, mergeSignals, n.emitSignal)
	}
	n.close(n.latest.Add(-m.interval))
	m.handOn(n)
}

// start returns the beginning of the window that a moment lies in.
func (m *Merger) start(n *node, at units.Time) units.Time {
	at -= at % units.Time(m.interval)
	n.latest = max(n.latest, at)
	return at
}

// Flush hands on what is left.
func (m *Merger) Flush() {
	for _, n := range m.nodes {
		n.close(units.Never)
		m.handOn(n)
	}
}

func (m *Merger) handOn(n *node) {
	if n.done.Len() > 0 {
		m.to.Consume(&n.done)
		n.done.Reset()
	}
}

// close ends the windows that begin before a moment.
func (n *node) close(before units.Time) {
	n.ports.close(before, startOfPort, n.emitPort)
	n.flows.close(before, startOfFlow, n.emitFlow)
	n.cc.close(before, startOfCC, n.emitCC)
	n.signals.close(before, startOfSignal, n.emitSignal)
}

func (n *node) emitPort(w *metrics.PortWindow)     { n.done.Emit(w) }
func (n *node) emitFlow(w *metrics.FlowWindow)     { n.done.Emit(w) }
func (n *node) emitCC(w *metrics.CCWindow)         { n.done.Emit(w) }
func (n *node) emitSignal(w *metrics.SignalWindow) { n.done.Emit(w) }

func startOfPort(w *metrics.PortWindow) units.Time     { return w.Start }
func startOfFlow(w *metrics.FlowWindow) units.Time     { return w.Start }
func startOfCC(w *metrics.CCWindow) units.Time         { return w.Start }
func startOfSignal(w *metrics.SignalWindow) units.Time { return w.Start }

// open is windows that are being merged, by what they are of.
type open[K comparable, W any] struct {
	windows map[K]*W
	least   units.Time // no window begins before
}

func (o *open[K, W]) add(k K, w W, start func(*W) units.Time, merge func(to, w *W), emit func(*W)) {
	if o.windows == nil {
		o.windows = map[K]*W{}
	}
	to := o.windows[k]
	if to != nil && start(to) == start(&w) {
		merge(to, &w)
		return
	}
	if to != nil {
		emit(to)
	}
	if len(o.windows) == 0 {
		o.least = start(&w)
	}
	o.least = min(o.least, start(&w))
	o.windows[k] = &w
}

// close emits the windows that begin before a moment, in the order of their beginnings.
func (o *open[K, W]) close(before units.Time, start func(*W) units.Time, emit func(*W)) {
	if len(o.windows) == 0 || o.least >= before {
		return
	}
	var over []*W
	o.least = units.Never
	for k, w := range o.windows {
		if at := start(w); at < before {
			over = append(over, w)
			delete(o.windows, k)
		} else {
			o.least = min(o.least, at)
		}
	}
	slices.SortFunc(over, func(a, b *W) int { return cmp.Compare(start(a), start(b)) })
	for _, w := range over {
		emit(w)
	}
}

func mergePorts(to, w *metrics.PortWindow) {
	to.TxPackets += w.TxPackets
	to.TxBytes += w.TxBytes
	to.Marked += w.Marked
	to.Trimmed += w.Trimmed
	to.Dropped += w.Dropped
	to.QueueMax = max(to.QueueMax, w.QueueMax)
	to.QueueByteNS += w.QueueByteNS
	to.Busy += w.Busy
	if to.ABW == metrics.Absent || w.ABW != metrics.Absent && w.ABW < to.ABW {
		to.ABW = w.ABW
	}
}

func mergeFlows(to, w *metrics.FlowWindow) {
	to.Packets += w.Packets
	to.WireBytes += w.WireBytes
	to.PayloadBytes += w.PayloadBytes
}

func mergeCC(to, w *metrics.CCWindow) {
	to.Acks += w.Acks
	to.Delay += w.Delay
	to.Cwnd, to.BaseRTT, to.Pacing = w.Cwnd, w.BaseRTT, w.Pacing
	for _, c := range w.Actions {
		i, there := slices.BinarySearchFunc(to.Actions, c, byName)
		if there {
			to.Actions[i].Packets += c.Packets
		} else {
			to.Actions = slices.Insert(to.Actions, i, c)
		}
	}
}

func byName(a, b metrics.Count) int { return strings.Compare(a.Name, b.Name) }

func mergeSignals(to, w *metrics.SignalWindow) {
	to.Samples += w.Samples
	to.PointSum += w.PointSum
	to.PointMax, to.PointMin = max(to.PointMax, w.PointMax), min(to.PointMin, w.PointMin)
	to.LowSum += w.LowSum
	if w.HighSum == metrics.Absent {
		to.HighSum = metrics.Absent
	} else if to.HighSum != metrics.Absent {
		to.HighSum += w.HighSum
	}
}
