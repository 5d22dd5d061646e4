package process

import (
	"io"
	"sync"
	"time"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/exposition"
	"github.com/csiglab/csiglab/metrics/exposition/endpoint"
	"github.com/csiglab/csiglab/nodes/emu/wall"
)

// Exposure says where the nodes of a process serve metrics, and what these mean. It is
// plain data.
type Exposure struct {
	Socket      string // path as the process sees it
	Nodes       []int
	Names       []string // of Nodes
	Description exposition.Description
}

// Exposer counts the records of the nodes of a process and serves their metrics, of a run
// in real time. It is a metrics.Consumer; a nil Exposer does nothing. Build it with Expose.
type Exposer struct {
	of     *Exposure
	set    *exposition.Set
	clock  wall.Clock
	server *endpoint.Server
	mu     sync.Mutex
	block  *wall.ControlBlock // nil: closed
}

// lag is how far metrics are behind the clock: within this time the records of closed
// windows have been handed on.
const lag = wall.HandOnEvery + 50*time.Millisecond

// Expose serves the metrics of nodes that are paced with a clock and a ControlBlock, which
// must stay until Close.
func Expose(e *Exposure, clock wall.Clock, block *wall.ControlBlock) (*Exposer, error) {
	x := &Exposer{of: e, set: exposition.NewSet(e.Description), clock: clock, block: block}
	var err error
	x.server, err = endpoint.Serve(e.Socket, x.write)
	if err != nil {
		return nil, err
	}
	return x, nil
}

// Consume counts the records of a batch. It may be called from several goroutines.
func (x *Exposer) Consume(b *metrics.Batch) {
	if x != nil {
		x.set.Consume(b)
	}
}

// write writes what has been counted by now.
func (x *Exposer) write(to io.Writer, f exposition.Format) error {
	x.look()
	return x.set.Write(to, f)
}

// look takes what the ControlBlock says.
func (x *Exposer) look() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.block == nil {
		return
	}
	if start, ok := x.block.Began(); ok {
		x.set.Advance(x.clock.Model(max(0, wall.Monotonic()-start-lag)))
	}
	for i, node := range x.of.Nodes {
		at, name := x.block.Progress(node), x.of.Names[i]
		x.set.SetValue(latenessFamily, x.block.Lateness(node).Seconds(), name)
		x.set.SetValue(sentFamily, float64(at.Sent), name)
		x.set.SetValue(receivedFamily, float64(at.Received), name)
	}
}

// Close ends the server and removes its socket. The ControlBlock is not read any more.
func (x *Exposer) Close() {
	if x == nil {
		return
	}
	x.server.Close()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.block = nil
}

var (
	latenessFamily = exposition.Of(exposition.NodeLateness)
	sentFamily     = exposition.Of(exposition.NodeSent)
	receivedFamily = exposition.Of(exposition.NodeReceived)
)
