package plan_test

import (
	"testing"

	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/units"
)

// Flows that differ in their base RTT have classes of their own while these are few; of
// many one class has the range.
func TestClassesByBaseRTT(t *testing.T) {
	const text = `
schema: 1
name: t
topology: {leaf_spine: {leaves: 1, spines: 1, hosts_per_leaf: 40, rate: 100Gbps, delay: 1us}}
workload: {permutation: {size: 1kB}}
`
	set, err := experiment.Parse("t.yaml", "", []byte(text), experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Compile(set.Base, 1)
	if err != nil {
		t.Fatal(err)
	}
	rtt := func(more units.Duration) float64 { return (4*units.Microsecond + 674_240 + more).Microseconds() } // 2 (332 + 5.12) ns
	if all := p.Parameters().Flows; len(all) != 1 || all[0].Flows != 40 || all[0].BaseRTTUS != rtt(0) || all[0].BaseRTTMaxUS != rtt(0) {
		t.Errorf("classes %+v, want one of 40 flows with %v", all, rtt(0))
	}
	graph := *p.Graph
	graph.Links = append(graph.Links[:0:0], graph.Links...)
	p.Graph = &graph
	adjacency := graph.Adjacency()
	src := p.Flows[0].Src
	graph.Links[adjacency[src][0].Link].Delay += units.Microsecond // of one flow from the host and one to it
	all := p.Parameters().Flows
	if len(all) != 2 || all[0].Flows != 2 || all[1].Flows != 38 || all[0].BaseRTTUS != rtt(2*units.Microsecond) || all[0].BaseRTTMaxUS != all[0].BaseRTTUS || all[1].BaseRTTUS != rtt(0) {
		t.Errorf("classes %+v, want 2 flows with %v and 38 with %v", all, rtt(2*units.Microsecond), rtt(0))
	}
	for h := range graph.Hosts() {
		graph.Links[adjacency[h][0].Link].Delay = units.Microsecond + units.Duration(h*h)*units.Nanosecond
	}
	all = p.Parameters().Flows
	if len(all) != 1 || all[0].Flows != 40 || all[0].BaseRTTUS >= all[0].BaseRTTMaxUS || all[0].BaseRTTUS <= rtt(0) || all[0].BaseRTTMaxUS > rtt(2*(39*39+38*38)*units.Nanosecond) {
		t.Errorf("classes %+v, want one of 40 flows with a range", all)
	}
}
