// Package units holds model time, link rates and sizes, and the exact time that a
// packet takes on a link. Model time is integer picoseconds since the start of a
// run; the package reads no clock: drivers hand the current time to machines.
package units

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// Rate is a rate in bit/s; 1 Gbps is 1e9 bit/s.
type Rate int64

// Units of rate.
const (
	BitPerSecond Rate = 1
	Kbps              = 1000 * BitPerSecond
	Mbps              = 1000 * Kbps
	Gbps              = 1000 * Mbps
	Tbps              = 1000 * Gbps
)

// Size is a size in bytes.
type Size int64

// Units of size.
const (
	Byte Size = 1
	KB        = 1000 * Byte
	MB        = 1000 * KB
	GB        = 1000 * MB
	TB        = 1000 * GB
	KiB       = 1024 * Byte
	MiB       = 1024 * KiB
	GiB       = 1024 * MiB
)

// NoLimit is the size of a queue or window without a bound.
const NoLimit Size = math.MaxInt64

type unit struct {
	name string
	size int64
}

var rateUnits = []unit{
	{"Tbps", int64(Tbps)}, {"Gbps", int64(Gbps)}, {"Mbps", int64(Mbps)}, {"kbps", int64(Kbps)}, {"bps", 1},
}

var sizeUnits = []unit{
	{"TB", int64(TB)}, {"GB", int64(GB)}, {"MB", int64(MB)}, {"kB", int64(KB)}, {"B", 1},
	{"GiB", int64(GiB)}, {"MiB", int64(MiB)}, {"KiB", int64(KiB)},
}

// ParseRate reads a decimal number and a unit: bps kbps Mbps Gbps Tbps
// (the case of the prefix does not matter; GBps is refused). A number without a unit is an error.
func ParseRate(text string) (Rate, error) {
	v, err := parse("rate", text, "100Gbps", rateUnits)
	return Rate(v), err
}

// ParseSize reads a decimal number and a unit: B kB MB GB TB (powers of
// 1000) or KiB MiB GiB (powers of 1024). A number without a unit is an error.
func ParseSize(text string) (Size, error) {
	v, err := parse("size", text, "64kB", sizeUnits)
	return Size(v), err
}

func parse(what, text, example string, table []unit) (int64, error) {
	number, name := SplitUnit(text)
	names := make([]string, len(table))
	for i, u := range table {
		names[i] = u.name
		// "Gb" is not "GB": the case of a size's unit matters, and that of the
		// bit or byte in a rate's.
		if number == "" || u.name != name && (what != "rate" || !strings.EqualFold(u.name, name) || strings.Contains(name, "B")) {
			continue
		}
		v, err := Scale(number, u.size)
		if err != nil {
			return 0, fmt.Errorf("%s %q: %w", what, text, err)
		}
		return v, nil
	}
	switch {
	case number == "":
		return 0, fmt.Errorf("%q is not a %s; write a number and a unit, such as %s", text, what, example)
	case name == "":
		return 0, fmt.Errorf("%s %q: %w; write a number and one of %s", what, text, ErrNoUnit, strings.Join(names, " "))
	}
	return 0, fmt.Errorf("%s %q: unknown unit %q; use one of %s", what, text, name, strings.Join(names, " "))
}

// String prints r exactly; it parses back to the same value.
func (r Rate) String() string { return format(int64(r), rateUnits) }

// String prints s exactly in powers of 1000; it parses back to the same value.
func (s Size) String() string { return format(int64(s), sizeUnits[:5]) }

func format(v int64, table []unit) string {
	sign := ""
	switch {
	case v == math.MinInt64: // has no positive counterpart
		return strconv.FormatInt(v, 10) + table[len(table)-1].name
	case v < 0:
		sign, v = "-", -v
	}
	for _, u := range table {
		if v >= u.size {
			return sign + FormatDecimal(v, u.size) + u.name
		}
	}
	return sign + FormatDecimal(v, 1) + table[len(table)-1].name
}

// picosecondBits is the number of bit·ps/s in a byte-second: 8 bits * 1e12 ps.
const picosecondBits = 8_000_000_000_000

// Serialisation returns the time size takes at rate r, rounded down to the
// picosecond; a time that no Duration can hold is the longest Duration. r must
// be positive and size not negative.
func (r Rate) Serialisation(size Size) Duration {
	t, _ := r.serialise(size, 0)
	return t
}

// Volume returns the bytes that rate r carries in d, rounded down, or NoLimit
// when they cannot be counted. Neither may be negative.
func (r Rate) Volume(d Duration) Size {
	hi, lo := bits.Mul64(uint64(r), uint64(d))
	if hi >= picosecondBits/2 {
		return NoLimit
	}
	q, _ := bits.Div64(hi, lo, picosecondBits)
	return Size(q)
}

func (r Rate) serialise(size Size, remainder int64) (Duration, int64) {
	hi, lo := bits.Mul64(uint64(size), picosecondBits)
	lo, carry := bits.Add64(lo, uint64(remainder), 0)
	if hi+carry >= uint64(r) {
		return math.MaxInt64, 0
	}
	q, rest := bits.Div64(hi+carry, lo, uint64(r))
	if q > math.MaxInt64 {
		return math.MaxInt64, 0
	}
	return Duration(q), int64(rest)
}

// Serialiser gives the transmission times of one port. Ethernet rates are a
// whole number of picoseconds per byte; for a rate that is not, the remainder
// of one packet is carried to the next and cleared when the port idles, so that
// a busy port holds its rate exactly. The zero value is not usable.
type Serialiser struct {
	rate      Rate
	perByte   Duration // 0 when not whole
	remainder int64
	busyUntil Time
}

// NewSerialiser returns the serialiser of a port of the given rate, which must
// be positive.
func NewSerialiser(rate Rate) Serialiser {
	s := Serialiser{rate: rate}
	if picosecondBits%int64(rate) == 0 {
		s.perByte = Duration(picosecondBits / int64(rate))
	}
	return s
}

// Takes returns the time that a packet of the given size takes, rounded down to the
// picosecond. It carries no remainder and changes nothing.
func (s *Serialiser) Takes(size Size) Duration {
	if s.perByte != 0 {
		return Duration(size) * s.perByte
	}
	return s.rate.Serialisation(size)
}

// Departure returns when the last bit of a packet of the given size leaves, if
// its first bit leaves at now. Calls are in order of time.
func (s *Serialiser) Departure(now Time, size Size) Time {
	if s.perByte != 0 {
		return now + Time(Duration(size)*s.perByte)
	}
	if now > s.busyUntil {
		s.remainder = 0
	}
	t, rest := s.rate.serialise(size, s.remainder)
	s.remainder = rest
	s.busyUntil = now.Add(t)
	return s.busyUntil
}
