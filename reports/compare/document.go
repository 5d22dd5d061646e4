package compare

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/reports/page"
	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/section/variants"
	"github.com/csiglab/csiglab/reports/words"
)

// maxOverlaid is how many cases of a comparison have charts on its page.
const maxOverlaid = 4

// WriteHTML writes a comparison of two folders as one HTML file that needs no network.
// overlays has the figures of the cases, in their order; it may be shorter.
func WriteHTML(w io.Writer, c *Comparison, overlays []Overlay) error {
	if err := document(words.Plain(c), *words.Plain(&overlays)).WriteHTML(w); err != nil {
		return fmt.Errorf("write comparison: %w", err)
	}
	return nil
}

// WriteMarkdown writes the comparison as Markdown: what changed first.
func (c *Comparison) WriteMarkdown(w io.Writer) error {
	if err := document(words.Plain(c), nil).WriteMarkdown(w); err != nil {
		return fmt.Errorf("write comparison: %w", err)
	}
	return nil
}

func document(c *Comparison, overlays []Overlay) *page.Document {
	d := &page.Document{Title: "Comparison: " + c.A.Experiment, About: []string{"A: " + c.A.Folder, "B: " + c.B.Folder}, Banner: banner(c), Story: story(c), Notes: c.Notes}
	if c.B.Experiment != c.A.Experiment {
		d.Title += " and " + c.B.Experiment
	}
	if text := inWords(c); text != "" {
		if counts, ok := strings.CutPrefix(d.Banner.Headline, "B against A: "); ok {
			d.Banner.Headline = "B against A: " + text + " (" + counts + ")"
		}
	}
	add := func(p section.Part) { d.Parts = append(d.Parts, p) }
	if len(c.Differs) > 0 {
		add(section.Part{ID: "differs", Title: "What was set differently", Says: c.differences(c.Differs), Level: section.Loud, Blocks: []section.Block{c.differsTable(c.Differs)}})
	}
	if len(c.Overall) > 0 {
		add(c.overallPart())
	}
	told, helped := c.told(), false
	for i := range c.Cases {
		one := &c.Cases[i]
		id, title := fmt.Sprintf("case-%d", i), c.caseTitle(one)
		if differs := c.differsTable(one.Differs); len(differs.Rows) > 0 {
			add(section.Part{ID: id + "-differs", Title: title + ": what was set differently", Says: c.differences(one.Differs), Level: level(one), Blocks: []section.Block{differs}})
		}
		p := section.Part{ID: id, Title: title, Says: words.Capital(caseText(c, one)) + ".", Level: level(one)}
		if help := caseHelp(c, one); help != "" && !helped { // what helps the first one helps the others
			helped = true
			p.Blocks = append(p.Blocks, section.Paragraph(help))
		}
		p.Blocks = append(p.Blocks, metricsTable(one, false))
		if f := effectsFigure(c, one, id); f != nil {
			p.Blocks = append(p.Blocks, section.Fold{Title: f.Title, Blocks: []section.Block{f}})
		}
		add(p)
		switch {
		case i < min(len(overlays), maxOverlaid):
			for _, p := range overlays[i].parts(id, title) {
				if one != told { // the figures of one are enough to begin with
					p.Level = section.Quiet
				}
				add(p)
			}
		case i < len(overlays):
			add(section.Part{ID: id + "-figures", Title: title + ": figures", Says: "Not drawn. Name the variant to see them, as in csiglab compare A:VARIANT B:VARIANT."})
		}
		if same := metricsTable(one, true); len(same.Rows) > 0 {
			add(section.Part{ID: id + "-same", Title: title + ": the same", Says: words.Plural(len(same.Rows), "metric") + ".", Blocks: []section.Block{same}})
		}
	}
	sides := &section.Table{Label: "What was compared", Columns: phrases.Columns("Side", "Folder", "Experiment", "csiglab", "Command")}
	for i, side := range []*Measured{&c.A, &c.B} {
		sides.Rows = append(sides.Rows, section.Row{Cells: phrases.Cells(string(rune('A'+i)), side.Folder, side.Experiment, side.Version, strings.Join(side.Command, " "))})
	}
	add(section.Part{ID: "how", Title: "What was compared", Blocks: []section.Block{sides, section.Paragraph("A and B are medians over the seeds. " + rule(c, ""))}})
	return d
}

// level says how much a case has to say.
func level(c *CaseComparison) section.Level {
	switch {
	case len(c.With(variants.Worse))+len(c.With(variants.Better)) > 0:
		return section.Loud
	case len(c.With(Changed)) > 0:
		return section.Telling
	case len(c.With(Inconclusive)) > 0:
		return section.Plain
	}
	return section.Quiet
}

// maxDiffering bounds what a sentence names of what differs.
const maxDiffering = 3

// differences says what differs.
func (c *Comparison) differences(all []Disparity) string {
	var texts []string
	for _, d := range all[:min(len(all), maxDiffering)] {
		texts = append(texts, fmt.Sprintf("%s: %s in A, %s in %s", words.Shortened(d.What, 60), orNone(words.Shortened(d.A, 40)), orNone(words.Shortened(d.B, 40)), c.named()))
	}
	text := strings.Join(texts, "; ")
	if rest := len(all) - maxDiffering; rest > 0 {
		text += fmt.Sprintf("; and %d more", rest)
	}
	return text + "."
}

// told returns the case that the story is of: the one that changed most, or else the one that
// differs the most although the seeds do not tell; nil without.
func (c *Comparison) told() (most *CaseComparison) {
	for i := range c.Cases {
		if one := &c.Cases[i]; tellingCase(one) > 0 && (most == nil || tellingCase(one) > tellingCase(most)) {
			most = one
		}
	}
	if most == nil {
		most, _ = c.open()
	}
	return most
}

// story says what came out: what changed in the case that changed most, and what differs
// between the two sides that may be the reason. Where the seeds do not tell, it says so.
func story(c *Comparison) (told []string) {
	most, changed := c.told(), 0
	if most == nil {
		return nil
	}
	for i := range c.Cases {
		if tellingCase(&c.Cases[i]) > 0 {
			changed++
		}
	}
	end := ""
	if n := len(c.Cases); n > 1 {
		what := "variants"
		if c.A.Sweep {
			what = "points and variants"
		}
		end = fmt.Sprintf("; %d of %d %s differ", changed, n, what)
	}
	all := headline(slices.Concat(most.With(variants.Worse), most.With(variants.Better), most.With(Changed)))
	if changed == 0 {
		_, all = c.open()
		end = "; the seeds do not tell whether this is chance"
	}
	var texts []string
	for _, m := range all {
		texts = append(texts, fmt.Sprintf("%s is %s", nameOf(m.Name), valueText(m)))
	}
	text := "in " + c.named() + " " + strings.Join(texts, ", and ") + end
	if len(c.Cases) > 1 || most.VariantA != most.VariantB {
		text = c.caseTitle(most) + ": " + text
	}
	told = append(told, words.Capital(text)+".")
	if len(c.Differs)+len(most.Differs) > 0 {
		told = append(told, "Set differently: "+c.differences(slices.Concat(most.Differs, c.Differs)))
	}
	return told
}

// open returns the case whose metrics of headlines differ the most although the seeds do not
// tell, with these metrics.
func (c *Comparison) open() (most *CaseComparison, all []*MetricComparison) {
	greatest := c.Delta
	for i := range c.Cases {
		for _, m := range headline(c.Cases[i].With(Inconclusive)) {
			if rank(m) < len(headlines) && !m.Absolute && math.Abs(m.Effect) > greatest {
				greatest, most, all = math.Abs(m.Effect), &c.Cases[i], []*MetricComparison{m}
			}
		}
	}
	return most, all
}

// headlines are the metrics that say best how runs fare, the best first.
var headlines = []string{"fairness_ratio", "iteration_us.mean.", "fct_us.p99", "fct_us.mean", "slowdown.p99"}

// rank returns the place of a metric among headlines, or after them.
func rank(m *MetricComparison) int {
	at := slices.IndexFunc(headlines, func(name string) bool {
		return m.Name == name || strings.HasSuffix(name, ".") && strings.HasPrefix(m.Name, name)
	})
	if at < 0 {
		return len(headlines)
	}
	return at
}

// headline returns the metrics that a sentence names: the two that say best how the run
// fares, or else the one that changed the most.
func headline(all []*MetricComparison) []*MetricComparison {
	all = slices.SortedStableFunc(slices.Values(all), func(a, b *MetricComparison) int { return cmp.Compare(rank(a), rank(b)) })
	if len(all) > 1 && rank(all[1]) < len(headlines) {
		return all[:2]
	}
	return all[:min(1, len(all))]
}

// nameOf names a metric for readers who do not know the names of metrics.
func nameOf(metric string) string {
	if job, ok := strings.CutPrefix(metric, "iteration_us.mean."); ok {
		return "the time of a step of job " + job
	}
	switch metric {
	case "fairness_ratio":
		return "the fairness ratio"
	case "fct_us.mean":
		return "the mean completion time"
	case "fct_us.p99":
		return "the tail completion time (p99)"
	case "slowdown.p99":
		return "the tail slowdown (p99)"
	}
	return metric
}

// valueText prints a metric as "2 ms instead of 1 ms in A (+100 %)".
func valueText(m *MetricComparison) string {
	a, b := metricValues(m)
	return fmt.Sprintf("%s instead of %s in A (%s)", b, a, effectText(m))
}
