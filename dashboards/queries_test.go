package dashboards

import (
	"fmt"
	"strings"
)

// The queries are written in PromQL with two abbreviations: {} stands for the labels that
// the variables choose, and {LABELS} for these and LABELS.
//
// A run folder is loaded with its time stretched, so that Prometheus, which knows whole
// milliseconds, can hold windows of 100 us. Rates of counters are per second of that time:
// they are multiplied by the stretch. What happens in a share of the time needs no factor.
const (
	own   = `run="$run",variant=~"$variant",seed="$seed",stretch="$stretch"`
	other = `run="$other_run",variant=~"$other_variant",seed="$other_seed",stretch="$other_stretch"`
)

// of writes the abbreviations in full, for the run of the given labels.
func of(labels, expr string) string {
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(expr, "{")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		inner, rest, _ := strings.Cut(after, "}")
		if inner != "" {
			inner = "," + inner
		}
		b.WriteString("{" + labels + inner + "}")
		expr = rest
	}
}

// query is a query of the run that the variables choose.
func query(legend, expr string, args ...any) Query {
	return Query{Expr: of(own, fmt.Sprintf(expr, args...)), Legend: legend}
}

// windows is a query of each telemetry window.
func windows(legend, expr string, args ...any) Query {
	q := query(legend, expr, args...)
	q.Windows = true
	return q
}

// rates is a query of how often a counter counted per second of the model. Prometheus'
// rate() would need several samples in each interval, but a counter of a run folder has
// none while it does not change.
func rates(legend, by, counter, more string) Query {
	q := query(legend, "(sum by (%s) (%s) - sum by (%[1]s) (%[2]s offset $__interval)) * 1000 / $__interval_ms * $stretch%[3]s", by, counter, more)
	q.Counts = true
	return q
}

// total is a counter at the end of the time range: what it counted since the run began. A
// rate over the range would lack what the first value already has.
func total(family string, labels ...string) string {
	return fmt.Sprintf("last_over_time(%s{%s}[$__range])", family, strings.Join(labels, ","))
}

// mean is what the observations of a histogram since the run began are on average.
func mean(by, family string, labels ...string) string {
	return fmt.Sprintf("sum by (%s) (%s) / sum by (%[1]s) (%[3]s)", by, total(family+"_sum", labels...), total(family+"_count", labels...))
}

// quantile is a quantile of the observations of a histogram since the run began.
func quantile(q float64, by, family string, labels ...string) string {
	return fmt.Sprintf("histogram_quantile(%g, sum by (%s, le) (%s))", q, by, total(family+"_bucket", labels...))
}

// most keeps the series that are greatest on average in the time range: the same ones all
// over it.
func most(n int, series string) string {
	return fmt.Sprintf("%s and topk(%d, avg_over_time(%s[$__range] @ end()))", series, n, series)
}
