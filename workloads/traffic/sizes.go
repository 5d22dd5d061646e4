package traffic

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
)

// Sizes is a distribution of message sizes: a cumulative distribution function (CDF) that
// is linear between its points. The zero value is none.
type Sizes struct{ points []point }

// point is a size in bytes and the share of messages that are no larger.
type point struct{ size, share float64 }

// Fixed returns the distribution in which every message has one size.
func Fixed(size units.Size) Sizes { return Sizes{[]point{{float64(size), 1}}} }

// published are CDFs of flow sizes as the public HPCC simulator has them
// (docs/reference/references.md#flow-sizes), in bytes and per cent.
var published = map[string][][2]float64{
	"web-search": {
		{0, 0}, {10000, 15}, {20000, 20}, {30000, 30}, {50000, 40}, {80000, 53}, {200000, 60}, {1e6, 70}, {2e6, 80}, {5e6, 90}, {10e6, 97}, {30e6, 100},
	},
	"hadoop": {
		{0, 0}, {100, 1}, {200, 2}, {300, 5}, {350, 15}, {400, 20}, {500, 30}, {600, 40}, {700, 50}, {1000, 60}, {2000, 67}, {7000, 70}, {30000, 72},
		{50000, 82}, {80000, 87}, {120000, 90}, {300000, 95}, {1e6, 97.5}, {2e6, 99}, {10e6, 100},
	},
	"storage": {
		{0, 0}, {4000, 22.93}, {8000, 69.21}, {16000, 80.61}, {32000, 90.47}, {64000, 93.53}, {128000, 96.77}, {256000, 97.53}, {2e6, 100},
	},
}

// PublishedNames returns the names of the published distributions, in order.
func PublishedNames() []string { return slices.Sorted(maps.Keys(published)) }

// Published returns a published distribution of flow sizes by its name.
func Published(name string) (Sizes, bool) {
	table, ok := published[name]
	s := Sizes{}
	for _, p := range table {
		s.points = append(s.points, point{p[0], p[1] / 100})
	}
	return s, ok
}

// maxPoints is the most points of a file's CDF; the largest published one has about 1000.
const maxPoints = 100_000

// ReadSizes reads a CDF: on each line a size in bytes and the percentage of messages that
// are no larger, both rising, to 100. Lines that begin with # and empty lines do not count.
// Errors begin with name, line and column.
func ReadSizes(r io.Reader, name string) (Sizes, error) {
	var s Sizes
	scanner := bufio.NewScanner(r)
	line := 0
	for scanner.Scan() {
		line++
		fields := strings.Fields(scanner.Text())
		if len(fields) == 0 || fields[0][0] == '#' {
			continue
		}
		fail := func(field int, format string, args ...any) error {
			column := 1
			if field < len(fields) {
				column += strings.Index(scanner.Text(), fields[field])
			}
			return fmt.Errorf("%s:%d:%d: %s", name, line, column, fmt.Sprintf(format, args...))
		}
		if len(fields) != 2 {
			return Sizes{}, fail(0, "%d fields, want a size in bytes and a percentage", len(fields))
		}
		var v [2]float64
		for i, f := range fields {
			var err error
			if v[i], err = strconv.ParseFloat(f, 64); err != nil || !(v[i] >= 0 && v[i] <= 1e15) {
				return Sizes{}, fail(i, "%q is not a number from 0 to 1e15", f)
			}
		}
		p := point{v[0], v[1] / 100}
		if n := len(s.points); n > 0 && (p.size < s.points[n-1].size || p.share < s.points[n-1].share) {
			return Sizes{}, fail(0, "sizes and percentages have to rise")
		}
		if p.share > 1 {
			return Sizes{}, fail(1, "%s per cent are more than 100", fields[1])
		}
		if len(s.points) == maxPoints {
			return Sizes{}, fail(0, "more than %d points", maxPoints)
		}
		s.points = append(s.points, p)
	}
	if err := scanner.Err(); err != nil {
		return Sizes{}, fmt.Errorf("%s:%d:1: %w", name, line+1, err)
	}
	if n := len(s.points); n == 0 || s.points[n-1].share != 1 || s.points[n-1].size < 1 {
		return Sizes{}, fmt.Errorf("%s:%d:1: the last point has to be a size of 1 byte or more, and 100 per cent", name, max(line, 1))
	}
	return s, nil
}

// Mean returns the mean size in bytes.
func (s Sizes) Mean() float64 {
	if len(s.points) == 0 {
		return 0
	}
	sum, last := 0.0, point{s.points[0].size, 0}
	for _, p := range s.points {
		sum += float64((p.share - last.share) * (p.size + last.size) / 2)
		last = p
	}
	return sum
}

// Max returns the largest size.
func (s Sizes) Max() units.Size {
	if len(s.points) == 0 {
		return 0
	}
	return units.Size(s.points[len(s.points)-1].size)
}

// draw returns a size, at least one byte.
func (s Sizes) draw(random *rand.Rand) units.Size {
	last := point{s.points[0].size, 0}
	at := random.Float64()
	for _, p := range s.points {
		if at <= p.share {
			size := last.size
			if p.share > last.share {
				size += float64((p.size - last.size) * (at - last.share) / (p.share - last.share))
			}
			return max(units.Byte, units.Size(size))
		}
		last = p
	}
	return max(units.Byte, s.Max())
}

// check refuses a distribution of no sizes.
func (s Sizes) check(what string) error {
	if s.Mean() < 1 {
		return fmt.Errorf("%w: %s: the mean size is less than 1 byte", workloads.ErrInvalid, what)
	}
	return nil
}
