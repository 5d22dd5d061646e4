package reports

import (
	"cmp"
	"fmt"
	"html"
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/reports/analysis"
)

// stepTimes is the figure of the first screen of runs with jobs: how long their steps
// take, and what the ranks do in this time.
type stepTimes struct {
	Title, Caption string
	Legend         []Key
	SVG, Narrow    template.HTML

	data   figureData
	shown  []int    // indices in analysis.PartNames, by series
	labels []string // of the bars
}

// Measures of the drawing, in units of its view box.
const (
	timesRow, timesBar, timesFoot = 44.0, 18.0, 36.0
	maxTimes                      = 7 // bars
)

// stepParts are the parts of the bars by the names of analysis.PartNames: their words in the
// legend, those behind a share, and their styles.
var stepParts = map[string]struct {
	legend, words string
	style         int
}{
	"compute":   {"computing", "computing", 2},
	"bubble":    {"waiting for other stages of the pipeline (bubble)", "in the bubble of the pipeline", 0},
	"exposed":   {"waiting for the network", "waiting for the network", 4},
	"skew_wait": {"waiting for late ranks", "waiting for late ranks", 1},
	"held":      {"held by the schedule", "held by the schedule", 3},
	"idle":      {"idle", "idle", 5},
}

// leastPart is the share of an iteration from which on a part is worth a word.
const leastPart = 0.005

// partWords says what ranks wait for, in the order of shares: "61 % waiting for the network".
func partWords(j *analysis.Job) (words []string) {
	parts := slices.Clone(j.Parts)
	slices.SortStableFunc(parts, func(a, b analysis.JobPart) int { return cmp.Compare(b.Share, a.Share) })
	for _, p := range parts {
		if p.Name != "compute" && p.Share >= leastPart {
			words = append(words, percent(p.Share)+" "+stepParts[p.Name].words)
		}
	}
	return words
}

const stepTimesFigure = "step-times"

// newStepTimes returns nil when no job has ended a step.
func newStepTimes(r *analysis.Result) *stepTimes {
	var jobs []*analysis.Job
	several := false // job names
	longest := 0.0
	for i := range r.Jobs {
		j := &r.Jobs[i]
		if j.IterationUS == nil || j.Parts == nil || !(j.IterationUS.Mean > 0) {
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
	t := &stepTimes{Title: "Time of a step", Caption: "From the start of a step to that of the next one; mean over ranks and steps."}
	if seeds := len(r.Setup.Seeds); seeds > 1 {
		t.Caption += " Medians over the seeds."
	}
	if left := len(jobs) - maxTimes; left > 0 {
		t.Caption += fmt.Sprintf(" %d more are in the table of jobs.", left)
		jobs = jobs[:maxTimes]
	}
	_, top := niceTicks(longest * unit.factor)
	t.data = figureData{ID: stepTimesFigure, Kind: figureBars, Name: t.Title, X: axisData{Name: "Time", Unit: unit.unit, Max: top}, Y: axisData{Max: float64(len(jobs))}}
	for i, name := range analysis.PartNames {
		if slices.ContainsFunc(jobs, func(j *analysis.Job) bool { return j.Parts[i].US > 0 }) {
			p := stepParts[name]
			t.shown = append(t.shown, i)
			t.Legend = append(t.Legend, Key{p.legend, p.style, true})
			t.data.Series = append(t.data.Series, seriesData{Name: p.legend, Colour: partPaint(p.style).variable()})
		}
	}
	var words []string
	for _, j := range jobs {
		name := j.Variant
		if several {
			name += ", " + j.Name
		}
		t.data.Y.Names = append(t.data.Y.Names, name)
		for i, part := range t.shown {
			t.data.Series[i].Values = append(t.data.Series[i].Values, j.Parts[part].US*unit.factor)
		}
		waiting, _ := j.Waiting()
		t.labels = append(t.labels, fmt.Sprintf("%s: %s, %s waiting", shortened(name, mostInDrawing), span(j.IterationUS.Mean), percent(waiting)))
		words = append(words, strings.Join(append([]string{name + ": " + span(j.IterationUS.Mean)}, partWords(j)...), ", "))
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
	for i := range names {
		y := timesRow * float64(i)
		from := 0.0
		for k := range t.data.Series {
			v := t.data.Series[k].Values[i]
			fmt.Fprintf(&b, `<rect data-series="%d" x="%g" y="%g" width="%g" height="%g" style="fill:var(%s)"/>`, k, x(from), y+timesRow-timesBar-4, math.Round(10*max(x(from+v)-x(from), 0.5))/10, timesBar, t.data.Series[k].Colour)
			from += v
		}
		fmt.Fprintf(&b, `<text x="%g" y="%g">%s</text>`, left, y+14, html.EscapeString(t.labels[i]))
	}
	fmt.Fprintf(&b, `<path class="edge" d="M%g %gH%g"/><text class="tick" x="%g" y="%g">Time (%s)</text></svg>`, left, plot.Height, width-right, plot.X+plot.Width/2, plot.Height+30, t.data.X.Unit)
	return template.HTML(b.String())
}
