package chart

import (
	"math"
	"strconv"
	"strings"
)

// Scaling is an axis: what stands beside it and what its ends are.
type Scaling struct {
	Name, Unit string
	Min, Max   float64
	Counts     bool // it counts something, so that its ticks are whole numbers
	// Clock and Microseconds are those of AxisOf, of an axis of time.
	Clock        string
	Microseconds float64
}

// Label returns what stands beside the axis: "Time (ms)".
func (s *Scaling) Label() string {
	if s.Unit == "" {
		return s.Name
	}
	return s.Name + " (" + s.Unit + ")"
}

func (s *Scaling) data() AxisOf {
	sound := func(v float64) float64 {
		if finite(v) {
			return v
		}
		return 0
	}
	return AxisOf{Name: s.Name, Unit: s.Unit, Min: sound(s.Min), Max: sound(s.Max), Clock: s.Clock, Microseconds: s.Microseconds}
}

// tick is a value of an axis with its text.
type tick struct {
	at   float64
	text string
}

// stepOf returns the distance of ticks, so that about most of them are on an axis of a
// length: 1, 2, 2.5 or 5 times a power of ten.
func stepOf(length float64, most int) float64 {
	if !(length > 0) || math.IsInf(length, 0) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(length/float64(most))))
	for _, f := range []float64{1, 2, 2.5, 5} {
		if length/(f*power) <= float64(most)+1e-9 {
			return f * power
		}
	}
	return 10 * power
}

// ticks returns ticks at the multiples of a step from low to high.
func ticks(low, high, step float64) (all []tick) {
	first := math.Ceil(low/step - 1e-9)
	for i := 0.0; i < 100 && (first+i)*step <= high+1e-9*step; i++ {
		v := (first + i) * step
		// A product such as 3*0.1 is not the nearest number to 0.3.
		if r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 12, 64), 64); err == nil {
			v = r
		}
		all = append(all, tick{v, number(v)})
	}
	return all
}

// Ceiling returns the end of an axis from 0 that goes a little beyond the greatest value.
func Ceiling(top float64) float64 {
	if !(top > 0) || math.IsInf(top, 0) {
		top = 1
	}
	return top * 1.06
}

// wholeEnds returns the ends of a y axis that has room for values from low to top, and 0, and
// its ticks.
func wholeEnds(low, top float64) (from, to float64, all []tick) {
	if !finite(low) {
		low = 0
	}
	if !finite(top) {
		top = 0
	}
	to = Ceiling(top)
	if !(low < 0) {
		return 0, to, ticks(0, to, stepOf(to/1.06, 5))
	}
	step := stepOf(max(top, -low), 5)
	from, to = low*1.06, max(top, step)*1.06
	return from, to, ticks(from, to, step)
}

// axisFoot is the height of an x axis with its label.
const axisFoot = 36.0

// plotter places values in the plot area of a drawing and draws axes.
type plotter struct {
	*Drawing
	area   Area
	x0, x1 float64               // values at the left and right edge
	y0, y1 float64               // and at the lower and upper edge
	clampX bool                  // places of values beyond the edges are on them
	gridX  bool                  // lines up from the ticks of x
	signed bool                  // ticks of x have their sign
	curve  func(float64) float64 // of x; nil for a straight scale
}

// plot returns the plotter of an area whose x axis has the ends of a scaling. Places of values
// beyond these are on the edges.
func (d *Drawing) plot(area Area, x *Scaling) *plotter {
	p := &plotter{Drawing: d, area: area, x0: x.Min, x1: x.Max, clampX: true}
	if !(p.x1 > p.x0) {
		p.x1 = p.x0 + 1
	}
	return p
}

func (p *plotter) x(v float64) float64 {
	from, to := p.x0, p.x1
	if p.clampX {
		v = min(max(v, from), to)
	}
	if p.curve != nil {
		v, from, to = p.curve(v), p.curve(from), p.curve(to)
	}
	share := (v - from) / (to - from)
	return p.area.X + share*p.area.Width
}

func (p *plotter) y(v float64) float64 {
	return p.area.Y + (1-(v-p.y0)/(p.y1-p.y0))*p.area.Height
}

func (p *plotter) right() float64  { return p.area.X + p.area.Width }
func (p *plotter) bottom() float64 { return p.area.Y + p.area.Height }

// xAxis draws the x axis below the plot area: its line, at most as many ticks as have room,
// and its label.
func (p *plotter) xAxis(s *Scaling) {
	most := 5
	var all []tick
	for ; most > 0; most-- {
		step := stepOf(p.x1-p.x0, most)
		if s.Counts {
			step = max(1, math.Ceil(step))
		}
		all = ticks(p.x0, p.x1, step)
		if wide := widest(all); most == 1 || len(all) < 2 || (wide+10)*float64(len(all)-1) <= p.x(all[len(all)-1].at)-p.x(all[0].at) {
			break
		}
	}
	if p.signed {
		for i := range all {
			all[i].text = signed(all[i].at)
		}
	}
	p.xTicks(s, all)
}

// xTicks draws the x axis with given ticks.
func (p *plotter) xTicks(s *Scaling, all []tick) {
	tag := Tag{}
	if s.Clock != "" {
		tag.Part = PartX
	}
	y := p.bottom()
	if p.gridX {
		for _, t := range all {
			p.line(p.x(t.at), p.area.Y, p.x(t.at), y, Style{Stroke: Grid}, Tag{})
		}
	}
	p.line(p.area.X, y, p.right(), y, Style{Stroke: Axis}, Tag{})
	for _, t := range all {
		p.line(p.x(t.at), y, p.x(t.at), y+4, Style{Stroke: Axis}, tag)
	}
	for _, t := range all {
		half := TextWidth(t.text, textSize, false) / 2
		at := min(max(p.x(t.at), half), p.Width-half)
		p.add(&Text{Tag: tag, X: at, Y: y + 12, Text: t.text, Paint: Soft, Anchor: Middle})
	}
	middle := p.area.X + p.area.Width/2
	p.add(&Text{X: middle, Y: y + 27, Text: s.Label(), Paint: Soft, Anchor: Middle, Most: 2 * min(middle, p.Width-middle)})
}

// yTicks draws lines of a grid across the plot area with the values at the left.
func (p *plotter) yTicks(all []tick) {
	for _, t := range all {
		p.line(p.area.X, p.y(t.at), p.right(), p.y(t.at), Style{Stroke: Grid}, Tag{})
	}
	for _, t := range all {
		p.add(&Text{X: p.area.X - 6, Y: p.y(t.at), Text: t.text, Paint: Soft, Anchor: End})
	}
}

func widest(all []tick) (width float64) {
	for _, t := range all {
		width = max(width, TextWidth(t.text, textSize, false))
	}
	return width
}

// mostDescribed bounds what a description lists.
const mostDescribed = 12

func listed(all []string) string {
	if more := len(all) - mostDescribed; more > 0 {
		all = append(all[:mostDescribed:mostDescribed], "and "+strconv.Itoa(more)+" more")
	}
	return strings.Join(all, "; ")
}
