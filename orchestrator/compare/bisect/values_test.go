package bisect

import (
	"strings"
	"testing"
)

func TestRange(t *testing.T) {
	for _, c := range []struct {
		good, bad, resolution string
		last                  int
		values                map[int]string
	}{
		{"10us", "20us", "1us", 10, map[int]string{0: "10us", 1: "11us", 9: "19us", 10: "20us"}},
		{"1ms", "10us", "100us", 10, map[int]string{1: "900us", 9: "100us", 10: "10us"}}, // the last step is shorter
		{"64kB", "4kB", "", 100, map[int]string{1: "63.4kB", 50: "34kB"}},
		{"64KiB", "4kB", "1kB", 62, map[int]string{0: "64KiB", 1: "64.536kB", 62: "4kB"}},
		{"100Gbps", "400Gbps", "50Gbps", 6, map[int]string{3: "250Gbps"}},
		{"8", "64", "", 56, map[int]string{1: "9"}},
		{"0", "1000", "", 100, map[int]string{1: "10"}},
		{"1000", "1", "", 100, map[int]string{1: "990", 99: "10", 100: "1"}},
		{"0.1", "0.5", "0.1", 4, map[int]string{1: "0.2", 2: "0.3", 3: "0.4"}},
		{"-1", "1", "0.5", 4, map[int]string{1: "-0.5", 2: "0"}},
		{"1e3", "2e3", "500", 2, map[int]string{1: "1500"}},
		{"1ps", "3ps", "", 2, map[int]string{1: "2ps"}},
	} {
		r, err := ParseRange(c.good, c.bad, c.resolution)
		if err != nil || r.Last() != c.last {
			t.Errorf("%s to %s by %q: %+v, %v; want %d steps", c.good, c.bad, c.resolution, r, err, c.last)
			continue
		}
		for i, want := range c.values {
			if got := r.Value(i); got != want {
				t.Errorf("%s to %s by %q: value %d is %s, want %s", c.good, c.bad, c.resolution, i, got, want)
			}
		}
	}
	for _, c := range []struct{ good, bad, resolution, want string }{
		{"nscc", "dctcp", "", `"nscc" is no value with a unit, and no number`},
		{"10us", "20", "", "a unit is missing"},
		{"10us", "20kB", "", `unknown unit "kB"`},
		{"10us", "20us", "1", "resolution: duration \"1\": a unit is missing"},
		{"10us", "20us", "0us", "want more than 0"},
		{"10us", "20us", "-1us", "want more than 0"},
		{"10us", "10.0us", "", "both ends are 10us"},
		{"1ps", "1h", "1ps", "want a greater resolution"},
		{"1", "Inf", "", `"Inf" is no number`},
		{"1", "0x10p3", "", ""},
		{"1", "1e999999999", "", "is no number"},
	} {
		if r, err := ParseRange(c.good, c.bad, c.resolution); c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s to %s by %q: %v, %v; want %q", c.good, c.bad, c.resolution, r, err, c.want)
		}
	}
}

// TestPercent holds that no effect is written with an exponent.
func TestPercent(t *testing.T) {
	for share, want := range map[float64]string{0.3571: "+35.7 %", -0.9781: "-97.8 %", 43.86: "+4386 %", 9.994: "+999 %", 9.996: "+1000 %", 0.000123: "+0.0123 %", 0: "+0 %"} {
		if got := Percent(share); got != want {
			t.Errorf("%v: got %s, want %s", share, got, want)
		}
	}
}
