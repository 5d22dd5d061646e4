// Package gateway joins the parts of a fabric that run in lockstep on several machines. A
// link between nodes of two parts is cut: at either end its veth pair leads into the
// gateway of the part, its stub. The gateway reads the frames that the part's nodes send to
// other parts, and puts those that come from there onto the stubs, so that frames are real
// and counted at both ends. Bounds and frames travel in one ordered stream to each other
// part, with one write for each exchange.
//
// A gateway sends an exchange when its Board says that other parts may need it, and once a
// second in any case, so that a part that is gone or stands still is found. It puts frames
// on their stubs before it imports the exchange that counts them.
//
//	node ── stub ┐                                 ┌ stub ── node
//	node ── stub ┼ gateway ══ stream (TLS) ══ gateway ┼ stub ── node
//	        Board ┘                                 └ Board
package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/emu/lockstep"
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
	// Gateways send something every second, but not while they wait for a frame: it is at
	// least that second and twice FrameTimeout. 0: DefaultSilence.
	Silence time.Duration
}

// DefaultSilence is the Silence of a Config that says none.
const DefaultSilence = 30 * time.Second

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
	Link   string // of the cut link that is at fault, or of those to a part that is gone
	Reason string // such as "the connection was closed", "has sent nothing for 10s", "bound 7 was sent twice"
}

func (e *PartError) Error() string {
	switch {
	case strings.Contains(e.Link, ", "):
		return fmt.Sprintf("%s: links %s: %s", e.Part, e.Link, e.Reason)
	case e.Link != "":
		return fmt.Sprintf("%s: link %s: %s", e.Part, e.Link, e.Reason)
	}
	return e.Part + ": " + e.Reason
}

// Slots returns how many frames the Conn of a gateway keeps at least: those that nodes may
// send before the gateway has read any.
func Slots(links []lockstep.Channel, stubs []Stub) int {
	slots := 0
	for _, s := range stubs {
		slots += int(links[s.Out].Capacity) + slotsSpare
	}
	return max(slots, netio.Slots)
}

// slotsSpare are those of a stub for frames beyond the link's capacity: an event may send
// several.
const slotsSpare = 64

// spareProcessors are those of the Go scheduler beyond one for each thread that waits: for
// the driver of the part.
const spareProcessors = 2

// Every is how often a gateway sends something at least.
const every = time.Second

// Run carries bounds and frames until the run is over in all parts, and returns the end of
// the whole run. The gateway of every part has to run, or the others fail. A *PartError
// names the part that broke it, an *emu.LinkError the link; the others learn that this part
// has given up, and why. When ctx ends, Run returns its cause.
func Run(ctx context.Context, c Config) (end units.Time, r Result, err error) {
	if c.Silence == 0 {
		c.Silence = DefaultSilence
	}
	if c.FrameTimeout == 0 {
		c.FrameTimeout = emu.DefaultFrameTimeout
	}
	c.Silence = max(c.Silence, 2*c.FrameTimeout+every)
	g := &gateway{Config: c, stubs: make([]stub, len(c.Stubs)), byOut: make(map[int]int, len(c.Stubs)), byIn: make(map[int]int, len(c.Stubs))}
	g.imported = sync.NewCond(&g.importing)
	for i, s := range c.Stubs {
		g.byOut[s.Out], g.byIn[s.In] = i, i
		g.stubs[i].leaves, g.stubs[i].enters = emu.Mark(c.Run, s.Out), emu.Mark(c.Run, s.In)
	}
	stop := context.AfterFunc(ctx, func() { g.fail(context.Cause(ctx)) })
	defer stop()
	// Raw waits keep their processors of the Go scheduler (Prompt, shared.Board.Await).
	if processors := len(c.Peers) + spareProcessors; runtime.GOMAXPROCS(0) < processors {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
	}
	shared.TakeShortSlices()
	var readers sync.WaitGroup
	for part, conn := range c.Peers {
		if conn != nil {
			g.waiting++
			readers.Go(func() { g.receive(newPeer(g, part, conn)) })
		}
	}
	g.send()
	readers.Wait()
	for _, conn := range c.Peers {
		if conn != nil {
			conn.Close()
		}
	}
	for i := range g.stubs {
		r.Stubs = append(r.Stubs, g.stubs[i].count)
	}
	r.Exchanges, r.Bytes = g.exchanges, g.bytes
	if g.failed != nil {
		return 0, r, g.failed
	}
	return c.Board.End(), r, nil
}

// gateway is the state of a Run. One goroutine sends, and one for each other part receives.
type gateway struct {
	Config
	byOut, byIn map[int]int // places in stubs, by the direction out of this part and into it

	wire  sync.Mutex                // a Conn belongs to one goroutine at a time
	batch [receiveBatch]netio.Frame // what it has received
	stubs []stub                    // out is the sender's, in that of the receiver from the stub's peer

	importing sync.Mutex
	imported  *sync.Cond // an exchange was imported, or the run has failed
	waiting   int        // other parts that have not said that the run is over

	mu     sync.Mutex
	failed error // the first error

	exchanges, bytes int64 // the sender's
}

// fail ends the run with its first error.
func (g *gateway) fail(err error) {
	g.mu.Lock()
	first := g.failed == nil
	if first {
		g.failed = err
	}
	g.mu.Unlock()
	if !first {
		return
	}
	past := time.Unix(1, 0)
	for _, conn := range g.Peers {
		if conn != nil {
			conn.SetDeadline(past) //nolint:errcheck // Run closes it
		}
	}
	g.Board.GiveUp() // who holds importing may wait for the Board
	g.wake()
	g.Board.Call()
}

// wake has those look again that wait for an exchange to be imported.
func (g *gateway) wake() {
	g.importing.Lock()
	defer g.importing.Unlock()
	g.imported.Broadcast()
}

func (g *gateway) failure() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.failed
}

// lost is the error of a part whose connection is not what it should be.
func (g *gateway) lost(part int, err error) error {
	reason := err.Error()
	var timeout net.Error
	switch {
	case errors.As(err, &timeout) && timeout.Timeout():
		reason = fmt.Sprintf("has sent nothing for %v", g.Silence)
	case closed(err):
		reason = "the connection was closed"
	}
	return &PartError{Part: g.Names[part], Link: g.linksTo(part), Reason: reason}
}

// linksTo names the cut links to another part, the first of many.
func (g *gateway) linksTo(part int) string {
	var names []string
	for _, s := range g.Stubs {
		if s.Peer == part {
			names = append(names, s.Link)
		}
	}
	if more := len(names) - mostNamed; more > 0 {
		return fmt.Sprintf("%s and %d others", strings.Join(names[:mostNamed], ", "), more)
	}
	return strings.Join(names, ", ")
}

// mostNamed is how many links an error names.
const mostNamed = 4

// send sends the state of this part to all others until the run is over.
func (g *gateway) send() {
	var x lockstep.Exchange
	out := make([][]byte, len(g.Peers))
	sent := time.Now()
	for {
		if err := g.failure(); err != nil {
			g.giveUp(err)
			return
		}
		always := time.Since(sent) >= every
		exported, over, err := g.Board.Export(&x, always)
		switch {
		case err != nil:
			g.fail(err)
		case exported:
			if err := g.export(&x, out); err != nil {
				g.fail(err)
				continue
			}
			g.exchanges++
			sent = time.Now()
		case over:
			if err := g.tell(kindOver, nil); err != nil {
				g.fail(err)
				continue
			}
			return
		case always: // nodes have not reported yet
			if err := g.tell(kindAlive, nil); err != nil {
				g.fail(err)
				continue
			}
			sent = time.Now()
		default:
			g.Board.Await(every - time.Since(sent))
		}
	}
}

// export sends an exchange and its frames.
func (g *gateway) export(x *lockstep.Exchange, out [][]byte) error {
	if err := g.collect(x.Sent); err != nil {
		return err
	}
	for part, conn := range g.Peers {
		if conn == nil {
			continue
		}
		b := appendExchange(beginMessage(out[part][:0], kindExchange), x)
		for _, s := range x.Sent {
			if i := g.leaving(s.Link); g.Stubs[i].Peer == part {
				b = g.stubs[i].out.append(b, s.Frames)
			}
		}
		endMessage(b)
		out[part] = b
		if err := g.write(part, b); err != nil {
			return err
		}
	}
	for _, s := range x.Sent {
		i := g.leaving(s.Link)
		g.stubs[i].out.drop(s.Frames)
		g.stubs[i].count.Out += s.Frames
	}
	return nil
}

// leaving returns the stub of a direction out of this part.
func (g *gateway) leaving(link int) int {
	i, ok := g.byOut[link]
	if !ok {
		panic(fmt.Sprintf("gateway: link %d has no stub", link))
	}
	return i
}

// tell sends a message without an exchange to all other parts.
func (g *gateway) tell(kind byte, text []byte) error {
	b := append(beginMessage(nil, kind), text...)
	endMessage(b)
	var failed error
	for part, conn := range g.Peers {
		if conn != nil {
			if err := g.write(part, b); err != nil && failed == nil {
				failed = err
			}
		}
	}
	return failed
}

func (g *gateway) write(part int, b []byte) error {
	conn := g.Peers[part]
	conn.SetWriteDeadline(time.Now().Add(g.Silence)) //nolint:errcheck // Write fails too
	if err := g.failure(); err != nil {              // its deadline may have been overwritten
		return err
	}
	n, err := conn.Write(b)
	g.bytes += int64(n)
	if err == nil {
		return nil
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return &PartError{Part: g.Names[part], Reason: fmt.Sprintf("has read nothing for %v", g.Silence)}
	}
	return g.lost(part, err)
}

// farewell is how long a part that has failed tries to say so.
const farewell = 100 * time.Millisecond

// giveUp tells the other parts why this one ends the run.
func (g *gateway) giveUp(err error) {
	text := []byte(err.Error())
	b := append(beginMessage(nil, kindGaveUp), text[:min(len(text), maxReason)]...)
	endMessage(b)
	for _, conn := range g.Peers {
		if conn != nil {
			conn.SetWriteDeadline(time.Now().Add(farewell)) //nolint:errcheck // Write fails too
			conn.Write(b)                                   //nolint:errcheck // the other part sees a closed connection
		}
	}
}
