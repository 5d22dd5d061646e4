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
	start, departs units.Time
	size           units.Size
}

// sentWithin returns the bytes that were on the link in [from, to), exactly: each
// packet's are spread evenly over the time of its transmission.
func sentWithin(history []transmission, from, to units.Time) *big.Rat {
	sum := new(big.Rat)
	for _, x := range history {
		if overlap := min(x.departs, to) - max(x.start, from); overlap > 0 {
			part := big.NewRat(int64(overlap), int64(x.departs-x.start))
			sum.Add(sum, part.Mul(part, big.NewRat(int64(x.size), 1)))
		}
	}
	return sum
}

// slowAvailable sums what was sent in the last closed window, or in the last eight
// closed sub-windows, over the whole history.
func slowAvailable(history []transmission, now units.Time, rate units.Rate, interval, phase units.Duration, mode meter.Mode) uint64 {
	window, count := interval, units.Time(1)
	if mode == meter.Sliding {
		window, count = interval/8, 8
	}
	// The latest edge of a window; none is before the run began.
	to := now - (now-units.Time(phase)%units.Time(window)+units.Time(window))%units.Time(window)
	used := sentWithin(history, to-count*units.Time(window), to)
	used.Mul(used, big.NewRat(int64(units.Second), int64(count)*int64(window)))
	used.Add(used, big.NewRat(1, 2))
	rounded := new(big.Int).Quo(used.Num(), used.Denom())
	capacity := int64(rate) / 8
	if rounded.Cmp(big.NewInt(capacity)) >= 0 {
		return 0
	}
	return uint64(capacity - rounded.Int64())
}

// The meter against the sum over the whole history, on random traffic with idle times and
// with packets that are shorter and longer than a window.
func TestBandwidthAgainstHistory(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for _, mode := range []meter.Mode{meter.Tumbling, meter.Sliding} {
		for _, interval := range []units.Duration{128 * units.Microsecond, 100 * units.Microsecond, 8 * units.Nanosecond} {
			for _, rate := range []units.Rate{20 * units.Mbps, 3 * units.Gbps, 100 * units.Gbps, 800 * units.Gbps} {
				phase := units.Duration(r.Int64N(int64(interval)))
				b := meter.NewBandwidth(rate, interval, mode, phase)
				line := units.NewSerialiser(rate)
				var history []transmission
				since, watched := units.Time(0), r.IntN(2) == 0
				now, free := units.Time(0), units.Time(0)
				for step := range 1000 {
					before := now
					switch r.IntN(20) {
					case 0: // idle for several windows
						now += units.Time(r.Int64N(int64(4 * interval)))
					case 1: // to the very edge of a sub-window
						now += units.Time(interval/8) - (now+units.Time(interval-phase))%units.Time(interval/8)
					case 2, 3, 4, 5, 6: // back to back
						now = max(now, free)
					default:
						now += units.Time(r.Int64N(int64(interval)/10 + 1))
					}
					if !watched {
						since = now
					} else if r.IntN(20) == 0 && now > before {
						checkLowest(t, &b, history, since, now, rate, interval, phase, mode)
						since = now
					}
					if now >= free && r.IntN(4) > 0 {
						x := transmission{start: now, size: units.Size(64 + r.IntN(9000))}
						x.departs = line.Departure(now, x.size)
						b.Transmit(now, x.departs, x.size)
						free, history = x.departs, append(history, x)
						if len(history) > 200 && history[100].departs < since-units.Time(2*interval) {
							history = history[100:]
						}
					}
					want := slowAvailable(history, now, rate, interval, phase, mode)
					// Both round to the nearest, the meter a sum that is less than 1e-6 B too small.
					if got := b.Available(now); got-want+1 > 2 {
						t.Fatalf("seed %d, %v, mode %d, interval %v, phase %v, step %d at %v: available %d, want %d", seed, rate, mode, interval, phase, step, now, got, want)
					}
					if got, want := b.Relative(now), b.Available(now)*1_000_000/(uint64(rate)/8); got != want {
						t.Fatalf("seed %d, mode %d, step %d: relative %d ppm, want %v", seed, mode, step, got, want)
					}
				}
			}
		}
	}
}

// checkLowest compares the least value of a meter within a span with the least of those at
// its beginning and at every edge of a window in it.
func checkLowest(t *testing.T, b *meter.Bandwidth, history []transmission, from, to units.Time, rate units.Rate, interval, phase units.Duration, mode meter.Mode) {
	t.Helper()
	window := units.Time(interval)
	if mode == meter.Sliding {
		window /= 8
	}
	want := slowAvailable(history, from, rate, interval, phase, mode)
	edge := from + window - (from+window-units.Time(phase)%window)%window // the first one after from
	const all = 40                                                        // edges that are looked at; in a longer span there may be a lesser value
	exact := (to-edge)/window < all
	for range all {
		if edge < to {
			want = min(want, slowAvailable(history, edge, rate, interval, phase, mode))
		}
		edge += window
	}
	if got := b.Lowest(to); got > want+1 || exact && got+1 < want {
		t.Fatalf("%v, mode %d, interval %v, phase %v: lowest %d from %v to %v, want %d", rate, mode, interval, phase, got, from, to, want)
	}
}

// What a meter gave before it got another rate, or began anew, counts in the least value.
func TestLowestOverChanges(t *testing.T) {
	const interval = 128 * units.Microsecond
	full := func() meter.Bandwidth {
		b := meter.NewBandwidth(100*units.Gbps, interval, meter.Tumbling, 0)
		b.Transmit(0, units.Time(interval), 1_600_000)
		return b
	}
	at := units.Time(interval)
	b := full()
	b.SetRate(at+1, 50*units.Gbps)
	b.SetRate(at.Add(interval), 100*units.Gbps)
	if first, then := b.Lowest(at.Add(2*interval)), b.Lowest(at.Add(3*interval)); first != 0 || then != 12_500_000_000 {
		t.Errorf("lowest %d B/s around changes of the rate, then %d; want 0, then all of 100 Gb/s", first, then)
	}
	// A packet that begins within a window fills later ones, which are skipped.
	b = meter.NewBandwidth(100*units.Gbps, interval, meter.Tumbling, 0)
	b.Transmit(at/2, at/2+at, 1_600_000)
	half := b.Lowest(at.Add(9 * interval))
	b = meter.NewBandwidth(100*units.Gbps, interval, meter.Tumbling, 0)
	b.Transmit(at/2, at/2+3*at, 3*1_600_000)
	if all := b.Lowest(at.Add(9 * interval)); half != 6_250_000_000 || all != 0 {
		t.Errorf("lowest %d and %d B/s of packets that take one and three windows; want half of 100 Gb/s, and 0", half, all)
	}
	b = full()
	b.Available(at)
	b = b.Restart(at+1, meter.NewBandwidth(100*units.Gbps, interval, meter.Tumbling, 0))
	if now := b.Available(at + 1); now != 12_500_000_000 {
		t.Errorf("a new meter gives %d B/s, want all", now)
	}
	if first, then := b.Lowest(at.Add(interval)), b.Lowest(at.Add(2*interval)); first != 0 || then != 12_500_000_000 {
		t.Errorf("lowest %d B/s around a new beginning, then %d; want 0, then all", first, then)
	}
}

// The figures of docs/reference/references.md#available-bandwidth.
func TestBandwidthFigures(t *testing.T) {
	const interval = 128 * units.Microsecond
	for rate, capacity := range map[units.Rate]units.Size{
		50 * units.Gbps: 800_000, 100 * units.Gbps: 1_600_000, 400 * units.Gbps: 6_400_000, 800 * units.Gbps: 12_800_000,
	} {
		b := meter.NewBandwidth(rate, interval, meter.Tumbling, 0)
		// "Initial value before the first full window: p."
		b.Transmit(0, units.Time(interval), capacity)
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
	b := meter.NewBandwidth(100*units.Gbps, interval, meter.Tumbling, 0)
	b.Transmit(5, 5+332_800, 4160)
	if got := b.Relative(units.Time(interval)); got != 997_400 {
		t.Errorf("one frame leaves %d ppm, want 997400", got)
	}
	// Clamped, not wrapped, when a window holds more than the rate.
	b.Transmit(units.Time(interval), units.Time(2*interval), 1_700_000)
	if abw, rel := b.Available(units.Time(2*interval)), b.Relative(units.Time(2*interval)); abw != 0 || rel != 0 {
		t.Errorf("an overfull window leaves %d B/s, %d ppm, want 0", abw, rel)
	}
}

// Time before the run counts as idle: the first window of a port with a phase is
// as long as all, and holds no more than what was sent in the run.
func TestPhaseOfTheFirstWindow(t *testing.T) {
	const interval, phase = 128 * units.Microsecond, 32 * units.Microsecond
	b := meter.NewBandwidth(100*units.Gbps, interval, meter.Tumbling, phase)
	b.Transmit(0, units.Time(4*interval), 4*1_600_000)
	for at, want := range map[units.Duration]uint64{phase - 1: 1_000_000, phase: 750_000, phase + interval - 1: 750_000, phase + interval: 0} {
		c := b
		if got := c.Relative(units.Time(at)); got != want {
			t.Errorf("%d ppm at %v, want %d", got, at, want)
		}
	}
}

// A burst leaves a sliding meter after an interval and at most a sub-window.
func TestSlidingAge(t *testing.T) {
	const interval = 128 * units.Microsecond
	b := meter.NewBandwidth(100*units.Gbps, interval, meter.Sliding, 0)
	at := units.Time(3*interval + 5*units.Microsecond)
	b.Transmit(at, at.Add(332*units.Nanosecond), 4150)
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

// Windows that pass cost no more than the ring has, on a packet that is on the link
// for millions of them and in an idle time of 10^13: a meter that walks over them does
// not end.
func TestLongTimes(t *testing.T) {
	for _, mode := range []meter.Mode{meter.Tumbling, meter.Sliding} {
		const interval = 100 * units.Nanosecond
		b := meter.NewBandwidth(units.Mbps, interval, mode, 0)
		end := units.Time(520 * units.Millisecond)
		b.Transmit(0, end, 65_000)
		for _, c := range []struct {
			at   units.Time
			want uint64
		}{{end / 2, 0}, {end, 0}, {end.Add(interval), 1_000_000}, {units.Time(1_000_000 * units.Second), 1_000_000}} {
			if got := b.Relative(c.at); got != c.want {
				t.Errorf("mode %d: %d ppm at %v, want %d", mode, got, c.at, c.want)
			}
		}
	}
}

// docs/reference/references.md#queue-depth: both modes stop at 100 % and are equal with a limit
// of C*tau/8.
func TestDepth(t *testing.T) {
	occupancy := meter.NewDepth(meter.Occupancy, 178_450, 100*units.Gbps, 0)
	for q, want := range map[units.Size]uint64{0: 0, 1: 5, 89_225: 500_000, 178_449: 999_994, 178_450: 1_000_000, 200_000: 1_000_000, units.NoLimit: 1_000_000} {
		if got := occupancy.PPM(q); got != want {
			t.Errorf("occupancy of %d B of 178450 B = %d ppm, want %d", q, got, want)
		}
	}
	const tau = 14 * units.Microsecond // 175000 B at 100 Gb/s
	drain := meter.NewDepth(meter.Drain, 178_450, 100*units.Gbps, tau)
	same := meter.NewDepth(meter.Occupancy, 175_000, 0, 0)
	for _, q := range []units.Size{0, 1, 43_750, 174_999, 175_000, 178_450} {
		want := min(1_000_000, uint64(q)*1_000_000/175_000)
		if got := drain.PPM(q); got != want || same.PPM(q) != want {
			t.Errorf("drain of %d B = %d ppm, occupancy of the same depth %d, want %d", q, got, same.PPM(q), want)
		}
	}
	// Nothing overflows at 800G, without a limit, or with nothing to compare to.
	fast := meter.NewDepth(meter.Drain, 0, 800*units.Gbps, units.Second)
	if got := fast.PPM(50 * units.GB); got != 500_000 {
		t.Errorf("50 GB at 800G and tau 1s = %d ppm, want 500000", got)
	}
	if got := meter.NewDepth(meter.Occupancy, units.NoLimit, 0, 0).PPM(units.NoLimit / 2); got != 499_999 {
		t.Errorf("half of no limit = %d ppm, want 499999", got)
	}
	for _, d := range []meter.Depth{meter.NewDepth(meter.Occupancy, 0, 0, 0), meter.NewDepth(meter.Drain, 0, units.Gbps, 0)} {
		if d.PPM(0) != 0 || d.PPM(math.MaxInt64) != 1_000_000 {
			t.Errorf("a queue of no length: %d and %d ppm, want 0 and a million", d.PPM(0), d.PPM(math.MaxInt64))
		}
	}
}

func TestNothingAllocates(t *testing.T) {
	b := meter.NewBandwidth(100*units.Gbps, 128*units.Microsecond, meter.Sliding, 0)
	now := units.Time(0)
	var sum uint64
	if allocs := testing.AllocsPerRun(1000, func() {
		now += 332_000
		b.Transmit(now, now+332_000, 4150)
		sum += b.Relative(now)
	}); allocs != 0 {
		t.Errorf("a packet costs %v allocations", allocs)
	}
}

func ExampleNewBandwidth() {
	b := meter.NewBandwidth(100*units.Gbps, 128*units.Microsecond, meter.Tumbling, 0)
	b.Transmit(0, units.Time(32*units.Microsecond), 400_000)
	now := units.Time(130 * units.Microsecond)
	fmt.Println(b.Available(now), "B/s,", b.Relative(now), "ppm")
	// Output: 9375000000 B/s, 750000 ppm
}

func ExampleNewDepth() {
	d := meter.NewDepth(meter.Occupancy, 200*units.KB, 100*units.Gbps, 0)
	fmt.Println(d.PPM(50*units.KB), "ppm")
	// Output: 250000 ppm
}
