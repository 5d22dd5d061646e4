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
	nodes, err := s.spawn(d, configs, links, sheet.File)
	defer nodes.bury()
	if err != nil {
		return nil, err
	}
	out := &Outcome{Results: make([]metrics.NodeResult, len(configs)), Timing: &emu.Timing{RealTime: true}}
	left := len(configs)
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
			return nil
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
	out.Setup, out.Wall = started.Sub(begin), time.Since(started)
	return out, nil
}

// paceOneProcess drives all nodes here, in real time.
func (s *supervisor) paceOneProcess(ctx context.Context, d *deployment, begin time.Time) (*Outcome, error) {
	nodes, links, err := s.drivers(d)
	if err != nil {
		return nil, err
	}
	defer closeAll(nodes)
	configs, _ := s.fabric.Configs()
	keeper := emu.NewKeeper(*s.fabric.Wall, s.fabric.End, nodes, links, runtime.NumCPU())
	ended := make(chan struct{})
	var timings []emu.Timing
	var failed error
	go func() {
		timings, failed = keeper.Run()
		close(ended)
	}()
	out := &Outcome{Timing: &emu.Timing{RealTime: true}}
	started, err := s.keep(ctx, keeper.Sheet, configs, func() error {
		select {
		case <-ended:
			if failed == nil {
				return errors.New("the nodes ended during the run")
			}
			return failed
		default:
			return nil
		}
	}, out)
	if err != nil {
		keeper.Sheet.Stop(0)
	}
	<-ended
	if err == nil {
		err = failed
	}
	if err != nil {
		return nil, err
	}
	for _, t := range timings {
		out.Timing.Merge(t)
	}
	out.Setup, out.Wall = started.Sub(begin), time.Since(started)
	return out, out.take(nodes)
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
		if behind := now - start - s.fabric.Wall.At(at.Next); behind > hopeless {
			out.Behind, out.End = behind, at.Last
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
