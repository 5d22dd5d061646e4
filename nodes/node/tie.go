package node

import (
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// TieKey orders packets that arrive at a node at the same instant: drivers call
// Receive ascending by (TieKey, port, link sequence). Every seed gives another
// permutation of the ports at each instant; seed 0 gives 0, which leaves the
// order of the ports.
func TieKey(seed uint64, node int, now units.Time, port int) uint32 {
	if seed == 0 {
		return 0
	}
	return uint32(wire.Mix(seed^uint64(now), uint64(node)<<32|uint64(uint32(port))))
}
