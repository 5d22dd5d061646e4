package reports

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/reports/analysis"
)

// Unfinished returns sentences on flows that did not complete, one for each variant
// with some, or none.
func Unfinished(r *analysis.Result) []string {
	var texts []string
	for _, v := range r.Variants {
		all := slices.DeleteFunc(r.Unfinished(), func(p analysis.Progress) bool { return p.Variant != v.Name })
		if len(all) > 0 {
			texts = append(texts, unfinished(r, v.Name, all))
		}
	}
	if len(texts) > 0 {
		texts[len(texts)-1] += " Completion times are of the flows that completed."
	}
	return texts
}

// unfinished says how many flows of a variant did not complete, in which seeds, and
// which are the least done.
func unfinished(r *analysis.Result, variant string, all []analysis.Progress) string {
	low, high, end, cut := math.MaxInt, 0, 0.0, true
	var seeds []uint64
	for i := range all {
		low, high = min(low, all[i].Open()), max(high, all[i].Open())
		seeds = append(seeds, all[i].Seed)
		cut = cut && all[i].CutOff
		end = max(end, all[i].EndUS)
	}
	text := number(float64(high))
	if low < high {
		text = number(float64(low)) + " to " + text
	}
	text += fmt.Sprintf(" of %s did not complete", plural(all[0].Flows, "flow"))
	if cut {
		text += ": the end of the run came first"
		if end > 0 {
			unit := scaleFor(end, scalesOfDelays)
			text += fmt.Sprintf(", at about %s\u00a0%s", three(end*unit.factor), unit.unit)
		}
	}
	var where []string
	if len(r.Variants) > 1 {
		where = append(where, "variant "+variant)
	}
	if runs := len(r.Setup.Seeds); runs > 1 {
		where = append(where, seedList(seeds, countRuns(r, variant)))
	}
	if len(where) > 0 {
		text += " (" + strings.Join(where, ", ") + ")"
	}
	worst := slices.MinFunc(all, func(a, b analysis.Progress) int {
		return compareShares(a.Least, b.Least)
	})
	var least []string
	for _, d := range worst.Least {
		least = append(least, fmt.Sprintf("%s with %s", d.Flow, percent(d.Share)))
	}
	if len(least) > 0 {
		verb := "The least done are "
		if len(least) == 1 {
			verb = "The least done is "
		}
		of := ""
		if len(all) > 1 {
			of = fmt.Sprintf(" in seed %d", worst.Seed)
		}
		text += ". " + verb + list(least) + " of the payload" + of
	}
	return text + "."
}

// compareShares orders runs by the flow that is the least done.
func compareShares(a, b []analysis.Done) int {
	least := func(all []analysis.Done) float64 {
		if len(all) == 0 {
			return math.Inf(1)
		}
		return all[0].Share
	}
	switch la, lb := least(a), least(b); {
	case la < lb:
		return -1
	case la > lb:
		return 1
	}
	return 0
}

func countRuns(r *analysis.Result, variant string) (n int) {
	for _, run := range r.Runs {
		if run.Variant == variant {
			n++
		}
	}
	return n
}

// seedList names some of a variant's seeds.
func seedList(seeds []uint64, of int) string {
	_, names := seedNames(seeds)
	switch {
	case len(seeds) == of:
		return fmt.Sprintf("in all %d seeds", of)
	case len(seeds) == 1:
		return fmt.Sprintf("in seed %s of %d seeds", names[0], of)
	}
	return fmt.Sprintf("in %d of %d seeds: %s", len(seeds), of, list(names))
}

// MetricLabel returns a metric's name, and of a statistic of completion times over how
// many of how many flows it is: in the variants, or in all when none is named.
func MetricLabel(r *analysis.Result, metric string, variants ...string) string {
	if !statisticOfFCTs(metric) {
		return metric
	}
	if len(variants) == 0 {
		for _, v := range r.Variants {
			variants = append(variants, v.Name)
		}
	}
	least, most, all := math.MaxInt, 0, true
	fewest, flows := math.MaxInt, 0
	for _, p := range r.Progress {
		if slices.Contains(variants, p.Variant) {
			least, most = min(least, p.Completed), max(most, p.Completed)
			fewest, flows = min(fewest, p.Flows), max(flows, p.Flows)
			all = all && p.Open() == 0
		}
	}
	switch {
	case flows == 0:
		return metric
	case all && flows == 1:
		return metric + " (of the one flow)"
	case all:
		return fmt.Sprintf("%s (of all %s flows)", metric, counts(fewest, flows))
	}
	return fmt.Sprintf("%s (of %s of %s flows)", metric, counts(least, most), counts(fewest, flows))
}

// completedOf returns how many of how many flows of a variant completed, as text.
func completedOf(r *analysis.Result, variant string) (completed, flows string) {
	low, high, all := math.MaxInt, 0, 0
	for _, p := range r.Progress {
		if p.Variant == variant {
			low, high, all = min(low, p.Completed), max(high, p.Completed), p.Flows
		}
	}
	return counts(low, high), number(float64(all))
}

func counts(low, high int) string {
	if low == high {
		return number(float64(high))
	}
	return number(float64(low)) + " to " + number(float64(high))
}

// statisticOfFCTs reports whether a metric is a statistic over the flows that
// completed, such as fct_us.p99.
func statisticOfFCTs(metric string) bool {
	base, statistic, _ := strings.Cut(metric, ".")
	if base != "fct_us" && base != "fct_rx_us" && base != "slowdown" {
		return false
	}
	switch statistic {
	case "min", "mean", "max":
		return true
	}
	digits, ok := strings.CutPrefix(statistic, "p")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}
