package chart

import (
	"fmt"
	"math"
)

// Wheel is a circle of a turn: rings with arcs, clockwise from the top.
type Wheel struct {
	Name, Desc string
	Unit       string  // of all values
	Turn       float64 // length of a turn
	Note       string  // in the middle, below the length of a turn: "one turn"
	Rings      []Ring  // from outside
	Over       []Arc   // on a ring around all: where there is too much
}

// Ring is a ring of a Wheel.
type Ring struct {
	Name  string
	Paint Paint
	Arcs  []Arc
	Marks []float64 // places of lines across it
}

// Arc is a piece of a ring: where it begins and how long it is.
type Arc struct{ From, Length float64 }

const wheelSide = 344.0

// Draw implements Chart.
func (c *Wheel) Draw(width float64) *Drawing {
	const outermost, innermost, over = 122.0, 42.0, 7.0
	side := min(width, wheelSide)
	d := &Drawing{Width: width, Height: side, Title: c.Name, Desc: c.Desc}
	turn := func(v float64) float64 { return 2 * math.Pi * v / c.Turn }
	x, y := wheelSide/2, wheelSide/2
	g := &Group{X: (width - side) / 2, Scale: side / wheelSide}
	thick := (outermost - innermost) / float64(max(len(c.Rings), 1))
	gap := min(3, thick/4)
	for i, r := range c.Rings {
		outer := outermost - float64(i)*thick
		inner := outer - thick + gap
		g.Marks = append(g.Marks, &Path{Style: Style{Fill: Grid, Opacity: 0.55}, Outline: sector(x, y, inner, outer, 0, 2*math.Pi)})
		for _, a := range r.Arcs {
			g.Marks = append(g.Marks, &Path{Style: Style{Fill: r.Paint}, Tag: Tag{Tip: fmt.Sprintf("%s: %s from %s", r.Name, quantity(a.Length, c.Unit), quantity(a.From, c.Unit))}, Outline: sector(x, y, inner, outer, turn(a.From), turn(a.Length))})
		}
		var marks Outline
		for _, m := range r.Marks {
			marks.Move(around(x, y, inner, turn(m)))
			marks.Line(around(x, y, outer, turn(m)))
		}
		if !marks.Empty() {
			g.Marks = append(g.Marks, &Path{Style: Style{Stroke: Ink, Weight: 1.2}, Outline: marks})
		}
	}
	rim := outermost + 3 + over
	for _, a := range c.Over {
		g.Marks = append(g.Marks, &Path{Style: Style{Fill: Bad}, Outline: sector(x, y, outermost+3, rim, turn(a.From), turn(a.Length))})
	}
	all := ticks(0, c.Turn, stepOf(c.Turn, 11))
	for _, t := range all {
		if t.at > 0 && turn(c.Turn-t.at) < 0.35 { // none beside the first
			continue
		}
		var o Outline
		o.Move(around(x, y, rim, turn(t.at)))
		o.Line(around(x, y, rim+4, turn(t.at)))
		g.Marks = append(g.Marks, &Path{Style: Style{Stroke: Axis}, Outline: o})
		tx, ty := around(x, y, rim+8, turn(t.at))
		text := &Text{X: tx, Y: ty, Text: quantity(t.at, c.Unit), Paint: Soft, Anchor: Middle, Most: min(tx, wheelSide-tx)}
		switch {
		case tx > x+8:
			text.Anchor = Start
		case tx < x-8:
			text.Anchor = End
		default: // above or below, not beside
			text.Most = wheelSide * 0.8
			text.Y += math.Copysign(4, ty-y)
		}
		g.Marks = append(g.Marks, text)
	}
	g.Marks = append(g.Marks, &Text{X: x, Y: y - 7, Text: quantity(c.Turn, c.Unit), Size: 14, Bold: true, Anchor: Middle, Most: 2 * innermost},
		&Text{X: x, Y: y + 9, Text: c.Note, Paint: Soft, Anchor: Middle, Most: 2 * innermost})
	d.add(g)
	return d
}

// sector returns a piece of a ring.
func sector(x, y, inner, outer, from, angle float64) (o Outline) {
	angle = min(max(angle, 0), 2*math.Pi)
	o.Move(around(x, y, outer, from))
	o.arc(x, y, outer, from, angle)
	if angle > 2*math.Pi-1e-9 {
		o.Close()
		o.Move(around(x, y, inner, from+angle))
	} else {
		o.Line(around(x, y, inner, from+angle))
	}
	o.arc(x, y, inner, from+angle, -angle)
	o.Close()
	return o
}

// Data implements Chart.
func (c *Wheel) Data() *Data {
	d := &Data{Kind: KindNamed, Name: c.Name, Value: AxisOf{Name: "Length", Unit: c.Unit}}
	add := func(name string, arcs []Arc) {
		s := Series{Name: clip(name)}
		for _, a := range arcs {
			s.add("arc", a.Length, a.From, a.From+a.Length)
		}
		d.Series = append(d.Series, s)
	}
	for _, r := range c.Rings {
		add(r.Name, r.Arcs)
	}
	add("too much", c.Over)
	return d
}
