// Package metrics shows the metrics of the experiment: the key ones, and every one.
package metrics

import (
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/words"
)

// Section is the section of metrics. Its numbers are facts.
type Section struct {
	section.Base
	r *reading.Reading
}

// New returns the section of a folder.
func New(r *reading.Reading) section.Section { return &Section{r: r} }

// queryMetrics lists metrics by name. Its quotation marks are those of a POSIX shell.
const queryMetrics = `duckdb -c "SELECT variant, seed, name, value FROM 'metrics.parquet' WHERE name LIKE 'fct_us.%'"`

// Parts implements section.Section.
func (s *Section) Parts() []section.Part {
	key, all := s.key(), s.all()
	if len(all.Rows) == 0 {
		return nil
	}
	return []section.Part{{ID: "metrics", Title: "Key metrics", Says: words.Plural(len(key.Rows), "metric") + " of the whole run.",
		Blocks: []section.Block{key, section.Fold{Title: s.title(), Blocks: []section.Block{all}}}}}
}

// key lists the metrics of the whole run with a column for every variant. It
// leaves out those of classes of ports, such as queue_kb.p99.down, and those that are 0
// in every variant, as most counts of tags are.
func (s *Section) key() *section.Table {
	t := &section.Table{Label: "Key metrics", Columns: phrases.Columns("Metric", "Unit"), Note: "Medians over the seeds, without metrics that are 0 in every variant, and without those of single flows and ports and of classes of ports."}
	units := map[string]string{}
	for _, v := range s.r.Variants {
		t.Columns = append(t.Columns, section.Column{Name: v.Name, Number: true, Variant: v.Name})
		for _, m := range v.Metrics {
			if m.Median != nil && *m.Median != 0 && !m.OfFlow && strings.Count(m.Name, ".") < 2 {
				units[m.Name] = m.Unit
			}
		}
	}
	for _, name := range words.SortedKeys(units) {
		row := phrases.Cells(phrases.Metric(&s.r.Facts, name), units[name])
		for i := range s.r.Variants {
			text := words.None
			if median, ok := s.r.Variants[i].Median(name); ok {
				text = words.Number(median)
			}
			row = append(row, section.Cell{Text: text})
		}
		t.Rows = append(t.Rows, section.Row{Cells: row})
	}
	return t
}

// maxDetails bounds the table of every metric.
const maxDetails = 1000

// all lists every metric with a column for every variant: its median and its range
// over the seeds.
func (s *Section) all() *section.Table {
	t := &section.Table{Label: s.title(), Columns: phrases.Columns("Metric", "Unit")}
	units := map[string]string{}
	for _, v := range s.r.Variants {
		t.Columns = append(t.Columns, section.Column{Name: v.Name, Number: true, Variant: v.Name})
		for _, m := range v.Metrics {
			if m.Seeds.Count > 0 && (m.Seeds.Min != 0 || m.Seeds.Max != 0) {
				units[m.Name] = m.Unit
			}
		}
	}
	names := words.SortedKeys(units)
	for _, name := range names[:min(maxDetails, len(names))] {
		row := phrases.Cells(phrases.Metric(&s.r.Facts, name), units[name])
		for _, v := range s.r.Variants {
			text := words.None
			i, ok := slices.BinarySearchFunc(v.Metrics, name, func(m reading.Metric, name string) int { return strings.Compare(m.Name, name) })
			if ok && v.Metrics[i].Seeds.Count > 0 {
				text = withSpread(&v.Metrics[i])
			}
			row = append(row, section.Cell{Text: text})
		}
		t.Rows = append(t.Rows, section.Row{Cells: row})
	}
	t.Note = "Median (least … greatest of the seeds), without metrics that are 0 in every run."
	if len(names) > maxDetails {
		t.Note += fmt.Sprintf(" The first %d of %s; metrics.parquet has them all, by name in column name.", maxDetails, words.Plural(len(names), "metric"))
		t.Query = queryMetrics
	}
	if d := s.r.Details; d != nil {
		t.Note += fmt.Sprintf(" %s has %s more, of %s: their name is in column name, what they are about in column subject.", d.File, words.Plural(int(d.Metrics), "metric"), words.List(d.Of))
		t.Query = queryMetrics
	}
	return t
}

// title is the heading of the table of metrics.
func (s *Section) title() string {
	if s.r.Details != nil {
		return "Every metric but those of single " + words.List(s.r.Details.Of)
	}
	return "Every metric of every flow"
}

// withSpread prints a metric as its median and its range over the seeds. Without a median
// some seed lacks it.
func withSpread(m *reading.Metric) string {
	text := phrases.Optional(m.Median).Text
	if m.Median != nil && m.Seeds.Min == m.Seeds.Max {
		return text
	}
	return fmt.Sprintf("%s (%s … %s)", text, words.Number(m.Seeds.Min), words.Number(m.Seeds.Max))
}
