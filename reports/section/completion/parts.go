package completion

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/series"
	"github.com/csiglab/csiglab/reports/words"
)

// Commands that list what bounded tables leave out. Their quotation marks are those of a
// POSIX shell.
const (
	queryFCTs  = `duckdb -c "SELECT variant, seed, flow_name, sender_done_us - start_us AS fct_us, retransmitted, timeouts FROM 'phases.parquet' ORDER BY fct_us DESC NULLS FIRST"`
	queryWorst = `duckdb -c "SELECT variant, seed, subject AS flow, value AS slowdown FROM 'metrics.parquet' WHERE metric = 'slowdown' ORDER BY value DESC"`
)

// First returns the figure for the first screen: the distribution of completion times; nil
// without, as of few flows.
func (s *Section) First() *chart.Figure {
	return s.figure("fct", "Completion time", "Flow completion times", "The share of the flows that complete within a time, from their start.")
}

func (s *Section) figure(id, quantity, title, caption string) *chart.Figure {
	c := series.Find(s.Charts, id)
	if c == nil {
		return nil
	}
	f := series.Distribution(&s.r.Facts, c, quantity)
	f.Title, f.Caption = title, caption+series.OverSeeds(c)
	return f
}

const (
	fewRows = 8 // of a table that stands open
	slow    = 2 // slowdown from which the worst flow is worth a look
)

// Figures returns the figures of charts that compare variants: the distributions of completion
// times and of slowdowns. Charts and facts may be those of two folders.
func Figures(f *reading.Facts, charts []series.Chart) []*chart.Figure {
	s := &Section{Charted: series.Charted{Facts: f, Charts: charts}, r: &reading.Reading{Facts: *f}}
	return series.Present(s.First(), s.figure("slowdown", "Slowdown", "Slowdowns",
		"The share of the flows with a slowdown of at most so much: the completion time over that of the flow alone on an idle fabric."))
}

// Parts implements section.Section.
func (s *Section) Parts() (parts []section.Part) {
	all := section.Part{ID: "completion", Title: "Flow completion times", Says: s.latest(), Level: section.Plain}
	if len(s.r.Unfinished()) > 0 {
		all.Level = section.Telling
	}
	for _, f := range Figures(&s.r.Facts, s.Charts) {
		all.Blocks = append(all.Blocks, f)
	}
	distributions := &section.Table{}
	if len(s.Worst) > 0 {
		distributions = s.distributions()
	}
	if n := len(distributions.Rows); n > 0 && n <= fewRows {
		all.Blocks = append(all.Blocks, distributions)
	}
	single := s.single()
	if len(single.Rows) <= fewRows && len(single.Rows) > 0 {
		all.Blocks = append(all.Blocks, single)
	}
	if all.Blocks != nil {
		parts = append(parts, all)
	}
	if len(s.Worst) > 0 {
		w := &s.Worst[0]
		p := section.Part{ID: "worst", Title: "Worst flows", Says: s.worstOf(w), Level: section.Plain, Blocks: []section.Block{s.worst()}}
		if w.Slowdown != nil && *w.Slowdown < slow || len(s.Worst) > reading.MaxWorst {
			p.Level = section.Quiet // the sentence says what counts
		}
		parts = append(parts, p)
	}
	if len(distributions.Rows) > fewRows {
		parts = append(parts, section.Part{ID: "distribution", Title: distributions.Label, Says: "Means and quantiles of completion times and slowdowns.", Blocks: []section.Block{distributions}})
	}
	if n := len(single.Rows); n > fewRows {
		says := words.Plural(n, "flow") + "."
		if n < len(s.r.Completion) {
			says = fmt.Sprintf("The slowest %d of %s.", n, words.Plural(len(s.r.Completion), "flow"))
		}
		parts = append(parts, section.Part{ID: "flows", Title: "Completion time of each flow", Says: says, Blocks: []section.Block{single}})
	}
	return parts
}

// latest says within which time flows complete: 99 % of many, or all of few.
func (s *Section) latest() string {
	var texts []string
	times := map[string]bool{}
	most, done := 0, len(s.r.Unfinished()) == 0
	for _, v := range s.r.Variants {
		most = max(most, s.r.Transfers(v.Name))
	}
	for i := range s.Times {
		if d := s.Times[i].FCTUS; d != nil {
			us := d.Max
			if most > series.MaxGroups {
				us = d.P99
			}
			texts, times[words.Short(us)] = append(texts, words.Short(us)+phrases.In(&s.r.Facts, s.Times[i].Variant)), true
		}
	}
	if len(texts) > 1 && len(times) == 1 {
		texts = []string{words.SortedKeys(times)[0] + " in each variant"}
	}
	switch {
	case texts == nil:
		return ""
	case most > series.MaxGroups && done:
		return fmt.Sprintf("99 %% of the flows complete within %s.", words.List(texts))
	case most > series.MaxGroups:
		return fmt.Sprintf("99 %% of the flows that complete do so within %s.", words.List(texts))
	case most == 1:
		return fmt.Sprintf("The flow takes %s.", words.List(texts))
	}
	return fmt.Sprintf("The last flow to complete takes %s.", words.List(texts))
}

// worstOf says how the worst flow fared.
func (s *Section) worstOf(w *Worst) string {
	in := phrases.In(&s.r.Facts, w.Variant)
	switch {
	case w.FCTUS == nil:
		return fmt.Sprintf("Flow %s is not done: %s of it arrived%s.", w.Flow, words.Percent(w.Share), in)
	case w.Slowdown != nil:
		return fmt.Sprintf("Flow %s takes %s%s, %s times as long as on an idle fabric.", w.Flow, words.Short(*w.FCTUS), in, words.Three(*w.Slowdown))
	}
	return fmt.Sprintf("Flow %s takes %s%s.", w.Flow, words.Short(*w.FCTUS), in)
}

// distributions lists how completion times and slowdowns are distributed.
func (s *Section) distributions() *section.Table {
	t := phrases.DistributionTable()
	longest := 0.0
	for i := range s.Times {
		if d := s.Times[i].FCTUS; d != nil {
			longest = max(longest, d.Max)
		}
	}
	unit := words.ScaleFor(longest, words.Delays)
	for i := range s.Times {
		of := &s.Times[i]
		if of.FCTUS == nil {
			continue
		}
		completed, _ := phrases.Completed(&s.r.Facts, of.Variant)
		phrases.AddDistribution(t, "Completion time ("+unit.Unit+")", of.Variant, completed, of.FCTUS, unit.Factor)
		if of.Slowdown != nil {
			phrases.AddDistribution(t, "Slowdown", of.Variant, completed, of.Slowdown, 1)
		}
	}
	phrases.Bound(t, "distributions", "report --json")
	return t
}

// maxSingle bounds the table of completion times.
const maxSingle = 32

// single lists the completion times of single flows: medians over the seeds and their range.
// Of many flows it lists the slowest ones of the first variant, and of very many none: the
// worst of them are listed.
func (s *Section) single() *section.Table {
	size, unit := phrases.CompletionUnits(s.r.Completion)
	t := &section.Table{Label: "Flow completion times", Columns: phrases.Columns("Flow", "#Size ("+size.Unit+")")}
	for _, v := range s.r.Variants {
		t.Columns = append(t.Columns, section.Column{Name: v.Name + " (" + unit.Unit + ")", Number: true, Variant: v.Name}, section.Column{Name: "over the seeds", Number: true, Variant: v.Name})
	}
	flows := s.r.Completion
	if phrases.LeavesOut(&s.r.Facts, "flows") {
		return &section.Table{}
	}
	if len(flows) > maxSingle {
		slowness := func(c reading.Completion) float64 {
			if median := c.Variants[0].MedianUS; median != nil {
				return *median
			}
			return math.Inf(1)
		}
		flows = slices.SortedStableFunc(slices.Values(flows), func(a, b reading.Completion) int { return cmp.Compare(slowness(b), slowness(a)) })
		t.Note = fmt.Sprintf("The slowest %d of %d flows in %s. ", maxSingle, len(flows), s.r.Variants[0].Name)
		t.Query = queryFCTs
		flows = flows[:maxSingle]
	}
	t.Note += "From the flow's start to the arrival of the ACK that completes it."
	for _, c := range flows {
		row := phrases.Cells(c.Flow, words.Number(float64(c.SizeBytes)/1000*size.Factor))
		for _, v := range c.Variants {
			switch {
			case v.Open > 0:
				row = append(row, section.Cell{Text: "not done", State: section.Bad}, section.Cell{Text: fmt.Sprintf("in %d of %d seeds", v.Open, v.Open+v.Seeds.Count)})
			case v.MedianUS != nil:
				row = append(row, phrases.Cells(words.Number(*v.MedianUS*unit.Factor), phrases.Spread(phrases.Scaled(v.Seeds, unit)))...)
			default:
				row = append(row, phrases.Cells(words.None, phrases.Spread(phrases.Scaled(v.Seeds, unit)))...)
			}
		}
		t.Rows = append(t.Rows, section.Row{Cells: row})
	}
	return t
}

// worst lists the flows that fared the worst in each variant, and why.
func (s *Section) worst() *section.Table {
	size, unit := phrases.CompletionUnits(s.r.Completion)
	variants, seeds := len(s.r.Variants), len(s.r.Setup.Seeds) > 1
	t := &section.Table{Label: "Worst flows", Columns: phrases.Columns("Flow"), Query: queryWorst}
	if variants > 1 {
		t.Columns = append(t.Columns, phrases.Columns("Variant")...)
	}
	if seeds {
		t.Columns = append(t.Columns, phrases.Columns("#Seed")...)
	}
	t.Columns = append(t.Columns, phrases.Columns("#Size ("+size.Unit+")", "#Completion ("+unit.Unit+")", "#Slowdown", "#Packets", "#Sent again", "#Timeouts", "#Trimmed", "Where")...)
	for i := range s.Worst {
		w := &s.Worst[i]
		row := phrases.Cells(w.Flow)
		if variants > 1 {
			row = append(row, section.Cell{Text: w.Variant})
		}
		if seeds {
			row = append(row, section.Cell{Text: strconv.FormatUint(w.Seed, 10)})
		}
		done := section.Cell{Text: "not done: " + words.Percent(w.Share), State: section.Bad}
		if w.FCTUS != nil {
			done = section.Cell{Text: words.Number(*w.FCTUS * unit.Factor)}
		}
		row = append(row, section.Cell{Text: words.Number(float64(w.SizeBytes) / 1000 * size.Factor)}, done, phrases.Optional(w.Slowdown))
		for _, n := range []int64{w.Packets, w.Retransmitted, w.Timeouts, w.Trimmed} {
			row = append(row, section.Cell{Text: words.Number(float64(n))})
		}
		t.Rows = append(t.Rows, section.Row{Variant: w.Variant, Cells: append(row, section.Cell{Text: where(w)})})
	}
	flows := 0
	for _, p := range s.r.Progress {
		flows = max(flows, p.Flows)
	}
	t.Note = fmt.Sprintf("The worst %d of %s", min(reading.MaxWorst, flows), words.Plural(flows, "flow"))
	if variants > 1 {
		t.Note += " in each variant"
	}
	if variants > reading.MaxWorstVariants {
		t.Note += fmt.Sprintf(", of the first %d of %d variants", reading.MaxWorstVariants, variants)
	}
	if seeds {
		t.Note += ", of all seeds"
	}
	t.Note += ": those that did not complete, with the share of their payload that arrived, then those with the greatest slowdown. phases.parquet has a row for each flow of each run, by column flow_name, with its times, packets and retransmissions; metrics.parquet has its slowdown, by column subject."
	return t
}

// where says what limited a flow, as far as it is known.
func where(w *Worst) string {
	switch {
	case len(w.Named) > 0:
		return fmt.Sprintf("CSIG names %s (%s of its %s samples)", phrases.Named(w.Named), words.Percent(w.NamedShare), w.Signal)
	case w.Crosses != nil:
		return fmt.Sprintf("crosses %s (%s busy%s)", phrases.Port(w.Crosses), words.Percent(w.Use.Utilisation), phrases.Queue(w.Use, ", mean queue ", 0))
	}
	return words.None
}

// Tell implements section.Teller.
func (s *Section) Tell(story *section.Story) { story.Say(section.Answer, 1, s.takes()) }

// takes says how long transfers take in the first variant.
func (s *Section) takes() string {
	v := &s.r.Variants[0]
	mean, ok := v.Median("fct_us.mean")
	longest, known := v.Median("fct_us.max")
	in := ""
	if len(s.r.Variants) > 1 {
		in = "in variant " + v.Name + " "
	}
	completed, flows := phrases.Completed(&s.r.Facts, v.Name)
	open := slices.ContainsFunc(s.r.Unfinished(), func(p reading.Progress) bool { return p.Variant == v.Name })
	unit := words.ScaleFor(longest, words.Delays)
	time := func(us float64) string { return words.Three(us*unit.Factor) + "\u00a0" + unit.Unit }
	switch {
	case !ok || !known:
		return ""
	case len(s.r.Completion) == 1 && !open:
		return fmt.Sprintf("%sflow %s completes in %s", in, s.r.Completion[0].Flow, time(longest))
	case open:
		return fmt.Sprintf("%s%s of %s flows complete, on average in %s and at the latest in %s", in, completed, flows, time(mean), time(longest))
	}
	if time(mean) == time(longest) {
		return fmt.Sprintf("%sall %s flows complete in %s", in, completed, time(mean))
	}
	return fmt.Sprintf("%sall %s flows complete, on average in %s and at the latest in %s", in, completed, time(mean), time(longest))
}
