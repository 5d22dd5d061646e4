package shim

import (
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/transport"
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

// EdgeConfig is all that an Edge is built from: plain data.
type EdgeConfig struct {
	Node  int // host Node has the addresses wire.HostIP(Node) and wire.MAC(Node, 0)
	Name  string
	Queue units.Size // limit of the queue in front of the NIC, in wire bytes
	Sizes wire.Sizes

	CSIG *csig.Config // nil: no tags
	// Signals are what the tags to one destination ask for, in turn. It must not
	// be empty when Every is not 0.
	Signals []csig.Type
	Every   int // of every so many packets to a destination one is tagged; 0: none

	// Pairs are those that this host is an end of. A host that is in none of them
	// has no programs: it is neither resolved nor sent to.
	Pairs []metrics.Pair

	Seed    uint64
	Measure transport.Span
	Records units.Duration // telemetry interval
}
