package signature

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/words"
)

// Columns are the columns of a drawing of ports over time.
type Columns struct {
	Job     string  // whose steps they are of; "" for the run
	FromUS  float64 // where they begin; of a run in model time
	BinUS   float64 // width of one
	Bins    int
	TotalUS float64 // length of the time axis; not less than Bins of BinUS
}

// Heat returns a drawing of ports over time: a row for each port, with the values of its
// columns. The caller adds what the values are, and what stands at the right of rows.
func (c *Columns) Heat(name string, rows []Row, values func(row int) []float64) *chart.Heat {
	unit := words.ScaleFor(c.TotalUS, words.Delays)
	from := 0.0
	h := &chart.Heat{Name: name, Step: c.BinUS * unit.Factor, Columns: c.Bins, Y: "Port",
		X: chart.Scaling{Name: "Time in the step", Unit: unit.Unit, Clock: "step " + c.Job, Microseconds: 1 / unit.Factor}}
	if c.Job == "" { // columns are of model time
		from = c.FromUS * unit.Factor
		h.X.Name, h.X.Clock = "Time", ""
		if c.FromUS == 0 {
			h.X.Clock = chart.ClockRun
		} else {
			h.XLabel = "Time after " + words.Span(c.FromUS)
		}
	}
	h.X.Min, h.X.Max = from, from+c.TotalUS*unit.Factor
	for i := range rows {
		h.Rows = append(h.Rows, chart.HeatRow{Group: phrases.Tier(rows[i].Tier, rows[i].Direction), Name: rowName(rows, i), Values: values(i), Weight: rows[i].BusyUS, Strong: rows[i].Slowed})
	}
	return h
}

// rowName names a row: by its port, or by the number of its ports.
func rowName(rows []Row, i int) string {
	one := &rows[i]
	switch {
	case one.Name != "":
		return one.Name
	case slices.ContainsFunc(rows, func(o Row) bool { return o.Name != "" && o.Tier == one.Tier && o.Direction == one.Direction }):
		return words.Plural(one.Ports, "other port")
	}
	return words.Plural(one.Ports, "port")
}

// drawing is a signature's utilisation, or what was available.
type drawing struct {
	*Signature
	available bool
	totalUS   float64 // length of the time axis
}

// chart returns the drawing; title is that of its panel.
func (d *drawing) chart(title string) *chart.Heat {
	what := "Utilisation of ports: "
	if d.available {
		what = "Available bandwidth of ports: "
	}
	if d.Job != "" {
		title = "a step of " + words.Clipped(d.Job) + ", " + title
	}
	c := Columns{Job: d.Job, FromUS: d.FromUS, BinUS: d.BinUS, Bins: d.Bins, TotalUS: d.totalUS}
	cells := d.Utilisation
	if d.available {
		cells = d.Available
	}
	h := c.Heat(what+title, d.Rows, func(row int) []float64 { return numbers(cells[row], d.Bins) })
	h.Value, h.Low, h.EndHead = chart.Scaling{Name: "Busy", Unit: "%", Max: 100}, d.available, "%"
	if d.available {
		h.Value.Name = "Left"
	}
	for i := range h.Rows {
		h.Rows[i].End = extreme(cells[i], d.available)
	}
	factor := h.Step / d.BinUS
	for i := range d.Spans {
		s := &d.Spans[i]
		name := strings.ReplaceAll(s.Name, "_", "-")
		span := chart.HeatSpan{Name: name, From: s.BeginUS * factor, To: s.EndUS * factor, Paint: chart.Rest,
			Tip: fmt.Sprintf("%s: %s to %s", words.Clipped(name), words.Span(s.BeginUS), words.Span(s.EndUS))}
		if s.Phase {
			span.Paint = chart.Action(2) // computing
		}
		for from := 0; from < len(s.Active); from++ {
			to := from
			for to < len(s.Active) && s.Active[to] > 0 {
				to++
			}
			if to > from {
				span.Active = append(span.Active, [2]float64{float64(from) * h.Step, float64(to) * h.Step})
				from = to
			}
		}
		h.Spans = append(h.Spans, span)
	}
	return h
}

// numbers returns cells as numbers, of which there are as many as columns.
func numbers(cells reading.Percents, columns int) []float64 {
	values := make([]float64, columns)
	for i := range values {
		values[i] = math.NaN()
		if i < len(cells) && cells[i] != reading.NoPercent {
			values[i] = float64(cells[i])
		}
	}
	return values
}

// extreme returns the greatest value of a row, or the least one.
func extreme(cells reading.Percents, least bool) string {
	best := int8(reading.NoPercent)
	for _, v := range cells {
		if v != reading.NoPercent && (best == reading.NoPercent || !least && v > best || least && v < best) {
			best = v
		}
	}
	if best == reading.NoPercent {
		return words.None
	}
	return fmt.Sprint(best)
}

func (d *drawing) subtitle(f *reading.Facts) string {
	var parts []string
	switch {
	case d.Job == "":
	case d.Steps == 1:
		parts = append(parts, "one step of "+words.Tenths(d.StepUS.Max, words.Delays))
	default:
		parts = append(parts, fmt.Sprintf("%s steps of %s to %s laid over each other", words.Number(float64(d.Steps)), words.Tenths(d.StepUS.Min, words.Delays), words.Tenths(d.StepUS.Max, words.Delays)))
	}
	parts = append(parts, "columns of "+words.Span(d.BinUS))
	if note := phrases.Seed(f, d.Variant); note != "" {
		parts = append(parts, note)
	}
	if d.LeftOut > 0 {
		parts = append(parts, fmt.Sprintf("%d shorter collectives and phases have no bar", d.LeftOut))
	}
	switch {
	case d.AllPorts:
	case d.available:
		parts = append(parts, "of each tier the busiest ports, and the least of the others")
	default:
		parts = append(parts, "of each tier the busiest ports, and the mean of the others")
	}
	return words.Capital(strings.Join(parts, "; "))
}
