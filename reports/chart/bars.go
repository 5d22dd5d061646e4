package chart

import (
	"cmp"
	"math"
	"strconv"
	"strings"
)

// Bars is rows of parts that stand behind each other on a common axis: shares, or times and
// their parts.
type Bars struct {
	Name  string
	X     Scaling // Max 0 is 100: the values are per cent
	Parts []BarPart
	Rows  []BarRow
	Above bool // names stand above the bars, and numbers in no part
}

// BarPart is a part that all bars have.
type BarPart struct {
	Name  string // whole
	Short string // in the bar, where there is room; "" for Name
	Paint Paint
}

// BarRow is a bar.
type BarRow struct {
	Name   string
	Label  string    // drawn in place of the name; "" for Name
	Values []float64 // of the parts, on the x axis
}

const barPitch, barPitchAbove = 30.0, 44.0

func (c *Bars) end() float64 { return cmp.Or(max(c.X.Max, 0), 100) }

// Draw implements Chart.
func (c *Bars) Draw(width float64) *Drawing {
	pitch, top, left := barPitch, 4.0, 6.0
	if c.Above {
		pitch = barPitchAbove
	} else {
		for _, r := range c.Rows {
			left = max(left, TextWidth(cmp.Or(r.Label, r.Name), textSize, false)+10)
		}
		left = min(left, width*0.34)
	}
	d := &Drawing{Width: width, Title: c.Name, Desc: c.describe()}
	p := &plotter{Drawing: d, area: Area{left, top, width - left - 16, pitch * float64(len(c.Rows))}, x0: c.X.Min, x1: c.end(), gridX: true}
	d.Plot, d.Height = p.area, p.bottom()+axisFoot
	scale := c.X
	if c.X.Max == 0 {
		p.xTicks(&scale, ticks(0, 100, 25))
	} else {
		p.xAxis(&scale)
	}
	for i, r := range c.Rows {
		y, height := top+pitch*float64(i)+pitch*0.17, pitch*0.66
		if c.Above {
			y, height = top+pitch*float64(i)+pitch-22, 18
			d.add(&Text{X: left, Y: y - 10, Text: cmp.Or(r.Label, r.Name), Size: 12, Halo: true, Most: width - left - 4})
		} else {
			d.add(&Text{X: left - 6, Y: y + height/2, Text: cmp.Or(r.Label, r.Name), Anchor: End, Most: left - 6})
		}
		from := 0.0
		for k, part := range c.Parts {
			if k >= len(r.Values) || !finite(r.Values[k]) {
				continue
			}
			v := r.Values[k]
			x, wide := p.x(from), p.x(from+v)-p.x(from)
			from += v
			if v == 0 {
				continue
			}
			tag := Tag{Series: k + 1}
			d.add(&Rect{Style: Style{Fill: part.Paint, Stroke: Paper, Weight: 1.2}, Tag: tag, Area: Area{x, y, max(wide, 0.5), height}})
			if c.Above {
				continue
			}
			value := strconv.FormatFloat(v, 'f', 0, 64)
			text := cmp.Or(part.Short, part.Name) + " " + value
			if TextWidth(text, textSize, false) > wide-8 {
				text = value
			}
			if TextWidth(text, textSize, false) <= wide-6 {
				d.add(&Text{Tag: tag, X: x + wide/2, Y: y + height/2, Text: text, Paint: onPaint(part.Paint), Anchor: Middle})
			}
		}
	}
	return d
}

func (c *Bars) describe() string {
	var all []string
	for _, r := range c.Rows {
		var parts []string
		for k, part := range c.Parts {
			if k < len(r.Values) && r.Values[k] > 0 {
				parts = append(parts, part.Name+" "+quantity(math.Round(r.Values[k]*10)/10, c.unit()))
			}
		}
		all = append(all, r.Name+": "+strings.Join(parts, ", "))
	}
	return listed(all) + "."
}

func (c *Bars) unit() string {
	if c.X.Unit == "" && c.X.Max == 0 {
		return "%"
	}
	return c.X.Unit
}

// Data implements Chart.
func (c *Bars) Data() *Data {
	d := &Data{Kind: KindBars, Name: c.Name, X: c.X.data(), Y: AxisOf{Max: float64(len(c.Rows))}}
	d.X.Max, d.X.Unit = c.end(), c.unit()
	for _, r := range c.Rows {
		d.Y.Names = append(d.Y.Names, clip(r.Name))
	}
	for k, part := range c.Parts {
		s := Series{Name: part.Name, Colour: part.Paint.Variable()}
		for _, r := range c.Rows {
			v := math.NaN()
			if k < len(r.Values) {
				v = r.Values[k]
			}
			s.Values = append(s.Values, v)
		}
		d.Series = append(d.Series, s)
	}
	return d
}
