package plan_test

import (
	"testing"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
)

// csig.override_d reaches every switch, for the types that it names alone.
func TestOverrideDOfSwitches(t *testing.T) {
	p := backendtest.Compile(t, `
schema: 1
name: x
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 100Gbps, delay: 1us}}
workload: {transfers: [0 -> 2 1MB]}
csig: {format: wide, override_d: [abw-c]}
`)
	want := [csig.Types]bool{csig.ABWC: true}
	for n := p.Hosts(); n < len(p.Nodes); n++ {
		if got := p.Switch(n).CSIG.Domain.OverrideD; got != want {
			t.Errorf("%s updates %v in spite of the D bit, want %v", p.Graph.Nodes[n].Name, got, want)
		}
	}
}
