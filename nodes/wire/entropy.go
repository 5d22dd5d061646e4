package wire

// Entropy values live in the UDP source port, in the dynamic range.
const (
	EntropyBase  = 49152
	EntropyRange = 16384
)

// SourcePort returns the UDP source port that carries an entropy value:
// 49152 + ((hash(flow) + EV) mod 16384).
func SourcePort(flow uint32, ev uint16) uint16 {
	return EntropyBase + uint16((uint64(EntropyOffset(flow))+uint64(ev))%EntropyRange)
}

// EntropyOf is the inverse of SourcePort.
func EntropyOf(flow uint32, port uint16) uint16 {
	return uint16((uint64(port) - EntropyBase - uint64(EntropyOffset(flow))) % EntropyRange)
}

// EntropyOffset returns where in the range a flow's EV 0 is.
func EntropyOffset(flow uint32) uint16 {
	const letters = 0x63736967 // csig: a stream of its own
	return uint16(Mix(uint64(flow), letters) % EntropyRange)
}
