package host

import (
	"github.com/csiglab/csiglab/nodes/fluid"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// postFluid hands a message of a flow that is none of this host's transport to the fluid network,
// and the bytes of its phase; size 0 stands for a transfer, the size of which the network knows.
func (h *Host) postFluid(flow uint32, size, total units.Size) {
	var room [3]fluid.Posted
	for _, p := range fluid.Post(room[:0], flow, size, total) {
		h.sendControl(h.cfg.Fluid, p.Flow, p.Code)
	}
}

// noticeFluid takes what the fluid network tells of such a flow.
func (h *Host) noticeFluid(now units.Time, p *wire.Packet) {
	n := fluid.ReadNotice(p.Flow(), p.PSN())
	switch {
	case n.Received && n.Transfer:
		h.player.OnReceived(now, int(n.Flow))
	case n.Received:
		h.player.OnMessageReceived(now, int(n.Flow), n.Messages)
	case n.Transfer:
		h.player.OnSent(now, int(n.Flow))
	default:
		h.player.OnMessageSent(now, int(n.Flow), n.Messages)
	}
	h.flush()
}
