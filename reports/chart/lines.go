package chart

import (
	"cmp"
	"math"
	"slices"
)

// Lines is a chart of lines over time or over another quantity.
type Lines struct {
	Name   string  // what it shows, in words, without its quantities: "flow a"
	X      Scaling // Min is 0 in most charts
	Y      Scaling // Min and Max are those of the values: the axis includes 0 and goes a little beyond. With Min and Max 0 they are found.
	Lines  []Line
	Levels []LevelMark
	Shade  [2]float64 // a span of X that is set off; empty when both are equal
}

// Line is a line of points; a NaN in Y is a gap. A point between two gaps is a dot; with Dots all
// are. Low and High are the edges of a band around it, below and above the points, or left and right of
// them when it is Beside. They are nil, or as long as Y. X ascends and is as long as Y. Radius is that
// of dots, 0 for 2.5.
type Line struct {
	Name      string
	Look      Look
	X, Y      []float64
	Low, High []float64
	Beside    bool
	Dots      bool
	Radius    float64
}

// LevelMark is a value of Y to compare lines with.
type LevelMark struct {
	Name string
	Y    float64
}

func (c *Lines) name() string {
	if c.Y.Name == "" || c.Name == "" {
		return c.Y.Name + c.Name
	}
	return c.Y.Label() + ": " + c.Name
}

// ends returns the ends of the y axis and its ticks.
func (c *Lines) ends() (from, to float64, all []tick) {
	low, top := c.Y.Min, c.Y.Max
	if low == 0 && top == 0 {
		for i := range c.Lines {
			l, h := extent(c.Lines[i].Y)
			low, top = min(low, l), max(top, h)
			if !c.Lines[i].Beside {
				l, _ = extent(c.Lines[i].Low)
				_, h = extent(c.Lines[i].High)
				low, top = min(low, l), max(top, h)
			}
		}
		for _, m := range c.Levels {
			if finite(m.Y) {
				low, top = min(low, m.Y), max(top, m.Y)
			}
		}
	}
	return wholeEnds(low, top)
}

// Draw implements Chart.
func (c *Lines) Draw(width float64) *Drawing {
	const height = 250.0
	d := &Drawing{Width: width, Height: height, Title: c.name(), Desc: c.describe()}
	from, to, yticks := c.ends()
	left := widest(yticks) + 10
	top := 10.0
	if c.Y.Name != "" {
		left += 16
	}
	p := d.plot(Area{left, top, width - left - 12, height - top - axisFoot}, &c.X)
	p.y0, p.y1, p.clampX = from, to, false
	d.Plot = p.area
	if c.Shade[1] > c.Shade[0] {
		a, b := p.x(max(c.Shade[0], p.x0)), p.x(min(c.Shade[1], p.x1))
		d.add(&Path{Style: Style{Fill: Shade}, Tag: Tag{Part: PartShade}, Outline: polygon(a, p.bottom(), b, p.bottom(), b, top, a, top)})
	}
	p.yTicks(yticks)
	if from < 0 {
		d.line(p.area.X, p.y(0), p.right(), p.y(0), Style{Stroke: Axis}, Tag{})
	}
	if c.Y.Name != "" {
		d.add(&Text{X: 7, Y: top + p.area.Height/2, Text: c.Y.Label(), Paint: Soft, Anchor: Middle, Rotate: -90, Most: p.area.Height})
	}
	for i := range c.Lines {
		c.band(p, &c.Lines[i], i)
	}
	for i := range c.Lines {
		c.line(p, &c.Lines[i], i)
	}
	for _, m := range c.Levels {
		if finite(m.Y) {
			d.line(p.area.X, p.y(m.Y), p.right(), p.y(m.Y), Style{Stroke: Target, Weight: 1.4}, Tag{})
		}
	}
	for _, m := range c.Levels {
		if finite(m.Y) {
			d.add(&Text{X: p.right() - 4, Y: max(p.y(m.Y)-8, 6), Text: m.Name, Paint: Target, Bold: true, Anchor: End, Halo: true, Most: p.area.Width * 0.9})
		}
	}
	p.xAxis(&c.X)
	return d
}

// band draws the band around a line, in pieces between its gaps.
func (c *Lines) band(p *plotter, l *Line, series int) {
	if l.High == nil {
		return
	}
	var o Outline
	for from := 0; from < len(l.Y); from++ {
		to := from
		for to < len(l.Y) && finite(l.Low[to]) && finite(l.High[to]) && finite(l.Y[to]) {
			to++
		}
		if to-from > 1 {
			var there, back []point
			if l.Beside {
				for i := from; i < to; i++ {
					there, back = append(there, point{l.Low[i], l.Y[i]}), append(back, point{l.High[i], l.Y[i]})
				}
			} else {
				column := (p.x1 - p.x0) / p.area.Width
				there, back = thinned(l.X[from:to], l.Low[from:to], column), thinned(l.X[from:to], l.High[from:to], column)
			}
			slices.Reverse(back)
			p.trace(&o, append(there, back...))
			o.Close()
		}
		from = to
	}
	if !o.Empty() {
		p.add(&Path{Style: Style{Fill: l.Look.Paint, Opacity: 0.16}, Tag: Tag{Series: series + 1}, Outline: o})
	}
}

func (c *Lines) line(p *plotter, l *Line, series int) {
	var o Outline
	tag := Tag{Series: series + 1}
	var dots []Mark
	for from := 0; from < len(l.Y); {
		if !finite(l.Y[from]) || !finite(l.X[from]) {
			from++
			continue
		}
		to := from
		for to < len(l.Y) && finite(l.Y[to]) && finite(l.X[to]) {
			to++
		}
		if to-from == 1 || l.Dots {
			for i := from; i < to; i++ {
				dots = append(dots, &Circle{Style: Style{Fill: l.Look.Paint}, Tag: tag, X: p.x(l.X[i]), Y: p.y(l.Y[i]), Radius: cmp.Or(l.Radius, 2.5)})
			}
		}
		if to-from > 1 {
			p.trace(&o, thinned(l.X[from:to], l.Y[from:to], (p.x1-p.x0)/p.area.Width))
		}
		from = to
	}
	if !o.Empty() {
		p.add(&Path{Style: Style{Stroke: l.Look.Paint, Weight: l.Look.width(), Dashes: l.Look.Dashes}, Tag: tag, Outline: o})
	}
	p.add(dots...)
}

type point struct{ x, y float64 }

// trace adds a line through points.
func (p *plotter) trace(o *Outline, points []point) {
	for i, at := range points {
		if i == 0 {
			o.Move(p.x(at.x), p.y(at.y))
		} else {
			o.Line(p.x(at.x), p.y(at.y))
		}
	}
}

// thinned returns the points of a line of which at most four are left in each column of a
// width: the first, the least, the greatest and the last one. The line looks the same, and no
// burst is lost. The points are in the order of X.
func thinned(x, y []float64, column float64) (kept []point) {
	if len(x) < 3 || !(column > 0) {
		for i := range x {
			kept = append(kept, point{x[i], y[i]})
		}
		return kept
	}
	for from := 0; from < len(x); {
		low, high, to := from, from, from+1
		for ; to < len(x) && math.Floor(x[to]/column) == math.Floor(x[from]/column); to++ {
			if y[to] < y[low] {
				low = to
			}
			if y[to] > y[high] {
				high = to
			}
		}
		last := -1
		for _, i := range []int{from, min(low, high), max(low, high), to - 1} {
			if i != last {
				kept = append(kept, point{x[i], y[i]})
			}
			last = i
		}
		from = to
	}
	return kept
}

// describe says what the chart holds: of lines their ranges.
func (c *Lines) describe() string {
	var all []string
	for i := range c.Lines {
		text := "no value"
		if low, high := extent(c.Lines[i].Y); low <= high {
			text = number(low) + " to " + quantity(high, c.Y.Unit)
		}
		all = append(all, c.Lines[i].Name+": "+text)
	}
	for _, m := range c.Levels {
		all = append(all, "a level line: "+m.Name)
	}
	return "Over " + c.X.Label() + ". " + listed(all) + "."
}

// Data implements Chart.
func (c *Lines) Data() *Data {
	d := &Data{Kind: KindLines, Name: c.name(), X: c.X.data(), Y: c.Y.data()}
	d.Y.Min, d.Y.Max, _ = c.ends()
	for i := range c.Lines {
		l := &c.Lines[i]
		s := Series{Name: l.Name, Colour: l.Look.Paint.Variable(), Dashes: dashArray(l.Look.Dashes), Values: l.Y, Low: l.Low, High: l.High, Beside: l.Beside}
		if s.Start, s.Step = evenly(l.X); s.Step == 0 {
			s.X = l.X
		}
		d.Series = append(d.Series, s)
	}
	return d
}
