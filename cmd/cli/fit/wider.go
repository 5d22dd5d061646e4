package fit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/circle"
)

// Tolerances that are tried when jobs do not fit, and for up to how many jobs.
var tolerances = []float64{0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2}

const mostTried = 8

// wider says with which tolerance the jobs of a cluster fit whose own does not do: some of
// them wait a little in every iteration then. It returns "" if there is none with which each
// is faster than with fair sharing.
func (r *Result) wider(c *circle.Cluster, given []circle.Profile, o Options) string {
	if o.Grid.Step > 0 || len(c.Jobs) > mostTried || r.Jobs[c.Jobs[0]].Fair == 0 {
		return ""
	}
	some := make([]circle.Profile, len(c.Jobs))
	for i, j := range c.Jobs {
		some[i] = given[j]
		some[i].Bursts = slices.Clone(given[j].Bursts)
		for k := range some[i].Bursts {
			some[i].Bursts[k].Rate = r.profiles[j].Bursts[k].Rate // as r.links are scaled
		}
	}
	links := r.linksOf(c)
	for _, tolerance := range tolerances {
		if tolerance <= o.Grid.Tolerance {
			continue
		}
		aligned, grid, err := circle.Align(some, circle.GridOptions{Tolerance: tolerance})
		if err != nil {
			continue
		}
		if plan, err := circle.Solve(aligned, links, circle.PlanOptions{Angle: o.Angle}); err != nil || !plan.Compatible() {
			continue
		}
		var costs []string
		for i, j := range c.Jobs {
			change := grid.Changes[i]
			if Microseconds(change.After+change.After/slack) >= r.Jobs[j].Fair { // a schedule has slack
				return ""
			}
			if change.After > change.Before {
				costs = append(costs, fmt.Sprintf("%s %s in place of %s (+%s %%)", r.Jobs[j].Name, digits(change.After, 0), digits(units.Duration(r.Jobs[j].Period), 0), percent(change.Share())))
			}
		}
		return fmt.Sprintf("With --tolerance %g they fit, and all are faster than with fair sharing. Then an iteration takes: %s.", tolerance, strings.Join(costs, ", "))
	}
	return ""
}
