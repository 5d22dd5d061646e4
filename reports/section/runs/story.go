package runs

import (
	"fmt"
	"math"
	"strings"

	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/words"
)

// Notes returns the notes as sentences. A note that is not of every variant begins
// with the names of its variants, one of runs with their seeds too.
func Notes(f *reading.Facts) []string {
	var all []string
	for _, n := range f.Notes {
		text := n.Text + "."
		switch {
		case len(n.Seeds) > 0:
			word, seeds := words.SeedNames(n.Seeds)
			text = fmt.Sprintf("Variant %s, %s %s: %s", n.Variants[0], word, words.List(seeds), text)
		case len(n.Variants) == 1 && len(f.Variants) > 1:
			text = fmt.Sprintf("Variant %s: %s", n.Variants[0], text)
		case len(n.Variants) < len(f.Variants):
			text = fmt.Sprintf("Variants %s: %s", words.List(n.Variants), text)
		}
		all = append(all, text)
	}
	return all
}

// Tell implements section.Teller.
func (s *Section) Tell(story *section.Story) { story.Say(section.Sure, 1, s.sure()) }

// sure says how much the figures are worth.
func (s *Section) sure() string {
	var parts []string
	v, runs := &s.r.Verdict, len(s.r.Runs)
	seeds := math.MaxInt
	for i := range s.r.Variants {
		seeds = min(seeds, s.r.Variants[i].Seeds)
	}
	invalid := 0
	for i := range s.r.Runs {
		if !s.r.Runs[i].Valid {
			invalid++
		}
	}
	switch {
	case !v.Valid && invalid > 0:
		parts = append(parts, fmt.Sprintf("do not rely on these figures: %d of %s not valid", invalid, pluralAre(runs, "run")))
	case !v.Valid:
		parts = append(parts, "do not rely on these figures: the run is not valid")
	}
	if i := v.Incomplete; i != nil {
		parts = append(parts, fmt.Sprintf("only %d of %d runs have finished", i.Finished, i.Runs))
	}
	if n := s.r.DroppedRecords; n > 0 {
		parts = append(parts, fmt.Sprintf("%s found no room and the charts lack them", words.Plural(int(n), "record")))
	}
	valid := ""
	if v.Valid && runs > 0 {
		valid = fmt.Sprintf("all %d runs are valid; ", runs)
		if runs == 1 {
			valid = "the run is valid; "
		}
	}
	switch {
	case seeds == math.MaxInt || seeds == 0:
	case seeds == 1:
		parts = append(parts, valid+"with one seed, how much of this is chance is not known")
	default:
		parts = append(parts, fmt.Sprintf("%sthe figures are medians of %d seeds", valid, seeds))
	}
	return strings.Join(parts, "; ")
}

// pluralAre prints a count with its verb, such as "2 runs are".
func pluralAre(n int, word string) string {
	if n == 1 {
		return words.Plural(n, word) + " is"
	}
	return words.Plural(n, word) + " are"
}
