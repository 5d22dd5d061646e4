package wire

// WeightsLen is the length of the transport header of Weights.
const WeightsLen = 48

// MostWeights is how many ports one packet of Weights has.
const MostWeights = 16

// Offsets in the transport header of Weights. That of a Postcard is as a NACK's, with the
// switch in place of the PSN.
const (
	tpSequence = 12
	tpPairs    = 16
)

// SetPostcard writes the fields of a postcard: the switch that sends it, the flow and the
// tag of the packet that brought the sample.
func (p *Packet) SetPostcard(node, flow uint32, tag []byte) {
	p.put32(p.l4()+tpPSN, node)
	p.put32(p.l4()+tpFlow, flow)
	p.SetEcho(tag)
}

// PortWeight is the weight of one egress port.
type PortWeight struct{ Port, Weight uint8 }

// WeightFields are what Weights set: at a switch, for the hosts of a rack. Of two with
// different sequences the later one counts.
type WeightFields struct {
	Node, Rack, Sequence uint32
	Count                int // of Ports
	Ports                [MostWeights]PortWeight
}

// SetWeights writes the fields of Weights.
func (p *Packet) SetWeights(f *WeightFields) {
	at := p.l4()
	p.put16(at+tpAux, uint16(f.Count))
	p.put32(at+tpPSN, f.Rack)
	p.put32(at+tpFlow, f.Node)
	p.put32(at+tpSequence, f.Sequence)
	for i := range f.Count {
		p.buf[int(at)+tpPairs+2*i], p.buf[int(at)+tpPairs+2*i+1] = f.Ports[i].Port, f.Ports[i].Weight
	}
}

// Weights returns the fields of Weights.
func (p *Packet) Weights() (f WeightFields) {
	at := p.l4()
	f.Rack, f.Node, f.Sequence = p.u32(at+tpPSN), p.u32(at+tpFlow), p.u32(at+tpSequence)
	f.Count = min(int(p.u16(at+tpAux)), MostWeights)
	for i := range f.Count {
		f.Ports[i] = PortWeight{p.buf[int(at)+tpPairs+2*i], p.buf[int(at)+tpPairs+2*i+1]}
	}
	return f
}
