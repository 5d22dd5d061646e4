package sim

import (
	"math/bits"

	"github.com/csiglab/csiglab/units"
)

// ringWindows is how many windows ahead a calendar keeps in its ring; later ones
// wait in a heap.
const ringWindows = 1024

// calendar says which nodes have something due in which window of time. Windows
// have one width and begin at its multiples. A node may stand in several windows;
// the earliest one counts, and the others are found stale when they come. The zero
// value is not ready; newCalendar makes one.
type calendar struct {
	width    units.Duration
	cursor   int64 // windows before it are over
	ring     [ringWindows][]int32
	occupied [ringWindows / 64]uint64 // windows of the ring that have nodes
	far      eventHeap                // at: number of the window; order: node
	spare    [][]int32                // memory of windows that are over
}

func newCalendar(width units.Duration) *calendar { return &calendar{width: width} }

// window returns the number of the window that holds a time.
func (c *calendar) window(at units.Time) int64 { return int64(at) / int64(c.width) }

// start returns when a window begins.
func (c *calendar) start(window int64) units.Time { return units.Time(window * int64(c.width)) }

// book puts a node into a window, which is not over, and returns the window's start.
func (c *calendar) book(node int32, at units.Time) units.Time {
	w := c.window(at)
	if w-c.cursor >= ringWindows {
		c.far.push(event{at: units.Time(w), order: uint64(node)})
		return c.start(w)
	}
	c.add(w, node)
	return c.start(w)
}

func (c *calendar) add(w int64, node int32) {
	i := w % ringWindows
	if c.ring[i] == nil && len(c.spare) > 0 {
		last := len(c.spare) - 1
		c.ring[i], c.spare = c.spare[last], c.spare[:last]
	}
	c.ring[i] = append(c.ring[i], node)
	c.occupied[i/64] |= 1 << (i % 64)
}

// next returns the first window that has nodes. ok is false when none has.
func (c *calendar) next() (window int64, ok bool) {
	window, ok = c.nextOfRing()
	if at := c.far.first(); at != units.Never && (!ok || int64(at) < window) {
		return int64(at), true
	}
	return window, ok
}

func (c *calendar) nextOfRing() (window int64, ok bool) {
	from := c.cursor % ringWindows
	for k := int64(0); k <= ringWindows/64; k++ {
		word := (from/64 + k) % (ringWindows / 64)
		set := c.occupied[word]
		switch k {
		case 0:
			set &= ^uint64(0) << (from % 64)
		case ringWindows / 64: // the first word again: what comes after the turn of the ring
			set &= 1<<(from%64) - 1
		}
		if set != 0 {
			i := word*64 + int64(bits.TrailingZeros64(set))
			return c.cursor + (i-from+ringWindows)%ringWindows, true
		}
	}
	return 0, false
}

// booked returns how many nodes are booked for a window, those far ahead not counted.
func (c *calendar) booked(window int64) int {
	if window-c.cursor >= ringWindows {
		return 0
	}
	return len(c.ring[window%ringWindows])
}

// open makes a window the first one and returns its nodes, some of them stale or
// twice. The list is the caller's until it calls recycle.
func (c *calendar) open(window int64) []int32 {
	c.cursor = window
	for c.far.first() == units.Time(window) {
		c.add(window, int32(c.far.take().order))
	}
	i := window % ringWindows
	nodes := c.ring[i]
	c.ring[i] = nil
	c.occupied[i/64] &^= 1 << (i % 64)
	return nodes
}

// recycle takes back the list of a window.
func (c *calendar) recycle(nodes []int32) { c.spare = append(c.spare, nodes[:0]) }
