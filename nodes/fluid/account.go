package fluid

import (
	"math"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/units"
)

// account is what went where. Sums are taken when a window or the measuring window ends.
type account struct {
	from   units.Time // since when flows carry what is in flow.carried
	moved  []int32    // flows that have carried something since
	listed []int32    // flows that have something in flow.window
	ports  []portAccount
	active []int32 // ports that have carried something since the window began
}

type portAccount struct {
	rate           float64 // bytes a picosecond
	window         carried
	busy, measured float64 // ps in which it was busy: in the window, and in the measuring window
}

// carried is bytes, and packets as many as they would be.
type carried struct{ line, wire, payload, packets float64 }

// load is what a message takes on the line, and what a byte of that is of its wire bytes, payload
// and packets.
type load struct{ line, wire, payload, packets float64 }

func (c *carried) add(of *carried, share float64) {
	c.line += share * of.line
	c.wire += share * of.wire
	c.payload += share * of.payload
	c.packets += share * of.packets
}

func newAccount(cfg *Config) account { return account{ports: make([]portAccount, len(cfg.Ports))} }

// carry counts bytes on the line of a flow.
func (n *Network) carry(f *flow, bytes float64) {
	if f.carried.line == 0 && bytes > 0 {
		n.moved = append(n.moved, f.number)
	}
	f.carried.line += bytes
	f.carried.wire += bytes * f.load.wire
	f.carried.payload += bytes * f.load.payload
	f.carried.packets += bytes * f.load.packets
}

// roll closes the windows that end at or before a moment, before which no rate changes.
func (n *Network) roll(to units.Time) {
	for n.sending > 0 || len(n.moved)+len(n.active) > 0 {
		end := n.from - n.from%units.Time(n.cfg.Records) + units.Time(n.cfg.Records)
		at := end
		for _, edge := range []units.Time{n.cfg.Measure.From, n.cfg.Measure.To} {
			if edge > n.from {
				at = min(at, edge)
			}
		}
		if at > to {
			return
		}
		n.sum(at)
		if at == end {
			n.emit(end.Add(-n.cfg.Records))
		}
	}
	n.from = max(n.from, to)
}

// sum adds what flows have carried since n.from to the sums of their ports and of the
// measuring window.
func (n *Network) sum(to units.Time) {
	for _, i := range n.finishing {
		n.move(&n.flows[i], to)
	}
	measured := n.cfg.Measure.Contains(n.from)
	for _, i := range n.moved {
		f := &n.flows[i]
		for _, w := range f.ways {
			if n.cfg.Ports[w.Port].Link >= 0 {
				continue // its node records it
			}
			p := &n.ports[w.Port]
			if p.window.line == 0 {
				n.active = append(n.active, w.Port)
			}
			p.window.add(&f.carried, w.Share)
			busy := w.Share * f.carried.line / p.rate
			p.busy += busy
			if measured {
				p.measured += busy
			}
		}
		if measured {
			f.measured.add(&f.carried, 1)
		}
		f.window.add(&f.carried, 1)
		f.summed += f.carried.payload
		f.carried = carried{}
		if !f.listed {
			f.listed = true
			n.listed = append(n.listed, i)
		}
	}
	n.moved, n.from = n.moved[:0], to
}

// emit emits a window, from its start.
func (n *Network) emit(start units.Time) {
	for _, i := range n.listed {
		f := &n.flows[i]
		n.sink.Emit(&metrics.FlowWindow{
			Flow: int32(f.ID), Start: start, Packets: whole(f.window.packets), WireBytes: whole(f.window.wire), PayloadBytes: whole(f.window.payload),
		})
		f.window, f.listed = carried{}, false
	}
	for _, i := range n.active {
		p := &n.ports[i]
		at := &n.cfg.Ports[i]
		n.sink.Emit(&metrics.PortWindow{
			Node: at.Node, Port: at.Port, Start: start, TxPackets: whole(p.window.packets), TxBytes: whole(p.window.wire),
			Busy: units.Duration(whole(p.busy)), ABW: metrics.Absent,
		})
		p.window, p.busy = carried{}, 0
	}
	n.listed, n.active = n.listed[:0], n.active[:0]
}

func whole(x float64) int64 { return int64(math.Round(x)) }

// close ends the last window and emits what the ports did in the measuring window.
func (n *Network) close(end units.Time) {
	n.sum(end)
	n.emit(end - 1 - (end-1)%units.Time(n.cfg.Records))
	for i := range n.ports {
		p := &n.ports[i]
		if p.measured == 0 {
			continue
		}
		m := metrics.PortMeasurement{Node: n.cfg.Ports[i].Node, Port: n.cfg.Ports[i].Port, Busy: units.Duration(whole(p.measured))}
		n.sink.Emit(&m)
	}
}
