package experiment

import (
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics/thinning"
	"github.com/csiglab/csiglab/units"
)

func TestThin(t *testing.T) {
	const us, ms, s = units.Microsecond, units.Millisecond, units.Second
	for _, c := range []struct {
		text, canonical string
		interval        units.Duration
		want            []thinning.Step
	}{
		{"auto", "auto", 100 * us, []thinning.Step{{Interval: 10 * ms, After: 300 * s}, {Interval: s, After: 3600 * s}, {Interval: 60 * s, After: 86400 * s}}},
		{"none", "none", 100 * us, nil},
		{"10ms after 5min, 1s after 1h", "10ms after 300s, 1s after 3600s", 100 * us, []thinning.Step{{Interval: 10 * ms, After: 300 * s}, {Interval: s, After: 3600 * s}}},
		{"5 ms after 1 s", "5ms after 1s", ms, []thinning.Step{{Interval: 5 * ms, After: s}}},
		// Lengths become multiples, and those that are no longer are left out.
		{"auto", "auto", 3 * ms, []thinning.Step{{Interval: 12 * ms, After: 300 * s}, {Interval: 1008 * ms, After: 3600 * s}, {Interval: 60480 * ms, After: 86400 * s}}},
		{"auto", "auto", 50 * ms, []thinning.Step{{Interval: s, After: 3600 * s}, {Interval: 60 * s, After: 86400 * s}}},
	} {
		var thin Thin
		if err := thin.UnmarshalText([]byte(c.text)); err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got := thin.String(); got != c.canonical {
			t.Errorf("%s: %s, want %s", c.text, got, c.canonical)
		}
		if got := thin.Steps(c.interval); !slices.Equal(got, c.want) {
			t.Errorf("%s of windows of %v: %v, want %v", c.text, c.interval, got, c.want)
		}
		var again Thin
		if err := again.UnmarshalText([]byte(thin.String())); err != nil || again != thin {
			t.Errorf("%s is read again as %q, %v", thin, again, err)
		}
	}
	if got := Thin("").Steps(100 * us); len(got) != 3 {
		t.Errorf("nothing: %v, want auto", got)
	}
	for text, want := range map[string]string{
		"":                                  "such as",
		"10ms":                              "such as",
		"10ms after":                        "such as",
		"10 after 1h":                       "a unit is missing",
		"10ms after 1d":                     "unknown unit",
		"1s after 10s":                      "at most 1/100 of the age",
		"0s after 1h":                       "more than 0",
		"1s after 1h, 10ms after 24h":       "want longer windows",
		"10ms after 1h, 1s after 1h":        "a greater age",
		strings.Repeat("1ms after 1h, ", 9): "more than 8",
	} {
		var thin Thin
		if err := thin.UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}
