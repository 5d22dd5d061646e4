package chart

import (
	"cmp"
	"strings"
)

// Pairs is groups of horizontal bars: in each row one bar for each side, with whiskers.
type Pairs struct {
	Name  string
	X     Scaling // Min is 0; Max 0 is found
	Sides []Side
	Rows  []PairRow
}

// Side is what a bar of each row stands for.
type Side struct {
	Name  string
	Paint Paint
}

// PairRow is a group of bars.
type PairRow struct {
	Name   string
	Values []Spread // of the sides
}

// Spread is a value with what it lies between. Low and High are equal where there is no
// whisker.
type Spread struct {
	Value, Low, High float64
	Text             string // behind the bar; "" for the value with its unit
}

func (s *Spread) text(unit string) string { return cmp.Or(s.Text, quantity(s.Value, unit)) }

func (c *Pairs) end() float64 {
	if c.X.Max > 0 {
		return c.X.Max
	}
	most := 0.0
	for _, r := range c.Rows {
		for _, v := range r.Values {
			_, high := extent([]float64{v.Value, v.High})
			most = max(most, high)
		}
	}
	return Ceiling(most)
}

// Draw implements Chart.
func (c *Pairs) Draw(width float64) *Drawing {
	const bar = 12.0
	pitch := (bar+1)*float64(len(c.Sides)) + 8
	left, right := 30.0, 20.0
	var all []string
	for i := range c.Rows {
		r := &c.Rows[i]
		left = max(left, TextWidth(r.Name, textSize, false)+10)
		var words []string
		for k := range r.Values {
			right = max(right, TextWidth(r.Values[k].text(c.X.Unit), textSize, false)+10)
			words = append(words, r.Values[k].text(c.X.Unit))
		}
		all = append(all, r.Name+": "+strings.Join(words, ", "))
	}
	left, right = min(left, width*0.32), min(right, width*0.25)
	d := &Drawing{Width: width, Title: c.Name, Desc: listed(all) + "."}
	p := &plotter{Drawing: d, area: Area{left, 4, width - left - right, pitch * float64(len(c.Rows))}, x0: 0, x1: c.end(), gridX: true, clampX: true}
	d.Height = p.bottom() + axisFoot
	p.xAxis(&c.X)
	for i := range c.Rows {
		r := &c.Rows[i]
		y := p.area.Y + pitch*float64(i)
		d.add(&Text{X: left - 6, Y: y + pitch/2, Text: r.Name, Anchor: End, Most: left - 6})
		for k, v := range r.Values {
			if k >= len(c.Sides) || !finite(v.Value) {
				continue
			}
			at, end := y+4+float64(k)*(bar+1), p.x(v.Value)
			style := Style{Fill: c.Sides[k].Paint}
			if style.Fill >= action0 { // pale on the ground
				style.Stroke = Axis
			}
			d.add(&Rect{Style: style, Area: Area{left, at, max(end-left, 0.8), bar}})
			if finite(v.Low) && finite(v.High) && v.High > v.Low {
				var o Outline
				for _, x := range []float64{p.x(v.Low), p.x(v.High)} {
					o.Move(x, at+3)
					o.Line(x, at+bar-3)
				}
				o.Move(p.x(v.Low), at+bar/2)
				o.Line(p.x(v.High), at+bar/2)
				d.add(&Path{Style: Style{Stroke: Ink}, Outline: o})
				end = max(end, p.x(v.High))
			}
			d.add(&Text{X: end + 4, Y: at + bar/2, Text: v.text(c.X.Unit), Most: max(width-end-4, right-4)})
		}
	}
	d.line(left, p.area.Y, left, p.bottom(), Style{Stroke: Axis}, Tag{})
	return d
}

// Data implements Chart.
func (c *Pairs) Data() *Data {
	d := &Data{Kind: KindNamed, Name: c.Name, Value: c.X.data()}
	for k, side := range c.Sides {
		s := Series{Name: side.Name, Colour: side.Paint.Variable()}
		for _, r := range c.Rows {
			if k < len(r.Values) {
				s.add(r.Name, r.Values[k].Value, r.Values[k].Low, r.Values[k].High)
			}
		}
		d.Series = append(d.Series, s)
	}
	return d
}
