package cluster

import (
	"fmt"

	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/words"
)

// weight is the weight of what the section says on the first screen: above that of single jobs.
const weight = 6

// Tell implements section.Teller: what the cluster gained, and who paid.
func (s *Section) Tell(story *section.Story) {
	if text := s.gain(); text != "" {
		story.Say(section.Answer, weight, phrases.UnderFaults(&s.r.Facts)+text)
		story.Say(section.Price, weight, s.price())
	}
}

// Findings implements section.Finder.
func (s *Section) Findings() []string {
	if text := s.gain(); text != "" {
		return []string{words.Capital(text) + ".", words.Capital(s.price()) + "."}
	}
	return nil
}

// best returns the variant in which the jobs together gain most, of those that a condition
// allows; nil without any other than Base.
func (s *Section) best(allows func(*Variant) bool) (found *Variant) {
	for i := range s.Variants[min(1, len(s.Variants)):] {
		if v := &s.Variants[i+1]; allows(v) && (found == nil || v.Change.Median < found.Change.Median) {
			found = v
		}
	}
	return found
}

// Leading returns the variants that the answer compares: the best one, and the best without CSIG. It
// is empty without anything to compare.
func (s *Section) Leading() (names []string) {
	for _, v := range []*Variant{s.best(func(*Variant) bool { return true }), s.best(func(v *Variant) bool { return !v.CSIG })} {
		if v != nil {
			names = append(names, v.Variant)
		}
	}
	return names
}

// gain says what the jobs together gain in the best variant, of which jobs, and how the others
// fare; "" without anything to compare.
func (s *Section) gain() string {
	best := s.best(func(*Variant) bool { return true })
	if best == nil {
		return ""
	}
	base := &s.Variants[0]
	who := best.Variant
	if best.CSIG {
		who += " (with CSIG)"
	}
	text := fmt.Sprintf("in %s the jobs together take %s a step instead of %s in %s (%s)", who, words.Short(best.Sum.Median), words.Short(base.Sum.Median), s.Base, changeOf(best.Change))
	var jobs []string
	for _, j := range best.Jobs {
		jobs = append(jobs, j.Name+" "+words.Change(j.Change.Median))
	}
	text += ": " + words.List(jobs)
	if without := s.best(func(v *Variant) bool { return !v.CSIG }); best.CSIG && without != nil {
		text += fmt.Sprintf("; without CSIG the best is %s (%s)", without.Variant, changeOf(without.Change))
		var margins []float64
		for i, sum := range s.sums[best.Variant] {
			margins = append(margins, sum/s.sums[without.Variant][i]-1)
		}
		text += fmt.Sprintf(", against which %s takes %s instead of %s (%s)", best.Variant, words.Short(best.Sum.Median), words.Short(without.Sum.Median), changeOf(reading.MedianOf(margins)))
	}
	var others []string
	for i := range s.Variants[1:] {
		if v := &s.Variants[i+1]; v != best && v.CSIG {
			others = append(others, fmt.Sprintf("%s %s", v.Variant, words.Change(v.Change.Median)))
		}
	}
	if len(others) > 0 {
		text += "; with CSIG also " + words.List(others)
	}
	return text
}

// changeOf prints a change with its range over the seeds, and how many these are.
func changeOf(of reading.Median) string {
	text := rangeOf(of)
	if of.Count > 1 {
		text = fmt.Sprintf("seed by seed %s over %s", text, words.Plural(of.Count, "seed"))
	}
	return text
}

// rangeOf prints a change with its range over the seeds.
func rangeOf(of reading.Median) string {
	text := words.Change(of.Median)
	if of.Count > 1 {
		text += fmt.Sprintf("; %s to %s", words.Change(of.Min), words.Change(of.Max))
	}
	return text
}

// price says which jobs pay for the best variant, and how even the losses of the jobs are.
func (s *Section) price() string {
	best := s.best(func(*Variant) bool { return true })
	var pay []string
	for _, j := range best.Jobs {
		if j.Change.Min > 0 {
			pay = append(pay, j.Name+" "+words.Change(j.Change.Median))
		}
	}
	text := "no job pays under every seed"
	if len(pay) > 0 {
		text = "who pays in " + best.Variant + ": " + words.List(pay)
	}
	from, to := jain(&s.Variants[0]), jain(best)
	if from == to {
		return fmt.Sprintf("%s; Jain's index over the slowdowns against each job alone stays %s", text, to)
	}
	return fmt.Sprintf("%s; Jain's index over the slowdowns against each job alone goes from %s to %s", text, from, to)
}

// jain prints Jain's index, whose third digit matters: three jobs of which one loses a tenth
// more than the others have 0.998.
func jain(v *Variant) string { return fmt.Sprintf("%.3f", v.Jain.Median) }

// Parts implements section.Section.
func (s *Section) Parts() []section.Part {
	if s.Alone == "" {
		return nil
	}
	p := section.Part{ID: "cluster", Title: "What the jobs together gain", Level: section.Loud, Blocks: []section.Block{s.figure(), s.together(), s.table()}}
	if text := s.gain(); text != "" {
		p.Says = words.Capital(text) + "."
	}
	return []section.Part{p}
}

// signs are the marks of effects on a job.
var signs = struct{ better, worse, unclear chart.Sign }{
	better: chart.Sign{Shape: chart.Dot, Paint: chart.Good}, worse: chart.Sign{Shape: chart.Diamond, Paint: chart.Bad}, unclear: chart.Sign{Shape: chart.Hollow, Paint: chart.Rest},
}

// signOf returns the mark of a change.
func signOf(of reading.Median) chart.Sign {
	switch {
	case of.Max < 0:
		return signs.better
	case of.Min > 0:
		return signs.worse
	}
	return signs.unclear
}

// figure shows how many times as long as alone each job takes in each variant.
func (s *Section) figure() *chart.Figure {
	low, high := 1.0, 1.0
	var rows []chart.IntervalRow
	for i := range s.Variants[0].Jobs {
		for k := range s.Variants {
			v, j := &s.Variants[k], &s.Variants[k].Jobs[i]
			low, high = min(low, j.Slowdown.Min), max(high, j.Slowdown.Max)
			text := words.Three(j.Slowdown.Median)
			rows = append(rows, chart.IntervalRow{Name: j.Name + ", " + v.Variant, Text: text, Tip: fmt.Sprintf("%s in %s: %s times as long as alone, %s over the seeds; %s against %s", j.Name, v.Variant, text, phrases.Spread(j.Slowdown.Spread), words.Change(j.Change.Median), s.Base),
				Interval: chart.Interval{Effect: j.Slowdown.Median, Low: j.Slowdown.Min, High: j.Slowdown.Max, Sign: signOf(j.Change)}})
		}
	}
	room := (high - low) * 0.05
	return &chart.Figure{ID: "cluster-slowdown", Title: "How many times as long as alone each job takes",
		Caption: fmt.Sprintf("The time of a step over that in %s, where the jobs run one after another: the median over the seeds, and their range.", s.Alone),
		Legend:  []chart.Key{{Name: "shorter than in " + s.Base + " under every seed", Sign: signs.better}, {Name: "longer", Sign: signs.worse}, {Name: "neither, or " + s.Base, Sign: signs.unclear}},
		Panels:  []chart.Panel{{Chart: &chart.Intervals{Name: "Slowdown of each job", X: chart.Scaling{Name: "Times as long as alone", Min: low - room, Max: high + room}, Lines: []chart.UprightMark{{Name: "alone", X: 1}}, Rows: rows}}}}
}

// together lists what all jobs together take in each variant.
func (s *Section) together() *section.Table {
	t := &section.Table{Label: "All jobs", Columns: phrases.Columns("Variant", "CSIG", "#Together", "#Change by seed", "#Jain"),
		Note: fmt.Sprintf("Together: the sum over the jobs of the mean time of their steps. Change: against %s with the same seed, the median. Jain: Jain's index over the jobs' slowdowns against %s, 1 if all lose the same share. Medians over the seeds, and their range.", s.Base, s.Alone)}
	for i := range s.Variants {
		v := &s.Variants[i]
		csig := "no"
		if v.CSIG {
			csig = "yes"
		}
		cells := phrases.Cells(v.Variant, csig, words.Short(v.Sum.Median), words.None, jain(v))
		if i > 0 {
			cells[3] = cell(v.Change)
		}
		t.Rows = append(t.Rows, section.Row{Variant: v.Variant, Cells: cells})
	}
	return t
}

// table lists each job in each variant.
func (s *Section) table() *section.Table {
	t := &section.Table{Label: "Each job", Columns: phrases.Columns("Variant", "Job", "#Step", "#Over alone", "#Change by seed"),
		Note: fmt.Sprintf("Over alone: times as long as in %s. Change: against %s with the same seed, the median.", s.Alone, s.Base)}
	for i := range s.Variants {
		for _, j := range s.Variants[i].Jobs {
			cells := phrases.Cells(s.Variants[i].Variant, j.Name, words.Short(j.StepUS.Median), words.Three(j.Slowdown.Median), words.None)
			if i > 0 {
				cells[4] = cell(j.Change)
			}
			t.Rows = append(t.Rows, section.Row{Variant: s.Variants[i].Variant, Cells: cells})
		}
	}
	phrases.Bound(t, "jobs", "metrics.parquet")
	return t
}

// cell shows a change, and whether it is one under every seed.
func cell(of reading.Median) section.Cell {
	c := section.Cell{Text: rangeOf(of)}
	switch signOf(of) {
	case signs.better:
		c.State = section.Good
	case signs.worse:
		c.State = section.Bad
	}
	return c
}
