package history

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/compare"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/section/variants"
	"github.com/csiglab/csiglab/reports/words"
)

// Bounds of figures.
const (
	mostDrawn = 200 // metrics on the page
	mostDots  = 40  // revisions that are dots of their own
)

// marks are the dots of changes.
var marks = []struct {
	outcome variants.Effect
	paint   chart.Paint
}{{variants.Worse, chart.Bad}, {variants.Better, chart.Good}, {compare.Changed, chart.Warn}}

// part shows the metrics of one experiment: a figure with a panel for each, and a table.
func (h *History) part(metrics []Metric, number int, drawn *int) section.Part {
	id, moved := fmt.Sprintf("experiment-%d", number), 0
	for i := range metrics {
		if metrics[i].lastMove() >= 0 {
			moved++
		}
	}
	p := section.Part{ID: id, Title: metrics[0].Experiment, Says: fmt.Sprintf("%d of %s changed.", moved, words.Plural(len(metrics), "metric"))}
	if moved > 0 {
		p.Level = section.Plain
	}
	f := &chart.Figure{ID: id + "-metrics", Title: metrics[0].Experiment + " over revisions", Columns: 2,
		Caption: "Medians over the seeds, with an interval of " + words.Number(100*h.Confidence) + "\u00a0% where there are 6 seeds and more. Revisions have their numbers of the table; a coloured dot is a change by more than the noise.",
		Legend:  []chart.Key{chart.LineKey("median", chart.Nth(0))}}
	for _, m := range marks {
		f.Legend = append(f.Legend, chart.Key{Name: string(m.outcome), Sign: chart.Sign{Shape: chart.Dot, Paint: m.paint}})
	}
	ordered := slices.Clone(metrics)
	slices.SortStableFunc(ordered, func(a, b Metric) int { return min(b.lastMove(), 0) - min(a.lastMove(), 0) })
	for i := range ordered {
		if *drawn == mostDrawn {
			f.Caption += fmt.Sprintf(" Not drawn: %d more, which are in the table.", len(ordered)-i)
			break
		}
		*drawn++
		f.Panels = append(f.Panels, chart.Panel{Title: ordered[i].Name, Subtitle: ordered[i].told(), Chart: h.lines(&ordered[i])})
	}
	p.Blocks = []section.Block{f, h.table(metrics)}
	return p
}

// scale returns the unit in which people read the values, and how many of it the metric's are.
func (m *Metric) scale() (unit string, factor float64) {
	var all []float64
	for _, p := range m.Points {
		all = append(all, p.Median)
	}
	return words.ScaleOf(m.Unit, all...)
}

// lines draws a metric over the numbers of revisions.
func (h *History) lines(m *Metric) *chart.Lines {
	unit, factor := m.scale()
	c := &chart.Lines{Name: m.Experiment + " " + m.Name, X: chart.Scaling{Name: "Revision", Min: 0.5, Max: float64(len(h.Revisions)) + 0.5, Counts: true}, Y: chart.Scaling{Name: "Median", Unit: unit}}
	line := chart.Line{Name: "median", Look: chart.Nth(0), Dots: len(h.Revisions) <= mostDots}
	for _, p := range m.Points {
		line.X, line.Y = append(line.X, float64(p.Revision)), append(line.Y, p.Median*factor)
		line.Low, line.High = append(line.Low, finite(p.Low)*factor), append(line.High, finite(p.High)*factor)
	}
	c.Lines = append(c.Lines, line)
	for _, mark := range marks {
		dots := chart.Line{Name: string(mark.outcome), Look: chart.Look{Paint: mark.paint}, Dots: true, Radius: 4.5}
		for _, p := range m.Points {
			if p.Change.moved() && p.Change.Outcome == mark.outcome { // a gap behind each, so that no line joins them
				dots.X, dots.Y = append(dots.X, float64(p.Revision), float64(p.Revision)), append(dots.Y, p.Median*factor, math.NaN())
			}
		}
		if len(dots.X) > 0 {
			c.Lines = append(c.Lines, dots)
		}
	}
	return c
}

// told says where a metric changed last, and where it failed.
func (m *Metric) told() string {
	var parts []string
	if at := m.lastMove(); at >= 0 {
		change := m.Points[at].Change
		effect, _ := change.of.Texts()
		parts = append(parts, fmt.Sprintf("%s at %d: %s", change.Outcome, m.Points[at].Revision, effect))
	}
	var failed []string
	for _, p := range m.Points {
		if p.Verdict == verdict.Fail {
			failed = append(failed, strconv.Itoa(p.Revision))
		}
	}
	if rest := len(failed) - 5; rest > 0 {
		failed = append(failed[:5], fmt.Sprintf("%d more", rest))
	}
	if len(failed) > 0 {
		parts = append(parts, "verdict fail at "+words.List(failed))
	}
	return strings.Join(parts, "; ")
}

// table has a row for each revision, the latest first, and a column for each metric: its value, the verdict, and by how
// much it changed.
func (h *History) table(metrics []Metric) *section.Table {
	t := &section.Table{Label: "Values", Columns: []section.Column{{Name: "#", Number: true}, {Name: "Revision"}}}
	for _, m := range metrics {
		t.Columns = append(t.Columns, section.Column{Name: m.Name, Number: true})
	}
	at := make([]int, len(metrics)) // points are by revision
	for i, r := range h.Revisions {
		cells, any := []section.Cell{{Text: strconv.Itoa(i + 1)}, {Text: r.Name}}, false
		for k := range metrics {
			m := &metrics[k]
			if at[k] == len(m.Points) || m.Points[at[k]].Revision != i+1 {
				cells = append(cells, section.Cell{Text: words.None})
				continue
			}
			cells, any = append(cells, m.cell(&m.Points[at[k]])), true
			at[k]++
		}
		if any {
			t.Rows = append(t.Rows, section.Row{Cells: cells})
		}
	}
	slices.Reverse(t.Rows)
	return t
}

// cell shows a point: "2.46 ms (2.4 … 2.5) ✗ fail, +14 % ✗ worse".
func (m *Metric) cell(p *Point) section.Cell {
	unit, factor := m.scale()
	parts := []string{strings.TrimRight(words.Three(p.Median*factor)+"\u00a0"+unit, "\u00a0")}
	if p.Low != nil && p.High != nil {
		if low, high := words.Three(*p.Low*factor), words.Three(*p.High*factor); low != high {
			parts[0] += " (" + low + " … " + high + ")"
		}
	}
	c := section.Cell{}
	if outcome, ok := outcomes[p.Verdict]; ok {
		parts[0] += " " + outcome.Text
		if p.Verdict != verdict.Pass {
			c.State = outcome.State
		}
	}
	if p.Redefined {
		parts = append(parts, "redefined")
	}
	if p.Change.moved() {
		effect, _ := p.Change.of.Texts()
		outcome := compare.OutcomeCell(p.Change.Outcome)
		parts = append(parts, effect+" "+outcome.Text)
		if c.State == "" {
			c.State = outcome.State
		}
	}
	c.Text = strings.Join(parts, ", ")
	return c
}
