package jobs

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/waits"
	"github.com/csiglab/csiglab/reports/words"
)

const (
	maxBars     = 9 // jobs, over all variants, of which the first screen shows the time of a step
	maxPictures = 4 // jobs, over all variants, that have a picture
)

// First returns the figure of the first screen: how long steps take, and what the ranks do in
// this time. It is nil when no job has ended a step. Where not all variants have room, the first one
// is there, then those that lead, or without any the one with the shortest steps, and then others.
func (s *Section) First(leading ...string) *chart.Figure {
	var jobs []*Job
	several := false // job names
	longest := 0.0
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if j.IterationUS == nil || j.Parts == nil || !(j.IterationUS.Mean > 0) {
			continue
		}
		jobs = append(jobs, j)
		several = several || j.Name != jobs[0].Name
		longest = max(longest, j.IterationUS.Mean)
	}
	if jobs == nil {
		return nil
	}
	unit := words.ScaleFor(longest, words.Delays)
	bars := &chart.Bars{Above: true, X: chart.Scaling{Name: "Time", Unit: unit.Unit, Max: chart.Ceiling(longest * unit.Factor)}}
	f := &chart.Figure{ID: "step-times", Title: "Time of a step", Caption: "From the start of a step to that of the next one; mean over ranks and steps.", Panels: []chart.Panel{{Chart: bars}}}
	if len(s.facts.Setup.Seeds) > 1 {
		f.Caption += " Medians over the seeds."
	}
	if all := len(jobs); all > maxBars {
		jobs = leadingFirst(jobs, leading)
		f.Caption += fmt.Sprintf(" %d more are in the table of jobs.", all-len(jobs))
	}
	if !several {
		f.Title += " of " + jobs[0].Name
	}
	bars.Name = f.Title
	for _, j := range jobs {
		name := j.Variant
		if several {
			name += ", " + j.Name
		}
		bars.Rows = append(bars.Rows, chart.BarRow{Name: name, Label: fmt.Sprintf("%s: %s, %s not computing", words.Shortened(name, words.MostInDrawing), words.Span(j.IterationUS.Mean), words.Percent(j.waiting()))})
	}
	scaled := false
	for i, name := range partNames {
		if !slices.ContainsFunc(jobs, func(j *Job) bool { return j.Parts[i].US > 0 }) {
			continue
		}
		part := chart.BarPart{Name: stepParts[name].legend, Paint: chart.Action(stepParts[name].paint)}
		bars.Parts = append(bars.Parts, part)
		f.Legend = append(f.Legend, chart.FillKey(part.Name, part.Paint))
		for k, j := range jobs {
			whole := 0.0
			for _, part := range j.Parts {
				whole += part.US
			}
			of := 1.0
			if whole > 0 { // medians of parts are not the parts of a median
				of = j.IterationUS.Mean / whole
			}
			scaled = scaled || math.Abs(of-1) > 0.0005
			bars.Rows[k].Values = append(bars.Rows[k].Values, j.Parts[i].US*of*unit.Factor)
		}
	}
	if scaled {
		f.Caption += " A bar ends at the time of the step: its parts, each a median, are scaled to it."
	}
	return f
}

// leadingFirst returns the jobs of whole variants, up to maxBars, or so many of the first variant.
func leadingFirst(jobs []*Job, leading []string) (shown []*Job) {
	var order []string
	sums := map[string]float64{}
	for _, j := range jobs {
		if sums[j.Variant] += j.IterationUS.Mean; !slices.Contains(order, j.Variant) {
			order = append(order, j.Variant)
		}
	}
	if len(leading) == 0 {
		leading = []string{slices.MinFunc(order, func(a, b string) int { return cmp.Compare(sums[a], sums[b]) })}
	}
	var done []string
	for _, variant := range slices.Concat(order[:1], leading, order) {
		of := slices.DeleteFunc(slices.Clone(jobs), func(j *Job) bool { return j.Variant != variant })
		if !slices.Contains(done, variant) && (shown == nil || len(shown)+len(of) <= maxBars) {
			shown, done = append(shown, of...), append(done, variant)
		}
	}
	return shown[:min(len(shown), maxBars)]
}

// pictures draws the slowest step of each job: that of the first one, and those of others, which
// are folded. There is none of a job whose operations are not kept.
func (s *Section) pictures(first *Job) (f *chart.Figure, others []section.Block) {
	f = s.picture(first)
	fold := section.Fold{Title: "Slowest steps of other jobs and variants"}
	for i := range s.Jobs {
		if j := &s.Jobs[i]; j != first && j.Slowest >= 0 && j.Picture != nil && len(fold.Blocks)+1 < maxPictures {
			fold.Blocks = append(fold.Blocks, s.picture(j))
		}
	}
	if fold.Blocks != nil {
		others = append(others, fold)
	}
	return f, others
}

// picture draws the slowest step of a job, nil if its operations are not kept.
func (s *Section) picture(j *Job) *chart.Figure {
	if j.Picture == nil {
		return nil
	}
	p, of := &j.Paths[j.Slowest], ""
	if len(j.Paths) > 1 {
		of = fmt.Sprintf(", the slowest of %d", len(j.Paths))
	}
	f := &chart.Figure{
		ID:      "step-" + words.ID(j.Name) + "-" + words.ID(j.Variant),
		Title:   fmt.Sprintf("Step %d of %s%s: %s", p.Step, j.Name, phrases.In(&s.facts.Facts, j.Variant), tenths(p.US())),
		Caption: fmt.Sprintf("What the ranks do%s. The row named path says what the critical path is in.", of),
	}
	if !j.Picture.Few {
		f.Caption += fmt.Sprintf(" Of %s ranks it shows how many do what, and %d: those on the critical path, and those that compute or wait longest.", words.Number(float64(j.Picture.Ranks)), len(j.Picture.Lanes))
	}
	if j.Picture.Left > 0 {
		f.Caption += fmt.Sprintf(" %d shorter collectives have no bar.", j.Picture.Left)
	}
	g := j.Picture.gantt(p)
	g.Name, g.Desc = f.Title, f.Caption
	f.Legend, f.Panels = g.Keys(), []chart.Panel{{Variant: j.Variant, Chart: g}}
	return f
}

// gantt draws the picture of a step with its critical path.
func (c *Picture) gantt(p *Path) *chart.Gantt {
	unit := words.ScaleFor(c.ToUS-c.FromUS, words.Delays)
	at := func(us float64) float64 { return (us - c.FromUS) * unit.Factor }
	g := &chart.Gantt{X: chart.Scaling{Name: "Time in the step", Unit: unit.Unit, Max: at(c.ToUS)}}
	paints := paintsOf(c.Kinds)
	for i, k := range c.Kinds {
		kind := chart.SpanKind{Name: strings.ReplaceAll(k.Name, "_", "-"), Paint: paints[i]}
		if !k.Compute {
			kind.Place = chart.Lower
		}
		g.Kinds = append(g.Kinds, kind)
	}
	g.Kinds = append(g.Kinds, chart.SpanKind{Name: "waiting for messages", Paint: chart.Target, Opacity: 0.26})
	span := func(kind int, from, to float64) chart.Span {
		return chart.Span{Kind: kind, From: at(from), To: at(to), Tip: g.Kinds[kind].Name + ": " + tenths(to-from)}
	}
	for _, o := range c.Overlaid {
		name := words.Shortened(o.Name, words.MostInDrawing)
		g.Above = append(g.Above, chart.Span{Kind: -1, From: at(o.FromUS), To: at(o.ToUS), Text: name, Tip: o.Name + ": " + tenths(o.ToUS-o.FromUS)})
	}
	lanes := map[int32]int{}
	for i, l := range c.Lanes {
		lane := chart.Lane{Name: fmt.Sprint(l.Rank), Strong: p.Lost != nil && p.Lost.Rank == l.Rank}
		if l.Host != "" {
			lane.Name += " · " + l.Host
		}
		for _, w := range c.waits(&l) {
			lane.Spans = append(lane.Spans, span(len(c.Kinds), w.FromUS, w.ToUS))
		}
		for _, s := range l.Spans {
			lane.Spans = append(lane.Spans, span(s.Kind, s.FromUS, s.ToUS))
		}
		g.Lanes, lanes[l.Rank] = append(g.Lanes, lane), i
	}
	if !c.Few {
		g.Others = "others"
		g.Shares = &chart.Shares{Note: fmt.Sprintf("of %s ranks; white: neither computing nor waiting", words.Number(float64(c.Ranks)))}
		for _, s := range c.Shares[:len(c.Shares)-1] {
			g.Shares.Kinds, g.Shares.Values = append(g.Shares.Kinds, s.Kind), append(g.Shares.Values, s.Shares)
		}
	}
	laneOf := func(rank int32) int {
		if i, ok := lanes[rank]; ok {
			return i
		}
		return -1
	}
	for i := range p.Whole {
		s := &p.Whole[i]
		hop := chart.Hop{From: at(s.FromUS), To: at(s.ToUS), Lane: laneOf(s.Rank), At: laneOf(s.Rank), In: chart.InCompute}
		switch {
		case s.Kind == waits.KindIdle:
			hop.In = chart.InWait
		case s.Peer >= 0: // it waits first, and then goes to the peer
			sent := at(s.ToUS - min(s.UnloadedUS, s.US()))
			if sent > hop.From {
				g.Path = append(g.Path, chart.Hop{From: hop.From, To: sent, Lane: hop.Lane, At: hop.At, In: chart.InQueue})
			}
			hop.From, hop.At, hop.In = sent, laneOf(s.Peer), chart.InTransfer
		}
		if hop.To > hop.From {
			g.Path = append(g.Path, hop)
		}
	}
	return g
}

// Colours of kinds of spans, in all pictures of all runs. Those of compute are parts of bars that no
// part of a step has; those of communication begin at the far end of the colours of variants.
var (
	computePaints = map[string]chart.Paint{"compute": chart.Action(stepParts["compute"].paint), "forward": chart.Action(6), "backward": chart.Action(7), "weight": chart.Action(8), "optimizer": chart.Action(9)}
	sendPaints    = map[string]chart.Paint{held: chart.Action(stepParts["held"].paint), "send_recv": chart.Flow(7), "send-recv": chart.Flow(7), "all_reduce": chart.Flow(6), "all_gather": chart.Flow(5), "reduce_scatter": chart.Flow(4), "all_to_all": chart.Flow(3)}
)

// paintsOf returns the colours of kinds. Those of other names have further ones, in turn.
func paintsOf(kinds []Kind) (paints []chart.Paint) {
	further := map[bool][]chart.Paint{true: {chart.Action(10), chart.Action(11), chart.Action(1), chart.Action(5)}, false: {chart.Flow(2), chart.Flow(1), chart.Flow(0)}}
	others := map[bool]int{}
	for _, k := range kinds {
		of := sendPaints
		if k.Compute {
			of = computePaints
		}
		paint, known := of[k.Name]
		if !known {
			more := further[k.Compute]
			paint = more[others[k.Compute]%len(more)]
			others[k.Compute]++
		}
		paints = append(paints, paint)
	}
	return paints
}

// waits returns when a rank communicates and does not compute.
func (c *Picture) waits(l *Lane) (all []Span) {
	busy := math.Inf(-1) // up to here it computes or waits
	var computes []Span
	for _, s := range l.Spans {
		if c.Kinds[s.Kind].Compute {
			computes = append(computes, s)
		}
	}
	for _, s := range l.Spans {
		if k := c.Kinds[s.Kind]; k.Compute || k.Name == held {
			continue
		}
		from := max(s.FromUS, busy)
		for _, b := range computes {
			if b.ToUS <= from {
				continue
			}
			if to := min(b.FromUS, s.ToUS); to > from {
				all = append(all, Span{FromUS: from, ToUS: to})
			}
			from = max(from, b.ToUS)
		}
		if s.ToUS > from {
			all = append(all, Span{FromUS: from, ToUS: s.ToUS})
		}
		busy = max(busy, s.ToUS)
	}
	return all
}
