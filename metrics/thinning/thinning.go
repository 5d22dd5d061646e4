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

// Step is a length that windows have from an age on.
type Step struct {
	Interval units.Duration // a multiple of that of the step before, and of the telemetry interval
	After    units.Duration // greater than that of the step before
}

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
	ports   open[portKey, metrics.PortWindow, *metrics.PortWindow]
	flows   open[int32, metrics.FlowWindow, *metrics.FlowWindow]
	cc      open[ccKey, metrics.CCWindow, *metrics.CCWindow]
	signals open[signalKey, metrics.SignalWindow, *metrics.SignalWindow]
	latest  units.Time // beginning of the latest one
	done    metrics.Batch
}

func newNode(number int32) *node {
	n := &node{done: metrics.Batch{Node: number}}
	n.ports.start, n.ports.merge = func(w *metrics.PortWindow) *units.Time { return &w.Start }, mergePorts
	n.flows.start, n.flows.merge = func(w *metrics.FlowWindow) *units.Time { return &w.Start }, mergeFlows
	n.cc.start, n.cc.merge = func(w *metrics.CCWindow) *units.Time { return &w.Start }, mergeCC
	n.signals.start, n.signals.merge = func(w *metrics.SignalWindow) *units.Time { return &w.Start }, mergeSignals
	return n
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
		n = newNode(b.Node)
		m.nodes[b.Node] = n
	}
	for i := range b.Ports {
		w := &b.Ports[i]
		n.ports.add(portKey{w.Node, w.Port}, m.start(n, w.Start), w, &n.done)
	}
	for i := range b.Flows {
		w := &b.Flows[i]
		n.flows.add(w.Flow, m.start(n, w.Start), w, &n.done)
	}
	for i := range b.CC {
		w := &b.CC[i]
		if fresh := n.cc.add(ccKey{w.Flow, w.Tag}, m.start(n, w.Start), w, &n.done); fresh != nil {
			fresh.Actions = slices.Clone(w.Actions) // the batch's
			slices.SortFunc(fresh.Actions, byName)
		}
	}
	for i := range b.Signals {
		w := &b.Signals[i]
		n.signals.add(signalKey{w.Flow, w.Type, w.Locator, w.Tag}, m.start(n, w.Start), w, &n.done)
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
	n.ports.close(before, &n.done)
	n.flows.close(before, &n.done)
	n.cc.close(before, &n.done)
	n.signals.close(before, &n.done)
}

// open is windows of type W that are being merged, by what they are of.
type open[K comparable, W any, R interface {
	*W
	metrics.Record
}] struct {
	start   func(*W) *units.Time
	merge   func(to, w *W)
	windows map[K]*W
	least   units.Time // no window begins before
}

// add merges a window into the one that begins at a moment, and emits the one that was open if
// that is another. It returns the window if it begins with this one, a copy.
func (o *open[K, W, R]) add(k K, at units.Time, w *W, done metrics.Sink) (fresh *W) {
	to := o.windows[k]
	if to != nil && *o.start(to) == at {
		o.merge(to, w)
		return nil
	}
	if to != nil {
		done.Emit(R(to))
	}
	if len(o.windows) == 0 {
		o.least = at
	}
	if o.windows == nil {
		o.windows = map[K]*W{}
	}
	fresh = new(W)
	*fresh = *w
	*o.start(fresh) = at
	o.windows[k], o.least = fresh, min(o.least, at)
	return fresh
}

// close emits the windows that begin before a moment, in the order of their beginnings.
func (o *open[K, W, R]) close(before units.Time, done metrics.Sink) {
	if len(o.windows) == 0 || o.least >= before {
		return
	}
	var over []*W
	o.least = units.Never
	for k, w := range o.windows {
		if at := *o.start(w); at < before {
			over = append(over, w)
			delete(o.windows, k)
		} else {
			o.least = min(o.least, at)
		}
	}
	slices.SortFunc(over, func(a, b *W) int { return cmp.Compare(*o.start(a), *o.start(b)) })
	for _, w := range over {
		done.Emit(R(w))
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
