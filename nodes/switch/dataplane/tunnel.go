package dataplane

import (
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// Tunnel makes a switch an end of tunnels: what hosts here send to hosts elsewhere enters a
// tunnel to their switch.
type Tunnel struct {
	Ends []int32 // as wire.Tunnel.Ends
	// Moves says that the switch moves the CSIG tag of a packet to the outer header and back.
	// Otherwise the tag stays inside, and one that another end has moved is lost here.
	Moves bool
}

// configureTunnel has packets pass tunnelEnd at every port.
func (s *Switch) configureTunnel() {
	if s.cfg.Tunnel == nil {
		return
	}
	for i := range s.ports {
		s.filter.Add(i)
	}
}

// tunnelEnd puts a packet that came in into a tunnel, or takes it out of the one that ends here.
func (s *Switch) tunnelEnd(in *port, p *wire.Packet) {
	t := s.cfg.Tunnel
	to := p.DestinationHost()
	if to < 0 || to >= len(t.Ends) {
		return
	}
	here := int(t.Ends[to]) == s.cfg.Node
	switch {
	case p.InTunnel():
		if !here {
			return
		}
		if p.LeaveTunnel(t.Moves) {
			s.tags[tagStripped]++
		}
	case in.LastHop && !here:
		p.EnterTunnel(t.Moves)
	default:
		return
	}
	p.Size = s.cfg.Sizes.Of(p)
}

// grew returns how much longer a packet came in than it is: what a tunnel that began or ended here
// has taken from it.
func (s *Switch) grew(p *wire.Packet) units.Size {
	t := s.cfg.Tunnel
	if t == nil {
		return 0
	}
	from := p.SourceHost()
	switch elsewhere := from >= 0 && from < len(t.Ends) && int(t.Ends[from]) != s.cfg.Node; {
	case p.InTunnel() && !elsewhere:
		return -wire.TunnelLen
	case !p.InTunnel() && elsewhere:
		return wire.TunnelLen
	}
	return 0
}
