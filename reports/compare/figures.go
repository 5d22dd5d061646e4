package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/heat"
	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/section/completion"
	"github.com/csiglab/csiglab/reports/section/control"
	"github.com/csiglab/csiglab/reports/section/heatmap"
	"github.com/csiglab/csiglab/reports/section/queues"
	"github.com/csiglab/csiglab/reports/section/rates"
	"github.com/csiglab/csiglab/reports/section/signature"
	"github.com/csiglab/csiglab/reports/section/variants"
	"github.com/csiglab/csiglab/reports/series"
	"github.com/csiglab/csiglab/reports/words"
)

// parts returns the figures of an overlay: those over time, and the differences of pictures.
func (o *Overlay) parts(id, title string) []section.Part {
	over := section.Part{ID: id + "-charts", Title: title + ": over time", Level: section.Plain}
	figures := o.charts()
	// Figures of one panel stand beside each other.
	slices.SortStableFunc(figures, func(a, b *chart.Figure) int { return min(len(a.Panels), 2) - min(len(b.Panels), 2) })
	for _, f := range figures {
		f.ID = id + "-" + f.ID // cases have the same charts
		over.Blocks = append(over.Blocks, f)
	}
	where := section.Part{ID: id + "-places", Title: title + ": where the two differ"}
	where.Says, where.Level = o.busier()
	for _, f := range slices.Concat(o.signatureFigures(id), o.heatmapFigures(id)) {
		where.Blocks = append(where.Blocks, f)
	}
	var left section.List
	for _, text := range o.LeftOut {
		left = append(left, "Not drawn: "+text+".")
	}
	where.Blocks = append(where.Blocks, left)
	return []section.Part{over, where}
}

// muchBusier is from how many points of utilisation on a link is much busier on a side.
const muchBusier = 5

// busier says which link is much busier on a side, on average.
func (o *Overlay) busier() (says string, level section.Level) {
	most, name := 0.0, ""
	for i := range o.Signatures {
		for row, values := range o.Signatures[i].Change {
			sum, n := 0.0, 0
			for _, v := range values {
				if !math.IsNaN(v) {
					sum, n = sum+v, n+1
				}
			}
			if mean := sum / float64(max(n, 1)); math.Abs(mean) > math.Abs(most) && o.Signatures[i].Rows[row].Name != "" {
				most, name = mean, phrases.Arrow(o.Signatures[i].Rows[row].Name)
			}
		}
	}
	switch {
	case len(o.Signatures) == 0:
		return "", section.Quiet
	case math.Abs(most) < muchBusier:
		return fmt.Sprintf("On average no link is %d points busier on either side.", muchBusier), section.Quiet
	case most < 0:
		return fmt.Sprintf("On average %s is %s points less busy in %s.", name, words.Number(math.Round(-most)), o.named()), section.Plain
	}
	return fmt.Sprintf("On average %s is %s points busier in %s.", name, words.Number(math.Round(most)), o.named()), section.Plain
}

// charts returns the figures of lines: as the sections have them whose charts they are, and
// those of overlays alone.
func (o *Overlay) charts() (figures []*chart.Figure) {
	figures = slices.Concat(rates.Figures(&o.Facts, o.Charts), completion.Figures(&o.Facts, o.Charts), queues.Figures(&o.Facts, o.Charts), control.Figures(&o.Facts, o.Charts))
	for i := range o.Charts {
		c := &o.Charts[i]
		switch signal, isSignal := strings.CutPrefix(c.ID, signalChart); {
		case c.ID == busyChart:
			figures = append(figures, o.busy(c))
		case isSignal:
			f := series.OverTime(&o.Facts, c, words.Capital(signal))
			f.Title = "CSIG's " + heatmap.SignalOf(signal, false).Name
			f.Caption = "Mean of the samples of all flows, " + phrases.PerPoint(&o.Facts) + "." + series.OverSeeds(c)
			figures = append(figures, f)
		case strings.HasPrefix(c.ID, stepsChart) && slices.ContainsFunc(c.Panels[0].Lines, func(l series.Line) bool { return len(l.Values) > 1 }):
			figures = append(figures, o.steps(c, strings.TrimPrefix(c.ID, stepsChart)))
		}
	}
	return figures
}

// busy draws how busy the lines of the busiest ports of both sides are.
func (o *Overlay) busy(c *series.Chart) *chart.Figure {
	f := series.OverTime(&o.Facts, c, "Busy")
	f.Title = "Utilisation of the busiest ports"
	f.Caption = "Share of the time in which the line was busy, " + phrases.PerPoint(&o.Facts) + "." + series.OverSeeds(c)
	for i, p := range c.Panels {
		lines := f.Panels[i].Chart.(*chart.Lines)
		lines.Y.Max = 100
		if at := slices.IndexFunc(o.Limits, func(port reading.Port) bool { return p.Port != nil && port.PortID == *p.Port }); at >= 0 {
			f.Panels[i].Title = phrases.Port(&o.Limits[at].Place)
			lines.Name = f.Panels[i].Title
		}
	}
	return f
}

// steps draws how long the steps of a job took, step after step.
func (o *Overlay) steps(c *series.Chart, job string) *chart.Figure {
	most, longest := 0.0, 0.0
	for _, l := range c.Panels[0].Lines {
		longest = max(longest, float64(len(l.Values)))
		for _, v := range l.Values {
			most = max(most, v)
		}
	}
	unit := words.ScaleFor(most, words.ScalesOf(c.Unit))
	lines := &chart.Lines{Name: "Iteration times", X: chart.Scaling{Name: "Step", Max: longest + 0.5, Counts: true}, Y: chart.Scaling{Name: "Time", Unit: unit.Unit, Max: most * unit.Factor}}
	f := &chart.Figure{ID: stepsChart + words.ID(job), Title: "Iteration times of " + words.Clipped(job), Caption: "How long each measured step took, in the seed that is nearest to the medians.", Columns: 2, Panels: []chart.Panel{{Chart: lines}}}
	for _, l := range c.Panels[0].Lines {
		line := chart.Line{Name: l.Variant, Look: chart.Nth(max(o.Variant(l.Variant), 0))}
		for i, v := range l.Values {
			line.X, line.Y = append(line.X, float64(i+1)), append(line.Y, v*unit.Factor)
		}
		lines.Lines, f.Legend = append(lines.Lines, line), append(f.Legend, chart.LineKey(line.Name, line.Look))
	}
	return f
}

// greatestChange returns the end of a scale for differences: 1, 2 or 5 times a power of ten.
func greatestChange(changes []reading.Values) float64 {
	most := 0.0
	for _, row := range changes {
		for _, v := range row {
			if a := math.Abs(v); a > most && !math.IsInf(a, 0) {
				most = a
			}
		}
	}
	if most == 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(most)))
	for _, f := range []float64{1, 2, 5} {
		if f*power >= most*(1-1e-9) {
			return f * power
		}
	}
	return 10 * power
}

// signed prints a difference.
func signed(v float64) string {
	switch {
	case v > 0:
		return "+" + words.Number(v)
	case v == 0:
		return "0" // not -0
	}
	return words.Number(v)
}

// keys are those of the diverging scale.
func (o *Overlay) keys(most float64, unit string) []chart.Key {
	return chart.ChangeKeys(most, unit, "less in "+o.named(), "more in "+o.named())
}

// heatmapFigures draw, from block of hosts to block of hosts, by how much the mean of the
// samples is greater in B.
func (o *Overlay) heatmapFigures(id string) (figures []*chart.Figure) {
	for i := range o.Heatmaps {
		c := &o.Heatmaps[i]
		signal := heatmap.SignalOf(c.Signal, false).Name
		most := greatestChange(c.Change)
		digit := math.Pow(10, math.Floor(math.Log10(most))-1)
		m := heatmap.Matrix("Difference of the mean "+signal+", "+o.named()+" minus A", c.Blocks)
		m.Value = chart.Scaling{Name: o.named() + " − A", Unit: c.Unit, Min: -most, Max: most}
		m.Cell = func(i, k int) chart.Cell {
			v := c.Change[i][k]
			if math.IsNaN(v) {
				return chart.Cell{Value: v}
			}
			return chart.Cell{Value: v, Paint: chart.Change(chart.ChangeOf(v, most)), Text: signed(math.Round(v/digit) * digit),
				Tip: fmt.Sprintf("%s %s: %s in A, %s in %s", signed(v), c.Unit, words.Number(c.A[i][k]), words.Number(c.B[i][k]), o.named())}
		}
		figures = append(figures, &chart.Figure{ID: id + "-heatmap-" + words.ID(c.Signal), Columns: 2, Title: "Between blocks of hosts: the difference of CSIG's " + signal,
			Caption: fmt.Sprintf("%s minus A, of the mean of the samples from the hosts of a row to those of a column, over all seeds. A cell is empty where either side has fewer than %d samples.", o.named(), heat.LeastSamples),
			Legend:  o.keys(most, c.Unit), Panels: []chart.Panel{{Title: o.named() + " − A (" + c.Unit + ")", Chart: m}}})
	}
	return figures
}

// signatureFigures draw, by port and time in the step, by how many points a line is busier
// in B.
func (o *Overlay) signatureFigures(id string) (figures []*chart.Figure) {
	for i := range o.Signatures {
		c := &o.Signatures[i]
		most := greatestChange(c.Change)
		f := &chart.Figure{ID: id + "-signature", Title: "How busy each link is over the run: the difference",
			Caption: o.named() + " minus A, in points of utilisation. Each row is a port, each column a slice of time; rows go from the hosts up (↑) and down again (↓). The number on the right is the greatest difference of the row.",
			Legend:  o.keys(most, "points")}
		name := "Difference of utilisation over the run"
		if c.Job != "" {
			f.ID += "-" + words.ID(c.Job)
			f.Title = "How busy each link is over a step of " + words.Clipped(c.Job) + ": the difference"
			f.Caption += fmt.Sprintf(" Steps take %s in A and %s in %s; where those of either side have ended there is nothing.", stepSpan(c.StepsA), stepSpan(c.StepsB), o.named())
			name = "Difference of utilisation: a step of " + words.Clipped(c.Job)
		}
		columns := signature.Columns{Job: c.Job, FromUS: c.FromUS, BinUS: c.BinUS, Bins: c.Bins, TotalUS: float64(c.Bins) * c.BinUS}
		h := columns.Heat(name, c.Rows, func(row int) []float64 { return c.Change[row] })
		h.Diverging, h.Value = true, chart.Scaling{Name: o.named() + " − A", Unit: "points", Min: -most, Max: most}
		for row := range h.Rows {
			h.Rows[row].End = extreme(c.Change[row])
		}
		f.Panels = []chart.Panel{{Title: o.named() + " − A (points)", Subtitle: "Columns of " + words.Span(c.BinUS), Chart: h}}
		figures = append(figures, f)
	}
	return figures
}

func stepSpan(s reading.Spread) string {
	low, high := words.Tenths(s.Min, words.Delays), words.Tenths(s.Max, words.Delays)
	if low == high {
		return low
	}
	return low + " to " + high
}

// extreme returns the greatest difference of a row with its sign.
func extreme(row reading.Values) string {
	best := math.NaN()
	for _, v := range row {
		if !math.IsNaN(v) && !(math.Abs(v) <= math.Abs(best)) {
			best = v
		}
	}
	if math.IsNaN(best) {
		return words.None
	}
	return signed(math.Round(best))
}

// Bounds of the drawing of effects.
const (
	maxEffects = 24
	mostEffect = 2.0 // a share; intervals go on to the edge
)

// signs tell outcomes apart without colour.
var signs = map[variants.Effect]chart.Sign{
	variants.Worse: {Shape: chart.Square, Paint: chart.Bad}, variants.Better: {Shape: chart.Dot, Paint: chart.Good},
	Changed: {Shape: chart.Diamond, Paint: chart.Warn}, Inconclusive: {Shape: chart.Hollow, Paint: chart.Soft},
}

// effectsFigure draws the differences of the metrics that are not the same, with their
// intervals; nil without.
func effectsFigure(c *Comparison, one *CaseComparison, id string) *chart.Figure {
	total, end := 0, 2*c.Delta
	var rows []chart.IntervalRow
	for i := range one.Metrics {
		m := &one.Metrics[i]
		if m.Outcome == variants.Same || m.Absolute || m.Low == nil && m.High == nil {
			continue
		}
		if total++; len(rows) == maxEffects {
			continue
		}
		row := chart.IntervalRow{Name: m.Name, Text: effectText(m) + ", " + string(m.Outcome), Tip: m.Name + ": " + effectText(m) + ", " + intervalText(m) + ", " + string(m.Outcome)}
		row.Effect, row.Low, row.High, row.Sign = 100*m.Effect, math.Inf(-1), math.Inf(1), signs[m.Outcome]
		if m.Low != nil {
			row.Low = 100 * *m.Low
		}
		if m.High != nil {
			row.High = 100 * *m.High
		}
		rows = append(rows, row)
		for _, v := range []*float64{&m.Effect, m.Low, m.High} {
			if v != nil && (math.Abs(*v) <= 2*math.Abs(m.Effect) || v == &m.Effect) {
				end = max(end, math.Abs(*v))
			}
		}
	}
	if len(rows) == 0 {
		return nil
	}
	end = 100 * min(end, mostEffect) * 1.08
	f := &chart.Figure{ID: id + "-effects", Title: "Differences with their intervals",
		Caption: fmt.Sprintf("By how much %s is greater than A, as a share of A, in the median of the seeds; the line is the interval of %s %%. The band is ±%s %%: what lies in it is the same.", c.named(), words.Number(100*c.Confidence), words.Number(100*c.Delta)),
		Legend:  []chart.Key{{Name: "worse", Sign: signs[variants.Worse]}, {Name: "better", Sign: signs[variants.Better]}, {Name: "changed, without a direction", Sign: signs[Changed]}, {Name: "inconclusive", Sign: signs[Inconclusive]}},
		Panels:  []chart.Panel{{Chart: &chart.Intervals{Name: "Differences with their intervals", X: chart.Scaling{Name: "Difference", Unit: "%", Min: -end, Max: end}, Signed: true, Zero: true, Band: [2]float64{-100 * c.Delta, 100 * c.Delta}, Rows: rows}}}}
	if rest := total - len(rows); rest > 0 {
		f.Caption += fmt.Sprintf(" %d more are in the table.", rest)
	}
	return f
}
