package netns

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/clock"
	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/orchestrator/watch"
)

// Times of a run in real time.
const (
	startIn     = 20 * time.Millisecond // from when all nodes are ready to the start
	readyWithin = 30 * time.Second
	hopeless    = 2 * time.Second // a run that is so late is given up
	silentAfter = 5 * time.Second // a node that shows no life for so long has come to a halt
)

// paceProcesses is processes in real time.
func (s *supervisor) paceProcesses(ctx context.Context, d *deployment, begin time.Time) (*Outcome, error) {
	configs, links := s.fabric.Configs()
	sheet, err := emu.NewSharedSheet(len(configs))
	if err != nil {
		return nil, err
	}
	defer sheet.Close()
	var inside *paced // switches of this process
	if s.fabric.SwitchesTogether {
		here, err := s.together(d, configs)
		if err != nil {
			return nil, err
		}
		defer closeAll(here)
		inside = pace(emu.NewKeeper(*s.fabric.Wall, s.fabric.End, here, links, sheet.Sheet, 1), here)
		defer inside.stop()
	}
	nodes, err := s.spawn(d, configs, links, sheet.File)
	defer nodes.bury()
	if err != nil {
		return nil, err
	}
	out := &Outcome{Results: make([]metrics.NodeResult, len(configs)), Timing: &emu.Timing{RealTime: true}}
	left := len(nodes.all)
	take := func(e watch.Ended) error {
		if err := e.Failure(nodes.all[e.Node].name); err != nil {
			return err
		}
		if e.Report.Timing == nil {
			return &NodeError{Name: nodes.all[e.Node].name, Reason: "ended before the run"}
		}
		out.Results[e.Node] = e.Report.Result
		out.Frames += e.Report.Sent
		out.Foreign += e.Report.Foreign
		out.Timing.Merge(*e.Report.Timing)
		left--
		return nil
	}
	started, err := s.keep(ctx, sheet.Sheet, configs, func() error {
		select {
		case e := <-nodes.ends:
			if err := e.Failure(nodes.all[e.Node].name); err != nil {
				return err
			}
			return &NodeError{Name: nodes.all[e.Node].name, Reason: "ended during the run"}
		default:
			return inside.broken()
		}
	}, out)
	if err != nil {
		return nil, err
	}
	for left > 0 {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case e := <-nodes.ends:
			if err := take(e); err != nil {
				return nil, err
			}
		case <-time.After(silentAfter):
			return nil, errors.New("the run is over, but nodes do not end")
		}
	}
	if inside != nil {
		if err := inside.join(out); err != nil {
			return nil, err
		}
	}
	out.Setup, out.Wall = started.Sub(begin), time.Since(started)
	return out, nil
}

// paced is nodes of this process under a keeper.
type paced struct {
	keeper  *emu.Keeper
	nodes   []*emu.Node
	ended   chan struct{}
	timings []emu.Timing
	err     error
}

func pace(k *emu.Keeper, nodes []*emu.Node) *paced {
	p := &paced{keeper: k, nodes: nodes, ended: make(chan struct{})}
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
		p.keeper.Sheet.Stop(0)
		<-p.ended
	}
}

// join waits for the nodes to end after the run and adds what they measured.
func (p *paced) join(out *Outcome) error {
	if <-p.ended; p.err != nil {
		return p.err
	}
	for _, t := range p.timings {
		out.Timing.Merge(t)
	}
	return out.take(p.nodes)
}

// paceOneProcess drives all nodes here, in real time.
func (s *supervisor) paceOneProcess(ctx context.Context, d *deployment, begin time.Time) (*Outcome, error) {
	nodes, links, err := s.drivers(d)
	if err != nil {
		return nil, err
	}
	defer closeAll(nodes)
	configs, _ := s.fabric.Configs()
	all := pace(emu.NewKeeper(*s.fabric.Wall, s.fabric.End, nodes, links, emu.NewSheet(len(nodes)), runtime.NumCPU()), nodes)
	defer all.stop()
	out := &Outcome{Results: make([]metrics.NodeResult, len(nodes)), Timing: &emu.Timing{RealTime: true}}
	started, err := s.keep(ctx, all.keeper.Sheet, configs, all.broken, out)
	if err == nil {
		err = all.join(out)
	}
	if err != nil {
		return nil, err
	}
	out.Setup, out.Wall = started.Sub(begin), time.Since(started)
	return out, nil
}

// keep starts a run in real time when every node is ready, and stops it when it
// is over. broken, asked now and then, tells what has failed meanwhile. keep
// fills in the run's end and returns when it started.
func (s *supervisor) keep(ctx context.Context, sheet *emu.Sheet, configs []emu.Config, broken func() error, out *Outcome) (started time.Time, err error) {
	ticker := time.NewTicker(watch.Tick)
	defer ticker.Stop()
	var start time.Duration // 0 before
	for begin := time.Now(); ; {
		select {
		case <-ctx.Done():
			return started, context.Cause(ctx)
		case <-ticker.C:
		}
		if err := broken(); err != nil {
			return started, err
		}
		now := emu.Monotonic()
		if start == 0 {
			switch {
			case sheet.Ready():
				start, started = now+startIn, time.Now().Add(startIn)
				sheet.Start(start)
			case time.Since(begin) > readyWithin:
				return started, fmt.Errorf("the nodes are not ready after %v", readyWithin)
			}
			continue
		}
		if n := sheet.Silent(now - silentAfter); n >= 0 && now-start > silentAfter {
			return started, &NodeError{Name: configs[n].Name, Reason: fmt.Sprintf("has not shown life for %v", silentAfter)}
		}
		at, over := sheet.Over(now, s.fabric.End)
		behind := now - start - s.fabric.Wall.At(at.Next)
		endless := s.fabric.Patience > 0 && now-start > s.fabric.Patience
		if behind > hopeless || endless {
			out.Behind, out.End = max(behind, 1), at.Last
			sheet.Stop(out.End)
			return started, nil
		}
		if over {
			out.End = min(s.fabric.End, at.Last)
			if at.Next != clock.Never {
				out.End = s.fabric.End
			}
			sheet.Stop(out.End)
			return started, nil
		}
		s.progress(min(s.fabric.Wall.Model(max(0, now-start)), s.fabric.End))
	}
}
