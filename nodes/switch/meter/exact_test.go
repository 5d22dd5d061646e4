package meter_test

import (
	"math/rand/v2"
	"testing"

	"github.com/csiglab/csiglab/nodes/switch/meter"
	"github.com/csiglab/csiglab/units"
)

// The exact meter against a sum over every packet that was ever sent, at random times, in
// runs of equal packets too, which it keeps as one.
func TestExactAgainstSum(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		rate := []units.Rate{10 * units.Gbps, 25 * units.Gbps, 100 * units.Gbps, 800 * units.Gbps}[random.IntN(4)]
		interval := units.Duration(1+random.IntN(200)) * units.Microsecond / 2
		type sent struct{ from, to, bytes float64 }
		var all []sent
		e, now := meter.NewExact(rate, interval), units.Time(0)
		line := units.NewSerialiser(rate)
		size := units.Size(4150)
		for range 300 {
			switch random.IntN(12) {
			case 0:
				size = units.Size(64 + random.IntN(9000))
			case 1:
				now = now.Add(units.Duration(random.Int64N(int64(2 * interval))))
			}
			departs := line.Departure(now, size+20)
			e.Transmit(now, departs, size)
			all = append(all, sent{float64(now), float64(departs), float64(size)})
			// The port answers while the packet is on the link, and when it has left.
			for _, at := range []units.Time{now, now.Add(units.Duration(random.Int64N(int64(departs.Sub(now))))), departs} {
				used := 0.0
				for _, x := range all {
					from, to := max(x.from, float64(at)-float64(interval)), min(x.to, float64(at))
					used += x.bytes * max(0, to-from) / (x.to - x.from)
				}
				want := max(0, float64(rate)/8-used*float64(units.Second)/float64(interval))
				got := float64(e.Available(at)) / meter.Thousandths
				// A thousandth of a byte of each of the two packets that are cut.
				if tolerance := 2e-3*float64(units.Second)/float64(interval) + 1; got < want-tolerance || got > want+tolerance {
					t.Fatalf("seed %d, %v, interval %v, at %v: %.1f B/s, want %.1f", seed, rate, interval, at, got, want)
				}
				if relative := float64(e.Relative(at)) / 1e9; relative < got*8/float64(rate)-1e-8 || relative > got*8/float64(rate)+1e-8 {
					t.Fatalf("seed %d: %v of the rate, want %v", seed, relative, got*8/float64(rate))
				}
			}
			now = departs
		}
	}
}

// A line that is busy with packets of one size is one transmission, however long.
func TestExactOfABusyLineDoesNotAllocate(t *testing.T) {
	e, line, now := meter.NewExact(100*units.Gbps, 128*units.Microsecond), units.NewSerialiser(100*units.Gbps), units.Time(0)
	step := func() {
		departs := line.Departure(now, 4150)
		e.Transmit(now, departs, 4150)
		now = departs
	}
	for range 1000 {
		step()
	}
	if allocs := testing.AllocsPerRun(100_000, step); allocs != 0 {
		t.Errorf("%v allocations per packet", allocs)
	}
	if got := e.Available(now); got > 1000*meter.Thousandths {
		t.Errorf("a port that is busy all the time has %d mB/s", got)
	}
}

// A tumbling meter reads a port that has just begun to send as idle until its window ends;
// the exact one sees what was sent.
func TestExactSeesWhatTheWindowHides(t *testing.T) {
	const interval = 128 * units.Microsecond
	latched := meter.NewBandwidth(100*units.Gbps, interval, meter.Tumbling, 0)
	exact := meter.NewExact(100*units.Gbps, interval)
	// 64 us of line rate from the beginning of a window on: half of the interval.
	at := units.Time(interval)
	latched.Transmit(at, at.Add(interval/2), 800_000)
	exact.Transmit(at, at.Add(interval/2), 800_000)
	at = at.Add(interval / 2)
	if got := latched.Relative(at); got != 1_000_000 {
		t.Errorf("latched: %d ppm free, want all", got)
	}
	if got := exact.Relative(at); got != 500_000_000 {
		t.Errorf("exact: %d thousandths of a ppm free, want half", got)
	}
	exact.SetRate(50 * units.Gbps)
	if got := exact.Relative(at); got != 0 {
		t.Errorf("half of the rate: %d free, want none", got)
	}
	exact.Restart()
	if got := exact.Relative(at); got != 1_000_000_000 {
		t.Errorf("restarted: %d free, want all", got)
	}
}

// The exact depth has a thousand steps where the signal has one, and no cap.
func TestExactDepth(t *testing.T) {
	d := meter.NewDepth(meter.Occupancy, 3, units.Gbps, 0)
	for queue, want := range map[units.Size]int64{0: 0, 1: 333_333_333, 3: 1_000_000_000, 6: 2_000_000_000} {
		if got := d.Exact(queue); got != want {
			t.Errorf("queue of %d: %d, want %d", queue, got, want)
		}
	}
}
