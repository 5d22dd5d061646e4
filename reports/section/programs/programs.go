// Package programs shows what ran on hosts, and how it ended.
package programs

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/words"
)

// Section is the section of programs. Its numbers are facts.
type Section struct {
	section.Base
	r *reading.Reading
}

// New returns the section of a folder.
func New(r *reading.Reading) section.Section { return &Section{r: r} }

// Parts implements section.Section.
func (s *Section) Parts() []section.Part {
	all := s.r.Programs
	if len(all) == 0 {
		return nil
	}
	var last float64
	bad := 0
	for i := range all {
		p := &all[i]
		for _, us := range []*float64{p.StartUS, p.EndUS} {
			if us != nil {
				last = max(last, *us)
			}
		}
		if ending(p).State == section.Bad {
			bad++
		}
	}
	unit := words.ScaleFor(last, words.Delays)
	t := &section.Table{Label: "Programs", Columns: phrases.Columns("Variant", "#Seed", "Host", "Program", "#From ("+unit.Unit+")", "#To ("+unit.Unit+")", "End"),
		Note: "Model time. What they wrote is in the run folder, below programs/."}
	at := func(us *float64) section.Cell {
		if us == nil {
			return phrases.Optional(nil)
		}
		return section.Cell{Text: words.Number(*us * unit.Factor)}
	}
	for i := range all {
		p := &all[i]
		t.Rows = append(t.Rows, section.Row{Variant: p.Variant, Cells: append(phrases.Cells(p.Variant, strconv.FormatUint(p.Seed, 10), p.Host, strings.Join(p.Args, " ")), at(p.StartUS), at(p.EndUS), ending(p))})
	}
	phrases.Bound(t, "programs", "manifest.json, in programs of its runs,")
	part := section.Part{ID: "programs", Title: "Programs", Says: words.Plural(len(all), "program") + "; none failed.", Blocks: []section.Block{t}}
	if bad > 0 {
		part.Level, part.Says = section.Telling, fmt.Sprintf("%d of %s failed.", bad, words.Plural(len(all), "program"))
	}
	return []section.Part{part}
}

// ending says how a program ended.
func ending(p *reading.Program) section.Cell {
	switch p.Ending {
	case reading.Failed:
		return section.Cell{Text: "✗ " + p.Failure, State: section.Bad}
	case reading.NotStarted:
		return section.Cell{Text: "not started"}
	case reading.Stopped:
		return section.Cell{Text: "ended with the run"}
	case reading.Killed:
		return section.Cell{Text: "✗ signal " + p.Signal, State: section.Bad}
	}
	if !p.Good() {
		return section.Cell{Text: fmt.Sprintf("✗ exit code %d", p.Code), State: section.Bad}
	}
	return section.Cell{Text: "✓ exit code 0", State: section.Good}
}
