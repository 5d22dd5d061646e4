// Package faults shows the faults of the runs.
package faults

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/words"
)

// Section is the section of faults. Its numbers are facts.
type Section struct {
	section.Base
	r *reading.Reading
}

// New returns the section of a folder.
func New(r *reading.Reading) section.Section { return &Section{r: r} }

// fewRows is how many rows a table has that stands open.
const fewRows = 8

// Parts implements section.Section.
func (s *Section) Parts() []section.Part {
	if len(s.r.Faults) == 0 {
		return nil
	}
	sentences, t := Sentences(&s.r.Facts), s.table()
	p := section.Part{ID: "faults", Title: "Faults", Says: sentences[0]}
	if len(sentences) > 1 {
		p.Blocks = append(p.Blocks, section.List(sentences[1:]))
	}
	if slices.ContainsFunc(s.r.Faults, func(f reading.Fault) bool { return f.Happened }) {
		p.Level = section.Telling
	}
	if len(t.Rows) <= fewRows {
		p.Blocks = append(p.Blocks, t)
		return []section.Part{p}
	}
	t.Label = "Faults of each run"
	return []section.Part{p, {ID: "faults-of-runs", Title: t.Label, Says: "Where they were, and how many packets they dropped.", Blocks: []section.Block{t}}}
}

// Tell implements section.Teller: what faults happened to which variants, that the answer does
// not name.
func (s *Section) Tell(story *section.Story) {
	var whats []string
	variants := map[string][]string{}
	for i := range s.r.Faults {
		f := &s.r.Faults[i]
		if !f.Happened || story.Has(section.Answer, f.What) {
			continue
		}
		if variants[f.What] == nil {
			whats = append(whats, f.What)
		}
		if !slices.Contains(variants[f.What], f.Variant) {
			variants[f.What] = append(variants[f.What], f.Variant)
		}
	}
	var parts []string
	for _, what := range whats[:min(2, len(whats))] {
		text := what
		if len(s.r.Variants) > 1 {
			text += " in " + words.List(variants[what])
		}
		parts = append(parts, text)
	}
	if more := len(whats) - len(parts); more > 0 {
		parts = append(parts, words.Plural(more, "more fault"))
	}
	if len(parts) == 0 {
		return
	}
	word := "fault"
	if len(whats) > 1 {
		word = "faults"
	}
	story.Also(section.Why, word+": "+strings.Join(parts, ", "))
}

// table lists the faults of the runs.
func (s *Section) table() *section.Table {
	t := &section.Table{Label: "Faults", Columns: phrases.Columns("Variant", "#Seed", "Fault", "What", "Where", "#From", "#To", "#Lost on links", "#Dropped in switches"),
		Note: "Model time. Packets that the fault dropped: on links where they arrived, in switches what was queued."}
	for i := range s.r.Faults {
		f := &s.r.Faults[i]
		to := "end"
		switch {
		case !f.Happened:
			to = "did not happen"
		case f.UntilUS != nil:
			to = words.Span(*f.UntilUS)
		}
		t.Rows = append(t.Rows, section.Row{Variant: f.Variant, Cells: phrases.Cells(f.Variant, strconv.FormatUint(f.Seed, 10), f.Name, f.What, someOf(f.Where), words.Span(f.FromUS), to,
			words.Number(float64(f.Arriving)), words.Number(float64(f.Queued)))})
	}
	phrases.Bound(t, "faults", "manifest.json, in faults of its runs,")
	return t
}

// someOf returns the first names of a list and how many more it has.
func someOf(names []string) string {
	const most = 8
	text := strings.Join(names[:min(len(names), most)], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// maxFaults is how many sentences Sentences returns at most.
const maxFaults = 6

// Sentences returns a sentence for each fault of the experiment: what it was, when, and how
// many packets it dropped, as a range over the runs of each variant.
func Sentences(f *reading.Facts) []string {
	type of struct{ name, what, when string }
	var order []of
	byVariant := map[of]map[string][]*reading.Fault{}
	for i := range f.Faults {
		one := &f.Faults[i]
		key := of{one.Name, one.What, times(one)}
		if byVariant[key] == nil {
			byVariant[key] = map[string][]*reading.Fault{}
			order = append(order, key)
		}
		byVariant[key][one.Variant] = append(byVariant[key][one.Variant], one)
	}
	slices.SortStableFunc(order, func(a, b of) int { return first(f, a.name) - first(f, b.name) })
	var texts []string
	for _, key := range order {
		if len(texts) == maxFaults {
			texts = append(texts, fmt.Sprintf("The report lists %s.", words.Plural(len(order)-maxFaults, "more fault")))
			break
		}
		texts = append(texts, fmt.Sprintf("Fault %s: %s %s%s.", key.name, key.what, key.when, drops(f, byVariant[key])))
	}
	return texts
}

// first returns the place of the first fault of a name.
func first(f *reading.Facts, name string) int {
	return slices.IndexFunc(f.Faults, func(one reading.Fault) bool { return one.Name == name })
}

// times says when a fault happened.
func times(f *reading.Fault) string {
	from := "from " + words.Span(f.FromUS)
	switch {
	case !f.Happened:
		return "was to begin at " + words.Span(f.FromUS) + ", after the end of the run"
	case f.UntilUS != nil:
		return from + " to " + words.Span(*f.UntilUS)
	case f.FromUS == 0:
		return "in the whole run"
	}
	return from + " on"
}

// drops says what the same fault dropped in the runs of each variant.
func drops(f *reading.Facts, runs map[string][]*reading.Fault) string {
	var parts []string
	most := int64(0)
	for _, v := range f.Variants {
		list := runs[v.Name]
		if len(list) == 0 {
			continue
		}
		low, high := list[0].Dropped(), list[0].Dropped()
		for _, one := range list {
			low, high = min(low, one.Dropped()), max(high, one.Dropped())
		}
		most = max(most, high)
		text := words.Number(float64(low))
		if high > low {
			text += " to " + words.Number(float64(high))
		}
		if len(parts) == 0 {
			text += " packets"
		}
		if len(f.Variants) > 1 {
			text += " in " + v.Name
		}
		parts = append(parts, text)
	}
	if most == 0 {
		return ""
	}
	return "; it dropped " + words.List(parts)
}
