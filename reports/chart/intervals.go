package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Intervals is rows of effects with their intervals on a common axis.
type Intervals struct {
	Name   string
	X      Scaling
	Log    bool          // values far from 0 are closer together; ticks are at 2^n-1
	Signed bool          // ticks have their sign
	Band   [2]float64    // a span of X that is set off: what is the same; empty when both are equal
	Worse  [2]float64    // a span of X of what is worse than allowed
	Lines  []UprightMark // lines down at values
	Zero   bool          // a line at 0
	Rows   []IntervalRow
}

// UprightMark is a value of X to compare with, and its name above.
type UprightMark struct {
	Name string
	X    float64
}

// IntervalRow is an effect. What is beyond the axis is an arrow at its end.
type IntervalRow struct {
	Name string
	Text string // at the right
	Tip  string
	Interval
}

// Interval is an effect and what it lies between: infinite ends are without bound. Effect is
// NaN where it is not known.
type Interval struct {
	Effect, Low, High float64
	Sign              Sign
}

// bent is the curve of logarithmic axes.
func bent(v float64) float64 { return math.Copysign(math.Log2(1+math.Abs(v)), v) }

// Draw implements Chart.
func (c *Intervals) Draw(width float64) *Drawing {
	narrow := width < roomy
	pitch, left, right := 22.0, 40.0, 20.0
	var words []string
	for i := range c.Rows {
		r := &c.Rows[i]
		left, right = max(left, TextWidth(clip(r.Name), textSize, false)+16), max(right, TextWidth(r.Text, textSize, false)+14)
		words = append(words, r.Name+": "+r.Text)
	}
	left, right = min(left, width*0.36), min(right, width*0.2)
	if narrow { // names and texts stand above
		pitch, left, right = 36, 12, 12
	}
	top := 4.0
	if slices.ContainsFunc(c.Lines, func(m UprightMark) bool { return m.Name != "" }) {
		top = 18
	}
	d := &Drawing{Width: width, Title: c.Name, Desc: listed(words) + "."}
	p := c.plotter(d, Area{left, top, width - left - right, pitch * float64(max(len(c.Rows), 1))})
	d.Height = p.bottom() + axisFoot
	c.ground(p)
	for i := range c.Rows {
		y := top + pitch*float64(i)
		from := y
		if narrow { // not through names
			from += 17
		}
		c.uprights(p, from, y+pitch)
	}
	for i := range c.Rows {
		r := &c.Rows[i]
		y := top + pitch*float64(i)
		at := &Drawing{Width: width}
		q := *p
		q.Drawing = at
		if narrow {
			at.add(&Text{X: left, Y: y + 9, Text: r.Name, Halo: true, Most: width * 0.6}, &Text{X: width - right, Y: y + 9, Text: r.Text, Anchor: End, Most: width * 0.35})
			y += 25
		} else {
			y += pitch / 2
			at.add(&Text{X: left - 12, Y: y, Text: r.Name, Anchor: End, Most: left - 14}, &Text{X: width - right + 10, Y: y, Text: r.Text, Most: right - 10})
		}
		r.draw(&q, y)
		d.add(&Group{Tag: Tag{Tip: r.Tip}, Marks: at.Marks})
	}
	return d
}

// plotter returns the plotter of an area.
func (c *Intervals) plotter(d *Drawing, area Area) *plotter {
	p := d.plot(area, &c.X)
	if c.Log {
		p.curve = bent
	}
	return p
}

// ground draws what all rows have in common.
func (c *Intervals) ground(p *plotter) {
	for _, span := range []struct {
		of    [2]float64
		style Style
	}{{c.Band, Style{Fill: Idle}}, {c.Worse, Style{Fill: Bad, Opacity: 0.1}}} {
		if span.of[1] > span.of[0] {
			from, to := p.x(span.of[0]), p.x(span.of[1])
			p.add(&Rect{Style: span.style, Area: Area{from, p.area.Y, to - from, p.area.Height}})
		}
	}
	p.gridX = true
	if c.Log {
		var all []tick
		last := math.Inf(-1)
		for _, v := range []float64{-1023, -255, -63, -31, -15, -7, -3, -1, 0, 1, 3, 7, 15, 31, 63, 255, 1023} {
			if v < p.x0 || v > p.x1 || p.x(v)-last < 24 {
				continue
			}
			last = p.x(v)
			all = append(all, tick{v, number(v)})
		}
		p.xTicks(&c.X, all)
	} else {
		p.signed = c.Signed
		p.xAxis(&c.X)
	}
	if c.Zero {
		p.line(p.x(0), p.area.Y, p.x(0), p.bottom(), Style{Stroke: Soft}, Tag{})
	}
	for _, m := range c.Lines {
		x := p.x(m.X)
		p.line(x, p.area.Y-4, x, p.area.Y, uprightStyle, Tag{})
		t := &Text{X: x + 4, Y: p.area.Y - 9, Text: m.Name, Size: 10, Paint: Bad, Bold: true, Most: max(x, p.Width-x) - 8}
		if x > p.Width/2 {
			t.X, t.Anchor = x-4, End
		}
		p.add(t)
	}
}

var uprightStyle = Style{Stroke: Bad, Weight: 1.4, Dashes: []float64{5, 3}}

// uprights draws the upright lines from one height to another.
func (c *Intervals) uprights(p *plotter, from, to float64) {
	for _, m := range c.Lines {
		p.line(p.x(m.X), from, p.x(m.X), to, uprightStyle, Tag{})
	}
}

// draw draws the interval at a height, with arrows where it goes on beyond the axis.
func (r *Interval) draw(p *plotter, y float64) {
	beyond := func(v float64) bool { return v < p.x0 || v > p.x1 }
	if low, high := min(r.Low, r.High), max(r.Low, r.High); !math.IsNaN(low) && (!math.IsInf(low, -1) || !math.IsInf(high, 1)) && low <= p.x1 && high >= p.x0 {
		var o Outline
		o.Move(p.x(low), y)
		o.Line(p.x(high), y)
		for i, end := range []float64{low, high} {
			at, way := p.x(end), float64(2*i-1)*5
			if beyond(end) {
				o.Move(at-way, y-4)
				o.Line(at, y)
				o.Line(at-way, y+4)
			} else {
				o.Move(at, y-4)
				o.Line(at, y+4)
			}
		}
		p.add(&Path{Style: Style{Stroke: r.Sign.Paint, Weight: 1.6}, Outline: o})
	}
	if math.IsNaN(r.Effect) {
		return
	}
	at := p.x(r.Effect)
	if beyond(r.Effect) {
		tip := math.Copysign(9, r.Effect-p.x1)
		p.add(&Path{Style: Style{Fill: r.Sign.Paint, Stroke: Paper}, Outline: polygon(at-tip, y-6, at-tip, y+6, at, y)})
		return
	}
	p.add(r.Sign.at(at, y))
}

// Data implements Chart.
func (c *Intervals) Data() *Data {
	d := &Data{Kind: KindNamed, Name: c.Name, Value: c.X.data()}
	s := Series{Name: c.Name}
	for i := range c.Rows {
		r := &c.Rows[i]
		s.add(r.Name, r.Effect, r.Low, r.High)
	}
	d.Series = []Series{s}
	return d
}

// Dots is the samples of one effect as dots above an axis, and below them the effect and its
// interval.
type Dots struct {
	Intervals // Rows is one, or none
	Samples   []Sample
}

// Sample is a dot.
type Sample struct {
	Value float64
	Name  string // in CSV: "seed 3"
	Tip   string
}

const (
	dotStep     = 7.0 // between dots above each other
	mostStacked = 12
	mostDots    = 500
)

// Draw implements Chart.
func (c *Dots) Draw(width float64) *Drawing {
	const margin, top = 14.0, 18.0
	d := &Drawing{Width: width, Title: c.Name, Desc: fmt.Sprintf("%d samples", len(c.Samples))}
	samples := c.Samples[:min(len(c.Samples), mostDots)]
	p := c.plotter(d, Area{margin, top, width - 2*margin, 0})
	heights, tallest := stacked(samples, p)
	ground := top + 8 + dotStep*float64(tallest)
	p.area.Height = ground + 26 - top
	d.Height = p.bottom() + axisFoot
	c.ground(p)
	c.uprights(p, p.area.Y, p.bottom())
	for i, s := range samples {
		if finite(s.Value) {
			d.add(&Circle{Style: Style{Fill: Soft, Opacity: 0.75}, Tag: Tag{Tip: s.Tip}, X: p.x(s.Value), Y: ground - dotStep*float64(heights[i]), Radius: 3.2})
		}
	}
	for i := range c.Rows {
		r := &c.Rows[i]
		d.Desc = r.Name + ": " + r.Text + ". " + d.Desc
		r.draw(p, ground+13)
	}
	return d
}

// stacked returns how high above the ground each dot has to be to touch no other, and the
// number of dots of the highest stack.
func stacked(samples []Sample, p *plotter) (heights []int, tallest int) {
	order := make([]int, len(samples))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(samples[a].Value, samples[b].Value) })
	heights, tallest = make([]int, len(samples)), 1
	var ends [mostStacked]float64 // of the last dot of each height
	for i := range ends {
		ends[i] = math.Inf(-1)
	}
	for _, i := range order {
		if !finite(samples[i].Value) {
			continue
		}
		at, h := p.x(samples[i].Value), 0
		for h < mostStacked-1 && ends[h] > at-dotStep {
			h++
		}
		heights[i], ends[h] = h, at
		tallest = max(tallest, h+1)
	}
	return heights, tallest
}

// Data implements Chart.
func (c *Dots) Data() *Data {
	d := &Data{Kind: KindNamed, Name: c.Name, Value: c.X.data()}
	s := Series{Name: "samples"}
	for _, sample := range c.Samples {
		s.Names, s.Values = append(s.Names, clip(sample.Name)), append(s.Values, sample.Value)
	}
	d.Series = []Series{s}
	for i := range c.Rows {
		effect := Series{Name: "effect"}
		effect.add(c.Rows[i].Name, c.Rows[i].Effect, c.Rows[i].Low, c.Rows[i].High)
		d.Series = append(d.Series, effect)
	}
	return d
}
