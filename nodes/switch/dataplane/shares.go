package dataplane

import (
	"github.com/csiglab/csiglab/nodes/switch/meter"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// configureShares gives the classes of a port their own available bandwidth.
func (s *Switch) configureShares(i int) {
	p := &s.ports[i]
	if s.cfg.CSIG.Available == meter.Raw || p.classPort == nil {
		return
	}
	for k := range s.classes.cfg.List {
		p.shares = append(p.shares, meter.NewShare(p.abw, s.shareOf(k)))
	}
}

// shareOf returns what a class shares a port with.
func (s *Switch) shareOf(k int) (cfg meter.ShareConfig) {
	list := s.classes.cfg.List
	if s.cfg.CSIG.Available == meter.PauseAware {
		return meter.ShareConfig{Before: 1<<len(list) - 1}
	}
	cfg.Class = k
	for j, c := range list {
		if c.Strict && (!list[k].Strict || c.Order <= list[k].Order) {
			cfg.Before |= 1 << j
		}
	}
	if !list[k].Strict {
		cfg.Weights = make([]int, len(list))
		for j, c := range list {
			if !c.Strict {
				cfg.Weights[j] = c.Weight
			}
		}
	}
	return cfg
}

// countShares counts a packet that leaves.
func (s *Switch) countShares(now, departs units.Time, out *port, p *wire.Packet, size units.Size) {
	k := meter.Control
	if p.Queues() {
		k = s.classOf(p)
	}
	for i := range out.shares {
		out.shares[i].Transmit(now, departs, size, k)
	}
}

// gateChanged says what the gate of a port has closed and opened since it was as before.
func (out *port) gateChanged(now units.Time, before uint8) {
	for k := range out.shares {
		switch was, is := before>>k&1, out.pfc.gate.Closed()>>k&1; {
		case is > was:
			out.shares[k].Pause(now)
		case is < was:
			out.shares[k].Resume(now)
		}
	}
}
