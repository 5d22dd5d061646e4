// Package buffer is the buffer of a switch's egress port: a data queue and a
// control queue with strict priority, each with a limit in wire bytes. What to
// do when a packet does not fit is the dataplane's business.
package buffer

import (
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// Limits are the sizes of the two queues. The queue of a data class has Data and Hard.
type Limits struct {
	Data, Control units.Size
	// Hard is how long the data queue may become with packets that cannot be trimmed, where
	// Data is the threshold of trimming; 0: no longer than Data.
	Hard units.Size
}

// Longest returns how long the data queue may become.
func (l Limits) Longest() units.Size { return max(l.Data, l.Hard) }

// Port is the buffer of one egress port.
type Port struct {
	data, control wire.Queue
	limits        Limits
}

// NewPort returns an empty buffer.
func NewPort(l Limits) Port { return Port{limits: l} }

// SetLimits sets the limits. What is queued beyond them stays.
func (b *Port) SetLimits(l Limits) { b.limits = l }

// Touch reads ahead what is popped next (wire.Packet.Touch).
func (b *Port) Touch() int64 { return b.data.Touch() + b.control.Touch() }

// DataFits reports whether the data queue has room for p.
func (b *Port) DataFits(p *wire.Packet) bool { return b.data.Bytes()+p.Size <= b.limits.Data }

// HardFits reports whether the data queue has room for a packet that cannot be trimmed.
func (b *Port) HardFits(p *wire.Packet) bool { return b.data.Bytes()+p.Size <= b.limits.Longest() }

// ControlFits reports whether the control queue has room for p.
func (b *Port) ControlFits(p *wire.Packet) bool { return b.control.Bytes()+p.Size <= b.limits.Control }

// PushData puts p at the tail of the data queue, whether it fits or not.
func (b *Port) PushData(p *wire.Packet) { b.data.Push(p) }

// PushControl puts p at the tail of the control queue, whether it fits or not.
func (b *Port) PushControl(p *wire.Packet) { b.control.Push(p) }

// PopDataTail takes back the data packet that was pushed last; nil without one.
func (b *Port) PopDataTail() *wire.Packet { return b.data.PopTail() }

// Pop takes the next packet to send, control first; nil when empty. fromData
// tells which queue it was in.
func (b *Port) Pop() (p *wire.Packet, fromData bool) {
	if p := b.control.Pop(); p != nil {
		return p, false
	}
	return b.data.Pop(), true
}

// PopControl takes the next control packet; nil without one.
func (b *Port) PopControl() *wire.Packet { return b.control.Pop() }

// ControlLen returns the packets in the control queue.
func (b *Port) ControlLen() int { return b.control.Len() }

// Data returns the wire bytes in the data queue.
func (b *Port) Data() units.Size { return b.data.Bytes() }

// DataLen returns the packets in the data queue.
func (b *Port) DataLen() int { return b.data.Len() }

// Len returns the packets in both queues.
func (b *Port) Len() int { return b.data.Len() + b.control.Len() }

// Bytes returns the wire bytes in both queues.
func (b *Port) Bytes() units.Size { return b.data.Bytes() + b.control.Bytes() }
