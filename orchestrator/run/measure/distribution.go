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

// statistic is a number that stands for many values, given as a Distribution or one by one.
type statistic[Values any] struct {
	name string
	of   func(Values) float64
}

// statistics are those of a Distribution.
var statistics = []statistic[*Distribution]{
	{"mean", func(d *Distribution) float64 { return d.Mean }},
	{"p50", func(d *Distribution) float64 { return d.P50 }},
	{"p99", func(d *Distribution) float64 { return d.P99 }},
	{"max", func(d *Distribution) float64 { return d.Max }},
}

var statisticNames = namesOf(statistics)

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

// exact is a statistic of values that are all kept, and ascend.
type exact = statistic[[]float64]

// The statistics of figures, in the order in which a run has them.
var (
	groupStatistics    = []exact{least, average, half, p95, p99, p999, greatest}
	fctStatistics      = []exact{least, greatest, average, p99, half, p95, p999}
	slowdownStatistics = []exact{average, half, p95, p99, greatest}
	truthStatistics    = []exact{half, p99}

	least    = exact{"min", slices.Min[[]float64]}
	average  = exact{"mean", mean}
	half     = exact{"p50", percentile(0.5)}
	p95      = exact{"p95", percentile(0.95)}
	p99      = exact{"p99", percentile(0.99)}
	p999     = exact{"p999", percentile(0.999)}
	greatest = exact{"max", slices.Max[[]float64]}
)

// namesOf returns the words of statistics.
func namesOf[Values any](statistics []statistic[Values]) *words {
	var names []string
	for _, s := range statistics {
		names = append(names, s.name)
	}
	return named(names...)
}

// emitAll emits statistics of ascending values, if there are any.
func emitAll(set Set, statistics []exact, sorted []float64) {
	if len(sorted) == 0 {
		return
	}
	for _, s := range statistics {
		set(s.of(sorted), s.name)
	}
}
