package wire

// Node returns the switch that sent a postcard, or that Weights are for.
func (p *Packet) Node() uint32 {
	if p.Kind() == Weights {
		return p.u32(p.l4() + tpFlow)
	}
	return p.u32(p.l4() + tpPSN)
}
