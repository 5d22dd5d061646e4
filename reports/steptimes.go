package reports

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"

	"github.com/csiglab/csiglab/reports/analysis"
)

// stepTimes is the figure of the first screen of runs with jobs: how long their steps
// take, and how much of that ranks wait for messages.
type stepTimes struct {
	Title, Caption string
	Legend         []Key
	SVG, Narrow    template.HTML

	data figureData
}

// Measures of the drawing, in units of its view box.
const (
	timesRow, timesBar, timesFoot = 44.0, 18.0, 36.0
	maxTimes                      = 7 // bars
)

// Parts of the bars: the first is what remains of a step.
const (
	styleOther   = 2
	styleExposed = 4
)

const stepTimesFigure = "step-times"

// newStepTimes returns nil when no job has ended a step.
func newStepTimes(r *analysis.Result) *stepTimes {
	var jobs []*analysis.Job
	several := false // job names
	longest := 0.0
	for i := range r.Jobs {
		j := &r.Jobs[i]
		if j.IterationUS == nil || j.ExposedUS == nil || !(j.IterationUS.Mean > 0) {
			continue
		}
		jobs = append(jobs, j)
		several = several || j.Name != jobs[0].Name
		longest = max(longest, j.IterationUS.Mean)
	}
	if jobs == nil {
		return nil
	}
	unit := scaleFor(longest, scalesOfDelays)
	t := &stepTimes{Title: "Time of a step", Legend: []Key{{"computing, or idle in the pipeline", styleOther, true}, {"waiting for messages", styleExposed, true}},
		Caption: "Mean over ranks and steps. Waiting: the time in which a rank computes nothing and waits for messages (exposed communication)."}
	if seeds := len(r.Setup.Seeds); seeds > 1 {
		t.Caption += " Medians over the seeds."
	}
	if left := len(jobs) - maxTimes; left > 0 {
		t.Caption += fmt.Sprintf(" %d more are in the table of jobs.", left)
		jobs = jobs[:maxTimes]
	}
	_, top := niceTicks(longest * unit.factor)
	t.data = figureData{ID: stepTimesFigure, Kind: figureBars, Name: t.Title, X: axisData{Name: "Time", Unit: unit.unit, Max: top}, Y: axisData{Max: float64(len(jobs))},
		Series: []seriesData{{Name: t.Legend[0].Name, Colour: partPaint(styleOther).variable()}, {Name: t.Legend[1].Name, Colour: partPaint(styleExposed).variable()}}}
	var words []string
	for _, j := range jobs {
		name := j.Variant
		if several {
			name += ", " + j.Name
		}
		exposed := min(max(j.ExposedUS.Mean, 0), j.IterationUS.Mean)
		t.data.Y.Names = append(t.data.Y.Names, name)
		for i, us := range []float64{j.IterationUS.Mean - exposed, exposed} {
			t.data.Series[i].Values = append(t.data.Series[i].Values, us*unit.factor)
		}
		words = append(words, fmt.Sprintf("%s: %s, %s of it waiting for messages", name, span(j.IterationUS.Mean), percent(exposed/j.IterationUS.Mean)))
	}
	if !several {
		t.Title += " of " + jobs[0].Name
	}
	description := strings.Join(words, "; ") + "."
	t.SVG, t.Narrow = t.draw(firstWidth, description), t.draw(narrowWidth, description)
	return t
}

// draw draws the bars, each below its name.
func (t *stepTimes) draw(width float64, description string) template.HTML {
	const left, right = 6.0, 16.0
	names := t.data.Y.Names
	plot := plotArea{left, 0, width - left - right, timesRow * float64(len(names))}
	height := plot.Height + timesFoot
	x := func(v float64) float64 { return math.Round(10*(plot.X+v/t.data.X.Max*plot.Width)) / 10 }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="chart times" viewBox="0 0 %g %g" xmlns="http://www.w3.org/2000/svg" role="img"%s>%s`, width, height, figureAttributes(t.data.ID, plot), titled(t.Title, description))
	ticks, _ := niceTicks(t.data.X.Max / 1.06)
	for _, tick := range ticks {
		fmt.Fprintf(&b, `<path class="rule" d="M%g 0V%g"/><text class="tick" x="%g" y="%g">%s</text>`, x(tick.Value), plot.Height, x(tick.Value), plot.Height+14, tick.Label)
	}
	for i, name := range names {
		y := timesRow * float64(i)
		from, whole := 0.0, 0.0
		for k := range t.data.Series {
			v := t.data.Series[k].Values[i]
			fmt.Fprintf(&b, `<rect data-series="%d" x="%g" y="%g" width="%g" height="%g" style="fill:var(%s)"/>`, k, x(from), y+timesRow-timesBar-4, math.Round(10*max(x(from+v)-x(from), 0.5))/10, timesBar, t.data.Series[k].Colour)
			from += v
			whole += v
		}
		waiting := t.data.Series[1].Values[i]
		text := fmt.Sprintf("%s: %s\u00a0%s, %s waiting", shortened(name, mostInDrawing), number(math.Round(100*whole)/100), t.data.X.Unit, percent(waiting/whole))
		fmt.Fprintf(&b, `<text x="%g" y="%g">%s</text>`, left, y+14, html.EscapeString(text))
	}
	fmt.Fprintf(&b, `<path class="edge" d="M%g %gH%g"/><text class="tick" x="%g" y="%g">Time (%s)</text></svg>`, left, plot.Height, width-right, plot.X+plot.Width/2, plot.Height+30, t.data.X.Unit)
	return template.HTML(b.String())
}
