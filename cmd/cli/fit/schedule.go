package fit

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"slices"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/circle"
)

// Exact is a time that JSON has as text with its unit, as an experiment does.
type Exact units.Duration

// MarshalJSON implements json.Marshaler.
func (e Exact) MarshalJSON() ([]byte, error) { return json.Marshal(e.String()) }

// String returns the time with its unit, and all of its digits.
func (e Exact) String() string { return units.Duration(e).String() }

// Slot is the schedule of the first burst of each iteration, Offset + k*Period:
// jobs[].schedule of an experiment.
type Slot struct {
	Period Exact `json:"period"`
	Offset Exact `json:"offset"`
}

// slack is by which part schedules are longer than periods on the grid, at least: a hundredth.
// A late job catches up by it (docs/how-to/jobs.md#flow-scheduling).
const slack = 100

// schedule sets the slots of a cluster whose jobs fit: all periods grow by one factor, and
// each first burst keeps its place on the circle. Where that makes bursts meet, as it may if
// a job has several, the start offsets are looked for anew with the longer periods.
func (r *Result) schedule(c *circle.Cluster, v *ClusterView, given []circle.Profile, angle float64) {
	if len(c.Links) == 0 || !v.Compatible {
		return
	}
	common := units.Duration(0)
	for _, j := range c.Jobs {
		common = divisor(common, r.profiles[j].Period)
	}
	unit := units.Duration(1)
	for (common+common/slack)/unit >= 10000 {
		unit *= 10
	}
	longer := (common + (common+slack-1)/slack + unit - 1) / unit * unit
	v.Slack = float64(longer-common) / float64(common)
	padded := make([]circle.Profile, len(c.Jobs)) // each waits before its first burst
	for i, j := range c.Jobs {
		p := &r.profiles[j]
		padded[i] = circle.Profile{Name: p.Name, Period: p.Period / common * longer, Bursts: slices.Clone(p.Bursts)}
		if padded[i].Period > circle.MaxPeriod {
			v.NoSchedule = fmt.Sprintf("with slack its period is longer than %v", circle.MaxPeriod)
			return
		}
		for k := range padded[i].Bursts {
			padded[i].Bursts[k].At += padded[i].Period - p.Period
		}
	}
	links := r.linksOf(c)
	scaled := func(unit units.Duration) []units.Duration { // offsets of the first bursts
		all := make([]units.Duration, len(c.Jobs))
		for i, j := range c.Jobs {
			first := r.profiles[j].Bursts[0].At
			all[i] = (grown(r.plan.Starts[j]+first, longer, common) + unit/2) / unit * unit
		}
		return all
	}
	offsets := scaled(unit)
	if !carry(padded, links, offsets) {
		offsets = scaled(1)
	}
	if !carry(padded, links, offsets) {
		plan, err := circle.Solve(padded, links, circle.PlanOptions{Angle: angle})
		if err != nil || !plan.Compatible() {
			v.NoSchedule = "with slack the bursts meet"
			return
		}
		for i := range offsets {
			offsets[i] = plan.Starts[i] + padded[i].Bursts[0].At
		}
	}
	// The first job starts at 0.
	turn := offsets[0] - given[c.Jobs[0]].Bursts[0].At
	for i, j := range c.Jobs {
		period := padded[i].Period
		offset := ((offsets[i]-turn)%period + period) % period
		begin := Exact(((offset-given[j].Bursts[0].At)%period + period) % period)
		r.Jobs[j].Slot, r.Jobs[j].Begin = &Slot{Exact(period), Exact(offset)}, &begin
	}
}

// linksOf returns the links of a cluster, with the positions of its jobs there.
func (r *Result) linksOf(c *circle.Cluster) (links []circle.Link) {
	for _, k := range c.Links {
		l := circle.Link{Name: r.links[k].Name, Capacity: r.links[k].Capacity}
		for _, j := range r.links[k].Jobs {
			l.Jobs = append(l.Jobs, slices.Index(c.Jobs, j))
		}
		links = append(links, l)
	}
	return links
}

// carry reports whether links carry all that jobs send whose first bursts begin at offsets.
func carry(profiles []circle.Profile, links []circle.Link, offsets []units.Duration) bool {
	starts := make([]units.Duration, len(profiles))
	for i := range profiles {
		p := &profiles[i]
		starts[i] = ((offsets[i]-p.Bursts[0].At)%p.Period + p.Period) % p.Period
	}
	for i := range links {
		perimeter := units.Duration(1)
		for _, j := range links[i].Jobs {
			perimeter = perimeter / divisor(perimeter, profiles[j].Period) * profiles[j].Period
		}
		if len(circle.Overloads(profiles, &links[i], starts, perimeter)) > 0 {
			return false
		}
	}
	return true
}

// divisor returns the greatest common divisor; that of 0 and a time is the time.
func divisor(a, b units.Duration) units.Duration {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// grown returns d * by / over, rounded down; none is negative, and by/over is below 2.
func grown(d, by, over units.Duration) units.Duration {
	high, low := bits.Mul64(uint64(d), uint64(by))
	quotient, _ := bits.Div64(high, low, uint64(over))
	return units.Duration(quotient)
}
