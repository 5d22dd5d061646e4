package reports

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"

	"github.com/csiglab/csiglab/reports/analysis"
)

// stepPicture is the drawing of what the ranks of a job did in one step.
type stepPicture struct {
	Name           string // "step", the job and, if there are several, the variant
	Title, Caption string
	SVG, Narrow    template.HTML
	Legend         []stepKey
}

// stepKey is an entry of its legend.
type stepKey struct {
	Name   string
	Swatch template.HTML
}

// maxPictures is how many jobs, over all variants, have a picture.
const maxPictures = 4

// Sizes of the drawing.
const (
	stepWidth, stepNarrow = 1200.0, 390.0
	laneHeight            = 26.0
	computeHeight         = 12.0
	messageHeight         = 6.0
	overlaidHeight        = 14.0
	sharesHeight          = 110.0
	axisHeight            = 34.0
)

// newStepPictures draws the slowest step of each job.
func newStepPictures(r *analysis.Result) (pictures []stepPicture) {
	for i := range r.Jobs {
		j := &r.Jobs[i]
		if j.Picture == nil || j.Slowest < 0 || len(pictures) == maxPictures {
			continue
		}
		p := &j.Paths[j.Slowest]
		in := ""
		if len(r.Variants) > 1 {
			in = " in " + j.Variant
		}
		of := ""
		if len(j.Paths) > 1 {
			of = fmt.Sprintf(", the slowest of %d", len(j.Paths))
		}
		one := stepPicture{
			Name:    "step " + j.Name + strings.TrimPrefix(in, " in"),
			Title:   fmt.Sprintf("Step %d of %s%s: %s", p.Step, j.Name, in, tenths(p.US(), scalesOfDelays)),
			Caption: fmt.Sprintf("What the ranks do%s. Lost: %s.", of, lostText(p)),
			Legend:  stepLegend(j.Picture),
		}
		if !j.Picture.Few {
			one.Caption += fmt.Sprintf(" Of %s ranks it shows how many do what, and %d: those on the critical path, and those that compute or wait longest.", number(float64(j.Picture.Ranks)), len(j.Picture.Lanes))
		}
		if j.Picture.Left > 0 {
			one.Caption += fmt.Sprintf(" %d shorter collectives have no bar.", j.Picture.Left)
		}
		one.SVG = (&stepDrawing{StepPicture: j.Picture, path: p, title: one.Title, caption: one.Caption, width: stepWidth, left: 92}).svg()
		one.Narrow = (&stepDrawing{StepPicture: j.Picture, path: p, title: one.Title, caption: one.Caption, width: stepNarrow, left: 58}).svg()
		pictures = append(pictures, one)
	}
	return pictures
}

// kindColour returns the variable of a kind's colour: of computes a pale one, of
// communication a strong one.
func kindColour(c *analysis.StepPicture, kind int) string {
	n := 0
	for i := range kind {
		if c.Kinds[i].Compute == c.Kinds[kind].Compute {
			n++
		}
	}
	if c.Kinds[kind].Compute {
		return fmt.Sprintf("--action-%d", 1+n%5)
	}
	return fmt.Sprintf("--flow-%d", n%8)
}

func stepLegend(c *analysis.StepPicture) (keys []stepKey) {
	swatch := func(text string) template.HTML {
		return template.HTML(`<svg class="swatch" viewBox="0 0 26 12" aria-hidden="true">` + text + `</svg>`)
	}
	for i, k := range c.Kinds {
		height := computeHeight
		if !k.Compute {
			height = messageHeight
		}
		keys = append(keys, stepKey{strings.ReplaceAll(k.Name, "_", "-"), swatch(fmt.Sprintf(`<rect x="2" y="%g" width="22" height="%g" rx="1" style="fill:var(%s)"/>`, (12-height)/2, height, kindColour(c, i)))})
	}
	return append(keys,
		stepKey{"waiting for messages", swatch(`<rect class="waits" x="2" y="0" width="22" height="12" rx="1"/>`)},
		stepKey{"critical path", swatch(`<path class="critical" d="M0 6H26"/>`)})
}

// stepDrawing draws a StepPicture.
type stepDrawing struct {
	*analysis.StepPicture
	path        *analysis.CriticalPath
	title       string
	caption     string
	width, left float64

	b   strings.Builder
	top float64 // of the lanes
}

func (d *stepDrawing) put(format string, args ...any) {
	for i, a := range args {
		if v, ok := a.(float64); ok {
			args[i] = math.Round(v*10) / 10
		}
	}
	fmt.Fprintf(&d.b, format, args...)
}

// x returns the place of a time.
func (d *stepDrawing) x(us float64) float64 {
	share := (us - d.FromUS) / (d.ToUS - d.FromUS)
	return d.left + min(max(share, 0), 1)*(d.width-d.left-12)
}

func (d *stepDrawing) svg() template.HTML {
	rows, at := d.overlaidRows()
	height := rows*overlaidHeight + 8
	if !d.Few {
		height += sharesHeight + 24
	}
	d.top = height
	lanes := float64(len(d.Lanes))
	if !d.Few {
		lanes++ // other ranks, for the path
	}
	height += lanes*laneHeight + axisHeight
	d.put(`<svg class="chart step" viewBox="0 0 %v %v" xmlns="http://www.w3.org/2000/svg" role="img">%s`, d.width, height, titled(d.title, d.caption))
	for i := range d.Overlaid {
		d.overlaid(&d.Overlaid[i], float64(at[i])*overlaidHeight)
	}
	if !d.Few {
		d.shares(rows*overlaidHeight + 8)
	}
	d.axis(height - axisHeight)
	for i := range d.Lanes {
		d.lane(&d.Lanes[i], d.top+float64(i)*laneHeight)
	}
	if !d.Few {
		d.put(`<text class="name" x="%v" y="%v">others</text>`, d.left-6, d.top+(float64(len(d.Lanes))+0.5)*laneHeight)
	}
	d.critical()
	d.put("</svg>")
	return template.HTML(d.b.String())
}

// overlaidRows returns in which row each collective is drawn, so that none is on another.
func (d *stepDrawing) overlaidRows() (rows float64, at []int) {
	var ends []float64
	for _, o := range d.Overlaid {
		row := 0
		for row < len(ends) && ends[row] > d.x(o.FromUS) {
			row++
		}
		if row == len(ends) {
			ends = append(ends, 0)
		}
		ends[row] = max(d.x(o.ToUS), d.x(o.FromUS)+float64(len([]rune(shortened(o.Name, mostInDrawing))))*6.2+8) + 4
		at = append(at, row)
	}
	return float64(len(ends)), at
}

func (d *stepDrawing) overlaid(o *analysis.Overlaid, y float64) {
	from, to := d.x(o.FromUS), d.x(o.ToUS)
	d.put(`<rect class="overlaid" x="%v" y="%v" width="%v" height="4" rx="2"><title>%s: %s</title></rect>`, from, y, max(2, to-from), html.EscapeString(o.Name), tenths(o.ToUS-o.FromUS, scalesOfDelays))
	name := shortened(o.Name, mostInDrawing)
	text := min(from, d.width-12-float64(len([]rune(name)))*5.6)
	if d.width == stepWidth || len(d.Overlaid) < 6 {
		d.put(`<text class="small" x="%v" y="%v">%s</text>`, max(text, d.left), y+9, html.EscapeString(name))
	}
}

// shares draws how many ranks do what, as areas on each other: computes below.
func (d *stepDrawing) shares(y float64) {
	columns := len(d.Shares[0].Shares)
	base := make([]float64, columns)
	at := func(k int) float64 {
		return d.x(d.FromUS + (d.ToUS-d.FromUS)*(float64(k)+0.5)/float64(columns))
	}
	for _, s := range d.Shares[:len(d.Shares)-1] {
		if s.Kind >= len(d.Kinds) {
			continue
		}
		var up, down []string
		for k := range columns {
			down = append(down, fmt.Sprintf("%.1f %.1f", at(k), y+sharesHeight*(1-base[k])))
			base[k] += s.Shares[k]
			up = append(up, fmt.Sprintf("%.1f %.1f", at(k), y+sharesHeight*(1-base[k])))
		}
		for i, k := 0, len(down)-1; i < k; i, k = i+1, k-1 {
			down[i], down[k] = down[k], down[i]
		}
		d.put(`<path style="fill:var(%s)" d="M%sL%sZ"/>`, kindColour(d.StepPicture, s.Kind), strings.Join(up, "L"), strings.Join(down, "L"))
	}
	d.put(`<path class="edge" d="M%v %vV%vH%v"/>`, d.left, y, y+sharesHeight, d.width-12)
	for _, share := range []float64{0, 50, 100} {
		d.put(`<text class="name" x="%v" y="%v">%s %%</text>`, d.left-6, y+sharesHeight*(1-share/100)+map[bool]float64{true: 5}[share == 100], number(share))
	}
	d.put(`<text class="small" x="%v" y="%v">of %s ranks; white: neither computing nor waiting</text>`, d.left, y+sharesHeight+11, number(float64(d.Ranks)))
}

// lane draws one rank: its computes, below them its messages, and where it waits.
func (d *stepDrawing) lane(l *analysis.Lane, y float64) {
	name := fmt.Sprintf("%d", l.Rank)
	if l.Host != "" && d.width == stepWidth {
		name = shortened(name+" · "+l.Host, 14)
	}
	class := "name"
	if lost := d.path.Lost; lost != nil && lost.Rank == l.Rank {
		class += " lost"
	}
	d.put(`<text class="%s" x="%v" y="%v">%s</text>`, class, d.left-6, y+laneHeight/2-1, html.EscapeString(name))
	d.put(`<path class="rule" d="M%v %vH%v"/>`, d.left, y+laneHeight-1, d.width-12)
	busy := d.FromUS // up to here it computes or waits
	var computes []analysis.Piece
	for _, s := range l.Spans {
		if d.Kinds[s.Kind].Compute {
			computes = append(computes, s)
		}
	}
	for _, s := range l.Spans {
		if k := d.Kinds[s.Kind]; k.Compute || k.Name == analysis.PictureHeld {
			continue
		}
		// Where it communicates and does not compute.
		from := max(s.FromUS, busy)
		for _, c := range append(computes, analysis.Piece{FromUS: s.ToUS, ToUS: s.ToUS}) {
			if c.ToUS <= from && c.FromUS != s.ToUS {
				continue
			}
			if to := min(c.FromUS, s.ToUS); to > from {
				d.rect("waits", "", from, to, y+2, computeHeight, "waiting")
			}
			from = max(from, c.ToUS)
		}
		busy = max(busy, s.ToUS)
	}
	for _, s := range l.Spans {
		height, at := computeHeight, y+2
		if !d.Kinds[s.Kind].Compute {
			height, at = messageHeight, y+2+computeHeight+1
		}
		d.rect("", kindColour(d.StepPicture, s.Kind), s.FromUS, s.ToUS, at, height, d.Kinds[s.Kind].Name)
	}
}

func (d *stepDrawing) rect(class, colour string, from, to, y, height float64, what string) {
	style := ""
	if colour != "" {
		style = fmt.Sprintf(` style="fill:var(%s)"`, colour)
	}
	d.put(`<rect class="%s"%s x="%v" y="%v" width="%v" height="%v"><title>%s: %s</title></rect>`, class, style, d.x(from), y, max(0.6, d.x(to)-d.x(from)), height, html.EscapeString(what), tenths(to-from, scalesOfDelays))
}

// laneOf returns the middle of the lane of a rank, of one without a lane that of the others.
func (d *stepDrawing) laneOf(rank int32) float64 {
	for i := range d.Lanes {
		if d.Lanes[i].Rank == rank {
			return d.top + float64(i)*laneHeight + 2 + computeHeight/2
		}
	}
	return d.top + (float64(len(d.Lanes))+0.5)*laneHeight
}

// critical draws the critical path: level where a rank computes, from lane to lane where
// a message goes.
func (d *stepDrawing) critical() {
	var b strings.Builder
	for i := range d.path.Pieces {
		p := &d.path.Pieces[i]
		from, to := d.laneOf(p.Rank), d.laneOf(p.Rank)
		if p.Peer >= 0 {
			to = d.laneOf(p.Peer)
		}
		fmt.Fprintf(&b, "M%.1f %.1fL%.1f %.1f", d.x(p.FromUS), from, d.x(p.ToUS), to)
		if next := i + 1; next < len(d.path.Pieces) && d.path.Pieces[next].FromUS == p.ToUS {
			fmt.Fprintf(&b, "L%.1f %.1f", d.x(p.ToUS), d.laneOf(d.path.Pieces[next].Rank))
		}
	}
	d.put(`<path class="critical" d="%s"/>`, b.String())
}

// axis draws the time since the step's beginning.
func (d *stepDrawing) axis(y float64) {
	unit := scaleFor(d.ToUS-d.FromUS, scalesOfDelays)
	ticks, _ := niceTicks((d.ToUS - d.FromUS) * unit.factor / 1.06)
	d.put(`<path class="edge" d="M%v %vH%v"/>`, d.left, y, d.width-12)
	for _, t := range ticks {
		x := d.x(d.FromUS + t.Value/unit.factor)
		d.put(`<path class="edge" d="M%v %vv4"/><text class="tick" x="%v" y="%v">%s</text>`, x, y, x, y+12, t.Label)
	}
	d.put(`<text class="tick" x="%v" y="%v">Time in the step (%s)</text>`, (d.left+d.width)/2, y+28, unit.unit)
}
