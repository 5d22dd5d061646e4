package variants

import (
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/words"
)

// Parts implements section.Section.
func (s *Section) Parts() []section.Part {
	t := s.compared()
	if len(t.Rows) == 0 {
		return nil
	}
	p := section.Part{ID: "compared", Title: "Variants compared", Blocks: []section.Block{t, s.legend()}}
	p.Says, p.Level = s.says()
	return []section.Part{p}
}

// says says which figures each variant makes better and worse. Variants that do the same are
// named together.
func (s *Section) says() (says string, level section.Level) {
	var effects []string
	with := map[string][]string{} // variants by effect
	better, worse := 0, 0         // variants
	for _, v := range s.others() {
		of := map[Effect][]string{}
		for i := range s.Steps {
			if c := &s.Steps[i]; c.Variant == v && c.Base == s.r.Variants[0].Name {
				of[c.Outcome] = append(of[c.Outcome], "the steps of job "+c.Job)
			}
		}
		for i := range s.Differences {
			for k := range s.Differences[i].Quantities {
				if q := &s.Differences[i].Quantities[k]; s.Differences[i].Variant == v {
					of[q.Outcome] = append(of[q.Outcome], s.quantityName(q))
				}
			}
		}
		better, worse = better+min(len(of[Better]), 1), worse+min(len(of[Worse]), 1)
		var parts []string
		for _, o := range []Effect{Better, Worse} {
			if len(of[o]) > 0 {
				parts = append(parts, string(o)+" in "+words.List(of[o]))
			}
		}
		if text := strings.Join(parts, ", and "); text != "" {
			if with[text] == nil {
				effects = append(effects, text)
			}
			with[text] = append(with[text], v)
		}
	}
	base, others := s.r.Variants[0].Name, s.others()
	switch {
	case effects == nil:
		return fmt.Sprintf("No figure of %s differs from that of %s.", words.List(others), base), section.Quiet
	case len(effects) > maxEffects:
		return fmt.Sprintf("Against %s, %d of %s have some figure better, and %d some figure worse.", base, better, words.Plural(len(others), "other variant"), worse), section.Loud
	}
	for i, text := range effects {
		verb := " is "
		if len(with[text]) > 1 {
			verb = " are "
		}
		effects[i] = words.List(with[text]) + verb + text
	}
	return fmt.Sprintf("Against %s, %s.", base, strings.Join(effects, "; ")), section.Loud
}

// maxEffects is how many effects a sentence names.
const maxEffects = 2

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
	rows, intervals := map[string]int{}, false
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
		if change := q.change(); change != "" {
			c.Text += ", " + change
			if q.Low != nil {
				c.Text += fmt.Sprintf(" [%s, %s]", bare(words.Change(*q.Low)), bare(words.Change(*q.High)))
				intervals = true
			}
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
	if intervals {
		t.Note += " A change with brackets is that of the seeds in pairs, as csiglab compare has it; the brackets hold it with 95 %."
	}
	if victim := s.worstVictim(); victim != nil {
		for i := range s.Differences {
			d := &s.Differences[i]
			q := Quantity{Unit: "µs", Outcome: Same}
			if slices.ContainsFunc(d.Flows.Later, func(c FlowChange) bool { return c.Flow == victim.Flow }) {
				q.Outcome = Worse
			}
			if now := victim.Variants[s.r.Variant(d.Variant)].MedianUS; now != nil {
				q.Base.Median, q.Value.Median = *victim.Variants[0].MedianUS, *now
				q.Change = q.Value.Median/q.Base.Median - 1
				add("completion time of flow "+victim.Flow, d.Variant, &q)
			}
		}
	}
	return t
}

// bare leaves out the unit of a change, which stands before.
func bare(change string) string { return strings.TrimSuffix(change, "\u00a0%") }

// worstVictim returns the transfer that takes the most times as long in some variant.
func (s *Section) worstVictim() (worst *reading.Completion) {
	most := 0.0
	for i := range s.Differences {
		d := &s.Differences[i]
		if c := s.victim(d); c != nil {
			if times := *c.Variants[s.r.Variant(d.Variant)].MedianUS / *c.Variants[0].MedianUS; times > most {
				most, worst = times, c
			}
		}
	}
	return worst
}
