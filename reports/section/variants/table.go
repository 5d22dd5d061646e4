package variants

import (
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/words"
)

// Parts implements section.Section.
func (s *Section) Parts() []section.Part {
	t := s.compared()
	if len(t.Rows) == 0 {
		return nil
	}
	p := section.Part{ID: "compared", Title: "Variants compared", Blocks: []section.Block{t}}
	p.Says, p.Level = s.counts()
	return []section.Part{p}
}

// counts says how many figures each variant makes better and worse.
func (s *Section) counts() (says string, level section.Level) {
	var parts []string
	better, worse := 0, 0 // variants
	for _, v := range s.others() {
		of := map[Effect]int{}
		for _, d := range s.Differences {
			for _, q := range d.Quantities {
				if d.Variant == v {
					of[q.Outcome]++
				}
			}
		}
		for _, c := range s.Steps {
			if c.Variant == v && c.Base == s.r.Variants[0].Name {
				of[c.Outcome]++
			}
		}
		better, worse = better+min(of[Better], 1), worse+min(of[Worse], 1)
		if of[Better]+of[Worse] > 0 {
			parts = append(parts, fmt.Sprintf("%s has %d of %d figures better and %d worse", v, of[Better], of[Better]+of[Worse]+of[Same], of[Worse]))
		}
	}
	base, others := s.r.Variants[0].Name, s.others()
	switch {
	case parts == nil:
		return fmt.Sprintf("No figure of %s differs from that of %s.", words.List(others), base), section.Quiet
	case len(parts) > maxCounts:
		return fmt.Sprintf("Against %s, %d of %s have some figure better, and %d some figure worse.", base, better, words.Plural(len(others), "other variant"), worse), section.Loud
	}
	return fmt.Sprintf("Against %s, %s.", base, words.List(parts)), section.Loud
}

// maxCounts is how many variants a sentence names with their counts.
const maxCounts = 2

// others returns the variants that are compared with the first one.
func (s *Section) others() (names []string) {
	for _, v := range s.r.Variants[1:] {
		if slices.ContainsFunc(s.Differences, func(d Difference) bool { return d.Variant == v.Name }) ||
			slices.ContainsFunc(s.Steps, func(c StepChange) bool { return c.Variant == v.Name }) {
			names = append(names, v.Name)
		}
	}
	return names
}

// compared lists the quantities with a column for every variant.
func (s *Section) compared() *section.Table {
	base := s.r.Variants[0].Name
	t := &section.Table{Label: "Variants compared", Columns: []section.Column{{Name: "Quantity"}, {Name: base, Number: true}},
		Note: "Medians over the seeds. A quantity is better or worse where the ranges over the seeds do not overlap and the medians differ by more than 1 %; counts must also differ by more than the noise of counting."}
	others := s.others()
	for _, name := range others {
		t.Columns = append(t.Columns, section.Column{Name: name, Number: true, Variant: name})
	}
	// add puts a quantity of a variant into the row of its name.
	rows := map[string]int{}
	add := func(name, variant string, q *Quantity) {
		inBase, value, unit := q.Texts()
		unit = strings.TrimRight("\u00a0"+unit, "\u00a0")
		at, ok := rows[name]
		if !ok {
			at = len(t.Rows)
			rows[name] = at
			cells := []section.Cell{{Text: words.Capital(name)}, {}}
			for range others {
				cells = append(cells, section.Cell{Text: words.None})
			}
			t.Rows = append(t.Rows, section.Row{Cells: cells})
		}
		t.Rows[at].Cells[1].Text = inBase + unit
		c := section.Cell{Text: value + unit}
		if q.Base.Median != 0 && q.Change != 0 {
			c.Text += ", " + words.Change(q.Change)
		}
		switch q.Outcome {
		case Better:
			c.Text, c.State = c.Text+" ✓ better", section.Good
		case Worse:
			c.Text, c.State = c.Text+" ✗ worse", section.Bad
		}
		t.Rows[at].Cells[2+slices.Index(others, variant)] = c
	}
	for i := range s.Steps {
		if c := &s.Steps[i]; c.Base == base {
			add("step of job "+c.Job, c.Variant, &c.Quantity)
		}
	}
	for i := range s.Differences {
		d := &s.Differences[i]
		for k := range d.Quantities {
			add(strings.TrimPrefix(s.quantityName(&d.Quantities[k]), "the "), d.Variant, &d.Quantities[k])
		}
	}
	return t
}
