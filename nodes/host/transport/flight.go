package transport

import (
	"math/bits"

	"github.com/csiglab/csiglab/internal/fifo"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// flight is what a flow has sent: the PSNs below next.
type flight struct {
	common      *Common
	next        uint32             // first PSN not sent yet
	cum         uint32             // every PSN below is acknowledged
	ring        []slot             // PSN p in [cum, next) is at p & (len-1); nil when the flow is done
	outstanding units.Size         // wire bytes of PSNs in that state
	known       units.Size         // wire bytes of PSNs known to be received
	reported    units.Size         // wire bytes that the receiver says it has
	rtx         fifo.Queue[uint32] // PSNs to send again, and some acknowledged meanwhile
}

// A packet of the window is in one of these states. The life of a PSN:
//
//	unsent -> outstanding -> acked
//	             |   ^         ^
//	  NACK, RTO  v   | resent  | ACK of an earlier copy
//	          refused ---------+
type state uint8

const (
	unsent state = iota
	outstanding
	refused // waits for its retransmission
	acked
)

type slot struct {
	sentAt        units.Time
	ev            uint16 // entropy value of the last transmission
	short         uint16 // bytes that it lacks of a full packet
	transmissions uint8
	state         state
	end           bool // the last packet of a message
}

func (f *flight) slot(psn uint32) *slot { return &f.ring[psn&uint32(len(f.ring)-1)] }

func (f *flight) grow() {
	old := f.ring
	f.ring = make([]slot, max(1, 2*len(old)))
	for psn := f.cum; psn < f.next-1; psn++ {
		*f.slot(psn) = old[psn&uint32(len(old)-1)]
	}
}

// sizeOf returns the wire size of a PSN that has been sent and is not acknowledged, its tag
// not counted: windows are in bytes of the packet that the transport made.
func (f *flight) sizeOf(psn uint32) units.Size {
	return f.common.MTU - units.Size(f.slot(psn).short)
}

// Inflight returns the wire bytes that are sent, neither known to have arrived
// nor given up. The receiver's byte count is ahead of the PSNs that its ACKs
// name when packets are reordered; it counts too.
func (f *flight) Inflight() units.Size {
	return max(0, f.outstanding-max(0, f.reported-f.known))
}

// nextRefused returns the first PSN that waits for retransmission, passing over
// those whose earlier copy has been acknowledged meanwhile.
func (f *flight) nextRefused() (uint32, bool) {
	for {
		psn, ok := f.rtx.Peek()
		if !ok || psn >= f.cum && f.slot(psn).state == refused {
			return psn, ok
		}
		f.rtx.Pop()
	}
}

// dated reports whether it is known when the packet psn was sent that came back: it
// is in the window, and it is clear which transmission it was, the first or the only
// retransmission (Karn's rule, relaxed by the echo).
func (f *flight) dated(psn uint32, echo bool) bool {
	if psn < f.cum || psn >= f.next {
		return false
	}
	n := f.slot(psn).transmissions
	return n == 1 && !echo || n == 2 && echo
}

// acknowledge takes what an ACK says and returns how many packets it is the first to
// acknowledge.
func (f *flight) acknowledge(a wire.AckFields) (n int) {
	for psn := f.cum; psn < a.Cumulative && psn < f.next; psn++ {
		n += f.markAcked(psn)
	}
	for rest := a.SackBits; rest != 0; rest &= rest - 1 {
		n += f.markAcked(a.SackBase + uint32(bits.TrailingZeros64(rest)))
	}
	n += f.markAcked(a.Acked)
	for f.cum < f.next && f.slot(f.cum).state == acked {
		f.cum++
	}
	return n
}

func (f *flight) markAcked(psn uint32) int {
	if psn < f.cum || psn >= f.next {
		return 0
	}
	sl := f.slot(psn)
	switch sl.state {
	case acked:
		return 0
	case outstanding:
		f.outstanding -= f.sizeOf(psn)
	}
	sl.state = acked
	f.known += f.sizeOf(psn)
	return 1
}

func (f *flight) refuse(psn uint32) {
	f.slot(psn).state = refused
	f.outstanding -= f.sizeOf(psn)
	f.rtx.Push(psn)
}

// goBack has everything sent again from a PSN on, in order. What comes before it has
// arrived if the receiver says so: that is for ACKs to tell.
func (f *flight) goBack(psn uint32) {
	for f.rtx.Len() > 0 {
		f.rtx.Pop()
	}
	for p := f.cum; p < f.next; p++ {
		switch sl := f.slot(p); {
		case sl.state == outstanding && p >= psn:
			f.refuse(p)
		case sl.state == refused:
			f.rtx.Push(p)
		}
	}
}

// oldest returns the outstanding packet sent first.
func (f *flight) oldest() (at units.Time, psn uint32) {
	at = units.Never
	for p := f.cum; p < f.next; p++ {
		if sl := f.slot(p); sl.state == outstanding && sl.sentAt < at {
			at, psn = sl.sentAt, p
		}
	}
	return at, psn
}
