package meter_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/csiglab/csiglab/nodes/switch/meter"
	"github.com/csiglab/csiglab/units"
)

type transmission struct {
	at   units.Time
	size units.Size
}

// slowAvailable sums what was sent in the last closed window, or in the last
// eight closed sub-windows, over the whole history.
func slowAvailable(history []transmission, now units.Time, rate units.Rate, interval units.Duration, mode meter.Mode) uint64 {
	window, count := interval, int64(1)
	if mode == meter.Sliding {
		window, count = interval/8, 8
	}
	open := int64(now) / int64(window) // the window that now lies in
	var sent int64
	for _, t := range history {
		if w := int64(t.at) / int64(window); w < open && w >= open-count {
			sent += int64(t.size)
		}
	}
	used := new(big.Int).Mul(big.NewInt(sent), big.NewInt(int64(units.Second)))
	used.Quo(used, big.NewInt(int64(interval)))
	capacity := int64(rate) / 8
	if used.Cmp(big.NewInt(capacity)) >= 0 {
		return 0
	}
	return uint64(capacity - used.Int64())
}

func TestBandwidthAgainstHistory(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for _, mode := range []meter.Mode{meter.Tumbling, meter.Sliding} {
		for _, interval := range []units.Duration{128 * units.Microsecond, 100 * units.Microsecond, 8 * units.Nanosecond} {
			rate := []units.Rate{50 * units.Gbps, 100 * units.Gbps, 800 * units.Gbps}[r.IntN(3)]
			b := meter.NewBandwidth(rate, interval, mode)
			var history []transmission
			now := units.Time(0)
			for step := range 3000 {
				switch r.IntN(20) {
				case 0: // idle for several windows
					now += units.Time(r.Int64N(int64(4 * interval)))
				case 1: // to the very edge of a window
					now += units.Time(interval/8) - now%units.Time(interval/8)
				default:
					now += units.Time(r.Int64N(int64(interval)/10 + 1))
				}
				if r.IntN(3) > 0 {
					size := units.Size(64 + r.IntN(9000))
					b.Transmit(now, size)
					history = append(history, transmission{now, size})
				}
				want := slowAvailable(history, now, rate, interval, mode)
				if got := b.Available(now); got != want {
					t.Fatalf("seed %d, mode %d, interval %v, step %d at %v: available %d, want %d", seed, mode, interval, step, now, got, want)
				}
				wantPPM := new(big.Int).Mul(new(big.Int).SetUint64(want), big.NewInt(8_000_000))
				wantPPM.Quo(wantPPM, big.NewInt(int64(rate)))
				if got := b.Relative(now); got != wantPPM.Uint64() {
					t.Fatalf("seed %d, mode %d, step %d: relative %d ppm, want %v", seed, mode, step, got, wantPPM)
				}
			}
		}
	}
}

// The figures of docs/references.md#available-bandwidth.
func TestBandwidthFigures(t *testing.T) {
	const interval = 128 * units.Microsecond
	for rate, capacity := range map[units.Rate]units.Size{
		50 * units.Gbps: 800_000, 100 * units.Gbps: 1_600_000, 400 * units.Gbps: 6_400_000, 800 * units.Gbps: 12_800_000,
	} {
		b := meter.NewBandwidth(rate, interval, meter.Tumbling)
		// "Initial value before the first full window: p."
		b.Transmit(0, capacity)
		if got := b.Available(units.Time(interval) - 1); got != uint64(rate)/8 {
			t.Errorf("%v: available %d in the first window, want all of %d", rate, got, uint64(rate)/8)
		}
		if got := b.Available(units.Time(interval)); got != 0 {
			t.Errorf("%v: available %d after a full window of %v, want 0", rate, got, capacity)
		}
		if got := b.Available(units.Time(2 * interval)); got != uint64(rate)/8 {
			t.Errorf("%v: available %d after an idle window, want %d", rate, got, uint64(rate)/8)
		}
	}
	// "One 4160 B frame moves ABW/C by 0.260 % at 100G/128us."
	b := meter.NewBandwidth(100*units.Gbps, interval, meter.Tumbling)
	b.Transmit(5, 4160)
	if got := b.Relative(units.Time(interval)); got != 997_400 {
		t.Errorf("one frame leaves %d ppm, want 997400", got)
	}
	// Clamped, not wrapped, when a window holds more than the rate: a packet is
	// counted where it starts.
	b.Transmit(units.Time(interval), 1_700_000)
	if abw, rel := b.Available(units.Time(2*interval)), b.Relative(units.Time(2*interval)); abw != 0 || rel != 0 {
		t.Errorf("an overfull window leaves %d B/s, %d ppm, want 0", abw, rel)
	}
}

// A burst leaves a sliding meter after an interval and at most a sub-window.
func TestSlidingAge(t *testing.T) {
	const interval = 128 * units.Microsecond
	b := meter.NewBandwidth(100*units.Gbps, interval, meter.Sliding)
	at := units.Time(3*interval + 5*units.Microsecond)
	b.Transmit(at, 160_000)
	seen, gone := units.Never, units.Never
	for now := at; now < at+2*units.Time(interval); now += units.Time(100 * units.Nanosecond) {
		busy := b.Relative(now) < 1_000_000
		if busy && seen == units.Never {
			seen = now
		}
		if !busy && seen != units.Never && gone == units.Never {
			gone = now
		}
	}
	if d := seen.Sub(at); d <= 0 || d > interval/8 {
		t.Errorf("a burst is seen after %v, want within a sub-window of %v", d, interval/8)
	}
	if d := gone.Sub(at); d < interval || d > interval+interval/8 {
		t.Errorf("a burst is forgotten after %v, want %v to %v", d, interval, interval+interval/8)
	}
}

// docs/references.md#queue-depth: both modes stop at 100 % and are equal with a limit
// of C*tau/8.
func TestDepth(t *testing.T) {
	occupancy := meter.NewDepth(meter.Occupancy, 178_450, 100*units.Gbps, 0)
	for q, want := range map[units.Size]uint64{0: 0, 1: 5, 89_225: 500_000, 178_449: 999_994, 178_450: 1_000_000, 200_000: 1_000_000, units.NoLimit: 1_000_000} {
		if got := occupancy.Of(q); got != want {
			t.Errorf("occupancy of %d B of 178450 B = %d ppm, want %d", q, got, want)
		}
	}
	const tau = 14 * units.Microsecond // 175000 B at 100 Gb/s
	drain := meter.NewDepth(meter.Drain, 178_450, 100*units.Gbps, tau)
	same := meter.NewDepth(meter.Occupancy, 175_000, 0, 0)
	for _, q := range []units.Size{0, 1, 43_750, 174_999, 175_000, 178_450} {
		want := min(1_000_000, uint64(q)*1_000_000/175_000)
		if got := drain.Of(q); got != want || same.Of(q) != want {
			t.Errorf("drain of %d B = %d ppm, occupancy of the same depth %d, want %d", q, got, same.Of(q), want)
		}
	}
	// Nothing overflows at 800G, without a limit, or with nothing to compare to.
	fast := meter.NewDepth(meter.Drain, 0, 800*units.Gbps, units.Second)
	if got := fast.Of(50 * units.GB); got != 500_000 {
		t.Errorf("50 GB at 800G and tau 1s = %d ppm, want 500000", got)
	}
	if got := meter.NewDepth(meter.Occupancy, units.NoLimit, 0, 0).Of(units.NoLimit / 2); got != 499_999 {
		t.Errorf("half of no limit = %d ppm, want 499999", got)
	}
	for _, d := range []meter.Depth{meter.NewDepth(meter.Occupancy, 0, 0, 0), meter.NewDepth(meter.Drain, 0, units.Gbps, 0)} {
		if d.Of(0) != 0 || d.Of(math.MaxInt64) != 1_000_000 {
			t.Errorf("a queue of no length: %d and %d ppm, want 0 and a million", d.Of(0), d.Of(math.MaxInt64))
		}
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]meter.Mode{"": meter.Tumbling, "tumbling": meter.Tumbling, "sliding": meter.Sliding} {
		if got, err := meter.ParseMode(text); err != nil || got != want {
			t.Errorf("ParseMode(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]meter.DepthMode{"": meter.Occupancy, "occupancy": meter.Occupancy, "drain": meter.Drain} {
		if got, err := meter.ParseDepthMode(text); err != nil || got != want {
			t.Errorf("ParseDepthMode(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	if _, err := meter.ParseMode("rolling"); err == nil {
		t.Error(`ParseMode("rolling") succeeded`)
	}
	if _, err := meter.ParseDepthMode("full"); err == nil {
		t.Error(`ParseDepthMode("full") succeeded`)
	}
}

func TestNothingAllocates(t *testing.T) {
	b := meter.NewBandwidth(100*units.Gbps, 128*units.Microsecond, meter.Sliding)
	now := units.Time(0)
	var sum uint64
	if allocs := testing.AllocsPerRun(1000, func() {
		now += 332_000
		b.Transmit(now, 4150)
		sum += b.Relative(now)
	}); allocs != 0 {
		t.Errorf("a packet costs %v allocations", allocs)
	}
}

func ExampleNewBandwidth() {
	b := meter.NewBandwidth(100*units.Gbps, 128*units.Microsecond, meter.Tumbling)
	b.Transmit(0, 400_000)
	now := units.Time(130 * units.Microsecond)
	fmt.Println(b.Available(now), "B/s,", b.Relative(now), "ppm")
	// Output: 9375000000 B/s, 750000 ppm
}

func ExampleNewDepth() {
	d := meter.NewDepth(meter.Occupancy, 200*units.KB, 100*units.Gbps, 0)
	fmt.Println(d.Of(50*units.KB), "ppm")
	// Output: 250000 ppm
}
