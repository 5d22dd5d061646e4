package reports

import (
	"fmt"
	"strings"

	"github.com/csiglab/csiglab/reports/analysis"
)

// mostSeeds is how many missing seeds of a variant are listed.
const mostSeeds = 8

// addIncomplete says in the banner what an incomplete folder lacks. open: flows of its
// runs are unfinished.
func (b *banner) addIncomplete(v *analysis.Verdict, open bool) {
	i := v.Incomplete
	if i == nil {
		return
	}
	b.State = stateWarn
	b.Headline = "Incomplete: " + finished(i)
	if !v.Valid {
		b.State = stateBad
		b.Headline += ", of which some are not valid"
	}
	if open {
		b.Headline += "; flows are unfinished"
	}
	first := i.Reason + "."
	if text := missing(i); text != "" {
		first += " Missing: " + text + ". csiglab run --resume, with the name of this folder, does these runs."
	}
	b.Reasons = append([]string{strings.ToUpper(first[:1]) + first[1:]}, b.Reasons...)
}

// finished says how many runs have finished.
func finished(i *analysis.Incomplete) string {
	if i.Finished == 1 {
		return fmt.Sprintf("1 of %d runs has finished", i.Runs)
	}
	return fmt.Sprintf("%d of %d runs have finished", i.Finished, i.Runs)
}

// missing lists the runs that the folder lacks.
func missing(i *analysis.Incomplete) string {
	var all []string
	for _, v := range i.Missing {
		if len(v.Seeds) > mostSeeds {
			all = append(all, fmt.Sprintf("%s, %d seeds", v.Variant, len(v.Seeds)))
			continue
		}
		word, seeds := seedNames(v.Seeds)
		all = append(all, fmt.Sprintf("%s, %s %s", v.Variant, word, strings.Join(seeds, " ")))
	}
	return strings.Join(all, "; ")
}

// withNotEvaluated adds the expectations that an incomplete folder cannot answer.
func withNotEvaluated(t table, i *analysis.Incomplete) table {
	if i == nil {
		return t
	}
	for _, text := range i.NotEvaluated {
		row := make([]cell, len(t.Columns))
		row[0], row[len(row)-1] = cell{Text: text}, cell{Text: "not evaluated"}
		t.Rows = append(t.Rows, row)
	}
	return t
}
