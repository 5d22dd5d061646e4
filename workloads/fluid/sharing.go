package fluid

import (
	"fmt"
	"math"
)

// Sharing is how the jobs that communicate at one time divide the links: by weighted
// max-min fairness (progressive filling; Bertsekas, Gallager, Data Networks, §6.5) with the weights
//
//	Weight * (Low + (1-Low)*free) * (Intercept + Slope*progress)
//
// Here progress is the share of its iteration's bytes that a job has sent, or, with a
// Reference, max(0, 1 - remaining/Reference). The share of its links that was free when the
// job's burst began is free, of the link on which that was the smallest.
type Sharing struct {
	Intercept, Slope float64
	// Reference is an amount: of capacity multiplied by picoseconds. Jobs with more than
	// that to send in their iterations have the weight of the Intercept. 0: each job's own
	// total.
	Reference float64
	// Low is the weight of a burst that finds its links full, from more than 0 to 1: first come,
	// as senders that read min(ABW/C) from CSIG at the begin of a phase. 0: 1, which makes no
	// difference between bursts.
	Low float64
	// Strict gives the links to the jobs of the highest priority, which divide them as
	// above, and what these leave to the next.
	Strict bool
}

// Modes of sharing (docs/reference/references.md#fluid-model).
var (
	// Weighted divides by the jobs' weights, equally where these are equal: what different
	// timers of DCQCN aim at.
	Weighted = Sharing{Intercept: 1}
	// Adaptive is R_AI (1 + sent/total) of adaptive unfairness.
	Adaptive = Sharing{Intercept: 1, Slope: 1}
	// MLTCP has MLTCP's default slope and intercept.
	MLTCP = Sharing{Intercept: 0.25, Slope: 1.75}
	// Strict is strict priority.
	Strict = Sharing{Intercept: 1, Strict: true}
)

func (s *Sharing) check() error {
	switch {
	case !(s.Intercept > 0) || !(s.Slope >= 0) || math.IsInf(s.Intercept+s.Slope, 0):
		return fmt.Errorf("intercept %v and slope %v, want more than 0, and 0 or more", s.Intercept, s.Slope)
	case !(s.Reference >= 0) || math.IsInf(s.Reference, 0):
		return fmt.Errorf("reference %v, want 0 or more", s.Reference)
	case !(s.Low >= 0 && s.Low <= 1):
		return fmt.Errorf("low %v, want 0 to 1", s.Low)
	}
	return nil
}

// use is a link of a job, and what it carries of what the job sends.
type use struct {
	link  int
	share float64
}

// sender is a burst that is under way. Amounts are of capacity multiplied by picoseconds.
type sender struct {
	job      int
	uses     []use
	capacity float64 // of its links, at the narrowest
	limit    float64 // at most which it sends: its own rate, or capacity
	priority int
	weight   float64 // without progress
	left     float64 // of the burst
	later    float64 // of the iteration, behind this burst
	total    float64 // that progress counts by: of the iteration, or Sharing.Reference
}

// progress returns what the law counts, of a burst with so much left.
func (s *sender) progress(left float64) float64 {
	return max(0, 1-(left+s.later)/s.total)
}

// growing reports whether the weight changes while the burst sends.
func (s *sender) growing(law *Sharing) bool { return law.Slope > 0 && s.left+s.later <= s.total }

// now returns the weight of a burst with so much left.
func (s *sender) now(law *Sharing, left float64) float64 {
	return s.weight * (law.Intercept + float64(law.Slope*s.progress(left)))
}

// divider computes the rates of bursts by weighted max-min fairness: it raises the rates of
// all in proportion to their weights until a link is full, or a burst has its limit. These
// stay, and the others go on. With strict priorities it does so for one priority after the
// other.
type divider struct {
	links []float64
	// priorities are those that there are, the highest first. There is one without strict
	// priorities.
	priorities []int
	room       []float64 // of each link
	demand     []float64 // weights of the bursts that still grow, of each link
	rates      []float64
	growing    []bool
	work       int64 // uses of links that it has looked at
}

func newDivider(links []float64, priorities []int) *divider {
	return &divider{links: links, priorities: priorities, room: make([]float64, len(links)), demand: make([]float64, len(links))}
}

// nothing is the share of a capacity that counts as none: what rounding leaves of it.
const nothing = 1e-12

// divide returns the rates of the bursts, in their order. They are valid until the next
// call.
func (d *divider) divide(all []*sender, weights []float64) []float64 {
	d.rates, d.growing = d.rates[:0], d.growing[:0]
	for range all {
		d.rates, d.growing = append(d.rates, 0), append(d.growing, false)
	}
	for _, s := range all {
		for _, u := range s.uses {
			d.room[u.link] = d.links[u.link]
		}
	}
	for _, priority := range d.priorities {
		d.fill(all, weights, priority)
	}
	return d.rates
}

// fill gives the bursts of a priority what there is room for.
func (d *divider) fill(all []*sender, weights []float64, priority int) {
	open := 0
	for i, s := range all {
		if s.priority == priority {
			d.growing[i] = true
			open++
		}
	}
	for level := 0.0; open > 0; {
		for _, s := range all {
			d.work += int64(len(s.uses))
			for _, u := range s.uses {
				d.demand[u.link] = 0
			}
		}
		for i, s := range all {
			if d.growing[i] {
				for _, u := range s.uses {
					d.demand[u.link] += float64(weights[i] * u.share)
				}
			}
		}
		rise := math.Inf(1)
		for i, s := range all {
			if !d.growing[i] {
				continue
			}
			rise = min(rise, s.limit/weights[i]-level)
			for _, u := range s.uses {
				rise = min(rise, d.room[u.link]/d.demand[u.link])
			}
		}
		rise = max(rise, 0)
		level += rise
		for i, s := range all {
			if d.growing[i] {
				d.rates[i] += float64(rise * weights[i])
				for _, u := range s.uses {
					d.room[u.link] -= float64(rise * weights[i] * u.share)
				}
			}
		}
		for i, s := range all {
			if !d.growing[i] {
				continue
			}
			full := d.rates[i] >= s.limit*(1-nothing)
			for _, u := range s.uses {
				if d.room[u.link] <= nothing*d.links[u.link] {
					d.room[u.link], full = 0, true
				}
			}
			if full {
				d.growing[i] = false
				open--
			}
		}
	}
}
