package parts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/nodes/emu/gateway"
	"github.com/csiglab/csiglab/nodes/modules"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/backend/netns"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/units"
)

// dialWithin bounds the connection to another shard, which listens already.
const dialWithin = 10 * time.Second

// errStopped is the cause of a run's end that the coordinator has asked for.
var errStopped = errors.New("the coordinator has stopped the run")

// Serve carries out one run for a coordinator, and returns when the connection is closed.
// It leaves nothing of the run. The error is nil if the run ended well, or as the
// coordinator wanted.
func Serve(ctx context.Context, conn net.Conn, o Options) error {
	if o.Backend == nil {
		o.Backend = netns.Backend{}
	}
	own := ctx
	ctx, cancel := context.WithCancelCause(own)
	defer cancel(nil)
	defer conn.Close()
	listener, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return err
	}
	s := &server{
		Options: o, listener: listener.(*net.TCPListener), stream: newStream(conn, orphanAfter), cancel: cancel,
		orders: make(chan *order, 1), start: make(chan struct{}), hold: make(chan struct{}), stopped: make(chan struct{}),
	}
	defer s.listener.Close()
	s.stream.limit = orderLimit
	err = s.stream.send(message{Hello: &hello{
		Protocol: protocol, Build: modules.Build(), Identity: o.Identity, Address: listener.Addr().String(), Tunnels: o.Tunnels,
	}})
	if err != nil {
		return err
	}
	go s.stream.showLife()
	go s.receive()
	select {
	case order := <-s.orders:
		err = s.carryOut(ctx, &order.Run, order.Experiment)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if errors.Is(err, errStopped) {
		return nil
	}
	if err != nil {
		if s.stream.send(message{Failure: &fault{*backend.AsFailure(err), own.Err() != nil}}) != nil {
			return err
		}
	}
	select { // the coordinator has received it when it says so
	case <-s.stopped:
	case <-time.After(stopWithin):
	}
	return err
}

// server is a shard that carries out a run.
type server struct {
	Options
	listener *net.TCPListener
	stream   *stream
	cancel   context.CancelCauseFunc
	orders   chan *order
	start    chan struct{} // closed by go
	hold     chan struct{} // closed by end
	stopped  chan struct{} // closed by stop, or with the connection
}

// receive receives what the coordinator says until the connection ends, which ends the run.
func (s *server) receive() {
	defer close(s.stopped)
	var ordered, going, ended bool
	for {
		m, err := s.stream.receive()
		switch {
		case err != nil:
			if errors.Is(err, io.EOF) {
				err = errors.New("the connection was closed")
			}
			s.cancel(fmt.Errorf("coordinator: %w", err))
			return
		case m.Stop:
			s.cancel(errStopped)
			return
		case m.Order != nil && !ordered:
			ordered, s.stream.limit = true, helloLimit
			s.orders <- m.Order
		case m.Go && ordered && !going:
			going = true
			close(s.start)
		case m.End && going && !ended:
			ended = true
			close(s.hold)
		}
	}
}

// carryOut runs a part.
func (s *server) carryOut(ctx context.Context, r *backend.Run, experiment []byte) error {
	if err := s.adopt(r); err != nil {
		return err
	}
	if s.Folder != "" {
		defer os.RemoveAll(r.Folder)
		if err := os.WriteFile(filepath.Join(r.Folder, runfolder.ExperimentFile), experiment, 0o600); err != nil {
			return err
		}
	}
	if err := s.Backend.Check(ctx, r); err != nil {
		return err
	}
	if err := s.stream.send(message{Ready: true}); err != nil {
		return err
	}
	select {
	case <-s.start:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	entry, err := runs.Register(s.listed(r))
	if err != nil {
		return err
	}
	defer entry.Forget()
	c, done, err := s.control(ctx, r, entry)
	if err != nil {
		return err
	}
	defer done()
	out, err := s.Backend.Run(ctx, r, c)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if wrong := sendFiles(r, s.Backend.NodeFolder(r.Folder), s.stream.send); err == nil {
		err = wrong
	}
	if err != nil {
		return err
	}
	return s.stream.send(message{Outcome: out})
}

// adopt checks an order and gives the run the folder of this shard.
func (s *server) adopt(r *backend.Run) error {
	wrong := func(what string) error { return fmt.Errorf("order: %w: %s", errProtocol, what) }
	switch p := r.Part; {
	case r.Plan == nil || r.Plan.Graph == nil || p == nil:
		return wrong("no part of a plan")
	case p.Index < 0 || p.Index >= len(p.Names) || len(p.Addresses) != len(p.Names):
		return wrong(fmt.Sprintf("part %d of %d", p.Index, len(p.Names)))
	case len(p.Of) != len(r.Plan.Graph.Nodes) || len(r.Plan.Nodes) != len(r.Plan.Graph.Nodes):
		return wrong("a part for each node is missing")
	case slices.Min(p.Of) < 0 || slices.Max(p.Of) >= len(p.Names):
		return wrong("a node is in no part")
	case len(r.Outputs) != len(r.Plan.Programs):
		return wrong("an output for each program is missing")
	case r.Wall != nil && !s.Tunnels:
		return fmt.Errorf("%w: this shard may not make tunnels", backend.ErrUnavailable)
	}
	if s.Folder == "" {
		return nil
	}
	r.Folder = filepath.Join(s.Folder, fmt.Sprintf("part-%d", r.Part.Index))
	for i := range r.Outputs {
		r.Outputs[i] = filepath.Join(r.Folder, fmt.Sprintf("program-%d.txt", i))
	}
	return os.MkdirAll(r.Folder, 0o700)
}

// listed returns the run for the list of runs that csiglab exec and capture read here.
func (s *server) listed(r *backend.Run) runs.Run {
	l := runs.Run{
		ID: r.ID, Name: r.Name, Runtime: runtimes.Netns, Clock: runtimes.Lockstep, Held: r.Held,
		Folder: r.Folder, NodeFolder: s.Backend.NodeFolder(r.Folder),
	}
	if r.Wall != nil {
		l.Clock, l.Dilation, l.Lateness = runtimes.Wall, r.Wall.Dilation, r.Lateness
	}
	return l
}

// control returns the Control of a part, and what ends it.
func (s *server) control(ctx context.Context, r *backend.Run, entry *runs.Entry) (c backend.Control, done func(), err error) {
	send := func(m message) { s.stream.send(m) } //nolint:errcheck // the end of the connection ends the run
	c = backend.Control{
		Records:  consumer(func(b *metrics.Batch) { send(message{Records: b}) }),
		Progress: func(now units.Time, _ float64) { send(message{Progress: &progress{now}}) },
		Started:  func() { send(message{Started: true}) },
		Note:     func(text string) { send(message{Note: text}) },
		Waiting:  func(text string) { send(message{Waiting: text}) },
		Deployed: func(nodes []runs.Node, links []runs.Link) error {
			send(message{Deployed: &deployed{nodes, links}})
			return entry.Describe(all(r, nodes), links)
		},
	}
	var closers []func()
	done = func() {
		for _, f := range slices.Backward(closers) {
			f()
		}
	}
	if c.Meeting, err = s.meet(ctx, r.Part); err != nil {
		return c, nil, err
	}
	if r.Held {
		c.Hold = s.hold
	}
	if r.Wall == nil {
		return c, done, nil
	}
	if c.Entrance, err = entry.Entrance(); err != nil {
		return c, nil, err
	}
	closers = append(closers, func() { c.Entrance.Close() })
	tunnels, err := MakeTunnels(r)
	if err != nil {
		done()
		return c, nil, err
	}
	closers = append(closers, func() { tunnels.Close() })
	for _, text := range tunnels.Notes() {
		send(message{Note: text})
	}
	r.Part.Tunnels, c.Meeting.Move = tunnels.List(), tunnels.Move
	return c, done, nil
}

// all returns a node for each of the run's. Those of other parts have a name only.
func all(r *backend.Run, nodes []runs.Node) []runs.Node {
	list := make([]runs.Node, len(r.Plan.Graph.Nodes))
	for i, n := range r.Plan.Graph.Nodes {
		list[i].Name = n.Name
		if at := slices.IndexFunc(nodes, func(o runs.Node) bool { return o.Name == n.Name }); at >= 0 {
			list[i] = nodes[at]
		}
	}
	return list
}

// meet connects to the shards before this one. Those after it connect to the listener.
func (s *server) meet(ctx context.Context, p *backend.Part) (_ *backend.Meeting, err error) {
	m := &backend.Meeting{Calls: make([]*os.File, p.Index)}
	defer func() {
		if err != nil {
			for _, f := range append(m.Calls, m.Listener) {
				f.Close() // nil is closed already
			}
		}
	}()
	if m.Listener, err = s.listener.File(); err != nil {
		return nil, err
	}
	d := net.Dialer{Timeout: dialWithin}
	for i := range m.Calls {
		conn, err := d.DialContext(ctx, "tcp", p.Addresses[i])
		if err != nil {
			return nil, &gateway.PartError{Part: p.Names[i], Reason: "does not take connections: " + err.Error()}
		}
		m.Calls[i], err = conn.(*net.TCPConn).File()
		conn.Close()
		if err != nil {
			return nil, err
		}
	}
	return m, nil
}

// consumer is a metrics.Consumer made of a function.
type consumer func(*metrics.Batch)

func (c consumer) Consume(b *metrics.Batch) { c(b) }
