// Package meter measures the signals that a switch writes into CSIG tags:
// available bandwidth over an interval, and the depth of a queue. Delay needs no
// meter, it follows from the packet's own times.
package meter

import (
	"math"
	"math/bits"
	"slices"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/units"
)

// Mode is how bandwidth windows follow each other.
type Mode uint8

// Modes.
const (
	Tumbling Mode = iota // the last closed window; its age is one to two intervals
	Sliding              // the sum of sub-windows; its age is at most a sub-window more than the interval
)

// String returns the name.
func (m Mode) String() string { return modes[m] }

// UnmarshalText implements encoding.TextUnmarshaler: tumbling or sliding.
func (m *Mode) UnmarshalText(text []byte) error { return spelling.Enum(m, "meter", text, modes) }

var modes = []string{"tumbling", "sliding"}

// Names returns the names, in the order of their values.
func (Mode) Names() []string { return slices.Clone(modes) }

// Phase is where the windows of a port begin.
type Phase uint8

// Phases; no source says how windows lie. If all began at once, bursts of 128 us every 256 us would
// read 0 or 100 % free at every port.
const (
	Seeded  Phase = iota // at a random time of the port's own within an interval
	Aligned              // at the start of the run, at every port
)

// String returns the name.
func (p Phase) String() string { return phases[p] }

// UnmarshalText implements encoding.TextUnmarshaler: seeded or aligned.
func (p *Phase) UnmarshalText(text []byte) error { return spelling.Enum(p, "phase", text, phases) }

var phases = []string{"seeded", "aligned"}

// Names returns the names, in the order of their values.
func (Phase) Names() []string { return slices.Clone(phases) }

// subWindows is the number of sub-windows of a sliding meter.
const subWindows = 8

// Bandwidth measures the available bandwidth of an egress port: its rate less
// what it sent over an interval (docs/reference/references.md#available-bandwidth). The bytes
// of a packet are spread evenly over the time of its transmission, so that a
// packet longer than a window belongs to all windows in which it is on the link.
// Preamble, gap and MAC-generated frames are not counted: with an overhead of o bytes a port
// full of frames of f bytes reads o/(f+o) free. The port counts as idle before the run.
//
// A switch reads the meter when a packet departs, which is more often behind an idle time than
// other moments are. The mean over phases is off by at most 0.7 points of the rate with ten full
// frames in an interval or more; of a sliding meter by 3.9 with 5 frames, 11 with 3.
type Bandwidth struct {
	rate     units.Rate
	taken    units.Rate     // of rate, by what are no packets
	interval units.Duration // what the windows in the ring cover

	sub       units.Duration // length of a window
	fraction  uint           // binary digits of a byte's fraction in ring, sum, open and packet
	ring      [subWindows]uint64
	count     int        // windows in an interval
	at        int        // ring position of the window that closes next
	sum       uint64     // bytes of the windows in the interval
	peak      uint64     // greatest sum since the last call of Lowest
	lowest    uint64     // least available bandwidth since then, at rates before this one
	open      uint64     // bytes of the open window, as far as they are settled
	windowEnd units.Time // of the open window

	packet transmission
}

// transmission is the packet on the link: of its size, settled bytes belong to
// windows already.
type transmission struct {
	start         units.Time
	takes         units.Duration
	size, settled uint64
}

// before returns how much of the packet was sent before t.
func (x *transmission) before(t units.Time) uint64 {
	switch elapsed := t.Sub(x.start); {
	case elapsed >= x.takes:
		return x.size
	case elapsed <= 0:
		return 0
	default:
		hi, lo := bits.Mul64(x.size, uint64(elapsed))
		sent, _ := bits.Div64(hi, lo, uint64(x.takes))
		return sent
	}
}

// NewBandwidth returns the meter of a port. interval must be at least 8 ps; windows
// begin phase after the start of the run, and every window before and after that.
func NewBandwidth(rate units.Rate, interval units.Duration, mode Mode, phase units.Duration) Bandwidth {
	b := Bandwidth{rate: rate, lowest: math.MaxUint64}
	b.sub, b.count, b.windowEnd = windows(interval, mode, phase)
	b.interval = b.sub * units.Duration(b.count)
	// 64 bits hold 16 times what the rate carries in an interval, and 16 packets of 64 KiB.
	b.fraction = uint(max(0, 60-bits.Len64(uint64(max(rate.Volume(b.interval), 64*units.KiB)))))
	return b
}

// Windows is how a meter computes, for datapaths that measure likewise.
type Windows struct {
	Length   units.Duration
	Count    int        // in an interval
	FirstEnd units.Time // of the open window
	Fraction uint       // binary digits of a byte's fraction
}

// Windows returns those of the meter.
func (b *Bandwidth) Windows() Windows { return Windows{b.sub, b.count, b.windowEnd, b.fraction} }

// windows returns the length of the windows of a meter, how many an interval has, and when
// the first one ends.
func windows(interval units.Duration, mode Mode, phase units.Duration) (sub units.Duration, count int, firstEnd units.Time) {
	sub, count = interval, 1
	if mode == Sliding {
		sub, count = interval/subWindows, subWindows
	}
	if firstEnd = units.Time(phase % sub); firstEnd == 0 {
		firstEnd = units.Time(sub)
	}
	return sub, count, firstEnd
}

// SetRate sets the rate of the port, which is at most that of NewBandwidth, from now on.
// What was sent before counts as it is.
func (b *Bandwidth) SetRate(now units.Time, rate units.Rate) {
	b.roll(now)
	b.lowest = min(b.lowest, b.available(b.peak))
	b.rate, b.peak = rate, b.sum
}

// Take sets what else than packets takes of the rate from now on, less than all of it.
func (b *Bandwidth) Take(now units.Time, taken units.Rate) {
	b.SetRate(now, b.rate)
	b.taken = taken
}

// Restart returns the meter as NewBandwidth would have it at now, with the rate of this one.
// It has no memory but of what this one has given, which is for Lowest.
func (b *Bandwidth) Restart(now units.Time, fresh Bandwidth) Bandwidth {
	b.roll(now)
	rate := b.rate
	fresh.SetRate(now, rate)
	fresh.taken = b.taken
	fresh.lowest = min(b.lowest, b.available(b.peak))
	return fresh
}

// Lowest returns the least value that Available would have answered at any time since the
// end of the call before, or since the start of the run, and before end. The meter must not
// have been called with a later time.
func (b *Bandwidth) Lowest(end units.Time) uint64 {
	b.roll(end - 1)
	lowest := min(b.lowest, b.available(b.peak))
	b.roll(end)
	b.lowest, b.peak = math.MaxUint64, b.sum
	return lowest
}

// Transmit counts a packet whose first bit leaves at now and whose last bit leaves
// at departs. Calls are in order of time; the packet before has left.
func (b *Bandwidth) Transmit(now, departs units.Time, size units.Size) {
	b.roll(now)
	b.countSentBefore(units.Never)
	b.packet = transmission{start: now, takes: departs.Sub(now), size: uint64(size) << b.fraction}
}

// Available returns the available bandwidth in byte/s, rounded to the nearest.
func (b *Bandwidth) Available(now units.Time) uint64 {
	b.roll(now)
	return b.available(b.sum)
}

// available returns the available bandwidth in byte/s with a sum of bytes in the interval.
func (b *Bandwidth) available(sum uint64) uint64 {
	hi, lo := bits.Mul64(sum, uint64(units.Second))
	hi, lo = hi>>b.fraction, hi<<(64-b.fraction)|lo>>b.fraction
	lo, carry := bits.Add64(lo, uint64(b.interval)/2, 0)
	used, _ := bits.Div64(hi+carry, lo, uint64(b.interval))
	capacity := uint64(b.rate-b.taken) / 8
	return capacity - min(used, capacity)
}

// Relative returns the available bandwidth in ppm of the rate.
func (b *Bandwidth) Relative(now units.Time) uint64 { return relative(b.Available(now), b.rate) }

// relative returns byte/s in ppm of a rate.
func relative(available uint64, rate units.Rate) uint64 {
	hi, lo := bits.Mul64(available, 8*partsPerMillion)
	ppm, _ := bits.Div64(hi, lo, uint64(rate))
	return min(ppm, partsPerMillion)
}

const partsPerMillion = 1_000_000

// roll closes the windows that end at or before now.
func (b *Bandwidth) roll(now units.Time) {
	if now < b.windowEnd {
		return
	}
	passed := int64(now.Sub(b.windowEnd)/b.sub) + 1
	if skipped := passed - 2*int64(b.count) - 1; skipped > 0 {
		// As many windows follow as the ring has: those before leave no trace in it. Nothing
		// is in them but the packet on the link, which has filled an interval by then if it
		// ever does, so that the sums only fall after the first windows.
		b.close(int64(b.count) + 1)
		b.windowEnd = b.windowEnd.Add(units.Duration(skipped) * b.sub)
		b.countSentBefore(b.windowEnd.Add(-b.sub))
		b.open = 0
		passed = int64(b.count)
	}
	b.close(passed)
}

// close closes windows.
func (b *Bandwidth) close(windows int64) {
	for range windows {
		b.countSentBefore(b.windowEnd)
		b.sum += b.open - b.ring[b.at]
		b.peak = max(b.peak, b.sum)
		b.ring[b.at], b.open = b.open, 0
		if b.at++; b.at == b.count {
			b.at = 0
		}
		b.windowEnd = b.windowEnd.Add(b.sub)
	}
}

// countSentBefore books what was sent of the packet before t on the open window. A part of a
// packet is the difference of two sums that are rounded down, so that the parts add
// up to the packet.
func (b *Bandwidth) countSentBefore(t units.Time) {
	if b.packet.settled == b.packet.size {
		return
	}
	sent := b.packet.before(t)
	b.open += sent - b.packet.settled
	b.packet.settled = sent
}

// DepthMode is what the depth of a queue is compared with.
type DepthMode uint8

// Depth modes (docs/reference/references.md#queue-depth).
const (
	Occupancy DepthMode = iota // share of the queue's limit
	Drain                      // time to drain, as a share of a domain constant
)

// String returns the name.
func (m DepthMode) String() string { return depthModes[m] }

// UnmarshalText implements encoding.TextUnmarshaler: occupancy or drain.
func (m *DepthMode) UnmarshalText(text []byte) error {
	return spelling.Enum(m, "queue depth mode", text, depthModes)
}

var depthModes = []string{"occupancy", "drain"}

// Names returns the names, in the order of their values.
func (DepthMode) Names() []string { return slices.Clone(depthModes) }

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

// Full returns the depth that is one million ppm.
func (d Depth) Full() units.Size { return d.full }

// PPM returns the normalised depth of a queue of the given size in ppm, at most
// one million. The queue is taken at dequeue, the departing packet not counted.
func (d Depth) PPM(queue units.Size) uint64 {
	hi, lo := bits.Mul64(uint64(min(queue, d.full)), partsPerMillion)
	ppm, _ := bits.Div64(hi, lo, uint64(d.full))
	return ppm
}
