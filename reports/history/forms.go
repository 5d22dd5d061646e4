package history

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
	"github.com/csiglab/csiglab/reports/compare"
	"github.com/csiglab/csiglab/reports/page"
	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/section/variants"
	"github.com/csiglab/csiglab/reports/words"
)

// Bounds of the text form: a screen.
const (
	screenRevisions = 10
	screenChanges   = 10
)

// move is a metric where it changed.
type move struct {
	*Metric
	at int // of its points
}

func (m *move) point() *Point { return &m.Points[m.at] }

// allMoves returns all changes by more than the noise, the latest first, and those of one revision by
// outcome.
func (h *History) allMoves() (all []move) {
	for i := range h.Metrics {
		m := &h.Metrics[i]
		for k := range m.Points {
			if m.Points[k].Change.moved() {
				all = append(all, move{m, k})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b move) int {
		return cmp.Or(b.point().Revision-a.point().Revision, cmp.Compare(slices.Index(compare.Effects, a.point().Change.Outcome), slices.Index(compare.Effects, b.point().Change.Outcome)))
	})
	return all
}

// values prints the medians before and after.
func (m *move) values() string {
	before, after := m.Points[m.at-1].Median, m.point().Median
	unit, factor := words.ScaleOf(m.Unit, before, after)
	return strings.TrimRight(words.Three(before*factor)+" → "+words.Three(after*factor)+"\u00a0"+unit, "\u00a0")
}

// difference prints the change with its interval.
func (m *move) difference() string {
	effect, interval := m.point().Change.of.Texts()
	if strings.Contains(interval, "…") {
		effect += " (" + interval + ")"
	}
	return effect
}

// changedText counts what changed at a revision, "" if nothing did.
func changedText(counts map[variants.Effect]int) string {
	var parts []string
	for _, o := range []variants.Effect{variants.Worse, variants.Better, compare.Changed} {
		if counts[o] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[o], o))
		}
	}
	return strings.Join(parts, ", ")
}

// name names the suites.
func (h *History) name() string {
	var all []string
	for _, r := range h.Revisions {
		if r.Suite != "" && !slices.Contains(all, r.Suite) {
			all = append(all, r.Suite)
		}
	}
	return words.Shortened(strings.Join(all, ", "), 80)
}

const day = "2006-01-02"

// span says how many revisions there are, and from when to when.
func (h *History) span() string {
	first, last := h.Revisions[0].Date.Format(day), h.Revisions[len(h.Revisions)-1].Date.Format(day)
	text := words.Plural(len(h.Revisions), "revision")
	if first == last {
		return text + " of " + first
	}
	return text + " from " + first + " to " + last
}

// banner is the history in short: the last verdict, and what changed.
func (h *History) banner() section.Banner {
	changed := h.changed()
	b := section.Banner{State: section.Good, Headline: fmt.Sprintf("%s: %d of %s changed by more than the noise", words.Capital(h.span()), len(changed), words.Plural(len(h.Metrics), "metric"))}
	if slices.ContainsFunc(changed, func(m *Metric) bool { return m.Points[m.lastMove()].Change.Outcome == variants.Worse }) {
		b.State = section.Warn
	}
	switch last := &h.Revisions[len(h.Revisions)-1]; last.Outcome {
	case verdict.Fail, verdict.Invalid:
		b.State = section.Bad
		fallthrough
	case verdict.Pass, verdict.Inconclusive:
		b.Headline += "; the last verdict is " + string(last.Outcome)
	}
	return b
}

// WriteText writes the history for a terminal. more is the command that shows all.
func (h *History) WriteText(w io.Writer, more string) error {
	h = words.Plain(h)
	var text strings.Builder
	if name := h.name(); name != "" {
		fmt.Fprintf(&text, "%s: ", name)
	}
	fmt.Fprintf(&text, "%s.\n", h.banner().Headline)
	for _, note := range h.Notes {
		fmt.Fprintf(&text, "note: %s\n", words.Shortened(note, 200))
	}
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "  #\tdate\trevision\tverdict\twhat changed\n")
	skip := max(0, len(h.Revisions)-screenRevisions)
	for i, r := range h.Revisions[skip:] {
		fmt.Fprintf(t, "  %d\t%s\t%s\t%s\t%s\n", skip+i+1, r.Date.Format(day), words.Shortened(r.Name, 40), cmp.Or(string(r.Outcome), words.None), changedText(h.moves(skip+i+1)))
	}
	t.Flush() // cannot fail: text in memory
	all := h.allMoves()
	if len(all) > 0 {
		fmt.Fprintf(t, "  \tat #\texperiment\tmetric\tbefore → after\tdifference\n")
		for _, m := range all[:min(len(all), screenChanges)] {
			outcome := string(m.point().Change.Outcome)
			if m.point().Change.Outcome == variants.Worse {
				outcome = "WORSE"
			}
			fmt.Fprintf(t, "  %s\t%d\t%s\t%s\t%s\t%s\n", outcome, m.point().Revision, words.Shortened(m.Experiment, 40), words.Shortened(m.Name, 40), m.values(), m.difference())
		}
		t.Flush() // as above
	}
	if skip > 0 || len(all) > screenChanges {
		fmt.Fprintf(&text, "all: %s\n", more)
	}
	lines := strings.Split(text.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	if _, err := io.WriteString(w, strings.Join(lines, "\n")); err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	return nil
}

// WriteHTML writes the history as one HTML file that needs no network.
func (h *History) WriteHTML(w io.Writer) error {
	if err := h.document().WriteHTML(w); err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	return nil
}

// WriteMarkdown writes the history as Markdown.
func (h *History) WriteMarkdown(w io.Writer) error {
	if err := h.document().WriteMarkdown(w); err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	return nil
}

func (h *History) document() *page.Document {
	h = words.Plain(h)
	d := &page.Document{Title: strings.TrimSpace("History of " + cmp.Or(h.name(), "metrics")), Banner: h.banner(), Notes: h.Notes}
	if all := h.allMoves(); len(all) > 0 {
		t := &section.Table{Label: "What changed", Columns: []section.Column{{Name: "At", Number: true}, {Name: "Revision"}, {Name: "Experiment"}, {Name: "Metric"}, {Name: "Before → after", Number: true}, {Name: "Difference", Number: true}, {Name: "Outcome"}}}
		for _, m := range all {
			p := m.point()
			outcome := compare.OutcomeCell(p.Change.Outcome)
			if p.Redefined {
				outcome.Text += ", redefined"
			}
			t.Rows = append(t.Rows, section.Row{Cells: append(phrases.Cells(strconv.Itoa(p.Revision), h.Revisions[p.Revision-1].Name, m.Experiment, m.Name, m.values(), m.difference()), outcome)})
		}
		d.Parts = append(d.Parts, section.Part{ID: "changes", Title: "What changed", Says: "By more than the noise of the seeds, the latest first.", Level: section.Loud, Blocks: []section.Block{t}})
	}
	d.Parts = append(d.Parts, section.Part{ID: "revisions", Title: "Revisions", Says: words.Capital(h.span()) + ".", Level: section.Telling, Blocks: []section.Block{h.revisionsTable()}})
	drawn := 0
	for from := 0; from < len(h.Metrics); {
		to := from
		for to < len(h.Metrics) && h.Metrics[to].Experiment == h.Metrics[from].Experiment {
			to++
		}
		d.Parts = append(d.Parts, h.part(h.Metrics[from:to], from, &drawn))
		from = to
	}
	d.Parts = append(d.Parts, section.Part{ID: "how", Title: "How to read this", Blocks: []section.Block{section.Paragraph(h.rule())}})
	return d
}

// rule says what the words mean.
func (h *History) rule() string {
	level := words.Number(100*h.Confidence) + "\u00a0%"
	return fmt.Sprintf("A value is the median over the seeds, with an interval of %s of the median (sign test). A change is against the last revision before that has the metric, in pairs of the same seed, with an interval of %s: it is the same within ±%s\u00a0%%, or if all seeds are equal; better, worse or changed, if a test that is corrected for all metrics of the revision says so at %s. "+
		"The verdict is that of csiglab regress against the baseline that the table of revisions names, which need not be the revision before, and with the limits of the suite. Of a verdict the date is that of the commit if it names one, and otherwise when the comparison began.", level, level, words.Number(100*h.Delta), level)
}

// outcomes are the cells of verdicts.
var outcomes = map[verdict.Outcome]section.Cell{
	verdict.Pass: {Text: "✓ pass", State: section.Good}, verdict.Fail: {Text: "✗ fail", State: section.Bad}, verdict.Inconclusive: {Text: "? inconclusive", State: section.Warn}, verdict.Invalid: {Text: "! invalid", State: section.Bad},
}

func (h *History) revisionsTable() *section.Table {
	t := &section.Table{Label: "Revisions", Columns: []section.Column{{Name: "#", Number: true}, {Name: "Date"}, {Name: "Revision"}, {Name: "Verdict"}, {Name: "Against"}, {Name: "Failed"}, {Name: "Changed since the one before"}, {Name: "From"}}}
	for i, r := range h.Revisions {
		outcome, ok := outcomes[r.Outcome]
		if !ok {
			outcome.Text = cmp.Or(string(r.Outcome), words.None)
		}
		failed := strings.Join(r.Failed[:min(len(r.Failed), 3)], ", ")
		if rest := len(r.Failed) - 3; rest > 0 {
			failed += fmt.Sprintf(" and %d more", rest)
		}
		cells := append(phrases.Cells(strconv.Itoa(i+1), r.Date.Format("2006-01-02 15:04"), r.Name), outcome)
		t.Rows = append(t.Rows, section.Row{Cells: append(cells, phrases.Cells(cmp.Or(r.Against, words.None), cmp.Or(failed, words.None), changedText(h.moves(i+1)), r.Source)...)})
	}
	slices.Reverse(t.Rows)                          // the latest first
	phrases.Same(t, "Verdict", "Against", "Failed") // baseline files have none
	return t
}
