package meter

import (
	"math/bits"

	"github.com/csiglab/csiglab/internal/fifo"
	"github.com/csiglab/csiglab/units"
)

// Thousandths is how many units of an exact value make one of its type's unit. Of delay,
// whose unit is the nanosecond, the exact unit is the picosecond.
const Thousandths = 1000

// Exact is the available bandwidth of an egress port over the interval that ends at the
// very moment of the question: what Bandwidth would say with windows of no length and
// without a wait for their end. It keeps the transmissions of the last interval, so that
// it costs memory, and no port needs it but to judge the values of its Bandwidth. Bytes
// count as in Bandwidth.
type Exact struct {
	rate     units.Rate
	taken    units.Rate // of rate, by what are no packets
	interval units.Duration
	sent     fifo.Queue[transmission] // that overlap the interval, oldest first
	last     units.Size               // size of the packets of the newest transmission
	sum      uint64                   // of sent
}

// exactFraction is the binary digits of a byte's fraction in an Exact.
const exactFraction = 12

// NewExact returns the meter of a port that counts as idle before the run.
func NewExact(rate units.Rate, interval units.Duration) Exact {
	return Exact{rate: rate, interval: interval}
}

// SetRate sets the rate of the port from now on. What was sent before counts as it is.
func (e *Exact) SetRate(rate units.Rate) { e.rate = rate }

// Take is that of Bandwidth.
func (e *Exact) Take(taken units.Rate) { e.taken = taken }

// Restart forgets what was sent.
func (e *Exact) Restart() {
	for {
		if _, ok := e.sent.Pop(); !ok {
			break
		}
	}
	e.last, e.sum = 0, 0
}

// Transmit is that of Bandwidth.
func (e *Exact) Transmit(now, departs units.Time, size units.Size) {
	e.forget(now)
	takes, bytes := departs.Sub(now), uint64(size)<<exactFraction
	e.sum += bytes
	// Packets of one size in a row are one transmission: a line that is busy costs no memory.
	if n := e.sent.Len(); n > 0 && e.last == size {
		if x := e.sent.At(n - 1); x.start.Add(x.takes) == now {
			x.takes += takes
			x.size += bytes
			return
		}
	}
	e.last = size
	e.sent.Push(transmission{start: now, takes: takes, size: bytes})
}

// forget drops the transmissions that ended before the interval that ends at now.
func (e *Exact) forget(now units.Time) {
	from := now.Add(-e.interval)
	for e.sent.Len() > 0 {
		x := e.sent.At(0)
		if x.start.Add(x.takes) > from {
			return
		}
		e.sum -= x.size
		e.sent.Pop()
	}
}

// Available returns the available bandwidth in thousandths of a byte/s.
func (e *Exact) Available(now units.Time) int64 {
	e.forget(now)
	used := e.sum
	if n := e.sent.Len(); n > 0 {
		first, last := e.sent.At(0), e.sent.At(n-1)
		used -= first.before(now.Add(-e.interval))
		used -= last.size - last.before(now)
	}
	hi, lo := bits.Mul64(used, uint64(units.Second)*Thousandths)
	rate, _ := bits.Div64(hi, lo, uint64(e.interval))
	return max(0, int64(e.rate-e.taken)*Thousandths/8-int64(rate>>exactFraction))
}

// Relative returns the available bandwidth in thousandths of a ppm of the rate.
func (e *Exact) Relative(now units.Time) int64 {
	hi, lo := bits.Mul64(uint64(e.Available(now)), 8*partsPerMillion)
	share, _ := bits.Div64(hi, lo, uint64(e.rate))
	return int64(share)
}

// Exact returns the normalised depth of a queue in thousandths of a ppm. It is not capped:
// a queue longer than the limit has more than 10^9.
func (d Depth) Exact(queue units.Size) int64 {
	hi, lo := bits.Mul64(uint64(queue), partsPerMillion*Thousandths)
	share, _ := bits.Div64(hi, lo, uint64(d.full))
	return int64(share)
}
