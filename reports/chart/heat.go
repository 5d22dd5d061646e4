package chart

import (
	"cmp"
	"fmt"
	"math"
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
	wide := width >= roomy
	spanHeight, groups, names, right := 17.0, 0.0, 0.0, 6.0
	for _, r := range c.Rows {
		groups = max(groups, TextWidth(r.Group, 10, true)+8)
		right = max(right, TextWidth(r.End, 10, false)+8)
		if wide {
			names = max(names, TextWidth(clip(r.Name), 10, false)+12)
		}
	}
	groups, names, right = min(groups, 70), min(names, 120), min(right, 60)
	left := groups + names
	if wide {
		spanHeight = 13
	}
	if len(c.Spans) > 0 {
		left = max(left, 44)
	}
	rows := float64(max(len(c.Rows), 1))
	height := min(max(360/rows, 9.5), 20)
	if !wide {
		height = min(max(220/rows, 5), 18)
	}
	d := &Drawing{Width: width, Title: c.Name, Desc: fmt.Sprintf("%d rows by %d columns", len(c.Rows), c.Columns)}
	p := d.plot(Area{left, float64(len(c.Spans))*spanHeight + 14, width - left - right, height * rows}, &c.X)
	d.Plot, d.Height = p.area, p.bottom()+axisFoot
	for i := range c.Spans {
		c.Spans[i].draw(p, float64(i)*spanHeight, wide)
	}
	cells := p.area
	cells.Width = p.x(c.X.Min+float64(c.Columns)*c.Step) - cells.X
	d.add(&Cells{Tag: Tag{Part: PartCells}, Area: cells, Rows: len(c.Rows), Columns: c.Columns, Paints: c.paints(), Level: func(row, column int) int {
		if column >= len(c.Rows[row].Values) {
			return -1
		}
		return c.level(c.Rows[row].Values[column])
	}})
	if c.EndHead != "" {
		d.add(&Text{X: width - 2, Y: p.area.Y - 6, Text: c.EndHead, Size: 10, Paint: Soft, Anchor: End})
	}
	c.headings(p, groups, height)
	size := 10.0
	if height < 12 {
		size = 8.5
	}
	if wide {
		for i, r := range c.Rows {
			d.add(&Text{X: left - 6, Y: p.area.Y + (float64(i)+0.5)*height, Text: r.Name, Size: size, Anchor: End, Most: names - 8})
		}
	}
	if wide || height > 8 {
		for i, r := range c.Rows {
			if r.End != "" {
				d.add(&Text{X: width - 2, Y: p.area.Y + (float64(i)+0.5)*height, Text: r.End, Size: size, Paint: Soft, Anchor: End, Most: right})
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
func (c *Heat) headings(p *plotter, groups, height float64) {
	for row, end := 0, 0; row < len(c.Rows); row = end {
		for end = row + 1; end < len(c.Rows) && c.Rows[end].Group == c.Rows[row].Group; end++ {
		}
		y := p.area.Y + float64(row)*height
		if row > 0 {
			p.line(0, y, p.Width, y, Style{Stroke: Axis}, Tag{})
		}
		p.add(&Text{Y: y + max(float64(end-row)*height/2, 5), Text: c.Rows[row].Group, Size: 10, Bold: true, Paint: Soft, Most: groups})
	}
}

// draw draws a span with its name beside it.
func (s *HeatSpan) draw(p *plotter, y float64, wide bool) {
	if wide {
		p.add(&Text{X: p.area.X - 6, Y: y + 6, Text: s.Name, Size: 10, Anchor: End, Most: p.area.X - 12})
	} else {
		p.add(&Text{Y: y + 12, Text: s.Name, Size: 9, Paint: Soft, Most: p.area.X - 4})
		y += 6
	}
	y += 6
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
