package utilisation

import (
	"fmt"
	"math"

	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/words"
)

// Parts implements section.Section.
func (s *Section) Parts() []section.Part {
	figure, table := s.figure(), s.table()
	if figure == nil && len(table.Rows) == 0 {
		return nil
	}
	p := section.Part{ID: "utilisation", Title: "Links in bursts and on average"}
	p.Says, p.Level = s.says()
	if figure != nil {
		p.Blocks = append(p.Blocks, figure)
	}
	if p.Level == section.Quiet {
		p.Blocks = append(p.Blocks, table)
		return []section.Part{p}
	}
	return []section.Part{p, {ID: "scales", Title: table.Label, Says: "How the ports of each tier are used, in windows and on average.", Blocks: []section.Block{table}}}
}

// A port is bursty whose windows are full for a share of the time and yet have room on average.
const (
	burstyFull = 0.01
	burstyMean = 0.5
)

// says names the port of which a counter that is read once in a second hides the most: the one
// that is full at times and has the most room on average.
func (s *Section) says() (text string, level section.Level) {
	var p *Port
	var in *Utilisation
	hides := func(p *Port) float64 { return p.FullShare * (1 - p.MeanShare) }
	for i := range s.Utilisation {
		u := &s.Utilisation[i]
		for k := range u.Ports {
			if one := &u.Ports[k]; p == nil || hides(one) > hides(p) {
				p, in = one, u
			}
		}
	}
	if p == nil {
		return "", section.Quiet
	}
	text = fmt.Sprintf("On average %s is used to %s%s", phrases.Port(&p.Place), words.Percent(p.MeanShare), phrases.In(&s.r.Facts, words.Clipped(in.Variant)))
	switch {
	case p.FullShare > 0:
		text += fmt.Sprintf("; %s of its windows of %s are full", words.Percent(p.FullShare), words.Span(in.FineUS))
	case p.Peak > p.MeanShare: // or else the run ends within a window
		text += fmt.Sprintf(", and its busiest window of %s to %s", words.Span(in.FineUS), words.Percent(p.Peak))
	}
	if p.FullShare >= burstyFull && p.MeanShare < burstyMean {
		level = section.Telling
	}
	return text + ".", level
}

// figure draws a port at the scale of switch telemetry and in telemetry windows, in each
// variant. It returns nil when there is none.
func (s *Section) figure() *chart.Figure {
	f := &chart.Figure{ID: "utilisation", Title: "One link: its mean, and windows of " + words.Span(s.r.Setup.IntervalUS)}
	var first *Utilisation
	total, shown := 0, 0
	for i := range s.Utilisation {
		u := &s.Utilisation[i]
		if len(u.Ports) == 0 || len(u.Ports[len(u.Ports)-1].Mean) == 0 {
			continue
		}
		if first == nil {
			first = u
		}
		if total++; shown == phrases.MaxOfAKind {
			continue
		}
		shown++
		p := &u.Ports[len(u.Ports)-1] // the most telling one of this variant
		f.Panels = append(f.Panels, u.panel(&s.r.Facts, p))
		if len(p.Close) > 0 && total == 1 {
			f.Panels = append(f.Panels, u.closePanel(p))
		}
	}
	if first == nil {
		return nil
	}
	f.Columns = min(len(f.Panels), 2)
	coarse := "the mean of each second"
	if first.RunMean {
		coarse = "the mean over the run: a counter that is read once in a second shows no more"
	}
	f.Legend = []chart.Key{chart.LineKey(coarse, meanLook), chart.LineKey(first.windows(), fineLook)}
	f.Caption = fmt.Sprintf("How busy the line of one port is. The flat line is what telemetry sees that reports once in a second; the other one is the same port in windows of %s, in which bursts and gaps are seen.", words.Span(first.FineUS))
	if first.Ports[0].Low != nil {
		f.Caption += fmt.Sprintf(" Points are means over %s, the band goes from the least to the greatest window in them.", words.Span(first.Ports[0].BinUS))
	}
	f.Caption += phrases.LeftOut(total, shown)
	return f
}

// Looks of the line of windows, and of that of means: none is a variant's.
var (
	fineLook = chart.Look{Paint: chart.Ink}
	meanLook = chart.Look{Paint: chart.Target, Width: 2, Dashes: []float64{7, 3}}
)

// windows names the line of windows.
func (u *Utilisation) windows() string { return "windows of " + words.Span(u.FineUS) }

// steps returns the corners of a line that stays at each value, in per cent, for a time.
func steps(from, step, end float64, values []float64) (x, y []float64) {
	for i, v := range values {
		x = append(x, min(from+float64(i)*step, end), min(from+float64(i+1)*step, end))
		y = append(y, 100*v, 100*v)
	}
	return x, y
}

func (u *Utilisation) panel(facts *reading.Facts, p *Port) chart.Panel {
	unit := words.ScaleFor(u.ToUS, words.Delays)
	f, end := unit.Factor, u.ToUS*unit.Factor
	lines := &chart.Lines{Name: phrases.Port(&p.Place), X: chart.Scaling{Name: "Time", Unit: unit.Unit, Max: end, Clock: chart.ClockRun, Microseconds: 1 / f}, Y: chart.Scaling{Name: "Busy", Unit: "%", Max: 100}}
	fine, mean := chart.Line{Name: u.windows(), Look: fineLook}, chart.Line{Name: "mean", Look: meanLook}
	fine.X, fine.Y = steps(u.FromUS*f, p.BinUS*f, end, p.Mean)
	if p.Low != nil {
		_, fine.Low = steps(0, 0, 0, p.Low)
		_, fine.High = steps(0, 0, 0, p.High)
	}
	mean.X, mean.Y = steps(u.FromUS*f, u.CoarseUS*f, end, p.Coarse)
	if len(p.Coarse) == 0 {
		mean.X, mean.Y = steps(u.FromUS*f, end, end, []float64{p.MeanShare})
	}
	lines.Lines = []chart.Line{fine, mean}
	return chart.Panel{Title: phrases.Port(&p.Place) + phrases.In(facts, words.Clipped(u.Variant)), Variant: u.Variant, Chart: lines,
		Subtitle: fmt.Sprintf("mean %s; busiest window %s; %s of the windows at line rate", words.Percent(p.MeanShare), words.Percent(p.Peak), words.Percent(p.FullShare))}
}

// closePanel draws every window of an excerpt.
func (u *Utilisation) closePanel(p *Port) chart.Panel {
	length := float64(len(p.Close)) * u.FineUS
	unit := words.ScaleFor(length, words.Delays)
	end := length * unit.Factor
	lines := &chart.Lines{Name: phrases.Port(&p.Place) + ", every window", X: chart.Scaling{Name: "Time after " + words.Span(p.CloseFromUS), Unit: unit.Unit, Max: end}, Y: chart.Scaling{Name: "Busy", Unit: "%", Max: 100}}
	fine, mean := chart.Line{Name: u.windows(), Look: fineLook}, chart.Line{Name: "mean", Look: meanLook}
	fine.X, fine.Y = steps(0, u.FineUS*unit.Factor, math.Inf(1), p.Close)
	mean.X, mean.Y = steps(0, end, end, []float64{p.MeanShare})
	lines.Lines = []chart.Line{fine, mean}
	return chart.Panel{Title: phrases.Port(&p.Place) + ", every window", Subtitle: "around the busiest window", Variant: u.Variant, Chart: lines}
}

// table says how the most telling ports, and the ports of each tier, were used at the scale of
// switch telemetry and in telemetry windows.
func (s *Section) table() *section.Table {
	t := &section.Table{Label: "Ports at two scales"}
	fine := "windows"
	for i := range s.Utilisation {
		u := &s.Utilisation[i]
		fine = u.windows()
		add := func(port string, w *reading.WindowShares) {
			t.Rows = append(t.Rows, section.Row{Variant: u.Variant, Cells: phrases.Cells(u.Variant, port, words.Percent(w.MeanShare), words.Percent(w.P99), words.Percent(w.Peak), words.Percent(w.FullShare))})
		}
		for k := range u.Ports {
			add(phrases.Port(&u.Ports[k].Place), &u.Ports[k].WindowShares)
		}
		for k := range u.Tiers {
			tier := &u.Tiers[k]
			add(fmt.Sprintf("%d ports: %s", tier.Ports, phrases.Class(tier.Tier, tier.Direction)), &tier.WindowShares)
		}
		if u.RunMean {
			t.Note = "The runs are shorter than two seconds: telemetry that reports once in a second shows no more than the mean."
		}
	}
	t.Columns = phrases.Columns("variant", "port", "#mean", "#"+fine+": 99th percentile", "#busiest", fmt.Sprintf("#share of them used to %.0f %% or more", 100*reading.FullWindow))
	phrases.Bound(t, "ports", "the JSON form of this report")
	return t
}
