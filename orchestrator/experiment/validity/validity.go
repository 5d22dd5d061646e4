// Package validity has the map of docs/explanation/validity.md: what CSIG max(Delay) did to the rate of
// flows over two bottlenecks, measured with NSCC, by the flows per link, the bandwidth-delay
// product and the rate. It knows where nothing was measured.
package validity

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/csiglab/csiglab/units"
)

// Point is one place of the map.
type Point struct {
	Rate  units.Rate // of the links
	BDP   float64    // of the path, in full packets: network RTT times rate
	Flows float64    // per link of a bottleneck
	// Ratio is the victims' rate with CSIG over their rate without it, the geometric mean
	// over the seeds; Low and High are the 95 % interval.
	Ratio, Low, High float64
}

// Header is the first line of map.csv, without the line break.
const Header = "rate,bdp_packets,flows_per_link,ratio,low,high"

//go:embed map.csv
var table string

// Points returns the map, ascending by rate, BDP and flows. The caller must not change it.
var Points = sync.OnceValue(func() []Point {
	points, err := Parse(table)
	if err != nil {
		panic("validity: " + err.Error())
	}
	return points
})

// Parse reads what Line writes, behind a Header.
func Parse(text string) (points []Point, err error) {
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 || strings.Join(rows[0], ",") != Header {
		return nil, fmt.Errorf("the first line is not %s", Header)
	}
	for i, row := range rows[1:] {
		rate, err := units.ParseRate(row[0])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+2, err)
		}
		p := Point{Rate: rate}
		for k, to := range []*float64{&p.BDP, &p.Flows, &p.Ratio, &p.Low, &p.High} {
			if *to, err = strconv.ParseFloat(row[k+1], 64); err != nil {
				return nil, fmt.Errorf("line %d: %w", i+2, err)
			}
		}
		points = append(points, p)
	}
	return points, nil
}

// Line returns a point as a line of map.csv.
func (p Point) Line() string {
	return fmt.Sprintf("%v,%.1f,%.1f,%.3f,%.3f,%.3f", p.Rate, p.BDP, p.Flows, p.Ratio, p.Low, p.High)
}

// extra returns how much longer a flow takes at 1/ratio times its rate, in %; negative: it
// takes less.
func extra(ratio float64) float64 { return 100 * (1/ratio - 1) }

// Place is where an experiment lies: between points of the map.
type Place struct {
	Least, Most       float64 // range of Extra at these points, by their means
	Shortest, Longest float64 // the same of their 95 % intervals
	// Harm says that CSIG lengthened the victims' times at all of these points, or at one
	// of them beyond doubt: its interval is all on that side.
	Harm bool
}

// At returns the place of an experiment. It is false outside the measured range.
func At(rate units.Rate, bdp, flows float64) (Place, bool) {
	low, high, ok := bracket(Points(), func(p Point) float64 { return float64(p.Rate) }, float64(rate))
	if !ok {
		return Place{}, false
	}
	place := Place{Least: math.Inf(1), Most: math.Inf(-1), Shortest: math.Inf(1), Longest: math.Inf(-1)}
	for _, r := range []float64{low, high} {
		row := slices.DeleteFunc(slices.Clone(Points()), func(p Point) bool { return float64(p.Rate) != r })
		b0, b1, inB := bracket(row, func(p Point) float64 { return p.BDP }, bdp)
		f0, f1, inF := bracket(row, func(p Point) float64 { return p.Flows }, flows)
		if !inB || !inF {
			return Place{}, false
		}
		for _, p := range row {
			if (p.BDP == b0 || p.BDP == b1) && (p.Flows == f0 || p.Flows == f1) {
				place.Least, place.Most = min(place.Least, extra(p.Ratio)), max(place.Most, extra(p.Ratio))
				place.Shortest, place.Longest = min(place.Shortest, extra(p.High)), max(place.Longest, extra(p.Low))
				place.Harm = place.Harm || p.High < 1
			}
		}
	}
	place.Harm = place.Harm || place.Least > 0
	return place, true
}

// slack is by how much a value may miss a coordinate of the map and count as on it, such
// as by another length of the header.
const slack = 0.02

// bracket returns the coordinates of the map next to a value, below and above it; both are
// the one that it lies on.
func bracket(points []Point, of func(Point) float64, value float64) (low, high float64, ok bool) {
	low, high = math.Inf(-1), math.Inf(1)
	for _, p := range points {
		at := of(p)
		if math.Abs(at-value) <= slack*value {
			return at, at, true
		}
		if at < value {
			low = max(low, at)
		} else {
			high = min(high, at)
		}
	}
	return low, high, !math.IsInf(low, 0) && !math.IsInf(high, 0)
}

// String returns the place in words: what CSIG did to the victims' times there.
func (p Place) String() string {
	verb, least, most := "changed", math.Round(p.Least), math.Round(p.Most)
	sign := "+"
	switch {
	case least > 0:
		verb, sign = "lengthened", ""
	case most < 0:
		verb, sign, least, most = "shortened", "", -most, -least
	}
	change := fmt.Sprintf("%"+sign+".0f to %"+sign+".0f %%", least, most)
	if least == most {
		change = fmt.Sprintf("%"+sign+".0f %%", least)
	}
	return fmt.Sprintf("%s their times by %s (95 %% intervals from %+.0f to %+.0f %%)", verb, change, p.Shortest, p.Longest)
}
