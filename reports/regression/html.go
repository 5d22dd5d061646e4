package regression

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/csiglab/csiglab/metrics/verdict"
	"github.com/csiglab/csiglab/reports"
)

//go:embed page/page.tmpl page/style.css
var parts embed.FS

var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.Must(template.New("page.tmpl").Funcs(template.FuncMap{
		"style": func() (template.CSS, error) {
			own, err := parts.ReadFile("page/style.css")
			return reports.Style() + template.CSS(own), err
		},
		"policy": reports.ContentPolicy,
	}).ParseFS(parts, "page/page.tmpl")).Parse(reports.TableTemplate()))
})

// Bounds of the page.
const (
	mostDrawn = 200 // dot plots
	mostShown = 500 // rows of a table of what needs attention
)

// page is what the template shows.
type page struct {
	Title               string
	State, Mark, Lead   string
	Headline            string
	Reasons             []string
	Failed, Open        reports.Table
	Changed             reports.Table
	Commands            []command
	Effects             *effects
	Setup               []fact
	Design              string
	Notes               []string
	Better              string
	Sections            []section
	Baseline, Candidate string
}

// command is what reproduces the verdict on an experiment.
type command struct{ Name, About, Text string }

// section is one experiment.
type section struct {
	ID, Name, State, Mark, About string
	Reasons                      []string
	Metrics                      reports.Table
	Drawn, Folded                []plot // of metrics that need attention, and of others
	Pairs                        []reports.Table
	Reproduce                    string
}

// plot is a dot plot with its title.
type plot struct {
	Title, Subtitle string
	SVG             template.HTML
}

// pageMarks are the marks of outcomes on the page, which do not depend on colour.
var pageMarks = map[verdict.Outcome]string{verdict.Pass: "✓", verdict.Fail: "✗", verdict.Inconclusive: "?", verdict.Invalid: "!"}

// states are the states of outcomes.
var states = map[verdict.Outcome]string{verdict.Pass: reports.StateGood, verdict.Fail: reports.StateBad, verdict.Inconclusive: reports.StateWarn, verdict.Invalid: reports.StateBad}

// HTML writes the verdict as one page that needs no network and no script.
func HTML(w io.Writer, d *verdict.Document) error {
	if err := pageTemplate().Execute(w, newView(d).page()); err != nil {
		return fmt.Errorf("write verdict: %w", err)
	}
	return nil
}

func (v *view) page() *page {
	p := &page{
		Title: "Suite " + v.Suite, State: states[v.outcome], Mark: pageMarks[v.outcome], Headline: word(v.outcome) + ": " + v.headline() + ".",
		Baseline: title(&v.Baseline), Candidate: title(&v.Candidate),
		Failed: v.failedTable(), Open: v.openTable(), Changed: v.changedTable(), Effects: v.effects(), Setup: v.setup(), Design: v.design(), Reasons: v.ended(),
	}
	if v.Suite == "" {
		p.Title = "Comparison"
	}
	if v.ended() == nil {
		p.Notes = v.Notes
	}
	for _, e := range v.invalid {
		for _, reason := range e.why() {
			p.Reasons = append(p.Reasons, e.name+": "+reason)
		}
	}
	if text, rest := v.lead(strings.Clone); text != "" {
		p.Lead = text + rest
		if len(v.failed) > 1 {
			p.Lead = "Worst: " + p.Lead
		}
	}
	for _, e := range v.commands() {
		p.Commands = append(p.Commands, command{e.name, e.about(), e.Reproduce})
	}
	if n := len(v.better); n > 0 {
		p.Better = fmt.Sprintf("%s got better by at least as much as is allowed as worse; the most: %s of %s, %s.", plural(n, "metric"), v.better[0].Name, v.better[0].experiment.name, v.better[0].direction())
	}
	drawn := 0
	for i := range v.experiments {
		p.Sections = append(p.Sections, v.section(&v.experiments[i], i, &drawn))
	}
	return p
}

func (v *view) failedTable() reports.Table {
	t := reports.Table{Label: "What got worse", Columns: []reports.Column{{Name: "Metric"}, {Name: "Experiment"}, {Name: "By", Number: true}, {Name: v.interval(), Number: true}, {Name: "Allowed", Number: true}, {Name: "p", Number: true}, {Name: "Baseline → candidate", Number: true}, {Name: "Seeds", Number: true}}}
	for _, m := range v.failed[:min(len(v.failed), mostShown)] {
		by := m.change(m.worse)
		if math.IsNaN(m.worse) && m.Reason != "" {
			by = m.Reason
		}
		t.Rows = append(t.Rows, []reports.Cell{{Text: m.Name}, {Text: m.experiment.name}, {Text: by, State: reports.StateBad}, {Text: m.between()}, {Text: m.allowed()}, {Text: m.probability()}, {Text: m.values()}, {Text: strconv.Itoa(len(m.Pairs))}})
	}
	return t
}

func (v *view) openTable() reports.Table {
	t := reports.Table{Label: "What is undecided", Columns: []reports.Column{{Name: "Metric"}, {Name: "Experiment"}, {Name: "By", Number: true}, {Name: v.interval(), Number: true}, {Name: "Allowed", Number: true}, {Name: "What would decide it"}}}
	for _, m := range v.open[:min(len(v.open), mostShown)] {
		t.Rows = append(t.Rows, []reports.Cell{{Text: m.Name}, {Text: m.experiment.name}, {Text: m.change(m.worse)}, {Text: m.between()}, {Text: m.allowed()}, {Text: m.deciding()}})
	}
	return t
}

func (v *view) changedTable() reports.Table {
	t := reports.Table{Label: "What changed and is not worse", Columns: []reports.Column{{Name: "Experiment"}, {Name: "Differs"}, {Name: "Moved the most"}, {Name: "By", Number: true}, {Name: "Allowed", Number: true}}}
	for _, e := range v.changed[:min(len(v.changed), mostShown)] {
		name, change, allowed := e.movement()
		t.Rows = append(t.Rows, []reports.Cell{{Text: e.name}, {Text: e.differing(), State: reports.StateWarn}, {Text: name}, {Text: change}, {Text: allowed}})
	}
	return t
}

// section shows an experiment. drawn counts the dot plots of the page.
func (v *view) section(e *experiment, i int, drawn *int) section {
	s := section{ID: fmt.Sprintf("experiment-%d", i+1), Name: e.name, State: states[e.outcome], Mark: pageMarks[e.outcome], Reproduce: e.Reproduce}
	s.About = fmt.Sprintf("%s. %s", word(e.outcome), plural(len(e.Seeds), "seed"))
	if e.Clock != "" {
		s.About += ", clock " + e.Clock
	}
	s.About += ", " + duration(e.Seconds) + " of runs."
	if n := len(e.Looks); n > 0 {
		s.About += fmt.Sprintf(" The statistics may look %s, at up to %s.", times(n), plural(e.Looks[n-1], "seed"))
	}
	if e.change == verdict.Identical {
		s.About += " The traces of both sides are identical in all seeds, so that no statistics are needed."
	} else if e.Differ > 0 {
		s.About += fmt.Sprintf(" The candidate's traces differ from the baseline's in %d of %s.", e.Differ, plural(len(e.Seeds), "seed"))
	}
	if e.Noise != nil {
		s.About += fmt.Sprintf(" The baseline was compared with itself in %s.", plural(e.Noise.Pairs, "pair"))
	}
	if e.outcome == verdict.Invalid {
		s.Reasons = e.why()
	}
	s.Metrics = reports.Table{Label: "Metrics of " + e.name + " (" + strconv.Itoa(i+1) + ")", Columns: []reports.Column{{Name: "Metric"}, {Name: "Verdict"}, {Name: "Change", Number: true}, {Name: v.interval(), Number: true}, {Name: "Allowed", Number: true}, {Name: "p", Number: true}, {Name: "Baseline → candidate", Number: true}}}
	if e.Noise != nil {
		s.Metrics.Columns = append(s.Metrics.Columns, reports.Column{Name: "Noise floor", Number: true})
	}
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
		row := []reports.Cell{{Text: name}, {Text: outcome, State: states[m.outcome]}, {Text: m.change(m.worse)}, {Text: m.between()}, {Text: m.allowed()}, {Text: m.probability()}, {Text: m.values()}}
		if e.Noise != nil {
			floor := reports.Missing
			if f, ok := m.floor(); ok {
				floor = share(f)
			}
			row = append(row, reports.Cell{Text: floor})
		}
		s.Metrics.Rows = append(s.Metrics.Rows, row)
		attention := m.outcome == verdict.Fail || m.outcome == verdict.Inconclusive
		if m.By == verdict.ByFingerprint || len(m.Pairs) == 0 || *drawn >= mostDrawn && !attention || *drawn >= 2*mostDrawn {
			continue
		}
		*drawn++
		p := plot{m.Name, word(m.outcome) + ": " + m.change(m.worse) + ", " + m.values(), m.dots(v.interval())}
		if attention {
			s.Drawn = append(s.Drawn, p)
		} else {
			s.Folded = append(s.Folded, p)
		}
	}
	return s
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
