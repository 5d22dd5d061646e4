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
	since    units.Time // when they were added up last
	window   besideSum
	measured besideSum // in the measuring window: Busy alone
}

// besideSum is a sum of Beside over some time.
type besideSum Beside

// Beside says what crosses the port beside packets from now on. Packets find the port slower by
// that. The windows and the PortMeasurement have both, the totals packets alone.
func (r *PortRecorder) Beside(now units.Time, b Beside) {
	r.roll(now)
	if r.beside == nil {
		r.beside = &besides{}
	}
	r.beside.advance(now, r.measure)
	r.beside.rates = b
}

// advance adds up to a moment.
func (b *besides) advance(now units.Time, measure Span) {
	lasted := float64(now.Sub(b.since))
	b.window.Busy += b.rates.Busy * lasted
	b.window.Bytes += b.rates.Bytes * lasted
	b.window.Packets += b.rates.Packets * lasted
	b.measured.Busy += b.rates.Busy * float64(measure.Overlap(b.since, now))
	b.since = now
}

// addTo adds what crossed the port in a window that closes.
func (b *besides) addTo(w *PortWindow, at units.Time, measure Span) {
	b.advance(at, measure)
	w.TxBytes += int64(math.Round(b.window.Bytes))
	w.TxPackets += int64(math.Round(b.window.Packets))
	w.Busy = b.window.with(w.Busy, at.Sub(w.Start))
	b.window = besideSum{}
}

// with returns how long a port was busy with both, in a time that lasted: packets were on it
// longer than at its own rate, as only a part of it was theirs.
func (s besideSum) with(packets, lasted units.Duration) units.Duration {
	if lasted <= 0 {
		return packets
	}
	own := float64(packets) * (1 - s.Busy/float64(lasted))
	return units.Duration(math.Round(own + s.Busy))
}
