package experiment

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/units"
)

// programs is a whole experiment with applications. Line 7 is that of
// applications.
const programs = `schema: 1
name: apps
topology:
  leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 100Mbps, delay: 1ms}
runtime: netns
clock: wall
applications:
  hosts: [0, 3]
  signals: [abw, delay]
  programs:
    - {host: 3, run: "iperf3 -s", background: true}
    - {host: 0, run: iperf3 -c 10.0.0.4, start: 100ms}
`

func TestApplications(t *testing.T) {
	set, err := Parse("x.yaml", "", []byte(programs), Options{Tables: testTables()})
	if err != nil {
		t.Fatal(err)
	}
	want := &Applications{
		Hosts: []int{0, 3}, Signals: []csig.Type{csig.ABW, csig.Delay}, MTU: 1500 * units.Byte,
		Programs: []Program{
			{Host: 3, Run: "iperf3 -s", Background: true},
			{Host: 0, Run: "iperf3 -c 10.0.0.4", Start: 100 * units.Millisecond},
		},
	}
	if diff := cmp.Diff(want, set.Base.Applications); diff != "" {
		t.Error("(-want +got)", diff)
	}
	roundTrip(t, set, testTables())

	text := programs + "workload: {transfers: [1 -> 2 1MB]}\nvariants:\n  a: {}\n  b: {applications.programs.1.run: \"true\", applications.signals: []}\n"
	if set, err = Parse("x.yaml", "", []byte(text), Options{Tables: testTables()}); err != nil {
		t.Fatal(err)
	}
	roundTrip(t, set, testTables())
	b := set.Variants[1].Experiment.Applications
	if b.Programs[1].Run != "true" || b.Programs[1].Start != 100*units.Millisecond || len(b.Signals) != 0 {
		t.Errorf("variant b has %+v", b)
	}
}

// TestWrongApplications has one mistake per entry, as TestWrongInput.
func TestWrongApplications(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"no hosts", "  hosts: [0, 3]\n", "",
			`x.yaml:8:3: applications: the key "hosts" is missing`},
		{"empty list of hosts", "[0, 3]", "[]",
			`x.yaml:8:10: applications.hosts: the list is empty`},
		{"unknown host", "[0, 3]", "[0, 3, 4]",
			`x.yaml:8:17: applications.hosts[2]: no host 4; hosts go from 0 to 3`},
		{"host twice", "[0, 3]", "[0, 3, 0]",
			`x.yaml:8:17: applications.hosts[2]: host 0 is given twice`},
		{"host by name", "[0, 3]", "[h0, 3]",
			`x.yaml:8:11: applications.hosts[0]: "h0" is not a whole number`},
		{"unknown signal", "[abw, delay]", "[abw, dealy]",
			`x.yaml:9:18: applications.signals[1]: unknown value "dealy"; known: delay abw abw-c nqd (did you mean "delay"?)`},
		{"program of another host", "{host: 3, run", "{host: 2, run",
			`x.yaml:11:14: applications.programs[0].host: host 2 is not one of applications.hosts`},
		{"program without a command", `run: "iperf3 -s"`, `run: " "`,
			`x.yaml:11:22: applications.programs[0].run: " " is not a command line`},
		{"open quote", `run: "iperf3 -s"`, `run: "sh -c 'ls"`,
			`x.yaml:11:22: applications.programs[0].run: a quote is not closed`},
		{"no program", `run: "iperf3 -s"`, `run: "'' -s"`,
			`x.yaml:11:22: applications.programs[0].run: names no program`},
		{"missing command", `, run: "iperf3 -s"`, "",
			`x.yaml:11:8: applications.programs[0]: the key "run" is missing`},
		{"start without unit", "start: 100ms", "start: 100",
			`x.yaml:12:49: applications.programs[1].start: duration "100": a unit is missing`},
		{"start after the end", "clock: wall", "clock: wall\nend: 50ms",
			`x.yaml:13:49: applications.programs[1].start: starts at 100ms, not before the run's end 50ms`},
		{"clock lockstep", "clock: wall", "clock: lockstep",
			`x.yaml:8:3: applications: programs need clock wall; lockstep has no time that they could live in`},
		{"clock virtual", "runtime: netns\nclock: wall\n", "",
			`x.yaml:6:3: applications: programs need clock wall; virtual has no time that they could live in`},
		{"probes", "clock: wall", "clock: wall\ncsig: {format: wide, init: probe/20us}",
			`x.yaml:7:28: csig.init: probes are the transport's; with applications want every, none, 1/N (one packet of N, drawn), stride/N (every Nth) or 1/TIME (at most one in that time) (did you mean "every"?)`},
		{"MTU beyond the links'", "hosts: [0, 3]", "hosts: [0, 3]\n  mtu: 4133B",
			`x.yaml:9:8: applications.mtu: 4.133kB is too large; links.mtu 4.15kB leaves 4.132kB, as a frame takes 18B more`},
		{"MTU and a tag beyond the links'", "hosts: [0, 3]\n", "mtu: 4125B\n  hosts: [0, 3]\n",
			`x.yaml:8:8: applications.mtu: 4.125kB is too large; links.mtu 4.15kB leaves 4.124kB, as a frame with its tag takes 26B more`},
		{"small MTU", "hosts: [0, 3]", "hosts: [0, 3]\n  mtu: 500B",
			`x.yaml:9:8: applications.mtu: 500B is too small; the least is 576B`},
		{"default MTU beyond the links'", "clock: wall", "clock: wall\nlinks: {mtu: 1500B}",
			`x.yaml:9:3: applications.mtu: 1.5kB is too large; links.mtu 1.5kB leaves 1.482kB, as a frame takes 18B more`},
		{"queue below a frame", "hosts: [0, 3]", "hosts: [0, 3]\n  queue: 1517B",
			`x.yaml:9:10: applications.queue: 1.517kB does not hold one frame of 1.518kB`},
		{"image", "hosts: [0, 3]", "hosts: [0, 3]\n  image: My Image",
			`x.yaml:9:10: applications.image: "My Image" is not the name of an image, such as iperf3:1`},
		{"unknown key", "background: true", "backgruond: true",
			`x.yaml:11:35: applications.programs[0].backgruond: unknown key "backgruond" (did you mean "background"?)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if strings.Count(programs, c.old) != 1 {
				t.Fatalf("%q is not in the experiment once", c.old)
			}
			text := strings.Replace(programs, c.old, c.new, 1)
			if c.name == "MTU and a tag beyond the links'" {
				text += "links: {count_tag: true}\ncsig: {format: wide}\n"
			}
			_, err := Parse("x.yaml", "", []byte(text), Options{Tables: testTables()})
			var typed *Error
			if !errors.As(err, &typed) {
				t.Fatalf("got %v, want an *Error", err)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %s\nwant %s", err, c.want)
			}
		})
	}
}

func TestArgs(t *testing.T) {
	for _, c := range []struct {
		run  string
		want []string
	}{
		{"iperf3 -s", []string{"iperf3", "-s"}},
		{"  a\t b ", []string{"a", "b"}},
		{`sh -c "echo 'a  b'; exit 1"`, []string{"sh", "-c", "echo 'a  b'; exit 1"}},
		{`a '' "" b`, []string{"a", "", "", "b"}},
		{`a\ b 'c\d' "e\"f"`, []string{"a b", `c\d`, `e"f`}},
		{`x'y'"z"`, []string{"xyz"}},
		{"$HOME *", []string{"$HOME", "*"}},
	} {
		got, err := Program{Run: c.run}.Args()
		if err != nil {
			t.Errorf("%q: %v", c.run, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q: (-want +got)\n%s", c.run, diff)
		}
	}
	for _, run := range []string{"", " ", "'a", `"a\"`, `a\`, `''`} {
		if got, err := (Program{Run: run}).Args(); err == nil {
			t.Errorf("%q: got %q, want an error", run, got)
		}
	}
}
