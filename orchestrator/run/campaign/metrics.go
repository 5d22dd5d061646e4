package campaign

import (
	"maps"
	"slices"

	"github.com/csiglab/csiglab/internal/wildcard"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
)

// metricTable puts the metrics of one run into the table of metrics, and those that
// the summary and expressions need into maps.
type metricTable struct {
	rows    *metrics.Batcher
	details measure.Details
	named   map[string]bool // of details that the summary has all the same
	matched []string        // patterns of details that expressions need
}

// tableValues is the number of metrics that are handed on at a time.
const tableValues = 256

// newMetricTable returns the table of a run. mentioned are the names and patterns of
// metrics in expressions.
func newMetricTable(to metrics.Consumer, details measure.Details, mentioned []string) *metricTable {
	t := &metricTable{rows: metrics.NewBatcher(0, tableValues, to), details: details, named: map[string]bool{}}
	for _, name := range mentioned {
		if wildcard.In(name) {
			t.matched = append(t.matched, name)
		} else {
			t.named[name] = true
		}
	}
	return t
}

// measure writes the metrics of a run and returns those of summary.json, and the others
// that expressions match.
func (t *metricTable) measure(p *plan.Plan, out *backend.Outcome, records *measure.Records) (values, matched map[string]float64) {
	values, matched = map[string]float64{}, map[string]float64{}
	measure.Each(p, out, records, func(v *metrics.Value, of measure.Kind) {
		t.rows.Emit(v)
		switch {
		case !t.details[of] || t.named[v.Name]:
			values[v.Name] = v.Value
		case slices.ContainsFunc(t.matched, func(pattern string) bool { return wildcard.Match(pattern, v.Name) }):
			matched[v.Name] = v.Value
		}
	})
	return values, matched
}

// derived writes the derived metrics.
func (t *metricTable) derived(values map[string]float64) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		t.rows.Emit(&metrics.Value{Metric: name, Name: name, Value: values[name]})
	}
}

// end writes what is left.
func (t *metricTable) end() { t.rows.Flush() }
