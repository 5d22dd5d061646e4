package reports

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/reports/analysis"
)

// Sizes of the drawing of lanes.
const (
	jobLane, jobBar = 38.0, 18.0
	jobNumber       = 13.0 // above the bar
	laneSpan        = 5.5  // iterations of the slowest job of a group that a drawing shows
	mostWhole       = 1.25 // of that: runs up to so long are one drawing
	mostLanes       = 8    // jobs
	leastGap        = 1.0  // user units between two bars that are not joined
	leastIteration  = 4.0  // user units of an iteration that has bars of its own
)

// jobLanes draws when jobs that share links communicate: of each variant the first iterations
// and the last ones, on axes of equal scale.
func jobLanes(r *analysis.Result) []picture {
	p := picture{ID: "lanes", Title: "Iterations of jobs that share links", Columns: 2,
		Caption: "A lane for each job: solid while a collective of it is under way, pale while it computes or waits for its slot, with the numbers of iterations. Iterations too short to be drawn are one bar, the darker the more of the time they communicate. " +
			"Behind the lanes it is shaded where jobs that share a link communicate together. On the left the first iterations, on the right the last ones before a job ends.",
		Legend: []pictureKey{
			{laneSwatch(`style="fill:var(--action-0)"`), "not communicating"}, {laneSwatch(`style="fill:var(--flow-0)"`), "communicating"},
			{laneSwatch(`style="fill:var(--bad);fill-opacity:.25"`), "together with another job"}}}
	groups := slices.DeleteFunc(groupsOf(r), func(g *analysis.JobGroup) bool {
		return !slices.ContainsFunc(g.Jobs, func(j analysis.SharedJob) bool { return len(j.Iterations) > 0 })
	})
	shown, names := shownGroups(groups, maxOfAKind), jobNames(r)
	spans, whole := map[string]float64{}, map[string]float64{} // of a group in all variants: what a drawing shows, and the whole run
	for _, g := range shown {
		key := g.Jobs[0].Name
		for k := range g.Jobs {
			spans[key] = max(spans[key], laneSpan*g.Jobs[k].MedianUS)
		}
		first, last := lanesOf(g)
		whole[key] = max(whole[key], last-first)
	}
	for _, g := range shown {
		first, last := lanesOf(g)
		span, all := spans[g.Jobs[0].Name], whole[g.Jobs[0].Name]
		if !(span > 0) {
			continue
		}
		subtitle := seedNote(r, g.Variant)
		if more := len(g.Jobs) - mostLanes; more > 0 {
			subtitle = strings.TrimPrefix(subtitle+fmt.Sprintf("; the first %d of %d jobs", mostLanes, len(g.Jobs)), "; ")
		}
		halves := []laneDrawing{{from: first, title: "first iterations"}, {from: last - span, title: "last iterations"}}
		if all <= span*mostWhole {
			span, halves = all, []laneDrawing{{from: first, title: "all iterations"}}
		}
		for _, d := range halves {
			d.group, d.to, d.names, d.title = g, d.from+span, names, groupTitle(r, g)+", "+d.title
			p.Panels = append(p.Panels, picturePanel{Title: d.title, Subtitle: subtitle, SVG: d.svg(halfWidth, 90), Narrow: d.svg(narrowWidth, 70)})
		}
	}
	if len(p.Panels) == 0 {
		return nil
	}
	p.Caption += leftOut(len(groups), len(shown))
	return []picture{p}
}

// lanesOf returns when the first iteration of a group begins, and when the first of its jobs
// has ended.
func lanesOf(g *analysis.JobGroup) (first, last float64) {
	first, last = math.Inf(1), math.Inf(1)
	for k := range g.Jobs {
		if all := g.Jobs[k].Iterations; len(all) > 0 {
			first, last = min(first, all[0].BeginUS), min(last, all[len(all)-1].EndUS)
		}
	}
	return first, last
}

func laneSwatch(style string) template.HTML {
	return template.HTML(`<svg class="swatch" viewBox="0 0 26 12" aria-hidden="true"><rect x="2" y="0" width="22" height="12" rx="1" ` + style + `/></svg>`)
}

// laneDrawing draws a group from one time to another.
type laneDrawing struct {
	group    *analysis.JobGroup
	names    []string // of all jobs, for their colours
	from, to float64
	title    string
}

func (d *laneDrawing) svg(width, left float64) template.HTML {
	jobs := d.group.Jobs[:min(len(d.group.Jobs), mostLanes)]
	area := plotArea{left, 6, width - left - 14, jobLane * float64(len(jobs))}
	p := &pen{width: width, height: area.Y + area.Height + 34, class: "lanes"}
	for i := range jobs {
		l := lane{laneDrawing: d, pen: p, area: area, y: area.Y + jobLane*float64(i)}
		var shared [][]float64
		for k := range jobs[i].Iterations {
			shared = append(shared, jobs[i].Iterations[k].Shared...)
		}
		for _, s := range l.joined(shared) {
			l.bar(s[0], s[1], l.y, jobLane, "fill:var(--bad);fill-opacity:.25", "together with another job: "+span(s[1]-s[0]))
		}
	}
	for i := range jobs {
		l := lane{laneDrawing: d, pen: p, area: area, y: area.Y + jobLane*float64(i)}
		p.text("name", area.X-6, l.y+jobNumber+jobBar/2+3, left-10, jobs[i].Name)
		l.iterations(&jobs[i], fmt.Sprintf("fill:var(--flow-%d)", max(slices.Index(d.names, jobs[i].Name), 0)%analysis.MaxGroups))
	}
	d.axis(p, area)
	return p.svg(d.title, "When each job computes and communicates.", "", area)
}

// lane draws one job.
type lane struct {
	*laneDrawing
	pen  *pen
	area plotArea
	y    float64 // of its upper edge
}

// x returns the place of a time of the run.
func (l *lane) x(us float64) float64 {
	return l.area.X + min(max((us-l.from)/(l.to-l.from), 0), 1)*l.area.Width
}

// least returns the time of an iteration that has bars of its own.
func (l *lane) least() float64 { return (l.to - l.from) / l.area.Width * leastIteration }

func (l *lane) bar(from, to, y, height float64, style, title string) {
	if x := l.x(from); to > l.from && from < l.to && l.x(to) > x {
		l.pen.put(`<rect x="%v" y="%v" width="%v" height="%v" style="%s"><title>%s</title></rect>`, x, y, max(0.4, l.x(to)-x), height, style, html.EscapeString(title))
	}
}

// joined returns the spans of the drawing, ascending ones, with those joined between which
// there is next to nothing: at most as many as there are user units.
func (l *lane) joined(spans [][]float64) (all [][]float64) {
	for _, s := range spans {
		n := len(all)
		switch {
		case s[1] <= l.from || s[0] >= l.to:
		case n > 0 && l.x(s[0])-l.x(all[n-1][1]) < leastGap:
			all[n-1][1] = max(all[n-1][1], s[1])
		default:
			all = append(all, []float64{s[0], s[1]})
		}
	}
	return all
}

// iterations draws the iterations of a job. Short ones that follow each other are one bar.
func (l *lane) iterations(j *analysis.SharedJob, style string) {
	y, name := l.y+jobNumber, clipped(j.Name)
	for k := 0; k < len(j.Iterations); k++ {
		it := &j.Iterations[k]
		if it.EndUS <= l.from || it.BeginUS >= l.to {
			continue
		}
		if it.EndUS-it.BeginUS < l.least() {
			k += l.block(j, k, style) - 1
			continue
		}
		about := fmt.Sprintf("%s, iteration %d: %s", name, it.Step, span(it.EndUS-it.BeginUS))
		if !it.Alone {
			about += ", " + percent(it.Overlap) + " of its communication together with others"
		}
		l.bar(it.BeginUS, it.EndUS, y, jobBar, "fill:var(--action-0)", about)
		for _, s := range l.joined(it.Phases) {
			l.bar(s[0], s[1], y, jobBar, style, about)
		}
		if begin := l.x(it.BeginUS); it.BeginUS >= l.from && l.x(it.EndUS)-begin > 18 {
			l.pen.put(`<text class="small" x="%v" y="%v">%d</text>`, begin+1, y-2.5, it.Step)
		}
	}
}

// block draws short iterations, from the k-th on, as one bar and returns how many: until it is
// wide enough to be seen.
func (l *lane) block(j *analysis.SharedJob, k int, style string) (n int) {
	first, busy, end := &j.Iterations[k], 0.0, 0.0
	for _, it := range j.Iterations[k:] {
		if n > 0 && (end-first.BeginUS >= l.least() || it.EndUS-it.BeginUS >= l.least() || it.BeginUS >= l.to) {
			break
		}
		for _, s := range it.Phases {
			busy += s[1] - s[0]
		}
		end = it.EndUS
		n++
	}
	share, y := busy/(end-first.BeginUS), l.y+jobNumber
	about := fmt.Sprintf("%s, %d iterations from %d on: %s of the time communicating", clipped(j.Name), n, first.Step, percent(share))
	l.bar(first.BeginUS, end, y, jobBar, "fill:var(--action-0)", about)
	l.bar(first.BeginUS, end, y, jobBar, fmt.Sprintf("%s;fill-opacity:%.2g", style, share), about)
	return n
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
