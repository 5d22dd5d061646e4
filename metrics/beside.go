package metrics

import (
	"math"

	"github.com/csiglab/csiglab/units"
)

// Beside is what crosses a port beside the packets that its recorder is told of, in a picosecond.
type Beside struct{ Busy, Bytes, Packets float64 }

// besides adds up what crosses a port beside packets. These are on the port longer than at its own
// rate, as only a part of it is theirs: of the time that they take, that part counts.
type besides struct {
	rates Beside
	since units.Time // when they were added up last
	sums  Beside     // in the window, Busy without packets

	// What the recorder has of the time that packets take, as far as it is in what follows.
	sending, busy units.Duration
	sent          float64 // ps of PortRecorder.sending
	closed        float64 // of sent, in windows that are closed
	measured      float64 // ps in the measuring window, of both
}

// Beside says what crosses the port beside packets from now on. The windows and the PortMeasurement
// have both, the totals packets alone.
func (r *PortRecorder) Beside(now units.Time, b Beside) {
	r.roll(now)
	if r.beside == nil {
		r.beside = &besides{}
	}
	r.beside.advance(now, r)
	r.beside.rates = b
}

// advance adds up to a moment.
func (b *besides) advance(now units.Time, r *PortRecorder) {
	lasted, own := float64(now.Sub(b.since)), 1-b.rates.Busy
	b.sums.Busy += b.rates.Busy * lasted
	b.sums.Bytes += b.rates.Bytes * lasted
	b.sums.Packets += b.rates.Packets * lasted
	b.measured += b.rates.Busy*float64(r.measure.Overlap(b.since, now)) + own*float64(r.busy-b.busy)
	b.sent += own * float64(r.sending-b.sending)
	b.since, b.sending, b.busy = now, r.sending, r.busy
}

// addTo adds what crossed the port in a window that closes, before whose end packets were not on it
// for a time that is in sent.
func (b *besides) addTo(w *PortWindow, at units.Time, r *PortRecorder) {
	b.advance(at, r)
	sent := b.sent - (1-b.rates.Busy)*float64(max(0, r.lastDeparture.Sub(at)))
	w.Busy = units.Duration(math.Round(min(sent-b.closed+b.sums.Busy, float64(at.Sub(w.Start)))))
	w.TxBytes += int64(math.Round(b.sums.Bytes))
	w.TxPackets += int64(math.Round(b.sums.Packets))
	b.closed, b.sums = sent, Beside{}
}

// measurement returns how long a port was busy in the measuring window with both, at the end.
func (b *besides) measurement(end units.Time, r *PortRecorder) units.Duration {
	b.advance(end, r)
	return units.Duration(math.Round(b.measured - (1-b.rates.Busy)*float64(r.measure.Overlap(end, r.lastDeparture))))
}
