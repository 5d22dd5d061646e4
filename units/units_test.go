package units_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/units"
)

func TestParse(t *testing.T) {
	rates := map[string]units.Rate{
		"100Gbps": 100 * units.Gbps, "1.6Tbps": 1600 * units.Gbps, "2.5 gbps": 2_500_000_000,
		"9600bps": 9600, "10 kbps": 10_000, "0.001kbps": 1, "9223372036854775807bps": math.MaxInt64,
	}
	for text, want := range rates {
		if got, err := units.ParseRate(text); err != nil || got != want {
			t.Errorf("ParseRate(%q) = %d, %v, want %d", text, int64(got), err, int64(want))
		}
	}
	sizes := map[string]units.Size{
		"64B": 64, "1kB": 1000, "1KiB": 1024, "0.5KiB": 512, "0.25KiB": 256, "0.0009765625KiB": 1,
		"1.5MiB": 1_572_864, "2MB": 2_000_000, "3GiB": 3 << 30, "1TB": units.TB, "0B": 0, "-1B": -1,
	}
	for text, want := range sizes {
		if got, err := units.ParseSize(text); err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v, want %d", text, int64(got), err, int64(want))
		}
	}
}

func TestParseRefuses(t *testing.T) {
	rate := func(s string) error { _, err := units.ParseRate(s); return err }
	size := func(s string) error { _, err := units.ParseSize(s); return err }
	tests := []struct {
		parse func(string) error
		text  string
		want  error
		says  string
	}{
		{rate, "", nil, "not a rate"},
		{rate, "fast", nil, "not a rate"},
		{rate, "100", units.ErrNoUnit, "Gbps"},
		{rate, "100G", nil, `unknown unit "G"`},
		{rate, "100GBps", nil, `unknown unit "GBps"`}, // bytes
		{rate, "0.5bps", units.ErrTooFine, `rate "0.5bps"`},
		{rate, "10000000000Tbps", units.ErrTooLarge, "rate"},
		{size, "64", units.ErrNoUnit, "KiB"},
		{size, "64kb", nil, `unknown unit "kb"`}, // a kilobit is not a kilobyte
		{size, "64Kb", nil, `unknown unit "Kb"`},
		{size, "0.3KiB", units.ErrTooFine, `size "0.3KiB"`},
		{size, "0.0001kB", units.ErrTooFine, "size"},
		{size, "8589934592GiB", units.ErrTooLarge, "size"},
		{size, "9223372036854775808B", units.ErrTooLarge, "size"},
	}
	for _, tc := range tests {
		err := tc.parse(tc.text)
		if err == nil || tc.want != nil && !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("parsing %q: %v, want an error %v that says %q", tc.text, err, tc.want, tc.says)
		}
	}
}

// Text parses and prints to the same value.
func TestRoundTrip(t *testing.T) {
	r, seed := random()
	check := func(v int64) {
		rate, err := units.ParseRate(units.Rate(v).String())
		if err != nil || int64(rate) != v {
			t.Fatalf("seed %d: rate %d prints as %q, which parses as %d, %v", seed, v, units.Rate(v), int64(rate), err)
		}
		size, err := units.ParseSize(units.Size(v).String())
		if err != nil || int64(size) != v {
			t.Fatalf("seed %d: size %d prints as %q, which parses as %d, %v", seed, v, units.Size(v), int64(size), err)
		}
	}
	for _, v := range []int64{0, 1, -1, 999, 1000, 1024, math.MaxInt64, math.MinInt64, math.MinInt64 + 1} {
		check(v)
	}
	for range 20000 {
		check(int64(r.Uint64()) >> r.IntN(64))
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"100Gbps", "64kB", "0.25KiB", "-1B", "1.6tbps", "9223372036854775808B"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if r, err := units.ParseRate(text); err == nil {
			if again, err := units.ParseRate(r.String()); err != nil || again != r {
				t.Errorf("ParseRate(%q) = %d, printed %q, parsed again %d, %v", text, int64(r), r, int64(again), err)
			}
		}
		if s, err := units.ParseSize(text); err == nil {
			if again, err := units.ParseSize(s.String()); err != nil || again != s {
				t.Errorf("ParseSize(%q) = %d, printed %q, parsed again %d, %v", text, int64(s), s, int64(again), err)
			}
		}
	})
}

func TestSerialisation(t *testing.T) {
	tests := []struct {
		rate units.Rate
		size units.Size
		want units.Duration
	}{
		// Ethernet's rates are whole picoseconds per byte.
		{800 * units.Gbps, 1, 10},
		{100 * units.Gbps, 1, 80},
		{1600 * units.Gbps, 1, 5},
		{100 * units.Gbps, 4150, 332 * units.Nanosecond},
		{3 * units.Gbps, 1, 2666},
		{3 * units.Gbps, 3, 8 * units.Nanosecond},
		{100 * units.Gbps, 0, 0},
		{units.BitPerSecond, 1, 8 * units.Second},
		{units.BitPerSecond, units.NoLimit, math.MaxInt64}, // does not fit
		{100 * units.Gbps, units.NoLimit, math.MaxInt64},
	}
	for _, tc := range tests {
		if got := tc.rate.Serialisation(tc.size); got != tc.want {
			t.Errorf("%v at %v = %d ps, want %d", tc.size, tc.rate, int64(got), int64(tc.want))
		}
	}
}

func TestVolume(t *testing.T) {
	tests := []struct {
		rate units.Rate
		d    units.Duration
		want units.Size
	}{
		// What an interval holds (docs/reference/references.md#available-bandwidth).
		{50 * units.Gbps, 128 * units.Microsecond, 800_000},
		{100 * units.Gbps, 128 * units.Microsecond, 1_600_000},
		{400 * units.Gbps, 128 * units.Microsecond, 6_400_000},
		{800 * units.Gbps, 128 * units.Microsecond, 12_800_000},
		{100 * units.Gbps, 100 * units.Microsecond, 1_250_000},
		{100 * units.Gbps, 79, 0},
		{math.MaxInt64, math.MaxInt64, units.NoLimit},
	}
	for _, tc := range tests {
		if got := tc.rate.Volume(tc.d); got != tc.want {
			t.Errorf("%v in %v = %d B, want %d", tc.rate, tc.d, int64(got), int64(tc.want))
		}
	}
}

// A rate that is not a whole number of picoseconds per byte carries its remainder
// from packet to packet; the remainder is cleared when the port idles.
func TestSerialiserCarriesTheRemainder(t *testing.T) {
	r, seed := random()
	for _, rate := range []units.Rate{3 * units.Gbps, 7_777_777_777, 99_999_999_999, 12_345, 100 * units.Gbps, 9 * units.Tbps} {
		s := units.NewSerialiser(rate)
		now, total := units.Time(1234), int64(0)
		for i := range 1000 {
			size := units.Size(64 + r.IntN(4087))
			total += int64(size)
			now = s.Departure(now, size)
			exact := new(big.Int).Mul(big.NewInt(total), big.NewInt(8_000_000_000_000))
			exact.Quo(exact, big.NewInt(int64(rate)))
			if got := int64(now - 1234); got != exact.Int64() {
				t.Fatalf("seed %d, %v: packet %d leaves after %d ps, want %d", seed, rate, i, got, exact)
			}
		}
	}
}

// Takes is the time of one packet on an idle port, and moves no remainder.
func TestSerialiserTakes(t *testing.T) {
	for rate, want := range map[units.Rate]units.Duration{100 * units.Gbps: 332_000, 400 * units.Gbps: 83_000, 3 * units.Gbps: 11_066_666} {
		s, untouched := units.NewSerialiser(rate), units.NewSerialiser(rate)
		s.Departure(0, 1)
		untouched.Departure(0, 1)
		if got := s.Takes(4150); got != want {
			t.Errorf("%v: 4150 B take %v, want %v", rate, got, want)
		}
		if got, want := s.Departure(2667, 1), untouched.Departure(2667, 1); got != want {
			t.Errorf("%v: the next byte leaves at %v, want %v", rate, got, want)
		}
	}
}

func TestSerialiserClearsTheRemainderWhenIdle(t *testing.T) {
	const rate = 3 * units.Gbps // 2666 2/3 ps per byte
	s := units.NewSerialiser(rate)
	if got := s.Departure(0, 1); got != 2666 {
		t.Fatalf("first byte leaves at %d, want 2666", got)
	}
	if got := s.Departure(2666, 1); got != 5333 {
		t.Errorf("second byte leaves at %d, want 5333 with the remainder of the first", got)
	}
	if got := s.Departure(5334, 1); got != 5334+2666 {
		t.Errorf("a byte after an idle picosecond leaves at %d, want %d without a remainder", got, 5334+2666)
	}
}

func ExampleNewSerialiser() {
	port := units.NewSerialiser(100 * units.Gbps)
	first := port.Departure(0, 4150)
	fmt.Println(first, port.Departure(first, 4150))
	// Output: 332ns 664ns
}

func ExampleParseSize() {
	for _, text := range []string{"64kB", "64KiB", "64"} {
		fmt.Println(units.ParseSize(text))
	}
	// Output:
	// 64kB <nil>
	// 65.536kB <nil>
	// 0B size "64": a unit is missing; write a number and one of TB GB MB kB B GiB MiB KiB
}

func random() (*rand.Rand, uint64) {
	seed := rand.Uint64()
	return rand.New(rand.NewPCG(seed, 0)), seed
}
