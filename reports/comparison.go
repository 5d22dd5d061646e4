package reports

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/csiglab/csiglab/reports/analysis"
)

// comparisonPage is what Markdown and HTML show of a comparison of two folders, as text.
type comparisonPage struct {
	Title   string
	Verdict banner
	Sides   table
	Differs table
	Notes   []string
	Cases   []comparedCase
}

// comparedCase is one case of a comparison.
type comparedCase struct {
	ID      string
	Title   string
	Text    string // how many seeds, and how many metrics came out how
	Help    string // what would tell more; may be empty
	Differs table
	Metrics table // that are not the same
	Same    table
}

func newComparisonPage(c *analysis.FolderComparison) *comparisonPage {
	p := &comparisonPage{Title: "Comparison: " + c.A.Experiment, Verdict: comparisonBanner(c), Notes: c.Notes}
	if c.B.Experiment != c.A.Experiment {
		p.Title += " and " + c.B.Experiment
	}
	p.Sides = table{Columns: []column{{Name: "Side"}, {Name: "Folder"}, {Name: "Experiment"}, {Name: "csiglab"}, {Name: "Command"}}}
	for i, side := range []*analysis.Measured{&c.A, &c.B} {
		p.Sides.Rows = append(p.Sides.Rows, []cell{{Text: string(rune('A' + i))}, {Text: side.Folder}, {Text: side.Experiment}, {Text: side.Version}, {Text: strings.Join(side.Command, " ")}})
	}
	p.Differs = differsTable(c.Differs)
	for i := range c.Cases {
		one := &c.Cases[i]
		p.Cases = append(p.Cases, comparedCase{ID: fmt.Sprintf("case-%d", i), Title: caseTitle(one), Text: caseText(c, one), Help: caseHelp(c, one), Differs: differsTable(one.Differs),
			Metrics: metricsTable(one, false), Same: metricsTable(one, true)})
	}
	return p
}

// caseTitle names a case.
func caseTitle(c *analysis.CaseComparison) string {
	if len(c.Point) > 0 {
		return c.Name
	}
	if c.VariantA != c.VariantB {
		return "Variant " + c.VariantA + " of A and " + c.VariantB + " of B"
	}
	return "Variant " + c.Name
}

// outcomeCounts says how many metrics came out how, those without any left out.
func outcomeCounts(count func(analysis.Effect) int) string {
	var parts []string
	for _, o := range analysis.Effects {
		if n := count(o); n > 0 {
			word := string(o)
			if o == analysis.Same {
				word = "the same"
			}
			parts = append(parts, number(float64(n))+" "+word)
		}
	}
	if len(parts) == 0 {
		return "no metric in common"
	}
	return strings.Join(parts, ", ")
}

// comparisonBanner is the comparison in short.
func comparisonBanner(c *analysis.FolderComparison) banner {
	counts := map[analysis.Effect]int{}
	identical := 0
	for i := range c.Cases {
		if c.Cases[i].Identical {
			identical++
		}
		for k := range c.Cases[i].Metrics {
			counts[c.Cases[i].Metrics[k].Outcome]++
		}
	}
	b := banner{State: stateGood, Headline: "B against A: " + outcomeCounts(func(o analysis.Effect) int { return counts[o] })}
	switch {
	case counts[analysis.Worse] > 0:
		b.State = stateBad
	case counts[analysis.Better]+counts[analysis.Changed]+counts[analysis.Inconclusive] > 0:
		b.State = stateWarn
	}
	switch {
	case identical == len(c.Cases) && identical > 0 && b.State == stateGood:
		b.Headline = "Identical: every seed has the same trace on both sides. " + capital(outcomeCounts(func(o analysis.Effect) int { return counts[o] }))
	case identical == len(c.Cases) && identical > 0:
		b.Headline = "Every seed has the same trace on both sides, but metrics differ: the two versions of csiglab compute them differently. " + capital(outcomeCounts(func(o analysis.Effect) int { return counts[o] }))
	case identical > 0:
		b.Headline += fmt.Sprintf("; %d of %d are identical, trace by trace", identical, len(c.Cases))
	}
	return b
}

// caseText says how a case was compared and what came out.
func caseText(c *analysis.FolderComparison, one *analysis.CaseComparison) string {
	seeds := ""
	switch {
	case one.Identical:
		seeds = "identical, " + plural(one.SeedsA, "seed") + " with the same trace on both sides"
	case one.Paired && len(one.Seeds) == one.SeedsA && one.SeedsA == one.SeedsB:
		seeds = plural(len(one.Seeds), "seed") + " in pairs"
	case one.Paired:
		seeds = fmt.Sprintf("%s in pairs, of %d of A and %d of B", plural(len(one.Seeds), "seed"), one.SeedsA, one.SeedsB)
	default:
		seeds = fmt.Sprintf("%s of A, %s of B, not paired", plural(one.SeedsA, "seed"), plural(one.SeedsB, "seed"))
	}
	text := seeds + ": " + outcomeCounts(func(o analysis.Effect) int { return len(one.With(o)) })
	for _, only := range []struct {
		names []string
		side  string
	}{{one.OnlyA, "A"}, {one.OnlyB, "B"}} {
		if len(only.names) > 0 {
			text += fmt.Sprintf("; only in %s: %s", only.side, shortList(only.names, 3))
		}
	}
	return text
}

// shortList names the first few.
func shortList(names []string, most int) string {
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// caseHelp says what would turn inconclusive metrics into others.
func caseHelp(c *analysis.FolderComparison, one *analysis.CaseComparison) string {
	open := one.With(analysis.Inconclusive)
	if len(open) == 0 {
		return ""
	}
	seeds := min(one.SeedsA, one.SeedsB)
	if one.Paired {
		seeds = len(one.Seeds)
	}
	interval, difference := c.FewestSeeds(1), c.FewestSeeds(one.Tested)
	level := number(100*c.Confidence) + "\u00a0%"
	switch {
	case seeds < interval && one.Tested > 1:
		return fmt.Sprintf("%s: too few for an interval. %d give one of %s; with %d a difference in one of %d metrics can be found: run both with --seeds %d.", plural(seeds, "seed"), interval, level, difference, one.Tested, difference)
	case seeds < interval:
		return fmt.Sprintf("%s: too few for an interval of %s; %d are enough: run both with --seeds %d.", plural(seeds, "seed"), level, interval, interval)
	case seeds < difference:
		return fmt.Sprintf("%s are too few to find a difference in one of %d metrics; %d are enough: run both with --seeds %d, or name fewer metrics with --metric.", plural(seeds, "seed"), one.Tested, difference, difference)
	}
	return "More seeds make the intervals narrower: run both with a higher --seeds."
}

func differsTable(all []analysis.Disparity) table {
	t := table{Label: "What differs beside the results", Columns: []column{{Name: "What"}, {Name: "A"}, {Name: "B"}}}
	for _, d := range all {
		t.Rows = append(t.Rows, []cell{{Text: d.What}, {Text: orNone(d.A)}, {Text: orNone(d.B)}})
	}
	return t
}

func orNone(text string) string {
	if text == "" {
		return none
	}
	return text
}

// metricsTable lists the metrics that are the same, or the others.
func metricsTable(one *analysis.CaseComparison, same bool) table {
	t := table{Label: "Metrics", Columns: []column{{Name: "Metric"}, {Name: "A", Number: true}, {Name: "B", Number: true}, {Name: "Difference", Number: true}, {Name: "Interval", Number: true}, {Name: "Outcome"}, {Name: "Remark"}}}
	remarks := false
	for i := range one.Metrics {
		m := &one.Metrics[i]
		if (m.Outcome == analysis.Same) != same {
			continue
		}
		a, b := metricValues(m)
		remarks = remarks || m.Reason != ""
		t.Rows = append(t.Rows, []cell{{Text: m.Name}, {Text: a}, {Text: b}, {Text: effectText(m)}, {Text: intervalText(m)}, outcomeCell(m), {Text: m.Reason}})
	}
	if !remarks {
		t.Columns = t.Columns[:6]
		for i := range t.Rows {
			t.Rows[i] = t.Rows[i][:6]
		}
	}
	return t
}

func outcomeCell(m *analysis.MetricComparison) cell {
	switch m.Outcome {
	case analysis.Better:
		return cell{"✓ better", stateGood}
	case analysis.Worse:
		return cell{"✗ worse", stateBad}
	case analysis.Same:
		return cell{Text: "= same"}
	case analysis.Inconclusive:
		return cell{Text: "? inconclusive"}
	}
	return cell{Text: "≠ changed"}
}

// metricValues prints the medians of both sides in one unit.
func metricValues(m *analysis.MetricComparison) (a, b string) {
	q := analysis.Quantity{Unit: m.Unit, Base: m.A, Value: m.B}
	a, b, unit := quantityValues(&q)
	if unit == "" && m.Unit != "packets" {
		unit = m.Unit
	}
	if unit != "" {
		unit = "\u00a0" + unit
	}
	return a + unit, b + unit
}

// effectText prints the difference with its sign: a share, or a number with its unit.
func effectText(m *analysis.MetricComparison) string { return differenceText(m, m.Effect) }

func differenceText(m *analysis.MetricComparison, v float64) string {
	if !m.Absolute {
		return change(v)
	}
	text := three(math.Abs(v))
	if m.Unit != "" {
		text += "\u00a0" + m.Unit
	}
	switch {
	case v < 0:
		return "−" + text
	case v > 0:
		return "+" + text
	}
	return text
}

func intervalText(m *analysis.MetricComparison) string {
	switch {
	case m.Low == nil && m.High == nil:
		return none
	case m.Low == nil:
		return "up to " + differenceText(m, *m.High)
	case m.High == nil:
		return "from " + differenceText(m, *m.Low)
	}
	low, high := differenceText(m, *m.Low), differenceText(m, *m.High)
	if low == high {
		return low
	}
	return low + " … " + high
}

// WriteComparisonMarkdown writes a comparison of two folders as Markdown: what changed first.
func WriteComparisonMarkdown(w io.Writer, c *analysis.FolderComparison) error {
	c = plain(c)
	p := newComparisonPage(c)
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "# %s\n\n**%s.**\n", escape(p.Title), escape(p.Verdict.Headline))
	for i := range p.Cases {
		one := &p.Cases[i]
		fmt.Fprintf(b, "\n## %s\n\n%s.\n", escape(one.Title), escape(capital(one.Text)))
		if one.Help != "" {
			fmt.Fprintf(b, "\n%s\n", escape(one.Help))
		}
		writeTableAt(b, "###", "What changed", &one.Metrics)
		writeTableAt(b, "###", "The same", &one.Same)
		writeTableAt(b, "###", "What differs beside the results", &one.Differs)
	}
	writeTable(b, "What differs beside the results", &p.Differs)
	if len(p.Notes) > 0 {
		b.WriteString("\n## Notes\n")
		for _, text := range p.Notes {
			fmt.Fprintf(b, "\n- %s", escape(text))
		}
		b.WriteString("\n")
	}
	writeTable(b, "What was compared", &p.Sides)
	fmt.Fprintf(b, "\n%s\n", escape(comparisonRule(c)))
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write comparison: %w", err)
	}
	return nil
}

// comparisonRule says what the words mean.
func comparisonRule(c *analysis.FolderComparison) string {
	delta, level := number(100*c.Delta)+"\u00a0%", number(100*c.Confidence)+"\u00a0%"
	return fmt.Sprintf("A and B are medians over the seeds. Difference: by how much B is greater, in the median over pairs of the same seed, with an interval of %s; it is not the quotient of the two medians, which may be of different seeds. Same: the interval lies within ±%s, or all seeds are equal. Better, worse or, of metrics without a direction, changed: "+
		"it does not, and a rank test corrected for all metrics of the variant (Holm) says at %s that there is a difference. Otherwise the seeds do not tell: inconclusive.", level, delta, level)
}

// Bounds of the text form: a screen.
const (
	screenLines   = 24
	screenDiffers = 3
)

// WriteComparisonText writes a comparison of two folders for a terminal: at most a screen, the
// most telling first. more is the command that shows all.
func WriteComparisonText(w io.Writer, c *analysis.FolderComparison, more string) error {
	c = plain(c)
	var lines []string
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	say("%s.", comparisonBanner(c).Headline)
	for i, side := range []*analysis.Measured{&c.A, &c.B} {
		say("%c  %s (%s, csiglab %s)", 'A'+i, shortened(side.Folder, 80), shortened(side.Experiment, 40), shortened(side.Version, 40))
	}
	if differs := allDiffers(c); len(differs) > 0 {
		text := strings.Join(differs[:min(len(differs), screenDiffers)], "; ")
		if rest := len(differs) - screenDiffers; rest > 0 {
			text += fmt.Sprintf("; and %d more", rest)
		}
		say("differs: %s", text)
	}
	for _, note := range c.Notes {
		say("note: %s", shortened(note, 160))
	}
	cases := slices.Clone(c.Cases)
	slices.SortStableFunc(cases, func(a, b analysis.CaseComparison) int { return tellingCase(&b) - tellingCase(&a) })
	// What is left of the screen: three lines at the end, and for each case its heading and a
	// share of the others.
	room := screenLines - len(lines) - 3
	shown := min(len(cases), max(1, room/2))
	each := max(1, room/max(shown, 1)-1)
	left, help := 0, ""
	for i := range cases[:shown] {
		one := &cases[i]
		say("%s: %s", shortened(caseTitle(one), 80), caseText(c, one))
		rows, rest := caseRows(one, each)
		lines = append(lines, rows...)
		left += rest
		if help == "" {
			help = caseHelp(c, one)
		}
	}
	if help != "" { // what helps the first one helps the others
		say("%s", help)
	}
	if rest := len(cases) - shown; rest > 0 {
		say("variants and points left out: %d", rest)
	}
	if left > 0 || shown < len(cases) {
		say("all: %s", more)
	}
	if _, err := io.WriteString(w, strings.Join(lines, "\n")+"\n"); err != nil {
		return fmt.Errorf("write comparison: %w", err)
	}
	return nil
}

// tellingCase ranks cases: those with more that is worse first, then better, then changed.
func tellingCase(c *analysis.CaseComparison) int {
	const most = 1000
	rank := 0
	for _, o := range []analysis.Effect{analysis.Worse, analysis.Better, analysis.Changed} {
		rank = rank*most + min(len(c.With(o)), most-1)
	}
	return rank
}

// allDiffers are the disparities in words, each once.
func allDiffers(c *analysis.FolderComparison) (texts []string) {
	add := func(d *analysis.Disparity) {
		text := fmt.Sprintf("%s %s → %s", shortened(d.What, 60), orNone(shortened(d.A, 40)), orNone(shortened(d.B, 40)))
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	for i := range c.Differs {
		add(&c.Differs[i])
	}
	for i := range c.Cases {
		for k := range c.Cases[i].Differs {
			add(&c.Cases[i].Differs[k])
		}
	}
	return texts
}

// caseRows lists the most telling metrics that are not the same, and says how many it lacks.
func caseRows(one *analysis.CaseComparison, most int) (rows []string, rest int) {
	var text strings.Builder
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	total, free := 0, most
	for _, o := range analysis.Effects {
		if o == analysis.Same {
			continue
		}
		all := one.With(o)
		total += len(all)
		n := min(len(all), free)
		if o == analysis.Worse { // they leave some lines to what is better
			n = min(n, most-min(most/3, len(one.With(analysis.Better))))
		}
		free -= n
		for _, m := range all[:n] {
			outcome := string(o)
			if o == analysis.Worse {
				outcome = "WORSE"
			}
			a, b := metricValues(m)
			interval := intervalText(m)
			if interval == none {
				interval = "no interval"
			}
			fmt.Fprintf(t, "  %s\t%s\t%s → %s\t%s\t%s\n", outcome, shortened(m.Name, 40), a, b, effectText(m), interval)
		}
	}
	if total == 0 {
		return nil, 0
	}
	t.Flush() // cannot fail: text in memory
	rows = strings.Split(strings.TrimRight(text.String(), "\n"), "\n")
	return rows, total - len(rows)
}
