package chart

import (
	"cmp"
	"math"
	"slices"
)

// Graph is the boxes and links of a fabric.
type Graph struct {
	Name, Desc string
	Boxes      []Box
	Ring       bool // boxes stand on an ellipse, and not in rows
	Links      []Link
	Ways       []Way
	Marked     [][2]int // links that stand out, by their boxes
	Slowed     [][2]int // links whose rate is lowered, by their boxes: drawn as Slowed is
	Badges     []Badge
	Quantity   string // what Link.Value is: "Busy"
	Unit       string // of Link.Value: "%"
}

// Box is a node, or several that are drawn as one.
type Box struct {
	Row    int      // from 0, the lowest
	Pod    int      // boxes of a pod stand together in their row
	Lines  []string // of its text
	Short  []string // where there is little room; nil for Lines
	Host   bool     // or a switch
	Folded bool     // several nodes
	Dashed bool     // its inside is not known
}

// Link is a line between two boxes.
type Link struct {
	A, B  int
	Class int     // of its load: see Load
	Value float64 // what the class is of, for CSV and for which is on top
	Tip   string
}

// Way is a path through boxes, beside the middle of its links.
type Way struct {
	Look  Look
	Steps [][2]int
	Tip   string
}

// Badge is a number on a link, nearer to its first box, or at the corner of a box.
type Badge struct {
	From, To int
	Text     string
}

// place is where a box is drawn: its middle and its size.
type place struct{ x, y, w, h float64 }

// plan is the layout of a graph.
type plan struct {
	*Graph
	*Drawing
	at     []place
	text   [][]string // of boxes
	row    [][]int    // boxes by row, from the left
	column []int      // of a box in its row
}

// Measures of the drawing.
const (
	boxHeight    = 20.0
	boxMargin    = 14.0
	boxText      = 11.0
	leastBoxText = 8.0 // longer names are shortened
	pathGap      = 3.4 // between two ways
	crowdedLinks = 64  // more links than these are drawn thin
)

func newPlan(c *Graph, d *Drawing) *plan {
	p := &plan{Graph: c, Drawing: d, at: make([]place, len(c.Boxes)), text: make([][]string, len(c.Boxes)), column: make([]int, len(c.Boxes))}
	for i, b := range c.Boxes {
		for len(p.row) <= b.Row {
			p.row = append(p.row, nil)
		}
		p.row[b.Row] = append(p.row[b.Row], i)
	}
	for _, row := range p.row {
		slices.SortStableFunc(row, func(a, b int) int { return cmp.Compare(c.Boxes[a].Pod, c.Boxes[b].Pod) })
		for column, i := range row {
			p.column[i] = column
		}
	}
	if c.Ring {
		p.placeRing()
	} else {
		p.placeRows()
	}
	return p
}

// placeRows places the boxes of each row: those of a pod over the pod's share of the width,
// those of none over all of it.
func (p *plan) placeRows() {
	top, bottom := boxMargin+boxHeight/2, p.Drawing.Height-boxMargin-boxHeight/2
	for r, row := range p.row {
		lines := 1
		for _, i := range row {
			lines = max(lines, len(p.Boxes[i].Lines))
		}
		if r == 0 {
			bottom -= float64(lines-1) * boxText / 2
		}
		pods := map[int]int{} // boxes of this row by pod
		for _, i := range row {
			pods[p.Boxes[i].Pod]++
		}
		share := p.Width / float64(len(pods))
		y := (top + bottom) / 2
		if n := len(p.row); n > 1 {
			y = bottom - (bottom-top)*float64(r)/float64(n-1)
		}
		seen, pod, at := 0, math.MinInt, -1.0
		for _, i := range row {
			if p.Boxes[i].Pod != pod {
				pod, seen = p.Boxes[i].Pod, 0
				at++
			}
			pitch := share / float64(pods[pod])
			p.at[i] = p.sized(i, at*share+pitch*(float64(seen)+0.5), y, pitch-3)
			seen++
		}
	}
}

// placeRing places the boxes on an ellipse, the first on top.
func (p *plan) placeRing() {
	n := float64(len(p.Boxes))
	rx, ry := p.Width/2-36, p.Drawing.Height/2-26
	for i := range p.Boxes {
		sin, cos := math.Sincos(2*math.Pi*float64(i)/n - math.Pi/2)
		p.at[i] = p.sized(i, p.Width/2+rx*cos, p.Drawing.Height/2+ry*sin, 2*math.Pi*rx/n+18)
	}
}

// sized returns the place of a box that may be as wide as most.
func (p *plan) sized(box int, x, y, most float64) place {
	wide := func() float64 {
		w := 0.0
		for _, line := range p.text[box] {
			w = max(w, TextWidth(line, boxText, false))
		}
		return w + 8
	}
	b := &p.Boxes[box]
	p.text[box] = b.Lines
	if b.Short != nil && wide() > 1.15*most {
		p.text[box] = b.Short
	}
	return place{x, y, max(min(wide(), most), 2), boxHeight + float64(len(p.text[box])-1)*(boxText+1)}
}

// Draw implements Chart.
func (c *Graph) Draw(width float64) *Drawing {
	height, thin := 300.0, 1.0
	if width < roomy {
		height, thin = 250, 0.7
	}
	d := &Drawing{Width: width, Height: height, Title: c.Name, Desc: c.Desc, Fabric: true, Crowded: len(c.Links) > crowdedLinks}
	if len(c.Boxes) == 0 {
		return d
	}
	p := newPlan(c, d)
	for _, m := range c.Marked {
		if m[0] != m[1] {
			var o Outline
			p.way(&o, m[0], m[1], 0)
			d.add(&Path{Style: Style{Stroke: Target, Weight: 12 * thin, Opacity: 0.25, Round: true}, Tag: Tag{Part: PartMark}, Outline: o})
		}
	}
	byLoad := make([]int, len(c.Links))
	for i := range byLoad {
		byLoad[i] = i
	}
	slices.SortStableFunc(byLoad, func(a, b int) int {
		return cmp.Or(cmp.Compare(c.Links[a].Class, c.Links[b].Class), cmp.Compare(c.Links[a].Value, c.Links[b].Value))
	})
	weights := [Loads]float64{1.2, 3, 5, 8}
	if d.Crowded {
		weights = [Loads]float64{1.2, 1.2, 1.6, 2.4}
	}
	for _, i := range byLoad {
		l := &c.Links[i]
		class := min(max(l.Class, 0), Loads-1)
		var o Outline
		p.way(&o, l.A, l.B, 0)
		d.add(&Path{Style: Style{Stroke: Load(class), Weight: max(weights[class]*thin, 1), Round: true}, Tag: Tag{Part: PartLink, Line: i + 1, Tip: cmp.Or(l.Tip, c.linkName(l))}, Outline: o})
	}
	for _, l := range c.Slowed {
		if l[0] != l[1] {
			var o Outline
			p.way(&o, l[0], l[1], 0)
			look := Slowed()
			d.add(&Path{Style: Style{Stroke: look.Paint, Weight: look.Width, Dashes: look.Dashes}, Tag: Tag{Tip: "slowed by a fault"}, Outline: o})
		}
	}
	p.ways(thin)
	for i := range p.at {
		p.box(i)
	}
	p.badges()
	return d
}

// ways draws the ways, those that take the same link beside each other.
func (p *plan) ways(thin float64) {
	of := map[[2]int][]int{} // ways by link
	link := func(s [2]int) [2]int { return [2]int{min(s[0], s[1]), max(s[0], s[1])} }
	for i := range p.Ways {
		for _, s := range p.Ways[i].Steps {
			if all := of[link(s)]; !slices.Contains(all, i) {
				of[link(s)] = append(all, i)
			}
		}
	}
	for i := range p.Ways {
		w := &p.Ways[i]
		var o Outline
		for _, s := range w.Steps {
			all := of[link(s)]
			p.way(&o, s[0], s[1], pathGap*(float64(slices.Index(all, i))-float64(len(all)-1)/2))
		}
		p.add(&Path{Style: Style{Stroke: w.Look.Paint, Weight: 2.4 * max(thin, 0.75), Dashes: w.Look.Dashes}, Tag: Tag{Part: PartWay, Tip: w.Tip}, Outline: o})
	}
}

func (p *plan) box(i int) {
	b, at := &p.Boxes[i], p.at[i]
	style, part := Style{Fill: Switch, Stroke: Axis}, PartSwitch
	if b.Host {
		style, part = Style{Fill: Host, Stroke: Rule}, PartHost
	}
	if b.Folded {
		style.Weight = 2
	}
	if b.Dashed {
		style.Stroke, style.Dashes = Ink, Unknown().Dashes
	}
	p.add(&Rect{Style: style, Tag: Tag{Part: part}, Area: Area{at.x - at.w/2, at.y - at.h/2, at.w, at.h}, Radius: 3})
	for k, line := range p.text[i] {
		size := boxText
		if wide := TextWidth(line, size, false); wide > at.w-3 {
			size = max(size*(at.w-3)/wide, leastBoxText)
		}
		size = math.Floor(size*2) / 2
		p.add(&Text{X: at.x, Y: at.y + (float64(k)-float64(len(p.text[i])-1)/2)*(boxText+1), Text: line, Size: size, Anchor: Middle, Most: max(at.w-1, 4)})
	}
}

// Unknown is the look of the edge of a box that is Dashed.
func Unknown() Look { return Look{Paint: Ink, Width: 1, Dashes: []float64{3, 2}} }

// beside reports whether two boxes are neighbours in their row.
func (p *plan) beside(a, b int) bool {
	return max(p.column[a], p.column[b])-min(p.column[a], p.column[b]) == 1
}

// way adds the line from a box to another, aside from the middle by an offset: the same place
// whichever of the two comes first.
func (p *plan) way(o *Outline, a, b int, aside float64) {
	from, to := p.at[a], p.at[b]
	switch {
	case p.Ring:
		dx, dy := to.x-from.x, to.y-from.y
		if a > b {
			dx, dy = -dx, -dy
		}
		n := max(math.Hypot(dx, dy), 1)
		ox, oy := -dy/n*aside, dx/n*aside
		o.Move(from.x+ox, from.y+oy)
		o.Line(to.x+ox, to.y+oy)
	case p.Boxes[a].Row != p.Boxes[b].Row:
		o.Move(from.x+aside, from.y)
		o.Line(to.x+aside, to.y)
	case p.beside(a, b):
		o.Move(from.x, from.y+aside)
		o.Line(to.x, to.y+aside)
	default: // over the boxes in between
		rise := p.rise(a, b)
		o.Move(from.x+aside, from.y)
		o.Curve(from.x+aside, from.y-rise, to.x+aside, to.y-rise, to.x+aside, to.y)
	}
}

// rise is how far the control points of the arc between two boxes of a row stand above them:
// a third more than the arc.
func (p *plan) rise(a, b int) float64 {
	return min(24+0.22*math.Abs(p.at[a].x-p.at[b].x), p.at[a].y-boxMargin) * 4 / 3
}

func (p *plan) badges() {
	corner := map[int]bool{} // boxes with a badge at their right corner
	for _, m := range p.Badges {
		from, to := p.at[m.From], p.at[m.To]
		const share = 0.42
		x, y := from.x+share*(to.x-from.x), from.y+share*(to.y-from.y)
		switch {
		case m.From == m.To:
			x, y = from.x+from.w/2, max(from.y-from.h/2, 9)
			if corner[m.From] {
				x -= from.w
			}
			corner[m.From] = true
			x = min(max(x, 9), p.Width-9)
		case !p.Ring && p.Boxes[m.From].Row == p.Boxes[m.To].Row && !p.beside(m.From, m.To):
			x, y = (from.x+to.x)/2, from.y-p.rise(m.From, m.To)*3/4
		}
		p.add(&Circle{Style: Style{Fill: Target, Stroke: Paper, Weight: 1.5}, Tag: Tag{Part: PartBadge}, X: x, Y: y, Radius: 8},
			&Text{Tag: Tag{Part: PartBadge}, X: x, Y: y, Text: m.Text, Bold: true, Paint: Paper, Anchor: Middle})
	}
}

// Data implements Chart: the value of each link.
func (c *Graph) Data() *Data {
	s := Series{Name: "links"}
	for _, l := range c.Links {
		s.Names = append(s.Names, c.linkName(&l))
		s.Values = append(s.Values, l.Value)
	}
	return &Data{Kind: KindNamed, Name: c.Name, Value: AxisOf{Name: c.Quantity, Unit: c.Unit}, Series: []Series{s}}
}

func (c *Graph) linkName(l *Link) string { return c.boxName(l.A) + " – " + c.boxName(l.B) }

func (c *Graph) boxName(i int) string {
	if i < 0 || i >= len(c.Boxes) || len(c.Boxes[i].Lines) == 0 {
		return ""
	}
	return clip(c.Boxes[i].Lines[0])
}
