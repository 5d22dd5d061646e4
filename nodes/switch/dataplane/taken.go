package dataplane

import (
	"math"

	"github.com/csiglab/csiglab/internal/fifo"
	"github.com/csiglab/csiglab/nodes/fluid"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// mixture is the data queue of a port that packets share with flows of a fluid. What of the fluid
// comes while packets wait, waits behind them: the queue of both shrinks at the rate that the fluid
// leaves, and a packet waits for what is before it at the port's rate. Faults that drop what is
// queued are not for such ports.
type mixture struct {
	taken  units.Rate // by the fluid
	left   float64    // part of the port's rate that it leaves
	work   float64    // ps that the queue takes, at a time
	at     units.Time
	starts fifo.Queue[units.Time] // of the packets in the queue, from the first on
}

// wait returns how long a packet waits that comes at now.
func (m *mixture) wait(now units.Time) float64 {
	if now > m.at {
		m.work = max(0, m.work-m.left*float64(now.Sub(m.at)))
		m.at = now
	}
	return m.work
}

// push adds a packet to the end of the queue.
func (m *mixture) push(now units.Time, takes units.Duration) {
	m.starts.Push(now.Add(units.Duration(math.Round(m.wait(now)))))
	m.work += float64(takes)
}

// popTail takes the last packet out of the queue.
func (m *mixture) popTail(takes units.Duration) {
	m.starts.PopTail()
	m.work = max(0, m.work-float64(takes))
}

// pop takes the first packet, which can start at now, and returns when it starts.
func (m *mixture) pop(now units.Time) units.Time {
	starts, _ := m.starts.Pop()
	return max(now, starts)
}

// receiveTaken takes what the fluid network says of a port: how much of its rate goes to flows
// that are no packets.
func (s *Switch) receiveTaken(now units.Time, p *wire.Packet) {
	if port, rate, ok := fluid.ReadTaken(p); ok && port < len(s.ports) {
		s.take(now, port, rate)
	}
	s.pool.Put(p)
}

// take has flows of a fluid have so much of a port's rate from now on. Available bandwidth is what
// is left.
func (s *Switch) take(now units.Time, egress int, rate units.Rate) {
	out := &s.ports[egress]
	if out.mixture == nil {
		out.mixture = &mixture{work: float64(out.line.Takes(out.buffer.Data())), at: now}
		for range out.buffer.DataLen() {
			out.mixture.starts.Push(now)
		}
	}
	m, left := out.mixture, fluid.Left(out.Rate, rate)
	m.wait(now)
	m.taken, m.left = rate, float64(left)/float64(out.Rate)
	out.record.Beside(now, s.cfg.Fluid.Beside(out.Rate, rate))
	if s.domain != nil {
		out.abw.Take(now, out.Rate-left)
		if s.truth != nil {
			s.truth.exact[egress].Take(out.Rate - left)
		}
	}
}

// queueWithFluid returns the bytes in the data queue of a port without classes, with those of a fluid.
func (out *port) queueWithFluid(now units.Time) units.Size {
	m := out.mixture
	if m == nil || out.buffer.DataLen() == 0 {
		return out.buffer.Data()
	}
	return max(out.buffer.Data(), units.Size(m.wait(now)*float64(out.Rate)/8/float64(units.Second)))
}

// dataFits reports whether the data queue of a port without classes has room for a packet, with what
// is in it of a fluid.
func (out *port) dataFits(now units.Time, p *wire.Packet) bool {
	return out.buffer.DataFits(p) && (out.mixture == nil || out.queueWithFluid(now)+p.Size <= out.Buffer.Data)
}

// hardFits is dataFits up to the hard limit.
func (out *port) hardFits(now units.Time, p *wire.Packet) bool {
	return out.buffer.HardFits(p) && (out.mixture == nil || out.queueWithFluid(now)+p.Size <= out.Buffer.Longest())
}
