package series

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/words"
)

// OtherPorts stands in Line.Ports for all ports that have no line of their own.
const OtherPorts = "other ports"

// OverTime returns a figure of lines over time: panels of the same scales in units that fit
// the values, the measuring window as a shade, the seed below the variant's name, and a
// legend. The caller adds title and caption.
func OverTime(f *reading.Facts, c *Chart, quantity string) *chart.Figure {
	end, most := 0.0, 0.0 // of the axes, in ms and in the chart's unit
	for _, p := range c.Panels {
		for _, l := range p.Lines {
			end = max(end, (float64(l.First+len(l.Values)))*f.PointUS/1000)
			most = max(most, l.greatest())
		}
		for _, l := range p.Levels {
			most = max(most, l.Value)
		}
	}
	ms, unit := words.ScaleFor(end, words.Times), words.ScaleFor(most, words.ScalesOf(c.Unit))
	from, to := f.Setup.Measure.FromUS/1000, f.Setup.Measure.ToUS/1000
	if to == 0 && from > 0 {
		to = end
	}
	lines := chart.Lines{
		X:     chart.Scaling{Name: "Time", Unit: ms.Unit, Max: end * ms.Factor, Clock: chart.ClockRun, Microseconds: 1000 / ms.Factor},
		Y:     chart.Scaling{Name: quantity, Unit: unit.Unit, Max: most * unit.Factor},
		Shade: [2]float64{min(from, end) * ms.Factor, min(to, end) * ms.Factor},
	}
	figure := &chart.Figure{ID: c.ID, Columns: columns(len(c.Panels)), Legend: legend(f, c)}
	for _, p := range c.Panels {
		panel := lines
		panel.Name = p.Variant
		for _, l := range p.Lines {
			line := drawn(f, c, &l)
			line.Y, line.Low, line.High = scaled(unit, l.Values), scaled(unit, l.Low), scaled(unit, l.High)
			for i := range l.Values {
				line.X = append(line.X, middle(f, l.First+i)*ms.Factor)
			}
			panel.Lines = append(panel.Lines, line)
		}
		for _, l := range p.Levels {
			at := l.Value * unit.Factor
			panel.Levels = append(panel.Levels, chart.LevelMark{Name: strings.TrimSpace(l.Name + " " + words.Number(at) + " " + unit.Unit), Y: at})
		}
		figure.Panels = append(figure.Panels, chart.Panel{Title: p.Variant, Subtitle: phrases.Seed(f, p.Variant), Variant: p.Variant, Chart: &panel})
	}
	return figure
}

// middle returns the place of a point on a time axis: the middle of its span, in ms.
func middle(f *reading.Facts, point int) float64 { return (float64(point) + 0.5) * f.PointUS / 1000 }

// greatest returns the greatest value of a line and its band, 0 without a positive one.
func (l *Line) greatest() (most float64) {
	values := l.Values
	if l.High != nil {
		values = l.High
	}
	for _, v := range values {
		if v > most { // not of NaN
			most = v
		}
	}
	return most
}

func scaled(unit words.Scale, values []float64) []float64 {
	values = slices.Clone(values)
	unit.Apply(values)
	return values
}

// Distribution returns a figure of the share of the flows for which a quantity is at most a
// value. The points of a line stand for ranks: see Rank. The caller adds title and caption.
func Distribution(f *reading.Facts, c *Chart, quantity string) *chart.Figure {
	end := 0.0
	for i := range c.Panels[0].Lines {
		end = max(end, c.Panels[0].Lines[i].greatest())
	}
	unit := words.ScaleFor(end, words.ScalesOf(c.Unit))
	panel := &chart.Lines{X: chart.Scaling{Name: quantity, Unit: unit.Unit, Max: end * unit.Factor * 1.06}, Y: chart.Scaling{Name: "Flows", Unit: "%", Max: 100}}
	for _, l := range c.Panels[0].Lines {
		line := drawn(f, c, &l)
		line.X, line.Low, line.High, line.Beside = scaled(unit, l.Values), scaled(unit, l.Low), scaled(unit, l.High), true
		for i, v := range l.Values {
			share := 100 * float64(Rank(i, len(l.Values), l.Flows)) / float64(l.Flows)
			if math.IsNaN(v) {
				share = math.NaN()
			}
			line.Y = append(line.Y, share)
		}
		panel.Lines = append(panel.Lines, line)
	}
	return &chart.Figure{ID: c.ID, Columns: columns(1), Legend: legend(f, c), Panels: []chart.Panel{{Chart: panel}}}
}

// Rank returns the place of point i of the n points of a distribution among as many values,
// from 1: i+1 where every value has a point.
func Rank(i, n, values int) int {
	if n <= 1 {
		return values
	}
	return 1 + int(math.Round(float64(i)*float64(values-1)/float64(n-1)))
}

// Shares returns a figure of stacked bars: the share of each part in the counts of each
// group. label returns a part's names in the legend and in bars. The caller adds title and
// caption.
func Shares(f *reading.Facts, c *Chart, quantity string, label func(part string) (name, short string)) *chart.Figure {
	figure := &chart.Figure{ID: c.ID, Columns: columns(len(c.Panels))}
	names, used := partsOf(c)
	var parts []chart.BarPart
	for i, part := range names {
		name, short := label(part)
		parts = append(parts, chart.BarPart{Name: name, Short: short, Paint: chart.Action(i)})
		if used[part] {
			figure.Legend = append(figure.Legend, chart.FillKey(name, chart.Action(i)))
		}
	}
	for _, p := range c.Panels {
		bars := &chart.Bars{Name: p.Variant, X: chart.Scaling{Name: quantity, Unit: "%"}, Parts: parts}
		for _, b := range p.Bars {
			row, total := chart.BarRow{Name: phrases.Group(b.Group), Values: make([]float64, len(names))}, int64(0)
			for _, part := range b.Parts {
				total += part.Count
			}
			for _, part := range b.Parts {
				row.Values[slices.Index(names, part.Name)] = 100 * float64(part.Count) / float64(total)
			}
			bars.Rows = append(bars.Rows, row)
		}
		figure.Panels = append(figure.Panels, chart.Panel{Title: p.Variant, Subtitle: phrases.Seed(f, p.Variant), Variant: p.Variant, Chart: bars})
	}
	return figure
}

// partsOf returns the names of the parts of all bars, each once, and says which have a count.
func partsOf(c *Chart) (names []string, used map[string]bool) {
	used = map[string]bool{}
	for _, p := range c.Panels {
		for _, b := range p.Bars {
			for _, part := range b.Parts {
				if _, ok := used[part.Name]; !ok {
					names = append(names, part.Name)
				}
				used[part.Name] = used[part.Name] || part.Count > 0
			}
		}
	}
	return names, used
}

// OverSeeds explains the bands of a chart that has some.
func OverSeeds(c *Chart) string {
	for _, p := range c.Panels {
		for _, l := range p.Lines {
			if l.High != nil {
				return " Lines are medians over the seeds, bands reach from the least to the greatest."
			}
		}
	}
	return ""
}

// columns returns how many columns n panels stand in. Half of the width is enough for one.
func columns(n int) int {
	switch {
	case n == 1 || n == 4:
		return 2
	case n > 3:
		return 3
	}
	return n
}

// drawn returns the line of a figure, with name and look, but without values.
func drawn(f *reading.Facts, c *Chart, l *Line) chart.Line {
	name, style := named(f, c, l)
	return chart.Line{Name: name, Look: lookOf(f, l, style)}
}

// Styles of lines. Those of flows, variants and ports are from 0 on; those of ports that a fault
// slowed are from slowed on, and below 0.
const (
	others = 1 << 20 // the line of all others: after all of them
	slowed = -others
)

// lookOf returns the look of a line of a style. The colours of variants are those of nothing else.
func lookOf(f *reading.Facts, l *Line, style int) chart.Look {
	switch {
	case l.Variant != "":
		return chart.Nth(style)
	case style == others:
		return chart.Others()
	case style < 0:
		return chart.Look{Paint: chart.Target, Width: 2.4, Dashes: chart.Nth(style - slowed).Dashes}
	}
	return chart.Beside(len(f.Variants), style)
}

// named returns the name and the style of a line of a chart.
func named(f *reading.Facts, c *Chart, l *Line) (name string, style int) {
	switch {
	case l.Variant != "":
		return l.Variant, max(f.Variant(l.Variant), 0)
	case len(l.Ports) == 0 && l.Flow == "":
		return phrases.Group(l.Group), others
	case len(l.Ports) == 0:
		return l.Flow, slices.Index(f.Groups, l.Group)
	case l.Ports[0] == OtherPorts:
		return OtherPorts, others
	}
	var seen [][]string
	for _, p := range c.Panels {
		for _, other := range p.Lines {
			if other.Slowed == l.Slowed && !slices.ContainsFunc(seen, func(ports []string) bool { return slices.Equal(ports, other.Ports) }) {
				seen = append(seen, other.Ports)
			}
		}
	}
	i := slices.IndexFunc(seen, func(ports []string) bool { return slices.Equal(ports, l.Ports) })
	if l.Slowed {
		return phrases.Shared(f, l.Ports) + ", slowed", slowed + i
	}
	return phrases.Shared(f, l.Ports), i
}

// legend returns an entry for each line, those of the same name and style once.
func legend(f *reading.Facts, c *Chart) []chart.Key {
	type entry struct {
		name  string
		style int
	}
	looks := map[entry]chart.Look{}
	for _, p := range c.Panels {
		for i := range p.Lines {
			name, style := named(f, c, &p.Lines[i])
			looks[entry{name, style}] = lookOf(f, &p.Lines[i], style)
		}
	}
	var keys []chart.Key
	for _, e := range slices.SortedFunc(maps.Keys(looks), func(a, b entry) int { return cmp.Or(cmp.Compare(a.style, b.style), cmp.Compare(a.name, b.name)) }) {
		keys = append(keys, chart.LineKey(e.name, looks[e]))
	}
	return keys
}
