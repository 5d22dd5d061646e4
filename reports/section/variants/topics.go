package variants

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/words"
)

// inPlace prints two values as "1.23 ms instead of 2.03 ms in BASE (+65 %)", the second one
// without a variant if base is "".
func inPlace(q *Quantity, base string) string {
	was, now, unit := q.Texts()
	if unit != "" {
		unit = "\u00a0" + unit
	}
	now, was = now+unit, was+unit
	if q.Unit == "µs" {
		now, was = words.Short(q.Value.Median), words.Short(q.Base.Median)
	}
	text := now + " instead of " + was
	if now == was {
		text = now + " as before"
	}
	switch {
	case base == "":
	case now == was:
		text = now + " as in " + base
	default:
		text += " in " + base
	}
	return text + share(q)
}

// share prints the change of a quantity as " (+65 %)"; "" if it is none or cannot be told.
func share(q *Quantity) string {
	text := q.change()
	switch {
	case strings.Trim(text, "+−0.\u00a0%") == "":
		return ""
	case q.Outcome == Same && math.Abs(q.Change) > leastChange && q.Base.Seeds.Count > 1:
		return " (" + text + ", less than the seeds differ)"
	}
	return " (" + text + ")"
}

// onJobs returns what variants did to the first job, or if they did nothing to it, to the one
// that changed the most: to its steps, or to its messages if it does nothing but send them.
func (s *Section) onJobs() (all []effect) {
	if len(s.Steps) == 0 {
		return nil
	}
	changes := s.ofJobs()
	told := &changes[0]
	if !slices.ContainsFunc(changes, func(c jobChange) bool { return c.Job == told.Job && c.Outcome != Same }) {
		for i := range changes {
			if c := &changes[i]; c.Outcome != Same && (told.Outcome == Same || math.Abs(c.Change) > math.Abs(told.Change)) {
				told = c
			}
		}
	}
	for i := range changes {
		if c := &changes[i]; c.Job == told.Job {
			all = append(all, s.onJob(c, changes))
		}
	}
	return all
}

// jobChange is what a variant did to a job.
type jobChange struct {
	StepChange
	what string // "step", or "median message" where Quantity is of messages
}

// ofJobs returns the changes of jobs: of steps, or of messages where a job does nothing but send
// them in its only step.
func (s *Section) ofJobs() (all []jobChange) {
	sends := func(j runfolder.Job) bool {
		return j.Steps == 1 && len(j.Collectives) == 1 && j.Collectives[0].Kind == "send_recv"
	}
	for _, c := range s.Steps {
		change, name := jobChange{c, "step"}, "message_us.p50."+c.Job
		if slices.ContainsFunc(s.r.Manifest.JobsOf(c.Variant), func(j runfolder.Job) bool { return j.Name == c.Job && sends(j) }) {
			if a, b := s.metric(c.Base, name), s.metric(c.Variant, name); len(a) > 0 && len(b) > 0 {
				change.what, change.Quantity = "median message", quantity(name, "µs", false, a, b)
			}
		}
		all = append(all, change)
	}
	return all
}

// maxWorse bounds the jobs that a price names.
const maxWorse = 3

// onJob returns what a variant did to a job, and what it did to others.
func (s *Section) onJob(c *jobChange, all []jobChange) effect {
	article, topic := "a ", "steps"
	if c.what != "step" {
		article, topic = "the ", "messages"
	}
	e := effect{variant: c.Variant, base: c.Base, csig: c.CSIG, outcome: c.Outcome, other: s.otherWork(&c.StepChange), topic: topic,
		clause: fmt.Sprintf("%s%s of job %s takes %s", article, c.what, c.Job, inPlace(&c.Quantity, c.Base)) + s.because(c),
		figure: "it takes " + words.Short(c.Value.Median) + share(&c.Quantity)}
	jobs, shorter, longer, gain := 0, 0, 0, 0.0
	var second *jobChange
	for i := range all {
		o := &all[i]
		if o.Variant != c.Variant || o.Base != c.Base {
			continue
		}
		jobs++
		gain -= o.Change
		if o.Job != c.Job {
			second = o
		}
		switch o.Outcome {
		case Better:
			shorter++
		case Worse:
			longer++
			if o.Job != c.Job && len(e.price) < maxWorse {
				e.price = append(e.price, fmt.Sprintf("%s%s of job %s takes %s", article, o.what, o.Job, inPlace(&o.Quantity, "")))
			}
		}
	}
	e.gain = gain / float64(jobs)
	switch {
	case jobs == 2 && second.Outcome != Worse:
		e.clause += fmt.Sprintf(", and that of job %s %s", second.Job, inPlace(&second.Quantity, ""))
	case jobs > 2 && shorter == jobs:
		e.clause += fmt.Sprintf("; those of the other %d jobs are shorter too", jobs-1)
	case jobs > 2:
		e.clause += fmt.Sprintf("; of all %d jobs, %s shorter steps and %s longer ones", jobs, have(shorter), have(longer))
	}
	return e
}

func have(jobs int) string {
	switch jobs {
	case 0:
		return "none has"
	case 1:
		return "1 has"
	}
	return fmt.Sprintf("%d have", jobs)
}

// sameWork is by how much the computing of a job may differ where it does the same work.
const sameWork = 0.01

// otherWork reports whether a job computes for another time in both variants, or has other
// collectives.
func (s *Section) otherWork(c *StepChange) bool {
	if was, now, ok := s.partOf(c, "compute"); ok && math.Abs(now-was) > sameWork*was {
		return true
	}
	collectives := func(variant string) []runfolder.Collective {
		jobs := s.r.Manifest.JobsOf(variant)
		if at := slices.IndexFunc(jobs, func(j runfolder.Job) bool { return j.Name == c.Job }); at >= 0 {
			return jobs[at].Collectives
		}
		return nil
	}
	return !slices.EqualFunc(collectives(c.Base), collectives(c.Variant), func(a, b runfolder.Collective) bool { return a.Kind == b.Kind && a.Bytes == b.Bytes })
}

// partOf returns how long the ranks spend of a step in a part of it, in both variants, in µs.
func (s *Section) partOf(c *StepChange, part string) (was, now float64, ok bool) {
	a, b := s.r.Variant(c.Base), s.r.Variant(c.Variant)
	if a < 0 || b < 0 {
		return 0, 0, false
	}
	metric := part + "_us.mean." + c.Job
	was, inBase := s.r.Variants[a].Median(metric)
	now, inOther := s.r.Variants[b].Median(metric)
	return was, now, inBase && inOther
}

// allOf is the share of a step from which on a part is all of it, and its change explains nothing.
const allOf = 0.95

// because says which part of a step changed, if one makes most of the change.
func (s *Section) because(c *jobChange) string {
	if c.Outcome == Same || c.what != "step" {
		return ""
	}
	before, after := c.Quantity.Base.Median, c.Value.Median
	for _, part := range []struct{ name, text string }{
		{"exposed", "the ranks wait %s for the network instead of %s"},
		{"compute", "the ranks compute for %s instead of %s"},
		{"bubble", "the ranks wait %s for other stages of the pipeline instead of %s"},
		{"skew_wait", "the ranks wait %s for late ones instead of %s"},
		{"held", "the schedule holds the ranks for %s instead of %s"},
	} {
		if was, now, ok := s.partOf(&c.StepChange, part.name); ok && (now-was)/(after-before) > 0.5 && !(was > allOf*before && now > allOf*after) {
			return ", because " + fmt.Sprintf(part.text, words.Short(now), words.Short(was))
		}
	}
	return ""
}

// onSharing returns what variants did to the flow that gets the least of a bottleneck.
func (s *Section) onSharing() (all []effect) {
	shares := s.r.Sharing
	if shares == nil || shares.Even || shares.OwnTimes || len(shares.Rates) < 2 || shares.Rates[0].Variant != s.r.Variants[0].Name {
		return nil
	}
	base := &shares.Rates[0]
	whom := fmt.Sprintf("the other %d now get on average", shares.Flows-1)
	if shares.Flows == 2 {
		whom = "the other one now gets"
	}
	times := func(r *reading.SharingRates) string {
		return words.Three(r.OthersGbps/max(r.SlowestGbps, 1e-9)) + " times"
	}
	uneven := func(slow, others float64) float64 { return max(slow, others) / max(min(slow, others), 1e-9) }
	for i := range s.Differences {
		d := &s.Differences[i]
		at := slices.IndexFunc(shares.Rates, func(r reading.SharingRates) bool { return r.Variant == d.Variant })
		if at < 0 {
			continue
		}
		now := &shares.Rates[at]
		unit := words.ScaleFor(max(base.SlowestGbps, base.OthersGbps), words.BitRates)
		print := func(gbps float64) string { return words.Three(gbps * unit.Factor) }
		e := effect{variant: d.Variant, base: base.Variant, csig: d.CSIG, outcome: Same, said: []string{SlowestRate},
			gain:  uneven(base.SlowestGbps, base.OthersGbps)/uneven(now.SlowestGbps, now.OthersGbps) - 1,
			topic: "how the bottleneck is shared", clause: fmt.Sprintf("flow %s%s gets %s instead of %s\u00a0%s in %s", shares.Slowest, s.crossing([]string{shares.Slowest}),
				print(now.SlowestGbps), print(base.SlowestGbps), unit.Unit, base.Variant),
			figure: "it gets " + print(now.SlowestGbps) + "\u00a0" + unit.Unit}
		if base.SlowestGbps > 0 && now.SlowestGbps > 0 {
			e.clause += fmt.Sprintf("; %s %s as much, not %s", whom, times(now), times(base))
			e.clause = strings.Replace(e.clause, " 1 times as much", " as much", 1)
			e.figure = "it is " + times(now)
		}
		victim := func(c FlowChange) bool { return c.Flow == shares.Slowest }
		if slices.ContainsFunc(slices.Concat(d.Flows.Gained, d.Flows.Lost), victim) {
			e.outcome = Better
			if e.gain < 0 {
				e.outcome = Worse
			}
		}
		all = append(all, e)
	}
	return all
}

// quantity returns a quantity of a difference, nil without.
func (d *Difference) quantity(name string) *Quantity {
	for i := range d.Quantities {
		if d.Quantities[i].Name == name {
			return &d.Quantities[i]
		}
	}
	return nil
}

// onTimes returns what variants did to completion times: to the tail, and to the mean.
func (s *Section) onTimes() (all []effect) {
	for i := range s.Differences {
		d := &s.Differences[i]
		tail, mean := d.quantity("fct_us.p99"), d.quantity("fct_us.mean")
		if tail == nil || mean == nil {
			continue
		}
		e := effect{variant: d.Variant, base: s.r.Variants[0].Name, csig: d.CSIG, outcome: Same, said: []string{tail.Name, mean.Name}, topic: "completion times"}
		first, second := tail, mean
		names := []string{"the tail completion time (p99)", "the mean"}
		if tail.Outcome == Same && mean.Outcome != Same {
			first, second, names = mean, tail, []string{"the mean completion time", "the tail (p99)"}
		}
		if first.Outcome != Same {
			e.outcome, e.gain = first.Outcome, -first.Change
		}
		e.figure = "it is " + words.Short(first.Value.Median) + share(first)
		e.clause = fmt.Sprintf("%s is %s, and %s %s", names[0], inPlace(first, e.base), names[1], inPlace(second, ""))
		if len(s.r.Completion) == 1 {
			e.clause = fmt.Sprintf("flow %s completes in %s", s.r.Completion[0].Flow, inPlace(mean, e.base))
		}
		if completed, flows := phrases.Completed(&s.r.Facts, d.Variant); s.open(d.Variant) {
			e.clause = fmt.Sprintf("of the %s of %s flows that complete ", completed, flows) + e.clause
		}
		all = append(all, e)
	}
	return all
}

// open reports whether transfers of a variant did not complete.
func (s *Section) open(variant string) bool {
	return slices.ContainsFunc(s.r.Unfinished(), func(p reading.Progress) bool { return p.Variant == variant })
}

// onCompleted returns how many transfers complete in variants, where not all do.
func (s *Section) onCompleted() (all []effect) {
	count := func(variant string) (n float64) {
		for _, p := range s.r.Progress {
			if p.Variant == variant {
				n += float64(p.Completed)
			}
		}
		return n
	}
	base := s.r.Variants[0].Name
	was, flows := phrases.Completed(&s.r.Facts, base)
	for i := range s.Differences {
		d := &s.Differences[i]
		if !d.OtherCompleted {
			return nil
		}
		now, ofAll := phrases.Completed(&s.r.Facts, d.Variant)
		e := effect{variant: d.Variant, base: base, csig: d.CSIG, outcome: Same, topic: "how many flows complete", clause: fmt.Sprintf("%s of %s flows complete instead of %s of %s in %s", now, ofAll, was, flows, base), figure: now + " complete"}
		switch before, after := count(base), count(d.Variant); {
		case after > before:
			e.outcome, e.gain = Better, after/max(before, 1)-1
		case after < before:
			e.outcome, e.gain = Worse, after/before-1
		}
		all = append(all, e)
	}
	return all
}

// onSlowest returns what variants did to the rate of the slowest flow.
func (s *Section) onSlowest() (all []effect) {
	for i := range s.Differences {
		d := &s.Differences[i]
		q := d.quantity(SlowestRate)
		if q == nil {
			return nil
		}
		all = append(all, effect{variant: d.Variant, base: s.r.Variants[0].Name, csig: d.CSIG, outcome: q.Outcome, gain: q.Change, said: []string{SlowestRate},
			topic: "the slowest flow", clause: "the slowest flow gets " + inPlace(q, s.r.Variants[0].Name), figure: "it gets " + strings.TrimSpace(words.Three(q.Value.Median)+"\u00a0"+q.Unit)})
	}
	return all
}
