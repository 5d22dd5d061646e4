package shim

import (
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// Ports of a machine with an Edge: of a Shim, and the first two of a host's.
const (
	NIC         = 0 // leads to the fabric
	Application = 1 // leads to the interface of the host's programs
)

// Ports is the number of ports of a Shim.
const Ports = 2

// Config is all that a shim is built from: plain data.
type Config struct {
	EdgeConfig
	Rate units.Rate // of the NIC
}

// Init is the CSIG init policy of some packets to one destination: which of them carry
// a tag, and what the tags ask for, in turn and in proportion to the weights. Signals
// must want a type where packets are tagged. The zero value tags nothing.
type Init struct {
	csig.Sampling
	Signals csig.Weights
	Format  csig.Format // of the tags; none: the first of the domain
}

// Class is the init policy of the packets of one flow with some DSCPs.
type Class struct {
	Flow  int32  // one of Pairs, from this host
	DSCPs uint64 // bit i stands for DSCP i
	Init
}

// AllDSCPs are those of every packet. A packet that is not IP counts as DSCP 0.
const AllDSCPs = 1<<64 - 1

// EdgeConfig is all that an Edge is built from: plain data.
type EdgeConfig struct {
	Node  int // host Node has the addresses wire.HostIP(Node) and wire.MAC(Node, 0)
	Name  string
	Queue units.Size // limit of the queue in front of the NIC, in wire bytes
	Sizes wire.Sizes

	CSIG *csig.Config // nil: no tags
	Init Init         // of the packets that no class has
	// Classes are the exceptions from Init. Of two classes with one flow and one DSCP
	// the later one holds.
	Classes []Class

	// Pairs are those that this host is an end of. A host that is in none of them
	// has no programs: it is neither resolved nor sent to.
	Pairs []metrics.Pair

	// Covered says by pair, as Pairs, and by type whether every hop of every path
	// updates it: then a tag that no hop has written is a measurement. A pair without
	// an entry has no such type. CoveredSecond is for tags of the domain's second format.
	Covered, CoveredSecond [][csig.Types]bool

	Seed    uint64
	Measure metrics.Span
	Records units.Duration // telemetry interval
	Traced  metrics.Traced // events to record, of the flows in Pairs
}
