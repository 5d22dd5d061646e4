package class

import (
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// Gate is what a port may not send because the peer on its link has paused some of its
// classes (IEEE 802.1Q §36.1). A class stays paused until its timer ends or a frame with
// timer 0 comes. Build it with NewGate.
type Gate struct {
	quantum units.Duration // of the timers
	closed  uint8          // bit i: class i is paused
	until   [Max]units.Time
	since   [Max]units.Time
	next    units.Time // when the first timer ends; Never
	frames  [Max]int64
	paused  [Max]units.Duration // without the current pause
}

// NewGate returns the gate of a port of the given rate, with everything open.
func NewGate(rate units.Rate) Gate { return Gate{quantum: Quantum(rate), next: units.Never} }

// Quantum returns how long a quantum of a pause timer lasts at a rate.
func Quantum(rate units.Rate) units.Duration { return rate.Serialisation(wire.PauseQuantum / 8) }

// Closed returns the set of classes that are paused, bit i for class i.
func (g *Gate) Closed() uint8 { return g.closed }

// Next returns when the first timer ends, units.Never if no class is paused. The caller
// then calls Expire.
func (g *Gate) Next() units.Time { return g.next }

// Receive takes a pause frame from the peer, and reports whether a class was opened.
func (g *Gate) Receive(now units.Time, f wire.PauseFields) (opened bool) {
	for c := range Max {
		if f.Vector>>c&1 == 0 {
			continue
		}
		g.frames[c]++
		if f.Timers[c] == 0 {
			opened = g.open(now, c) || opened
			continue
		}
		if g.closed>>c&1 == 0 {
			g.closed |= 1 << c
			g.since[c] = now
		}
		g.until[c] = now.Add(units.Duration(f.Timers[c]) * g.quantum)
	}
	g.schedule()
	return opened
}

// Expire opens the classes whose timers have ended, and reports whether there were any.
func (g *Gate) Expire(now units.Time) (opened bool) {
	if now < g.next {
		return false
	}
	for c := range Max {
		if g.closed>>c&1 != 0 && g.until[c] <= now {
			opened = g.open(now, c) || opened
		}
	}
	g.schedule()
	return opened
}

func (g *Gate) open(now units.Time, c int) bool {
	if g.closed>>c&1 == 0 {
		return false
	}
	g.closed &^= 1 << c
	g.paused[c] += now.Sub(g.since[c])
	return true
}

func (g *Gate) schedule() {
	g.next = units.Never
	for c := range Max {
		if g.closed>>c&1 != 0 {
			g.next = min(g.next, g.until[c])
		}
	}
}

// Frames returns how many pause frames named a class, those that opened it included.
func (g *Gate) Frames(class int) int64 { return g.frames[class] }

// Paused returns for how long a class was paused until now.
func (g *Gate) Paused(now units.Time, class int) units.Duration {
	if g.closed>>class&1 != 0 {
		return g.paused[class] + now.Sub(g.since[class])
	}
	return g.paused[class]
}

// Since returns since when a class that is paused has been so.
func (g *Gate) Since(class int) units.Time { return g.since[class] }
