package expression

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// function is a function of expressions.
type function struct {
	// args are the types of its arguments.
	args []valueType
	// of computes a function of numbers or truths.
	of func(args []value) value
	// aggregate computes a function of any number of numbers and lists, all in values,
	// of which there is at least one. Then args is nil.
	aggregate func(values []float64) float64
	// empty: aggregate may be called without values.
	empty bool
	// of one of the values, so that a metric can be named
	picks bool
	// seeds: its argument is computed for each seed. It is evaluated apart.
	seeds bool
	// result is its type.
	result valueType
}

// functions are available everywhere, those with seeds in expectations alone.
var functions = map[string]function{
	"min":    {aggregate: slices.Min[[]float64], picks: true},
	"max":    {aggregate: slices.Max[[]float64], picks: true},
	"mean":   {aggregate: mean},
	"sum":    {aggregate: sum},
	"median": {aggregate: runfolder.Median},
	"count":  {aggregate: func(values []float64) float64 { return float64(len(values)) }, empty: true},
	"jain":   {aggregate: jain},
	"percentile": {args: []valueType{aList, aNumber}, of: func(args []value) value {
		return value{number: percentile(args[0].list, args[1].number)}
	}},
	"abs": {args: []valueType{aNumber}, of: func(args []value) value { return value{number: math.Abs(args[0].number)} }},
	"between": {args: []valueType{aNumber, aNumber, aNumber}, result: aBool, of: func(args []value) value {
		return value{truth: args[1].number <= args[0].number && args[0].number <= args[2].number}
	}},
	everySeed:     {args: []valueType{aBool}, result: aBool, seeds: true},
	minOverSeeds:  {args: []valueType{aNumber}, seeds: true},
	maxOverSeeds:  {args: []valueType{aNumber}, seeds: true},
	metricByNames: {}, // checked and evaluated apart
}

// Functions that are evaluated apart.
const (
	everySeed     = "every_seed"
	minOverSeeds  = "min_over_seeds"
	maxOverSeeds  = "max_over_seeds"
	metricByNames = "m"
)

// aggregates is a text for messages.
const aggregates = "min, max, mean, sum, median, count, percentile or jain"

// IsFunction reports whether a name is taken by a function.
func IsFunction(name string) bool {
	_, ok := functions[name]
	return ok
}

// Functions returns the names of all functions, in alphabetical order.
func Functions() []string { return functionNames(Scope{Expectation: true}) }

// functionNames returns the names of the functions of a scope, in alphabetical order.
func functionNames(s Scope) []string {
	names := slices.Sorted(maps.Keys(functions))
	return slices.DeleteFunc(names, func(n string) bool { return functions[n].seeds && !s.Expectation })
}

func sum(values []float64) (total float64) {
	for _, v := range values {
		total += v
	}
	return total
}

func mean(values []float64) float64 { return sum(values) / float64(len(values)) }

// jain returns the fairness index of R. Jain, D. Chiu and W. Hawe, "A Quantitative
// Measure of Fairness and Discrimination" (DEC-TR-301, 1984): 1 where all values are
// equal, 1/n where one of n has everything; NaN where all are 0.
func jain(values []float64) float64 {
	var squares float64
	for _, v := range values {
		squares += v * v
	}
	total := sum(values)
	return total * total / (float64(len(values)) * squares)
}

// percentile returns the least value that p % of the values do not exceed; NaN where p
// is not in 0 to 100.
func percentile(values []float64, p float64) float64 {
	if !(0 <= p && p <= 100) || len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.SortedFunc(slices.Values(values), cmp.Compare[float64])
	return sorted[max(0, int(math.Ceil(p*float64(len(sorted))/100))-1)]
}
