package fit

import (
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/circle"
)

// turns says that the answer of a cluster turns if all of its measured bursts are as long, or
// as short, as their profiles may be off; "" if it does not, or if that is not known.
func (r *Result) turns(c *circle.Cluster, v *ClusterView, jobs []Job) string {
	off := make([]circle.Profile, len(c.Jobs))
	var names []string
	for i, j := range c.Jobs {
		off[i] = r.profiles[j]
		by := jobs[j].Uncertainty
		if by == 0 {
			continue
		}
		names = append(names, fmt.Sprintf("%s %s", jobs[j].Name, digits(by, 0)))
		if !v.Compatible {
			by = -by
		}
		off[i].Bursts = longer(&r.profiles[j], by)
	}
	if len(names) == 0 {
		return ""
	}
	const budget = 1_000_000 // a second, which is less than the answer itself may take
	p, err := circle.Solve(off, r.linksOf(c), circle.PlanOptions{Budget: budget})
	switch {
	case err != nil || p.Fits() == circle.NotKnown:
		return ""
	case v.Compatible && !p.Compatible():
		return fmt.Sprintf("They fit only just: not if bursts are longer by as much as the measured profiles may be off (%s).", and(names))
	case !v.Compatible && p.Compatible():
		return fmt.Sprintf("%s would fit if bursts were shorter by as much as the measured profiles may be off (%s).", and(v.Jobs), and(names))
	}
	return ""
}

// longer returns the bursts of a profile, each longer by a time, or shorter if that is
// negative, as far as the others and the period leave room.
func longer(p *circle.Profile, by units.Duration) []circle.Burst {
	bursts := slices.Clone(p.Bursts)
	end := p.Period // of the room, from the last burst on
	for i := len(bursts) - 1; i >= 0; i-- {
		b, begin := &bursts[i], units.Duration(0)
		if i > 0 {
			begin = bursts[i-1].End()
		}
		b.Length = min(max(1, b.Length+by), end-begin)
		b.At = max(begin, min(b.At, end-b.Length))
		end = b.At
	}
	return bursts
}
