package truth

import (
	"fmt"

	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/words"
)

// Parts implements section.Section.
func (s *Section) Parts() []section.Part {
	if len(s.Truth) == 0 {
		return nil
	}
	p := section.Part{ID: "truth", Title: "Signal truth", Level: section.Plain, Blocks: []section.Block{s.table()}}
	worst := &s.Truth[0]
	for i := range s.Truth {
		if s.Truth[i].Missed > worst.Missed {
			worst = &s.Truth[i]
		}
	}
	p.Says = fmt.Sprintf("Half of the %s samples%s are less than %s off; %s name another port than the worst hop.",
		worst.Signal, phrases.In(&s.r.Facts, worst.Variant), short(worst.Signal, worst.Median), words.Percent(worst.Missed))
	if worst.Silent > 0 {
		p.Says += fmt.Sprintf(" The worst hop of %s writes into no tags.", words.Percent(worst.Silent))
	}
	if worst.Missed >= manyMissed {
		p.Level = section.Telling
	}
	return []section.Part{p}
}

// manyMissed is the share of samples that name another port from which it stands out.
const manyMissed = 0.1

// table shows the histogram of errors for each signal, format and rate.
func (s *Section) table() *section.Table {
	t := &section.Table{Label: "Signal truth", Columns: phrases.Columns("Variant", "Signal", "Format", "#Port", "#Samples", "#Median error", "#p99", "#When read")}
	before := 0.0
	for _, end := range Bins {
		name := "to " + words.Percent(end)
		if before > 0 {
			name = words.Percent(before) + " " + name
		}
		t.Columns = append(t.Columns, section.Column{Name: name, Number: true})
		before = end
	}
	t.Columns = append(t.Columns, phrases.Columns("#more", "#Outside", "#Missed", "#Silent")...)
	for i := range s.Truth {
		of := &s.Truth[i]
		stale := words.None
		if of.Stale != nil {
			stale = value(of.Signal, *of.Stale)
		}
		row := phrases.Cells(of.Variant, of.Signal, of.Format, words.Rate(of.RateBPS), words.Number(float64(of.Samples)), value(of.Signal, of.Median), value(of.Signal, of.P99), stale)
		for _, n := range of.Bins {
			row = append(row, section.Cell{Text: words.Percent(float64(n) / float64(of.Samples))})
		}
		t.Rows = append(t.Rows, section.Row{Variant: of.Variant, Cells: append(row, phrases.Cells(words.Percent(of.Outside), words.Percent(of.Missed), words.Percent(of.Silent))...)})
	}
	t.Note = "Samples beside the worst of the exact values of the hops, each when the packet left it; of all seeds, by the link of the worst hop. The columns in between are the histogram of errors: of abw as a share of the link's rate, " +
		"of delay of the truth, of abw-c and nqd in points. When read: the median error against the values at the time when the sample was read. Outside: the truth is not in the interval that the code stands for. Missed: the sample names another port than the worst hop. Silent: the worst hop writes into no tags, because its switch does not speak CSIG, or by a rule of csig.ports."
	phrases.Bound(t, "rows", "truth.parquet")
	return t
}

// short prints an error with few digits, in the unit that fits.
func short(signal string, v float64) string {
	switch signal {
	case "abw":
		return words.Amount(v*8/1e9, words.BitRates)
	case "delay":
		return words.Short(v / 1000)
	}
	return words.Percent(v / 1e6)
}

// value prints an error in the unit of a signal.
func value(signal string, v float64) string {
	switch signal {
	case "abw":
		return words.Number(v*8/1e9) + " Gb/s"
	case "delay":
		return words.Number(v/1000) + " µs"
	}
	return words.Number(v/1e4) + " %"
}
