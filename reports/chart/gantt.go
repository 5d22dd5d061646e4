package chart

import (
	"cmp"
	"math"
	"strings"
)

// Gantt is lanes with spans over time.
type Gantt struct {
	Name, Desc string
	X          Scaling
	Kinds      []SpanKind
	Above      []Span  // rows above the lanes, packed so that none is on another; with names
	Shares     *Shares // areas above the lanes
	Lanes      []Lane
	Others     string // the name of one more lane, for hops of what has no lane: -1; "" for none
	Path       []Hop  // the critical path; ascending

	letters float64 // size of the names of lanes; 0 for the common one
}

// SpanKind is what a span is of.
type SpanKind struct {
	Name    string
	Paint   Paint
	Opacity float64 // 0 for 1
	Place   Place
}

// Place says where in its lane a span is.
type Place uint8

// Places.
const (
	Upper  Place = iota // the upper part, 12 high
	Lower               // a thin part below it
	Behind              // all of the lane's height, behind the others
	Bold                // a bar of 18, with room for numbers above
)

// Lane is a row of spans. Those of a kind ascend; such as are too short to be seen are joined
// with those beside them.
type Lane struct {
	Name   string
	Strong bool // its name stands out
	Spans  []Span
}

// Span is something that lasts. Kind is an index of Kinds.
type Span struct {
	Kind     int
	From, To float64
	Text     string  // above a Bold span, where it has room; the name of a span of Above
	Tip      string  // about it
	Opacity  float64 // in place of its kind's; 0 for that
}

// Shares is how many of all do what over time, as areas on each other.
type Shares struct {
	Kinds  []int       // indices of Gantt.Kinds, from the lowest
	Values [][]float64 // of each kind, from 0 to 1, at equal steps over the x axis
	Note   string      // below
}

// Hop is a piece of the critical path: in a lane, or from one to another.
type Hop struct {
	From, To float64
	Lane, At int // the lanes where it begins and ends: -1 for the one of others
	In       In
}

// In is what the critical path is in.
type In uint8

// What a path is in.
const (
	InCompute In = iota
	InTransfer
	InQueue
	InWait
	ins
)

// inNames says what a path is in.
var inNames = [ins]string{"computing", "being sent", "in a queue", "waiting"}

// Keys returns the legend: the kinds of spans, and what the path is in.
func (c *Gantt) Keys() (keys []Key) {
	for i := range c.Kinds {
		k := &c.Kinds[i]
		key := Key{Name: k.Name, Fills: []Paint{k.Paint}, Shade: k.Opacity}
		if k.Place == Lower {
			key.Height = 6
		}
		keys = append(keys, key)
	}
	if len(c.Path) == 0 {
		return keys
	}
	var seen [ins]bool
	for _, h := range c.Path {
		seen[h.In%ins] = true
	}
	keys = append(keys, LineKey("critical path", Look{Paint: Target, Width: 2}))
	for in, name := range inNames {
		if seen[in] {
			keys = append(keys, FillKey("the path is "+name, inPath(In(in))))
		}
	}
	return keys
}

const (
	overlaidHeight = 14.0
	sharesHeight   = 110.0
	stripHeight    = 18.0
	stripColumn    = 8.0
	leastHop       = 8.0 // user units: narrower hops are bands
	bandWidth      = 4.0 // of the columns of bands
)

// laneHeight is the height of lanes, and where in it the middle of Upper spans is.
func (c *Gantt) laneHeight() (height, middle float64) {
	for _, k := range c.Kinds {
		if k.Place == Bold {
			return 38, 25
		}
	}
	return 26, 8
}

// Draw implements Chart.
func (c *Gantt) Draw(width float64) *Drawing {
	wide := width >= roomy
	left := 30.0
	for _, l := range c.Lanes {
		left = max(left, TextWidth(clip(l.Name), cmp.Or(c.letters, textSize), l.Strong)+12)
	}
	left = max(left, TextWidth(c.Others, cmp.Or(c.letters, textSize), false)+12)
	if len(c.Path) > 0 {
		left = max(left, 34)
	}
	left = min(left, width*0.2)
	d := &Drawing{Width: width, Title: c.Name, Desc: c.Desc}
	p := d.plot(Area{X: left, Width: width - left - 14}, &c.X)
	y := c.above(p, wide) + 6
	if c.Shares != nil && len(c.Shares.Values) > 0 && len(c.Shares.Values[0]) > 0 {
		c.shares(p, y)
		y += sharesHeight + 24
	}
	if len(c.Path) > 0 {
		c.strip(p, y)
		y += stripHeight + 6
	}
	height, _ := c.laneHeight()
	lanes := float64(len(c.Lanes))
	if c.Others != "" {
		lanes++
	}
	p.area.Y, p.area.Height = y, height*lanes
	d.Height = p.bottom() + axisFoot
	for i := range c.Lanes {
		c.lane(p, &c.Lanes[i], y+float64(i)*height)
	}
	if c.Others != "" {
		d.add(&Text{X: left - 6, Y: y + (lanes-0.5)*height, Text: c.Others, Anchor: End, Most: left - 8})
	}
	if len(c.Path) > 0 {
		c.path(p)
	}
	p.xAxis(&c.X)
	return d
}

// above draws the rows above and returns their height.
func (c *Gantt) above(p *plotter, wide bool) float64 {
	var ends []float64
	named := wide || len(c.Above) < 6
	var texts []Mark
	for _, s := range c.Above {
		from, to := p.x(s.From), p.x(s.To)
		name := Shorten(s.Text, p.area.Width, 10, false)
		end := max(to, from+2)
		text := from
		if named {
			text = max(p.area.X, min(from, p.right()-TextWidth(name, 10, false)))
			end = max(end, text+TextWidth(name, 10, false)+8)
		}
		row := 0
		for row < len(ends) && ends[row] > min(from, text) {
			row++
		}
		if row == len(ends) {
			ends = append(ends, 0)
		}
		ends[row] = end + 4
		y := float64(row) * overlaidHeight
		p.add(&Rect{Style: Style{Fill: c.kind(s.Kind).Paint}, Tag: Tag{Tip: s.Tip}, Area: Area{from, y, max(2, to-from), 4}, Radius: 2})
		if named {
			texts = append(texts, &Text{X: text, Y: y + 9, Text: name, Size: 10, Paint: Soft})
		}
	}
	p.add(texts...)
	return float64(len(ends)) * overlaidHeight
}

func (c *Gantt) kind(i int) *SpanKind {
	if i < 0 || i >= len(c.Kinds) {
		return &SpanKind{Paint: Rest}
	}
	return &c.Kinds[i]
}

func (c *Gantt) shares(p *plotter, y float64) {
	columns := len(c.Shares.Values[0])
	base := make([]float64, columns)
	at := func(k int) float64 { return p.area.X + p.area.Width*(float64(k)+0.5)/float64(columns) }
	for i, kind := range c.Shares.Kinds {
		if i >= len(c.Shares.Values) || len(c.Shares.Values[i]) < columns {
			continue
		}
		var there, back []float64
		for k := range columns {
			back = append(back, at(k), y+sharesHeight*(1-base[k]))
			if v := c.Shares.Values[i][k]; finite(v) {
				base[k] = min(base[k]+v, 1)
			}
			there = append(there, at(k), y+sharesHeight*(1-base[k]))
		}
		for k := len(back) - 2; k >= 0; k -= 2 {
			there = append(there, back[k], back[k+1])
		}
		p.add(&Path{Style: Style{Fill: c.kind(kind).Paint}, Tag: Tag{Tip: c.kind(kind).Name}, Outline: polygon(there...)})
	}
	var edge Outline
	edge.Move(p.area.X, y)
	edge.Line(p.area.X, y+sharesHeight)
	edge.Line(p.right(), y+sharesHeight)
	p.add(&Path{Style: Style{Stroke: Axis}, Outline: edge})
	for _, t := range []tick{{0, "0 %"}, {0.5, "50 %"}, {1, "100 %"}} {
		p.add(&Text{X: p.area.X - 6, Y: max(y+sharesHeight*(1-t.at), 6), Text: t.text, Size: 10, Paint: Soft, Anchor: End})
	}
	p.add(&Text{X: p.area.X, Y: y + sharesHeight + 10, Text: c.Shares.Note, Size: 10, Paint: Soft, Most: p.area.Width})
}

func (c *Gantt) lane(p *plotter, l *Lane, y float64) {
	height, middle := c.laneHeight()
	p.line(p.area.X, y+height-1, p.right(), y+height-1, Style{Stroke: Grid}, Tag{})
	for _, place := range []Place{Behind, Upper, Bold, Lower} {
		last := map[int]*Rect{} // of each kind
		for _, s := range l.Spans {
			k := c.kind(s.Kind)
			if k.Place != place || s.To < p.x0 || s.From > p.x1 || !(s.To >= s.From) {
				continue
			}
			a := map[Place]Area{Upper: {Y: y + 2, Height: 12}, Lower: {Y: y + 15, Height: 6}, Behind: {Y: y, Height: height}, Bold: {Y: y + 16, Height: 18}}[place]
			a.X = p.x(s.From)
			a.Width = max(0.6, p.x(s.To)-a.X)
			style := Style{Fill: k.Paint, Opacity: k.Opacity}
			if s.Opacity > 0 {
				style.Opacity = s.Opacity
			}
			if r := last[s.Kind]; r != nil && a.Width < 1 && a.X-r.X-r.Width < 1 && r.Opacity == style.Opacity { // no more than there are units
				r.Width, r.Tip = max(r.Width, a.X+a.Width-r.X), k.Name+", with short ones"
				continue
			}
			r := &Rect{Style: style, Tag: Tag{Tip: s.Tip}, Area: a}
			last[s.Kind] = r
			p.add(r)
		}
	}
	for _, s := range l.Spans {
		if x := p.x(s.From); s.Text != "" && s.From >= p.x0 && s.From <= p.x1 && p.x(s.To)-x > TextWidth(s.Text, 9, false)+6 {
			p.add(&Text{X: x + 1, Y: y + 10, Text: s.Text, Size: 9, Paint: Soft})
		}
	}
	name := &Text{X: p.area.X - 6, Y: y + middle + 1, Text: l.Name, Anchor: End, Most: p.area.X - 8}
	if l.Strong {
		name.Paint, name.Bold = Target, true
	}
	p.add(name)
}

// strip draws what the path is in, above the lanes. Where short pieces alternate, columns show
// the shares of their time.
func (c *Gantt) strip(p *plotter, y float64) {
	columns := max(1, int(p.area.Width/stripColumn))
	times := make([][ins]float64, columns)
	each := (p.x1 - p.x0) / float64(columns)
	var outlines [ins]Outline
	box := func(in In, left, right, high, low float64) {
		outlines[in].box(Area{left, y + stripHeight*(1-high), right - left, stripHeight * (high - low)})
	}
	var long []Hop
	for _, h := range c.Path {
		if h.In %= ins; p.x(h.To)-p.x(h.From) >= leastHop {
			if n := len(long); n > 0 && long[n-1].In == h.In && long[n-1].To == h.From {
				long[n-1].To = h.To
			} else {
				long = append(long, h)
			}
			continue
		}
		c.spread(p, h.From, h.To, each, columns, func(k int, time float64) { times[k][h.In] += time })
	}
	w, begin, end := p.area.Width/float64(columns), p.x(c.Path[0].From), p.x(c.Path[len(c.Path)-1].To)
	for k := range times {
		left, right := max(p.area.X+w*float64(k), begin), min(p.area.X+w*float64(k+1), end)
		sum, low := 0.0, 0.0
		for _, t := range times[k] {
			sum += t
		}
		if sum < each/20 || !(right > left) {
			continue
		}
		for in, t := range times[k] {
			if t > 0 {
				box(In(in), left, right, low+t/sum, low)
				low += t / sum
			}
		}
	}
	paint := func(more string) {
		for in, o := range outlines {
			if !o.Empty() {
				p.add(&Path{Style: Style{Fill: inPath(In(in))}, Tag: Tag{Tip: "the critical path is " + inNames[in] + more}, Outline: o})
			}
		}
		outlines = [ins]Outline{}
	}
	paint(" for this share of the time")
	for _, h := range long {
		box(h.In, p.x(h.From), p.x(h.To), 1, 0)
	}
	paint("")
	p.add(&Text{X: p.area.X - 6, Y: y + stripHeight/2, Text: "path", Bold: true, Paint: Target, Anchor: End})
}

// spread calls f with the columns that a span of time is in, and its time in each.
func (c *Gantt) spread(p *plotter, from, to, each float64, columns int, f func(k int, time float64)) {
	from, to = max(from, p.x0), min(to, p.x1)
	if !(to > from) {
		return
	}
	for k := max(0, int((from-p.x0)/each)); k < columns && p.x0+float64(k)*each < to; k++ {
		left := p.x0 + float64(k)*each
		if time := min(to, left+each) - max(from, left); time > 0 {
			f(k, time)
		}
	}
}

// path draws the critical path through the lanes: hops wide enough as strokes, level in a lane
// and steep between two; the others as a band in each lane, the stronger the more of the time
// the path is there.
func (c *Gantt) path(p *plotter) {
	height, middle := c.laneHeight()
	y := func(lane int) float64 {
		if lane < 0 || lane >= len(c.Lanes) {
			if c.Others == "" {
				return p.bottom()
			}
			return p.area.Y + (float64(len(c.Lanes))+0.5)*height
		}
		return p.area.Y + float64(lane)*height + middle
	}
	columns := max(1, int(p.area.Width/bandWidth))
	each := (p.x1 - p.x0) / float64(columns)
	bands := map[int][]float64{}
	var stroke Outline
	connected := false // the stroke is at the end of the last hop
	for i, h := range c.Path {
		from, to := p.x(h.From), p.x(h.To)
		if to-from < leastHop && c.crowded(p, i) {
			connected = false
			for _, lane := range []int{h.Lane, h.At} {
				const share = 0.5 // of a hop to another lane, in each
				if bands[lane] == nil {
					bands[lane] = make([]float64, columns)
				}
				c.spread(p, h.From, h.To, each, columns, func(k int, time float64) { bands[lane][k] += share * time })
			}
			continue
		}
		if connected && c.Path[i-1].To == h.From {
			stroke.Line(from, y(h.Lane))
		} else {
			stroke.Move(from, y(h.Lane))
		}
		stroke.Line(to, y(h.At))
		connected = true
	}
	for lane := -1; lane < len(c.Lanes); lane++ {
		c.band(p, bands[lane], y(lane), each)
	}
	if !stroke.Empty() {
		p.add(&Path{Style: Style{Stroke: Target, Weight: 2, Round: true}, Outline: stroke})
	}
}

// crowded reports whether a narrow hop is among narrow ones: its neighbours in the path are
// narrow too.
func (c *Gantt) crowded(p *plotter, i int) bool {
	narrow := 0
	for k := max(0, i-2); k <= min(len(c.Path)-1, i+2); k++ {
		if p.x(c.Path[k].To)-p.x(c.Path[k].From) < leastHop {
			narrow++
		}
	}
	return narrow >= 3
}

// band draws how much of the time of each column the path is in a lane, in three strengths.
func (c *Gantt) band(p *plotter, times []float64, y, each float64) {
	const strengths = 3
	strength := func(k int) int {
		if share := times[k] / each; share >= 0.02 {
			return min(int(math.Ceil(share*strengths)), strengths)
		}
		return 0
	}
	w := p.area.Width / float64(len(times))
	for from := 0; from < len(times); {
		s, to := strength(from), from+1
		for to < len(times) && strength(to) == s {
			to++
		}
		if s > 0 {
			tall := 2 + 2*float64(s)
			p.add(&Rect{Style: Style{Fill: Target, Opacity: 0.4 + 0.2*float64(s)}, Tag: Tag{Tip: "critical path, in many short hops"}, Area: Area{p.area.X + w*float64(from), y - tall/2, w * float64(to-from), tall}})
		}
		from = to
	}
}

// Data implements Chart.
func (c *Gantt) Data() *Data {
	d := &Data{Kind: KindNamed, Name: c.Name, Value: c.X.data()}
	add := func(name string, spans []Span) {
		s := Series{Name: clip(name)}
		for _, span := range spans {
			s.add(strings.TrimSpace(c.kind(span.Kind).Name+" "+span.Text), span.To-span.From, span.From, span.To)
		}
		d.Series = append(d.Series, s)
	}
	add("above", c.Above)
	for i := range c.Lanes {
		add(c.Lanes[i].Name, c.Lanes[i].Spans)
	}
	s := Series{Name: "critical path"}
	for _, h := range c.Path {
		s.add(inNames[h.In%ins], h.To-h.From, h.From, h.To)
	}
	d.Series = append(d.Series, s)
	return d
}
