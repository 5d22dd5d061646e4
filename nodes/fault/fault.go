// Package fault makes a machine suffer the faults that are scheduled for its node. A
// Machine stands between the driver and the machine of a host or a switch. It changes
// state at the times of its configuration and needs no help of a driver, so that faults
// are the same under every clock. A node without faults has no such Machine.
//
// What is on a link that fails is dropped where it would arrive: there the driver has
// counted it, and the trace has it. A switch drops at once what is queued for a port
// whose link is down; a host holds it until the link is up. A port whose rate changes
// ends the packet that it sends at the old rate.
//
// A change that nothing happens at is no event: a fault that ends after the last packet
// does not make a run longer. All changes up to an instant take place before anything
// else at that instant.
package fault

import (
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Rated is a machine whose ports can be given other rates. What is being sent keeps its
// time.
type Rated interface {
	node.Machine
	// SetRate sets the rate of a port from now on.
	SetRate(now units.Time, port int, rate units.Rate)
}

// Receiver is a machine that has to know at which rates packets come in.
type Receiver interface {
	// SetArrivalRate sets the rate of the packets whose first bit comes in from now on.
	SetArrivalRate(now units.Time, port int, rate units.Rate)
}

// Switch is a machine that forwards. What it drops in Discard and Restart it counts for
// its ports; the reason is the caller's to count.
type Switch interface {
	Rated
	// Discard drops what is queued for a port and returns how much it was.
	Discard(now units.Time, port int) (packets, bytes int64)
	// Restart drops what is queued for all ports and what is on its way to a queue, and
	// begins every measurement anew.
	Restart(now units.Time) (packets, bytes int64)
	// Resize gives a port other limits and thresholds for what it sends, and ResizeArrivals
	// for what comes in; see Change.Sizes.
	Resize(now units.Time, port, sizes int)
	ResizeArrivals(port, sizes int)
	// SetRoutes replaces the routes.
	SetRoutes(routes topologies.Routes)
}

// Machine is a machine with faults.
type Machine struct {
	node.Machine // that suffers them
	cfg          Config
	pool         *wire.Pool
	sink         metrics.Sink
	rated        Rated    // Machine, if it is one
	forwards     Switch   // Machine, if it is one
	receives     Receiver // Machine, if it is one

	next    units.Time // of the next change
	applied int        // changes that have taken place
	ports   []*port    // nil: a port without faults
	down    []int      // ports whose links are down, ascending

	ready node.PortSet // of Machine, without the ports that hold
	inner node.PortSet
	holds node.PortSet // ports of a host whose links are down

	totals []metrics.FaultTotals // by fault, in the order in which they begin here
}

// port is a port with faults.
type port struct {
	downs   []int32    // faults that hold the link down
	clear   units.Time // until then, what arrives was sent while the link was down
	last    int32      // the fault that ended last
	losses  []*lossy
	corrupt []*lossy
}

// New returns a machine with faults. ports is how many it has; pool and sink are those
// that it was made with, where sink is the Machine's to give to m (see Sink).
func New(cfg Config, m node.Machine, ports int, pool *wire.Pool, sink *Sink) (*Machine, error) {
	if err := cfg.check(ports); err != nil {
		return nil, err
	}
	f := &Machine{
		Machine: m, cfg: cfg, pool: pool, sink: sink.to, next: units.Never, ports: make([]*port, ports),
		ready: node.NewPortSet(ports), inner: m.Ready(), holds: node.NewPortSet(ports),
	}
	f.rated, _ = m.(Rated)
	f.forwards, _ = m.(Switch)
	f.receives, _ = m.(Receiver)
	for i := range cfg.Changes {
		c := &cfg.Changes[i]
		switch {
		case c.Kind == Rate && f.rated == nil, c.Kind == Arrival && f.receives == nil, (c.Kind == Restart || c.Kind == Routes) && f.forwards == nil:
			return nil, fmt.Errorf("node %d: fault %d: a %T cannot have it", cfg.Node, c.Fault, m)
		case c.Kind <= Corruption && f.ports[c.Port] == nil:
			f.ports[c.Port] = &port{clear: -1}
		}
		if c.Begin && c.Kind != Arrival && !slices.ContainsFunc(f.totals, func(t metrics.FaultTotals) bool { return t.Fault == c.Fault }) {
			f.totals = append(f.totals, metrics.FaultTotals{Fault: c.Fault, Reason: reasons[c.Kind]})
		}
	}
	if len(cfg.Changes) > 0 {
		f.next = cfg.Changes[0].At
	}
	sink.of = f
	copy(f.ready, f.inner)
	return f, nil
}

// Sink is the sink of a machine with faults. It adds what these dropped to the node's
// totals.
type Sink struct {
	to metrics.Sink
	of *Machine
}

// NewSink returns a Sink that passes records on.
func NewSink(to metrics.Sink) *Sink { return &Sink{to: to} }

// Emit implements metrics.Sink.
func (s *Sink) Emit(r metrics.Record) {
	if t, ok := r.(*metrics.NodeTotals); ok && s.of != nil {
		s.of.addTotals(t)
	}
	s.to.Emit(r)
}

func (f *Machine) addTotals(t *metrics.NodeTotals) {
	t.Faults = append(t.Faults, f.totals...)
	for _, one := range f.totals {
		if one.Reason == "" {
			continue // it drops nothing
		}
		i := slices.IndexFunc(t.Drops, func(c metrics.Count) bool { return c.Name == one.Reason })
		if i < 0 {
			i = len(t.Drops)
			t.Drops = append(t.Drops, metrics.Count{Name: one.Reason})
		}
		t.Drops[i].Packets += one.Arriving + one.Queued
	}
}

// Without returns the machine that suffers the faults of m, which is m itself if it is no
// Machine of this package.
func Without(m node.Machine) node.Machine {
	if f, ok := m.(*Machine); ok {
		return f.Machine
	}
	return m
}

// Touch implements node.Toucher.
func (f *Machine) Touch() int64 {
	if t, ok := f.Machine.(node.Toucher); ok {
		return t.Touch()
	}
	return 0
}

// Ready implements node.Machine.
func (f *Machine) Ready() node.PortSet { return f.ready }

// Receive implements node.Machine: it drops what the link has lost.
func (f *Machine) Receive(now units.Time, at int, p *wire.Packet) {
	if now >= f.next {
		f.advance(now)
	}
	if s := f.ports[at]; s != nil {
		if by := s.drops(now); by >= 0 {
			t := f.of(by)
			t.Arriving++
			t.Bytes += int64(p.Size)
			f.pool.Put(p)
			f.settle(now) // a change may have come with it
			return
		}
	}
	f.Machine.Receive(now, at, p)
	f.settle(now)
}

// drops returns the fault that a packet which arrives is lost by, -1 if it is not.
func (s *port) drops(now units.Time) int32 {
	switch {
	case len(s.downs) > 0:
		return s.downs[0]
	case now < s.clear:
		return s.last
	}
	// Every fault draws for every packet, so that none changes what another does.
	by := int32(-1)
	for _, l := range s.corrupt {
		if l.drops() {
			by = l.fault
		}
	}
	for _, l := range s.losses { // a packet that is lost cannot fail a check
		if l.drops() {
			by = l.fault
		}
	}
	return by
}

// Transmit implements node.Machine.
func (f *Machine) Transmit(now units.Time, at int) (*wire.Packet, units.Time, bool) {
	if now >= f.next {
		f.advance(now)
		if f.settle(now); !f.ready.Has(at) {
			return nil, 0, false
		}
	}
	p, departs, ok := f.Machine.Transmit(now, at)
	f.show()
	return p, departs, ok
}

// HandleTimeout implements node.Machine.
func (f *Machine) HandleTimeout(now units.Time) {
	if now >= f.next {
		f.advance(now)
	}
	f.Machine.HandleTimeout(now)
	f.settle(now)
}

// NextTimeout implements node.Machine. A host that holds packets goes on when a link may
// be up again. A switch with a deadline of its own may hold packets that a peer has paused,
// and these are dropped when the link goes down.
func (f *Machine) NextTimeout() units.Time {
	at := f.Machine.NextTimeout()
	if at != units.Never || f.holding() {
		return min(at, f.next)
	}
	return at
}

// holding reports whether the machine has something to send on a port that holds.
func (f *Machine) holding() bool {
	for i, word := range f.holds {
		if word&f.inner[i] != 0 {
			return true
		}
	}
	return false
}

// Close implements node.Machine.
func (f *Machine) Close(end units.Time) {
	if f.next < end {
		f.advance(end - 1)
	}
	f.Machine.Close(end)
}

// settle drops what a switch has queued for ports whose links are down, and brings Ready
// up to date.
func (f *Machine) settle(now units.Time) {
	for again := f.forwards != nil; again; { // what is dropped may make room, of which a switch tells its peers
		again = false
		for _, at := range f.down {
			if f.inner.Has(at) {
				f.discard(now, at)
				again = true
			}
		}
	}
	f.show()
}

// show brings Ready up to date.
func (f *Machine) show() {
	for i := range f.ready {
		f.ready[i] = f.inner[i] &^ f.holds[i]
	}
}

func (f *Machine) discard(now units.Time, at int) {
	packets, bytes := f.forwards.Discard(now, at)
	f.of(f.ports[at].downs[0]).AddQueued(packets, bytes)
}

// of returns the totals of a fault.
func (f *Machine) of(fault int32) *metrics.FaultTotals {
	for i := range f.totals {
		if f.totals[i].Fault == fault {
			return &f.totals[i]
		}
	}
	panic(fmt.Sprintf("fault: node %d has no fault %d", f.cfg.Node, fault))
}

// advance makes the changes up to now take place, each at its time.
func (f *Machine) advance(now units.Time) {
	for f.applied < len(f.cfg.Changes) {
		c := &f.cfg.Changes[f.applied]
		if c.At > now {
			f.next = c.At
			return
		}
		f.applied++
		f.apply(c)
	}
	f.next = units.Never
}

func (f *Machine) apply(c *Change) {
	switch c.Kind {
	case Down:
		f.setDown(c)
	case Loss:
		f.ports[c.Port].losses = f.setLossy(f.ports[c.Port].losses, c)
	case Corruption:
		f.ports[c.Port].corrupt = f.setLossy(f.ports[c.Port].corrupt, c)
	case Rate:
		f.rated.SetRate(c.At, c.Port, c.Rate)
		if f.forwards != nil {
			f.forwards.Resize(c.At, c.Port, c.Sizes)
		}
	case Arrival:
		f.receives.SetArrivalRate(c.At, c.Port, c.Rate)
		if f.forwards != nil {
			f.forwards.ResizeArrivals(c.Port, c.Sizes)
		}
	case Restart:
		packets, bytes := f.forwards.Restart(c.At)
		f.of(c.Fault).AddQueued(packets, bytes)
	case Routes:
		f.forwards.SetRoutes(c.Routes)
	}
}

func (f *Machine) setDown(c *Change) {
	s := f.ports[c.Port]
	if !c.Begin {
		s.downs = slices.DeleteFunc(s.downs, func(fault int32) bool { return fault == c.Fault })
		if len(s.downs) == 0 {
			s.clear, s.last = c.At.Add(c.Delay), c.Fault
			f.down = slices.DeleteFunc(f.down, func(at int) bool { return at == c.Port })
			f.holds.Remove(c.Port)
		}
		return
	}
	if s.downs = append(s.downs, c.Fault); len(s.downs) > 1 {
		return
	}
	f.down = append(f.down, c.Port)
	slices.Sort(f.down)
	if f.forwards == nil {
		f.holds.Add(c.Port)
	} else {
		f.discard(c.At, c.Port) // also what a peer has paused, which is not ready
	}
}

// setLossy adds the losses of a fault to a list or removes them.
func (f *Machine) setLossy(list []*lossy, c *Change) []*lossy {
	if !c.Begin {
		return slices.DeleteFunc(list, func(l *lossy) bool { return l.fault == c.Fault })
	}
	random := node.Random(f.cfg.Seed, f.cfg.Node, node.RandomFault, int(c.Fault)<<16|c.Port)
	return append(list, newLossy(c.Fault, c.Share, c.Burst, random))
}
