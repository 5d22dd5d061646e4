package reading

import (
	"cmp"
	"math"
	"slices"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Limits that keep charts readable and bound the memory of their series.
const (
	MaxGroups = 8   // groups of flows; all but the last are single flows
	maxPoints = 800 // of a line
)

// pointUS returns the time between two points of a chart. It is the least whole
// number of its windows with which the longest run has at most maxPoints.
func pointUS(m *runfolder.Manifest, longestUS float64) float64 {
	window := m.LongestWindowUS()
	return window * max(1, math.Ceil(longestUS/window/maxPoints))
}

// groupFlows gives every flow a group of its own when there are few flows. Of
// many flows it picks the slowest and the fastest by rate and joins the others.
// It returns the groups and, by flow, the index of its group.
func groupFlows(flows []runfolder.Flow, rate map[string]float64) ([]Group, map[string]int) {
	own := flows
	if len(own) > MaxGroups {
		byRate := slices.Clone(own)
		slices.SortStableFunc(byRate, func(a, b runfolder.Flow) int { return cmp.Compare(rate[a.Name], rate[b.Name]) })
		half := (MaxGroups - 1) / 2
		chosen := map[string]bool{}
		for _, f := range byRate[:MaxGroups-1-half] {
			chosen[f.Name] = true
		}
		for _, f := range byRate[len(byRate)-half:] {
			chosen[f.Name] = true
		}
		own = slices.DeleteFunc(slices.Clone(own), func(f runfolder.Flow) bool { return !chosen[f.Name] })
	}
	groups, group := []Group{}, map[string]int{}
	for i, f := range own {
		group[f.Name] = i
		groups = append(groups, Group{f.Name, 1})
	}
	rest := len(flows) - len(own)
	if rest == 0 {
		return groups, group
	}
	for _, f := range flows {
		if _, ok := group[f.Name]; !ok {
			group[f.Name] = len(own)
		}
	}
	return append(groups, Group{Flows: rest}), group
}
