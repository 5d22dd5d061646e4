package experiment

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/nodes/algorithm"
)

const hostPolicies = small + `hosts:
  cc: {name: swift, base_target: 25us}
  policies:
    - {match: {flows: ["0-*"]}, cc: {base_target: 1000ns}}
    - {match: {src: [0, 1], dst: [3], hosts: [0, 3], jobs: [0, 7]}, cc: {hops: 4, floor: 1Gbps}}
`

func TestHostPolicies(t *testing.T) {
	set := parse(t, hostPolicies)
	want := []HostPolicy{
		{Match: FlowMatch{Flows: []string{"0-*"}}, CC: algorithm.Values{"base_target": "1us"}},
		{Match: FlowMatch{Src: []int{0, 1}, Dst: []int{3}, Hosts: []int{0, 3}, Jobs: []int{0, 7}}, CC: algorithm.Values{"hops": "4", "floor": "1Gbps"}},
	}
	if diff := cmp.Diff(want, set.Base.Hosts.Policies); diff != "" {
		t.Error("(-want +got)", diff)
	}
	roundTrip(t, set, testTables())

	set = parse(t, hostPolicies+"variants:\n  a: {}\n  b: {hosts.policies.1.cc.hops: 6}\n  c: {hosts.policies: []}\n")
	roundTrip(t, set, testTables())
	if got := set.Variants[1].Experiment.Hosts.Policies[1].CC["hops"]; got != "6" || len(set.Variants[2].Experiment.Hosts.Policies) != 0 {
		t.Errorf("variant b has hops %s, variant c %+v", got, set.Variants[2].Experiment.Hosts.Policies)
	}
	if got := set.Variants[0].Experiment.Hosts.Policies[1].CC["hops"]; got != "4" {
		t.Errorf("variant a has hops %s, want its own 4", got)
	}
}

// TestWrongHostPolicies has one mistake per entry, as TestWrongInput.
func TestWrongHostPolicies(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"no match", `{match: {flows: ["0-*"]}, cc`, "{cc", `x.yaml:17:8: hosts.policies[0]: the key "match" is missing`},
		{"empty match", `{flows: ["0-*"]}`, "{}", `x.yaml:17:15: hosts.policies[0].match: the lists are empty; hosts.cc is for all transfers`},
		{"nothing to say", `, cc: {base_target: 1000ns}`, "", `x.yaml:17:8: hosts.policies[0]: the key "cc" is missing`},
		{"empty", `{base_target: 1000ns}`, "{}", `hosts.policies[0].cc: want parameters of swift`},
		{"another algorithm's", `hops: 4`, "gain: 4", `x.yaml:18:80: hosts.policies[1].cc.gain: unknown parameter of swift "gain"; known: base_target min_cwnd floor hops`},
		{"misspelt", `hops: 4`, "hop: 4", `hosts.policies[1].cc.hop: unknown parameter of swift "hop"; known: base_target min_cwnd floor hops (did you mean "hops"?)`},
		{"value", `hops: 4`, "hops: four", `x.yaml:18:80: hosts.policies[1].cc.hops: "four" is not a whole number`},
		{"unit", `1000ns`, "1000", `hosts.policies[0].cc.base_target: duration "1000": a unit is missing`},
		{"name", `{hops: 4,`, "{name: nscc,", `hosts.policies[1].cc.name: unknown parameter of swift "name"`},
		{"host", `dst: [3]`, "dst: [4]", `hosts.policies[1].match.dst[0]: no host 4; hosts go from 0 to 3`},
		{"class", `jobs: [0, 7]`, "dscp: [10]", `hosts.policies[1].match.dscp: unknown key "dscp"`},
		{"tags", `{name: swift, base_target: 25us}`, `nscc`, `unknown parameter of nscc "base_target"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if strings.Count(hostPolicies, c.old) != 1 {
				t.Fatalf("%q is not in the experiment once", c.old)
			}
			_, err := Parse("x.yaml", "", []byte(strings.Replace(hostPolicies, c.old, c.new, 1)), Options{Tables: testTables()})
			var typed *Error
			if !errors.As(err, &typed) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
	_, err := Parse("x.yaml", "", []byte(small+"hosts: {policies: [{match: {src: [0]}, cc: {csig: max-delay}}]}\n"), Options{Tables: testTables()})
	if want := "hosts.policies[0].cc.csig: max-delay needs a CSIG tag"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}
