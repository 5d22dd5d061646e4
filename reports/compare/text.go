package compare

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/csiglab/csiglab/reports/section/variants"
	"github.com/csiglab/csiglab/reports/words"
)

// Bounds of the text form: a screen.
const (
	screenLines   = 24
	screenDiffers = 3
	screenOverall = 4
)

// WriteCSV writes a row for each metric that is compared, and for each geometric mean.
func (c *Comparison) WriteCSV(w io.Writer) error {
	return writeCSV(w, slices.Concat([][]string{columns}, c.rows()))
}

func writeCSV(w io.Writer, rows [][]string) error {
	return csv.NewWriter(w).WriteAll(rows)
}

var columns = []string{"case", "metric", "unit", "better", "a", "b", "effect", "low", "high", "absolute", "p", "outcome"}

// rows are those of CSV, with the columns.
func (c *Comparison) rows() (rows [][]string) {
	number := func(v *float64) string {
		if v == nil {
			return ""
		}
		return strconv.FormatFloat(*v, 'g', -1, 64)
	}
	for i := range c.Cases {
		for k := range c.Cases[i].Metrics {
			m := &c.Cases[i].Metrics[k]
			rows = append(rows, []string{c.Cases[i].Name, m.Name, m.Unit, m.Better, number(&m.A.Median), number(&m.B.Median), number(&m.Effect), number(m.Low), number(m.High), strconv.FormatBool(m.Absolute), number(&m.P), string(m.Outcome)})
		}
	}
	for i := range c.Overall {
		o := &c.Overall[i]
		rows = append(rows, []string{"geometric mean of all cases", o.Name, "", "", "", "", number(&o.Effect), number(o.Low), number(o.High), "false", "", string(o.Outcome)})
	}
	return rows
}

// WriteText writes the comparison for a terminal: at most a screen, the most telling first.
// more is the command that shows all.
func (c *Comparison) WriteText(w io.Writer, more string) error {
	c = words.Plain(c)
	var lines []string
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	say("%s.", banner(c).Headline)
	for i, side := range []*Measured{&c.A, &c.B} {
		say("%c  %s", 'A'+i, side.text(side.Folder))
	}
	if text := differsText(c, screenDiffers); text != "" {
		say("differs: %s", text)
	}
	for _, note := range c.Notes {
		say("note: %s", words.Shortened(note, 160))
	}
	lines = append(lines, c.overallRows(screenOverall)...)
	cases := slices.Clone(c.Cases)
	slices.SortStableFunc(cases, func(a, b CaseComparison) int { return tellingCase(&b) - tellingCase(&a) })
	// What is left of the screen: three lines at the end, and for each case its heading and a
	// share of the others.
	room := screenLines - len(lines) - 3
	shown := min(len(cases), max(1, room/2))
	each := max(1, room/max(shown, 1)-1)
	left, help := 0, ""
	for i := range cases[:shown] {
		one := &cases[i]
		say("%s: %s", words.Shortened(c.caseTitle(one), 80), caseText(c, one))
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

// text names the side on a line of a terminal.
func (m *Measured) text(name string) string {
	name = words.Shortened(name, 80)
	if m.foreign() {
		return name
	}
	return fmt.Sprintf("%s (%s, csiglab %s)", name, words.Shortened(m.Experiment, 40), words.Shortened(m.Version, 40))
}

// tellingCase ranks cases: those with more that is worse first, then better, then changed.
func tellingCase(c *CaseComparison) int {
	const most = 1000
	rank := 0
	for _, o := range []variants.Effect{variants.Worse, variants.Better, Changed} {
		rank = rank*most + min(len(c.With(o)), most-1)
	}
	return rank
}

// differsText names the first disparities; "" without.
func differsText(c *Comparison, most int) string {
	all := allDiffers(c)
	text := strings.Join(all[:min(len(all), most)], "; ")
	if rest := len(all) - most; rest > 0 {
		text += fmt.Sprintf("; and %d more", rest)
	}
	return text
}

// allDiffers are the disparities in words, each once.
func allDiffers(c *Comparison) (texts []string) {
	add := func(d *Disparity) {
		text := fmt.Sprintf("%s %s → %s", words.Shortened(d.What, 60), orNone(words.Shortened(d.A, 40)), orNone(words.Shortened(d.B, 40)))
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
func caseRows(one *CaseComparison, most int) (rows []string, rest int) {
	var text strings.Builder
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	total, free := 0, most
	for _, o := range Effects {
		if o == variants.Same {
			continue
		}
		all := one.With(o)
		total += len(all)
		n := min(len(all), free)
		if o == variants.Worse { // they leave some lines to what is better
			n = min(n, most-min(most/3, len(one.With(variants.Better))))
		}
		free -= n
		for _, m := range all[:n] {
			outcome := string(o)
			if o == variants.Worse {
				outcome = "WORSE"
			}
			a, b := metricValues(m)
			interval := intervalText(m)
			if interval == words.None {
				interval = "no interval"
			}
			fmt.Fprintf(t, "  %s\t%s\t%s → %s\t%s\t%s\n", outcome, words.Shortened(m.Name, 40), a, b, effectText(m), interval)
		}
	}
	if total == 0 {
		return nil, 0
	}
	t.Flush() // cannot fail: text in memory
	rows = strings.Split(strings.TrimRight(text.String(), "\n"), "\n")
	return rows, total - len(rows)
}
