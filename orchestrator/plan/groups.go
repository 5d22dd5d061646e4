package plan

import (
	"fmt"
	"maps"
	"slices"

	"github.com/csiglab/csiglab/orchestrator/failure"
)

// Group is flows that some metrics are computed over, such as Jain's index.
type Group struct {
	Name  string
	Flows []int // ascending; not empty
}

// AllTransfers is the name of the group of all transfers.
const AllTransfers = "all"

// newGroups returns the groups of a run: all transfers, the transfers of each job, by its
// name if it has one, and those of measure.groups by name.
func newGroups(r *run) (groups []Group, err error) {
	transfers, flows := r.flows.sent(), r.flows.list
	if len(transfers) > 0 {
		all, jobs := Group{Name: AllTransfers, Flows: make([]int, 0, len(transfers))}, map[int32][]int{}
		sizes := map[int32]int{}
		for i := range transfers {
			all.Flows = append(all.Flows, i)
			sizes[transfers[i].Job]++
		}
		for job, n := range sizes {
			if n == len(transfers) { // the only one
				jobs[job] = all.Flows
				continue
			}
			jobs[job] = make([]int, 0, n)
		}
		for i := range transfers {
			if job := transfers[i].Job; len(jobs[job]) < sizes[job] {
				jobs[job] = append(jobs[job], i)
			}
		}
		groups = append(groups, all)
		for _, job := range slices.Sorted(maps.Keys(jobs)) {
			name, ok := r.workload.JobNames[int(job)]
			if !ok {
				name = fmt.Sprintf("job-%d", job)
			}
			groups = append(groups, Group{name, jobs[job]})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.experiment.Measure.Groups)) {
		in := make([]bool, len(flows))
		for i, item := range r.experiment.Measure.Groups[name] {
			fit, err := flowFilter(item, flows)
			if err != nil {
				return nil, failure.At(fmt.Sprintf("measure.groups.%s[%d]", name, i), err)
			}
			for k := range flows {
				in[k] = in[k] || fit(flows[k])
			}
		}
		g := Group{Name: name}
		for k, is := range in {
			if is {
				g.Flows = append(g.Flows, k)
			}
		}
		groups = append(groups, g)
	}
	return groups, nil
}
