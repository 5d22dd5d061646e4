package metrics

import (
	"math"

	"github.com/csiglab/csiglab/units"
)

// Beside is what crosses a port beside the packets that its recorder is told of, in a picosecond.
type Beside struct{ Busy, Bytes, Packets float64 }

// besides adds up what crosses a port beside packets.
type besides struct {
	rates    Beside
	since    units.Time     // when they were added up last
	sums     Beside         // in the window
	measured float64        // ps in the measuring window
	last     units.Duration // that the last packet is on the port
}

// Beside says what crosses the port beside packets from now on. The windows and the PortMeasurement
// have both, the totals packets alone.
func (r *PortRecorder) Beside(now units.Time, b Beside) {
	r.roll(now)
	if r.beside == nil {
		r.beside = &besides{}
	}
	r.beside.advance(now, r.measure)
	r.beside.rates = b
}

// Waited says of the packet of the last Transmit, which was at now, that it lets something of Beside
// go first: it is on the port from starts on.
func (r *PortRecorder) Waited(now, starts, departs units.Time) {
	r.sending -= starts.Sub(now)
	r.busy -= r.measure.Overlap(now, starts)
	r.beside.last = departs.Sub(starts)
}

// tail returns how much of the time up to the last packet's departure it is on the port, after at.
func (r *PortRecorder) tail(at units.Time) units.Duration {
	after := max(0, r.lastDeparture.Sub(at))
	if r.beside != nil && r.beside.last > 0 {
		return min(after, r.beside.last)
	}
	return after
}

// advance adds up to a moment.
func (b *besides) advance(now units.Time, measure Span) {
	lasted := float64(now.Sub(b.since))
	b.sums.Busy += b.rates.Busy * lasted
	b.sums.Bytes += b.rates.Bytes * lasted
	b.sums.Packets += b.rates.Packets * lasted
	b.measured += b.rates.Busy * float64(measure.Overlap(b.since, now))
	b.since = now
}

// addTo adds what crossed the port in a window that closes.
func (b *besides) addTo(w *PortWindow, at units.Time, measure Span) {
	b.advance(at, measure)
	w.Busy = min(w.Busy+units.Duration(math.Round(b.sums.Busy)), at.Sub(w.Start))
	w.TxBytes += int64(math.Round(b.sums.Bytes))
	w.TxPackets += int64(math.Round(b.sums.Packets))
	b.sums = Beside{}
}
