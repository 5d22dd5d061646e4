package units_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/units"
)

func TestParseDuration(t *testing.T) {
	tests := []struct {
		text string
		want units.Duration
	}{
		{"0s", 0},
		{"1ps", 1},
		{"1us", units.Microsecond},
		{"1µs", units.Microsecond},
		{" 10.5 us ", 10*units.Microsecond + 500*units.Nanosecond},
		{"+3ns", 3 * units.Nanosecond},
		{"-2.5ms", -2500 * units.Microsecond},
		{".5s", units.Second / 2},
		{"5.s", 5 * units.Second},
		{"0.000000000001s", 1},
		{"1.50000000000000000000000000ps", -1}, // finer than a picosecond
		{"2.00000000000000000000000000ps", 2},
		{"0.25min", 15 * units.Second},
		{"0.0000000000000025h", 9}, // an hour is 36e14 ps: 9 ps exactly
		{"9223372036854775807ps", math.MaxInt64},
		{"-9223372036854775808ps", math.MinInt64},
		{"0009s", 9 * units.Second},
	}
	for _, tc := range tests {
		got, err := units.ParseDuration(tc.text)
		if tc.want == -1 {
			if !errors.Is(err, units.ErrTooFine) {
				t.Errorf("ParseDuration(%q) = %v, %v, want ErrTooFine", tc.text, got, err)
			}
			continue
		}
		if err != nil || got != tc.want {
			t.Errorf("ParseDuration(%q) = %d, %v, want %d", tc.text, got, err, tc.want)
		}
	}
}

func TestParseDurationRefuses(t *testing.T) {
	tests := []struct {
		text string
		want error  // nil: any
		says string // part of the message
	}{
		{"", nil, "not a duration"},
		{"us", nil, "not a duration"},
		{"ten us", nil, "not a duration"},
		{"10", units.ErrNoUnit, "10us"},
		{"10 lightyears", nil, `unknown unit "lightyears"`},
		{"10 US", nil, `unknown unit "US"`},
		{"1.2.3us", nil, "not a number"},
		{".us", nil, "not a number"},
		{"-us", nil, "not a number"},
		{"1e3us", nil, "unknown unit"},
		{"0.5ps", units.ErrTooFine, `duration "0.5ps"`},
		{"0.0001ns", units.ErrTooFine, ""},
		{"0.33333333333333333333h", units.ErrTooFine, ""},
		{"1." + strings.Repeat("0", 100) + "1h", units.ErrTooFine, ""},
		{"9223372036854775808ps", units.ErrTooLarge, ""},
		{"-9223372036854775809ps", units.ErrTooLarge, ""},
		{"107d", nil, "unknown unit"},
		{"2563h", units.ErrTooLarge, `duration "2563h"`},
		{strings.Repeat("9", 100) + "s", units.ErrTooLarge, ""},
	}
	for _, tc := range tests {
		got, err := units.ParseDuration(tc.text)
		if err == nil || tc.want != nil && !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("ParseDuration(%q) = %v, %v, want an error %v that says %q", tc.text, got, err, tc.want, tc.says)
		}
	}
}

func TestScaleRefusesASecondSign(t *testing.T) {
	for _, text := range []string{"--5", "+-5", "-+5", "++5", "5_0", "0x5", "5.-1", "", "+", "."} {
		if got, err := units.Scale(text, 10); err == nil {
			t.Errorf("Scale(%q, 10) = %d, want an error", text, got)
		}
	}
}

// Text parses and prints to the same value.
func TestDurationRoundTrip(t *testing.T) {
	r, seed := random()
	check := func(d units.Duration) {
		got, err := units.ParseDuration(d.String())
		if err != nil || got != d {
			t.Fatalf("seed %d: %d ps prints as %q, which parses as %d, %v", seed, int64(d), d, int64(got), err)
		}
	}
	for _, d := range []units.Duration{0, 1, -1, 999, 1000, math.MaxInt64, math.MinInt64, math.MinInt64 + 1, units.Hour, -units.Second} {
		check(d)
	}
	for range 20000 {
		check(units.Duration(r.Uint64()) >> r.IntN(64))
	}
}

func FuzzParseDuration(f *testing.F) {
	for _, s := range []string{"1us", "-2.5ms", "0.25min", "1e3us", "9223372036854775808ps", ".5 h", "µs", "0.1ps"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := units.ParseDuration(text)
		if err != nil {
			return
		}
		if again, err := units.ParseDuration(d.String()); err != nil || again != d {
			t.Errorf("ParseDuration(%q) = %d ps, which prints as %q and parses as %d, %v", text, int64(d), d, int64(again), err)
		}
	})
}

func TestTime(t *testing.T) {
	const last = units.Never - 1
	tests := []struct {
		t    units.Time
		d    units.Duration
		want units.Time
	}{
		{5, 7, 12},
		{5, -7, -2},
		{units.Never, 1, units.Never},
		{units.Never, -1, units.Never},
		{last, 1, units.Never},
		{last, 2, units.Never},
		{1, math.MaxInt64, units.Never},
		{0, math.MaxInt64, units.Never},
		{-5, math.MaxInt64, units.Never - 5},
	}
	for _, tc := range tests {
		if got := tc.t.Add(tc.d); got != tc.want {
			t.Errorf("Time(%d).Add(%d) = %d, want %d", tc.t, tc.d, got, tc.want)
		}
	}
	if got := units.Time(9).Sub(4); got != 5 {
		t.Errorf("Time(9).Sub(4) = %d, want 5", got)
	}
	if got := units.Never.String(); got != "never" {
		t.Errorf("Never prints as %q, want never", got)
	}
	if got := units.Time(1500 * units.Nanosecond).String(); got != "1.5us" {
		t.Errorf("1500 ns print as %q, want 1.5us", got)
	}
	if s, us := (3 * units.Millisecond).Seconds(), (3 * units.Millisecond).Microseconds(); s != 0.003 || us != 3000 {
		t.Errorf("3 ms = %v s = %v us, want 0.003 and 3000", s, us)
	}
}

func ExampleParseDuration() {
	d, err := units.ParseDuration("10.5us")
	fmt.Println(d, int64(d), err)
	_, err = units.ParseDuration("10")
	fmt.Println(err)
	// Output:
	// 10.5us 10500000 <nil>
	// duration "10": a unit is missing; write 10us, 10ms or another of ps ns us ms s min h
}
