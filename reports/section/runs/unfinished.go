package runs

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/words"
)

// Unfinished returns sentences on flows that did not complete, one for each variant
// with some, or none.
func Unfinished(f *reading.Facts) []string {
	var texts []string
	for _, v := range f.Variants {
		all := slices.DeleteFunc(f.Unfinished(), func(p reading.Progress) bool { return p.Variant != v.Name })
		if len(all) > 0 {
			texts = append(texts, unfinished(f, v.Name, all))
		}
	}
	if len(texts) > 0 {
		texts[len(texts)-1] += " Completion times are of the flows that completed."
	}
	return texts
}

// unfinished says how many flows of a variant did not complete, in which seeds, and
// which are the least done.
func unfinished(f *reading.Facts, variant string, all []reading.Progress) string {
	low, high, end, cut := math.MaxInt, 0, 0.0, true
	var seeds []uint64
	for i := range all {
		low, high = min(low, all[i].Open()), max(high, all[i].Open())
		seeds = append(seeds, all[i].Seed)
		cut = cut && all[i].CutOff
		end = max(end, all[i].EndUS)
	}
	text := words.Number(float64(high))
	if low < high {
		text = words.Number(float64(low)) + " to " + text
	}
	text += fmt.Sprintf(" of %s did not complete", words.Plural(all[0].Flows, "flow"))
	if cut {
		text += ": the end of the run came first"
		if end > 0 {
			unit := words.ScaleFor(end, words.Delays)
			text += fmt.Sprintf(", at about %s\u00a0%s", words.Three(end*unit.Factor), unit.Unit)
		}
	}
	var where []string
	if len(f.Variants) > 1 {
		where = append(where, "variant "+variant)
	}
	if runs := len(f.Setup.Seeds); runs > 1 {
		where = append(where, seedList(seeds, countRuns(f, variant)))
	}
	if len(where) > 0 {
		text += " (" + strings.Join(where, ", ") + ")"
	}
	worst := slices.MinFunc(all, func(a, b reading.Progress) int {
		return compareShares(a.Least, b.Least)
	})
	var least []string
	for _, d := range worst.Least {
		least = append(least, fmt.Sprintf("%s with %s", d.Flow, words.Percent(d.Share)))
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
		text += ". " + verb + words.List(least) + " of the payload" + of
	}
	return text + "."
}

// compareShares orders runs by the flow that is the least done.
func compareShares(a, b []reading.Done) int {
	least := func(all []reading.Done) float64 {
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

func countRuns(f *reading.Facts, variant string) (n int) {
	for _, run := range f.Runs {
		if run.Variant == variant {
			n++
		}
	}
	return n
}

// seedList names some of a variant's seeds.
func seedList(seeds []uint64, of int) string {
	_, names := words.SeedNames(seeds)
	switch {
	case len(seeds) == of:
		return fmt.Sprintf("in all %d seeds", of)
	case len(seeds) == 1:
		return fmt.Sprintf("in seed %s of %d seeds", names[0], of)
	}
	return fmt.Sprintf("in %d of %d seeds: %s", len(seeds), of, words.List(names))
}
