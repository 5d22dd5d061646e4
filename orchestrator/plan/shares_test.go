package plan_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/units"
)

// Jobs share links if their connections may take one port in one direction: the link in the
// middle, an ECMP group, or the NIC of a host that both use. Links in the other direction
// and NICs of neighbours do not count.
func TestShares(t *testing.T) {
	const dumbbell, leafSpine = "dumbbell: {left: 3, right: 3, rate: 50Gbps, bottleneck_rate: 25Gbps, delay: 1us}", "leaf_spine: {leaves: 3, spines: 2, hosts_per_leaf: 4, rate: 100Gbps, delay: 1us}"
	const ring = ", steps: 2, profile: {compute: 100us, bytes: 100kB}}"
	const pairs = ", steps: 2, profile: {compute: 100us, bytes: 100kB, pairs: true}}"
	for _, c := range []struct {
		name, topology string
		jobs           string
		want           [][]metrics.Share // of each job, without Node and Port
	}{
		{"both directions of the middle", dumbbell, "[{name: a, hosts: [0, 3]" + ring + ", {name: b, hosts: [1, 4]" + ring + "]", [][]metrics.Share{
			{{Job: 1, Ports: 2, Rate: 25 * units.Gbps}}, {{Job: 0, Ports: 2, Rate: 25 * units.Gbps}}}},
		{"messages in opposite directions", dumbbell, "[{name: a, hosts: [0, 3]" + pairs + ", {name: b, hosts: [4, 1]" + pairs + "]", [][]metrics.Share{nil, nil}},
		{"messages of neighbours to one side", dumbbell, "[{name: a, hosts: [0, 3]" + pairs + ", {name: b, hosts: [1, 4]" + pairs + "]", [][]metrics.Share{
			{{Job: 1, Ports: 1, Rate: 25 * units.Gbps}}, {{Job: 0, Ports: 1, Rate: 25 * units.Gbps}}}},
		{"one rack each", leafSpine, "[{name: a, hosts: [0, 1]" + ring + ", {name: b, hosts: [2, 3]" + ring + "]", [][]metrics.Share{nil, nil}},
		// Up to two spines and down from these, both ways.
		{"the same racks", leafSpine, "[{name: a, hosts: [0, 4]" + ring + ", {name: b, hosts: [1, 5]" + ring + ", {name: c, hosts: [8, 9]" + ring + "]", [][]metrics.Share{
			{{Job: 1, Ports: 8, Rate: 100 * units.Gbps}}, {{Job: 0, Ports: 8, Rate: 100 * units.Gbps}}, nil}},
		// Up from rack 0, and down into it; one job goes on to rack 1, the other to rack 2.
		{"one rack in common", leafSpine, "[{name: a, hosts: [0, 4]" + ring + ", {name: b, hosts: [1, 8]" + ring + "]", [][]metrics.Share{
			{{Job: 1, Ports: 4, Rate: 100 * units.Gbps}}, {{Job: 0, Ports: 4, Rate: 100 * units.Gbps}}}},
	} {
		set, err := experiment.Parse("t.yaml", "", []byte("schema: 1\nname: t\ntopology: {"+c.topology+"}\njobs: "+c.jobs+"\n"), experiment.Options{Tables: experiment.StandardTables()})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		p, err := plan.Compile(set.Variants[0].Experiment, 1)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		for i := range p.Jobs {
			shares := p.Jobs[i].Shares
			for k := range shares {
				s := &shares[k]
				a := p.Graph.Adjacency()[s.Node][s.Port]
				if got := p.Graph.Links[a.Link].Rate; got != s.Rate || int(s.Node) < p.Hosts() {
					t.Errorf("%s: job %d shares port %d of node %d, whose rate is %v", c.name, i, s.Port, s.Node, got)
				}
				s.Node, s.Port = 0, 0
			}
			if d := cmp.Diff(shares, c.want[i]); d != "" {
				t.Errorf("%s: job %d (-got +want):\n%s", c.name, i, d)
			}
		}
	}
}

// Many jobs cost what their meetings cost: of 1,024 jobs on 2,048 hosts, compared pair by
// pair on each link, a plan would take more than the 5 s of a check. A further seed looks at
// no path again.
func TestSharesOfManyJobs(t *testing.T) {
	checkout.SkipSlowRace(t)
	var jobs strings.Builder
	for i := range 1024 {
		fmt.Fprintf(&jobs, "  - {name: j%d, hosts: [%d, %d], steps: 2, profile: {compute: 1ms, bytes: 1MB}}\n", i, i, 1024+(i+512)%1024)
	}
	set := parse(t, "topology: {leaf_spine: {leaves: 64, spines: 32, hosts_per_leaf: 32, rate: 100Gbps, delay: 1us}}\njobs:\n"+jobs.String())
	begin := time.Now()
	s, err := plan.NewShape(set.Variants[0].Experiment)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Plan(1)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("the plan took %v, want at most 5 s", took)
	}
	q, err := s.Plan(2)
	if err != nil {
		t.Fatal(err)
	}
	for i := range p.Jobs {
		// The 31 other jobs of both racks: up to 32 spines and down from them, both ways.
		shares := p.Jobs[i].Shares
		if len(shares) != 31 || shares[0].Ports != 128 {
			t.Fatalf("job %d shares links with %d others: %+v", i, len(shares), shares)
		}
		if &q.Jobs[i].Shares[0] != &shares[0] {
			t.Fatalf("job %d: the second seed computes its shares again", i)
		}
	}
}
