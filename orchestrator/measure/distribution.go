package measure

import (
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

// statisticNames is the words of their names.
func statisticNames() *part {
	var names []string
	for _, s := range statistics {
		names = append(names, s.name)
	}
	return Words(names...)
}

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

// distribution emits the statistics of a quantity of a subject, if there are any.
func (e *emitter) distribution(quantity, subject string, d *Distribution, of Kind) {
	if !d.Any {
		return
	}
	for _, s := range statistics {
		e.of(quantity+"."+s.name, subject, s.of(d), of)
	}
}
