package reports

import "testing"

// A value is shown in the greatest unit of which there is at least one; a table and a
// chart take that of their greatest value.
func TestUnitsFit(t *testing.T) {
	for _, c := range []struct {
		value  float64
		scales []scale
		want   string
	}{
		{100, scalesOfRates, "100\u00a0Gb/s"},
		{0.0123, scalesOfRates, "12\u00a0Mb/s"},
		{0.0000123, scalesOfRates, "12\u00a0kb/s"},
		{0.0000005, scalesOfRates, "500\u00a0b/s"},
		{0, scalesOfRates, "0\u00a0Gb/s"},
		{0.25, scalesOfDelays, "250\u00a0ns"},
		{10.517, scalesOfDelays, "11\u00a0µs"},
		{5_230_000, scalesOfDelays, "5.2\u00a0s"},
		{-5_230, scalesOfDelays, "−5.2\u00a0ms"},
		{0.064, scalesOfSizes, "64\u00a0B"},
		{94.6, scalesOfSizes, "95\u00a0kB"},
		{2_500_000, scalesOfSizes, "2.5\u00a0GB"},
		{0.02, scalesOfTimes, "20\u00a0µs"},
	} {
		if got := amount(c.value, c.scales); got != c.want {
			t.Errorf("%v: %q, want %q", c.value, got, c.want)
		}
	}
	for us, want := range map[float64]string{100: "100\u00a0µs", 100_000: "100\u00a0ms", 16_383.5: "16.38\u00a0ms", 0: "0\u00a0µs"} {
		if got := span(us); got != want {
			t.Errorf("%v us: %q, want %q", us, got, want)
		}
	}
	for us, want := range map[float64]string{10.51704: "10.51704\u00a0µs", 66_048: "66.048\u00a0ms", 0.332: "332\u00a0ns"} {
		if got := microseconds(us); got != want {
			t.Errorf("%v us exactly: %q, want %q", us, got, want)
		}
	}
	if got, want := depth(94_600, 100e9), "95\u00a0kB (7.6\u00a0µs)"; got != want {
		t.Errorf("queue: %q, want %q", got, want)
	}
	if got, want := depth(3_000, 1e6), "3\u00a0kB (24\u00a0ms)"; got != want {
		t.Errorf("queue of a slow port: %q, want %q", got, want)
	}
}
