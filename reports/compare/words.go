package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/section/variants"
	"github.com/csiglab/csiglab/reports/words"
)

// caseTitle names a case.
func (c *Comparison) caseTitle(one *CaseComparison) string {
	if len(one.Point) > 0 {
		return one.Name
	}
	if one.VariantA != one.VariantB {
		return "Variant " + one.VariantA + " of A and " + one.VariantB + " of " + c.named()
	}
	return "Variant " + one.Name
}

// outcomeCounts says how many metrics came out how, those without any left out.
func outcomeCounts(count func(variants.Effect) int) string {
	var parts []string
	for _, o := range Effects {
		if n := count(o); n > 0 {
			word := string(o)
			if o == variants.Same {
				word = "the same"
			}
			parts = append(parts, words.Number(float64(n))+" "+word)
		}
	}
	if len(parts) == 0 {
		return "no metric in common"
	}
	return strings.Join(parts, ", ")
}

// counts returns how many metrics came out how, and how many cases are identical.
func (c *Comparison) counts() (metrics map[variants.Effect]int, identical int) {
	metrics = map[variants.Effect]int{}
	for i := range c.Cases {
		if c.Cases[i].Identical {
			identical++
		}
		for k := range c.Cases[i].Metrics {
			metrics[c.Cases[i].Metrics[k].Outcome]++
		}
	}
	return metrics, identical
}

// banner is the comparison in short.
func banner(c *Comparison) section.Banner {
	counts, identical := c.counts()
	b := section.Banner{State: section.Good, Headline: "B against A: " + outcomeCounts(func(o variants.Effect) int { return counts[o] })}
	switch {
	case counts[variants.Worse] > 0 && counts[variants.Better] == 0:
		b.State = section.Bad
	case counts[variants.Worse]+counts[variants.Better]+counts[Changed]+counts[Inconclusive] > 0:
		b.State = section.Warn
	}
	switch {
	case identical == len(c.Cases) && identical > 0 && b.State == section.Good:
		b.Headline = "Identical: every seed has the same trace on both sides. " + words.Capital(outcomeCounts(func(o variants.Effect) int { return counts[o] }))
	case identical == len(c.Cases) && identical > 0:
		b.Headline = "Every seed has the same trace on both sides, but metrics differ: the two versions of csiglab compute them differently. " + words.Capital(outcomeCounts(func(o variants.Effect) int { return counts[o] }))
	case identical > 0:
		b.Headline += fmt.Sprintf("; %d of %d are identical, trace by trace", identical, len(c.Cases))
	}
	return b
}

// caseText says how a case was compared and what came out.
func caseText(c *Comparison, one *CaseComparison) string {
	return c.seedsText(one) + ": " + c.outcomeText(one)
}

// seedsText says of which seeds a comparison is.
func (c *Comparison) seedsText(one *CaseComparison) string {
	switch {
	case one.Identical:
		return "identical, " + words.Plural(one.SeedsA, "seed") + " with the same trace on both sides"
	case one.Paired && len(one.Seeds) == one.SeedsA && one.SeedsA == one.SeedsB:
		return words.Plural(len(one.Seeds), "seed") + " in pairs"
	case one.Paired:
		return fmt.Sprintf("%s in pairs, of %d of A and %d of %s", words.Plural(len(one.Seeds), "seed"), one.SeedsA, one.SeedsB, c.named())
	}
	return fmt.Sprintf("%s of A, %s of %s, not paired", words.Plural(one.SeedsA, "seed"), words.Plural(one.SeedsB, "seed"), c.named())
}

// outcomeText says what came out of a case.
func (c *Comparison) outcomeText(one *CaseComparison) string {
	text := outcomeCounts(func(o variants.Effect) int { return len(one.With(o)) })
	for _, only := range []struct {
		names []string
		side  string
	}{{one.OnlyA, "A"}, {one.OnlyB, c.named()}} {
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
func caseHelp(c *Comparison, one *CaseComparison) string {
	open := one.With(Inconclusive)
	if len(open) == 0 {
		return ""
	}
	seeds := min(one.SeedsA, one.SeedsB)
	if one.Paired {
		seeds = len(one.Seeds)
	}
	enough, both := c.FewestSeeds(one.Tested), "both"
	if c.side != "" {
		both = "all"
	}
	if one.Swapped {
		return fmt.Sprintf("%s show differences that all of them have alike; --seeds %d on %s sides finds others, or fewer metrics with --metric.", words.Plural(seeds, "seed"), enough, both)
	}
	if one.Paired {
		enough = min(enough, one.fewestSwapped(c.Confidence))
	}
	if seeds < enough {
		are, fewer := " are", ""
		if seeds == 1 {
			are = " is"
		}
		if enough > c.FewestSeeds(max(one.Sides, 1)) {
			fewer = ", or name fewer metrics with --metric"
		}
		return fmt.Sprintf("%s%s too few to rule out chance; run %s with --seeds %d%s.", words.Plural(seeds, "seed"), are, both, enough, fewer)
	}
	if slices.ContainsFunc(open, func(m *MetricComparison) bool { return m.Low == nil || m.High == nil || *m.High-*m.Low > wide }) {
		return "More seeds make the intervals narrower: run " + both + " with a higher --seeds."
	}
	return ""
}

// wide is from which width on, as a share, an interval is wide.
const wide = 0.1

// subjects name what metrics are about, by the beginning of their names.
var subjects = []struct {
	name   string
	begins []string
}{
	{"fairness", []string{"jain.", "fairness"}},
	{"steps", []string{"iteration_"}},
	{"completion times", []string{"fct_", "slowdown", "message_us", "cct_us"}},
	{"queues", []string{"queue_", "hop_delay_"}},
	{"rates", []string{"rate_", "goodput_", "algbw_", "busbw_"}},
	{"losses", []string{"trims", "drops", "packets.retransmitted", "retransmit_"}},
}

// inWords says in which subjects B is worse and better; "" if in none.
func inWords(c *Comparison) string {
	of := map[string][]string{}
	for _, subject := range subjects {
		about := map[variants.Effect]bool{}
		for i := range c.Cases {
			for k := range c.Cases[i].Metrics {
				m := &c.Cases[i].Metrics[k]
				if slices.ContainsFunc(subject.begins, func(begin string) bool { return strings.HasPrefix(m.Name, begin) }) {
					about[m.Outcome] = true
				}
			}
		}
		switch {
		case about[variants.Worse] && about[variants.Better]:
			of["worse and better in "] = append(of["worse and better in "], subject.name)
		case about[variants.Worse]:
			of["worse in "] = append(of["worse in "], subject.name)
		case about[variants.Better]:
			of["better in "] = append(of["better in "], subject.name)
		}
	}
	var parts []string
	for _, how := range []string{"worse in ", "better in ", "worse and better in "} {
		if of[how] != nil {
			parts = append(parts, how+words.List(of[how]))
		}
	}
	return strings.Join(parts, "; ")
}

func (c *Comparison) differsTable(all []Disparity) *section.Table {
	t := &section.Table{Label: "What was set differently", Columns: []section.Column{{Name: "What"}, {Name: "A"}, {Name: c.named()}}}
	for _, d := range all {
		t.Rows = append(t.Rows, section.Row{Cells: phrases.Cells(d.What, orNone(d.A), orNone(d.B))})
	}
	return t
}

func orNone(text string) string { return cmp.Or(text, words.None) }

// metricsTable lists the metrics that are the same, or the others.
func metricsTable(one *CaseComparison, same bool) *section.Table {
	t := &section.Table{Label: "What changed", Columns: []section.Column{{Name: "Metric"}, {Name: "A", Number: true}, {Name: "B", Number: true}, {Name: "Difference", Number: true}, {Name: "Interval", Number: true}, {Name: "Outcome"}, {Name: "Remark"}}}
	remarks := false
	metrics := slices.Clone(one.Metrics)
	slices.SortStableFunc(metrics, func(a, b MetricComparison) int {
		return cmp.Or(cmp.Compare(slices.Index(Effects, a.Outcome), slices.Index(Effects, b.Outcome)), cmp.Compare(importance(&a), importance(&b)))
	})
	for i := range metrics {
		m := &metrics[i]
		if (m.Outcome == variants.Same) != same {
			continue
		}
		a, b := metricValues(m)
		remarks = remarks || m.Reason != ""
		t.Rows = append(t.Rows, section.Row{Cells: []section.Cell{{Text: m.Name}, {Text: a}, {Text: b}, {Text: effectText(m)}, {Text: intervalText(m)}, OutcomeCell(m.Outcome), {Text: m.Reason}}})
	}
	if !remarks {
		t.Columns = t.Columns[:6]
		for i := range t.Rows {
			t.Rows[i].Cells = t.Rows[i].Cells[:6]
		}
	}
	return t
}

// important are the beginnings of the names of metrics that readers look for first, and
// negligible what is next to nothing, by unit.
var (
	important  = []string{"iteration_", "fct_", "slowdown", "exposed_", "rate_"}
	negligible = map[string]float64{"µs": 0.1, "kB": 1, "packets": 1}
)

// importance orders metrics: the important ones, others, and those that hardly differ.
func importance(m *MetricComparison) int {
	if math.Abs(m.B.Median-m.A.Median) < negligible[m.Unit] {
		return len(important) + 1
	}
	if at := slices.IndexFunc(important, func(begin string) bool { return strings.HasPrefix(m.Name, begin) }); at >= 0 {
		return at
	}
	return len(important)
}

// OutcomeCell is the cell of a table that has an outcome.
func OutcomeCell(o variants.Effect) section.Cell {
	switch o {
	case variants.Better:
		return section.Cell{Text: "✓ better", State: section.Good}
	case variants.Worse:
		return section.Cell{Text: "✗ worse", State: section.Bad}
	case variants.Same:
		return section.Cell{Text: "= same"}
	case Inconclusive:
		return section.Cell{Text: "? inconclusive"}
	}
	return section.Cell{Text: "≠ changed"}
}

// metricValues prints the medians of both sides in one unit.
func metricValues(m *MetricComparison) (a, b string) {
	q := variants.Quantity{Unit: m.Unit, Base: m.A, Value: m.B}
	a, b, unit := q.Texts()
	if unit == "" && m.Unit != "packets" {
		unit = m.Unit
	}
	if unit != "" {
		unit = "\u00a0" + unit
	}
	return a + unit, b + unit
}

// effectText prints the difference with its sign: a share, or a number with its unit.
func effectText(m *MetricComparison) string { return differenceText(m, m.Effect) }

func differenceText(m *MetricComparison, v float64) string {
	if !m.Absolute {
		return words.Change(v)
	}
	unit, factor := words.ScaleOf(m.Unit, v)
	text := strings.TrimRight(words.Three(math.Abs(v)*factor)+"\u00a0"+unit, "\u00a0")
	switch {
	case v < 0:
		return "−" + text
	case v > 0:
		return "+" + text
	}
	return text
}

func intervalText(m *MetricComparison) string {
	switch {
	case m.Low == nil && m.High == nil:
		return words.None
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

// Texts returns the difference and its interval as people read them.
func (m *MetricComparison) Texts() (effect, interval string) { return effectText(m), intervalText(m) }

// rule says what the words mean. Where several sides are compared with A, B is each of them, and
// all stands behind the metrics that share the confidence.
func rule(c *Comparison, all string) string {
	delta, level := words.Number(100*c.Delta)+"\u00a0%", words.Number(100*c.Confidence)+"\u00a0%"
	return fmt.Sprintf("Difference: by how much B is greater, in the median over pairs of the same seed, with an interval of %s; it is not the quotient of the two medians, which may be of different seeds. Same: the interval lies within ±%s, or all seeds are equal. Better, worse or, of metrics without a direction, changed: "+
		"it does not, and a rank test corrected for all metrics of the variant%s (Holm), or with few seeds swapping the sides of each seed in all metrics at once, says at %s that there is a difference. Otherwise the seeds do not tell: inconclusive.", level, delta, all, level)
}
