package reports

import (
	"fmt"
	"html"
	"html/template"
	"math"

	"github.com/csiglab/csiglab/reports/analysis"
)

// Sizes of the drawing of lanes.
const (
	jobLane, jobBar = 34.0, 20.0
	laneSpan        = 5.5 // iterations of the slowest job that a drawing shows
	mostLanes       = 8   // jobs
)

// jobLanes draws when jobs that share links compute and communicate: of each variant the
// first iterations and the last ones, on axes of equal scale.
func jobLanes(r *analysis.Result) []picture {
	p := picture{ID: "lanes", Title: "Iterations of jobs that share links", Columns: 2,
		Caption: "A lane for each job: pale while it computes, solid while a collective of it is under way, with the numbers of iterations. Behind the lanes it is shaded where jobs that share a link communicate together. On the left the first iterations, on the right the last ones before a job ends.",
		Legend: []pictureKey{
			{laneSwatch(`style="fill:var(--action-0)"`), "computing"}, {laneSwatch(`style="fill:var(--flow-0)"`), "communicating"},
			{laneSwatch(`style="fill:var(--bad);fill-opacity:.25"`), "together with another job"}}}
	longest := 0.0
	for i := range r.JobGroups {
		for k := range r.JobGroups[i].Jobs {
			longest = max(longest, r.JobGroups[i].Jobs[k].MedianUS)
		}
	}
	if longest <= 0 {
		return nil
	}
	shown := 0
	for i := range r.JobGroups {
		g := &r.JobGroups[i]
		first, last := math.Inf(1), math.Inf(1)
		for k := range g.Jobs {
			if all := g.Jobs[k].Iterations; len(all) > 0 {
				first, last = min(first, all[0].BeginUS), min(last, all[len(all)-1].EndUS)
			}
		}
		if math.IsInf(first, 1) {
			continue
		}
		if shown++; shown > maxOfAKind {
			continue
		}
		name := clipped(g.Variant)
		for half, from := range []float64{first, max(first, last-laneSpan*longest)} {
			d := laneDrawing{group: g, from: from, to: from + laneSpan*longest, title: name + ", " + []string{"first iterations", "last iterations"}[half]}
			p.Panels = append(p.Panels, picturePanel{Title: d.title, Subtitle: seedNote(r, g.Variant), SVG: d.svg(halfWidth, 90), Narrow: d.svg(narrowWidth, 70)})
		}
	}
	if len(p.Panels) == 0 {
		return nil
	}
	p.Caption += leftOut(shown, min(shown, maxOfAKind))
	return []picture{p}
}

func laneSwatch(style string) template.HTML {
	return template.HTML(`<svg class="swatch" viewBox="0 0 26 12" aria-hidden="true"><rect x="2" y="0" width="22" height="12" rx="1" ` + style + `/></svg>`)
}

// laneDrawing draws a group from one time to another.
type laneDrawing struct {
	group    *analysis.JobGroup
	from, to float64
	title    string
}

func (d *laneDrawing) svg(width, left float64) template.HTML {
	jobs := d.group.Jobs[:min(len(d.group.Jobs), mostLanes)]
	area := plotArea{left, 6, width - left - 14, jobLane * float64(len(jobs))}
	p := &pen{width: width, height: area.Y + area.Height + 34, class: "lanes"}
	x := func(us float64) float64 {
		return area.X + min(max((us-d.from)/(d.to-d.from), 0), 1)*area.Width
	}
	bar := func(from, to, y, height float64, style, title string) {
		if to <= d.from || from >= d.to || x(to) <= x(from) {
			return
		}
		p.put(`<rect x="%v" y="%v" width="%v" height="%v" style="%s"><title>%s</title></rect>`, x(from), y, max(0.4, x(to)-x(from)), height, style, html.EscapeString(title))
	}
	for i := range jobs {
		for _, it := range jobs[i].Iterations {
			for _, s := range it.Shared {
				bar(s[0], s[1], area.Y+jobLane*float64(i), jobLane, "fill:var(--bad);fill-opacity:.25", "together with another job: "+tenths(s[1]-s[0], scalesOfDelays))
			}
		}
	}
	for i := range jobs {
		y := area.Y + jobLane*float64(i) + (jobLane-jobBar)/2
		p.text("name", area.X-6, y+jobBar/2+3, left-10, jobs[i].Name)
		for _, it := range jobs[i].Iterations {
			if it.EndUS <= d.from || it.BeginUS >= d.to {
				continue
			}
			about := fmt.Sprintf("%s, iteration %d: %s, %s of its communication together with others", clipped(jobs[i].Name), it.Step, tenths(it.EndUS-it.BeginUS, scalesOfDelays), percent(it.Overlap))
			bar(it.BeginUS, it.EndUS, y, jobBar, "fill:var(--action-0)", about)
			for _, s := range it.Phases {
				bar(s[0], s[1], y, jobBar, fmt.Sprintf("fill:var(--flow-%d)", i%8), about)
			}
			if begin := x(it.BeginUS); it.BeginUS >= d.from && x(it.EndUS)-begin > 18 {
				p.put(`<text class="small" x="%v" y="%v">%d</text>`, begin+3, y+jobBar/2+3.5, it.Step)
			}
		}
	}
	d.axis(p, area)
	return p.svg(d.title, "When each job computes and communicates.", "", area)
}

// axis draws the time of the run.
func (d *laneDrawing) axis(p *pen, area plotArea) {
	unit := scaleFor(d.to, scalesOfDelays)
	ticks, _ := niceTicks((d.to - d.from) * unit.factor / 1.06)
	step, y := ticks[1].Value/unit.factor, area.Y+area.Height
	p.put(`<path class="edge" d="M%v %vH%v"/>`, area.X, y, area.X+area.Width)
	for k := range len(ticks) + 1 {
		us := (math.Ceil(d.from/step) + float64(k)) * step
		if us > d.to {
			break
		}
		x := area.X + (us-d.from)/(d.to-d.from)*area.Width
		p.put(`<path class="edge" d="M%v %vv4"/><text class="tick" x="%v" y="%v">%s</text>`, x, y, x, y+13, number(math.Round(us*unit.factor*1000)/1000))
	}
	p.put(`<text class="tick" x="%v" y="%v">Time (%s)</text>`, area.X+area.Width/2, y+28, unit.unit)
}
