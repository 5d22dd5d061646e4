package dataplane

import (
	"slices"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/switch/aqm"
	"github.com/csiglab/csiglab/nodes/switch/buffer"
	"github.com/csiglab/csiglab/nodes/switch/meter"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// PortDown is what a switch does beside dropping a data packet for a port that is down.
type PortDown uint8

// What a switch does.
const (
	Silent PortDown = iota
	Notify          // return a NACK to the sender at once, with the port's locator
)

// String returns the name.
func (p PortDown) String() string { return portDowns[p] }

// UnmarshalText implements encoding.TextUnmarshaler: silent or notify.
func (p *PortDown) UnmarshalText(text []byte) error {
	return spelling.Enum(p, "way to treat packets for a port that is down", text, portDowns)
}

var portDowns = []string{Silent: "silent", Notify: "notify"}

// Names returns the names, in the order of their values.
func (PortDown) Names() []string { return slices.Clone(portDowns) }

// SetRate gives a port another rate, at most that of its configuration, from now on. The
// port knows its rate: available bandwidth is measured against it. The limits of its
// buffer and the thresholds and parameters of its AQM stay, until Resize.
func (s *Switch) SetRate(now units.Time, egress int, rate units.Rate) {
	s.arrivalsOf() // which the port's own rate says no longer
	out := &s.ports[egress]
	out.own().Rate = rate
	out.line = units.NewSerialiser(rate)
	if s.domain != nil {
		out.record.Advance(now)
		out.abw.SetRate(now, rate)
		if s.truth != nil {
			s.truth.exact[egress].SetRate(rate)
		}
		s.newDepths(out)
		if out.classPort != nil {
			for k := range out.shares {
				out.shares[k].SetRate(now, rate)
			}
		}
	}
	if out.mixture != nil {
		s.take(now, egress, out.mixture.taken)
	}
}

// Discard drops what is queued for a port, pause frames too, and returns how much it was.
// With PortDown Notify those who sent it hear of it.
func (s *Switch) Discard(now units.Time, egress int) (packets, bytes int64) {
	packets, bytes, returns := s.discardQueued(now, egress, s.cfg.PortDown == Notify)
	for _, p := range returns {
		s.made++
		p.EnqueuedAt = now
		s.forward(now, p)
	}
	return packets, bytes
}

// discardQueued drops what is queued for a port. It returns the notices for those who
// sent it, if they are to hear of it.
func (s *Switch) discardQueued(now units.Time, egress int, notify bool) (packets, bytes int64, returns []*wire.Packet) {
	out := &s.ports[egress]
	drop := func(p *wire.Packet) {
		packets++
		bytes += int64(p.Size)
		out.record.Drop(now, int64(p.Size))
		if notify && p.Returns() {
			q := s.pool.Get()
			q.BuildReturn(p, s.locatorFor(out, p), s.cfg.Sizes)
			q.Ingress = p.Ingress
			returns = append(returns, q)
		}
		s.pool.Put(p)
	}
	if out.classPort != nil {
		s.discardClasses(now, egress, drop)
		return packets, bytes, returns
	}
	for p, _ := out.buffer.Pop(); p != nil; p, _ = out.buffer.Pop() {
		drop(p)
	}
	out.record.Depth(now, 0)
	s.ready.Remove(egress)
	return packets, bytes, returns
}

// locatorFor returns the locator of a port for the sender of a packet. In a fabric of two
// formats it is that of the packet's format, and none for a packet without a tag: the switch
// does not know how the sender numbers ports.
func (s *Switch) locatorFor(out *port, p *wire.Packet) uint16 {
	if s.domain == nil || s.domain.Second() == nil {
		return out.Locator
	}
	tag := p.Tag()
	if tag == nil {
		return 0
	}
	_, locator, _ := s.formatOf(out, tag)
	return locator
}

// discardClasses is Discard of a port with classes. The peer hears of what it was to be
// told when the next pause frame is due.
func (s *Switch) discardClasses(now units.Time, egress int, drop func(*wire.Packet)) {
	out := &s.ports[egress]
	if out.pfc.pending() != 0 {
		p := s.makePause(now, egress)
		out.record.Enqueue(int64(p.Size))
		drop(p)
	}
	for p := out.buffer.PopControl(); p != nil; p = out.buffer.PopControl() {
		drop(p)
	}
	for p, k := out.queues.Pop(0); p != nil; p, k = out.queues.Pop(0) {
		s.countDequeued(out, k, p)
		out.class[k].record.Drop(int64(p.Size))
		s.recordDepth(now, out, k)
		s.releaseIngress(now, p)
		drop(p)
	}
	if out.pfc.pending() == 0 {
		s.ready.Remove(egress)
	}
}

// Restart drops what is queued for all ports and what has not reached a queue yet, and
// returns how much it was. Meters and AQM policies begin anew, as those of a new switch.
func (s *Switch) Restart(now units.Time) (packets, bytes int64) {
	for first, ok := s.pipeline.Pop(); ok; first, ok = s.pipeline.Pop() {
		packets++
		bytes += int64(first.packet.Size)
		s.releaseIngress(now, first.packet)
		s.pool.Put(first.packet)
	}
	for i := range s.ports {
		p, b, _ := s.discardQueued(now, i, false) // a switch that restarts says nothing
		packets, bytes = packets+p, bytes+b
		out := &s.ports[i]
		s.newPolicies(i)
		if s.domain != nil {
			out.record.Advance(now)
			out.abw, out.sums = out.abw.Restart(now, s.newBandwidth(i)), s.newSums(i)
			if out.classPort != nil {
				for k := range out.shares {
					out.shares[k].Restart(now, s.newBandwidth(i))
				}
			}
			if s.truth != nil {
				s.truth.exact[i].Restart()
			}
			out.turn = 0
		}
	}
	return packets, bytes
}

// PortSizes is what a port gets with another rate of its link, as in Port and Config. No
// limit of a queue is above the port's own.
type PortSizes struct {
	Buffer  buffer.Limits
	ECN     aqm.Thresholds
	AQM     algorithm.Values
	Classes []ClassSizes // as Config.Classes.List; nil without
}

// ClassSizes is PortSizes of a class.
type ClassSizes struct {
	PortClass
	AQM algorithm.Values
}

// sizesOf returns the sizes of a port: its own for 0, or those of Config.Resized[k-1].
func (s *Switch) sizesOf(port, k int) PortSizes {
	if k > 0 {
		return s.cfg.Resized[k-1]
	}
	own := &s.cfg.Ports[port]
	sizes := PortSizes{Buffer: own.Buffer, ECN: own.ECN, AQM: s.cfg.AQM.Params}
	for i := range own.Classes {
		sizes.Classes = append(sizes.Classes, ClassSizes{own.Classes[i], s.classes.cfg.AQM[i].Params})
	}
	return sizes
}

// Resize gives a port the limits of its queues, the thresholds and the parameters of AQM of
// Config.Resized[k-1], or its own for 0. What is queued beyond a limit stays. AQM policies
// begin anew. The headroom of lossless classes becomes no smaller: what it is for may be on
// its way.
func (s *Switch) Resize(now units.Time, egress, k int) {
	if s.resized == nil {
		if k == 0 {
			return
		}
		s.resized = make([]int, len(s.ports))
	}
	if s.resized[egress] == k {
		return
	}
	s.resized[egress] = k
	out, sizes := &s.ports[egress], s.sizesOf(egress, k)
	own := out.own()
	own.Buffer, own.ECN = sizes.Buffer, sizes.ECN
	out.buffer.SetLimits(sizes.Buffer)
	s.newPolicies(egress)
	for i := range sizes.Classes {
		c, to := &out.class[i], &sizes.Classes[i]
		c.Limits, c.Queue, c.ECN = to.Limits, to.Queue, to.ECN
		c.ingress.Limits.Headroom = max(c.ingress.Limits.Headroom, to.Ingress.Headroom)
	}
	s.newDepths(out)
}

// ResizeArrivals gives the lossless classes of a port the thresholds of pausing of
// Config.Resized[k-1], or their own for 0.
func (s *Switch) ResizeArrivals(ingress, k int) {
	in := &s.ports[ingress]
	for i, to := range s.sizesOf(ingress, k).Classes {
		limits := &in.class[i].ingress.Limits
		limits.XOff, limits.XOn = to.Ingress.XOff, to.Ingress.XOn
	}
}

// newPolicies gives a port fresh AQM policies for its sizes of now.
func (s *Switch) newPolicies(port int) {
	out, k := &s.ports[port], 0
	if s.resized != nil {
		k = s.resized[port]
	}
	sizes := s.sizesOf(port, k)
	policy, _ := aqm.Table.Lookup(s.cfg.AQM.Name)
	out.aqm = s.newPolicy(policy, sizes.AQM, out, sizes.Buffer.Data, sizes.ECN)
	for i := range sizes.Classes {
		c := &sizes.Classes[i]
		out.class[i].aqm = s.newPolicy(s.classes.policies[i], c.AQM, out, c.Queue, c.ECN)
	}
}

// newPolicy returns an AQM policy with parameters that have been checked.
func (s *Switch) newPolicy(a aqm.Algorithm, params algorithm.Values, out *port, queue units.Size, ecn aqm.Thresholds) aqm.Policy {
	p, err := a.New(aqm.Port{Rate: out.Rate, Queue: queue, ECN: ecn, Random: out.random}, params)
	if err != nil {
		panic("dataplane: " + err.Error())
	}
	return p
}

// newDepths has a port compare the depths of its queues with its sizes and its rate of now.
func (s *Switch) newDepths(out *port) {
	if s.domain == nil {
		return
	}
	out.depth = meter.NewDepth(s.cfg.CSIG.Depth, out.Buffer.Data, out.Rate, s.cfg.CSIG.Tau)
	if out.classPort != nil {
		for k := range out.class {
			out.class[k].depth = meter.NewDepth(s.cfg.CSIG.Depth, out.class[k].Queue, out.Rate, s.cfg.CSIG.Tau)
		}
	}
}
