package campaign

import (
	"maps"
	"slices"

	"github.com/csiglab/csiglab/internal/wildcard"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/measure"
	"github.com/csiglab/csiglab/orchestrator/plan"
)

// metricTable puts the metrics of one run into the table of metrics, and those that are
// not too many into a map.
type metricTable struct {
	rows   *metrics.Batcher
	wanted []string // names and patterns of details that the map has all the same
}

// tableValues is the number of metrics that are handed on at a time.
const tableValues = 256

func newMetricTable(to metrics.Consumer, wanted []string) *metricTable {
	return &metricTable{rows: metrics.NewBatcher(0, tableValues, to), wanted: wanted}
}

// measure writes the metrics of a run and returns those of summary.json.
func (t *metricTable) measure(p *plan.Plan, out *backend.Outcome, records *measure.Records) map[string]float64 {
	values := map[string]float64{}
	measure.Each(p, out, records, func(v *metrics.Value, detail bool) {
		t.rows.Emit(v)
		if !detail || slices.ContainsFunc(t.wanted, func(pattern string) bool { return wildcard.Match(pattern, v.Name) }) {
			values[v.Name] = v.Value
		}
	})
	return values
}

// derived writes the derived metrics.
func (t *metricTable) derived(values map[string]float64) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		t.rows.Emit(&metrics.Value{Metric: name, Name: name, Value: values[name]})
	}
}

// end writes what is left.
func (t *metricTable) end() { t.rows.Flush() }
