package htsim_test

import (
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
	"github.com/csiglab/csiglab/workloads/collective"
	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/htsim"
)

// again writes a workload, reads it again and compares.
func again(t *testing.T, load *workloads.Workload) *graph.Loss {
	t.Helper()
	var text strings.Builder
	loss, err := htsim.Write(&text, load)
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := htsim.ReadMatrix(load.Name+".cm", strings.NewReader(text.String()), htsim.Options{StartUnit: htsim.Picoseconds})
	if err != nil {
		t.Fatalf("%v\n%s", err, text.String())
	}
	got.Name, got.StartUnit = load.Name, load.StartUnit
	if diff := cmp.Diff(got, load); diff != "" {
		t.Fatalf("read again -, first read +:\n%s", diff)
	}
	return loss
}

// What is read, written and read again is the same workload, for all public files.
func TestWriteFixtures(t *testing.T) {
	for _, file := range []string{
		public + "one.cm", public + "bidir.cm", public + "incast.cm", public + "incast_3-1_overlapped.tm", public + "outcast_incast.cm",
		public + "perm_16n_16c_2MB.cm", public + "perm_32n_32c_2MB.cm", public + "alltoall_serial_16n.cm", "scenarios/three-flow.cm", "scenarios/collective.cm",
	} {
		t.Run(path.Base(file), func(t *testing.T) {
			load, _, err := htsim.ReadMatrix(file, checkout.Open(t, "fixtures/"+file), htsim.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if loss := again(t, load); path.Base(file) != "incast_3-1_overlapped.tm" && !loss.Empty() {
				t.Errorf("lost: %s", loss)
			}
		})
	}
}

func TestWrite(t *testing.T) {
	load, _, err := htsim.ReadMatrix("full.cm", strings.NewReader(full), htsim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	load.Failures = []workloads.Failure{{Tier: "agg", Switch: 3, Link: 1}}
	if loss := again(t, load); !loss.Empty() {
		t.Errorf("lost: %s", loss)
	}
	// htsim reads sizes with stoi and starts with stof.
	load.Transfers[0].Size, load.Transfers[0].Start, load.Transfers[4].Start = 1<<31, 1<<24+1, 7
	load.Jobs = []workloads.Job{{}}
	var text strings.Builder
	loss, err := htsim.Write(&text, load)
	if err != nil {
		t.Fatal(err)
	}
	want := "1 start times that htsim rounds to 24 bits, the first at transfer 1\n" +
		"1 sizes above 2147483647 bytes, which htsim cannot read, the first at transfer 1\n" +
		"1 delays between a trigger and what it starts, the first at transfer 5\n1 jobs"
	if diff := cmp.Diff(loss.String(), want); diff != "" {
		t.Errorf("lost -, want +:\n%s", diff)
	}
	none := workloads.None
	load = &workloads.Workload{Hosts: 2, Transfers: []workloads.Transfer{{Dst: 1, Size: 1, Start: 40, After: none, SendDone: none, RecvDone: none}}}
	if loss, _ = htsim.Write(&text, load); loss.String() != "1 start times that are all below 1 ns; read the file with start unit ps" {
		t.Errorf("lost: %s", loss)
	}
}

// A failure line names a link of a fat tree: add_failed_link of htsim's fat_tree_topology.cpp.
func TestFailures(t *testing.T) {
	load, _, err := htsim.ReadMatrix("x.cm", strings.NewReader("Nodes 8\nConnections 1\nFailures 2\n0->1 start 0 size 9\nfailure switch_type AGG switch_id 2 link_id 1\nfailure link_id 0 switch_id 5 switch_type TOR\n"), htsim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []workloads.Failure{{Tier: "agg", Switch: 2, Link: 1}, {Tier: "tor", Switch: 5}}
	if diff := cmp.Diff(load.Failures, want); diff != "" {
		t.Errorf("got -, want +:\n%s", diff)
	}
}

// Flows with msg and one id are messages on one connection, and their starts microseconds:
// "start_ts.emplace(timeFromUs((uint32_t)crt->start))" of htsim's main_uec.cpp.
func TestMessages(t *testing.T) {
	const file = public + "test_cr_1f10m1p.cm"
	load, notes, err := htsim.ReadMatrix(file, checkout.Open(t, "fixtures/"+file), htsim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(load.Transfers) != 0 || len(load.Jobs) != 1 || len(notes) != 1 || notes[0] != "10 messages on 1 connections (msg) are the job messages" {
		t.Fatalf("read as %+v, notes %q", load, notes)
	}
	timeline, err := graph.Ideal(load.Jobs[0].Source, 1, graph.Link{})
	if err != nil || timeline.Messages != 10 || timeline.Bytes != 10*4086 {
		t.Errorf("played as %+v, %v", timeline, err)
	}
	const text = "Nodes 9\nConnections 4\n7->2 id 5 msg 1 start 30 size 300\n2->7 id 6 msg start 0 size 9\n7->2 id 5 msg 2 start 10 size 100\n7->2 id 8 msg start 20 size 200\n"
	if load, notes, err = htsim.ReadMatrix("m.cm", strings.NewReader(text), htsim.Options{}); err != nil {
		t.Fatal(err)
	}
	if len(notes) != 2 || notes[0] != "start times of messages (msg) are read as microseconds, as htsim does; choose start unit ps to read them as picoseconds" {
		t.Errorf("notes %q", notes)
	}
	job := load.Jobs[0]
	if diff := cmp.Diff(job.Hosts, []int{2, 7}); diff != "" {
		t.Errorf("hosts: %s", diff)
	}
	var got []string
	p := job.Source.Program(1, 1)
	var op graph.Op
	for p.Next(&op) {
		got = append(got, fmt.Sprintf("%v %d@%d#%d %v", op.Kind, int64(op.Bytes), op.Peer, op.Channel, op.NotBefore))
	}
	want := []string{"recv 9@0#0 0s", "send 100@0#0 10us", "send 200@0#1 20us", "send 300@0#0 30us"}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("got -, want +:\n%s", diff)
	}
}

// matrix returns a source as the text of a connection matrix, without its header.
func matrix(t *testing.T, s graph.Source) (string, *graph.Loss) {
	t.Helper()
	load, loss, err := htsim.FromSource("x", s, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := load.Validate(); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if _, err := htsim.Write(&text, load); err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(text.String(), "Triggers")
	_, body, _ = strings.Cut(body, "\n")
	return body, loss
}

// In a ring of three, a rank sends what it has received in the step before.
func TestFromRing(t *testing.T) {
	s, err := collective.New(collective.Config{Call: collective.Call{Kind: collective.AllGather, Bytes: 30}, Ranks: 3, Iterations: 1})
	if err != nil {
		t.Fatal(err)
	}
	got, loss := matrix(t, s)
	want := `0->1 id 1 start 0 size 10 recv_done_trigger 2
0->1 id 2 trigger 1 size 10
1->2 id 3 start 0 size 10 recv_done_trigger 3
1->2 id 4 trigger 2 size 10
2->0 id 5 start 0 size 10 recv_done_trigger 1
2->0 id 6 trigger 3 size 10
trigger id 1 oneshot
trigger id 2 oneshot
trigger id 3 oneshot
`
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("got -, want +:\n%s", diff)
	}
	if !loss.Empty() {
		t.Errorf("lost: %s", loss)
	}
}

// Joins become barriers, compute times starts and delays; a flow that two messages wait for
// with different others hits the trigger of one.
func TestFromJoins(t *testing.T) {
	tag := graph.Tag{Phase: graph.None, Collective: graph.None, Group: graph.None}
	a, b := graph.Builder{Tag: tag}, graph.Builder{Tag: tag}
	first := a.Send(1, 0, 10, a.Compute(units.Microsecond)) // flow 1, after a microsecond
	second := a.Send(1, 1, 20)                              // flow 2
	joined := a.Barrier(first, second)
	a.Send(1, 2, 30, a.Compute(units.Nanosecond, joined)) // flow 3, when both are sent
	a.Send(1, 3, 40, second)                              // flow 4, when the second is
	for channel := range uint16(4) {
		b.Recv(0, channel, units.Size(10*(channel+1)))
	}
	got, loss := matrix(t, &graph.Static{Count: 1, All: 2, Of: map[int][]graph.Op{0: a.Ops, 1: b.Ops}})
	want := `0->1 id 1 start 1000000 size 10 send_done_trigger 2
0->1 id 2 start 0 size 20 send_done_trigger 1
0->1 id 3 trigger 2 size 30
0->1 id 4 trigger 1 size 40
trigger id 1 oneshot
trigger id 2 oneshot
`
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("got -, want +:\n%s", diff)
	}
	if got, want := loss.String(), "1 messages that do not wait for everything, because a flow hits one trigger, the first at flow 3 (0->1)"; got != want {
		t.Errorf("lost %q, want %q", got, want)
	}
	// Without the fourth flow nothing is lost.
	a.Ops = a.Ops[:len(a.Ops)-1]
	got, loss = matrix(t, &graph.Static{Count: 1, All: 2, Of: map[int][]graph.Op{0: a.Ops, 1: b.Ops[:3]}})
	if !strings.Contains(got, "0->1 id 3 trigger 1 size 30\ntrigger id 1 barrier count 2\n") || !loss.Empty() {
		t.Errorf("got\n%slost %s", got, loss)
	}
}

// Every collective becomes a workload in which all messages can start.
func TestFromCollectives(t *testing.T) {
	for _, name := range collective.Kind(0).Names() {
		kind, err := collective.ParseKind(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, algorithm := range collective.AlgorithmsOf(kind) {
			call := collective.Call{Kind: kind, Algorithm: algorithm, Bytes: 1 << 16, Chunk: 1 << 10, Local: 2}
			s, err := collective.New(collective.Config{Call: call, Ranks: 8, Iterations: 2})
			if err != nil {
				t.Fatal(err)
			}
			load, _, err := htsim.FromSource("x", s, 1)
			if err != nil {
				t.Errorf("%s by %v: %v", name, algorithm, err)
				continue
			}
			if err := load.Validate(); err != nil {
				t.Errorf("%s by %v: %v", name, algorithm, err)
			}
		}
	}
}
