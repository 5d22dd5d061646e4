// Package gateway joins the parts of a fabric that run in lockstep on several machines. A
// link between nodes of two parts is cut: at either end its veth pair leads into the
// gateway of the part, its stub. The gateway reads the frames that the part's nodes send to
// other parts, and puts those that come from there onto the stubs, so that frames are real
// and counted at both ends. Bounds and frames travel in one ordered stream to each other
// part, with one write for each exchange.
//
//	node ── stub ┐                                 ┌ stub ── node
//	node ── stub ┼ gateway ══ stream (TLS) ══ gateway ┼ stub ── node
//	        Board ┘                                 └ Board
package gateway

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/csiglab/csiglab/nodes/emu/lockstep/shared"
	"github.com/csiglab/csiglab/nodes/netio"
	"github.com/csiglab/csiglab/units"
)

// Stub is the end of a cut link in this part.
type Stub struct {
	Link      string // name, such as agg0-core1
	Near, Far string // names of the nodes at its ends: of this part, of the other
	Out, In   int    // the directions on the Board: from this part, into it
	Peer      int    // the other part
}

// Config describes the gateway of one part.
type Config struct {
	Part  int
	Names []string      // of the parts, for errors, such as "shard 1 (pod x on node-b)"
	Board *shared.Board // of this part; its partition has been set
	Stubs []Stub        // port i of Conn is that of Stubs[i]
	// Conn has the stubs' interfaces. It keeps Slots frames at least. The caller closes it.
	Conn     netio.Conn
	Run      uint32 // marks the run's frames (emu.Fabric)
	MaxFrame int    // the longest frame, trailer included
	// FrameTimeout is how long a frame that a node has sent may take to its stub. 0:
	// emu.DefaultFrameTimeout.
	FrameTimeout time.Duration
	// Peers are the streams to the other parts, by part; nil for this one. Run closes them.
	Peers []net.Conn
	// Silence is how long another part may send nothing while this one waits for it.
	// Gateways send something every second. 0: DefaultSilence.
	Silence time.Duration
}

// DefaultSilence is the Silence of a Config that says none.
const DefaultSilence = 10 * time.Second

// Result is what a gateway has counted.
type Result struct {
	Exchanges int64       // sent, to each other part
	Bytes     int64       // sent
	Stubs     []StubCount // in the order of Config.Stubs
}

// StubCount counts the frames of one cut link at its stub.
type StubCount struct {
	Out, In int64 // from this part, into it
}

// PartError reports another part that is gone, silent or does not keep to the protocol.
type PartError struct {
	Part   string // its name
	Link   string // of the cut link that is at fault; empty: all to that part
	Reason string // such as "the connection was closed", "has sent nothing for 10s", "bound 7 was sent twice"
}

func (e *PartError) Error() string {
	if e.Link != "" {
		return fmt.Sprintf("%s: link %s: %s", e.Part, e.Link, e.Reason)
	}
	return e.Part + ": " + e.Reason
}

// Run carries bounds and frames until the run is over in all parts, and returns the end of
// the whole run. A *PartError names the part that broke it, an *emu.LinkError a link.
func Run(ctx context.Context, c Config) (end units.Time, r Result, err error) {
	panic("not built yet")
}
