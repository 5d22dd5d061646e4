package words

import (
	"math"
	"testing"
)

// A value is shown in the greatest unit of which there is at least one; a table and a
// chart take that of their greatest value.
func TestUnitsFit(t *testing.T) {
	for _, c := range []struct {
		value  float64
		scales []Scale
		want   string
	}{
		{100, BitRates, "100\u00a0Gb/s"},
		{0.0123, BitRates, "12\u00a0Mb/s"},
		{0.0000123, BitRates, "12\u00a0kb/s"},
		{0.0000005, BitRates, "500\u00a0b/s"},
		{0, BitRates, "0\u00a0Gb/s"},
		{0.25, Delays, "250\u00a0ns"},
		{10.517, Delays, "11\u00a0µs"},
		{5_230_000, Delays, "5.2\u00a0s"},
		{-5_230, Delays, "−5.2\u00a0ms"},
		{0.064, Sizes, "64\u00a0B"},
		{94.6, Sizes, "95\u00a0kB"},
		{2_500_000, Sizes, "2.5\u00a0GB"},
		{0.02, Times, "20\u00a0µs"},
	} {
		if got := Amount(c.value, c.scales); got != c.want {
			t.Errorf("%v: %q, want %q", c.value, got, c.want)
		}
	}
	for us, want := range map[float64]string{100: "100\u00a0µs", 100_000: "100\u00a0ms", 16_383.5: "16.38\u00a0ms", 0: "0\u00a0µs"} {
		if got := Span(us); got != want {
			t.Errorf("%v us: %q, want %q", us, got, want)
		}
	}
	for us, want := range map[float64]string{10.51704: "10.51704\u00a0µs", 66_048: "66.048\u00a0ms", 0.332: "332\u00a0ns"} {
		if got := Exactly(us); got != want {
			t.Errorf("%v us exactly: %q, want %q", us, got, want)
		}
	}
	if got, want := Depth(94_600, 100e9), "95\u00a0kB (7.6\u00a0µs)"; got != want {
		t.Errorf("queue: %q, want %q", got, want)
	}
	if got, want := Depth(3_000, 1e6), "3\u00a0kB (24\u00a0ms)"; got != want {
		t.Errorf("queue of a slow port: %q, want %q", got, want)
	}
}

func TestNumber(t *testing.T) {
	for _, c := range []struct {
		v    float64
		want string
	}{{0, "0"}, {4.6689, "4.669"}, {5, "5"}, {146844, "146\u202f844"}, {1234.5, "1234"}, {-0.00123456, "−0.001235"}, {999.96, "1000"}, {12345678.4, "12\u202f345\u202f678"}, {math.NaN(), "–"}, {math.Inf(1), "–"}} {
		if got := Number(c.v); got != c.want {
			t.Errorf("Number(%v) = %q, want %q", c.v, got, c.want)
		}
	}
}

func TestRate(t *testing.T) {
	for bps, want := range map[int64]string{25e9: "25\u00a0Gb/s", 2_500_000: "2.5\u00a0Mb/s"} {
		if got := Rate(bps); got != want {
			t.Errorf("%d bit/s: %q, want %q", bps, got, want)
		}
	}
}
