package compare

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/csiglab/csiglab/reports/page"
	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/section/variants"
	"github.com/csiglab/csiglab/reports/words"
)

// mostIntervals is with how many sides beside A lines of a terminal have intervals.
const mostIntervals = 3

// WriteCSV writes the rows of each comparison, which have the letter of the side first.
func (s *Several) WriteCSV(w io.Writer) error {
	rows := [][]string{slices.Concat([]string{"side"}, columns)}
	for _, c := range s.Comparisons {
		for _, r := range c.rows() {
			rows = append(rows, slices.Concat([]string{c.named()}, r))
		}
	}
	return writeCSV(w, rows)
}

// WriteText writes the comparison for a terminal: the most telling first, and a column for each side.
// more is the command that shows all.
func (s *Several) WriteText(w io.Writer, more string) error {
	s = s.plain()
	var lines []string
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	say("%s.", s.banner().Headline)
	say("A  %s", s.Comparisons[0].A.text(s.sides[0]))
	for i, c := range s.Comparisons {
		say("%s  %s", c.named(), c.B.text(s.sides[i+1]))
	}
	for _, c := range s.Comparisons {
		if text := differsText(c, screenDiffers); text != "" {
			say("differs in %s: %s", c.named(), text)
		}
	}
	for _, note := range s.notes() {
		say("note: %s", words.Shortened(note, 160))
	}
	if names, of := s.overall(); len(names) > 0 {
		table := s.table()
		for _, name := range names[:min(len(names), screenOverall)] {
			line := []string{words.Shortened(name, 40), ""}
			for _, o := range of[name] {
				line = append(line, s.cell(o != nil, func() (variants.Effect, string, string) { return o.outcome(), words.Change(o.Effect), o.interval() }))
			}
			table = append(table, line)
		}
		say("%s:", s.overallTitle())
		lines = append(lines, aligned(table)...)
	}
	groups := s.groups()
	slices.SortStableFunc(groups, func(a, b group) int { return b.telling() - a.telling() })
	room := max(screenLines-len(lines)-3, leastRoom)
	shown := min(len(groups), max(1, room/3))
	each := max(1, room/max(shown, 1)-2)
	left, help := 0, ""
	for i := range groups[:shown] {
		g := &groups[i]
		say("%s: %s", words.Shortened(s.title(g), 80), s.says(g))
		rows := slices.DeleteFunc(g.rows(), func(r row) bool { return r.same() })
		table := s.table()
		for _, r := range rows[:min(len(rows), each)] {
			line := []string{words.Shortened(r.most().Name, 40), r.base()}
			for _, m := range r.of {
				line = append(line, s.cell(m != nil, func() (variants.Effect, string, string) { return m.Outcome, effectText(m), intervalText(m) }))
			}
			table = append(table, line)
		}
		if len(rows) > 0 {
			lines = append(lines, aligned(table)...)
		}
		left += max(0, len(rows)-each)
		help = cmp.Or(help, s.help(g))
	}
	if help != "" { // what helps the first one helps the others
		say("%s", help)
	}
	if rest := len(groups) - shown; rest > 0 {
		say("variants and points left out: %d", rest)
	}
	if left > 0 || shown < len(groups) || len(s.Comparisons) > mostIntervals {
		say("all: %s", more)
	}
	if _, err := io.WriteString(w, strings.Join(lines, "\n")+"\n"); err != nil {
		return fmt.Errorf("write comparison: %w", err)
	}
	return nil
}

// outcome is that of a mean among those of several sides, of which some may be equal in all cases.
func (o *Overall) outcome() variants.Effect {
	if o.Low != nil && o.High != nil && *o.Low == 0 && *o.High == 0 {
		return variants.Same
	}
	return o.Outcome
}

// leastRoom is how many lines metrics have, however many sides there are.
const leastRoom = 8

// plain returns the comparison with texts that are safe to show.
func (s *Several) plain() *Several {
	p := *words.Plain(s)
	p.sides = *words.Plain(&s.sides)
	return &p
}

// table begins a table of a terminal: a line for each metric, and a column for A and each side.
func (s *Several) table() [][]string {
	head := []string{"metric", "A"}
	for _, c := range s.Comparisons {
		head = append(head, c.named())
	}
	return [][]string{head}
}

// cell prints what a line of a terminal says of one side.
func (s *Several) cell(ok bool, of func() (outcome variants.Effect, effect, interval string)) string {
	if !ok {
		return words.None
	}
	outcome, effect, interval := of()
	switch text := string(outcome); {
	case outcome == variants.Same:
		return text
	case outcome == variants.Worse:
		effect = "WORSE " + effect
	default:
		effect = text + " " + effect
	}
	if len(s.Comparisons) > mostIntervals || !strings.Contains(interval, "…") {
		return effect
	}
	return effect + " (" + interval + ")"
}

func aligned(table [][]string) []string {
	var text strings.Builder
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, line := range table {
		fmt.Fprintln(t, "  "+strings.Join(line, "\t"))
	}
	t.Flush() // cannot fail: text in memory
	lines := strings.Split(strings.TrimRight(text.String(), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

// overallTitle says what the means are over.
func (s *Several) overallTitle() string {
	return s.Comparisons[slices.IndexFunc(s.Comparisons, func(c *Comparison) bool { return len(c.Overall) > 0 })].overallTitle()
}

// WriteMarkdown writes the comparison as Markdown: what changed first.
func (s *Several) WriteMarkdown(w io.Writer) error {
	if err := s.document(nil).WriteMarkdown(w); err != nil {
		return fmt.Errorf("write comparison: %w", err)
	}
	return nil
}

// writeHTML writes the comparison as one HTML file that needs no network. overlays has the figures of
// each comparison, nil where there are none; it may be nil.
func (s *Several) writeHTML(w io.Writer, overlays []*Overlay) error {
	if err := s.document(overlays).WriteHTML(w); err != nil {
		return fmt.Errorf("write comparison: %w", err)
	}
	return nil
}

func (s *Several) document(overlays []*Overlay) *page.Document {
	s = s.plain()
	a := &s.Comparisons[0].A
	d := &page.Document{Title: "Comparison: " + a.Experiment, Banner: s.banner(), Notes: s.notes()}
	sides := &section.Table{Label: "What was compared", Columns: phrases.Columns("Side", "Folder", "Experiment", "csiglab", "Command")}
	for i, name := range s.sides {
		side := a
		if i > 0 {
			side = &s.Comparisons[i-1].B
		}
		d.About = append(d.About, letter(i)+": "+name)
		sides.Rows = append(sides.Rows, section.Row{Cells: phrases.Cells(letter(i), name, side.Experiment, side.Version, strings.Join(side.Command, " "))})
	}
	for _, c := range s.Comparisons {
		if text := inWords(c); text != "" {
			d.Banner.Reasons = append(d.Banner.Reasons, words.Capital(c.named()+" is "+text+"."))
		}
		d.Story = append(d.Story, story(c)...)
		if len(c.Differs) > 0 {
			d.Parts = append(d.Parts, section.Part{ID: "differs-" + c.named(), Title: "What is set differently in " + c.named(), Says: c.differences(c.Differs), Level: section.Loud, Blocks: []section.Block{c.differsTable(c.Differs)}})
		}
	}
	if names, of := s.overall(); len(names) > 0 {
		t := &section.Table{Label: "Over all cases", Columns: slices.Concat(phrases.Columns("Metric"), s.columns())}
		for _, name := range names {
			cells := phrases.Cells(name)
			for _, o := range of[name] {
				if o == nil {
					cells = append(cells, section.Cell{Text: words.None})
				} else {
					cells = append(cells, pageCell(OutcomeCell(o.outcome()), words.Change(o.Effect), o.interval()))
				}
			}
			t.Rows = append(t.Rows, section.Row{Cells: cells})
		}
		d.Parts = append(d.Parts, section.Part{ID: "overall", Title: "Over all cases", Says: words.Capital(s.overallTitle()) + ", of the metrics that all have.", Level: section.Telling, Blocks: []section.Block{t}})
	}
	helped := false
	for i, g := range s.groups() {
		d.Parts = append(d.Parts, s.parts(&g, fmt.Sprintf("case-%d", i), &helped)...)
	}
	drawn := false
	for k, o := range overlays {
		if o == nil {
			continue
		}
		c := s.Comparisons[k]
		title := c.named() + " over A"
		if len(c.Cases) > 1 {
			title += ", " + c.caseTitle(c.told())
		}
		for _, p := range words.Plain(o).parts("side-"+c.named(), title) {
			if drawn { // the figures of one are enough to begin with
				p.Level = section.Quiet
			}
			d.Parts = append(d.Parts, p)
		}
		drawn = true
	}
	d.Parts = append(d.Parts, section.Part{ID: "how", Title: "What was compared", Blocks: []section.Block{sides,
		section.Paragraph("A's values are medians over the seeds, and every other side is compared with A as B is. " + rule(s.Comparisons[0], ", of all sides together"))}})
	return d
}

// columns are those of the sides that are compared with A.
func (s *Several) columns() (all []section.Column) {
	for _, c := range s.Comparisons {
		all = append(all, section.Column{Name: c.named() + " against A", Number: true})
	}
	return all
}

// parts are those of one group.
func (s *Several) parts(g *group, id string, helped *bool) (parts []section.Part) {
	title := s.title(g)
	p := section.Part{ID: id, Title: title, Says: words.Capital(s.says(g)) + ".", Level: g.level()}
	if help := s.help(g); help != "" && !*helped { // what helps the first one helps the others
		*helped = true
		p.Blocks = append(p.Blocks, section.Paragraph(help))
	}
	rows := g.rows()
	slices.SortStableFunc(rows, func(a, b row) int { return a.important(&b) })
	p.Blocks = append(p.Blocks, s.metrics(rows, false))
	for k, one := range g.of {
		c := s.Comparisons[k]
		if one == nil {
			continue
		}
		if f := effectsFigure(c, one, id+"-"+c.named()); f != nil {
			f.Title = c.named() + " against A: differences with their intervals"
			p.Blocks = append(p.Blocks, section.Fold{Title: f.Title, Blocks: []section.Block{f}})
		}
		if len(one.Differs) > 0 {
			parts = append(parts, section.Part{ID: id + "-differs-" + c.named(), Title: title + ": what is set differently in " + c.named(), Says: c.differences(one.Differs), Level: level(one), Blocks: []section.Block{c.differsTable(one.Differs)}})
		}
	}
	parts = append(parts, p)
	if same := s.metrics(rows, true); len(same.Rows) > 0 {
		parts = append(parts, section.Part{ID: id + "-same", Title: title + ": the same on all sides", Says: words.Plural(len(same.Rows), "metric") + ".", Blocks: []section.Block{same}})
	}
	return parts
}

// metrics lists the metrics that are the same on all sides, or the others.
func (s *Several) metrics(rows []row, same bool) *section.Table {
	t := &section.Table{Label: "What changed", Columns: slices.Concat([]section.Column{{Name: "Metric"}, {Name: "A", Number: true}}, s.columns(), []section.Column{{Name: "Remark"}})}
	remarks := false
	for _, r := range rows {
		if r.same() != same {
			continue
		}
		cells := phrases.Cells(r.most().Name, r.base())
		var remark []string
		for k, m := range r.of {
			if m == nil {
				cells = append(cells, section.Cell{Text: words.None})
				continue
			}
			cells = append(cells, pageCell(OutcomeCell(m.Outcome), effectText(m), intervalText(m)))
			if m.Reason != "" && m.Outcome != variants.Same {
				remark = append(remark, s.Comparisons[k].named()+": "+m.Reason)
			}
		}
		remarks = remarks || len(remark) > 0
		t.Rows = append(t.Rows, section.Row{Cells: append(cells, section.Cell{Text: strings.Join(remark, "; ")})})
	}
	if !remarks {
		t.Columns = t.Columns[:len(t.Columns)-1]
		for i := range t.Rows {
			t.Rows[i].Cells = t.Rows[i].Cells[:len(t.Columns)]
		}
	}
	return t
}

// pageCell says in one cell by how much a side differs, with its interval, and how it came out.
func pageCell(outcome section.Cell, effect, interval string) section.Cell {
	if strings.Contains(interval, "…") {
		effect += " (" + interval + ")"
	}
	outcome.Text = effect + " " + outcome.Text
	return outcome
}
