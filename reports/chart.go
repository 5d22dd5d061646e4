package reports

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/reports/analysis"
)

// Chart is a group of panels with one legend, ready to be drawn.
type Chart struct {
	ID      string
	Title   string
	Caption string
	Legend  []Key
	Panels  []Panel
}

// Key is an entry of a legend: the style of a line, or of a bar's part.
type Key struct {
	Name  string
	Style int
	Bar   bool
}

// Panel is one drawing: lines over time, or stacked bars.
type Panel struct {
	Title    string
	Subtitle string
	XLabel   string
	YLabel   string
	XMax     float64
	YMin     float64 // 0, or less where lines have values below 0
	YMax     float64

	Lines []Line
	Marks []Mark     // lines across at a value
	Shade [2]float64 // span of X, empty when both are equal

	Bars  []Bar
	Parts []string // short names of the parts of bars

	figure       string   // ID of the figure in the page's data; "" when the script has none
	clock        string   // of X; see axisData
	counts       bool     // X counts something, so that its ticks are whole numbers
	microseconds float64  // in a unit of X
	partLabels   []string // whole names of the parts of bars
}

// Line is a line of points; a NaN in Y is a gap. Low and High are the edges of a band
// around it, below and above the points, or left and right of them when it is Beside.
// They are nil, or as long as Y.
type Line struct {
	Name      string
	Style     int
	X, Y      []float64
	Low, High []float64
	Beside    bool
}

// Mark is a value to compare lines with.
type Mark struct {
	Name string
	Y    float64
}

// Bar is a row of parts whose sum is 1.
type Bar struct {
	Name  string
	Parts []float64 // as many as the panel has names of parts
}

// Styles of lines. Those from 0 to analysis.MaxGroups-1 are of single flows, of
// variants or of ports.
const styleRest = analysis.MaxGroups // of flows drawn as their mean

// Styles beyond styleRest have the colours of flows with other dashes. One from styleModel on
// is what a model says of the line whose style is that much less: in its colour, thin and
// dashed.
const (
	moreStyles = 8 * analysis.MaxGroups
	styleModel = 1000
)

// manyStyle returns the style of the i-th of many lines: different ones for moreStyles lines.
func manyStyle(i int) int {
	if i %= moreStyles; i < styleRest {
		return i
	}
	return i + 1
}

// drawCharts draws the charts of a result. It looks up the drawing of a chart in
// more and then in the package's table.
func drawCharts(r *analysis.Result, more []Drawing) ([]Chart, error) {
	var charts []Chart
	if c := utilisationChart(r); c != nil {
		charts = append(charts, *c)
	}
	charts = append(charts, jobCharts(r)...)
	for i := range r.Charts {
		c := &r.Charts[i]
		drawing := slices.IndexFunc(drawings, func(d Drawing) bool { return d.ID == c.ID })
		switch extra := slices.IndexFunc(more, func(d Drawing) bool { return d.ID == c.ID }); {
		case extra >= 0:
			charts = append(charts, more[extra].Draw(r, c))
		case drawing >= 0:
			charts = append(charts, drawings[drawing].Draw(r, c))
		default:
			return nil, fmt.Errorf("chart %s has no drawing", c.ID)
		}
	}
	return charts, nil
}

// OverTime returns a chart of lines over time: panels of the same scales in units
// that fit the values, the measuring window as a shade, the seed below the
// variant's name, and a legend. The caller adds title and caption.
func OverTime(r *analysis.Result, c *analysis.Chart, quantity string) Chart {
	chart := Chart{ID: c.ID, Legend: legend(r, c)}
	x, y := 0.0, 0.0 // ends of the axes in ms and in the chart's unit
	for _, p := range c.Panels {
		panel := Panel{Title: p.Variant, Subtitle: seedNote(r, p.Variant)}
		for _, l := range p.Lines {
			name, style := series(r, c, &l)
			line := Line{Name: name, Style: style, Low: slices.Clone(l.Low), High: slices.Clone(l.High)}
			for i, v := range l.Values {
				at := timeOf(r, l.First+i)
				line.X, line.Y = append(line.X, at), append(line.Y, v)
				x = max(x, at+r.PointUS/2000)
				if l.High != nil {
					v = l.High[i]
				}
				if !math.IsNaN(v) {
					y = max(y, v)
				}
			}
			panel.Lines = append(panel.Lines, line)
		}
		for _, l := range p.Levels {
			panel.Marks = append(panel.Marks, Mark{l.Name, l.Value})
			y = max(y, l.Value)
		}
		chart.Panels = append(chart.Panels, panel)
	}
	from, to := r.Setup.Measure.FromUS/1000, r.Setup.Measure.ToUS/1000
	if to == 0 && from > 0 {
		to = x
	}
	sx, sy := scaleFor(x, scalesOfTimes), scaleFor(y, scalesOf(c.Unit))
	if sy.unit != "" {
		quantity += " (" + sy.unit + ")"
	}
	for i := range chart.Panels {
		p := &chart.Panels[i]
		p.XMax, p.YMax = x*sx.factor, y*sy.factor
		p.clock, p.microseconds = clockRun, 1000/sx.factor
		p.XLabel, p.YLabel = "Time ("+sx.unit+")", quantity
		p.Shade = [2]float64{min(from, x) * sx.factor, min(to, x) * sx.factor}
		for _, l := range p.Lines {
			sx.apply(l.X)
			sy.apply(l.Y)
			sy.apply(l.Low)
			sy.apply(l.High)
		}
		for j := range p.Marks {
			m := &p.Marks[j]
			m.Y *= sy.factor
			m.Name = strings.TrimSpace(m.Name + " " + number(m.Y) + " " + sy.unit)
		}
	}
	return chart
}

// timeOf returns the place of a point on a time axis: the middle of its span, in
// ms.
func timeOf(r *analysis.Result, point int) float64 { return (float64(point) + 0.5) * r.PointUS / 1000 }

// series returns the name and the style of a line of a chart.
func series(r *analysis.Result, c *analysis.Chart, l *analysis.Line) (name string, style int) {
	switch {
	case l.Variant != "":
		i := slices.IndexFunc(r.Variants, func(v analysis.Variant) bool { return v.Name == l.Variant })
		return l.Variant, max(i, 0) % analysis.MaxGroups
	case len(l.Ports) == 0:
		return groupName(l.Group), groupStyle(r, l.Group)
	case l.Ports[0] == analysis.OtherPorts:
		return analysis.OtherPorts, styleRest
	}
	var seen [][]string
	for _, p := range c.Panels {
		for _, other := range p.Lines {
			if !slices.ContainsFunc(seen, func(ports []string) bool { return slices.Equal(ports, other.Ports) }) {
				seen = append(seen, other.Ports)
			}
		}
	}
	i := slices.IndexFunc(seen, func(ports []string) bool { return slices.Equal(ports, l.Ports) })
	return shortPorts(r, l.Ports), i % analysis.MaxGroups
}

func groupName(g analysis.Group) string {
	if g.Flow == "" {
		return "mean of the other " + number(float64(g.Flows))
	}
	return g.Flow
}

func groupStyle(r *analysis.Result, g analysis.Group) int {
	if g.Flow == "" {
		return styleRest
	}
	return slices.Index(r.Groups, g)
}

// legend returns an entry for each line, those of the same name and style once.
func legend(r *analysis.Result, c *analysis.Chart) []Key {
	var keys []Key
	for _, p := range c.Panels {
		for _, l := range p.Lines {
			name, style := series(r, c, &l)
			if k := (Key{name, style, false}); !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
	}
	slices.SortStableFunc(keys, func(a, b Key) int { return a.Style - b.Style })
	return keys
}

// shares returns a chart of stacked bars: the share of each part in the counts of
// each group. label returns a part's names in the legend and in bars. The caller
// adds title and caption.
func shares(r *analysis.Result, c *analysis.Chart, quantity string, label func(part string) (name, short string)) Chart {
	chart := Chart{ID: c.ID}
	parts, used := partsOf(c)
	var names, shorts []string
	for i, part := range parts {
		name, short := label(part)
		names, shorts = append(names, name), append(shorts, short)
		if used[part] {
			chart.Legend = append(chart.Legend, Key{name, i, true})
		}
	}
	for _, p := range c.Panels {
		panel := Panel{Title: p.Variant, Subtitle: seedNote(r, p.Variant), XLabel: quantity + " (%)", XMax: 100, Parts: shorts, partLabels: names}
		for _, b := range p.Bars {
			bar := Bar{Name: groupName(b.Group), Parts: make([]float64, len(parts))}
			total := int64(0)
			for _, part := range b.Parts {
				total += part.Count
			}
			for _, part := range b.Parts {
				bar.Parts[slices.Index(parts, part.Name)] = float64(part.Count) / float64(total)
			}
			panel.Bars = append(panel.Bars, bar)
		}
		chart.Panels = append(chart.Panels, panel)
	}
	return chart
}

// partsOf returns the names of the parts of all bars, each once, and says which
// have a count.
func partsOf(c *analysis.Chart) (names []string, used map[string]bool) {
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

// seedNote names the seed that is shown when there are several.
func seedNote(r *analysis.Result, variant string) string {
	i := slices.IndexFunc(r.Variants, func(v analysis.Variant) bool { return v.Name == variant })
	if i < 0 || r.Variants[i].Seeds < 2 {
		return ""
	}
	return fmt.Sprintf("seed %d, of %d the nearest to the medians", r.Variants[i].Shown, r.Variants[i].Seeds)
}
