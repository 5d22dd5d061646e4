package experiment

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sweepText is the points of a sweep in short: what each changes.
func sweepText(s *Sweep) (points []string) {
	for i := range s.Points() {
		var set []string
		for _, o := range s.Point(i) {
			set = append(set, o.Path+"="+o.Value)
		}
		points = append(points, strings.Join(set, " "))
	}
	return points
}

// The points are the items of the list, each with every combination of the grid, the last
// path of which varies fastest. Values keep their YAML.
func TestSweepPoints(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"none", "", []string{""}},
		{"grid", "sweep: {grid: {links.mtu: [1500B, 4kB], links.trim: [true, false]}}\n",
			[]string{"links.mtu=1500B links.trim=true", "links.mtu=1500B links.trim=false", "links.mtu=4kB links.trim=true", "links.mtu=4kB links.trim=false"}},
		{"list", "sweep:\n  list:\n    - {links.mtu: 1500B}\n    - links.trim: false\n      hosts.lb: single\n",
			[]string{"links.mtu=1500B", "links.trim=false hosts.lb=single"}},
		{"both", "sweep: {list: [{links.mtu: 1500B}, {links.mtu: 4kB}], grid: {tie_seed: [1, 2]}}\n",
			[]string{"links.mtu=1500B tie_seed=1", "links.mtu=1500B tie_seed=2", "links.mtu=4kB tie_seed=1", "links.mtu=4kB tie_seed=2"}},
		{"whole parts", "sweep: {grid: {workload.transfers: [[0 -> 1 2MB], [{src: 0, dst: 2, size: 1MB}]], hosts.cc: [{name: nscc}], 'topology.fat_tree.tiers[0].rate': [10Gbps]}}\n",
			[]string{
				`workload.transfers=[0 -> 1 2MB] hosts.cc={name: nscc} topology.fat_tree.tiers[0].rate=10Gbps`,
				`workload.transfers=[{src: 0, dst: 2, size: 1MB}] hosts.cc={name: nscc} topology.fat_tree.tiers[0].rate=10Gbps`,
			}},
		{"texts", "sweep: {grid: {description: ['a, b', \"x: {y\", 'true', '- z', 'é\"']}}\n",
			[]string{`description="a, b"`, `description="x: {y"`, `description="true"`, `description="- z"`, `description="é\""`}},
	} {
		set := parse(t, with(test.text))
		if diff := cmp.Diff(sweepText(set.Base.Sweep), test.want); diff != "" {
			t.Errorf("%s: got, want:\n%s", test.name, diff)
		}
		if test.name == "texts" {
			for i, want := range []string{"a, b", "x: {y", "true", "- z", "é\""} {
				opts := Options{Tables: testTables(), Override: set.Base.Sweep.Point(i)}
				if at, err := Parse("x.yaml", "", []byte(small), opts); err != nil || at.Base.Description != want {
					t.Errorf("point %d: %v; want %q", i, err, want)
				}
			}
		}
		text, err := set.Base.Marshal()
		if err != nil || strings.Contains(string(text), "sweep") {
			t.Errorf("%s: a run has the sweep, or %v:\n%s", test.name, err, text)
		}
	}
}

// Values of axes stand for overrides, and take words that other axes define.
func TestAxes(t *testing.T) {
	const axes = `sweep:
  axes:
    fabric: {one: {links.mtu: $size, $lb: single}, two: {links: {mtu: $size, trim: false}, $lb: ecmp}}
    size: [1500B, 4kB]
    path: {fixed: {hosts.lb: $lb}, off:}
  judge: {between: [path], baseline: {path: [off]}, sides: [without, with], metrics: {fct_us.p99: Tail}}
`
	s := parse(t, with(axes)).Base.Sweep
	var got []string
	for i := range s.Points() {
		text := strings.Join(s.Values(i), " ") + ":"
		for _, o := range s.Point(i) {
			text += " " + o.Path + "=" + o.Value
		}
		got = append(got, text)
	}
	want := []string{
		"one 1500B fixed: links.mtu=1500B hosts.lb=single", "one 1500B off: links.mtu=1500B", "one 4kB fixed: links.mtu=4kB hosts.lb=single", "one 4kB off: links.mtu=4kB",
		"two 1500B fixed: links={mtu: 1500B, trim: false} hosts.lb=ecmp", "two 1500B off: links={mtu: 1500B, trim: false}", "two 4kB fixed: links={mtu: 4kB, trim: false} hosts.lb=ecmp", "two 4kB off: links={mtu: 4kB, trim: false}",
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Error("got, want:\n" + diff)
	}
	one, err := s.At("--at", []string{"fabric=two", "size=4kB", "path=fixed"})
	if err != nil || one.Points() != 1 || one.Point(0)[1].Value != "ecmp" {
		t.Errorf("%v, %v", one, err)
	}
	for text, want := range map[string]string{"fabrik=one": `did you mean "fabric"`, "size=4": `unknown value "4"`, "size": "AXIS=VALUE,VALUE"} {
		if _, err := s.At("--at", []string{text}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"sweep: {axes: {a: {x: {links.mtu: $b}}}}":                                               "$b has no meaning at each point",
		"sweep: {axes: {a: {x: {links.mtu: 1kB}}, b: {y: {links.mtu: 2kB}}}}":                    "another axis sets links.mtu to another value: 1kB",
		"sweep: {axes: {a: {x: {links.mtu: 1kB}}}, grid: {links.mtu: [2kB]}}":                    "the axis a sets the path too",
		"sweep: {axes: {seed: [1]}}":                                                             "is another column of the table",
		"sweep: {axes: {a: [1, 1]}}":                                                             "the value 1 is given twice",
		"sweep: {axes: {a: {'x y': {}}}}":                                                        "no name of a value",
		"sweep: {axes: {a: [1, 2]}, judge: {between: [b], metrics: {x: X}}}":                     `unknown value "b"`,
		"sweep: {axes: {a: [1, 2]}, judge: {between: [a]}}":                                      "want the keys between",
		"sweep: {axes: {a: [1, 2]}, judge: {between: [a], baseline: {a: [3]}, metrics: {x: X}}}": `unknown value "3"`,
	} {
		if _, err := Parse("x.yaml", "", []byte(with(text+"\n")), Options{Tables: testTables()}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
}

// Mistakes in the key sweep, with the whole message.
func TestWrongSweeps(t *testing.T) {
	t.Parallel()
	cases := []strictCase{}
	for _, c := range []struct{ text, want string }{
		{"sweep: 3", "x.yaml:3:8: sweep: want a mapping with the keys grid and list, got a single value"},
		{"sweep: {}", "x.yaml:3:8: sweep: the mapping is empty; want the key grid, list or both"},
		{"sweep: {grids: {a: [1]}}", `x.yaml:3:9: sweep.grids: unknown key "grids"; known: axes grid list judge (did you mean "grid"?)`},
		{"sweep: {grid: [a]}", "x.yaml:3:16: sweep.grid: want a mapping from paths to lists of values, such as links.ecn.high: [100kB, 200kB]"},
		{"sweep: {grid: {links.mtu: 4kB}}", `x.yaml:3:27: sweep.grid.links.mtu: want a list of values, got a single value (did you mean "[4kB]"?)`},
		{"sweep: {grid: {links.mtu: []}}", "x.yaml:3:27: links.mtu: the list is empty"},
		{"sweep: {grid: {links.mtu: [4kB, null]}}", "x.yaml:3:33: links.mtu: the value is empty"},
		{"sweep: {grid: {links.mtu: [4kB, 2kB, 4kB]}}", "x.yaml:3:38: links.mtu: the value 4kB is given twice"},
		{"sweep: {grid: {links.mtu: [4kB], links.mtu: [2kB]}}", "x.yaml:3:34: sweep.grid.links.mtu: the key is given twice; the first is in line 3"},
		{"sweep: {grid: {seeds: [1]}}", "x.yaml:3:16: sweep.grid.seeds: points cannot change seeds: give the seeds with the key seeds, or with --seeds"},
		{"sweep: {grid: {variants.a.links.mtu: [1kB]}}", "x.yaml:3:16: sweep.grid.variants.a.links.mtu: points cannot change variants: choose some with --variant"},
		{"sweep: {grid: {lins.mtu: [1kB]}}", `x.yaml:3:16: sweep.grid.lins.mtu: unknown key "lins"; known: description topology links classes routing csig hosts workload jobs scheduler applications generators nodes tunnels faults telemetry trace capture fidelity packets measure end tie_seed derived expect published runtime clock wall (did you mean "links.mtu"?)`},
		{"sweep: {grid: {links..mtu: [1kB]}}", `x.yaml:3:16: sweep.grid.links..mtu: "links..mtu" is no path, such as hosts.cc.csig`},
		{"sweep: {list: {links.mtu: 1kB}}", "x.yaml:3:16: sweep.list: want a list of points, each a mapping from paths to values, such as - {links.mtu: 1500B, links.trim: false}"},
		{"sweep: {list: [1]}", "x.yaml:3:16: sweep.list[0]: want a mapping from paths to values"},
		{"sweep: {list: [{links.mtu: 1kB}, {links.mtu: }]}", "x.yaml:3:35: sweep.list[1].links.mtu: the key has no value"},
		{"sweep: {list: [{links.mtu: 1kB}], grid: {links.mtu: [2kB]}}", "x.yaml:3:28: links.mtu: the grid has the path too (x.yaml:3:54)"},
		{"variants: {a: {sweep.grid: {tie_seed: [1]}}}", "x.yaml:3:16: variants.a.sweep.grid: a variant cannot change sweep, which all variants share"},
	} {
		cases = append(cases, strictCase{name: c.text, text: with(c.text + "\n"), want: c.want})
	}
	cases = append(cases, strictCase{name: "override", set: []string{"sweep.grid={tie_seed: [1]}"},
		want: "--set sweep.grid={tie_seed: [1]}: sweep.grid: an override cannot change the points; give others with --grid or --list of csiglab sweep"})
	runStrict(t, cases)
}

// A sweep has at most 100,000 points, however many paths it has, and counting them does not
// overflow.
func TestLargeSweeps(t *testing.T) {
	t.Parallel()
	axis := func(path string, n int) string {
		var values []string
		for i := range n {
			values = append(values, fmt.Sprint(i))
		}
		return fmt.Sprintf("    %s: [%s]\n", path, strings.Join(values, ", "))
	}
	text := "sweep:\n  grid:\n" + axis("tie_seed", 400) + axis("end", 250)
	if n := parse(t, with(text)).Base.Sweep.Points(); n != 100_000 {
		t.Errorf("%d points", n)
	}
	for i := range 12 {
		text += axis(fmt.Sprintf("hosts.cc.p%d", i), 250)
	}
	_, err := Parse("x.yaml", "", []byte(with(text)), Options{Tables: testTables()})
	if err == nil || !strings.Contains(err.Error(), "the sweep has more than 100000 points") {
		t.Error(err)
	}
}

// The forms of a sweep that do not stand in an experiment: an option, a list of its own, and a
// cell of a table.
func TestSweepsOfOptions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"links.mtu=1500B, 4kB":                        "links.mtu: 1500B 4kB",
		`description="a, b",c`:                        `description: "a, b" c`,
		"workload.transfers=[0 -> 1 2MB],[0 -> 2 1B]": "workload.transfers: [0 -> 1 2MB] [0 -> 2 1B]",
		"links.mtu":         "error: --grid links.mtu: want path=value,value, such as links.ecn.high=100kB,200kB",
		"links.mtu=":        "error: --grid links.mtu=: want path=value,value, such as links.ecn.high=100kB,200kB",
		"=1":                `error: --grid =1: "" is no path, such as hosts.cc.csig`,
		"name=a":            "error: --grid name=a: points cannot change name: it names the sweep",
		"links.mtu=1kB,1kB": "error: --grid links.mtu=1kB,1kB: links.mtu: the value 1kB is given twice",
		"links.mtu=1kB]":    "error: ",
		"links.mtu=[1kB":    "error: ",
	} {
		axis, err := ParseGrid("--grid", text)
		got := axis.Path + ":"
		for _, v := range axis.Values {
			got += " " + v.Value
		}
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != want && (want != "error: " || err == nil) {
			t.Errorf("--grid %s: got %q, want %q", text, got, want)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.topo"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := ParseSweepList("l.yaml", dir, []byte("- {topology.file: a.topo}\n- {links.mtu: 1kB}\n"))
	if err != nil || len(list) != 2 || list[0][0].Value != "a.topo" || list[1][0].Origin != "l.yaml:2:15" {
		t.Errorf("%+v, %v", list, err)
	}
	for value, want := range map[string]string{
		list[0][0].Value: fmt.Sprintf("%q", filepath.Join(dir, "a.topo")), "{file: a.topo, x: 1}": "{file: a.topo, x: 1}",
	} {
		if got := (Override{Path: "topology.file", Value: value, Dir: dir}).Absolute(); got.Value != want || got.Dir != "" {
			t.Errorf("%+v, want %s", got, want)
		}
	}
	if got := (Override{Path: "topology", Value: "{file: a.topo}", Dir: dir}).Absolute(); got.Value != fmt.Sprintf("{file: %q}", filepath.Join(dir, "a.topo")) {
		t.Errorf("%+v", got)
	}
	if _, err := ParseSweepList("l.yaml", dir, []byte("- {links.mtu: 1kB\n")); err == nil || !strings.HasPrefix(err.Error(), "l.yaml:1:") {
		t.Errorf("%v", err)
	}
	if o, err := ParsePoint("links.mtu", "1kB", "t.csv:2:1", dir); err != nil || o != (Override{"links.mtu", "1kB", "t.csv:2:1", dir}) {
		t.Errorf("%+v, %v", o, err)
	}
	if _, err := ParsePoint("links.mtu", " ", "t.csv:2:1", dir); err == nil || err.Error() != "t.csv:2:1: links.mtu: the value is empty" {
		t.Errorf("%v", err)
	}
}

// A value that does not fit is reported with its place in the file.
func TestWrongPoint(t *testing.T) {
	t.Parallel()
	set := parse(t, with("sweep:\n  grid:\n    links.mtu: [4kB, 4kb]\n"))
	_, err := Parse("x.yaml", "", []byte(small), Options{Tables: testTables(), Override: set.Base.Sweep.Point(1)})
	var wrong *Error
	if !errors.As(err, &wrong) || err.Error() != `x.yaml:5:22: links.mtu: size "4kb": unknown unit "kb"; use one of TB GB MB kB B GiB MiB KiB (did you mean "4kB"?)` {
		t.Error(err)
	}
}
