package measure

import (
	"slices"

	"github.com/csiglab/csiglab/metrics/histogram"
)

// Distribution is the statistics of a histogram, in the unit of the metric. Mean and Max
// are exact, the percentiles are off by at most histogram.MaxError of their value.
type Distribution struct {
	Any                 bool // there are values
	Mean, P50, P99, Max float64
}

// statistics are the statistics of a Distribution by name.
var statistics = []struct {
	name string
	of   func(d *Distribution) float64
}{
	{"mean", func(d *Distribution) float64 { return d.Mean }},
	{"p50", func(d *Distribution) float64 { return d.P50 }},
	{"p99", func(d *Distribution) float64 { return d.P99 }},
	{"max", func(d *Distribution) float64 { return d.Max }},
}

// statisticNames are the words of statistics.
var statisticNames = func() *words {
	var names []string
	for _, s := range statistics {
		names = append(names, s.name)
	}
	return named(names...)
}()

// distributionOf returns the statistics of a histogram whose values are unit of the
// metric's.
func distributionOf(h *histogram.Histogram, unit float64) Distribution {
	if h.Empty() {
		return Distribution{}
	}
	return Distribution{
		Any: true, Mean: h.Mean() / unit, Max: float64(h.Max()) / unit,
		P50: float64(h.Quantile(0.5)) / unit, P99: float64(h.Quantile(0.99)) / unit,
	}
}

// distribution emits the statistics of a metric with some subjects, if there are any.
func (e *emitter) distribution(m *Entry, d *Distribution, subjects ...string) {
	if !d.Any {
		return
	}
	for _, s := range statistics {
		var words [3]string
		e.set(m, s.of(d), append(append(words[:0], s.name), subjects...)...)
	}
}

// statistic is of values that are all kept, and ascend.
type statistic struct {
	name string
	of   func(sorted []float64) float64
}

// The statistics of figures, in the order in which a run has them.
var (
	groupStatistics    = []statistic{least, average, half, p95, p99, p999, greatest}
	fctStatistics      = []statistic{least, greatest, average, p99, half, p95, p999}
	slowdownStatistics = []statistic{average, half, p95, p99, greatest}
	truthStatistics    = []statistic{half, p99}

	least    = statistic{"min", slices.Min[[]float64]}
	average  = statistic{"mean", mean}
	half     = statistic{"p50", percentile(0.5)}
	p95      = statistic{"p95", percentile(0.95)}
	p99      = statistic{"p99", percentile(0.99)}
	p999     = statistic{"p999", percentile(0.999)}
	greatest = statistic{"max", slices.Max[[]float64]}
)

// namesOf returns the words of statistics.
func namesOf(statistics []statistic) *words {
	var names []string
	for _, s := range statistics {
		names = append(names, s.name)
	}
	return named(names...)
}

// emitAll emits statistics of ascending values, if there are any.
func emitAll(set Set, statistics []statistic, sorted []float64) {
	if len(sorted) == 0 {
		return
	}
	for _, s := range statistics {
		set(s.of(sorted), s.name)
	}
}
