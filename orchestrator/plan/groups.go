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

// groups returns the groups of a plan: all transfers, the transfers of each job, by its
// name if it has one, and those of measure.groups by name.
func (s *Shape) groups(p *Plan) ([]Group, error) {
	var groups []Group
	if p.Transfers > 0 {
		all, jobs := Group{Name: AllTransfers, Flows: make([]int, 0, p.Transfers)}, map[int32][]int{}
		sizes := map[int32]int{}
		for i := range p.Flows[:p.Transfers] {
			all.Flows = append(all.Flows, i)
			sizes[p.Flows[i].Job]++
		}
		for job, n := range sizes {
			if n == p.Transfers { // the only one
				jobs[job] = all.Flows
				continue
			}
			jobs[job] = make([]int, 0, n)
		}
		for i := range p.Flows[:p.Transfers] {
			if job := p.Flows[i].Job; len(jobs[job]) < sizes[job] {
				jobs[job] = append(jobs[job], i)
			}
		}
		groups = append(groups, all)
		for _, job := range slices.Sorted(maps.Keys(jobs)) {
			name, ok := s.workload.JobNames[int(job)]
			if !ok {
				name = fmt.Sprintf("job-%d", job)
			}
			groups = append(groups, Group{name, jobs[job]})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.experiment.Measure.Groups)) {
		in := make([]bool, len(p.Flows))
		for i, item := range s.experiment.Measure.Groups[name] {
			fits, err := flowFilter(item, p.Flows)
			if err != nil {
				return nil, failure.At(fmt.Sprintf("measure.groups.%s[%d]", name, i), err)
			}
			for k := range p.Flows {
				in[k] = in[k] || fits(&p.Flows[k])
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
