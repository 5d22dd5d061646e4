package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/csiglab/csiglab/metrics/meaning"
	"github.com/csiglab/csiglab/orchestrator/compare/statistics"
	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/section/variants"
	"github.com/csiglab/csiglab/reports/words"
)

// Overall is a metric over all cases: by how much B is greater in the geometric mean of the cases,
// as a share of A, with the interval over the seeds. Of each seed it is the mean over the cases.
type Overall struct {
	Name   string   `json:"name"`
	Effect float64  `json:"effect"`
	Low    *float64 `json:"low"`
	High   *float64 `json:"high"`
	// Outcome is better, worse or changed where the interval leaves out 0, and inconclusive where it
	// has it. It is not corrected for the number of metrics.
	Outcome variants.Effect `json:"outcome"`
}

// overall returns the metrics that all cases have with the same seeds in pairs, and no value of 0: those
// that are worse first, then better, changed and inconclusive, each by size.
func (c *Comparison) overall() (all []Overall) {
	if len(c.Cases) < 2 || slices.ContainsFunc(c.Cases, func(o CaseComparison) bool { return !o.Paired || !slices.Equal(o.Seeds, c.Cases[0].Seeds) }) {
		return nil
	}
	for i := range c.Cases[0].Metrics {
		name := c.Cases[0].Metrics[i].Name
		logs := make([]float64, len(c.Cases[0].Seeds))
		if !c.addLogs(name, logs) {
			continue
		}
		pairs := make([]statistics.Pair, len(logs))
		for k, sum := range logs {
			pairs[k] = statistics.Pair{Baseline: 1, Candidate: math.Exp(sum / float64(len(c.Cases)))}
		}
		e := statistics.Compare(pairs, statistics.Plan{Confidence: c.Confidence}).Estimate
		all = append(all, newOverall(&c.Cases[0].Metrics[i], e))
	}
	slices.SortStableFunc(all, func(a, b Overall) int { return a.telling(&b) })
	return all
}

// telling orders means by outcome and size.
func (o *Overall) telling(b *Overall) int {
	return cmp.Or(cmp.Compare(slices.Index(Effects, o.Outcome), slices.Index(Effects, b.Outcome)), cmp.Compare(math.Abs(b.Effect), math.Abs(o.Effect)))
}

func newOverall(m *MetricComparison, e statistics.Estimate) Overall {
	o := Overall{m.Name, e.Effect, statistics.Finite(e.Low), statistics.Finite(e.High), Inconclusive}
	switch {
	case o.Low == nil || o.High == nil || *o.Low <= 0 && *o.High >= 0:
	case m.Better == "":
		o.Outcome = Changed
	case (*o.Low > 0) == (m.Better == meaning.Higher.String()):
		o.Outcome = variants.Better
	default:
		o.Outcome = variants.Worse
	}
	return o
}

// addLogs adds the logarithms of B over A of all cases, by seed, unless a case lacks one.
func (c *Comparison) addLogs(name string, logs []float64) bool {
	for i := range c.Cases {
		k := slices.IndexFunc(c.Cases[i].Metrics, func(m MetricComparison) bool { return m.Name == name })
		if k < 0 {
			return false
		}
		m := &c.Cases[i].Metrics[k]
		if len(m.ValuesA) != len(logs) || len(m.ValuesB) != len(logs) {
			return false
		}
		for s := range logs {
			if !(m.ValuesA[s] > 0) || !(m.ValuesB[s] > 0) {
				return false
			}
			logs[s] += math.Log(m.ValuesB[s] / m.ValuesA[s])
		}
	}
	return true
}

// title says what the means are over.
func (c *Comparison) overallTitle() string {
	return fmt.Sprintf("geometric means over %s, %s", words.Plural(len(c.Cases), "case"), words.Plural(len(c.Cases[0].Seeds), "seed"))
}

// overallRows are the first of the means for a terminal.
func (c *Comparison) overallRows(most int) []string {
	if len(c.Overall) == 0 {
		return nil
	}
	var text strings.Builder
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for i := range c.Overall[:min(most, len(c.Overall))] {
		o := &c.Overall[i]
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", o.Outcome, words.Shortened(o.Name, 40), words.Change(o.Effect), o.interval())
	}
	t.Flush() // cannot fail: text in memory
	return append([]string{c.overallTitle() + ":"}, strings.Split(strings.TrimRight(text.String(), "\n"), "\n")...)
}

func (o *Overall) interval() string {
	if o.Low == nil || o.High == nil {
		return "no interval"
	}
	return words.Change(*o.Low) + " … " + words.Change(*o.High)
}

// overallPart is the part of the page.
func (c *Comparison) overallPart() section.Part {
	t := &section.Table{Label: "Over all cases", Columns: phrases.Columns("Metric", "B against A", "Interval", "")}
	for i := range c.Overall {
		o := &c.Overall[i]
		t.Rows = append(t.Rows, section.Row{Cells: phrases.Cells(o.Name, words.Change(o.Effect), o.interval(), string(o.Outcome))})
	}
	return section.Part{ID: "overall", Title: "Over all cases", Says: words.Capital(c.overallTitle()) + ", of the metrics that all have.", Level: section.Telling, Blocks: []section.Block{t}}
}
