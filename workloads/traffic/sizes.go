package traffic

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/csiglab/csiglab/internal/lines"
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
// are no larger, both rising, to 100. Empty lines do not count, nor what follows a # behind space.
// Errors are *lines.Error.
func ReadSizes(r io.Reader, name string) (Sizes, error) {
	var s Sizes
	file := lines.NewReader(name, r)
	err := file.Each(func(words []lines.Word) error {
		if len(words) != 2 {
			return file.Errorf(words[0].Pos, "%d fields, want a size in bytes and a percentage", len(words))
		}
		var v [2]float64
		for i, w := range words {
			var err error
			if v[i], err = strconv.ParseFloat(w.Text, 64); err != nil || !(v[i] >= 0 && v[i] <= 1e15) {
				return file.Errorf(w.Pos, "%q is not a number from 0 to 1e15", w.Text)
			}
		}
		p, n := point{v[0], v[1] / 100}, len(s.points)
		switch {
		case n > 0 && (p.size < s.points[n-1].size || p.share < s.points[n-1].share):
			return file.Errorf(words[0].Pos, "sizes and percentages have to rise")
		case p.share > 1:
			return file.Errorf(words[1].Pos, "%s per cent are more than 100", words[1].Text)
		case n == maxPoints:
			return file.Errorf(words[0].Pos, "more than %d points", maxPoints)
		}
		s.points = append(s.points, p)
		return nil
	})
	if n := len(s.points); err == nil && (n == 0 || s.points[n-1].share != 1 || s.points[n-1].size < 1) {
		err = file.Errorf(lines.Pos{Line: file.Last().Line, Column: 1}, "the last point has to be a size of 1 byte or more, and 100 per cent")
	}
	if err != nil {
		return Sizes{}, err
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
