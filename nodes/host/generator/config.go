package generator

import (
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// NIC is the only port, which leads to the fabric.
const NIC = 0

// Ports is the number of ports.
const Ports = 1

// Config is all that a generator is built from: plain data.
type Config struct {
	Node   int // host Node has the addresses wire.HostIP(Node) and wire.MAC(Node, 0)
	Name   string
	Rate   units.Rate // of the NIC
	Queue  units.Size // limit of the queue in front of the NIC, in wire bytes
	Format wire.Format

	Streams []Stream
	// Pairs are the flows that this host is an end of. Every Stream has one.
	Pairs []metrics.Pair

	Measure metrics.Span
	Records units.Duration // telemetry interval
	Traced  metrics.Traced // events to record, of the flows in Pairs
}

// Stream is frames that go to one host, one after the other in even steps.
type Stream struct {
	To    int // host
	Start units.Time
	// Every is the time from one frame to the next. 0: Rate determines it.
	Every units.Duration
	// Rate is the mean rate in wire bytes, exact in the long run; not used with Every.
	Rate units.Rate
	// Count is the number of frames; 0: without end.
	Count int64
	// Size is the wire size of a frame without the stack: from the Ethernet header to
	// the check sequence, at least MinSize.
	Size  units.Size
	Stack []byte // what stands between the source MAC address and the EtherType (ParseStack)
	DSCP  uint8
	// Paths is the number of UDP source ports that frames take in turn, so that ECMP
	// spreads them; 0 is 1.
	Paths int
}

// MinSize is the least wire size of an Ethernet frame, check sequence included (IEEE
// 802.3 §4A.4.2).
const MinSize = 64 * units.Byte
