// Package meter measures the signals that a switch writes into CSIG tags:
// available bandwidth over an interval, and the depth of a queue. Delay needs no
// meter, it follows from the packet's own times.
package meter

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/units"
)

// Mode is how bandwidth windows follow each other.
type Mode uint8

// Modes.
const (
	Tumbling Mode = iota // the last closed window; its age is one to two intervals
	Sliding              // the sum of sub-windows; its age is at most a sub-window more than the interval
)

// ParseMode reads tumbling or sliding; empty text is tumbling.
func ParseMode(text string) (Mode, error) {
	i, err := parseName("meter", text, modes)
	return Mode(i), err
}

var modes = []string{"tumbling", "sliding"}

// Modes returns the names that ParseMode reads, in the order of their values.
func Modes() []string { return slices.Clone(modes) }

// parseName returns the position of text in names; empty text is the first.
func parseName(what, text string, names []string) (int, error) {
	if text == "" {
		return 0, nil
	}
	if i := slices.Index(names, text); i >= 0 {
		return i, nil
	}
	return 0, fmt.Errorf("unknown %s %q; use %s", what, text, strings.Join(names, " or "))
}

// subWindows is the number of sub-windows of a sliding meter.
const subWindows = 8

// Bandwidth measures the available bandwidth of an egress port: its rate less
// what it sent over an interval (docs/references.md#available-bandwidth).
// Preamble, gap and MAC-generated frames are not counted. Before the first
// window has closed the port counts as idle.
type Bandwidth struct {
	rate     units.Rate
	interval units.Duration

	sub   units.Duration // length of a window
	ring  [subWindows]int64
	count int   // windows in an interval
	at    int   // ring position of the window that closes next
	sum   int64 // bytes of the windows in the interval
	open  int64 // bytes of the open window
	end   units.Time
}

// NewBandwidth returns the meter of a port. interval must be at least 8 ps.
func NewBandwidth(rate units.Rate, interval units.Duration, mode Mode) Bandwidth {
	b := Bandwidth{rate: rate, interval: interval, sub: interval, count: 1}
	if mode == Sliding {
		b.sub, b.count = interval/subWindows, subWindows
	}
	b.end = units.Time(b.sub)
	return b
}

// Transmit counts a packet whose transmission starts at now. Calls are in order
// of time.
func (b *Bandwidth) Transmit(now units.Time, size units.Size) {
	b.roll(now)
	b.open += int64(size)
}

// Available returns the available bandwidth in byte/s.
func (b *Bandwidth) Available(now units.Time) uint64 {
	b.roll(now)
	hi, lo := bits.Mul64(uint64(b.sum), uint64(units.Second))
	used, _ := bits.Div64(hi, lo, uint64(b.interval))
	capacity := uint64(b.rate) / 8
	return capacity - min(used, capacity)
}

// Relative returns the available bandwidth in ppm of the rate.
func (b *Bandwidth) Relative(now units.Time) uint64 {
	hi, lo := bits.Mul64(b.Available(now), 8*partsPerMillion)
	ppm, _ := bits.Div64(hi, lo, uint64(b.rate))
	return min(ppm, partsPerMillion)
}

const partsPerMillion = 1_000_000

func (b *Bandwidth) roll(now units.Time) {
	if now < b.end {
		return
	}
	// Idle time of a whole interval or more empties every window at once.
	passed := int64(now.Sub(b.end)/b.sub) + 1
	for range min(passed, int64(b.count)+1) {
		b.sum += b.open - b.ring[b.at]
		b.ring[b.at], b.open = b.open, 0
		if b.at++; b.at == b.count {
			b.at = 0
		}
	}
	b.end = b.end.Add(units.Duration(passed) * b.sub)
}

// DepthMode is what the depth of a queue is compared with.
type DepthMode uint8

// Depth modes (docs/references.md#queue-depth).
const (
	Occupancy DepthMode = iota // share of the queue's limit
	Drain                      // time to drain, as a share of a domain constant
)

// ParseDepthMode reads occupancy or drain; empty text is occupancy.
func ParseDepthMode(text string) (DepthMode, error) {
	i, err := parseName("queue depth mode", text, depthModes)
	return DepthMode(i), err
}

var depthModes = []string{"occupancy", "drain"}

// DepthModes returns the names that ParseDepthMode reads, in the order of their
// values.
func DepthModes() []string { return slices.Clone(depthModes) }

// Depth normalises the depth of a queue.
type Depth struct{ full units.Size }

// NewDepth returns the meter of a queue of the given limit behind a port of the
// given rate; tau is the constant of Drain.
func NewDepth(mode DepthMode, limit units.Size, rate units.Rate, tau units.Duration) Depth {
	if mode == Drain {
		limit = rate.Volume(tau)
	}
	return Depth{full: max(limit, 1)}
}

// Of returns the normalised depth of a queue of the given size in ppm, at most
// one million. The queue is taken at dequeue, the departing packet not counted.
func (d Depth) Of(queue units.Size) uint64 {
	hi, lo := bits.Mul64(uint64(min(queue, d.full)), partsPerMillion)
	ppm, _ := bits.Div64(hi, lo, uint64(d.full))
	return ppm
}
