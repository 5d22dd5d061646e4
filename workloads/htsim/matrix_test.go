package htsim_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/htsim"
)

const public = "ultraethernet+uet-htsim/htsim/sim/datacenter/connection_matrices/"

func TestPublicFiles(t *testing.T) {
	type result struct {
		Name                       string
		Hosts, Transfers, Triggers int
		Bytes                      units.Size
		LastStart                  units.Duration
		Notes                      int
	}
	for _, c := range []struct {
		file string
		want result
	}{
		{public + "one.cm", result{"one", 16, 1, 0, 2 * units.MB, 0, 0}},
		{public + "bidir.cm", result{"bidir", 16, 2, 0, 4 * units.MB, 0, 0}},
		{public + "incast.cm", result{"incast", 16, 15, 0, 30 * units.MB, 0, 0}},
		{public + "incast_3-1_overlapped.tm", result{"incast_3-1_overlapped", 128, 3, 0, 2500 * units.KB, 40 * units.Microsecond, 1}},
		{public + "outcast_incast.cm", result{"outcast_incast", 128, 21, 0, 42 * units.MB, 0, 0}},
		{public + "perm_16n_16c_2MB.cm", result{"perm_16n_16c_2MB", 16, 16, 0, 32 * units.MB, 0, 0}},
		{public + "perm_32n_32c_2MB.cm", result{"perm_32n_32c_2MB", 32, 32, 0, 64 * units.MB, 0, 0}},
		{public + "alltoall_serial_16n.cm", result{"alltoall_serial_16n", 16, 240, 224, 480 * units.MB, 0, 0}},
		{"scenarios/three-flow.cm", result{"three-flow", 16, 3, 0, 600 * units.MB, 0, 0}},
		{"scenarios/collective.cm", result{"collective", 32, 32, 0, 60128 * units.MB, 0, 0}},
	} {
		t.Run(filepath.Base(c.file), func(t *testing.T) {
			w, notes, err := htsim.ReadMatrix(c.file, checkout.Open(t, "fixtures/"+c.file), htsim.Options{})
			if err != nil {
				t.Fatal(err)
			}
			got := result{w.Name, w.Hosts, len(w.Transfers), len(w.Triggers), w.Bytes(), 0, len(notes)}
			for _, x := range w.Transfers {
				got.LastStart = max(got.LastStart, x.Start)
			}
			if diff := cmp.Diff(got, c.want); diff != "" {
				t.Errorf("got -, want +:\n%s", diff)
			}
		})
	}
}

func TestRefusedPublicFiles(t *testing.T) {
	for file, want := range map[string]string{
		"a2a.cm": "a2a.cm:2:13: header says 3600 connections, the file has 240",
	} {
		t.Run(file, func(t *testing.T) {
			_, _, err := htsim.ReadMatrix(file, checkout.Open(t, "fixtures/"+public+file), htsim.Options{})
			if err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}

// full uses every word of the grammar; definitions come after use.
const full = `# a barrier among three
Connections 5
Nodes 8
Triggers 3
Failures 0

0->1 id 7 start 5000 size 100 send_done_trigger 1 prio 3
1->2 id 8 start 0 size 200 recv_done_trigger 1 # comment
2->3 id 9 trigger 1 size 300 recv_done_trigger 20
3->4 id 10 trigger 20 size 400 send_done_trigger 3
4->5 trigger 3 size 500 id 11
trigger id 1 barrier count 2
trigger multishot id 20
trigger id 3 oneshot
`

func TestRead(t *testing.T) {
	w, notes, err := htsim.ReadMatrix("d/full.cm", strings.NewReader(strings.ReplaceAll(full, "\n", "\r\n")), htsim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const none = workloads.None
	want := &workloads.Workload{
		Name: "full", Hosts: 8, StartUnit: "ps",
		Transfers: []workloads.Transfer{
			{Label: "7", Src: 0, Dst: 1, Size: 100, Start: 5 * units.Nanosecond, After: none, SendDone: 0, RecvDone: none, Priority: 3},
			{Label: "8", Src: 1, Dst: 2, Size: 200, After: none, SendDone: none, RecvDone: 0},
			{Label: "9", Src: 2, Dst: 3, Size: 300, After: 0, SendDone: none, RecvDone: 1},
			{Label: "10", Src: 3, Dst: 4, Size: 400, After: 1, SendDone: 2, RecvDone: none},
			{Label: "11", Src: 4, Dst: 5, Size: 500, After: 2, SendDone: none, RecvDone: none},
		},
		Triggers: []workloads.Trigger{
			{Label: "1", Kind: workloads.Barrier, Count: 2}, {Label: "20", Kind: workloads.MultiShot}, {Label: "3", Kind: workloads.OneShot},
		},
	}
	if diff := cmp.Diff(w, want); diff != "" {
		t.Errorf("got -, want +:\n%s", diff)
	}
	if len(notes) != 0 {
		t.Errorf("notes %q, want none", notes)
	}
}

// 0 < max(start) < 1000 is taken as microseconds, larger as picoseconds
// (docs/reference/references.md#htsim-connection-matrices).
func TestStartUnit(t *testing.T) {
	for _, c := range []struct {
		start string
		unit  string
		want  units.Duration
		notes int
	}{
		{"0", "auto", 0, 0},
		{"0.000000", "", 0, 0},
		{"1", "auto", units.Microsecond, 1},
		{"40.5", "auto", 40500 * units.Nanosecond, 1},
		{"999.999999", "auto", 999999999, 1},
		{"1000", "auto", 1000, 0},
		{"5000000.0", "auto", 5 * units.Microsecond, 0},
		{"40", "ps", 40, 0},
		{"5000000", "us", 5 * units.Second, 0},
	} {
		unit, err := htsim.ParseStartUnit(c.unit)
		if err != nil {
			t.Fatal(err)
		}
		text := "Nodes 2\nConnections 2\n0->1 start 0 size 1\n1->0 start " + c.start + " size 1\n"
		w, notes, err := htsim.ReadMatrix("s.cm", strings.NewReader(text), htsim.Options{StartUnit: unit})
		if err != nil {
			t.Errorf("%s %s: %v", c.start, c.unit, err)
			continue
		}
		if got := w.Transfers[1].Start; got != c.want || len(notes) != c.notes {
			t.Errorf("%s %s: %v and notes %q, want %v and %d", c.start, c.unit, got, notes, c.want, c.notes)
		}
	}
	if _, err := htsim.ParseStartUnit("ms"); err == nil {
		t.Error("start unit ms: no error")
	}
	if got := htsim.Microseconds.String(); got != "us" {
		t.Errorf("microseconds print as %q", got)
	}
}

func TestNotes(t *testing.T) {
	for text, want := range map[string]string{
		"Nodes 8\nConnections 3\nTriggers 1\n0->1 start 0 size 1 send_done_trigger 1\n1->2 start 0 size 1 send_done_trigger 1\n2->3 id 3 trigger 1 size 1\ntrigger id 1 oneshot\n":         "oneshot trigger 1 is hit 2 times; it fires at the first, htsim stops at the second",
		"Nodes 8\nConnections 3\nTriggers 1\n0->1 start 0 size 1 send_done_trigger 1\n1->2 start 0 size 1 send_done_trigger 1\n2->3 id 3 trigger 1 size 1\ntrigger id 1 barrier count 1\n": "barrier 1 is hit 2 times; it fires at hit 1, htsim stops at the next",
	} {
		_, notes, err := htsim.ReadMatrix("n.cm", strings.NewReader(text), htsim.Options{})
		if err != nil || len(notes) != 1 || notes[0] != want {
			t.Errorf("got  %q, %v\nwant %s", notes, err, want)
		}
	}
}

// flows returns a file with the given lines after a header that counts flows
// and triggers rightly.
func flows(body ...string) string {
	connections, triggers := 0, 0
	for _, line := range body {
		switch {
		case strings.Contains(line, "->"):
			connections++
		case strings.HasPrefix(line, "trigger"):
			triggers++
		}
	}
	digit := func(n int) string { return string(rune('0' + n)) }
	return "Nodes 8\nConnections " + digit(connections) + "\nTriggers " + digit(triggers) + "\n" + strings.Join(body, "\n") + "\n"
}

func TestDiagnostics(t *testing.T) {
	const ok = "0->1 id 1 start 0 size 9"
	for _, c := range []struct {
		text, want string
	}{
		{"", "x.cm:1:1: the file is empty"},
		{"\n# nothing\n\n", "x.cm:3:1: the file is empty"},
		{"Nodes 8\nConnections 1\n", "x.cm:2:13: header says 1 connections, the file has 0"},
		{"Node 8\n", `x.cm:1:1: unknown word "Node" (did you mean "Nodes"?)`},
		{"nodes 8\n", `x.cm:1:1: unknown word "nodes" (did you mean "Nodes"?)`},
		{"Hello 8\n", `x.cm:1:1: unknown word "Hello"; use Nodes, Connections, Triggers, Failures, trigger, failure or <src>-><dst>`},
		{"Nodes\n", "x.cm:1:6: the line ends after Nodes, want its number"},
		{"Nodes 8 9\n", `x.cm:1:9: unexpected "9" after the number of nodes`},
		{"Nodes x\n", `x.cm:1:7: Nodes "x" is not a whole number`},
		{"Nodes 1\n", "x.cm:1:7: Nodes is 1, want 2 to 1048576"},
		{"Nodes 8\nNodes 8\n", "x.cm:2:1: Nodes was set in line 1"},
		{"Nodes 8\nConnections 0\n", "x.cm:2:13: Connections is 0, want 1 to 524288"},
		{"Nodes 8\n", "x.cm:1:8: Connections is missing before the first flow"},
		{"Connections 1\n" + ok, "x.cm:2:1: Nodes is missing before the first flow"},
		{"Nodes 8\n" + ok, "x.cm:2:1: Connections is missing before the first flow"},
		{"Nodes 8\nConnections 2\n" + ok, "x.cm:2:13: header says 2 connections, the file has 1"},
		{"Nodes 8\nConnections 1\nTriggers 2\n" + ok, "x.cm:3:10: header says 2 triggers, the file has 0"},
		{"Nodes 8\nConnections 1\n" + ok + "\ntrigger id 1 oneshot", "x.cm:4:1: the header has no Triggers line, the file has 1 triggers"},
		{"Nodes 8\nConnections 1\nFailures 1\n" + ok, "x.cm:3:10: header says 1 failures, the file has 0"},
		{flows(ok, "Triggers 1"), "x.cm:5:1: Triggers belongs before the first flow, which is in line 4"},
		{flows("0->8 start 0 size 9"), "x.cm:4:4: destination host is 8, want 0 to 7"},
		{flows("9->1 start 0 size 9"), "x.cm:4:1: source host is 9, want 0 to 7"},
		{flows("-1->1 start 0 size 9"), "x.cm:4:1: source host is -1, want 0 to 7"},
		{flows("3->3 start 0 size 9"), "x.cm:4:4: host 3 sends to itself"},
		{flows("a->1 start 0 size 9"), `x.cm:4:1: source host "a" is not a whole number`},
		{flows("0->1x start 0 size 9"), `x.cm:4:4: destination host "1x" is not a whole number`},
		{flows("0-> 1 start 0 size 9"), "x.cm:4:4: destination host is missing; write <src>-><dst> without spaces"},
		{flows("->1 start 0 size 9"), "x.cm:4:1: source host is missing; write <src>-><dst> without spaces"},
		{flows("0 -> 1 start 0 size 9"), `x.cm:4:1: unknown word "0"; use Nodes, Connections, Triggers, Failures, trigger, failure or <src>-><dst>`},
		{flows("0->1 strat 0 size 9"), `x.cm:4:6: unknown word "strat" (did you mean "start"?)`},
		{flows("0->1 start 0 siez 9"), `x.cm:4:14: unknown word "siez" (did you mean "size"?)`},
		{flows("0->1 start 0 speed 9"), `x.cm:4:14: unknown word "speed"; use id, start, trigger, size, send_done_trigger, recv_done_trigger, prio or msg`},
		{flows("0->1 start 0"), "x.cm:4:13: the flow has no size"},
		{flows("0->1 size 9"), "x.cm:4:12: the flow has neither start nor trigger"},
		{flows("0->1 id 1 start 0 trigger 1 size 9"), "x.cm:4:19: the flow has both start and trigger; keep one"},
		{flows("0->1 trigger 1 size 9"), "x.cm:4:6: a flow that a trigger starts needs an id"},
		{flows("0->1 start 0 size"), "x.cm:4:18: the flow ends after size, want its value"},
		{flows("0->1 start 0 size 0"), "x.cm:4:19: size 0 is not positive"},
		{flows("0->1 start 0 size -5"), "x.cm:4:19: size -5 is not positive"},
		{flows("0->1 start 0 size 2MB"), `x.cm:4:19: size "2MB" is not a whole number`},
		{flows("0->1 start 0 size 2000000000000000000"), "x.cm:4:19: size 2000000000000000000: the flows up to here carry more than 1000000000000000000 bytes"},
		{flows("0->1 start 0 size 9 size 9"), "x.cm:4:21: size is given twice"},
		{flows("0->1 start -1 size 9"), "x.cm:4:12: start -1 is negative"},
		{flows("0->1 start soon size 9"), `x.cm:4:12: start "soon" is not a number`},
		{flows("0->1 start 1e6 size 9"), `x.cm:4:12: start "1e6" is not a number`},
		{flows("0->1 start 1.2.3 size 9"), `x.cm:4:12: start "1.2.3" is not a number`},
		{flows("0->1 start 1.0000001 size 9"), "x.cm:4:12: start 1.0000001, read as microseconds, is not a whole number of picoseconds"},
		{flows("0->1 start 5000.5 size 9"), "x.cm:4:12: start 5000.5, read as picoseconds, is not a whole number of picoseconds"},
		{flows("0->1 start 99999999999999999999 size 9"), "x.cm:4:12: start 99999999999999999999, read as picoseconds: the value is too large"},
		{flows("0->1 id 0 start 0 size 9"), "x.cm:4:9: flow id is 0, want 1 to 4294967295"},
		{flows(ok, "1->2 id 1 start 0 size 9"), "x.cm:5:9: flow id 1 was used in line 4"},
		{flows("0->1 start 0 size 9 prio -1"), "x.cm:4:26: prio is -1, want 0 to 2147483647"},
		{flows("0->1 msg 1 start 0 size 9"), "x.cm:4:6: a message needs the id of its connection"},
		{flows("0->1 id 1 msg 0 start 0 size 9"), "x.cm:4:15: msg is 0, want 1 to 4294967295"},
		{flows("0->1 id 1 msg trigger 1 size 9"), "x.cm:4:23: triggers of messages are not supported; give the message a flow of its own, without msg"},
		{flows("0->1 id 1 msg start 0 size 9", "0->2 id 1 msg start 0 size 9"), "x.cm:5:1: connection 1 goes from 0 to 1, see line 4"},
		{flows("0->1 id 1 msg start 0 size 9", "0->1 id 1 start 0 size 9"), "x.cm:5:9: flow id 1 was used in line 4"},
		{flows("0->1 id 1 start 0 size 9", "0->1 id 1 msg start 0 size 9"), "x.cm:5:9: flow id 1 was used in line 4"},
		{flows("0->1 id 1 trigger 0 size 9"), "x.cm:4:19: trigger is 0, want 1 to 4294967295"},
		{flows("0->1 id 1 trigger 5 size 9"), "x.cm:4:19: trigger 5 is not defined"},
		{flows("0->1 start 0 size 9 send_done_trigger 5"), "x.cm:4:39: trigger 5 is not defined"},
		{flows("0->1 start 0 size 9 recv_done_trigger 5"), "x.cm:4:39: trigger 5 is not defined"},
		{flows(ok, "trigger id 4 oneshot"), "x.cm:5:1: trigger 4 is not used"},
		{flows(ok, "1->2 id 2 trigger 4 size 9", "trigger id 4 oneshot"), "x.cm:6:1: trigger 4 never fires: no flow has it as send_done_trigger or recv_done_trigger"},
		{flows(ok+" send_done_trigger 4", "trigger id 4 oneshot"), "x.cm:5:1: trigger 4 starts no flow"},
		{flows(ok+" send_done_trigger 4", "1->2 id 2 trigger 4 size 9", "trigger id 4 oneshot", "trigger id 4 oneshot"), "x.cm:7:12: trigger 4 was defined in line 6"},
		{flows(ok+" send_done_trigger 4", "1->2 id 2 trigger 4 size 9", "trigger id 4 barrier count 3"), "x.cm:6:28: barrier 4 waits for 3 hits, 1 can come"},
		{flows(ok+" send_done_trigger 4", "1->2 id 2 trigger 4 size 9", "2->3 id 3 trigger 4 size 9", "trigger id 4 multishot"), "x.cm:7:1: multishot trigger 4 starts one flow per hit; 2 flows wait for it, 1 hits can come"},
		{flows(ok, "1->2 id 2 trigger 4 size 9 send_done_trigger 5", "2->1 id 3 trigger 5 size 9 send_done_trigger 4", "trigger id 4 oneshot", "trigger id 5 oneshot"), "x.cm:5:19: the flow can never start: trigger 4 waits for flows that wait for it"},
		{flows(ok, "trigger oneshot"), "x.cm:5:16: the trigger has no id"},
		{flows(ok, "trigger id 4"), "x.cm:5:13: the trigger has no kind; use oneshot, multishot or barrier"},
		{flows(ok, "trigger id 4 one-shot"), `x.cm:5:14: unknown word "one-shot" (did you mean "oneshot"?)`},
		{flows(ok, "trigger id 4 oneshot multishot"), "x.cm:5:22: the trigger is oneshot already"},
		{flows(ok, "trigger id 0 oneshot"), "x.cm:5:12: trigger id is 0, want 1 to 4294967295"},
		{flows(ok, "trigger id 4 barrier"), "x.cm:5:21: the barrier has no count"},
		{flows(ok, "trigger id 4 barrier count"), "x.cm:5:27: the trigger ends after count, want its value"},
		{flows(ok, "trigger id 4 barrier count 0"), "x.cm:5:28: count is 0, want 1 to 2147483647"},
		{flows(ok, "trigger id 4 oneshot count 2"), "x.cm:5:28: a oneshot trigger has no count"},
		{flows(ok, "failure switch_type TOP switch_id 1 link_id 1"), `x.cm:5:21: unknown switch type "TOP" (did you mean "TOR"?)`},
		{flows(ok, "failure switch_type TOR switch_id 1"), "x.cm:5:36: the failure has no link_id"},
		{flows(ok, "failure switch_type TOR switch_id one link_id 1"), `x.cm:5:35: switch_id "one" is not a whole number`},
		{flows(ok, "failure switch_type TOR switch_id 1 link 1"), `x.cm:5:37: unknown word "link"; use switch_type, switch_id or link_id`},
		{flows(ok, "failure switch_type TOR switch_id 1 link_id 1"), "x.cm:5:1: the header has no Failures line, the file has 1 failures"},
	} {
		_, _, err := htsim.ReadMatrix("x.cm", strings.NewReader(c.text), htsim.Options{})
		var e *htsim.Error
		if !errors.As(err, &e) || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

// Whatever is read without an error is a valid workload, and the same when it is written
// and read again; every error has a place.
func FuzzReadMatrix(f *testing.F) {
	f.Add(full)
	f.Add(flows("0->1 id 1 start 40.5 size 9", "1->2 id 2 start 0 size 10 prio 1"))
	f.Add("Nodes 3\nConnections 3\nFailures 1\n0->1 id 1 msg start 0 size 9\n0->1 id 1 msg 2 start 5 size 9\n1->2 start 0 size 7\nfailure switch_type AGG switch_id 1 link_id 0\n")
	f.Fuzz(func(t *testing.T, text string) {
		w, _, err := htsim.ReadMatrix("f.cm", strings.NewReader(text), htsim.Options{})
		if err != nil {
			var e *htsim.Error
			if !errors.As(err, &e) || e.Line < 1 || e.Column < 1 {
				t.Fatalf("error %v has no place", err)
			}
			return
		}
		for _, j := range w.Jobs {
			if err := graph.Check(j.Source, 1); err != nil {
				t.Fatal(err)
			}
		}
		if len(w.Transfers) == 0 {
			return // messages alone
		}
		if err := w.Validate(); err != nil {
			t.Fatal(err)
		}
		w.Jobs = nil
		again(t, w)
	})
}

func ExampleReadMatrix() {
	file := strings.NewReader("Nodes 4\nConnections 1\n0->1 start 40 sise 9\n")
	_, _, err := htsim.ReadMatrix("x.cm", file, htsim.Options{})
	fmt.Println(err)
	// Output: x.cm:3:15: unknown word "sise" (did you mean "size"?)
}

// TestOptions holds that a matrix must fit the topology and the sequence
// numbers, and that the place of what does not is named.
func TestOptions(t *testing.T) {
	const text = "Nodes 4\nConnections 1\n0->3 id 1 start 0 size 1000\n"
	for _, c := range []struct {
		options htsim.Options
		want    string
	}{
		{htsim.Options{Hosts: 4, MaxSize: 1000}, ""},
		{htsim.Options{Hosts: 8}, "x.cm:1:7: the file is written for 4 hosts, the topology has 8"},
		{htsim.Options{MaxSize: 999}, "x.cm:3:24: size 1000 is too large; the most that packets of this MTU can number is 999"},
	} {
		_, _, err := htsim.ReadMatrix("x.cm", strings.NewReader(text), c.options)
		if got := fmt.Sprint(err); c.want == "" && err != nil || c.want != "" && got != c.want {
			t.Errorf("%+v: got %v, want %s", c.options, err, c.want)
		}
	}
}
