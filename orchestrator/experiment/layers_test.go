package experiment

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A parameter of an algorithm reaches the variants whose algorithm has it, and no others. One that
// none has is an error.
func TestOverridesReachTheirAlgorithm(t *testing.T) {
	const variants = "variants: {base: {}, mine: {hosts.cc: {name: swift, hops: 2}}, other: {hosts.lb: single}}\n"
	set := parse(t, small+variants, "hosts.cc.base_target=30us")
	for i, want := range []string{"", "30us", ""} {
		if got := set.Variants[i].Experiment.Hosts.CC.Params["base_target"]; got != want {
			t.Errorf("variant %s: base_target %q, want %q", set.Variants[i].Name, got, want)
		}
	}
	if got := set.Variants[1].Experiment.Hosts.CC.Params["hops"]; got != "2" {
		t.Errorf("hops %q, want what the variant gives", got)
	}
	want := []string{
		"--set hosts.cc.base_target=30us changes nothing of variant base: nscc has no such parameter",
		"--set hosts.cc.base_target=30us changes nothing of variant other: nscc has no such parameter",
	}
	if diff := cmp.Diff(want, set.Notes); diff != "" {
		t.Errorf("notes: %s", diff)
	}
	if set = parse(t, small+variants, "hosts.cc.gain=0.5", "hosts.cc.base_target=30us"); set.Variants[0].Experiment.Hosts.CC.Params["gain"] != "0.5" || set.Variants[1].Experiment.Hosts.CC.Params["base_target"] != "30us" {
		t.Errorf("one for each: %v, %v", set.Variants[0].Experiment.Hosts.CC, set.Variants[1].Experiment.Hosts.CC)
	}
	wrong := func(text, path string) {
		t.Helper()
		opts := Options{Tables: testTables(), Override: []Override{{Path: path, Value: "30us", Origin: path}}}
		if _, err := Parse("x.yaml", "", []byte(text), opts); err == nil || !strings.Contains(err.Error(), "no such parameter") {
			t.Errorf("%s: %v", path, err)
		}
	}
	wrong(small+variants, "hosts.cc.base_targets")
	wrong(small, "hosts.cc.base_target")
}

// The baseline stands before the other variants, and is forgotten where it does not run.
func TestBaseline(t *testing.T) {
	const text = small + "variants: {mine: {hosts.lb: single}, ecmp: {}, other: {links.mtu: 1500B}}\nbaseline: ecmp\n"
	names := func(set *Set) (list []string) {
		for _, v := range set.Variants {
			list = append(list, v.Name)
		}
		return list
	}
	set := parse(t, text)
	if diff := cmp.Diff([]string{"ecmp", "mine", "other"}, names(set)); diff != "" {
		t.Error(diff)
	}
	roundTrip(t, set, testTables())
	opts := Options{Tables: testTables(), Variants: []string{"mine", "other"}}
	chosen, err := Parse("x.yaml", "", []byte(text), opts)
	if err != nil || chosen.Base.Baseline != "" {
		t.Fatalf("without it: baseline %q, %v", chosen.Base.Baseline, err)
	}
	chosen.Reduced = false // which the text does not say
	roundTrip(t, chosen, testTables())
	opts = Options{Tables: testTables(), Override: []Override{{Path: "baseline", Value: "ecm", Origin: "--set baseline=ecm"}}}
	if _, err := Parse("x.yaml", "", []byte(text), opts); err == nil || !strings.Contains(err.Error(), `did you mean "ecmp"`) {
		t.Errorf("a variant that is not there: %v", err)
	}
}
