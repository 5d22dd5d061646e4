package reports

import (
	"cmp"
	"fmt"
	"html"
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/reports/analysis"
)

// fabric is the drawing of the fabric, its legend and what its numbers stand for.
type fabric struct {
	SVG, Narrow template.HTML
	Caption     string
	Loads       []loadKey
	Title       string
	Flows       []Key
	Marks       []fact // the ports of the numbers in the drawing
	Map         *fabricMap
}

// loadKey is an entry of the legend of loads.
type loadKey struct {
	Class int
	Name  string
}

// loadClasses are the classes of load that lines are coloured by: those of at least a
// share. The style sheet has a colour and a width for each.
var loadClasses = []struct {
	from float64
	name string
}{{0, "idle"}, {0.01, "to 50 %"}, {0.5, "to 90 %"}, {0.9, "over 90 %"}}

func loadClass(load float64) int {
	class := 0
	for i, c := range loadClasses {
		if load >= c.from {
			class = i
		}
	}
	return class
}

// newFabric returns nil when there is no fabric to draw.
func newFabric(r *analysis.Result) *fabric {
	if r.Fabric == nil || len(r.Fabric.Boxes) == 0 {
		return nil
	}
	title := "Fabric and load"
	if len(r.Variants) > 1 {
		title += " in " + r.Fabric.Variant
	}
	f := &fabric{Title: title, Caption: fabricCaption(r), Marks: markTexts(r),
		SVG: newPlan(r.Fabric, firstWidth, fabricHeight).svg(r), Narrow: newPlan(r.Fabric, narrowWidth, narrowFabricHeight).svg(r)}
	for class, c := range loadClasses {
		if slices.ContainsFunc(r.Fabric.Lines, func(l analysis.FabricLine) bool { return loadClass(l.Load()) == class }) {
			f.Loads = append(f.Loads, loadKey{class, c.name})
		}
	}
	for _, p := range r.Fabric.Paths {
		if style := pathStyle(r, &p); style >= 0 {
			f.Flows = append(f.Flows, Key{Name: p.Flow, Style: style})
		}
	}
	return f
}

// fabricCaption says what the drawing shows.
func fabricCaption(r *analysis.Result) string {
	f := r.Fabric
	text := fmt.Sprintf("%s, %s and %s. Lines show how busy the links are", plural(f.Hosts, "host"), plural(f.Switches, "switch"), plural(f.Links, "link"))
	if len(r.Variants) > 1 {
		text += " in " + f.Variant
	}
	text += ", in the busier direction"
	if slices.ContainsFunc(f.Boxes, func(b analysis.Box) bool { return b.Folded }) {
		text += "; a box may stand for several nodes, and a line for several links, of which it shows the busiest"
	}
	return text + "."
}

// fabricDescription says what the drawing marks.
func fabricDescription(r *analysis.Result) string {
	var marks []string
	for i, m := range markTexts(r) {
		marks = append(marks, fmt.Sprintf("Number %d, %s: %s.", i+1, m.Name, m.Value))
	}
	if marks == nil {
		return "No port is marked."
	}
	return strings.Join(marks, " ")
}

// plural returns a count with its noun.
func plural(n int, noun string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(noun, "ch"):
		noun += "es"
	default:
		noun += "s"
	}
	return number(float64(n)) + " " + noun
}

// markTexts says which ports the numbers of the drawing stand for, and how they are
// used in the variant that it shows.
func markTexts(r *analysis.Result) []fact {
	var all []fact
	for i := range r.Findings.Ports {
		p := &r.Findings.Ports[i]
		what := "busiest port: "
		if p.Full {
			what = "bottleneck: "
		}
		use, ok := p.In(r.Fabric.Variant)
		if !ok {
			use = p.Busiest()
		}
		all = append(all, fact{what + portName(&p.Place), fmt.Sprintf("%s busy, mean queue %s", percent(use.Utilisation), depth(use.MeanQueueBytes, 0))})
	}
	return all
}

// pathStyle returns the style of a flow's way: that of its line in charts, or -1 when
// the way is not drawn.
func pathStyle(r *analysis.Result, p *analysis.FabricPath) int {
	if len(p.Steps) == 0 {
		return -1
	}
	return slices.Index(r.Groups, analysis.Group{Flow: p.Flow, Flows: 1})
}

// place is where a box is drawn: its middle and its size.
type place struct{ x, y, w, h float64 }

// plan is a drawing of a fabric with places.
type plan struct {
	*analysis.Fabric
	width, height float64
	at            []place
	text          [][]string // of boxes
	size          float64    // of letters
	row           [][]int    // boxes by row, from the left
	column        []int      // of a box in its row
}

// Measures of the drawing, in units of its view box.
const (
	boxHeight   = 20.0
	boxMargin   = 14.0
	letterWidth = 0.58 // of a letter's height
	pathGap     = 3.4  // between the ways of two flows

	crowdedLines = 64 // more lines than these are drawn thin
)

func newPlan(f *analysis.Fabric, width, height float64) *plan {
	p := &plan{Fabric: f, width: width, height: height, at: make([]place, len(f.Boxes)), text: make([][]string, len(f.Boxes)), column: make([]int, len(f.Boxes)), size: 11}
	for i, b := range f.Boxes {
		for len(p.row) <= b.Row {
			p.row = append(p.row, nil)
		}
		p.row[b.Row] = append(p.row[b.Row], i)
	}
	for _, row := range p.row {
		slices.SortStableFunc(row, func(a, b int) int { return cmp.Compare(f.Boxes[a].Pod, f.Boxes[b].Pod) })
		for column, i := range row {
			p.column[i] = column
		}
	}
	if f.Ring {
		p.placeRing()
	} else {
		p.placeRows()
	}
	return p
}

// boxLines returns the text of a box, in short where there is little room.
func boxLines(b *analysis.Box, short bool) []string {
	if !b.Folded {
		return []string{shortened(b.Name, mostInDrawing)}
	}
	name, lines := shortened(b.Name, mostInDrawing), []string(nil)
	if b.Hosts > 0 && b.Switches > 0 && b.Pods != nil {
		name = fmt.Sprintf("pod %d", b.Pods[0])
		if last := b.Pods[len(b.Pods)-1]; last != b.Pods[0] {
			name = fmt.Sprintf("pods %d–%d", b.Pods[0], last)
			if short {
				name = fmt.Sprintf("%d–%d", b.Pods[0], last)
			}
		}
	}
	lines = append(lines, name)
	if b.Switches > 1 || b.Hosts == 0 {
		text := plural(b.Switches, "switch")
		if short {
			text = number(float64(b.Switches)) + " sw"
		}
		lines = append(lines, text)
	}
	if b.Hosts > 0 {
		text := plural(b.Hosts, "host")
		if short {
			text = number(float64(b.Hosts)) + " h"
		}
		lines = append(lines, text)
	}
	return lines
}

// placeRows places the boxes of each row: those of a pod over the pod's share of the
// width, those of none over all of it.
func (p *plan) placeRows() {
	top, bottom := boxMargin+boxHeight/2, p.height-boxMargin-boxHeight/2
	for r, row := range p.row {
		lines := 1
		for _, i := range row {
			lines = max(lines, len(boxLines(&p.Boxes[i], false)))
		}
		if r == 0 {
			bottom -= float64(lines-1) * p.size / 2
		}
		pods := map[int]int{} // boxes of this row by pod
		for _, i := range row {
			pods[p.Boxes[i].Pod]++
		}
		share := p.width / float64(len(pods))
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
			n := float64(pods[pod])
			pitch := share / n
			p.at[i] = p.sized(i, at*share+pitch*(float64(seen)+0.5), y, pitch-3)
			seen++
		}
	}
}

// sized returns the place of a box that may be as wide.
func (p *plan) sized(box int, x, y, most float64) place {
	width := func() float64 {
		letters := 0
		for _, line := range p.text[box] {
			letters = max(letters, len([]rune(line)))
		}
		return float64(letters)*p.size*letterWidth + 8
	}
	p.text[box] = boxLines(&p.Boxes[box], false)
	if width() > 1.15*most {
		p.text[box] = boxLines(&p.Boxes[box], true)
	}
	return place{x, y, min(width(), most), boxHeight + float64(len(p.text[box])-1)*(p.size+1)}
}

// placeRing places the boxes on an ellipse, the first on top.
func (p *plan) placeRing() {
	n := float64(len(p.Boxes))
	rx, ry := p.width/2-36, p.height/2-26
	for i := range p.Boxes {
		angle := 2*math.Pi*float64(i)/n - math.Pi/2
		p.at[i] = p.sized(i, p.width/2+rx*math.Cos(angle), p.height/2+ry*math.Sin(angle), 2*math.Pi*rx/n+18)
	}
}

// svg draws the plan.
func (p *plan) svg(r *analysis.Result) template.HTML {
	var b strings.Builder
	put := func(format string, args ...any) {
		for i, a := range args {
			if v, ok := a.(float64); ok {
				args[i] = math.Round(v*10) / 10
			}
		}
		fmt.Fprintf(&b, format, args...)
	}
	class := "fabric"
	if len(p.Lines) > crowdedLines {
		class += " crowded"
	}
	put(`<svg class="%s" viewBox="0 0 %v %v" xmlns="http://www.w3.org/2000/svg" role="img">%s`, class, p.width, p.height, titled("Fabric: "+fabricCaption(r), fabricDescription(r)))
	for _, m := range p.Marks {
		if m.From != m.To {
			put(`<path class="mark" d="%s"/>`, p.way(m.From, m.To, 0))
		}
	}
	byLoad := make([]int, len(p.Lines)) // indexes
	for i := range byLoad {
		byLoad[i] = i
	}
	slices.SortStableFunc(byLoad, func(a, b int) int { return cmp.Compare(p.Lines[a].Load(), p.Lines[b].Load()) })
	for _, i := range byLoad {
		l := &p.Lines[i]
		put(`<path class="link load-%d" data-line="%d" d="%s"><title>%s</title></path>`, loadClass(l.Load()), i, p.way(l.A, l.B, 0), html.EscapeString(p.lineTitle(l)))
	}
	for i := range p.Paths {
		path := &p.Paths[i]
		style := pathStyle(r, path)
		if style < 0 {
			continue
		}
		line := lineStyle(style)
		var ways []string
		for _, step := range path.Steps {
			ways = append(ways, p.way(step[0], step[1], p.aside(r, i, step)))
		}
		put(`<path class="way" style="stroke:var(%s);stroke-dasharray:%s" d="%s"><title>%s</title></path>`, line.Color.(paint).variable(), dashArray(line.Dashes),
			strings.Join(ways, ""), html.EscapeString(wayTitle(path)))
	}
	for i, at := range p.at {
		p.box(put, i, at)
	}
	corner := map[int]bool{} // boxes with a mark at their right corner
	for _, m := range p.Marks {
		x, y := p.markAt(m)
		if m.From == m.To {
			if corner[m.From] {
				x -= p.at[m.From].w
			}
			corner[m.From] = true
			x = min(max(x, 9), p.width-9)
		}
		put(`<circle class="badge" cx="%v" cy="%v" r="8"/><text class="badge" x="%v" y="%v">%d</text>`, x, y, x, y, m.Port+1)
	}
	put("</svg>")
	return template.HTML(b.String())
}

// aside returns how far from the middle of a line a flow's way runs, beside those of
// the other flows that take it.
func (p *plan) aside(r *analysis.Result, path int, step [2]int) float64 {
	back := [2]int{step[1], step[0]}
	at, ways := 0, 0
	for i := range p.Paths {
		if pathStyle(r, &p.Paths[i]) >= 0 && (slices.Contains(p.Paths[i].Steps, step) || slices.Contains(p.Paths[i].Steps, back)) {
			if i < path {
				at++
			}
			ways++
		}
	}
	return pathGap * (float64(at) - float64(ways-1)/2)
}

// box draws a box and its text. Letters shrink where the text would be wider.
func (p *plan) box(put func(string, ...any), i int, at place) {
	b := &p.Boxes[i]
	class := "switch"
	if b.Switches == 0 {
		class = "host"
	}
	if b.Folded {
		class += " folded"
	}
	put(`<rect class="%s" x="%v" y="%v" width="%v" height="%v" rx="3"/>`, class, at.x-at.w/2, at.y-at.h/2, at.w, at.h)
	lines := p.text[i]
	for k, line := range lines {
		y := at.y + (float64(k)-float64(len(lines)-1)/2)*(p.size+1)
		size := min(p.size, (at.w-3)/(float64(len([]rune(line)))*letterWidth))
		put(`<text x="%v" y="%v" style="font-size:%vpx">%s</text>`, at.x, y, size, html.EscapeString(line))
	}
}

// way returns the line from a box to another, aside from the middle by an offset: the
// same place whichever of the two comes first.
func (p *plan) way(a, b int, aside float64) string {
	from, to := p.at[a], p.at[b]
	switch {
	case p.Ring:
		dx, dy := to.x-from.x, to.y-from.y
		if a > b {
			dx, dy = -dx, -dy
		}
		n := max(math.Hypot(dx, dy), 1)
		ox, oy := -dy/n*aside, dx/n*aside
		return fmt.Sprintf("M%.1f %.1fL%.1f %.1f", from.x+ox, from.y+oy, to.x+ox, to.y+oy)
	case p.Boxes[a].Row != p.Boxes[b].Row:
		return fmt.Sprintf("M%.1f %.1fL%.1f %.1f", from.x+aside, from.y, to.x+aside, to.y)
	case max(p.column[a], p.column[b])-min(p.column[a], p.column[b]) == 1:
		return fmt.Sprintf("M%.1f %.1fL%.1f %.1f", from.x, from.y+aside, to.x, to.y+aside)
	}
	// Over the boxes in between.
	rise := p.rise(a, b)
	return fmt.Sprintf("M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f", from.x+aside, from.y, from.x+aside, from.y-rise, to.x+aside, to.y-rise, to.x+aside, to.y)
}

// rise is how far the arc between two boxes of a row stands above them, at most: its
// control points are higher by a third.
func (p *plan) rise(a, b int) float64 {
	return min(24+0.22*math.Abs(p.at[a].x-p.at[b].x), p.at[a].y-boxMargin) * 4 / 3
}

// markAt returns the place of a port's number: on its line, nearer to the port's node,
// or at the corner of the box that holds both ends.
func (p *plan) markAt(m analysis.FabricMark) (x, y float64) {
	from, to := p.at[m.From], p.at[m.To]
	switch {
	case m.From == m.To:
		return from.x + from.w/2, max(from.y-from.h/2, 9)
	case !p.Ring && p.Boxes[m.From].Row == p.Boxes[m.To].Row && max(p.column[m.From], p.column[m.To])-min(p.column[m.From], p.column[m.To]) > 1:
		return (from.x + to.x) / 2, from.y - p.rise(m.From, m.To)*3/4
	}
	const share = 0.42
	return from.x + share*(to.x-from.x), from.y + share*(to.y-from.y)
}

func (p *plan) lineTitle(l *analysis.FabricLine) string {
	a, b := p.Boxes[l.A].Name, p.Boxes[l.B].Name
	text := fmt.Sprintf("%s → %s %s, %s → %s %s busy", a, b, percent(l.Up), b, a, percent(l.Down))
	if l.Links > 1 {
		text = fmt.Sprintf("%d links, the busiest of them: %s", l.Links, text)
	}
	return text
}

func wayTitle(p *analysis.FabricPath) string {
	if p.Whole {
		return "flow " + p.Flow
	}
	return "flow " + p.Flow + ": the links of all its shortest paths"
}
