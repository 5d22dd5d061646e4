package transport

import (
	"github.com/csiglab/csiglab/internal/fifo"
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
