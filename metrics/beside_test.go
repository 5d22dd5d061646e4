package metrics_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/units"
)

// A port that carries something beside its packets counts both: what it carries beside them whether
// packets come or not, and packets for the time that they would take at the port's own rate.
func TestBeside(t *testing.T) {
	const interval, rate = units.Microsecond, 100 * units.Gbps
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		end := units.Time(20 * interval)
		measure := metrics.Span{From: units.Time(random.Int64N(int64(end / 2))), To: end}
		var b metrics.Batch
		r := metrics.NewPortRecorder(metrics.PortConfig{Records: interval, Measure: measure, Sink: &b})
		var packets, bytes int64
		own, beside, carried := 0.0, 0.0, 0.0 // ps, ps in the measuring window, bytes
		share, since, changed := 0.0, units.Time(0), false
		change := func(now units.Time, to float64) {
			beside += share * float64(measure.Overlap(since, now))
			carried += share * float64(now.Sub(since)) / 100
			share, since, changed = to, now, true
			r.Beside(now, metrics.Beside{Busy: share, Bytes: share / 100, Packets: share / 1e5})
		}
		for now := units.Time(0); ; {
			now = now.Add(units.Duration(random.Int64N(int64(interval))))
			if now >= end.Add(-3*interval) {
				break
			}
			if random.IntN(3) == 0 {
				change(now, []float64{0, 0.3, 0.9}[random.IntN(3)])
				continue
			}
			size := units.Size(1000)
			takes, waits := rate.Serialisation(size), units.Duration(random.Int64N(int64(interval/4)))
			starts := now.Add(waits)
			departs := starts.Add(takes)
			r.Enqueue(int64(size))
			r.Transmit(now, departs, int64(size), false)
			if changed {
				r.Waited(now, starts, departs)
			} else {
				starts = now
			}
			packets, bytes = packets+1, bytes+int64(size)
			own += float64(measure.Overlap(starts, departs))
			now = departs
		}
		change(end, share)
		r.Close(end, 0, 0)
		var windows metrics.PortWindow
		for _, w := range b.Ports {
			if w.Busy > interval || w.Busy < 0 {
				t.Errorf("seed %d: %v busy in a window of %v", seed, w.Busy, interval)
			}
			windows.TxBytes += w.TxBytes
			windows.TxPackets += w.TxPackets
		}
		if got, want := windows.TxBytes, bytes+int64(carried); math.Abs(float64(got-want)) > 40 {
			t.Errorf("seed %d: windows of %d bytes, want %d", seed, got, want)
		}
		if r.Totals.TxBytes != bytes || r.Totals.TxPackets != packets {
			t.Errorf("seed %d: totals of %d packets of %d bytes, want %d of %d", seed, r.Totals.TxPackets, r.Totals.TxBytes, packets, bytes)
		}
		if len(b.PortMeasurements) != 1 {
			t.Fatalf("seed %d: %d measurements", seed, len(b.PortMeasurements))
		}
		if got, want := float64(b.PortMeasurements[0].Busy), own+beside; math.Abs(got-want) > 20 {
			t.Errorf("seed %d: busy for %.0f ps, want %.0f", seed, got, want)
		}
	}
}
