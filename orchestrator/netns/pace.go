package netns

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/orchestrator/watch"
)

// paceProcesses is processes in real time.
func (s *supervisor) paceProcesses(ctx context.Context, d *deployment, begin time.Time) (*Outcome, error) {
	configs, links := s.fabric.Configs()
	block, err := wall.NewSharedControlBlock(len(configs))
	if err != nil {
		return nil, err
	}
	defer block.Close()
	var inside *paced // switches of this process
	if s.fabric.SwitchesTogether {
		here, err := s.together(d, configs)
		if err != nil {
			return nil, err
		}
		defer closeAll(here)
		inside = pace(wall.NewPacerGroup(*s.fabric.Wall, s.fabric.End, here, links, block.ControlBlock, 1), here)
		defer inside.stop()
	}
	nodes, err := s.spawn(d, configs, links, block.File)
	defer nodes.bury()
	if err != nil {
		return nil, err
	}
	run := s.paced(block.ControlBlock, configs)
	run.Ends, run.Processes, run.Broken = nodes.ends, len(nodes.all), inside.broken
	got, err := run.Keep(ctx)
	if err != nil {
		return nil, err
	}
	out := watched(got, begin)
	if inside != nil {
		if err := inside.join(s, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// paced returns what keeps the run, as far as it is the same for all processes.
func (s *supervisor) paced(block *wall.ControlBlock, configs []emu.Config) *watch.Paced {
	run := &watch.Paced{
		Block: block, Wall: *s.fabric.Wall, End: s.fabric.End, Patience: s.fabric.Patience, Hold: s.hold,
		Ready: s.started, Progress: s.progress,
	}
	if s.apps != nil {
		run.Programs = s.apps.Done()
	}
	for _, c := range configs {
		run.Names = append(run.Names, c.Name)
	}
	return run
}

// watched returns the outcome of a run that has just ended.
func watched(got *watch.Outcome, begin time.Time) *Outcome {
	return &Outcome{Outcome: *got, Setup: got.Started.Sub(begin), Wall: time.Since(got.Started)}
}

// paced is nodes of this process under a group.
type paced struct {
	group   *wall.PacerGroup
	nodes   []*emu.Node
	ended   chan struct{}
	timings []wall.Timing
	err     error
}

func pace(k *wall.PacerGroup, nodes []*emu.Node) *paced {
	p := &paced{group: k, nodes: nodes, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		p.timings, p.err = k.Run()
	}()
	return p
}

// broken tells what made the nodes end before the run did.
func (p *paced) broken() error {
	if p == nil {
		return nil
	}
	select {
	case <-p.ended:
		if p.err == nil {
			return errors.New("the nodes ended during the run")
		}
		return p.err
	default:
		return nil
	}
}

// stop ends the nodes, if they have not ended, so that their ports can be closed.
func (p *paced) stop() {
	select {
	case <-p.ended:
	default:
		p.group.Block.Stop(0)
		<-p.ended
	}
}

// join waits for the nodes to end after the run and adds what they measured.
func (p *paced) join(s *supervisor, out *Outcome) error {
	if <-p.ended; p.err != nil {
		return p.err
	}
	for _, t := range p.timings {
		out.Timing.Merge(t)
	}
	return s.take(out, p.nodes)
}

// paceOneProcess drives all nodes here, in real time.
func (s *supervisor) paceOneProcess(ctx context.Context, d *deployment, begin time.Time) (*Outcome, error) {
	nodes, links, err := s.drivers(d)
	if err != nil {
		return nil, err
	}
	defer closeAll(nodes)
	configs, _ := s.fabric.Configs()
	block, err := wall.NewSharedControlBlock(len(nodes)) // for who captures
	if err != nil {
		return nil, err
	}
	defer block.Close()
	all := pace(wall.NewPacerGroup(*s.fabric.Wall, s.fabric.End, nodes, links, block.ControlBlock, runtime.NumCPU()), nodes)
	defer all.stop()
	run := s.paced(all.group.Block, configs)
	run.Broken = all.broken
	got, err := run.Keep(ctx)
	if err != nil {
		return nil, err
	}
	out := watched(got, begin)
	return out, all.join(s, out)
}
