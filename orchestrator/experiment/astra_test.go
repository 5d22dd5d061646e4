package experiment

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/graph"
)

// astraFile writes a network file.
func astraFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "net.yml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// A switch of ASTRA-sim is one of csiglab with a host for each NPU. A GB/s is 2^30 bytes in a second.
func TestAstraSwitch(t *testing.T) {
	b, err := Astra{File: astraFile(t, "topology: [ Switch ]\nnpus_count: [ 3 ]  # NPUs\nbandwidth: [ 12.5 ]  # GB/s\nlatency: [ 936.25 ]  # ns\n")}.Build()
	if err != nil {
		t.Fatal(err)
	}
	want := topologies.Link{A: topologies.End{Node: 2}, B: topologies.End{Node: 3, Port: 2}, Rate: 107_374_182_400, Delay: 936_250 * units.Picosecond}
	if diff := cmp.Diff(want, b.Graph.Links[2]); diff != "" || len(b.Graph.Links) != 3 || b.Graph.Name != "net" {
		t.Errorf("%d links of %s, the last one (-want +got):\n%s", len(b.Graph.Links), b.Graph.Name, diff)
	}
	if notes := strings.Join(b.Notes, "\n"); !strings.Contains(notes, "2^30 bytes") || strings.Contains(notes, "forward") {
		t.Errorf("notes: %s", notes)
	}
	if b, err = (Astra{File: "testdata/npus.yml"}).Build(); err != nil || !strings.Contains(strings.Join(b.Notes, "\n"), "a switch beside each NPU") {
		t.Errorf("%v, notes of a ring: %q", err, b.Notes)
	}
}

// Each entry replaces a text of a network file, and has the whole message; FILE is the file's name.
func TestWrongAstra(t *testing.T) {
	const right = "topology: [Ring, Switch]\nnpus_count: [4, 2]\nbandwidth: [50, 12.5]\nlatency: [500, 700]\n"
	for _, c := range []struct{ name, old, new, want string }{
		{"empty", right, "", `FILE:1:1: the file is empty`},
		{"a list", right, "[1]", `FILE:1:2: want a mapping with topology, npus_count, bandwidth, latency, got a list`},
		{"missing key", "latency: [500, 700]\n", "", `FILE:1:1: latency: the key "latency" is missing`},
		{"misspelt key", "bandwidth:", "bandwith:", `FILE:1:1: bandwidth: the key "bandwidth" is missing` + "\n" +
			`FILE:3:1: bandwith: unknown key "bandwith"; the file has topology, npus_count, bandwidth, latency (did you mean "bandwidth"?)`},
		{"unknown key", "latency:", "links_count: [1, 1]\nlatency:", `FILE:4:1: links_count: unknown key "links_count"; the file has topology, npus_count, bandwidth, latency`},
		{"no list", "[500, 700]", "500", `FILE:4:10: latency: want a list with a value for each dimension`},
		{"empty list", "[500, 700]", "[]", `FILE:4:10: latency: want a list with a value for each dimension`},
		{"lists of different lengths", "[4, 2]", "[8]", `FILE:2:14: npus_count: 1 value, and 2 values above: the lists have one for each dimension`},
		{"unknown topology", "Ring", "Torus", `FILE:1:12: topology[0]: unknown topology "Torus"; known: Switch Ring FullyConnected`},
		{"misspelt topology", "Ring", "Rign", `FILE:1:12: topology[0]: unknown topology "Rign"; known: Switch Ring FullyConnected (did you mean "Ring"?)`},
		{"a list in a list", "Ring", "[Ring]", `FILE:1:13: topology[0]: want a single value, got a list`},
		{"one NPU", "[4, 2]", "[4, 1]", `FILE:2:17: npus_count[1]: 1 NPUs, want 2 to 4096`},
		{"negative NPUs", "[4, 2]", "[-4, 2]", `FILE:2:14: npus_count[0]: -4 NPUs, want 2 to 4096`},
		{"half an NPU", "[4, 2]", "[4, 2.5]", `FILE:2:17: npus_count[1]: "2.5" is not a whole number`},
		{"too many NPUs", "[4, 2]", "[4096, 4096]", `FILE:2:14: npus_count: more than 1048576 NPUs in all`},
		{"no bandwidth", "12.5", "0", `FILE:3:17: bandwidth[1]: 0 GB/s, want 0.0001164 to 1.164e+04`},
		{"negative bandwidth", "12.5", "-1", `FILE:3:17: bandwidth[1]: -1 GB/s, want 0.0001164 to 1.164e+04`},
		{"bandwidth with a unit", "12.5", "12.5GB/s", `FILE:3:17: bandwidth[1]: "12.5GB/s" is not a number`},
		{"bandwidth without end", "12.5", ".inf", `FILE:3:17: bandwidth[1]: ".inf" is not a number`},
		{"no latency", "700", "0", `FILE:4:16: latency[1]: 0 ns, want 3 to 1e+09`},
		{"negative latency", "700", "-7", `FILE:4:16: latency[1]: -7 ns, want 3 to 1e+09`},
		{"two mistakes", "[50, 12.5]\nlatency: [500, 700]", "[x, 1]\nlatency: [1, 1e10]", `FILE:3:13: bandwidth[0]: "x" is not a number` + "\n" +
			`FILE:4:11: latency[0]: 1 ns, want 3 to 1e+09` + "\n" +
			`FILE:4:14: latency[1]: 1e10 ns, want 3 to 1e+09`},
	} {
		name := astraFile(t, strings.Replace(right, c.old, c.new, 1))
		_, err := Astra{File: name}.Build()
		if got, want := fmt.Sprint(err), strings.ReplaceAll(c.want, "FILE", name); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, want)
		}
	}
}

// A system file says the algorithm of each kind of collective, and how many channels there are.
func TestSystemOfTraces(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	trace := write("micro.txt", "DATA\n1\nconv1 -1 1000 NONE 0 0 NONE 0 0 ALLREDUCE 65536 0\n")
	// play returns the labels of the collectives, and what rank 0 sends.
	play := func(keys string) (how string, sends int, notes []string, err error) {
		set, err := Parse("x.yaml", "", []byte(jobsOnly+"jobs: [{name: a, ranks: 4, trace: {file: "+trace+keys+"}}]\n"), Options{})
		if err != nil {
			return "", 0, nil, err
		}
		jobs, notes, err := set.Base.BuildJobs(built(t, set))
		if err != nil {
			return "", 0, nil, err
		}
		var op graph.Op
		for p := jobs[0].Source.Program(0, 1); p.Next(&op); {
			if op.Kind == graph.Send {
				sends++
			}
		}
		return jobs[0].Source.Labels().Collectives[0].Algorithm, sends, notes, nil
	}
	system := write("system.json", `{"all-reduce-implementation": ["halvingDoubling"], "preferred-dataset-splits": 2, "active-chunks-per-dimension": 2, "endpoint-delay": 10}`)
	if how, sends, notes, err := play(", system: " + system); err != nil || how != "halving_doubling" || sends != 2*4 || len(notes) == 0 || !strings.Contains(notes[0], "not used: endpoint-delay") {
		t.Errorf("%v: %s with %d messages, notes %q; want halving_doubling with 8, and a note on endpoint-delay", err, how, sends, notes)
	}
	dims := write("dims.json", `{"all-reduce-implementation": ["ring", "ring"]}`)
	if how, sends, _, err := play(", local: 2, system: " + dims); err != nil || how != "hierarchical" || sends != 1+2+1 {
		t.Errorf("%v: %s with %d messages, want hierarchical with 4", err, how, sends)
	}
	for keys, want := range map[string]string{
		", system: " + dims:                                        dims + ":1:32: all-reduce-implementation has two dimensions",
		", system: " + system + ", algorithm: ring":                "jobs[0].trace.system: excludes algorithm and channels, which the file says",
		", system: " + system + ", channels: 2":                    "jobs[0].trace.system: excludes algorithm and channels, which the file says",
		", system: " + filepath.Join(dir, "none.json"):             "none.json: no such file",
		", local: 3, system: " + dims:                              "inner groups of 3 ranks do not divide the group",
		", system: " + write("x.json", `{"all-reduce-impl": "x"}`): `x.json:1:1: the file names no algorithms`,
	} {
		if _, _, _, err := play(keys); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", keys, err, want)
		}
	}
}
