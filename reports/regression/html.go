package regression

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/page"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/words"
)

// Bounds of the page.
const (
	mostDrawn = 200 // dot plots
	mostShown = 500 // rows of a table of what needs attention
)

// pageMarks are the marks of outcomes on the page, which do not depend on colour.
var pageMarks = map[verdict.Outcome]string{verdict.Pass: "✓", verdict.Fail: "✗", verdict.Inconclusive: "?", verdict.Invalid: "!"}

// states are the states of outcomes.
var states = map[verdict.Outcome]section.State{verdict.Pass: section.Good, verdict.Fail: section.Bad, verdict.Inconclusive: section.Warn, verdict.Invalid: section.Bad}

// HTML writes the verdict as one page that needs no network, and no script.
func HTML(w io.Writer, d *verdict.Document) error {
	if err := newView(d).document().WriteHTML(w); err != nil {
		return fmt.Errorf("write verdict: %w", err)
	}
	return nil
}

// document returns the page: what got worse, what is undecided and what changed, how to see it
// again, then each experiment; those that pass are closed.
func (v *view) document() *page.Document {
	d := &page.Document{Title: "Suite " + v.Suite, About: []string{title(&v.Candidate) + " against " + title(&v.Baseline)},
		Banner: section.Banner{State: states[v.outcome], Headline: word(v.outcome) + ": " + v.headline(), Reasons: v.ended()}}
	if v.Suite == "" {
		d.Title = "Comparison"
	}
	for _, e := range v.invalid {
		for _, reason := range e.why() {
			d.Banner.Reasons = append(d.Banner.Reasons, e.name+": "+reason)
		}
	}
	if text, rest := v.lead(strings.Clone); text != "" {
		if text += rest; len(v.failed) > 1 {
			text = "Worst: " + text
		}
		d.Story = append(d.Story, text)
	}
	if n := len(v.better); n > 0 {
		d.Story = append(d.Story, fmt.Sprintf("%s got better by at least as much as is allowed as worse; the most: %s of %s, %s.", spelling.Plural(n, "metric"), v.better[0].Name, v.better[0].experiment.name, v.better[0].direction()))
	}
	add := func(id, title string, level section.Level, blocks ...section.Block) {
		d.Parts = append(d.Parts, section.Part{ID: id, Title: title, Level: level, Blocks: blocks})
	}
	add("worse", "What got worse", section.Loud, v.failedTable())
	add("undecided", "What is undecided", section.Telling, v.openTable())
	add("changed", "What changed and is not worse", section.Telling, v.changedTable())
	var commands []section.Block
	for _, e := range v.commands() {
		commands = append(commands, section.Paragraph(e.name+": "+e.about()), section.Code(e.Reproduce))
	}
	add("reproduce", "Reproduce", section.Telling, commands...)
	add("effects", effectsTitle, section.Plain, v.effects())
	drawn := 0
	for i := range v.experiments {
		d.Parts = append(d.Parts, v.part(&v.experiments[i], i, &drawn))
	}
	var how section.List
	for _, f := range v.setup() {
		how = append(how, f.Name+": "+f.Code+f.More)
	}
	if v.ended() == nil {
		for _, note := range v.Notes {
			how = append(how, "Note: "+note)
		}
	}
	add("how", "How this was compared", section.Quiet, how, section.Paragraph(v.design()),
		section.Paragraph("In the drawings of a metric each dot is a pair of runs with the same seed, at the change from baseline to candidate; below the dots are the change over all pairs and its interval. The tinted side is worse than allowed."))
	return d
}

func (v *view) failedTable() *section.Table {
	t := &section.Table{Label: "What got worse", Columns: []section.Column{{Name: "Metric"}, {Name: "Experiment"}, {Name: "By", Number: true}, {Name: v.interval(), Number: true}, {Name: "Allowed", Number: true}, {Name: "p", Number: true}, {Name: "Baseline → candidate", Number: true}, {Name: "Seeds", Number: true}}}
	for _, m := range v.failed[:min(len(v.failed), mostShown)] {
		by := m.change(m.worse)
		if math.IsNaN(m.worse) && m.Reason != "" {
			by = m.Reason
		}
		t.Rows = append(t.Rows, section.Row{Cells: []section.Cell{{Text: m.Name}, {Text: m.experiment.name}, {Text: by, State: section.Bad}, {Text: m.between()}, {Text: m.allowed()}, {Text: m.probability()}, {Text: m.values()}, {Text: strconv.Itoa(len(m.Pairs))}}})
	}
	return t
}

func (v *view) openTable() *section.Table {
	t := &section.Table{Label: "What is undecided", Columns: []section.Column{{Name: "Metric"}, {Name: "Experiment"}, {Name: "By", Number: true}, {Name: v.interval(), Number: true}, {Name: "Allowed", Number: true}, {Name: "What would decide it"}}}
	for _, m := range v.open[:min(len(v.open), mostShown)] {
		t.Rows = append(t.Rows, section.Row{Cells: []section.Cell{{Text: m.Name}, {Text: m.experiment.name}, {Text: m.change(m.worse)}, {Text: m.between()}, {Text: m.allowed()}, {Text: m.deciding()}}})
	}
	return t
}

func (v *view) changedTable() *section.Table {
	t := &section.Table{Label: "What changed and is not worse", Columns: []section.Column{{Name: "Experiment"}, {Name: "Differs"}, {Name: "Moved the most"}, {Name: "By", Number: true}, {Name: "Allowed", Number: true}}}
	for _, e := range v.changed[:min(len(v.changed), mostShown)] {
		name, change, allowed := e.movement()
		t.Rows = append(t.Rows, section.Row{Cells: []section.Cell{{Text: e.name}, {Text: e.differing(), State: section.Warn}, {Text: name}, {Text: change}, {Text: allowed}}})
	}
	return t
}

// part shows an experiment. drawn counts the dot plots of the page.
func (v *view) part(e *experiment, i int, drawn *int) section.Part {
	s := section.Part{ID: fmt.Sprintf("experiment-%d", i+1), Title: pageMarks[e.outcome] + " " + e.name, Level: section.Plain}
	if e.outcome == verdict.Pass {
		s.Level = section.Quiet
	}
	s.Says = fmt.Sprintf("%s. %s", word(e.outcome), spelling.Plural(len(e.Seeds), "seed"))
	if e.Clock != "" {
		s.Says += ", clock " + e.Clock
	}
	s.Says += ", " + duration(e.Seconds) + " of runs."
	if n := len(e.Looks); n > 0 {
		s.Says += fmt.Sprintf(" The statistics may look %s, at up to %s.", times(n), spelling.Plural(e.Looks[n-1], "seed"))
	}
	if e.change == verdict.Identical {
		s.Says += " The traces of both sides are identical in all seeds, so that no statistics are needed."
	} else if e.Differ > 0 {
		s.Says += fmt.Sprintf(" The candidate's traces differ from the baseline's in %d of %s.", e.Differ, spelling.Plural(len(e.Seeds), "seed"))
	}
	if e.Noise != nil {
		s.Says += fmt.Sprintf(" The baseline was compared with itself in %s.", spelling.Plural(e.Noise.Pairs, "pair"))
	}
	if e.outcome == verdict.Invalid {
		s.Blocks = append(s.Blocks, section.List(e.why()))
	}
	t := &section.Table{Label: "Metrics of " + e.name + " (" + strconv.Itoa(i+1) + ")", Columns: []section.Column{{Name: "Metric"}, {Name: "Verdict"}, {Name: "Change", Number: true}, {Name: v.interval(), Number: true}, {Name: "Allowed", Number: true}, {Name: "p", Number: true}, {Name: "Baseline → candidate", Number: true}}}
	if e.Noise != nil {
		t.Columns = append(t.Columns, section.Column{Name: "Noise floor", Number: true})
	}
	finds := slices.ContainsFunc(e.metrics, func(m metric) bool { return m.Found != nil })
	if finds {
		t.Columns = append(t.Columns, section.Column{Name: "Found in 9 of 10", Number: true})
	}
	var shown, folded []chart.Panel // of metrics that need attention, and of others
	for k := range e.metrics {
		m := &e.metrics[k]
		name, outcome := m.Name, pageMarks[m.outcome]+" "+word(m.outcome)
		if over := m.over(); over != "" {
			name += ", " + over
		}
		if m.By == verdict.ByFingerprint {
			outcome += ", by fingerprint"
		}
		if m.Reason != "" {
			outcome += ": " + m.Reason
		}
		row := []section.Cell{{Text: name}, {Text: outcome, State: states[m.outcome]}, {Text: m.change(m.worse)}, {Text: m.between()}, {Text: m.allowed()}, {Text: m.probability()}, {Text: m.values()}}
		if e.Noise != nil {
			floor := words.None
			if f, ok := m.floor(); ok {
				floor = share(f)
			}
			row = append(row, section.Cell{Text: floor})
		}
		if finds {
			found := words.None
			if m.Found != nil {
				found = m.change(*m.Found)
			}
			row = append(row, section.Cell{Text: found})
		}
		t.Rows = append(t.Rows, section.Row{Cells: row})
		attention := m.outcome == verdict.Fail || m.outcome == verdict.Inconclusive
		if m.By == verdict.ByFingerprint || len(m.Pairs) == 0 || *drawn >= mostDrawn && !attention || *drawn >= 2*mostDrawn {
			continue
		}
		*drawn++
		p := chart.Panel{Title: m.Name, Subtitle: word(m.outcome) + ": " + m.change(m.worse) + ", " + m.values(), Chart: m.dots(v.interval())}
		if attention {
			shown = append(shown, p)
		} else {
			folded = append(folded, p)
		}
	}
	figure := func(id string, panels []chart.Panel) *chart.Figure {
		return &chart.Figure{ID: s.ID + id, Title: s.Title, Columns: 3, Panels: panels}
	}
	s.Blocks = append(s.Blocks, t, figure("-dots", shown), section.Fold{Title: "Drawings of the metrics that are not worse", Blocks: []section.Block{figure("-more", folded)}})
	if e.Reproduce != "" {
		s.Blocks = append(s.Blocks, section.Paragraph("This experiment alone:"), section.Code(e.Reproduce))
	}
	return s
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
