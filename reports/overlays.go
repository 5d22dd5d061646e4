package reports

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/reports/analysis"
)

// overlayDrawings draw the charts that only overlays have.
func overlayDrawings(o *analysis.Overlay) []Drawing {
	drawings := []Drawing{{analysis.BusyChart, busyOverTime}}
	for i := range o.Charts {
		id := o.Charts[i].ID
		if signal, ok := strings.CutPrefix(id, analysis.SignalChart); ok {
			drawings = append(drawings, Drawing{id, func(r *analysis.Result, c *analysis.Chart) Chart { return signalOverTime(r, c, signal) }})
		}
		if job, ok := strings.CutPrefix(id, analysis.StepsChart); ok {
			drawings = append(drawings, Drawing{id, func(r *analysis.Result, c *analysis.Chart) Chart { return stepLengths(r, c, job) }})
		}
	}
	return drawings
}

// busyOverTime draws how busy the lines of the busiest ports of both sides are.
func busyOverTime(r *analysis.Result, c *analysis.Chart) Chart {
	chart := OverTime(r, c, "Busy")
	chart.Title = "Utilisation of the busiest ports"
	chart.Caption = "Share of the time in which the line was busy, " + perPoint(r) + "." + overSeeds(c)
	for i, p := range c.Panels {
		chart.Panels[i].YMax = 100
		if at := slices.IndexFunc(r.Findings.Ports, func(port analysis.Port) bool { return p.Port != nil && port.PortID == *p.Port }); at >= 0 {
			chart.Panels[i].Title = portName(&r.Findings.Ports[at].Place)
		}
	}
	return chart
}

// signalOverTime draws the mean of the CSIG samples.
func signalOverTime(r *analysis.Result, c *analysis.Chart, signal string) Chart {
	name := clipped(signal)
	if known, ok := signalNames[signal]; ok {
		name = known.name
	}
	chart := OverTime(r, c, capital(signal))
	chart.Title = "CSIG's " + name
	chart.Caption = "Mean of the samples of all flows, " + perPoint(r) + "." + overSeeds(c)
	return chart
}

// stepLengths draws how long the steps of a job took, step after step.
func stepLengths(r *analysis.Result, c *analysis.Chart, job string) Chart {
	chart := Chart{ID: analysis.StepsChart + idPart(job), Title: "Iteration times of " + clipped(job), Legend: legend(r, c), Caption: "How long each measured step took, in the seed that is nearest to the medians."}
	panel := Panel{XLabel: "Step", YLabel: "Time"}
	for _, l := range c.Panels[0].Lines {
		name, style := series(r, c, &l)
		line := Line{Name: name, Style: style, Y: slices.Clone(l.Values)}
		for i, v := range l.Values {
			line.X = append(line.X, float64(i+1))
			panel.XMax, panel.YMax = max(panel.XMax, float64(i)+1.5), max(panel.YMax, v)
		}
		panel.Lines = append(panel.Lines, line)
	}
	unit := scaleFor(panel.YMax, scalesOf(c.Unit))
	panel.YMax *= unit.factor
	panel.YLabel += " (" + unit.unit + ")"
	for _, l := range panel.Lines {
		unit.apply(l.Y)
	}
	chart.Panels = []Panel{panel}
	return chart
}

// changeLevels is the number of levels of the diverging scale of colours on either side of
// no difference. Levels of less come first, from weak to strong, then those of more.
const changeLevels = levels / 2

// changeLevel returns the level of a difference on a scale that ends at most, -1 where there
// is no difference to show.
func changeLevel(v, most float64) int {
	if math.IsNaN(v) {
		return -1
	}
	share := math.Abs(v) / most
	if !(share >= 0.02) {
		return 0
	}
	level := min(max(int(math.Ceil(share*changeLevels-1e-9)), 1), changeLevels)
	if v > 0 {
		level += changeLevels
	}
	return level
}

// changeKeys returns the legend of the diverging scale.
func changeKeys(most float64, unit string) []pictureKey {
	swatch := func(level int) template.HTML {
		paint := "--idle"
		if level > 0 {
			paint = fmt.Sprintf("--s%d", level)
		}
		return template.HTML(fmt.Sprintf(`<svg class="swatch diverging" viewBox="0 0 26 12" aria-hidden="true"><rect x="2" y="0" width="22" height="12" style="fill:var(%s)"/></svg>`, paint))
	}
	text := func(level int) string {
		return fmt.Sprintf("%s to %s %s", number(most*float64(level-1)/changeLevels), number(most*float64(level)/changeLevels), unit)
	}
	var keys []pictureKey
	for level := changeLevels; level > 0; level -= 2 {
		keys = append(keys, pictureKey{swatch(level), text(level) + " less in B"})
	}
	keys = append(keys, pictureKey{swatch(0), "no difference"})
	for level := 1; level <= changeLevels; level += 2 {
		keys = append(keys, pictureKey{swatch(level + changeLevels), text(level) + " more in B"})
	}
	return keys
}

// greatestChange returns the end of a scale for differences: 1, 2 or 5 times a power of ten.
func greatestChange(changes []analysis.Values) float64 {
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
		return "+" + number(v)
	case v == 0:
		return "0" // not -0
	}
	return number(v)
}

// heatmapChanges draws, from block of hosts to block of hosts, by how much the mean of the
// samples is greater in B.
func heatmapChanges(o *analysis.Overlay, id string) (pictures []picture) {
	for i := range o.Heatmaps {
		c := &o.Heatmaps[i]
		signal, known := signalNames[c.Signal]
		if !known {
			signal.name = clipped(c.Signal)
		}
		most := greatestChange(c.Change)
		h := analysis.Heatmap{Signal: c.Signal, Unit: c.Unit, Blocks: c.Blocks, By: c.By, Mean: c.Change}
		for src := range c.Change {
			h.Samples = append(h.Samples, make([]int64, len(c.Blocks)))
			for dst, v := range c.Change[src] {
				if !math.IsNaN(v) {
					h.Samples[src][dst] = 1
				}
			}
		}
		d := heatmapDrawing{Heatmap: &h, class: "diverging", name: "Difference of the mean " + signal.name + ", B minus A", figure: id + "-heatmap-" + idPart(c.Signal)}
		d.cellOf = func(i, k int) (string, string) {
			level := changeLevel(c.Change[i][k], most)
			if level < 0 {
				return "", ""
			}
			digit := math.Pow(10, math.Floor(math.Log10(most))-1)
			return fmt.Sprintf("c%d", level), signed(math.Round(c.Change[i][k]/digit) * digit)
		}
		d.titleOf = func(i, k int) string {
			return fmt.Sprintf("%s %s: %s in A, %s in B", signed(c.Change[i][k]), c.Unit, number(c.A[i][k]), number(c.B[i][k]))
		}
		d.valueOf = func(i, k int) float64 { return c.Change[i][k] }
		d.valueName = axisData{Name: "B − A", Unit: c.Unit, Min: -most, Max: most}
		pictures = append(pictures, picture{ID: d.figure, Columns: 2, Title: "From where to where: the difference of CSIG's " + signal.name,
			Caption: fmt.Sprintf("B minus A, of the mean of the samples from the hosts of a row to those of a column, over all seeds. A cell is empty where either side has fewer than %d samples.", analysis.HeatmapSamples),
			Legend:  changeKeys(most, c.Unit), Panels: []picturePanel{{Title: "B − A (" + c.Unit + ")", SVG: d.svg(halfWidth), Narrow: d.svg(narrowWidth)}}, data: []figureData{d.data()}})
	}
	return pictures
}

// signatureChanges draws, by port and time in the step, by how many points a line is busier
// in B.
func signatureChanges(o *analysis.Overlay, id string) (pictures []picture) {
	for i := range o.Signatures {
		d := signatureChange{SignatureChange: &o.Signatures[i]}
		d.most = greatestChange(d.Change)
		d.figure = id + "-signature"
		of := "the run"
		if d.Job != "" {
			d.figure += "-" + idPart(d.Job)
			of = "a step of " + clipped(d.Job)
		}
		p := picture{ID: d.figure, Columns: 1, Title: "How busy each link is in the course of " + of + ": the difference",
			Caption: "B minus A, in points of utilisation. Each row is a port, each column a slice of time; rows go from the hosts up (↑) and down again (↓). The number on the right is the greatest difference of the row.",
			Legend:  changeKeys(d.most, "points")}
		if d.Job != "" {
			p.Caption += fmt.Sprintf(" Steps take %s in A and %s in B; where those of either side have ended there is nothing.", stepSpan(d.StepsA), stepSpan(d.StepsB))
		}
		p.Panels = []picturePanel{{Title: "B − A (points)", Subtitle: "Columns of " + span(d.BinUS), SVG: d.svg(pictureWidth, 46, 104), Narrow: d.svg(narrowWidth, 44, 0)}}
		p.data = []figureData{d.data()}
		pictures = append(pictures, p)
	}
	return pictures
}

func stepSpan(s analysis.Spread) string {
	low, high := tenths(s.Min, scalesOfDelays), tenths(s.Max, scalesOfDelays)
	if low == high {
		return low
	}
	return low + " to " + high
}

// signatureChange draws one difference of signatures.
type signatureChange struct {
	*analysis.SignatureChange
	figure string
	most   float64
}

func (d *signatureChange) name() string {
	if d.Job != "" {
		return "Difference of utilisation: a step of " + clipped(d.Job)
	}
	return "Difference of utilisation over the run"
}

func (d *signatureChange) rowName(row int) string {
	if name := d.Rows[row].Name; name != "" {
		return name
	}
	return plural(d.Rows[row].Ports, "other port")
}

// extreme returns the greatest difference of a row with its sign.
func (d *signatureChange) extreme(row int) string {
	best := math.NaN()
	for _, v := range d.Change[row] {
		if !math.IsNaN(v) && !(math.Abs(v) <= math.Abs(best)) {
			best = v
		}
	}
	if math.IsNaN(best) {
		return none
	}
	return signed(math.Round(best))
}

func (d *signatureChange) svg(width, tiers, names float64) template.HTML {
	wide := names > 0
	left, right := tiers+names, 34.0
	rowHeight := min(max(360/float64(len(d.Rows)), 9.5), 20)
	if !wide {
		rowHeight = min(max(220/float64(len(d.Rows)), 5), 18)
	}
	area := plotArea{X: left, Y: 14, Width: width - left - right, Height: rowHeight * float64(len(d.Rows))}
	p := &pen{width: width, height: area.Y + area.Height + 36, class: "diverging"}
	p.cells(area, len(d.Rows), d.Bins, func(row, bin int) int { return changeLevel(d.Change[row][bin], d.most) })
	for row, end := 0, 0; row < len(d.Rows); row = end {
		for end = row + 1; end < len(d.Rows) && d.Rows[end].Tier == d.Rows[row].Tier && d.Rows[end].Direction == d.Rows[row].Direction; end++ {
		}
		y := area.Y + float64(row)*rowHeight
		if row > 0 {
			p.put(`<path class="tier" d="M%v %vH%v"/>`, 0.0, y, width)
		}
		p.text("head", 0, y+max(float64(end-row)*rowHeight/2, 5), tiers, tierName(d.Rows[row].Tier, d.Rows[row].Direction))
	}
	class := "name"
	if rowHeight < 12 {
		class = "name dense"
	}
	for row := range d.Rows {
		y := area.Y + (float64(row)+0.5)*rowHeight
		if wide {
			p.text(class, left-6, y, names-8, d.rowName(row))
		}
		if wide || rowHeight > 8 {
			p.text("value", width-2, y, right, d.extreme(row))
		}
	}
	label := "Time in the step"
	if d.Job == "" {
		label = "Time"
		if d.FromUS > 0 {
			label = "Time after " + span(d.FromUS)
		}
	}
	p.timeAxis(area, float64(d.Bins)*d.BinUS, label)
	return p.svg(d.name(), fmt.Sprintf("%d rows of ports by %d columns of %s", len(d.Rows), d.Bins, span(d.BinUS)), d.figure, area)
}

// data returns the numbers for the script.
func (d *signatureChange) data() figureData {
	total := float64(d.Bins) * d.BinUS
	unit := scaleFor(total, scalesOfDelays)
	f := figureData{ID: d.figure, Kind: figureMatrix, Name: d.name(),
		X:     axisData{Name: "Time in the step", Unit: unit.unit, Max: total * unit.factor, Step: d.BinUS * unit.factor, Clock: "step " + d.Job, Microseconds: 1 / unit.factor},
		Y:     axisData{Name: "Port", Max: float64(len(d.Rows))},
		Value: axisData{Name: "B − A", Unit: "points", Min: -d.most, Max: d.most}}
	if d.Job == "" {
		f.X.Name, f.X.Clock = "Time", ""
		if d.FromUS == 0 {
			f.X.Clock = clockRun
		}
		f.X.Start, f.X.Min, f.X.Max = d.FromUS*unit.factor, d.FromUS*unit.factor, (d.FromUS+total)*unit.factor
	}
	for row := range d.Rows {
		f.Series = append(f.Series, seriesData{Name: strings.TrimSpace(clipped(d.rowName(row)) + " (" + tierName(d.Rows[row].Tier, d.Rows[row].Direction) + ")"), Values: numbers(d.Change[row])})
	}
	return f
}

// Bounds of the drawing of effects.
const (
	maxEffects = 24
	mostEffect = 2.0 // a share; intervals go on to the edge
)

// effectsPicture draws the differences of the metrics that are not the same, with their
// intervals. It reports whether there are some.
func effectsPicture(c *analysis.FolderComparison, one *analysis.CaseComparison, id string) (picture, bool) {
	var rows []*analysis.MetricComparison
	total, end := 0, 2*c.Delta
	for i := range one.Metrics {
		m := &one.Metrics[i]
		if m.Outcome == analysis.Same || m.Absolute || m.Low == nil && m.High == nil {
			continue
		}
		if total++; len(rows) == maxEffects {
			continue
		}
		rows = append(rows, m)
		for _, v := range []*float64{&m.Effect, m.Low, m.High} {
			if v != nil && (math.Abs(*v) <= 2*math.Abs(m.Effect) || v == &m.Effect) {
				end = max(end, math.Abs(*v))
			}
		}
	}
	if len(rows) == 0 {
		return picture{}, false
	}
	end = min(end, mostEffect) * 1.08
	p := picture{ID: id + "-effects", Columns: 1, Title: "Differences with their intervals",
		Caption: fmt.Sprintf("By how much B is greater than A, as a share of A, in the median of the seeds; the line is the interval of %s %%. The band is ±%s %%: what lies in it is the same.", number(100*c.Confidence), number(100*c.Delta)),
		Legend:  []pictureKey{{effectSwatch(analysis.Worse), "worse"}, {effectSwatch(analysis.Better), "better"}, {effectSwatch(analysis.Changed), "changed, without a direction"}, {effectSwatch(analysis.Inconclusive), "inconclusive"}}}
	if rest := total - len(rows); rest > 0 {
		p.Caption += fmt.Sprintf(" %d more are in the table.", rest)
	}
	p.Panels = []picturePanel{{SVG: drawEffects(rows, c.Delta, end, pictureWidth), Narrow: drawEffects(rows, c.Delta, end, narrowWidth)}}
	return p, true
}

// effectMark draws the mark of an outcome: the shape says it without colour.
func effectMark(o analysis.Effect, x, y float64) string {
	switch o {
	case analysis.Worse:
		return fmt.Sprintf(`<rect class="effect worse" x="%.1f" y="%.1f" width="9" height="9"/>`, x-4.5, y-4.5)
	case analysis.Better:
		return fmt.Sprintf(`<circle class="effect better" cx="%.1f" cy="%.1f" r="4.8"/>`, x, y)
	case analysis.Changed:
		return fmt.Sprintf(`<path class="effect changed" d="M%.1f %.1fl5 5l-5 5l-5 -5z"/>`, x, y-5)
	}
	return fmt.Sprintf(`<circle class="effect open" cx="%.1f" cy="%.1f" r="4"/>`, x, y)
}

func effectSwatch(o analysis.Effect) template.HTML {
	return template.HTML(`<svg class="swatch picture" viewBox="0 0 26 12" aria-hidden="true">` + effectMark(o, 13, 6) + `</svg>`)
}

// drawEffects draws a row for each metric, on a scale from -end to end.
func drawEffects(rows []*analysis.MetricComparison, delta, end, width float64) template.HTML {
	const pitch = 20.0
	left, right := 250.0, 150.0
	if width == narrowWidth {
		left, right = 130, 62
	}
	area := plotArea{X: left, Y: 6, Width: width - left - right, Height: pitch * float64(len(rows))}
	p := &pen{width: width, height: area.Y + area.Height + 34}
	x := func(v float64) float64 { return area.X + (min(max(v, -end), end)/end+1)/2*area.Width }
	p.put(`<rect class="idle" x="%v" y="%v" width="%v" height="%v"/>`, x(-delta), area.Y, x(delta)-x(-delta), area.Height)
	ticks, _ := niceTicks(100 * end / 1.06)
	if width == narrowWidth && len(ticks) > 3 {
		ticks = ticks[:1+2*((len(ticks)-1)/2)]
	}
	for i, t := range ticks {
		if width == narrowWidth && i%2 == 1 || t.Value > 100*end {
			continue
		}
		for _, sign := range []float64{-1, 1} {
			if t.Value == 0 && sign < 0 {
				continue
			}
			at := x(sign * t.Value / 100)
			p.put(`<path class="rule" d="M%v %vV%v"/><text class="tick" x="%v" y="%v">%s</text>`, at, area.Y, area.Y+area.Height, at, area.Y+area.Height+10, signed(sign*t.Value))
		}
	}
	p.put(`<text class="tick" x="%v" y="%v">Difference (%%)</text>`, area.X+area.Width/2, area.Y+area.Height+25)
	p.put(`<path class="edge" d="M%v %vv%v"/>`, x(0), area.Y, area.Height)
	for i, m := range rows {
		y := area.Y + (float64(i)+0.5)*pitch
		p.text("name", area.X-8, y, left-12, m.Name)
		low, high := -end, end
		if m.Low != nil {
			low = *m.Low
		}
		if m.High != nil {
			high = *m.High
		}
		p.put(`<g><title>%s</title><path class="reach-line" d="M%v %vH%v"/>`, html.EscapeString(clipped(m.Name+": "+effectText(m)+", "+intervalText(m)+", "+string(m.Outcome))), x(low), y, x(high))
		for _, side := range []struct {
			beyond bool
			at     float64
			tip    float64
		}{{low <= -end, area.X, 5}, {high >= end, area.X + area.Width, -5}} {
			if side.beyond {
				p.put(`<path class="reach-line" d="M%v %vl%v -4m0 8l%v -4"/>`, side.at, y, side.tip, -side.tip)
			}
		}
		p.b.WriteString(effectMark(m.Outcome, x(m.Effect), y))
		p.put("</g>")
		text := effectText(m)
		if width != narrowWidth {
			text += ", " + string(m.Outcome)
		}
		p.text("end", area.X+area.Width+8, y, right-8, text)
	}
	return p.svg("Differences with their intervals", plural(len(rows), "metric"), "", area)
}
