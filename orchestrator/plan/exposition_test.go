package plan_test

import (
	"slices"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/plan"
)

// Groups of traffic without names have the labels in a lab that they have in the series of
// its run folder (metrics/series, TestJobsOfTransfers): numbers, or none if there is one.
func TestExposedJobs(t *testing.T) {
	for workload, want := range map[string][]string{
		"transfers: [0 -> 3 10kB, 1 -> 2 10kB]":                                                   {""},
		"transfers: [{src: 0, dst: 3, size: 10kB, job: 1}, {src: 1, dst: 2, size: 10kB, job: 1}]": {""},
		"transfers: [{src: 0, dst: 3, size: 10kB, job: 1}, {src: 1, dst: 2, size: 10kB}]":         {"job-0", "job-1"},
		"traffic: [{name: big, permutation: {size: 10kB}}]":                                       {"big"},
	} {
		text := "schema: 1\nname: t\ntopology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 10Gbps, delay: 1us}}\nworkload: {" + workload + "}\n"
		set, err := experiment.Parse("t.yaml", "", []byte(text), experiment.Options{Tables: experiment.StandardTables()})
		if err != nil {
			t.Fatal(err)
		}
		p, err := plan.Compile(set.Variants[0].Experiment, 1)
		if err != nil {
			t.Fatal(err)
		}
		nodes := make([]int, len(p.Nodes))
		for i := range nodes {
			nodes[i] = i
		}
		var got []string
		for _, f := range p.Expositions([][]int{nodes})[0].Flows {
			got = append(got, f.Job)
		}
		slices.Sort(got)
		if got = slices.Compact(got); !slices.Equal(got, want) {
			t.Errorf("%s: labels %q, want %q", workload, got, want)
		}
	}
}
