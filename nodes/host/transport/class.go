package transport

import (
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// setClass gives a packet the DSCP of the flow's data class.
func (h *headers) setClass(p *wire.Packet) {
	if h.dscp != 0 {
		p.SetDSCP(h.dscp)
	}
}

// NextSize returns the wire size of the packet that Send would write, a tag not counted. It
// may be called after CanSend.
func (s *Sender) NextSize() units.Size {
	if psn, ok := s.nextRefused(); ok {
		return s.sizeOf(psn)
	}
	return s.nextSize()
}
