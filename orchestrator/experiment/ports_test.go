package experiment

import (
	"testing"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/google/go-cmp/cmp"
)

// The rules of csig.ports and what they leave out survive writing and reading.
func TestPortRules(t *testing.T) {
	yes, no := true, false
	set := parse(t, small+`csig:
  format: compact
  ports:
    - {switch: tor0, port: 1, type: abw, policy: pass}
    - {tier: tor, to: host, policy: terminate}
    - {to: host, outside: true, init: 1/4, signals: [abw, delay]}
    - {outside: false}
    - {switch: agg*, to: switch, init: none}
`)
	want := []CSIGPort{
		{Switch: "tor0", Port: 1, Type: "abw", Format: "all", Policy: "pass"},
		{Switch: "*", Port: -1, Type: "all", Format: "all", Tier: "tor", To: "host", Policy: "terminate"},
		{Switch: "*", Port: -1, Type: "all", Format: "all", To: "host", Outside: &yes, Init: "1/4", Signals: []csig.Type{csig.ABW, csig.Delay}},
		{Switch: "*", Port: -1, Type: "all", Format: "all", Outside: &no},
		{Switch: "agg*", Port: -1, Type: "all", Format: "all", To: "switch", Init: "none"},
	}
	if diff := cmp.Diff(want, set.Base.CSIG.Ports); diff != "" {
		t.Error("(-want +got)", diff)
	}
	roundTrip(t, set, testTables())
	for i, words := range []string{"switch tor0, port 1", "switch *, tier tor, to host", "switch *, to host", "switch *", "switch agg*, to switch"} {
		if got := set.Base.CSIG.Ports[i].String(); got != words {
			t.Errorf("rule %d selects %q, want %q", i, got, words)
		}
	}
}
