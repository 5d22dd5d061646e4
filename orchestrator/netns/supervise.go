package netns

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/stream"
	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/emu/lockstep"
	"github.com/csiglab/csiglab/nodes/emu/lockstep/shared"
	"github.com/csiglab/csiglab/nodes/netio"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/application"
	"github.com/csiglab/csiglab/units"
)

// Files of the supervisor.
const (
	fileSpec    = 3
	fileMessage = 4
	fileAlive   = 5
)

// Supervise turns the program into a supervisor, and ends it, if that is what it
// was started for; otherwise it does nothing. main calls it first of all.
func Supervise() {
	application.Init()
	if len(os.Args) != 2 || os.Args[1] != supervisorArgument || os.Getenv(environmentRun) == "" {
		return
	}
	runtime.LockOSThread() // the nodes die with this thread
	unix.CloseOnExec(fileSpec)
	unix.CloseOnExec(fileMessage)
	unix.CloseOnExec(fileAlive)
	s := &supervisor{
		out:     gob.NewEncoder(os.NewFile(fileMessage, "messages")),
		alive:   os.NewFile(fileAlive, "alive"),
		records: map[*emu.Node]*stream.Buffer{},
	}
	spec := os.NewFile(fileSpec, "spec")
	err := gob.NewDecoder(spec).Decode(&s.fabric)
	if s.fabric.Held {
		s.hold = untilEnd(spec)
	}
	var outcome *Outcome
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), unix.SIGTERM)
		outcome, err = s.run(ctx)
		stop()
	}
	m := message{Outcome: outcome}
	if err != nil {
		m = message{Failure: asFailure(err)}
	}
	if s.say(m) != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

type supervisor struct {
	fabric Fabric
	out    *gob.Encoder
	alive  *os.File
	hold   <-chan struct{}  // nil: the run is not held
	apps   *application.Set // nil: no programs
	last   time.Time

	mu      sync.Mutex // of out and records
	records map[*emu.Node]*stream.Buffer
}

// say sends csiglab a message; several goroutines do.
func (s *supervisor) say(m message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Encode(m)
}

// Consume sends csiglab records of a node.
func (s *supervisor) Consume(b *metrics.Batch) {
	s.say(message{Records: b}) //nolint:errcheck // without csiglab the supervisor dies
}

// untilEnd returns a channel that is closed at the end of what spec says after
// the description: csiglab leaves it open for as long as the run is held.
func untilEnd(spec *os.File) <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		io.Copy(io.Discard, spec) //nolint:errcheck // whatever ends it
	}()
	return ended
}

func (s *supervisor) run(ctx context.Context) (*Outcome, error) {
	begin := time.Now()
	d, err := deploy(&s.fabric)
	if err != nil {
		return nil, err
	}
	if s.fabric.Calibrate > 0 {
		return s.calibrate(d)
	}
	s.tell(d, nil)
	if s.apps, err = s.programs(d); err != nil {
		return nil, err
	}
	if s.apps != nil {
		defer s.apps.Stop()
	}
	var out *Outcome
	switch {
	case s.fabric.Wall != nil && s.fabric.OneProcess:
		out, err = s.paceOneProcess(ctx, d, begin)
	case s.fabric.Wall != nil:
		out, err = s.paceProcesses(ctx, d, begin)
	case s.fabric.OneProcess:
		out, err = s.oneProcess(ctx, d, begin)
	default:
		out, err = s.processes(ctx, d, begin)
	}
	if err != nil {
		return nil, err
	}
	if s.apps != nil {
		s.apps.Stop()
		out.Programs = s.apps.Ended()
	}
	if s.fabric.Wall == nil {
		out.Drained = s.fabric.End == units.Never || out.End < s.fabric.End
	}
	if out.Counters, err = d.counters(); err == nil && s.fabric.Wall != nil {
		out.Shaped, err = d.shaped()
	}
	return out, err
}

// progressEvery is how often the supervisor tells the model time.
const progressEvery = 100 * time.Millisecond

func (s *supervisor) progress(now units.Time) {
	if time.Since(s.last) < progressEvery || now == units.Never {
		return
	}
	s.last = time.Now()
	s.say(message{Now: now}) //nolint:errcheck // without csiglab the supervisor dies
}

// drivers returns the drivers of all nodes, to be run here.
func (s *supervisor) drivers(d *deployment) (nodes []*emu.Node, links []lockstep.Link, err error) {
	configs, links := s.fabric.Configs()
	nodes = make([]*emu.Node, len(configs))
	// The kernel takes its time to open and close a packet socket, but can do many
	// at once.
	err = eachAtOnce(len(nodes), func(i int) error {
		conn, err := d.spaces[i].conn(d.spaces[i].indices, s.fabric.maxFrame())
		if err != nil {
			return fmt.Errorf("node %s: %w", configs[i].Name, err)
		}
		nodes[i], err = s.driver(configs[i], conn)
		return err
	})
	return nodes, links, err
}

// driver returns the driver of a node, which owns conn.
func (s *supervisor) driver(c emu.Config, conn netio.Conn) (*emu.Node, error) {
	pool := new(wire.Pool)
	overflow := stream.Block
	if s.fabric.Wall != nil {
		overflow = stream.Drop
	}
	records := stream.NewBuffer(c.Node, overflow, s)
	m, err := s.fabric.Nodes[c.Node].New(pool, records)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	node := emu.New(c, m, pool, conn, records)
	s.mu.Lock()
	s.records[node] = records
	s.mu.Unlock()
	return node, nil
}

func closeAll(nodes []*emu.Node) {
	eachAtOnce(len(nodes), func(i int) error { return nodes[i].Close() }) //nolint:errcheck // the process ends
}

// oneProcess drives all nodes here.
func (s *supervisor) oneProcess(ctx context.Context, d *deployment, begin time.Time) (*Outcome, error) {
	nodes, links, err := s.drivers(d)
	if err != nil {
		return nil, err
	}
	defer closeAll(nodes)
	board, err := shared.NewPool(nodes, links, s.fabric.End)
	if err != nil {
		return nil, err
	}
	out := &Outcome{Setup: time.Since(begin)}
	started := time.Now()
	done := make(chan error, 1)
	go func() { done <- board.Run(ctx, runtime.GOMAXPROCS(0)) }()
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	for running := true; running; {
		select {
		case err := <-done:
			if err != nil {
				return nil, err
			}
			running = false
		case <-ticker.C:
			s.progress(board.Now())
		}
	}
	out.End, out.Grants = board.End(), board.Grants()
	out.Wall = time.Since(started)
	return out, s.take(out, nodes)
}

// take ends the nodes of this process and adds what they measured.
func (s *supervisor) take(o *Outcome, nodes []*emu.Node) error {
	for _, n := range nodes {
		if err := n.CloseCapture(); err != nil {
			return err
		}
		records := s.records[n]
		records.Finish()
		n.Finish(o.End)
		records.Close()
		o.Frames += n.Sent()
		o.Foreign += n.Strays()
	}
	return nil
}

// eachAtOnce calls f for 0 to n-1, all at once.
func eachAtOnce(n int, f func(i int) error) error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = f(i) })
	}
	all.Wait()
	return errors.Join(errs...)
}
