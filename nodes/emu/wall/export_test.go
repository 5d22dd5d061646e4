package wall

import (
	"errors"
	"sync"
	"time"

	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/emu/lockstep"
	"github.com/csiglab/csiglab/nodes/netio"
	"github.com/csiglab/csiglab/units"
)

// lateSleeper is the sleeper of one node by the runtime's clock; its sleeps end
// late.
type lateSleeper struct {
	start   time.Time
	lag     func() time.Duration
	arrived <-chan struct{} // frames of the node
}

func (s *lateSleeper) now() time.Duration { return time.Since(s.start) }

func (s *lateSleeper) wait(until time.Duration, frames bool) {
	arrived := s.arrived
	if !frames {
		arrived = nil
	}
	timer := time.NewTimer(min(until-s.now(), maxSleep))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-arrived:
	}
	time.Sleep(s.lag())
}

// PaceAsleep drives each node on a goroutine of its own, for testing/synctest. The
// nodes' Conns are in memory. lag returns how late a node's next sleep ends.
func PaceAsleep(c Clock, end units.Time, nodes []*emu.Node, links []lockstep.Channel, lag func(node int) time.Duration) (Timing, Progress, error) {
	return PaceAsleepWhile(c, end, nodes, links, lag, func() bool { return false })
}

// PaceAsleepWhile is PaceAsleep for a run that is not over while busy says so.
func PaceAsleepWhile(c Clock, end units.Time, nodes []*emu.Node, links []lockstep.Channel, lag func(node int) time.Duration, busy func() bool) (Timing, Progress, error) {
	block := newControlBlock(make([]int64, blockWords(len(nodes))), len(nodes))
	start := time.Now()
	timing := Timing{RealTime: true}
	errs := make([]error, len(nodes))
	pacers := make([]*pacer, len(nodes))
	var all sync.WaitGroup
	for i, n := range nodes {
		pacers[i] = newPacer(c, end, []*emu.Node{n}, links, block)
		pacers[i].sleep = &lateSleeper{start, func() time.Duration { return lag(i) }, n.Conn().(*netio.Memory).Arrived()}
		all.Go(func() { _, errs[i] = pacers[i].run() })
	}
	for over := false; !over; {
		time.Sleep(quietFor / 2)
		var at Progress
		if at, over = block.Over(time.Since(start), end); over && !busy() {
			block.Stop(at.Last)
		} else {
			over = false
		}
	}
	all.Wait()
	for _, p := range pacers {
		of, err := p.timings()
		if err != nil {
			return timing, Progress{}, err
		}
		timing.Merge(of[0])
	}
	return timing, block.Look(), errors.Join(errs...)
}

// ReadOnly has a node read, a number of times, what send has sent, and process
// nothing of it.
func ReadOnly(n *emu.Node, times int, send func()) (Timing, error) {
	k := newPacer(Clock{Dilation: 1}, units.Never, []*emu.Node{n}, nil, nil)
	k.sleep = &lateSleeper{start: time.Now()}
	for range times {
		send()
		if err := k.poll(k.nodes[0]); err != nil {
			return Timing{}, err
		}
	}
	all, err := k.timings()
	if err != nil {
		return Timing{}, err
	}
	return all[0], nil
}
