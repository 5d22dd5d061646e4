package host

import (
	"github.com/csiglab/csiglab/internal/fifo"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/class"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// nicClasses is the NIC of a host with several data classes, or with a lossless one: a
// round-robin of flows for each class, the order in which the classes are served, and what
// the switch has paused. The programs' frames take the turns of a flow of the default
// class.
type nicClasses struct {
	eligible  [class.Max]fifo.Queue[*flow]
	scheduler class.Scheduler
	gate      class.Gate
	totals    []metrics.ClassTotals
	frames    int64 // pause frames received
}

func newNICClasses(cfg *Config) (*nicClasses, error) {
	if cfg.Classes == nil {
		return nil, nil
	}
	if err := class.Check(cfg.Classes); err != nil {
		return nil, err
	}
	c := &nicClasses{
		scheduler: class.NewScheduler(cfg.Classes, cfg.MTU), gate: class.NewGate(cfg.Rate),
		totals: make([]metrics.ClassTotals, len(cfg.Classes)),
	}
	for k, of := range cfg.Classes {
		c.totals[k] = metrics.ClassTotals{Node: int32(cfg.Node), Port: NIC, Class: int32(k), Name: of.Name}
	}
	return c, nil
}

// classOf returns the class of what takes turns at the NIC.
func (h *Host) classOf(f *flow) int {
	if f == h.programs {
		return class.Default
	}
	return int(h.cfg.Sends[f.at].Class)
}

// dscpOf returns the DSCP of the data of a flow; 0: that of data without classes.
func (h *Host) dscpOf(f *Flow) uint8 {
	if h.classes == nil {
		return 0
	}
	return h.cfg.Classes[f.Class].DSCP
}

// enlist puts what can send at the end of its round-robin.
func (h *Host) enlist(f *flow) {
	f.queued = true
	if !h.more || h.classes == nil {
		h.eligible.Push(f)
	} else {
		h.classes.eligible[h.classOf(f)].Push(f)
	}
	h.ready.Add(NIC)
}

// receivePause takes a pause frame of the switch.
func (h *Host) receivePause(now units.Time, p *wire.Packet) {
	h.classes.frames++
	if h.classes.gate.Receive(now, p.Pause()) {
		h.ready.Add(NIC)
	}
}

// nextClass is next of a NIC with classes.
func (h *Host) nextClass(now units.Time) *wire.Packet {
	c := h.classes
	var heads class.Heads
	waiting, closed := false, c.gate.Closed()
	for k := range c.totals {
		if closed>>k&1 == 0 {
			heads[k] = h.head(now, k)
			waiting = waiting || heads[k] > 0
		}
	}
	if h.control.Len() > 0 && (!waiting || h.burst < controlBurst) {
		if waiting {
			h.burst++
		}
		return h.control.Pop()
	}
	k := c.scheduler.Next(&heads)
	if k < 0 {
		return nil
	}
	h.burst = 0
	f, _ := c.eligible[k].Pop()
	f.queued = false
	p := h.dequeue(now, f)
	c.totals[k].TxPackets++
	c.totals[k].TxBytes += int64(p.Size)
	return p
}

// head returns the size of the packet that a class would send next; 0 without one. Flows
// that can no longer send leave the round-robin. What the programs send next is taken for
// a full packet.
func (h *Host) head(now units.Time, k int) units.Size {
	for {
		f, ok := h.classes.eligible[k].Peek()
		switch {
		case !ok:
			return 0
		case f == h.programs:
			return h.cfg.MTU
		case f.CanSend() && f.PacedUntil() <= now:
			return f.NextSize()
		}
		h.classes.eligible[k].Pop()
		f.queued = false
		h.offer(now, f)
	}
}

// closeClasses emits what the classes of the NIC did.
func (h *Host) closeClasses(end units.Time) {
	c := h.classes
	for k := range c.totals {
		t := &c.totals[k]
		t.PausesReceived, t.Paused = c.gate.Frames(k), c.gate.Paused(end, k)
		if t.TxPackets|t.PausesReceived != 0 {
			h.sink.Emit(t)
		}
	}
}

// waiting returns how many flows have their turn at the NIC ahead.
func (h *Host) waiting() (n int) {
	if h.classes == nil {
		return h.eligible.Len()
	}
	for k := range h.classes.eligible {
		n += h.classes.eligible[k].Len()
	}
	return n
}
