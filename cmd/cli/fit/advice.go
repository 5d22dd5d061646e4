package fit

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/circle"
)

// advise says in words what to do.
func (r *Result) advise(jobs []Job, given []circle.Profile, o Options) {
	say := func(format string, values ...any) { r.Advice = append(r.Advice, fmt.Sprintf(format, values...)) }
	for _, l := range r.plan.Loops {
		links := make([]string, len(l.Links))
		for i, k := range l.Links {
			links[i] = r.links[k].Name
		}
		say("Loop: %s on %s. Offsets that suit each link alone may contradict each other there, so these links have been solved together.", and(r.names(l.Jobs)), and(links))
	}
	if r.Rough {
		say("Links of the loop carry different parts of what a job sends. It counts as if each carried the largest part, so that jobs may fit that are said not to.")
	}
	slots, pairs, broken := false, true, false
	for i := range r.plan.Clusters {
		c, v := &r.plan.Clusters[i], &r.Clusters[i]
		switch {
		case len(c.Links) == 0:
			continue
		case v.Compatible:
			say("%s", r.fits(c))
			if v.NoSchedule != "" {
				say("There is no schedule for them: %s.", v.NoSchedule)
			}
		default:
			broken = true
			r.Advice = append(r.Advice, r.misfits(c)...)
			if more := r.wider(c, given, o); more != "" {
				say("%s", more)
			}
		}
		if turns := r.turns(c, v, jobs); turns != "" {
			say("%s", turns)
		}
		if v.NotPredicted != "" {
			say("Iterations of %s are not predicted: %s.", and(v.Jobs), v.NotPredicted)
		}
		worse := r.worse(c)
		if worse != "" {
			say("%s", worse)
		} else if len(c.Links) > 0 && v.Compatible && v.NoSchedule == "" {
			slots, pairs = true, pairs && len(c.Jobs) == 2
		}
	}
	if slots {
		say("Flow scheduling keeps jobs apart: give each the schedule above (docs/how-to/jobs.md#flow-scheduling).")
		levers := "adaptive R_AI, mltcp and csig-share"
		if pairs {
			levers = "adaptive R_AI, mltcp, csig-share, unequal timers and strict priorities"
		}
		say("Unfairness looks for such offsets by itself: %s (docs/how-to/jobs.md#levers).", levers)
	}
	if broken {
		say("Where jobs do not fit, static unfairness and priorities help one at the cost of another. Adaptive R_AI and mltcp end fair. Another placement, with pairs that fit, helps all.")
	}
}

// worse says which jobs of a cluster are slower with the start offsets or schedules than with
// fair sharing, by more than half a per cent; "" if none is.
func (r *Result) worse(c *circle.Cluster) string {
	const most = 8
	var jobs []string
	kept := false
	for _, i := range c.Jobs {
		j := &r.Jobs[i]
		kept = kept || j.Slot != nil
		if j.With > j.Fair+j.Fair/200 {
			jobs = append(jobs, fmt.Sprintf("%s %v against %v", j.Name, j.With, j.Fair))
		}
	}
	if len(jobs) > most {
		jobs = append(jobs[:most], fmt.Sprintf("%d more", len(jobs)-most))
	}
	switch {
	case len(jobs) == 0:
		return ""
	case kept:
		return fmt.Sprintf("Fair sharing is faster than the schedule for %s: there the slack costs more than taking turns gains.", and(jobs))
	}
	return fmt.Sprintf("Do not use these starts: with them an iteration takes longer than with fair sharing, of %s.", and(jobs))
}

// fits says how the jobs of a cluster have to start.
func (r *Result) fits(c *circle.Cluster) string {
	names := r.names(c.Jobs)
	if len(c.Jobs) == 2 && c.Separate == circle.Yes {
		a, b := &r.profiles[c.Jobs[0]], &r.profiles[c.Jobs[1]]
		if p, err := circle.Pair(a, b); err == nil && p.Compatible() {
			return fmt.Sprintf("%s fit: start %s %s after %s%s.", and(names), names[1], spans(p.Offsets), names[0], modulo(&p, b))
		}
	}
	short := r.starts()
	starts := make([]string, 0, len(names))
	for i, j := range c.Jobs[1:] {
		starts = append(starts, names[i+1]+" "+short[j])
	}
	text := fmt.Sprintf("%s fit: start %s after %s", and(names), and(starts), names[0])
	if c.Separate != circle.Yes {
		return text + ". Some of their bursts are at one time then, and the links carry them."
	}
	return text + "."
}

// spans returns valid offsets in words, rounded inwards; exactly where that leaves nothing.
func spans(all []circle.Range) string {
	const most = 3
	var words []string
	for i, s := range all {
		if i == most {
			words = append(words, fmt.Sprintf("%d more ranges", len(all)-most))
			break
		}
		from, to := fourDigits(s.From, 1), fourDigits(s.To, -1)
		if from > to {
			from, to = s.From, s.To
		}
		if from == to {
			words = append(words, from.String())
			continue
		}
		words = append(words, fmt.Sprintf("%v to %v", from, to))
	}
	return strings.Join(words, ", or ")
}

// modulo says which other offsets are valid.
func modulo(p *circle.Pairing, second *circle.Profile) string {
	if p.Modulus == second.Period {
		return ""
	}
	return fmt.Sprintf(", or any multiple of %v later", p.Modulus)
}

// misfits says why the jobs of a cluster do not fit, and what is best.
func (r *Result) misfits(c *circle.Cluster) (all []string) {
	for _, k := range c.Links {
		f, l := &r.plan.Links[k], &r.links[k]
		if f.Carries {
			continue
		}
		on := ""
		if len(r.links) > 1 {
			on = " on " + l.Name
		}
		names := and(r.names(l.Jobs))
		wanted, apart := 0.0, true // share of the link over the time; no two bursts go at one time
		for x, j := range l.Jobs {
			p := &r.profiles[j]
			for _, b := range p.Bursts {
				wanted += float64(b.Length) / float64(p.Period) * float64(cmp.Or(b.Rate, l.Capacity)) / float64(l.Capacity)
			}
			for _, i := range l.Jobs[:x] {
				apart = apart && lowest(p, l)+lowest(&r.profiles[i], l) > l.Capacity
			}
		}
		a, b := &r.profiles[l.Jobs[0]], &r.profiles[l.Jobs[1]]
		p, err := circle.Pair(a, b)
		switch {
		case wanted > 1:
			all = append(all, fmt.Sprintf("%s do not fit%s: over the time they send %s %% of what the link carries.", names, on, percent(wanted)))
		case f.Fits == circle.Yes && c.Fits == circle.No:
			all = append(all, fmt.Sprintf("%s would fit%s, but not with the offsets that the other links want.", names, on))
		case f.Fits == circle.Yes:
			all = append(all, fmt.Sprintf("%s would fit%s without the other links. Whether they fit with these is not known: the search gave up.", names, on))
		case f.Fits == circle.NotKnown:
			all = append(all, fmt.Sprintf("Whether %s fit%s is not known: the search gave up.", names, on))
		case len(l.Jobs) == 2 && err == nil && len(a.Bursts) == 1 && len(b.Bursts) == 1:
			all = append(all, fmt.Sprintf("%s do not fit%s: bursts of %s and %s are longer together than the %s that their periods have in common.",
				names, on, digits(a.Communicate(), 0), digits(b.Communicate(), 0), digits(p.Modulus, 0)))
		case apart:
			all = append(all, fmt.Sprintf("%s do not fit%s: no start offsets keep all of their bursts apart.", names, on))
		default:
			all = append(all, fmt.Sprintf("%s do not fit%s: with all start offsets bursts meet that the link does not carry at one time.", names, on))
		}
		all = append(all, fmt.Sprintf("With the starts above they want %s %% more than the link has, over the time; all together at 0 they want %s %%.", percent(1-f.With), percent(1-f.Zero)))
		if pairs := r.pairs(l); pairs != "" {
			all = append(all, pairs)
		}
	}
	return all
}

// lowest returns the rate of a job's slowest burst on a link.
func lowest(p *circle.Profile, l *circle.Link) units.Rate {
	least := l.Capacity
	for _, b := range p.Bursts {
		least = min(least, cmp.Or(b.Rate, l.Capacity))
	}
	return least
}

// pairs says which two of more jobs fit on a link.
func (r *Result) pairs(l *circle.Link) string {
	const most = 8
	if len(l.Jobs) < 3 {
		return ""
	}
	var good []string
	all := 0
	for x, i := range l.Jobs {
		for _, j := range l.Jobs[x+1:] {
			all++
			if r.pair(i, j, l.Capacity) {
				good = append(good, r.Jobs[i].Name+" with "+r.Jobs[j].Name)
			}
		}
	}
	switch {
	case len(good) == 0:
		return "No two of them fit."
	case len(good) == all:
		return "Any two of them fit."
	case len(good) > most:
		good = append(good[:most], fmt.Sprintf("%d more", len(good)-most))
	}
	return "Pairs that fit: " + strings.Join(good, "; ") + "."
}

// pair reports whether two jobs fit on a link: apart, or with bursts at one time that the
// link carries.
func (r *Result) pair(i, j int, capacity units.Rate) bool {
	a, b := r.profiles[i], r.profiles[j]
	if p, err := circle.Pair(&a, &b); err == nil && p.Compatible() {
		return true
	}
	l := circle.Link{Capacity: capacity, Jobs: []int{0, 1}}
	if lowest(&a, &l)+lowest(&b, &l) > capacity {
		return false // none of their bursts may meet
	}
	const budget = 10_000 // of a small question, of which there may be many
	p, err := circle.Solve([]circle.Profile{a, b}, []circle.Link{l}, circle.PlanOptions{Budget: budget})
	return err == nil && p.Compatible()
}
