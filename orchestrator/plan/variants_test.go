package plan

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// One experiment keeps the fabrics of all its variants, each once, and so their memory is
// limited together; a single fabric has the same limit.
func TestFabricsOfVariantsAreLimited(t *testing.T) {
	var v Variants
	kary := func(k int, delay units.Duration) experiment.Topology {
		return experiment.Topology{Spec: experiment.KAry{K: k, Rate: 100 * units.Gbps, Delay: delay}}
	}
	first, err := v.topology(kary(32, units.Microsecond), nil)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := v.topology(kary(32, units.Microsecond), nil); err != nil || again != first {
		t.Fatalf("the same topology is another fabric: %v", err)
	}
	each := first.wiring.graph.Size().Memory()
	for made := units.Size(1); ; made++ {
		_, err := v.topology(kary(32, units.Duration(made+1)*units.Microsecond), nil)
		if over := (made+1)*each > topologies.Checked.Memory; over != (err != nil) {
			t.Fatalf("%d fabrics of %v: %v", made+1, each, err)
		}
		if err != nil {
			if !errors.Is(err, failure.ErrConfiguration) || !strings.Contains(err.Error(), "the fabrics would take an estimated 290 MB; the limit of one experiment is 280 MB") {
				t.Errorf("the error is %v", err)
			}
			return
		}
	}
}

// A variant whose tags no algorithm reads has a note where another one has no tags.
func TestTagsThatNobodyReads(t *testing.T) {
	for _, test := range []struct {
		variants string
		want     bool
	}{
		{"{a: {csig.format: none}, b: {csig.format: wide, hosts.cc: swift}}", true},
		{"{a: {csig.format: none}, b: {csig.format: wide, hosts.cc: {name: nscc, csig: max-delay}}}", false},
		{"{a: {csig.format: none}, b: {csig.format: wide, hosts.cc: swift, hosts.lb: csig-weighted}}", false},
		{"{a: {csig.format: wide, hosts.cc: swift}, b: {csig.format: compact, hosts.cc: swift}}", false},
	} {
		text := "schema: 1\nname: x\ntopology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 100Gbps, delay: 1us}}\nworkload: {transfers: [0 -> 3 1MB]}\nvariants: " + test.variants + "\n"
		set, err := experiment.Parse("x.yaml", "", []byte(text), experiment.Options{Tables: experiment.StandardTables()})
		if err != nil {
			t.Fatal(err)
		}
		if err := EachVariant(set, func(i int, p *Plan) {
			if got := strings.Contains(strings.Join(p.Notes, "\n"), "neither congestion control swift nor load balancing "); got != (test.want && i == 1) {
				t.Errorf("%s: variant %d: %q", test.variants, i, p.Notes)
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// A group of tensor parallelism that is larger than a server has a note.
func TestTensorParallelismAcrossServers(t *testing.T) {
	for tp, want := range map[int]bool{4: true, 2: false, 1: false} {
		text := fmt.Sprintf("schema: 1\nname: x\ntopology: {rail: {servers: 4, nics: 2, spines: 1, rate: 100Gbps, delay: 1us}}\njobs: [{name: j, model: {preset: llama3-8b, parallel: {tp: %d}, granularity: 40, microbatches: 1, scale: 0.0001}}]\n", tp)
		set, err := experiment.Parse("x.yaml", "", []byte(text), experiment.Options{Tables: experiment.StandardTables()})
		if err != nil {
			t.Fatal(err)
		}
		if err := EachVariant(set, func(_ int, p *Plan) {
			if got := strings.Contains(strings.Join(p.Notes, "\n"), "tensor parallelism of 4 ranks crosses servers of 2 NICs"); got != want {
				t.Errorf("tp %d: %q", tp, p.Notes)
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// Variants with different balancers have a note where a fabric has one path between any two
// hosts, and none where it has several, or where they balance alike.
func TestOnePathHasNothingToBalance(t *testing.T) {
	const dumbbell, spines = "dumbbell: {left: 2, right: 2, rate: 100Gbps, delay: 1us}", "leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 100Gbps, delay: 1us}"
	for _, test := range []struct {
		fabric, variants string
		want             bool
	}{
		{dumbbell, "{a: {hosts.lb: ecmp}, b: {hosts.lb: reps}, c: {hosts.lb: plb}, d: {hosts.lb: mixed}}", true},
		{dumbbell, "{a: {hosts.cc: nscc}, b: {hosts.cc: swift}}", false},
		{spines, "{a: {hosts.lb: ecmp}, b: {hosts.lb: reps}}", false},
	} {
		text := "schema: 1\nname: x\ntopology: {" + test.fabric + "}\nworkload: {transfers: [0 -> 3 1MB]}\nvariants: " + test.variants + "\n"
		set, err := experiment.Parse("x.yaml", "", []byte(text), experiment.Options{Tables: experiment.StandardTables()})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		var notes [][]string
		if err := EachVariant(set, func(i int, p *Plan) {
			names, notes = append(names, set.Variants[i].Name), append(notes, p.Notes)
		}); err != nil {
			t.Fatal(err)
		}
		if all := strings.Join(Attribute(names, notes), "\n"); strings.Contains(all, "so there is nothing to balance") != test.want {
			t.Errorf("%s, %s: got %q", test.fabric, test.variants, all)
		}
	}
}
