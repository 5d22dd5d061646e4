package reports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/reports/analysis"
)

// keyMetrics lists the metrics of the whole run with a column for every variant. It
// leaves out those of classes of ports, such as queue_kb.p99.down, and those that are 0
// in every variant, as most counts of tags are.
func keyMetrics(r *analysis.Result) table {
	t := table{Columns: []column{{Name: "Metric"}, {Name: "Unit"}}, Note: "Medians over the seeds, without metrics that are 0 in every variant, and without those of single flows and ports and of classes of ports."}
	units := map[string]string{}
	for _, v := range r.Variants {
		t.Columns = append(t.Columns, column{v.Name, true})
		for _, m := range v.Metrics {
			if m.Median != nil && *m.Median != 0 && !m.OfFlow && strings.Count(m.Name, ".") < 2 {
				units[m.Name] = m.Unit
			}
		}
	}
	for _, name := range sortedKeys(units) {
		row := []cell{{Text: MetricLabel(r, name)}, {Text: units[name]}}
		for i := range r.Variants {
			text := none
			if median, ok := r.Variants[i].Median(name); ok {
				text = number(median)
			}
			row = append(row, cell{Text: text})
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// maxDetails bounds the table of every metric.
const maxDetails = 1000

// allMetrics lists every metric with a column for every variant: its median and its range
// over the seeds.
func allMetrics(r *analysis.Result) table {
	t := table{Columns: []column{{Name: "Metric"}, {Name: "Unit"}}}
	units := map[string]string{}
	for _, v := range r.Variants {
		t.Columns = append(t.Columns, column{v.Name, true})
		for _, m := range v.Metrics {
			if m.Seeds.Count > 0 && (m.Seeds.Min != 0 || m.Seeds.Max != 0) {
				units[m.Name] = m.Unit
			}
		}
	}
	names := sortedKeys(units)
	for _, name := range names[:min(maxDetails, len(names))] {
		row := []cell{{Text: MetricLabel(r, name)}, {Text: units[name]}}
		for _, v := range r.Variants {
			text := none
			i, ok := slices.BinarySearchFunc(v.Metrics, name, func(m analysis.Metric, name string) int { return strings.Compare(m.Name, name) })
			if ok && v.Metrics[i].Seeds.Count > 0 {
				text = withSpread(&v.Metrics[i])
			}
			row = append(row, cell{Text: text})
		}
		t.Rows = append(t.Rows, row)
	}
	t.Note = "Median (least … greatest of the seeds), without metrics that are 0 in every run."
	if len(names) > maxDetails {
		t.Note += fmt.Sprintf(" The first %d of %s; metrics.parquet has them all, by name in column name.", maxDetails, plural(len(names), "metric"))
		t.Query = queryMetrics
	}
	if d := r.Details; d != nil {
		t.Note += fmt.Sprintf(" %s has %s more, of %s: their name is in column name, what they are about in column subject.", d.File, plural(int(d.Metrics), "metric"), list(d.Of))
		t.Query = queryMetrics
	}
	return t
}

// detailsTitle is the heading of the table of metrics.
func detailsTitle(r *analysis.Result) string {
	if r.Details != nil {
		return "Every metric but those of single " + list(r.Details.Of)
	}
	return "Every metric of every flow"
}

// withSpread prints a metric as its median and its range over the seeds. Without a median
// some seed lacks it.
func withSpread(m *analysis.Metric) string {
	text := optional(m.Median).Text
	if m.Median != nil && m.Seeds.Min == m.Seeds.Max {
		return text
	}
	return fmt.Sprintf("%s (%s … %s)", text, number(m.Seeds.Min), number(m.Seeds.Max))
}
