package netns

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/emu/lockstep"
	"github.com/csiglab/csiglab/nodes/emu/lockstep/shared"
	"github.com/csiglab/csiglab/nodes/emu/process"
	"github.com/csiglab/csiglab/orchestrator/watch"
	"github.com/csiglab/csiglab/topologies"
)

// child is one node's process.
type child struct {
	name   string
	node   int
	cmd    *exec.Cmd
	report *os.File
	stderr tail
}

// fleet is the processes of all nodes.
type fleet struct {
	all     []*child // by node
	ends    chan watch.Ended
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
	board, err := shared.New(len(configs), links, s.fabric.End)
	if err != nil {
		return nil, err
	}
	defer board.Close()
	nodes, err := s.spawn(d, configs, links, board.File)
	defer nodes.bury()
	if err != nil {
		return nil, err
	}
	return s.collect(ctx, nodes, board, begin)
}

// spawn starts the processes, which share a file of memory. Those that are
// started when it fails are in the fleet.
func (s *supervisor) spawn(d *deployment, configs []emu.Config, links []lockstep.Link, shared *os.File) (*fleet, error) {
	f := &s.fabric
	nodes := &fleet{ends: make(chan watch.Ended, len(configs))}
	affinity := newAffinity(f.Graph)
	for i, c := range configs {
		if f.SwitchesTogether && !c.Host {
			continue
		}
		p := &child{name: c.Name, node: i}
		if f.Wall == nil { // in real time a node must not wait for a processor while another is idle
			affinity.pin(i)
		}
		err := s.start(p, &d.spaces[i], f, i, process.Spec{
			Config: c, Machine: f.Nodes[i], Interfaces: d.spaces[i].indices,
			MaxFrame: f.maxFrame(), Nodes: len(configs), Links: links, End: f.End, Wall: f.Wall,
		}, shared)
		if err != nil {
			return nodes, fmt.Errorf("start node %s: %w", c.Name, err)
		}
		nodes.all = append(nodes.all, p)
		nodes.waiting.Go(func() { nodes.ends <- p.wait(i, s) })
	}
	affinity.restore()
	s.tell(d, nodes)
	return nodes, unix.Setns(int(d.home.Fd()), unix.CLONE_NEWNET)
}

// start starts the process of node i in its namespace. The calling thread, which
// the process inherits the namespace from, stays in it.
func (s *supervisor) start(p *child, in *space, f *Fabric, i int, spec process.Spec, shared *os.File) error {
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

// wait hands on the records, reads the report and waits for the process.
func (p *child) wait(node int, to metrics.Consumer) watch.Ended {
	e := watch.Ended{Node: node}
	e.Report, _ = process.ReadReport(p.report, to) // without one, the end of the process says why
	p.report.Close()
	var exit *exec.ExitError
	switch err := p.cmd.Wait(); {
	case errors.As(err, &exit):
		status := exit.Sys().(syscall.WaitStatus)
		if status.Signaled() {
			e.Reason = fmt.Sprintf("was killed by signal %d (%v)", status.Signal(), status.Signal())
		} else {
			e.Reason = fmt.Sprintf("ended with code %d: %s", status.ExitStatus(), p.stderr.text())
		}
	case err != nil || e.Report == nil:
		e.Reason = "ended without a result: " + p.stderr.text()
	}
	return e
}

// collect waits until every process has reported.
func (s *supervisor) collect(ctx context.Context, nodes *fleet, board *shared.Board, begin time.Time) (*Outcome, error) {
	run := watch.Run{Shared: board, Ends: nodes.ends, FrameTimeout: s.fabric.FrameTimeout, Progress: s.progress}
	for _, p := range nodes.all {
		run.Processes = append(run.Processes, watch.Process{Name: p.name, PID: p.cmd.Process.Pid})
	}
	got, err := run.Wait(ctx)
	if err != nil {
		return nil, err
	}
	return watched(got, begin), nil
}
