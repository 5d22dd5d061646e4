package netns

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/clock"
	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/emu/lockstep"
	"github.com/csiglab/csiglab/topologies"
)

// process is one node's process.
type process struct {
	name   string
	cmd    *exec.Cmd
	report *os.File
	stderr tail
}

// ended is what a process left.
type ended struct {
	node   int
	report *emu.ProcessReport // nil when it left none
	err    error              // of waiting for it
}

// fleet is the processes of all nodes.
type fleet struct {
	all     []*process // by node
	ends    chan ended
	waiting sync.WaitGroup
}

// bury ends what still runs and waits, so that none is left for init to bury.
func (f *fleet) bury() {
	for _, p := range f.all {
		p.cmd.Process.Kill()
	}
	f.waiting.Wait()
}

// processes starts a process per node and waits for all.
func (s *supervisor) processes(ctx context.Context, d *deployment, begin time.Time) (*Outcome, error) {
	configs, links := s.fabric.Configs()
	shared, err := emu.NewShared(len(configs), links, s.fabric.End)
	if err != nil {
		return nil, err
	}
	defer shared.Close()
	nodes, err := s.spawn(d, configs, links, shared.File)
	defer nodes.bury()
	if err != nil {
		return nil, err
	}
	return s.collect(ctx, nodes.all, shared, nodes.ends, begin)
}

// spawn starts the processes, which share a file of memory. Those that are
// started when it fails are in the fleet.
func (s *supervisor) spawn(d *deployment, configs []emu.Config, links []lockstep.Link, shared *os.File) (*fleet, error) {
	f := &s.fabric
	nodes := &fleet{ends: make(chan ended, len(configs))}
	affinity := newAffinity(f.Graph)
	for i, c := range configs {
		p := &process{name: c.Name}
		if f.Wall == nil { // in real time a node must not wait for a processor while another is idle
			affinity.pin(i)
		}
		err := s.start(p, &d.spaces[i], f, i, emu.ProcessSpec{
			Config: c, Machine: f.Nodes[i].config(), Interfaces: d.spaces[i].indices,
			MaxFrame: f.maxFrame(), Nodes: len(configs), Links: links, End: f.End, Wall: f.Wall,
		}, shared)
		if err != nil {
			return nodes, fmt.Errorf("start node %s: %w", c.Name, err)
		}
		nodes.all = append(nodes.all, p)
		nodes.waiting.Go(func() { nodes.ends <- p.wait(i) })
	}
	affinity.restore()
	return nodes, unix.Setns(int(d.home.Fd()), unix.CLONE_NEWNET)
}

// start starts the process of node i in its namespace. The calling thread, which
// the process inherits the namespace from, stays in it.
func (s *supervisor) start(p *process, in *space, f *Fabric, i int, spec emu.ProcessSpec, shared *os.File) error {
	specRead, specWrite, err := os.Pipe()
	if err != nil {
		return err
	}
	defer specRead.Close()
	report, reportWrite, err := os.Pipe()
	if err != nil {
		specWrite.Close()
		return err
	}
	defer reportWrite.Close()
	line := f.SwitchProgram
	if f.Graph.Nodes[i].Kind == topologies.Host {
		line = f.HostProgram
	}
	p.report = report
	p.cmd = exec.Command(line[0], line[1:]...)
	p.cmd.Env = append(os.Environ(), environmentNode+"="+p.name)
	p.cmd.Stderr = &p.stderr
	p.cmd.ExtraFiles = []*os.File{specRead, shared, reportWrite, s.alive}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := unix.Setns(int(in.file.Fd()), unix.CLONE_NEWNET); err != nil {
		specWrite.Close()
		return err
	}
	if err := p.cmd.Start(); err != nil {
		specWrite.Close()
		return err
	}
	go func() {
		gob.NewEncoder(specWrite).Encode(spec)
		specWrite.Close()
	}()
	return nil
}

// wait reads the report and waits for the process.
func (p *process) wait(node int) ended {
	e := ended{node: node}
	content, err := io.ReadAll(p.report)
	p.report.Close()
	e.err = p.cmd.Wait()
	var report emu.ProcessReport
	if err == nil && gob.NewDecoder(bytes.NewReader(content)).Decode(&report) == nil {
		e.report = &report
	}
	return e
}

// tick is how often the supervisor looks at the Board.
const tick = 20 * time.Millisecond

// collect waits until every process has reported.
func (s *supervisor) collect(ctx context.Context, all []*process, shared *emu.Shared, ends <-chan ended, begin time.Time) (*Outcome, error) {
	out := &Outcome{Results: make([]metrics.NodeResult, len(all))}
	started := time.Time{}
	watch := watchdog{shared: shared, all: all, limit: s.fabric.FrameTimeout}
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for left := len(all); left > 0; {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case e := <-ends:
			if err := all[e.node].failure(e); err != nil {
				return nil, err
			}
			out.Results[e.node] = e.report.Result
			out.Frames += e.report.Sent
			out.Foreign += e.report.Foreign
			left--
		case now := <-ticker.C:
			if started.IsZero() && shared.Board.Grants() > 0 {
				started = now
			}
			s.progress(shared.Board.Earliest())
			if err := watch.look(now); err != nil {
				return nil, err
			}
		}
	}
	if started.IsZero() {
		started = time.Now()
	}
	out.Setup, out.Wall = started.Sub(begin), time.Since(started)
	out.Grants, out.End = shared.Board.Grants(), shared.Board.End()
	return out, nil
}

// failure returns what is wrong with a process that has ended, if anything.
func (p *process) failure(e ended) error {
	switch {
	case e.report != nil && e.report.Link != nil:
		return e.report.Link
	case e.report != nil && e.report.Failure != "":
		return &NodeError{Name: p.name, Reason: e.report.Failure}
	case e.report == nil || e.err != nil:
		reason := "ended without a result"
		var exit *exec.ExitError
		if errors.As(e.err, &exit) {
			status := exit.Sys().(syscall.WaitStatus)
			if status.Signaled() {
				return &NodeError{Name: p.name, Reason: fmt.Sprintf("was killed by signal %d (%v)", status.Signal(), status.Signal())}
			}
			reason = fmt.Sprintf("ended with code %d", status.ExitStatus())
		}
		return &NodeError{Name: p.name, Reason: reason + ": " + p.stderr.text()}
	}
	return nil
}

// watchdog finds the node that the others wait for when nothing moves.
type watchdog struct {
	shared *emu.Shared
	all    []*process
	limit  time.Duration // of a frame
	grants int64
	moved  time.Time
}

// Limits of a halt: after the first, a process that is stopped is to blame; after
// the second, which leaves a node the time to miss a frame and say so, whichever
// owes a turn.
const (
	stoppedAfter = time.Second
	haltedAfter  = 5 * time.Second
)

func (w *watchdog) look(now time.Time) error {
	if g := w.shared.Board.Grants(); g != w.grants || w.moved.IsZero() {
		w.grants, w.moved = g, now
		return nil
	}
	still := now.Sub(w.moved)
	if still < stoppedAfter || w.shared.Board.Earliest() == clock.Never {
		return nil
	}
	for _, p := range w.all {
		if state := p.state(); state == 'T' || state == 't' {
			return &NodeError{Name: p.name, Reason: "is stopped and all others wait for it"}
		}
	}
	limit := w.limit
	if limit == 0 {
		limit = emu.DefaultFrameTimeout
	}
	if still < 2*limit+haltedAfter {
		return nil
	}
	owes := w.shared.Board.Stuck()
	if holder := w.shared.Holder(); holder >= 0 {
		owes = []int{holder}
	}
	var names []string
	for _, n := range owes {
		names = append(names, w.all[n].name)
	}
	if len(names) == 0 {
		return errors.New("all nodes wait and none may advance")
	}
	return &NodeError{Name: strings.Join(names, ", "), Reason: fmt.Sprintf("has not taken its turn for %v", still.Round(time.Second))}
}

// state returns the state letter of the process (proc(5)), 0 when it is gone.
func (p *process) state() byte {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	after := stat[bytes.LastIndexByte(stat, ')')+1:]
	if len(after) < 2 {
		return 0
	}
	return after[1]
}
