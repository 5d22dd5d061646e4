package meter_test

import (
	"math/rand/v2"
	"testing"

	"github.com/csiglab/csiglab/nodes/switch/meter"
	"github.com/csiglab/csiglab/units"
)

// Sums against a sum over all that was ever counted, with gaps of many windows. Windows
// begin where those of the bandwidth meter do: they have a phase.
func TestSumsAgainstList(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		mode := []meter.Mode{meter.Tumbling, meter.Sliding}[random.IntN(2)]
		interval := units.Duration(8 * (1 + random.IntN(20_000)))
		phase := units.Duration(random.Int64N(int64(interval)))
		sub := interval
		if mode == meter.Sliding {
			sub = interval / 8
		}
		type event struct {
			at   units.Time
			size units.Size
		}
		var all [4][]event
		s, now := meter.NewSums(interval, mode, phase), units.Time(0)
		if s.Interval() != interval {
			t.Fatalf("interval %v, want %v", s.Interval(), interval)
		}
		for range 300 {
			now = now.Add(units.Duration(random.Int64N([]int64{1, int64(sub), int64(30 * interval)}[random.IntN(3)])))
			what, size := meter.Counted(random.IntN(4)), units.Size(random.IntN(9000))
			s.Count(now, what, size)
			all[what] = append(all[what], event{now, size})
			// The interval ends where the last window did: at a multiple of sub from the phase on.
			first := phase % sub
			ends := units.Time(first + (units.Duration(now)-first)/sub*sub)
			if units.Duration(now) < first {
				ends = units.Time(first - sub)
			}
			for k, list := range all {
				var want units.Size
				for _, e := range list {
					if e.at < ends && e.at >= ends.Add(-interval) {
						want += e.size
					}
				}
				if got := s.Bytes(now, meter.Counted(k)); got != want {
					t.Fatalf("seed %d, mode %v, interval %v, phase %v, at %v: %d is %v, want %v", seed, mode, interval, phase, now, k, got, want)
				}
			}
		}
	}
}
