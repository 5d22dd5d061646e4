package wall

import (
	"errors"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/emu/lockstep"
	"github.com/csiglab/csiglab/nodes/watchdog"
	"github.com/csiglab/csiglab/units"
)

// PacerGroup drives nodes of one process in real time, on a few threads.
type PacerGroup struct {
	Block  *ControlBlock
	pacers []*pacer
}

// NewPacerGroup returns the PacerGroup of nodes of a fabric, which it divides
// between the given number of threads. links are the fabric's, end is exclusive.
func NewPacerGroup(c Clock, end units.Time, nodes []*emu.Node, links []lockstep.Channel, block *ControlBlock, threads int) *PacerGroup {
	g := &PacerGroup{Block: block}
	threads = min(threads, len(nodes))
	groups := make([][]*emu.Node, threads)
	for i, n := range nodes {
		groups[i%threads] = append(groups[i%threads], n)
	}
	for _, group := range groups {
		g.pacers = append(g.pacers, newPacer(c, end, group, links, block))
	}
	return g
}

// Run drives the nodes until the run is stopped; the supervisor starts and stops
// it through Block. It returns how each node kept real time, in the order of the
// nodes, or nothing if the run was stopped before its start. The first error of a
// node stops the run. The garbage collector is off from then on: it would stop
// threads that pace.
func (g *PacerGroup) Run() ([]Timing, error) {
	prepareProcess(len(g.pacers))
	var all sync.WaitGroup
	errs := make([]error, len(g.pacers))
	timings := make([][]Timing, len(g.pacers))
	for i, p := range g.pacers {
		all.Go(func() {
			defer watchdog.Catch()
			if timings[i], _, errs[i] = p.drive(); errs[i] != nil {
				g.Block.Stop(0) // the others have nothing to wait for
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	var list []Timing
	for at := 0; ; at++ {
		for i := range timings {
			if at == len(timings[i]) {
				return list, nil
			}
			list = append(list, timings[i][at])
		}
	}
}

// Pace drives the only node of a process in real time until the run is stopped. It
// returns the run's end and how the node kept real time, nil if the run was
// stopped before its start. The calling goroutine keeps its thread, with a
// real-time priority; the garbage collector is off from then on.
func Pace(c Clock, end units.Time, n *emu.Node, links []lockstep.Channel, block *ControlBlock) (units.Time, *Timing, error) {
	prepareProcess(1)
	timings, end, err := newPacer(c, end, []*emu.Node{n}, links, block).drive()
	if err != nil || len(timings) == 0 {
		return 0, nil, err
	}
	return end, &timings[0], nil
}

// prepareProcess makes room for threads that pace. A thread that sleeps in a raw
// system call keeps its processor of the Go scheduler.
func prepareProcess(threads int) {
	noCollections()
	runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), threads+spareProcessors))
}

// spareProcessors are for the goroutines that do not pace.
const spareProcessors = 2

// memoryLimit is the heap at which the garbage collector works again.
const memoryLimit = 512 << 20

func noCollections() {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(memoryLimit)
}

// drive runs the pacer on a thread of its own, from the common start on.
func (k *pacer) drive() ([]Timing, units.Time, error) {
	runtime.LockOSThread() // never unlocked: no other goroutine may get a real-time thread
	prepareThread()
	w := &threadSleeper{}
	w.calibrate()
	k.sleep = w
	for _, p := range k.nodes {
		if s, ok := p.Conn().(interface{ Descriptor() int }); ok {
			w.fds = append(w.fds, unix.PollFd{Fd: int32(s.Descriptor()), Events: unix.POLLIN})
		}
		k.block.ready(p.ID(), unix.Gettid())
	}
	for k.block.start() == 0 {
		if _, over := k.block.stopped(); over {
			return nil, 0, nil
		}
		w.wait(w.now()+time.Millisecond, false)
	}
	w.start = k.block.start
	for w.now() < 0 {
		w.wait(0, false)
	}
	w.demote = demoteAfter
	for _, p := range k.nodes {
		p.timing.RealTime = isRealTime()
	}
	end, err := k.run()
	if err != nil {
		return nil, 0, err
	}
	timings, err := k.timings()
	return timings, end, err
}
