package backend

import (
	"os"
	"time"

	"github.com/csiglab/csiglab/topologies"
)

// Part is what one driver of a run has to do whose nodes run in several places: with one
// kernel each, such as the pods of a cluster. It is plain data.
type Part struct {
	Index int
	Of    []int    // by node: its part
	Names []string // by part, for errors, such as "shard 1 (pod x on node-b)"
	// Addresses are where the parts listen for the connections of those after them, as
	// HOST:PORT, by part.
	Addresses []string
	// Credentials are those of this part; the authority is the run's own.
	Credentials Credentials
	// Tunnels has, in real time, the interface of each cut link of this part, which the
	// backend has made: it carries frames to the same link's interface in the other part.
	Tunnels []Tunnel
}

// Credentials authenticate a part to the others. They are made for one run, travel only on
// the connection that the run is ordered on, and are never written to a file or a log.
type Credentials struct {
	Authority, Certificate, Key []byte // PEM
}

// String hides the credentials from logs.
func (Credentials) String() string { return "credentials" }

// GoString hides the credentials from logs.
func (Credentials) GoString() string { return "credentials" }

// Tunnel is the interface of one end of a cut link in real time.
type Tunnel struct {
	End       topologies.End
	Interface string // name, in the namespace of the driver
	MTU       int
}

// Here reports whether a node is driven by this driver.
func (r *Run) Here(node int) bool { return r.Part == nil || r.Part.Of[node] == r.Part.Index }

// Meeting is how a part reaches the others: a socket on which it accepts the parts after it,
// and connections to those before it. The driver makes both into mutual TLS.
type Meeting struct {
	Listener *os.File
	Calls    []*os.File // by part, for the parts before this one
	// Move moves the interfaces of Part.Tunnels into the network namespace of a process, the
	// driver. The backend calls it before the driver starts its work. nil: there are none.
	Move func(pid int) error
}

// Remote says where runtime kubernetes, and trials on a cluster, run. It is plain data.
type Remote struct {
	Context   string // of the kubeconfig; empty: the current one
	Namespace string // empty: that of the context
	Image     string // with csiglab, csig-host and csig-switch
}

// Cut is what a run in several parts has counted and measured between them.
type Cut struct {
	Parts     []string // names
	Links     []CutLink
	Exchanges int64 // of bounds in lockstep, over all parts
	Bytes     int64
	// RoundTrips are those of the underlay in real time, by pair of parts.
	RoundTrips []RoundTrip
}

// CutLink counts the frames of one direction of a cut link at both of its stubs.
type CutLink struct {
	Link     string
	From, To string         // parts
	Sender   topologies.End // of the direction, in part From
	Receiver topologies.End // in part To
	// Entered is what the kernel has counted at the stub of the sender's part, Left at that of
	// the receiver's part.
	Entered, Left int64
	// Taken is what the gateway of the sender's part has taken off its stub, and Put what
	// that of the receiver's part has put onto its stub.
	Taken, Put int64
}

// RoundTrip is the round trip of the underlay between two parts, and how far their clocks
// were apart after they had been set by each other. Times are wall time.
type RoundTrip struct {
	A, B               string // parts
	Least, Median, P99 time.Duration
	// ClockOffset is how far the clock of B was ahead of that of A when they were furthest
	// apart for certain, and ClockError by how much that may be wrong.
	ClockOffset, ClockError time.Duration
}
