package node

import (
	"math/rand/v2"

	"github.com/csiglab/csiglab/nodes/wire"
)

// Purpose is what a random generator is for.
type Purpose uint8

// Purposes.
const (
	RandomBalance Purpose = 1 + iota // load balancing of a flow
	RandomTagging                    // which packets of a flow carry a CSIG tag
	RandomPort                       // marking and trimming of a switch port
	RandomJitter                     // start of a transfer; belongs to no node
	RandomMeter                      // phase of the bandwidth windows of a switch port
	RandomIngress                    // which frames that come in at a switch port get a tag
	RandomSignals                    // order of the types that the tags of a flow ask for
	RandomRouting                    // choices of a switch's routing policy
	RandomFault                      // which packets of a link a fault drops; of no node: which links have it
)

// NoNode is the node of generators that belong to none.
const NoNode = 1<<24 - 1

// Random returns the generator of a node for a purpose and a flow or port: no
// two share a stream, so that what one draws changes nothing for another.
func Random(seed uint64, node int, purpose Purpose, index int) *rand.Rand {
	return rand.New(rand.NewPCG(seed, wire.Mix(uint64(node)<<8|uint64(purpose), uint64(index))))
}
