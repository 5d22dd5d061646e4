package reports

import (
	"fmt"
	"math"

	"github.com/csiglab/csiglab/reports/analysis"
)

// utilisationChart draws a port at the scale of switch telemetry and in telemetry windows,
// in each variant. It returns nil when there is none.
func utilisationChart(r *analysis.Result) *Chart {
	c := &Chart{ID: "utilisation", Title: "One link as a counter shows it that is read once in a second, and in windows of " + span(r.Setup.IntervalUS)}
	var first *analysis.Utilisation
	total := 0
	for i := range r.Utilisation {
		u := &r.Utilisation[i]
		if len(u.Ports) == 0 || len(u.Ports[len(u.Ports)-1].Mean) == 0 {
			continue
		}
		if first == nil {
			first = u
		}
		if total++; len(c.Panels) >= maxOfAKind {
			continue
		}
		p := &u.Ports[len(u.Ports)-1] // the most telling one of this variant
		c.Panels = append(c.Panels, utilisationPanel(r, u, p))
		if len(p.Close) > 0 && total == 1 {
			c.Panels = append(c.Panels, closePanel(u, p))
		}
	}
	if first == nil {
		return nil
	}
	coarse := "the mean of each second"
	if first.RunMean {
		coarse = "the mean over the run: a counter that is read once in a second shows no more"
	}
	c.Legend = []Key{{Name: coarse, Style: 1}, {Name: "windows of " + span(first.FineUS), Style: 0}}
	c.Caption = fmt.Sprintf("How busy the line of one port is. The flat line is what telemetry sees that reports once in a second; the other one is the same port in windows of %s, in which bursts and gaps are seen.", span(first.FineUS))
	if first.Ports[0].Low != nil {
		c.Caption += fmt.Sprintf(" Points are means over %s, the band goes from the least to the greatest window in them.", span(first.Ports[0].BinUS))
	}
	c.Caption += leftOut(total, min(total, maxOfAKind))
	return c
}

// steps returns the corners of a line that stays at each value for a time.
func steps(from, step float64, values []float64) (x, y []float64) {
	for i, v := range values {
		x = append(x, from+float64(i)*step, from+float64(i+1)*step)
		y = append(y, 100*v, 100*v)
	}
	return x, y
}

// twice returns each value twice, in per cent, or nil.
func twice(values []float64) (y []float64) {
	for _, v := range values {
		y = append(y, 100*v, 100*v)
	}
	return y
}

func utilisationPanel(r *analysis.Result, u *analysis.Utilisation, p *analysis.PortUtilisation) Panel {
	unit := scaleFor(u.ToUS, scalesOfDelays)
	f := unit.factor
	panel := Panel{Title: portName(&p.Place), YLabel: "Busy (%)", XLabel: "Time (" + unit.unit + ")", XMax: u.ToUS * f, YMax: 100,
		clock: clockRun, microseconds: 1 / f}
	if len(r.Variants) > 1 {
		panel.Title += " in " + clipped(u.Variant)
	}
	panel.Subtitle = fmt.Sprintf("mean %s; busiest window %s; %s of the windows at line rate", percent(p.MeanShare), percent(p.Peak), percent(p.FullShare))
	x, y := steps(u.FromUS*f, p.BinUS*f, p.Mean)
	panel.Lines = []Line{{Name: "windows of " + span(u.FineUS), Style: 0, X: x, Y: y, Low: twice(p.Low), High: twice(p.High)}}
	cx, cy := steps(u.FromUS*f, u.CoarseUS*f, p.Coarse)
	if len(p.Coarse) == 0 {
		cx, cy = []float64{u.FromUS * f, u.ToUS * f}, []float64{100 * p.MeanShare, 100 * p.MeanShare}
	}
	panel.Lines = append(panel.Lines, Line{Name: "mean", Style: 1, X: cx, Y: cy})
	for i := range panel.Lines {
		l := &panel.Lines[i]
		for k := range l.X {
			l.X[k] = math.Min(l.X[k], panel.XMax)
		}
	}
	return panel
}

// closePanel draws every window of an excerpt.
func closePanel(u *analysis.Utilisation, p *analysis.PortUtilisation) Panel {
	length := float64(len(p.Close)) * u.FineUS
	unit := scaleFor(length, scalesOfDelays)
	x, y := steps(0, u.FineUS*unit.factor, p.Close)
	return Panel{Title: portName(&p.Place) + ", every window", Subtitle: "around the busiest window",
		YLabel: "Busy (%)", XLabel: fmt.Sprintf("Time after %s (%s)", span(p.CloseFromUS), unit.unit), XMax: length * unit.factor, YMax: 100,
		Lines: []Line{{Name: "windows of " + span(u.FineUS), Style: 0, X: x, Y: y}, {Name: "mean", Style: 1, X: []float64{0, length * unit.factor}, Y: []float64{100 * p.MeanShare, 100 * p.MeanShare}}}}
}
