package dataplane

import (
	"slices"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/switch/meter"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// DelayMode is what the per-hop delay signal holds.
type DelayMode uint8

// Delay modes. Residence is first bit in to first bit out: serialisation at the
// rate at which the packet came in, the switch's own delay and waiting (a 4150 B packet that
// comes from a 100 Gb/s link through an idle switch: 332 ns). Wait is the time in
// the queue. The sources say time in the switch with its pipeline (IETF, IEEE), or queueing (tutorial);
// the published ratio of three-flow needs the first.
const (
	Residence DelayMode = iota
	Wait
)

// String returns the name.
func (m DelayMode) String() string { return delayModes[m] }

// UnmarshalText implements encoding.TextUnmarshaler: residence or wait.
func (m *DelayMode) UnmarshalText(text []byte) error {
	return spelling.Enum(m, "delay mode", text, delayModes)
}

var delayModes = []string{"residence", "wait"}

// Names returns the names, in the order of their values.
func (DelayMode) Names() []string { return slices.Clone(delayModes) }

// meters is what a port measures.
type meters struct {
	abw   meter.Bandwidth
	depth meter.Depth
	sums  *meter.Sums // nil: no module has registered a signal
}

// newBandwidth returns the meter of a port.
func (s *Switch) newBandwidth(port int) meter.Bandwidth {
	return meter.NewBandwidth(s.cfg.Ports[port].Rate, s.domain.Interval(), s.cfg.CSIG.Meter, s.phase(port))
}

// newSums returns what a port counts for the signals of modules; nil if there are none. The
// windows are those of its bandwidth meter.
func (s *Switch) newSums(port int) *meter.Sums {
	if len(csig.Registered()) == 0 {
		return nil
	}
	sums := meter.NewSums(s.domain.Interval(), s.cfg.CSIG.Meter, s.phase(port))
	return &sums
}

// phase returns where the windows of a port's meters begin. It comes from a generator of
// its own, so that it changes no other decision of a run.
func (s *Switch) phase(port int) units.Duration {
	if s.cfg.CSIG.Phase != meter.Seeded {
		return 0
	}
	return units.Duration(node.Random(s.cfg.Seed, s.cfg.Node, node.RandomMeter, port).Int64N(int64(s.domain.Interval())))
}

// countSent counts a packet that begins to leave.
func (out *port) countSent(now units.Time, p *wire.Packet, size units.Size) {
	out.sums.Count(now, meter.Sent, size)
	if p.Trimmed() {
		out.sums.Count(now, meter.TrimmedSent, size)
	}
}

// signal returns the port's own value of a signal at now, in the raw unit of its
// type. The packet starts to leave at starts; the delay is the time until then.
func (s *Switch) signal(now, starts units.Time, out *port, t csig.Type, p *wire.Packet) uint64 {
	switch t {
	case csig.ABW:
		if out.classPort != nil && out.shares != nil {
			return out.shares[s.classOf(p)].Available(now)
		}
		return out.abw.Available(now)
	case csig.ABWC:
		if out.classPort != nil && out.shares != nil {
			return out.shares[s.classOf(p)].Relative(now)
		}
		return out.abw.Relative(now)
	case csig.NQD:
		switch {
		case s.cfg.AtArrival:
			return out.depth.PPM(p.Ahead)
		case out.classPort != nil:
			return s.depthOf(out, p)
		}
		return out.depth.PPM(out.queueWithFluid(now))
	case csig.Delay:
		return uint64(s.delay(starts, p) / units.Nanosecond)
	}
	return s.registeredSignal(now, starts, out, t, p)
}

// delay returns the per-hop delay of a packet that starts to leave at starts.
func (s *Switch) delay(starts units.Time, p *wire.Packet) units.Duration {
	if s.cfg.CSIG.Delay == Residence {
		// The packet arrived with its last bit.
		return starts.Sub(p.EnqueuedAt) + s.cameIn(p)
	}
	return s.waited(starts, p)
}

// cameIn returns how long a packet took from its first bit in to its last.
func (s *Switch) cameIn(p *wire.Packet) units.Duration {
	size := s.cfg.Sizes.OnLine(p) + s.grew(p)
	if s.arrivals != nil {
		return s.arrivals.takes(p.EnqueuedAt, int(p.Ingress), size)
	}
	return s.ports[p.Ingress].line.Takes(size) // the peer sends at the same rate
}

// waited returns the time that a packet was, until now, in the queue of its egress
// port.
func (s *Switch) waited(now units.Time, p *wire.Packet) units.Duration {
	return now.Sub(p.EnqueuedAt) - s.cfg.Delay
}

// registeredSignal is signal of a type that a module has registered.
func (s *Switch) registeredSignal(now, starts units.Time, out *port, t csig.Type, p *wire.Packet) uint64 {
	in := &s.inputs
	*in = csig.Inputs{
		Rate: out.Rate, Available: s.signal(now, starts, out, csig.ABW, p), Interval: out.sums.Interval(),
		Sent: out.sums.Bytes(now, meter.Sent), TrimmedSent: out.sums.Bytes(now, meter.TrimmedSent),
		Trimmed: out.sums.Bytes(now, meter.Trimmed), Dropped: out.sums.Bytes(now, meter.Dropped),
		Size: p.Size, Residence: s.delay(starts, p), Waited: s.waited(starts, p),
	}
	in.Queue, _ = s.queueOf(out, p)
	if in.Limit = out.Buffer.Data; out.classPort != nil {
		in.Limit = out.class[s.classOf(p)].Queue
	}
	return t.Value(in)
}

// configureShares gives the classes of a port their own available bandwidth.
func (s *Switch) configureShares(i int) {
	p := &s.ports[i]
	if s.cfg.CSIG.Available == meter.Raw || p.classPort == nil {
		return
	}
	for k := range s.classes.cfg.List {
		p.shares = append(p.shares, meter.NewShare(p.abw, s.shareOf(k)))
	}
}

// shareOf returns what a class shares a port with.
func (s *Switch) shareOf(k int) (cfg meter.ShareConfig) {
	list := s.classes.cfg.List
	if s.cfg.CSIG.Available == meter.PauseAware {
		return meter.ShareConfig{Before: 1<<len(list) - 1}
	}
	cfg.Class = k
	for j, c := range list {
		if c.Strict && (!list[k].Strict || c.Order <= list[k].Order) {
			cfg.Before |= 1 << j
		}
	}
	if !list[k].Strict {
		cfg.Weights = make([]int, len(list))
		for j, c := range list {
			if !c.Strict {
				cfg.Weights[j] = c.Weight
			}
		}
	}
	return cfg
}

// countShares counts a packet that leaves.
func (s *Switch) countShares(now, departs units.Time, out *port, p *wire.Packet, size units.Size) {
	k := meter.Control
	if p.Queues() {
		k = s.classOf(p)
	}
	for i := range out.shares {
		out.shares[i].Transmit(now, departs, size, k)
	}
}

// gateChanged says what the gate of a port has closed and opened since it was as before.
func (out *port) gateChanged(now units.Time, before uint8) {
	for k := range out.shares {
		switch was, is := before>>k&1, out.pfc.gate.Closed()>>k&1; {
		case is > was:
			out.shares[k].Pause(now)
		case is < was:
			out.shares[k].Resume(now)
		}
	}
}
