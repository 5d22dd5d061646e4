package experiment

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const policies = small + `csig:
  format: wide
  policies:
    - {match: {flows: ["1-2", "0-*"], src: [0, 1]}, init: 1/16}
    - match: {dst: [3], hosts: [0, 3], jobs: [0, 7], dscp: [10, 46]}
      signals: {abw: 3, delay: 1}
`

func TestPolicies(t *testing.T) {
	set := parse(t, policies)
	want := []CSIGPolicy{
		{Match: CSIGMatch{Flows: []string{"1-2", "0-*"}, Src: []int{0, 1}}, Init: "1/16"},
		{Match: CSIGMatch{Dst: []int{3}, Hosts: []int{0, 3}, Jobs: []int{0, 7}, DSCP: []int{10, 46}}, Signals: map[string]int{"abw": 3, "delay": 1}},
	}
	if diff := cmp.Diff(want, set.Base.CSIG.Policies); diff != "" {
		t.Error("(-want +got)", diff)
	}
	roundTrip(t, set, testTables())

	set = parse(t, policies+"variants:\n  a: {}\n  b: {csig.policies.1.signals.abw: 2, csig.policies.0.init: none}\n  c: {csig.policies: []}\n")
	roundTrip(t, set, testTables())
	b := set.Variants[1].Experiment.CSIG.Policies
	if b[1].Signals["abw"] != 2 || b[0].Init != "none" || len(set.Variants[2].Experiment.CSIG.Policies) != 0 {
		t.Errorf("variant b has %+v, variant c %+v", b, set.Variants[2].Experiment.CSIG.Policies)
	}
}

// TestWrongPolicies has one mistake per entry, as TestWrongInput.
func TestWrongPolicies(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"no match", `match: {flows: ["1-2", "0-*"], src: [0, 1]}, `, "",
			`x.yaml:17:8: csig.policies[0]: the key "match" is missing`},
		{"empty match", `{flows: ["1-2", "0-*"], src: [0, 1]}`, "{}",
			`x.yaml:17:15: csig.policies[0].match: the lists are empty; csig.init and csig.signal are for all packets`},
		{"nothing to say", ", init: 1/16", "",
			`x.yaml:17:8: csig.policies[0]: want one of the keys init, signals and format`},
		{"init", "init: 1/16", "init: 1/0",
			`csig.policies[0].init: "1/0" is not every, none, 1/N`},
		{"unknown signal", "{abw: 3, delay: 1}", "{abw: 3, dealy: 1}",
			`x.yaml:19:32: csig.policies[1].signals.dealy: unknown signal "dealy"; known: delay abw abw-c nqd (did you mean "delay"?)`},
		{"weight of zero", "abw: 3", "abw: 0",
			`x.yaml:19:22: csig.policies[1].signals.abw: a weight of 0; want 1 to 255`},
		{"large weight", "abw: 3", "abw: 256",
			`x.yaml:19:22: csig.policies[1].signals.abw: a weight of 256; want 1 to 255`},
		{"unknown source", "src: [0, 1]", "src: [0, 4]",
			`x.yaml:17:48: csig.policies[0].match.src[1]: no host 4; hosts go from 0 to 3`},
		{"unknown host", "hosts: [0, 3]", "hosts: [9, 3]",
			`x.yaml:18:33: csig.policies[1].match.hosts[0]: no host 9; hosts go from 0 to 3`},
		{"DSCP", "dscp: [10, 46]", "dscp: [10, 64]",
			`csig.policies[1].match.dscp[1]: 64 is too large; the most is 63`},
		{"one for a list", "dscp: [10, 46]", "dscp: 10",
			`csig.policies[1].match.dscp: want a list, got a single value`},
		{"unknown key", "jobs: [0, 7]", "job: [0, 7]",
			`csig.policies[1].match.job: unknown key "job" (did you mean "jobs"?)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if strings.Count(policies, c.old) != 1 {
				t.Fatalf("%q is not in the experiment once", c.old)
			}
			_, err := Parse("x.yaml", "", []byte(strings.Replace(policies, c.old, c.new, 1)), Options{Tables: testTables()})
			var typed *Error
			if !errors.As(err, &typed) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}
