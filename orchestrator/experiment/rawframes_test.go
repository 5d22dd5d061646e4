package experiment

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/units"
)

// rawFrames is a whole experiment with generators. Line 6 is that of generators.
const rawFrames = `schema: 1
name: raw
topology:
  leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 100Mbps, delay: 1ms}
csig: {format: compact}
generators:
  - {host: 0, to: 3, rate: 50Mbps, count: 4, paths: 8, stack: "s-tag c-tag csig:delay", dscp: 10}
  - {host: 3, to: 0, size: 64B, every: 3us, count: 9, start: 1ms}
`

func TestRawFrames(t *testing.T) {
	set, err := Parse("x.yaml", "", []byte(rawFrames), Options{Tables: testTables()})
	if err != nil {
		t.Fatal(err)
	}
	want := []Generator{
		{Host: 0, To: 3, Size: 1500, Rate: 50 * units.Mbps, Count: 4, Paths: 8, Stack: "s-tag c-tag csig:delay", DSCP: 10},
		{Host: 3, To: 0, Size: 64, Every: 3 * units.Microsecond, Count: 9, Start: units.Millisecond, Paths: 1},
	}
	if diff := cmp.Diff(want, set.Base.Generators); diff != "" {
		t.Error("(-want +got)", diff)
	}
	roundTrip(t, set, testTables())

	text := rawFrames + "end: 1s\nworkload: {transfers: [1 -> 2 1MB]}\nvariants:\n  a: {}\n  b: {generators: []}\n  c: {generators.1.size: 100B, generators.1.count: auto}\n"
	if set, err = Parse("x.yaml", "", []byte(text), Options{Tables: testTables()}); err != nil {
		t.Fatal(err)
	}
	roundTrip(t, set, testTables())
	if b, c := set.Variants[1].Experiment.Generators, set.Variants[2].Experiment.Generators; len(b) != 0 || c[1].Size != 100 || c[1].Count != 0 || c[0].DSCP != 10 {
		t.Errorf("variant b has %+v, c %+v", b, c)
	}
}

// TestWrongRawFrames has one mistake per entry, as TestWrongInput.
func TestWrongRawFrames(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"no such host", "host: 0, to: 3", "host: 4, to: 3", "x.yaml:7:12: generators[0].host: no host 4; hosts go from 0 to 3"},
		{"to itself", "host: 0, to: 3", "host: 3, to: 3", "x.yaml:7:19: generators[0].to: host 3 cannot send to itself"},
		{"neither rate nor step", "rate: 50Mbps, ", "", "x.yaml:7:6: generators[0]: want one of the keys every and rate"},
		{"both", "rate: 50Mbps", "rate: 50Mbps, every: 1us", "x.yaml:7:6: generators[0]: want one of the keys every and rate"},
		{"without end", ", count: 4", "", "x.yaml:7:6: generators[0].count: frames without end need an end of the run; set count, or end"},
		{"too late", "start: 1ms}", "start: 1ms}\nend: 1ms", "x.yaml:8:62: generators[1].start: starts at 1ms, not before the run's end 1ms"},
		{"small frame", "size: 64B", "size: 63B", "x.yaml:8:28: generators[1].size: 63B is too small; the least is 64B"},
		{"smaller than a header", "generators:", "links: {header: 80B}\ngenerators:", "x.yaml:9:28: generators[1].size: 64B is too small; the least is 80B"},
		{"long frame", "size: 64B", "size: 4151B", "x.yaml:8:28: generators[1].size: a frame of 4.151kB with its tags is longer than links.mtu 4.15kB"},
		{"long with tags", "rate: 50Mbps", "rate: 50Mbps, size: 4145B", "x.yaml:7:42: generators[0].size: a frame of 4.157kB with its tags is longer than links.mtu 4.15kB"},
		{"wrong stack", "s-tag c-tag csig:delay", "q-tag", `x.yaml:7:63: generators[0].stack: not a stack of tags: "q-tag": want a list of c-tag, s-tag, macsec, macsec:encrypted and csig:TYPE, such as "s-tag c-tag csig:delay"`},
		{"DSCP", "dscp: 10", "dscp: 64", "x.yaml:7:95: generators[0].dscp: 64 is too large; the most is 63"},
		{"programs", "csig: {", "runtime: netns\nclock: wall\napplications: {hosts: [0, 1]}\ncsig: {", "x.yaml:10:12: generators[0].host: host 0 is one of applications.hosts"},
		{"no traffic", rawFrames[strings.Index(rawFrames, "generators:"):], "", `x.yaml:1:1: the key "workload" is missing`},
	} {
		_, err := Parse("x.yaml", "", []byte(strings.Replace(rawFrames, c.old, c.new, 1)), Options{Tables: testTables()})
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: got\n%v\nwant\n%s", c.name, err, c.want)
		}
	}
}
