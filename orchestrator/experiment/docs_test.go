package experiment

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/expression"

	"github.com/csiglab/csiglab/units"
)

// guide is docs/experiment.md, which these tests hold to what the code does.
func guide(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "experiment.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// documentedKey is a row of a table whose first column is "key".
type documentedKey struct{ path, fallback string }

var (
	row    = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([^|]*) \\| *([^|]*?) *\\|.*\\|$")
	sample = regexp.MustCompile("(?s)```yaml\n(.*?)```")
)

func documentedKeys(t *testing.T) []documentedKey {
	t.Helper()
	var keys []documentedKey
	for _, m := range row.FindAllStringSubmatch(guide(t), -1) {
		keys = append(keys, documentedKey{m[1], m[3]})
	}
	if len(keys) < 50 {
		t.Fatalf("found %d keys; the tables have another form", len(keys))
	}
	return keys
}

// schemaPaths returns every path that an experiment file may have: single
// values, lists and what is in them.
func schemaPaths() map[string]bool {
	paths := map[string]bool{"variants": true, "sweep": true, "sweep.grid": true, "sweep.list": true}
	walkPaths(reflect.TypeFor[Experiment](), "", func(path string, _ bool) { paths[path] = true })
	for _, path := range Paths(StandardTables()) {
		paths[path] = true
	}
	// What a list of single values holds has no row of its own.
	maps.DeleteFunc(paths, func(path string, _ bool) bool { return strings.HasSuffix(path, "[]") })
	return paths
}

func TestEveryKeyIsDocumented(t *testing.T) {
	known, found := schemaPaths(), map[string]bool{}
	for _, k := range documentedKeys(t) {
		if !known[k.path] {
			t.Errorf("docs/experiment.md describes %s, which does not exist", k.path)
		}
		if found[k.path] {
			t.Errorf("docs/experiment.md describes %s twice", k.path)
		}
		found[k.path] = true
	}
	for _, path := range slices.Sorted(maps.Keys(known)) {
		if !found[path] {
			t.Errorf("docs/experiment.md does not describe %s: add a row for it, | `%s` | type | default | meaning |, to the table of its section", path, path)
		}
	}
}

// everything is an experiment of each thing that has defaults of its own.
const everything = `schema: 1
name: x
topology: TOPOLOGY
workload: WORKLOAD
csig: {second: {}, ports: [{policy: pass}], collector: {host: 0}}
REST`

// everyTraffic is a workload with each generator once.
const everyTraffic = "{traffic: [{name: a, rpc: {size: 1B, count: 1, outstanding: 1}}, {name: b, bursts: {from: [0], to: [1], size: 1B}}, {name: c, incast: {size: 1B}}, " +
	"{name: d, outcast: {size: 1B}}, {name: e, permutation: {size: 1B}}, {name: f, poisson: {size: 1B, rate: 1Mbps, for: 1ms}}]}"

// TestDocumentedDefaults compares the tables' defaults with those that a
// resolved experiment has.
func TestDocumentedDefaults(t *testing.T) {
	resolved := map[string]string{}
	add := func(topology, workload, rest string) {
		text := strings.NewReplacer("TOPOLOGY", topology, "WORKLOAD", workload, "REST", rest).Replace(everything)
		set, err := Parse("x", "", []byte(text), Options{Tables: StandardTables()})
		if err != nil {
			t.Fatal(err)
		}
		flatten(encode(reflect.ValueOf(set.Base).Elem(), ""), "", resolved)
	}
	add("{leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 1, rate: 1Gbps, delay: 1us}}", "{transfers: [{src: 0, dst: 1, size: 1B}]}",
		"end: 1s\ngenerators: [{host: 0, to: 1, every: 1us}]\nfaults: [{kind: down, links: h0-tor0}]\nclasses: [{name: a, dscp: 1, ecn: {low: auto}}, {name: default}]")
	add("{leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 1Gbps, delay: 1us}}", "{transfers: [{src: 2, dst: 3, size: 1B}]}",
		"runtime: netns\nclock: wall\napplications: {hosts: [0, 1], programs: [{host: 0, run: x}]}")
	add("{leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 1Gbps, delay: 1us}}", "{transfers: [{src: 0, dst: 1, size: 1B}]}",
		"jobs: [{name: a, ranks: auto, collective: {}}, {name: b, hosts: [2, 3], pipeline: {}, stragglers: [{rank: 0, slow: 1}]}, {name: e, hosts: [2, 3], trace: testdata/ring.goal}, {name: c, hosts: [2, 3], profile: {}}, "+
			"{name: d, hosts: [2, 3], model: gpt-tiny}]")
	for _, topology := range []string{
		"{fat_tree: {hosts: 2, pod: 2, tiers: [{down: 1, up: 1, rate: 1Gbps, delay: 1us}, {down: 2, rate: 1Gbps, delay: 1us}]}}",
		"{k_ary: {k: 4, rate: 1Gbps, delay: 1us}}",
		"{leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 1, rate: 1Gbps, delay: 1us}}",
		"{dragonfly: {p: 1, a: 2, h: 1, rate: 1Gbps, delay: 1us}}",
		"{dumbbell: {left: 1, right: 1, rate: 1Gbps, delay: 1us}}",
		"{ring: {switches: 3, rate: 1Gbps, delay: 1us}}",
		"{rail: {servers: 2, nics: 1, rate: 1Gbps, delay: 1us}}",
		"{graph: {nodes: [{name: s, kind: switch}, {name: a}, {name: b}], links: [{a: a, b: s, rate: 1Gbps, delay: 1us}, {a: b, b: s, rate: 1Gbps, delay: 1us}]}}",
		"{clab: {file: testdata/fabric.clab.yml}}",
		"{netbench: {file: testdata/pair.topology, rate: 1Gbps, delay: 1us}}",
		"{parking_lot: {hops: 1, rate: 1Gbps, delay: 1us}}",
	} {
		for _, workload := range []string{"{transfers: [{src: 0, dst: 1, size: 1B}]}", "{permutation: {size: 1B}}", "{incast: {fan_in: 1, size: 1B}}", "{all_to_all: {size: 1B}}", everyTraffic} {
			add(topology, workload, "")
		}
	}
	needed := map[string]bool{}
	for mapping, keys := range required {
		for _, key := range keys {
			needed[join(mapping, key)] = true
		}
	}
	resolved["seeds"] = "1"
	resolved["jobs[].stragglers[].slow"], resolved["jobs[].stragglers[].pause"] = "0", "0s" // one of them is given
	delete(resolved, "jobs[].name")
	resolved["jobs[].model.preset"] = noPreset                                    // one is given
	delete(resolved, "csig.ports[].policy")                                       // one of policy, outside and init is given
	delete(resolved, "faults[].links")                                            // what a kind needs
	resolved["generators[].every"] = "auto"                                       // one of every and rate is given
	for _, one := range []string{"rpc.size", "rpc.outstanding", "poisson.size"} { // of several keys that say it
		delete(resolved, "workload.traffic[]."+one)
	}
	// Links have rate and delay either of their own or of the graph.
	resolved["topology.graph.links[].rate"], resolved["topology.graph.links[].delay"] = "auto", "auto"
	for _, c := range choices {
		resolved[c.path] = resolved[join(c.path, "name")]
		tables := StandardTables()
		for _, s := range c.table(&tables) {
			for _, p := range s.Params { // of algorithms that are not the default
				if path := join(c.path, p.Name); resolved[path] == "" {
					resolved[path] = p.Default
				}
			}
		}
	}
	resolved["csig.locators"] = resolved["csig.locators.scheme"]
	resolved["csig.second.locators"] = resolved["csig.second.locators.scheme"]
	delete(resolved, "jobs[].trace.file") // which is required
	for path, key := range jobNames {
		if name := resolved[join(path, key)]; name != "" {
			resolved[path] = name
		}
	}
	resolved["variants"] = "run"
	for _, k := range documentedKeys(t) {
		switch want, ok := resolved[k.path]; {
		case needed[k.path]:
			if k.fallback != "required" {
				t.Errorf("%s is required; docs/experiment.md says %q", k.path, k.fallback)
			}
		case !ok && k.fallback != "":
			t.Errorf("%s has no default; docs/experiment.md says %q", k.path, k.fallback)
		case ok && !sameValue(k.fallback, want):
			t.Errorf("the default of %s is %q; docs/experiment.md says %q", k.path, want, k.fallback)
		}
	}
}

func sameValue(a, b string) bool {
	x, err1 := units.ParseSize(a)
	y, err2 := units.ParseSize(b)
	return a == b || err1 == nil && err2 == nil && x == y
}

// flatten adds the single values of a tree by general path. Of several items of
// a list the last counts.
func flatten(t *tree, path string, into map[string]string) {
	switch t.kind {
	case scalar:
		into[path] = t.text
	case mapping:
		for _, e := range t.keys {
			flatten(e.value, join(path, e.name), into)
		}
	case sequence:
		for _, item := range t.items {
			flatten(item, path+"[]", into)
		}
	}
}

func TestDocumentedExample(t *testing.T) {
	examples := sample.FindAllStringSubmatch(guide(t), -1)
	if len(examples) == 0 {
		t.Fatal("docs/experiment.md has no example")
	}
	for _, m := range examples {
		set, err := Parse("docs/experiment.md", "", []byte(m[1]), Options{Tables: StandardTables()})
		if err != nil {
			t.Error(err)
			continue
		}
		if len(set.Variants) != 2 || len(set.Base.Expect) != 2 {
			t.Errorf("%d variants and %d expectations, want 2 and 2", len(set.Variants), len(set.Base.Expect))
		}
	}
}

// TestDocumentedNames holds that functions, algorithms and the values of
// settings with a fixed choice are named.
func TestDocumentedNames(t *testing.T) {
	text := guide(t)
	var names []string
	for _, name := range expression.Functions() {
		names = append(names, name+"(")
	}
	tables := StandardTables()
	for _, c := range choices {
		for _, s := range c.table(&tables) {
			if name := "`" + s.Name + "`"; !strings.Contains(text, name) {
				t.Errorf("docs/experiment.md does not name %s: add it, with what it does, to the meaning of %s.name", name, c.path)
			}
			for _, p := range s.Params {
				for _, value := range p.Values {
					if !strings.Contains(text, value) {
						t.Errorf("docs/experiment.md does not name %s, a value of %s: add it to the meaning of %s", value, s.Name, join(c.path, p.Name))
					}
				}
			}
		}
	}
	for _, r := range rules {
		if r.enum != nil {
			names = append(names, r.enum()...)
		}
	}
	for _, name := range names {
		if !strings.Contains(text, name) {
			t.Errorf("docs/experiment.md does not name %s", name)
		}
	}
}

// TestDocumentedKinds holds that each kind of topology and workload has its table
// rows, one after the other, with the words of its entry.
func TestDocumentedKinds(t *testing.T) {
	text := guide(t)
	for _, s := range Catalogue(StandardTables()) {
		if s.Path != topologySection && s.Path != workloadSection {
			continue
		}
		var names []string
		for _, e := range s.Entries {
			names = append(names, e.Name)
			var rows strings.Builder
			for _, k := range e.Keys {
				fallback := k.Default
				if k.Required {
					fallback = "required"
				}
				fmt.Fprintf(&rows, "| `%s` | %s | %s | %s |\n", below(join(s.Path, e.Name), k.Path), k.Type, fallback, k.Doc)
			}
			if want := strings.ReplaceAll(rows.String(), "|  |", "| |"); !strings.Contains(text, want) {
				t.Errorf("docs/experiment.md does not have, in this order:\n%s", want)
			}
		}
		last := len(names) - 1
		if want := "Exactly one of " + strings.Join(names[:last], ", ") + " and " + names[last]; !strings.Contains(text, want) {
			t.Errorf("docs/experiment.md does not say %q", want)
		}
	}
}

// TestDocumentedParameters holds that the parameters of algorithms are documented
// with their type and default.
func TestDocumentedParameters(t *testing.T) {
	text := guide(t)
	for _, s := range Catalogue(StandardTables()) {
		for _, e := range s.Entries {
			if s.Default == "" {
				continue
			}
			for _, k := range e.Keys {
				if want := fmt.Sprintf("| `%s` | %s | %s |", join(s.Path, k.Path), k.Type, k.Default); !strings.Contains(text, want) {
					t.Errorf("docs/experiment.md has no row %s for the parameter of %s: add it below that of %s.name, with the meaning behind it", want, e.Name, s.Path)
				}
			}
		}
	}
}
