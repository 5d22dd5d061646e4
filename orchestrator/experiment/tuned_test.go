package experiment

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every shipped experiment says what it owes to tuning, tuned: [] if nothing, of values that it has.
func TestShippedExperimentsSayWhatTheyOweToTuning(t *testing.T) {
	for _, name := range Names() {
		set, err := Load(name, Options{Tables: StandardTables()})
		if err != nil {
			t.Fatal(err)
		}
		if set.Variants[0].node["tuned"] == nil {
			t.Errorf("%s: the key tuned is missing: values that were chosen for it, or tuned: [] (docs/reference/tuning.md)", name)
		}
		for _, item := range set.Base.Tuned {
			found := false
			for i := range set.Variants {
				found = found || len(set.Variants[i].Given(item.Path)) > 0
			}
			if !found {
				t.Errorf("%s: tuned: no variant is given %s", name, item.Path)
			}
		}
	}
}

const tunedText = `schema: 1
name: t
topology: {leaf_spine: {leaves: 3, spines: 1, hosts_per_leaf: 1, rate: 2.5Gbps, delay: 1us}}
workload: {transfers: [0 -> 1 1kB, {src: 0, dst: 1, size: 333B, start: 5us}]}
hosts: {lb: reps}
variants:
  plain: {hosts.ack_every: 1kB}
  gain: {hosts.cc: {name: nscc, gamma: 0.3}}
tuned:
  - {path: "workload.transfers[*].size", seeds: 3..5, why: w}
  - {path: hosts.cc.gamma, seeds: [7], why: w}
  - {path: hosts.lb, why: no run chose it}
`

// A path stands for the values that a variant was given there, and a factor keeps their units.
func TestScaled(t *testing.T) {
	set, err := Parse("t.yaml", ".", []byte(tunedText), Options{Tables: StandardTables()})
	if err != nil {
		t.Fatal(err)
	}
	want := []Tuned{{"workload.transfers[*].size", []uint64{3, 4, 5}, "w"}, {"hosts.cc.gamma", []uint64{7}, "w"}, {"hosts.lb", nil, "no run chose it"}}
	if diff := cmp.Diff(set.Base.Tuned, want); diff != "" {
		t.Error(diff)
	}
	for _, c := range []struct {
		path    string
		by      float64
		variant int
		want    string
	}{
		{"workload.transfers[*].size", 0.5, 0, "[workload.transfers[0].size=0.5kB workload.transfers[1].size=167B]"},
		{"workload.transfers.1.start", 2, 1, "[workload.transfers[1].start=10us]"},
		{"topology.leaf_spine.leaves", 0.5, 0, "[topology.leaf_spine.leaves=2]"},
		{"topology.leaf_spine.rate", 0.5, 0, "[topology.leaf_spine.rate=1.25Gbps]"},
		{"hosts.cc.gamma", 2, 1, "[hosts.cc.gamma=0.6]"},
		{"hosts.cc.gamma", 2, 0, "[]"}, // its default was not chosen
		{"hosts.lb", 2, 0, "[]"},
		{"hosts.ack_every", 2, 0, "[hosts.ack_every=2kB]"},
	} {
		texts := []string{}
		for _, o := range set.Variants[c.variant].Scaled(c.path, c.by) {
			texts = append(texts, o.Path+"="+o.Value)
		}
		if got := fmt.Sprint(texts); got != c.want {
			t.Errorf("%s x%v, variant %d: got %s, want %s", c.path, c.by, c.variant, got, c.want)
		}
	}
	text, err := set.Base.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse("again.yaml", ".", text, Options{Tables: StandardTables()})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(again.Base.Tuned, want); diff != "" {
		t.Errorf("as it is resolved: %s", diff)
	}
}

// What is wrong with the key is named with its place.
func TestWrongTuned(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"path: hosts.lb", "path: host.lb", `t.yaml:12:12: tuned[2].path: unknown key "host"; known: `},
		{"path: hosts.lb", "path: robust", `tuned[2].path: points cannot change robust`},
		{"path: hosts.lb", "path: hosts.cc.gamma", `tuned[2].path: the path hosts.cc.gamma is there twice`},
		{"seeds: 3..5", "seeds: 3-5", `tuned[0].seeds: "3-5" is not a list of seeds; write [1, 2, 3] or 1..3, at most 10000 (did you mean "3..5"?)`},
		{"{path: hosts.lb, ", "{", `tuned[2]: the key "path" is missing`},
		{"plain: {hosts.ack_every: 1kB}", "plain: {tuned: []}", "a variant cannot change tuned, which all variants share"},
	} {
		_, err := Parse("t.yaml", ".", []byte(strings.Replace(tunedText, c.old, c.new, 1)), Options{Tables: StandardTables()})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.new, err, c.want)
		}
	}
}
