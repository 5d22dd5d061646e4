package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Heat is rows of cells over time, or over another quantity, whose colours are values.
type Heat struct {
	Name      string
	X         Scaling // its ends; columns may end before it
	Step      float64 // of a column, on the x axis; the first begins at X.Min
	Columns   int
	XLabel    string // what stands below the axis, if not the name of X: "Time after 3 ms"
	Y         string // what a row is: "Port"
	Value     Scaling
	Low       bool // small values are the strong ones
	Diverging bool // values are differences: Value.Max is the end of the scale on both sides
	Rows      []HeatRow
	EndHead   string // above the texts at the right: "%"
	Spans     []HeatSpan
}

// HeatRow is a row of cells.
type HeatRow struct {
	Group  string    // rows of the same group that follow each other share a heading
	Name   string    // drawn where there is room
	Values []float64 // of the columns; NaN for none
	End    string    // at the right: the greatest value, say
	Weight float64   // where not all rows have room, those of the greatest weight stay
	Strong bool      // its name stands out, and it stays
}

// HeatSpan is a bar above the rows: thin from From to To, and thick in the spans of Active.
type HeatSpan struct {
	Name     string
	From, To float64
	Active   [][2]float64
	Paint    Paint
	Tip      string
}

// level returns the index of a value's colour.
func (c *Heat) level(v float64) int {
	if !finite(v) {
		return -1
	}
	if c.Diverging {
		return ChangeOf(v, c.Value.Max) + Changes
	}
	share := (v - c.Value.Min) / (c.Value.Max - c.Value.Min)
	if c.Low {
		share = 1 - share
	}
	return LevelOf(share)
}

func (c *Heat) paints() (all []Paint) {
	if c.Diverging {
		for l := -Changes; l <= Changes; l++ {
			all = append(all, Change(l))
		}
		return all
	}
	for l := range Levels + 1 {
		all = append(all, Scale(l))
	}
	return all
}

// roomy is the width from which on a drawing has room for the names of rows.
const roomy = 500.0

// Draw implements Chart.
func (c *Heat) Draw(width float64) *Drawing {
	wide, rows := width >= roomy, float64(max(len(c.Rows), 1))
	l := heatLayout{named: wide, text: 10, span: 17, row: min(max(360/rows, 9.5), 20), groups: 70, names: 120}
	if wide {
		l.span = 13
	} else {
		l.row = min(max(220/rows, 5), 18)
	}
	return c.draw(width, l)
}

// heatLayout is how a drawing of a Heat is laid out.
type heatLayout struct {
	named         bool    // rows have their names
	text          float64 // size of letters
	span, row     float64 // heights
	groups, names float64 // greatest widths
}

// fit draws as many rows and spans as have room in a height, with names in letters of a size: the
// longest spans, and of each group the rows of the greatest weight.
func (c *Heat) fit(width, height, text float64) *Drawing {
	l := heatLayout{named: true, text: text, span: 1.3 * text, row: 1.25 * text, groups: width * 0.2, names: width * 0.4}
	some := *c
	spans := min(len(c.Spans), max(int(height/4/l.span), 1))
	longest := slices.SortedStableFunc(slices.Values(c.Spans), func(a, b HeatSpan) int { return cmp.Compare(b.To-b.From, a.To-a.From) })[:spans]
	some.Spans = slices.DeleteFunc(slices.Clone(c.Spans), func(s HeatSpan) bool {
		return !slices.ContainsFunc(longest, func(o HeatSpan) bool { return o.Name == s.Name && o.From == s.From && o.To == s.To })
	})
	note := 1.4 * text
	some.Rows = c.heaviest(int((height - l.span*float64(spans) - 14 - axisFoot - note) / l.row))
	d := some.draw(width, l)
	if len(some.Rows) < len(c.Rows) {
		d.add(&Text{Y: d.Height + note/2, Text: fmt.Sprintf("%d of %d rows: the busiest", len(some.Rows), len(c.Rows)), Size: text, Paint: Soft, Most: width})
		d.Height += note
	}
	return d
}

// heaviest returns n rows in their order, in turn of each group: strong ones, and then those of the
// greatest weight. Each group has one.
func (c *Heat) heaviest(n int) (rows []HeatRow) {
	var groups []string
	by := map[string][]int{}
	for i := range c.Rows {
		g := c.Rows[i].Group
		if by[g] == nil {
			groups = append(groups, g)
		}
		by[g] = append(by[g], i)
	}
	for _, of := range by {
		slices.SortStableFunc(of, func(a, b int) int {
			x, y := &c.Rows[a], &c.Rows[b]
			if x.Strong != y.Strong {
				if x.Strong {
					return -1
				}
				return 1
			}
			return cmp.Compare(y.Weight, x.Weight)
		})
	}
	var chosen []int
	for turn := 0; len(chosen) < min(max(n, len(groups)), len(c.Rows)); turn++ {
		for _, g := range groups {
			if turn < len(by[g]) && len(chosen) < max(n, len(groups)) {
				chosen = append(chosen, by[g][turn])
			}
		}
	}
	slices.Sort(chosen)
	for _, i := range chosen {
		rows = append(rows, c.Rows[i])
	}
	return rows
}

func (c *Heat) draw(width float64, l heatLayout) *Drawing {
	groups, names, right := 0.0, 0.0, 6.0
	ends := l.named || l.row > 8
	for _, r := range c.Rows {
		groups = max(groups, TextWidth(r.Group, l.text, true)+8)
		if ends {
			right = max(right, TextWidth(r.End, l.text, false)+8)
		}
		if l.named {
			names = max(names, TextWidth(clip(r.Name), l.text, r.Strong)+12)
		}
	}
	groups, names, right = min(groups, l.groups), min(names, l.names), min(right, 60)
	left := groups + names
	if len(c.Spans) > 0 {
		left = max(left, 44)
	}
	rows := float64(max(len(c.Rows), 1))
	d := &Drawing{Width: width, Title: c.Name, Desc: fmt.Sprintf("%d rows by %d columns", len(c.Rows), c.Columns)}
	p := d.plot(Area{left, float64(len(c.Spans))*l.span + max(14, 1.3*l.text), width - left - right, l.row * rows}, &c.X)
	d.Plot, d.Height = p.area, p.bottom()+axisFoot
	var of []string
	for i := range c.Spans {
		of = append(of, c.Spans[i].Name)
	}
	most := p.area.X - 4
	if l.named {
		most = p.area.X - 12
	}
	for i, name := range distinct(of, most, max(l.text, 10), false) {
		c.Spans[i].draw(p, float64(i)*l.span, name, &l)
	}
	cells := p.area
	cells.Width = p.x(c.X.Min+float64(c.Columns)*c.Step) - cells.X
	d.add(&Cells{Tag: Tag{Part: PartCells}, Area: cells, Rows: len(c.Rows), Columns: c.Columns, Paints: c.paints(), Level: func(row, column int) int {
		if column >= len(c.Rows[row].Values) {
			return -1
		}
		return c.level(c.Rows[row].Values[column])
	}})
	if c.EndHead != "" && ends {
		d.add(&Text{X: width - 2, Y: p.area.Y - l.text*0.6, Text: c.EndHead, Size: l.text, Paint: Soft, Anchor: End})
	}
	c.headings(p, groups, &l)
	size := l.text
	if l.row < 12 {
		size = 8.5
	}
	if l.named {
		of = nil
		for _, r := range c.Rows {
			of = append(of, r.Name)
		}
		for i, name := range distinct(of, names-8, size, true) {
			t := &Text{X: left - 6, Y: p.area.Y + (float64(i)+0.5)*l.row, Text: name, Size: size, Anchor: End}
			if name != c.Rows[i].Name {
				t.Tip = c.Rows[i].Name
			}
			if c.Rows[i].Strong {
				t.Paint, t.Bold = Target, true
			}
			d.add(t)
		}
	}
	if ends {
		for i, r := range c.Rows {
			if r.End != "" {
				d.add(&Text{X: width - 2, Y: p.area.Y + (float64(i)+0.5)*l.row, Text: r.End, Size: size, Paint: Soft, Anchor: End, Most: right})
			}
		}
	}
	axis := c.X
	axis.Name = cmp.Or(c.XLabel, axis.Name)
	if c.XLabel != "" { // ticks count from the first column
		p.x0, p.x1 = 0, p.x1-p.x0
	}
	p.xAxis(&axis)
	return d
}

// headings draws the names of groups and lines between them.
func (c *Heat) headings(p *plotter, groups float64, l *heatLayout) {
	for row, end := 0, 0; row < len(c.Rows); row = end {
		for end = row + 1; end < len(c.Rows) && c.Rows[end].Group == c.Rows[row].Group; end++ {
		}
		y := p.area.Y + float64(row)*l.row
		if row > 0 {
			p.line(0, y, p.Width, y, Style{Stroke: Axis}, Tag{})
		}
		p.add(&Text{Y: y + max(float64(end-row)*l.row/2, l.text/2), Text: c.Rows[row].Group, Size: l.text, Bold: true, Paint: Soft, Most: groups})
	}
}

// draw draws a span with its name, perhaps cut, beside it.
func (s *HeatSpan) draw(p *plotter, y float64, name string, l *heatLayout) {
	if l.named {
		y += l.span / 2
		p.add(&Text{X: p.area.X - 6, Y: y, Text: name, Size: l.text, Anchor: End})
	} else {
		y += 12
		p.add(&Text{Y: y, Text: name, Size: 9, Paint: Soft})
	}
	from, to := p.x(s.From), max(p.x(s.To), p.x(s.From)+1.5)
	g := &Group{Tag: Tag{Part: PartSpans, Tip: s.Tip}, Marks: []Mark{&Path{Style: Style{Stroke: s.Paint, Weight: 1.5, Fixed: true}, Outline: lineOf(from, y, to, y)}}}
	end := math.Inf(-1)
	for _, a := range s.Active {
		x, to := p.x(max(a[0], s.From)), p.x(min(a[1], s.To))
		if x-end < 1 && len(g.Marks) > 1 { // joined: no more bars than there are units
			last := g.Marks[len(g.Marks)-1].(*Rect)
			last.Width = max(last.Width, to-last.X)
		} else {
			g.Marks = append(g.Marks, &Rect{Style: Style{Fill: s.Paint}, Area: Area{x, y - 3.5, max(to-x, 1.5), 7}})
		}
		end = to
	}
	p.add(g)
}

// Data implements Chart.
func (c *Heat) Data() *Data {
	d := &Data{Kind: KindMatrix, Name: c.Name, X: c.X.data(), Y: AxisOf{Name: c.Y, Max: float64(len(c.Rows))}, Value: c.Value.data()}
	d.X.Start, d.X.Step = c.X.Min, c.Step
	if c.Diverging {
		d.Value.Min = -d.Value.Max
	}
	for i := range c.Rows {
		r := &c.Rows[i]
		name := clip(r.Name)
		if r.Group != "" {
			name += " (" + r.Group + ")"
		}
		d.Series = append(d.Series, Series{Name: name, Values: r.Values})
	}
	return d
}
