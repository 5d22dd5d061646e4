package dataplane

import (
	"errors"
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/internal/fifo"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/switch/forward"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Ingress is what a port does to the tags of the frames that come in. The zero value
// leaves them alone.
type Ingress struct {
	// Outside says that the peer is outside the CSIG domain: every tag is removed,
	// whatever its type and format, also a second one and behind VLAN tags.
	Outside bool
	// Refuses are the types for which the peer is outside the domain: their tags are
	// removed, and, if there are any such types, the tags that are of no type of this
	// domain, such as those of the other format.
	Refuses [csig.Types]bool
	// RefusesSecond is Refuses of tags of the domain's second format.
	RefusesSecond [csig.Types]bool
	// Init says which frames for the data queue get a fresh tag, of those that have none
	// then, for a host that puts none on. Their types are Signals in turn, which must
	// not be empty when Init tags some.
	Init    csig.Sampling
	Signals []csig.Type
	Format  csig.Format // of these tags; none: the domain's first
}

// ingressState is what a switch has for packets on their way to a queue.
type ingressState struct {
	ecmp     forward.ECMP
	policy   forward.Policy         // nil: ecmp alone forwards
	weighted forward.Weighted       // policy, if its weights may change
	pipeline fifo.Queue[inPipeline] // packets within Delay, in order
	filter   node.PortSet           // ports at which tags that come in may be removed or put on, or tunnels end
	tpids    csig.TPIDs
	arrivals *arrivals // nil while no rate has changed
	taken    int64     // packets for the switch itself
}

// portIngress is what a port does to tags that come in.
type portIngress struct {
	edge    bool         // some are removed
	initial *csig.Domain // of those that are put on
	sampler csig.Sampler
	turn    int // index in Ingress.Signals of the next one that is put on
}

type inPipeline struct {
	packet *wire.Packet
	due    units.Time
}

// configureForwarding builds the routing policy.
func (s *Switch) configureForwarding() (err error) {
	s.ecmp = forward.NewECMP(s.cfg.Forward)
	s.policy, err = forward.New(s.cfg.Forward.Routing, forward.Switch{
		ECMP:   &s.ecmp,
		Queued: func(port int) units.Size { return s.ports[port].queued() },
		Random: node.Random(s.cfg.Seed, s.cfg.Node, node.RandomRouting, 0),

		FromHost: func(port int) bool { return s.ports[port].LastHop },
		Router:   s.cfg.Forward.Router,
		Groups:   s.cfg.Forward.Groups,
		Weights:  s.cfg.Forward.Weights,
	})
	s.weighted, _ = s.policy.(forward.Weighted)
	return err
}

// configureIngress prepares what a port does to frames that come in.
func (s *Switch) configureIngress(i int) error {
	in := &s.ports[i]
	in.edge = in.Ingress.Outside || slices.Contains(in.Ingress.Refuses[:], true) || slices.Contains(in.Ingress.RefusesSecond[:], true)
	if in.edge {
		s.filter.Add(i)
	}
	c := in.Ingress.Init
	if c.Every == 0 || s.domain.Format() == csig.FormatNone {
		return nil
	}
	if len(in.Ingress.Signals) == 0 {
		return errors.New("it puts tags on and has no signal to ask for")
	}
	for _, t := range in.Ingress.Signals {
		if !t.Known() {
			return fmt.Errorf("signal %d: unknown", uint8(t))
		}
	}
	if in.initial = s.domain.In(in.Ingress.Format); in.initial == nil {
		return fmt.Errorf("it puts tags of format %v on, which the domain does not have", in.Ingress.Format)
	}
	s.filter.Add(i)
	in.sampler = csig.NewSampler(c, node.Random(s.cfg.Seed, s.cfg.Node, node.RandomIngress, i))
	return nil
}

// Receive takes a packet from a port.
func (s *Switch) Receive(now units.Time, ingress int, p *wire.Packet) {
	if ingress == len(s.ports) {
		s.receiveTaken(now, p)
		return
	}
	p.EnqueuedAt, p.Ingress = now, uint16(ingress)
	if s.arrivals != nil {
		s.arrivals.receive(now, ingress, s.cfg.Sizes.OnLine(p))
	}
	if s.weighted != nil && p.Kind() == wire.Weights && s.applyWeights(p) {
		return
	}
	if s.classes != nil {
		if !s.receiveClass(now, ingress, p) {
			return
		}
	} else if s.filter.Has(ingress) {
		s.passEdge(now, &s.ports[ingress], p)
	}
	if s.cfg.Delay > 0 {
		s.pipeline.Push(inPipeline{p, now.Add(s.cfg.Delay)})
		return
	}
	s.forward(now, p)
}

// passEdge removes the tags of a frame that comes in from outside the domain, puts
// one on if it is the frame's turn, and has the frame pass the end of a tunnel.
func (s *Switch) passEdge(now units.Time, in *port, p *wire.Packet) {
	if s.domain != nil && p.HiddenTag() == nil {
		s.filterTags(now, in, p)
	}
	if s.cfg.Tunnel != nil {
		s.tunnelEnd(in, p)
	}
}

func (s *Switch) filterTags(now units.Time, in *port, p *wire.Packet) {
	n := 0
	if in.edge {
		n = p.RemoveTags(s.tpids, func(tag []byte) bool {
			domain := s.domain.Of(tag)
			refuses := &in.Ingress.Refuses
			if domain != s.domain {
				refuses = &in.Ingress.RefusesSecond
			}
			t, _ := domain.Peek(tag)
			return in.Ingress.Outside || !t.Known() || refuses[t]
		})
	}
	s.tags[tagRefused] += int64(n)
	if in.sampler.Every > 0 && p.Tag() == nil && p.Queues() && in.sampler.Due(now) {
		signals := in.Ingress.Signals
		in.initial.Init(p.InsertTag(in.initial.Format().Size()), signals[in.turn])
		in.turn = (in.turn + 1) % len(signals)
		s.tags[tagInitiated]++
		n++
	}
	if n > 0 {
		p.Size = s.cfg.Sizes.Of(p)
	}
}

// applyWeights consumes a packet that sets weights here; others go on.
func (s *Switch) applyWeights(p *wire.Packet) bool {
	f := p.Weights()
	if int64(f.Node) != int64(s.cfg.Node) {
		return false
	}
	s.weighted.SetWeights(&f)
	s.taken++
	s.pool.Put(p)
	return true
}

// NextTimeout is when the first packet leaves the pipeline, or a timer of flow control
// ends.
func (s *Switch) NextTimeout() units.Time {
	if s.classes != nil {
		return min(s.delayed(), s.classes.due)
	}
	return s.delayed()
}

// delayed returns when the first packet leaves the pipeline.
func (s *Switch) delayed() units.Time {
	if first, ok := s.pipeline.Peek(); ok {
		return first.due
	}
	return units.Never
}

// HandleTimeout forwards the packets that leave the pipeline, and serves the timers of
// flow control.
func (s *Switch) HandleTimeout(now units.Time) {
	for s.delayed() <= now {
		first, _ := s.pipeline.Pop()
		s.forward(now, first.packet)
	}
	if s.classes != nil && now >= s.classes.due {
		s.flowControl(now)
	}
}

// forward puts a packet into a queue of the port that it leaves through.
func (s *Switch) forward(now units.Time, p *wire.Packet) {
	var egress int
	var ok bool
	if s.policy == nil {
		egress, ok = s.ecmp.Forward(p)
	} else {
		egress, ok = s.policy.Forward(p)
	}
	if !ok {
		s.releaseIngress(now, p)
		s.discard(dropNoRoute, p)
		return
	}
	out := &s.ports[egress]
	if p.Kind() != wire.Raw {
		if !p.DecrementTTL() {
			s.releaseIngress(now, p)
			s.discard(dropTTL, p)
			return
		}
		p.CopyMACs(&out.macs)
	}
	out.record.Enqueue(int64(p.Size))
	s.ready.Add(egress)
	if !p.Queues() {
		s.enqueueControl(now, out, p)
		return
	}
	if s.classes != nil {
		s.enqueueClass(now, out, p)
		return
	}
	if s.cfg.AtArrival {
		p.Ahead = out.queueWithFluid(now)
	}
	if !out.dataFits(now, p) {
		if p = s.overflow(now, out, p); p == nil {
			return
		}
	}
	out.buffer.PushData(p)
	if m := out.mixture; m != nil {
		m.push(now, out.line.Takes(s.cfg.Sizes.OnLine(p)))
	}
	out.record.Depth(now, int64(out.queueWithFluid(now)))
}

// SetRoutes replaces the routes. The hash that spreads flows stays.
func (s *Switch) SetRoutes(routes topologies.Routes) {
	c := s.cfg.Forward
	c.Routes = routes
	s.ecmp = forward.NewECMP(c) // where the policy looks too
}
