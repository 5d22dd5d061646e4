package plan_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/shim"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/units"
)

// policiesText has transfers of two jobs, and programs on hosts 0 and 3, which
// transfers use too.
const policiesText = `
schema: 1
name: policies
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 100Mbps, delay: 1ms}}
runtime: netns
clock: wall
workload:
  transfers:
    - {src: 0, dst: 3, size: 30kB}
    - {src: 1, dst: 2, size: 30kB, job: 1}
    - {src: 2, dst: 1, size: 30kB, job: 1}
    - {src: 1, dst: 2, size: 30kB}
    - {src: 3, dst: 0, size: 30kB, job: 1}
applications: {hosts: [3, 0], signals: [abw, nqd]}
csig:
  format: wide
  init: 1/4
  signal: delay
  policies: POLICIES
`

// A policy is for the packets that fit all of its lists, of two that say something else
// the later one holds, and what neither says stays.
func TestPolicies(t *testing.T) {
	sampled := csig.Sampling{Every: 4}
	own := csig.Weights{csig.ABW: 1, csig.NQD: 1}
	type flows map[string]transport.Tagging // only those with a policy of their own
	with := func(s csig.Sampling, probe units.Duration, w csig.Weights) transport.Tagging {
		return transport.Tagging{Sampling: s, Probe: probe, Signal: csig.Delay, Telemetry: w}
	}
	all := with(csig.All, 0, csig.Weights{})
	class := func(flow int32, dscps uint64, s csig.Sampling, w csig.Weights) shim.Class {
		return shim.Class{Flow: flow, DSCPs: dscps, Init: shim.Init{Sampling: s, Signals: w}}
	}
	const out, back = 5, 6 // flows of the programs from host 0 and from host 3
	for _, c := range []struct {
		name, policies string
		transfers      flows
		from0, from3   []shim.Class
	}{
		{"none", "[]", flows{}, nil, nil},
		{"name", `[{match: {flows: ["1-2"]}, init: every}]`, flows{"1-2": all}, nil, nil},
		{"pattern", `[{match: {flows: ["1-2*"]}, init: every}]`, flows{"1-2": all, "1-2#2": all}, nil, nil},
		{"name of programs", `[{match: {flows: ["h0-h3 app"]}, init: every}]`, flows{}, []shim.Class{class(out, shim.AllDSCPs, csig.All, own)}, nil},
		{"source", `[{match: {src: [3, 2]}, init: every}]`, flows{"2-1": all, "3-0": all}, nil, []shim.Class{class(back, shim.AllDSCPs, csig.All, own)}},
		{"destination", `[{match: {dst: [3]}, init: every}]`, flows{"0-3": all}, []shim.Class{class(out, shim.AllDSCPs, csig.All, own)}, nil},
		{"tenant by hosts", `[{match: {hosts: [2, 1, 0]}, init: every}]`, flows{"1-2": all, "2-1": all, "1-2#2": all}, nil, nil},
		{"tenant by job", `[{match: {jobs: [1]}, init: every}]`, flows{"1-2": all, "2-1": all, "3-0": all}, nil, nil},
		{"job and source", `[{match: {jobs: [1], src: [1]}, init: every}]`, flows{"1-2": all}, nil, nil},
		{"class of the transport", `[{match: {dscp: [10]}, init: every}]`,
			flows{"0-3": all, "1-2": all, "2-1": all, "1-2#2": all, "3-0": all},
			[]shim.Class{class(out, 1<<10, csig.All, own)}, []shim.Class{class(back, 1<<10, csig.All, own)}},
		{"class of programs", `[{match: {dscp: [46, 0], src: [0]}, init: every}]`, flows{}, []shim.Class{class(out, 1<<46|1, csig.All, own)}, nil},
		{"signals", `[{match: {src: [0]}, signals: {abw: 3, delay: 1}}]`,
			flows{"0-3": with(sampled, 0, csig.Weights{csig.ABW: 3, csig.Delay: 1})},
			[]shim.Class{class(out, shim.AllDSCPs, sampled, csig.Weights{csig.ABW: 3, csig.Delay: 1})}, nil},
		{"probes of a transfer", `[{match: {flows: ["1-2"]}, init: probe/20us}]`, flows{"1-2": with(csig.Sampling{}, 20*units.Microsecond, csig.Weights{})}, nil, nil},
		{"later wins, key by key", `[{match: {src: [0]}, init: every, signals: {nqd: 2}}, {match: {flows: ["0-3", "h0-h3 app"], dscp: [10, 8]}, init: none}, {match: {dst: [3]}, signals: {abw-c: 1}}]`,
			flows{"0-3": with(csig.Sampling{}, 0, csig.Only(csig.ABWC))},
			[]shim.Class{class(out, ^uint64(1<<10|1<<8), csig.All, csig.Only(csig.ABWC)), class(out, 1<<10|1<<8, csig.Sampling{}, csig.Only(csig.ABWC))}, nil},
	} {
		p := backendtest.Compile(t, strings.Replace(policiesText, "POLICIES", c.policies, 1))
		got := flows{}
		for h := range p.Hosts() {
			if p.Nodes[h].Host == nil {
				t.Fatalf("%s: host %d is no end of a transfer", c.name, h)
			}
			for _, f := range p.Nodes[h].Host.Sends {
				if f.Tagging != nil {
					got[p.Flows[f.ID].Name] = *f.Tagging
				}
			}
			if want := with(sampled, 0, csig.Weights{}); p.Nodes[h].Host.Tagging != want {
				t.Errorf("%s: host %d tags by %+v, want %+v", c.name, h, p.Nodes[h].Host.Tagging, want)
			}
		}
		if diff := cmp.Diff(c.transfers, got); diff != "" {
			t.Errorf("%s: transfers (-want +got)\n%s", c.name, diff)
		}
		for h, want := range map[int][]shim.Class{0: c.from0, 3: c.from3} {
			edge := p.Nodes[h].Edge()
			if diff := cmp.Diff(want, edge.Classes); diff != "" {
				t.Errorf("%s: programs of host %d (-want +got)\n%s", c.name, h, diff)
			}
			if edge.Init != (shim.Init{Sampling: sampled, Signals: own}) {
				t.Errorf("%s: programs of host %d: init %+v", c.name, h, edge.Init)
			}
		}
		if diff := cmp.Diff(p, throughGob(t, p), whole); diff != "" {
			t.Errorf("%s: the plan after a process boundary (-want +got)\n%s", c.name, diff)
		}
	}
}

// A policy that is for nothing is a mistake, and programs send no probes.
func TestRefusedPolicies(t *testing.T) {
	for policies, want := range map[string]string{
		`[{match: {flows: ["1-4"]}, init: every}]`:           `csig.policies[0].match.flows[0]: no flow is called "1-4"; the 7 flows are called like "0-3" (did you mean "1-2"?)`,
		`[{match: {flows: ["9*"]}, init: every}]`:            `csig.policies[0].match.flows[0]: no flow is called "9*"`,
		`[{match: {flows: ["1-2", "["]}, init: every}]`:      `csig.policies[0].match.flows[1]: "[": syntax error in pattern`,
		`[{match: {src: [0], dst: [1]}, init: every}]`:       `csig.policies[0].match: no flow fits all of it`,
		`[{match: {jobs: [2]}, init: every}]`:                `csig.policies[0].match: no flow fits all of it`,
		`[{match: {src: [1], dscp: [46]}, init: every}]`:     `csig.policies[0].match: no flow fits all of it; the data of transfers has DSCP 10, or that of its class, and programs have no job`,
		`[{match: {src: [0]}, init: probe/20us}]`:            `csig.policies[0].init: h0-h3 app has probes, which are the transport's; for programs want every, none, 1/N`,
		`[{match: {dscp: [3], src: [0]}, init: probe/20us}]`: `csig.policies[0].init: h0-h3 app has probes`,
	} {
		set, err := experiment.Parse("test.yaml", "", []byte(strings.Replace(policiesText, "POLICIES", policies, 1)), experiment.Options{Tables: experiment.StandardTables()})
		if err != nil {
			t.Fatal(err)
		}
		_, err = plan.Compile(set.Variants[0].Experiment, 1)
		if !errors.Is(err, failure.ErrConfiguration) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got  %v\nwant %s", policies, err, want)
		}
	}
	// Probes may be for all but programs.
	text := strings.Replace(policiesText, "init: 1/4", "init: probe/20us", 1)
	backendtest.Compile(t, strings.Replace(text, "POLICIES", `[{match: {flows: ["* app"]}, init: every}]`, 1))
	set, err := experiment.Parse("test.yaml", "", []byte(strings.Replace(text, "POLICIES", `[{match: {flows: ["h0* app"]}, init: every}]`, 1)), experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plan.Compile(set.Variants[0].Experiment, 1); err == nil || !strings.Contains(err.Error(), "csig.init: h3-h0 app has probes") {
		t.Errorf("probes for the programs of host 3: %v", err)
	}
}
