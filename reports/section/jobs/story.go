package jobs

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/words"
)

// stepParts are the parts of an iteration by the names of partNames: their words in a legend,
// those behind a share, and the colour of their bars.
var stepParts = map[string]struct {
	legend, words string
	paint         int
}{
	"compute":   {"computing", "computing", 2},
	"bubble":    {"waiting for other stages of the pipeline (bubble)", "in the bubble of the pipeline", 0},
	"exposed":   {"waiting for the network", "waiting for the network", 4},
	"skew_wait": {"waiting for late ranks", "waiting for late ranks", 1},
	"held":      {"held by the schedule", "held by the schedule", 3},
	"idle":      {"idle", "idle", 5},
}

// leastPart is the share of an iteration from which on a part is worth a word.
const leastPart = 0.005

// waits says what ranks wait for, in the order of shares: "61 % waiting for the network".
func (j *Job) waits() (all []string) {
	parts := slices.Clone(j.Parts)
	slices.SortStableFunc(parts, func(a, b Part) int { return cmp.Compare(b.Share, a.Share) })
	for _, p := range parts {
		if p.Name != "compute" && p.Share >= leastPart {
			all = append(all, words.Percent(p.Share)+" "+stepParts[p.Name].words)
		}
	}
	return all
}

// Tell implements section.Teller.
func (s *Section) Tell(story *section.Story) { story.Say(section.Answer, 2, s.take()) }

// maxNamed is how many variants a sentence names.
const maxNamed = 4

// take says how long the steps of the first job take; "" if it ended none.
func (s *Section) take() string {
	var times []string
	left := 0
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if j.Name != s.Jobs[0].Name || j.IterationUS == nil {
			continue
		}
		if len(times) == maxNamed {
			left++
			continue
		}
		text := words.Short(j.IterationUS.Mean)
		switch {
		case len(s.facts.Variants) == 1:
		case len(times) == 0:
			text += " in variant " + j.Variant
		default:
			text += " in " + j.Variant
		}
		times = append(times, text)
	}
	if len(times) == 0 {
		return ""
	}
	more := ""
	if left > 0 {
		more = fmt.Sprintf(" (and %s)", words.Plural(left, "more variant"))
	}
	text := fmt.Sprintf("a step of job %s on %s takes %s%s", s.Jobs[0].Name, words.Plural(s.Jobs[0].Ranks, "rank"), words.List(times), more)
	if j := s.slowest(); j != nil && j.Parts != nil {
		in := ""
		if len(s.facts.Variants) > 1 {
			in = "in " + j.Variant + " "
		}
		waits := j.waits()
		if len(waits) == 0 {
			waits = []string{"all of it computing"}
		}
		text += fmt.Sprintf("; %sthe ranks spend %s", in, words.List(waits))
	}
	return text
}

// slowest returns the first job in the variant in which its steps take longest, nil without
// steps.
func (s *Section) slowest() (slowest *Job) {
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if j.Name == s.Jobs[0].Name && j.IterationUS != nil && (slowest == nil || j.IterationUS.Mean > slowest.IterationUS.Mean) {
			slowest = j
		}
	}
	return slowest
}

// told returns the job whose slowest step is shown first: the one whose steps take longest, or
// else the first one with a critical path; nil without any.
func (s *Section) told() *Job {
	if j := s.slowest(); j != nil && j.Slowest >= 0 {
		return j
	}
	for i := range s.Jobs {
		if s.Jobs[i].Slowest >= 0 {
			return &s.Jobs[i]
		}
	}
	return nil
}

// Findings implements section.Finder: where the slowest step of each job was lost.
func (s *Section) Findings() (texts []string) {
	for i := range s.Jobs {
		if j := &s.Jobs[i]; j.Slowest >= 0 {
			texts = append(texts, s.slowestStep(j))
		}
	}
	return texts
}

// slowestStep says where it was lost.
func (s *Section) slowestStep(j *Job) string {
	p := &j.Paths[j.Slowest]
	of := ""
	if len(j.Paths) > 1 {
		of = fmt.Sprintf(", the slowest of %d,", len(j.Paths))
	}
	return fmt.Sprintf("Step %d of %s%s%s takes %s. The critical path loses %s.", p.Step, j.Name, phrases.In(&s.facts.Facts, j.Variant), of, tenths(p.US()), p.lost())
}

// steps says how long the steps of a job take that have critical paths.
func (s *Section) steps(j *Job) string {
	if len(j.Paths) == 1 {
		return "What the slowest steps waited for."
	}
	low, high := math.Inf(1), 0.0
	for i := range j.Paths {
		low, high = min(low, j.Paths[i].US()), max(high, j.Paths[i].US())
	}
	return fmt.Sprintf("%d steps of %s%s take from %s to %s.", len(j.Paths), j.Name, phrases.In(&s.facts.Facts, j.Variant), tenths(low), tenths(high))
}

// slowestCollective says which collective takes longest.
func (s *Section) slowestCollective() string {
	var at *Job
	var slowest *Collective
	for i := range s.Jobs {
		for k := range s.Jobs[i].Collectives {
			c := &s.Jobs[i].Collectives[k]
			if c.CCTUS != nil && (slowest == nil || c.CCTUS.P50 > slowest.CCTUS.P50) {
				at, slowest = &s.Jobs[i], c
			}
		}
	}
	if slowest == nil {
		return ""
	}
	return fmt.Sprintf("%s of %s takes longest%s: %s in the median, and %s at the 99th percentile.", slowest.Name, at.Name, phrases.In(&s.facts.Facts, at.Variant), tenths(slowest.CCTUS.P50), tenths(slowest.CCTUS.P99))
}
