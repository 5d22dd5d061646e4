package sharing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/words"
)

const (
	mostLinks = 2    // that the table names of a job
	clearly   = 0.05 // share of the communication that is together with that of others, so that jobs can move apart
)

// Parts implements section.Section.
func (s *Section) Parts() []section.Part {
	if len(s.Groups) == 0 {
		return nil
	}
	all := section.Part{ID: "job-groups", Title: "Jobs that share links", Says: s.says(), Level: section.Telling}
	phases := section.Part{ID: "job-phases", Title: "Phases of jobs that share links", Says: s.apart(), Level: section.Plain}
	for _, of := range []struct {
		part    *section.Part
		figures []*chart.Figure
	}{{&all, []*chart.Figure{s.times(), s.lanes()}}, {&phases, []*chart.Figure{s.overlaps(), s.differences()}}} {
		for _, f := range of.figures {
			if f != nil {
				of.part.Blocks = append(of.part.Blocks, f)
			}
		}
	}
	all.Blocks = append(all.Blocks, s.table())
	if phases.Blocks == nil {
		return []section.Part{all}
	}
	return []section.Part{all, phases}
}

// apart says where jobs move apart, or how much of their communication is together at last.
func (s *Section) apart() string {
	var most *Job
	in := ""
	for i := range s.Groups {
		g := &s.Groups[i]
		for k := range g.Jobs {
			j := &g.Jobs[k]
			if j.Apart != nil && j.OverlapFirst != nil && *j.OverlapFirst >= clearly {
				return fmt.Sprintf("The phases of %s move apart%s: from iteration %s on it hardly ever communicates together with others.", j.Name, phrases.In(&s.reading.Facts, g.Variant), words.Number(*j.Apart))
			}
			if j.OverlapLast != nil && (most == nil || *j.OverlapLast > *most.OverlapLast) {
				most, in = j, phrases.In(&s.reading.Facts, g.Variant)
			}
		}
	}
	if most == nil {
		return ""
	}
	return fmt.Sprintf("At last %s of the communication of %s%s is together with that of others.", words.Percent(*most.OverlapLast), most.Name, in)
}

// says says what sharing makes of a job: the greatest speed-up, or the longest iteration beside
// that alone, or whether jobs move apart.
func (s *Section) says() string {
	var fast, slow *Job
	var of, at *Group
	most := 0.0
	for i := range s.Groups {
		for k := range s.Groups[i].Jobs {
			j := &s.Groups[i].Jobs[k]
			if len(j.SpeedUps) > 0 && (fast == nil || j.speedUp() > fast.speedUp()) {
				fast, of = j, &s.Groups[i]
			}
			if p := j.Prediction; p != nil && p.AloneUS > 0 && j.MedianUS/p.AloneUS > most {
				most, slow, at = j.MedianUS/p.AloneUS, j, &s.Groups[i]
			}
		}
	}
	switch {
	case fast != nil:
		return fmt.Sprintf("In %s the iterations of %s are %.2f times as fast as in %s.", of.Variant, fast.Name, fast.speedUp(), of.Base)
	case slow != nil:
		return fmt.Sprintf("An iteration of %s takes %s%s, and alone it would take %s.", slow.Name, words.Span(slow.MedianUS), phrases.In(&s.reading.Facts, at.Variant), words.Span(slow.Prediction.AloneUS))
	}
	return ""
}

// table lists jobs that share links: their iterations by variant, the speed-ups, and what was
// predicted of both.
func (s *Section) table() *section.Table {
	t := &section.Table{Label: "Jobs that share links", Columns: phrases.Columns("Variant", "Job", "Shared links", "#Iteration p50", "#predicted", "#settled is off by", "#alone",
		"#Speed-up p50", "#predicted", "Overlap, first to last", "#Apart from iteration", "Law")}
	for i := range s.Groups {
		g := &s.Groups[i]
		for k := range g.Jobs {
			t.Rows = append(t.Rows, section.Row{Variant: g.Variant, Cells: append(phrases.Cells(g.Variant, g.Jobs[k].Name), g.Jobs[k].cells()...)})
		}
		t.Note = "Jobs that may send through the same ports. Predicted: by the plan and the fluid model, for ideal sharing under the variant's law; alone: with the network for itself. Settled: the mean of the second half of the iterations, which is what the model predicts. " +
			"Speed-up: iterations of variant " + g.Base + " over these, by their medians; the range is over the seeds. " +
			"Overlap: the share of the communication in which another job that shares a link communicates too. Apart: from this iteration on it stays below 5 %. The JSON form has means too."
	}
	phrases.Bound(t, "jobs", "the JSON form of this report")
	return t
}

func (j *Job) cells() []section.Cell {
	time := func(us float64) string {
		if us <= 0 {
			return words.None
		}
		return words.Span(us)
	}
	links, speed, predicted, overlap, apart := words.None, words.None, words.None, words.None, words.None
	if n := len(j.Links); n > 0 {
		links = strings.Join(j.Links[:min(n, mostLinks)], ", ")
		if n > mostLinks {
			links += fmt.Sprintf(" and %d more", n-mostLinks)
		}
	}
	if n := len(j.SpeedUps); n > 0 {
		speed = fmt.Sprintf("%.2f", j.speedUp())
		if n > 1 {
			speed += fmt.Sprintf(" (%.2f–%.2f)", slices.Min(j.SpeedUps), slices.Max(j.SpeedUps))
		}
	}
	if j.PredictedSpeedUp > 0 {
		predicted = fmt.Sprintf("%.2f", j.PredictedSpeedUp)
	}
	if j.OverlapFirst != nil && j.OverlapLast != nil {
		overlap = words.Percent(*j.OverlapFirst) + " → " + words.Percent(*j.OverlapLast)
	}
	if j.Apart != nil {
		apart = words.Number(*j.Apart)
	}
	alone, fluid, against, law := 0.0, 0.0, words.None, words.None
	if p := j.Prediction; p != nil {
		alone, fluid = p.AloneUS, p.FluidUS
		if p.FluidUS > 0 && j.SettledUS > 0 {
			against = fmt.Sprintf("%+.1f %%", 100*(j.SettledUS/p.FluidUS-1))
		}
		if law = p.Law; law == "" {
			law = p.Reason
		}
	}
	return phrases.Cells(links, time(j.MedianUS), time(fluid), against, time(alone), speed, predicted, overlap, apart, law)
}
