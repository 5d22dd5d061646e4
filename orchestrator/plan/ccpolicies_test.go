package plan_test

import (
	"strings"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/plan"
)

const ccPoliciesText = `
schema: 1
name: cc
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 10Gbps, delay: 1us}}
workload:
  transfers:
    - {src: 0, dst: 2, size: 30kB}
    - {src: 0, dst: 3, size: 30kB, job: 1}
    - {src: 1, dst: 2, size: 30kB, job: 1}
    - {src: 1, dst: 3, size: 30kB}
hosts:
  cc: {name: dcqcn, timer: 60us}
  policies: POLICIES
`

// A policy changes what it names for the transfers that it fits, of two the later one
// wins parameter by parameter, and what nobody names stays.
func TestHostPolicies(t *testing.T) {
	compile := func(policies string) (*plan.Plan, error) {
		set, err := experiment.Parse("cc.yaml", "", []byte(strings.Replace(ccPoliciesText, "POLICIES", policies, 1)), experiment.Options{Tables: experiment.StandardTables()})
		if err != nil {
			t.Fatal(err)
		}
		return plan.Compile(set.Base, 1)
	}
	p, err := compile("[{match: {jobs: [1]}, cc: {timer: 100us, adaptive: true}}, {match: {flows: [1-2]}, cc: {timer: 20us}}]")
	if err != nil {
		t.Fatal(err)
	}
	got := map[int]string{}
	for h := range p.Nodes[:p.Hosts()] {
		c := p.Nodes[h].Host
		for i := range c.Sends {
			cc := c.CCOf(&c.Sends[i])
			got[c.Sends[i].ID] = cc.Name + " " + cc.Params["timer"] + " " + cc.Params["adaptive"] + " " + cc.Params["rate_ai"]
		}
	}
	for id, want := range map[int]string{0: "dcqcn 60us false auto", 1: "dcqcn 100us true auto", 2: "dcqcn 20us true auto", 3: "dcqcn 60us false auto"} {
		if got[id] != want {
			t.Errorf("transfer %d: %s, want %s", id, got[id], want)
		}
	}
	// Reports list each set of parameters.
	timers := map[string]int{}
	for _, class := range p.Parameters().Flows {
		timers[class.CCParameters["timer"]] += class.Flows
	}
	if len(timers) != 3 || timers["60us"] != 2 || timers["100us"] != 1 || timers["20us"] != 1 {
		t.Errorf("classes by timer: %v", timers)
	}
	for _, c := range []struct{ policies, want string }{
		{"[{match: {flows: [1-4]}, cc: {timer: 1us}}]", `hosts.policies[0].match.flows[0]: no flow is called "1-4"`},
		{"[{match: {src: [0], jobs: [2]}, cc: {timer: 1us}}]", "hosts.policies[0].match: no transfer fits all of it"},
		{"[{match: {src: [0]}, cc: {min_rate: 20Gbps}}]", "hosts.policies[0].cc.min_rate: 20Gbps is more than the link's 10Gbps"},
		{"[{match: {src: [0]}, cc: {cnp_interval: 20us}}]", "hosts.policies[0].cc: receivers follow hosts.cc"},
	} {
		if _, err := compile(c.policies); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", c.policies, err, c.want)
		}
	}
}

// Parameters that do not fit the link of a host that is not the first are refused in words.
func TestCCOfASlowHost(t *testing.T) {
	const text = `
schema: 1
name: slow
topology:
  graph:
    delay: 1us
    nodes: [{name: a, kind: host}, {name: b, kind: host}, {name: s, kind: switch}]
    links: [{a: a, b: s, rate: 100Gbps}, {a: b, b: s, rate: 25Gbps}]
workload: {transfers: [{src: 1, dst: 0, size: 30kB}]}
hosts: {cc: {name: constant, rate: 50Gbps}}
`
	set, err := experiment.Parse("slow.yaml", "", []byte(text), experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Compile(set.Base, 1)
	if err == nil {
		p.Parameters()
		t.Fatal("a rate above that of the link of b was accepted")
	}
	if got, want := err.Error(), "hosts.cc.rate: at b: 50Gbps is more than the link's 25Gbps"; !strings.HasSuffix(got, want) {
		t.Errorf("got %q, want %q at its end", got, want)
	}
}
