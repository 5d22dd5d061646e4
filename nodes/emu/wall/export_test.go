package emu

import (
	"errors"
	"sync"
	"time"

	"github.com/csiglab/csiglab/nodes/emu/lockstep"
	"github.com/csiglab/csiglab/nodes/netio"
	"github.com/csiglab/csiglab/units"
)

// sleeper is a waker of one node, whose sleeps end late, by the runtime's clock.
type sleeper struct {
	start   time.Time
	lag     func() time.Duration
	arrived <-chan struct{} // frames of the node
}

func (s *sleeper) now() time.Duration { return time.Since(s.start) }

func (s *sleeper) wait(until time.Duration, frames bool) {
	arrived := s.arrived
	if !frames {
		arrived = nil
	}
	timer := time.NewTimer(min(until-s.now(), restless))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-arrived:
	}
	time.Sleep(s.lag())
}

// PaceAsleep drives each node on a goroutine of its own, for testing/synctest. The
// nodes' Conns are in memory.
// lag returns how late a node's next sleep ends.
func PaceAsleep(w Wall, end units.Time, nodes []*Node, links []lockstep.Link, lag func(node int) time.Duration) (Timing, Standing, error) {
	return PaceAsleepWhile(w, end, nodes, links, lag, func() bool { return false })
}

// PaceAsleepWhile is PaceAsleep for a run that is not over while busy says so.
func PaceAsleepWhile(w Wall, end units.Time, nodes []*Node, links []lockstep.Link, lag func(node int) time.Duration, busy func() bool) (Timing, Standing, error) {
	sheet := newSheet(make([]int64, sheetWords(len(nodes))), len(nodes))
	start := time.Now()
	timing := Timing{RealTime: true}
	errs := make([]error, len(nodes))
	pacers := make([]*Pacer, len(nodes))
	var all sync.WaitGroup
	for i, n := range nodes {
		pacers[i] = newPacer(w, end, []*Node{n}, links, sheet)
		pacers[i].clock = &sleeper{start, func() time.Duration { return lag(i) }, n.conn.(*netio.Memory).Arrived()}
		all.Go(func() { _, errs[i] = pacers[i].run() })
	}
	for over := false; !over; {
		time.Sleep(quietFor / 2)
		var at Standing
		if at, over = sheet.Over(time.Since(start), end); over && !busy() {
			sheet.Stop(at.Last)
		} else {
			over = false
		}
	}
	all.Wait()
	for _, p := range pacers {
		of, err := p.timings()
		if err != nil {
			return timing, Standing{}, err
		}
		timing.Merge(of[0])
	}
	return timing, sheet.Look(), errors.Join(errs...)
}

// ReadOnly has a node read, a number of times, what send has sent, and process
// nothing of it.
func ReadOnly(n *Node, times int, send func()) (Timing, error) {
	k := newPacer(Wall{Dilation: 1}, units.Never, []*Node{n}, nil, nil)
	k.clock = &sleeper{start: time.Now()}
	for range times {
		send()
		if err := k.receive(k.nodes[0]); err != nil {
			return Timing{}, err
		}
	}
	all, err := k.timings()
	if err != nil {
		return Timing{}, err
	}
	return all[0], nil
}

// ProgramBacklog is how many frames of programs a node keeps that wait.
const ProgramBacklog = programBacklog

// AppendTrailer appends a trailer to a frame.
var AppendTrailer = appendTrailer
