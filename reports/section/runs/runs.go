// Package runs shows whether the experiment came out as it should, and how it was run: the
// verdict in short, expectations, published figures, notes, flows that did not complete, how much
// the figures are worth, and the runs.
package runs

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/words"
)

// Section is the section of runs. Its numbers are facts.
type Section struct {
	section.Base
	r *reading.Reading
}

// New returns the section of a folder.
func New(r *reading.Reading) section.Section { return &Section{r: r} }

// Parts implements section.Section.
func (s *Section) Parts() (parts []section.Part) {
	v := &s.r.Verdict
	if t := s.expectations(); len(t.Rows) > 0 {
		evaluated := len(v.Expectations)
		p := section.Part{ID: "expectations", Title: "Expectations", Says: fmt.Sprintf("%d of %d hold.", v.Held(), evaluated), Blocks: []section.Block{t}}
		if open := len(t.Rows) - evaluated; open > 0 {
			p.Says = words.Plural(open, "expectation") + " not evaluated."
		}
		if v.Held() < evaluated {
			p.Level = section.Loud
		}
		parts = append(parts, p)
	}
	if t := s.published(); len(t.Rows) > 0 {
		p := section.Part{ID: "published", Title: "Against published figures", Says: fmt.Sprintf("%d of %d are %s.", v.Count(reading.Reproduced), len(t.Rows), reading.Reproduced), Blocks: []section.Block{t}}
		if v.Count(reading.Reproduced) < len(t.Rows) {
			p.Level = section.Telling
		}
		parts = append(parts, p)
	}
	how := section.Part{ID: "how", Title: "How this was run", Says: words.Plural(len(s.r.Runs), "run") + " of " + words.Plural(len(s.r.Variants), "variant") + ".",
		Blocks: []section.Block{section.Code(strings.Join(s.r.Setup.Command, " ")), s.how()}}
	if runs := table(s.r.Runs); len(runs.Rows) > 0 {
		how.Blocks = append(how.Blocks, runs)
	}
	if !v.Valid {
		how.Level = section.Telling
	}
	return append(parts, how)
}

// published shows the comparison with published figures.
func (s *Section) published() *section.Table {
	t := &section.Table{Label: "Against published figures", Columns: phrases.Columns("Variant", "Metric", "#Median", "#Over the seeds", "#Published", "#Band", "Verdict", "Source")}
	for i := range s.r.Verdict.Published {
		c := &s.r.Verdict.Published[i]
		metric := c.Metric
		if c.Unit != "" {
			metric += " (" + c.Unit + ")"
		}
		t.Rows = append(t.Rows, section.Row{Variant: c.Variant, Cells: []section.Cell{{Text: c.Variant}, {Text: metric}, phrases.Optional(c.Measured), {Text: phrases.Spread(c.Seeds)},
			{Text: words.Number(c.Published)}, {Text: words.Number(c.Low) + " … " + words.Number(c.High)}, outcome(c), {Text: c.Source}}})
	}
	return t
}

func outcome(c *reading.Comparison) section.Cell {
	switch {
	case c.Outcome == reading.Reproduced:
		return section.Cell{Text: "✓ " + string(c.Outcome), State: section.Good}
	case c.Outcome == reading.Outside && c.Note != "":
		return section.Cell{Text: "✗ " + string(c.Outcome) + ": " + c.Note, State: section.Bad}
	}
	return section.Cell{Text: "✗ " + string(c.Outcome), State: section.Bad}
}

// how lists how the experiment was run, but for the command.
func (s *Section) how() *section.Table {
	setup := &s.r.Setup
	clock := setup.Clock
	if setup.Dilation > 0 {
		clock += ", dilated " + words.Number(setup.Dilation) + " times"
	}
	seeds := make([]string, len(setup.Seeds))
	for i, seed := range setup.Seeds {
		seeds[i] = strconv.FormatUint(seed, 10)
	}
	t := &section.Table{Label: "Setting", Columns: phrases.Columns("What", "Value")}
	add := func(what, value string) { t.Rows = append(t.Rows, section.Row{Cells: phrases.Cells(what, value)}) }
	add("Version", "csiglab "+setup.Version+", "+setup.GoVersion)
	add("Runtime and clock", setup.Runtime+", "+clock)
	add("Seeds", strings.Join(seeds, ", "))
	add("Started", setup.Started.UTC().Format(time.DateTime)+" UTC, took "+setup.Finished.Sub(setup.Started).Round(100*time.Millisecond).String())
	add("Machine", fmt.Sprintf("%s, %d cores, %s", setup.Machine.CPU, setup.Machine.Cores, setup.Machine.Kernel))
	add("Measured from", phrases.MeasuredFrom(&s.r.Facts))
	add("Telemetry windows", windows(setup.IntervalUS, s.r.Manifest.Runs))
	for _, m := range setup.Modules {
		source := m.Version
		if source == "" {
			source = "of a folder"
		}
		add("Module", fmt.Sprintf("%s %s, %s, has registered %s", m.Path, source, m.Sum, strings.Join(m.Registers, ", ")))
	}
	if f := s.r.Fidelity; f != nil {
		add("Kept real time", fmt.Sprintf("to %s of wall time for 99 %% of events, %s %% of the smallest delay; of %d frames %d were lost and %d came too late",
			words.Span(f.LatenessP99US), words.Number(100*f.LatenessShare), f.Frames, f.Lost, f.Displaced))
	}
	if s.r.DroppedRecords > 0 {
		add("Dropped records", words.Number(float64(s.r.DroppedRecords))+": charts and findings lack as many telemetry windows")
	}
	for _, v := range s.r.Variants {
		text := fmt.Sprintf("CC %s, LB %s, AQM %s, CSIG %s, MTU %d B with %d B of headers", v.CC, v.LB, v.AQM, v.CSIG, v.MTU, v.Header)
		if v.Routing != "" && v.Routing != "ecmp" {
			text += ", routing " + v.Routing
		}
		for _, c := range v.Constants {
			unit := words.ScaleFor(c.Value, words.ScalesOf(c.Unit))
			text += strings.TrimRight(", "+c.Label+" "+words.Number(c.Value*unit.Factor)+" "+unit.Unit, " ")
		}
		if v.TraceHash != "" {
			text += ", trace " + words.Prefix(v.TraceHash)
		}
		add("Variant "+v.Name, text)
	}
	return t
}

// table lists the runs.
func table(all []reading.Run) *section.Table {
	t := &section.Table{Label: "Runs", Columns: phrases.Columns("Variant", "#Seed", "#Data packets", "#Wall (s)", "#CPU (s)", "Trace", "Checks")}
	if len(all) > phrases.MaxRows { // those that are not valid first
		all = slices.SortedStableFunc(slices.Values(all), func(a, b reading.Run) int { return cmp.Compare(validity(&a), validity(&b)) })
	}
	for i := range all {
		r := &all[i]
		t.Rows = append(t.Rows, section.Row{Variant: r.Variant, Cells: append(phrases.Cells(r.Variant, strconv.FormatUint(r.Seed, 10), words.Number(float64(r.DataPackets)),
			words.Number(r.WallSeconds), words.Number(r.CPUSeconds), cmp.Or(words.Prefix(r.TraceHash), "none")), checks(r))})
	}
	phrases.Bound(t, "runs", "manifest.json, in runs,")
	return t
}

// validity orders runs: those that are not valid first.
func validity(r *reading.Run) int {
	if r.Valid {
		return 1
	}
	return 0
}

// checks names the checks of a run that failed, or else those that passed.
func checks(r *reading.Run) section.Cell {
	var bad, good []string
	for _, c := range r.Failed {
		bad = append(bad, strings.TrimSuffix(c.Name+": "+c.Detail, ": "))
	}
	bad = append(bad, r.Reasons...)
	for _, c := range r.Passed {
		good = append(good, c.Name)
	}
	switch {
	case len(bad) > 0:
		return section.Cell{Text: "✗ " + strings.Join(bad, "; "), State: section.Bad}
	case !r.Valid:
		return section.Cell{Text: "✗ not valid", State: section.Bad}
	case len(good) > 0:
		return section.Cell{Text: "✓ " + strings.Join(good, ", "), State: section.Good}
	}
	return section.Cell{Text: "✓ valid", State: section.Good}
}

// windows says how long the telemetry windows are: those of labs become longer with their age.
func windows(intervalUS float64, runs []runfolder.Run) string {
	text := words.Span(intervalUS)
	for i := range runs {
		thinned := runs[i].Thinned
		for k := len(thinned) - 1; k >= 0; k-- {
			until := words.Span(thinned[k].UntilUS)
			if thinned[k].IntervalUS == 0 {
				text += "; nothing before " + until
			} else {
				text += fmt.Sprintf("; %s before %s", words.Span(thinned[k].IntervalUS), until)
			}
		}
	}
	return text
}
