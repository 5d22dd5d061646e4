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

// shown is the time range of a panel. Grafana's $__range is 0s where less than half a second
// is shown.
const shown = "${__range_ms}ms"

// known is the series of each run that the data source has: those of the time shown, and all folders,
// which begin at one moment.
func known(labels string) string {
	return "(last_over_time(csig_run_info" + labels + "[" + shown + "]) or csig_run_info" + labels + " @ 946684800)"
}

// of writes the abbreviations in full, for the run of the given labels.
func of(labels, expr string) string {
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(expr, "{")
		b.WriteString(before)
		switch {
		case !ok:
			return b.String()
		case strings.HasSuffix(before, "$"): // a variable, as ${__range_ms}
			name, rest, _ := strings.Cut(after, "}")
			b.WriteString("{" + name + "}")
			expr = rest
			continue
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

// or is the query, and a series with a name for a run without any of the selector's.
func or(selector, name string, q Query) Query {
	q.Or = [2]string{selector, name}
	return q
}

// numbered gives series the number of their variant.
func numbered(expr string) string {
	return "(" + expr + of(own, ") * on (variant) group_left (number) max by (variant, number) (csig_run_info{})")
}

// spelt writes what a locator that several ports share stands for.
func spelt(expr string) string {
	return fmt.Sprintf(`label_replace(label_replace(label_join(%s, "shared", " ", "bottleneck", "tier"), "bottleneck", "$1: several $2 ports", "shared", "(locator-[0-9]+) (.*)"), "shared", "", "", "")`, expr)
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
	q := query(legend, "%s%s", perSecond(by, counter), more)
	q.Counts = true
	return q
}

// perSecond is the increase of a counter in each interval, per second of the model. The labels
// have the variant among them.
func perSecond(by, counter string) string {
	return fmt.Sprintf("(sum by (%s) (%s) - sum by (%[1]s) (%[2]s offset $__interval)) * 1000 / $__interval_ms * $stretch%s", by, counter, pace)
}

// pace is how many seconds of the wall a lab takes for one of the model. Of a run folder the
// time axis is that of the model: what tells it from a lab is that it has a verdict.
const pace = " * on (variant) group_left () (max by (variant) (csig_run_dilation_ratio{} unless on (variant) csig_run_valid{}) or max by (variant) (csig_run_info{}))"

// latest is the last value in the time range that is shown, also of a series that has had no sample in
// it, as its value is the same since before, and of one that has ended in it.
func latest(family string, labels ...string) string {
	selector := fmt.Sprintf("%s{%s}", family, strings.Join(labels, ","))
	return fmt.Sprintf("(%s or last_over_time(%[1]s[%s]))", selector, shown)
}

// total is what a counter counted in the time range that is shown. One that was not there at its
// beginning was 0.
func total(family string, labels ...string) string {
	last := latest(family, labels...)
	return fmt.Sprintf("(%s - (%s{%s} offset %s) or %[1]s)", last, family, strings.Join(labels, ","), shown)
}

// metric is a metric of a run folder, as in its summary.json; scale is that of a unit of Grafana.
func metric(scale, name, labels string) string {
	return fmt.Sprintf("%s * %s", latest("csig_run_metric", `metric="`+name+`"`, labels), scale)
}

// mean is what the observations of a histogram in the time range are on average.
func mean(by, family string, labels ...string) string {
	return fmt.Sprintf("sum by (%s) (%s) / sum by (%[1]s) (%[3]s)", by, total(family+"_sum", labels...), total(family+"_count", labels...))
}

// buckets is how many observations of a histogram fell into each bucket in each second, of one
// variant: those of all would be added up, and be more series than a server reads.
// It is 0 at the beginning of a run: Grafana draws no column of one moment alone.
func buckets(run, family, labels string) Query {
	return Query{Blocks: true, Legend: "{{le}}", Expr: of(run, fmt.Sprintf("sum by (le) (%s{%s}) - (sum by (le) (%[1]s{%[2]s} offset $__interval) or 0 * sum by (le) (%[1]s{%[2]s}))", family+"_bucket", labels))}
}

// most keeps the series that are greatest on average in the time range: the same ones all
// over it.
func most(n int, series string) string {
	return fmt.Sprintf("%s and topk(%d, avg_over_time(%s[%s] @ end()))", series, n, series, shown)
}

// coloured gives the series of a load the label color, which a graph takes for a colour: that of the
// first condition that holds. Each condition is a filter of the load.
func coloured(load string, conditions ...[2]string) string {
	var parts []string
	for _, c := range conditions {
		parts = append(parts, fmt.Sprintf(`label_replace(%s %s, "color", "%s", "", "")`, load, c[1], c[0]))
	}
	return strings.Join(parts, " or ignoring (color) ")
}

// graph makes what a graph shows of loads: a label for each of its fields, of which some are
// copies of labels, and the load in text.
func graph(by, loads string, fields ...[2]string) string {
	expr := fmt.Sprintf(`label_replace(label_replace(count_values by (%s, color) ("mainstat", round(100 * (%s))), "mainstat", "$1 %%", "mainstat", "([0-9].*)"), "mainstat", "%s", "mainstat", "NaN")`, by, loads, none)
	for _, f := range fields {
		expr = fmt.Sprintf(`label_replace(%s, "%s", "$1", "%s", "(.*)")`, expr, f[0], f[1])
	}
	return expr
}
