package runs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/words"
)

// NewBanner returns the verdict of an experiment in short.
func NewBanner(f *reading.Facts) section.Banner {
	v, open := &f.Verdict, Unfinished(f)
	b := section.Banner{State: section.Bad, Reasons: slices.Concat(open, v.Reasons, failedExpectations(v.Expectations))}
	held, total := v.Held(), len(v.Expectations)
	switch {
	case !v.Valid:
		b.Headline = "The run is not valid"
	case held < total:
		b.Headline = fmt.Sprintf("Valid, but %d of %d expectations failed", total-held, total)
	case total == 0:
		b.Headline = "Valid; the experiment states no expectation"
	default:
		b.Headline = fmt.Sprintf("Valid; %d of %d expectations hold", held, total)
	}
	if v.Good() {
		b.State = section.Good
	}
	if len(open) > 0 {
		b.Headline = "Flows are unfinished. " + b.Headline
		if v.Good() {
			b.State = section.Warn
		}
	}
	if n := len(v.Published); n > 0 {
		b.Headline += fmt.Sprintf("; %d of %d published figures %s", v.Count(reading.Reproduced), n, reading.Reproduced)
	}
	addIncomplete(&b, v, len(open) > 0)
	return b
}

// mostSeeds is how many missing seeds of a variant are listed.
const mostSeeds = 8

// addIncomplete says in the banner what an incomplete folder lacks. open: flows of its
// runs are unfinished.
func addIncomplete(b *section.Banner, v *reading.Verdict, open bool) {
	i := v.Incomplete
	if i == nil {
		return
	}
	b.State = section.Warn
	b.Headline = "Incomplete: " + finished(i)
	if !v.Valid {
		b.State = section.Bad
		b.Headline += ", of which some are not valid"
	}
	if open {
		b.Headline += "; flows are unfinished"
	}
	first := i.Reason + "."
	if text := missing(i); text != "" {
		first += " Missing: " + text + ". csiglab run --resume, with the name of this folder, does these runs."
	}
	b.Reasons = append([]string{words.Capital(first)}, b.Reasons...)
}

// finished says how many runs have finished.
func finished(i *reading.Incomplete) string {
	if i.Finished == 1 {
		return fmt.Sprintf("1 of %d runs has finished", i.Runs)
	}
	return fmt.Sprintf("%d of %d runs have finished", i.Finished, i.Runs)
}

// missing lists the runs that the folder lacks.
func missing(i *reading.Incomplete) string {
	var all []string
	for _, v := range i.Missing {
		if len(v.Seeds) > mostSeeds {
			all = append(all, fmt.Sprintf("%s, %d seeds", v.Variant, len(v.Seeds)))
			continue
		}
		word, seeds := words.SeedNames(v.Seeds)
		all = append(all, fmt.Sprintf("%s, %s %s", v.Variant, word, strings.Join(seeds, " ")))
	}
	return strings.Join(all, "; ")
}
