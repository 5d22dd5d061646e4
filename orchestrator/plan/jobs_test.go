package plan_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/host/player"
	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
	"github.com/csiglab/csiglab/workloads/collective"
	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/jitter"
	"github.com/csiglab/csiglab/workloads/training"
)

// Each stream between servers is a connection behind the workload's transfers; each stream
// between hosts of a server has a control link with the delay of the inside of the server.
func TestConnections(t *testing.T) {
	job := backendtest.RingJob([]int{0, 1, 2, 3}, 3, 400*units.KB)
	job.Start = 5 * units.Microsecond
	p := backendtest.CompileJobs(t, backendtest.Rails, job) // servers have hosts 0 and 1, 2 and 3
	want := []metrics.FlowInfo{
		{Flow: 0, Name: "0-3", Src: 0, Dst: 3, Size: 20 * units.KB, Packets: 5, Job: 1}, // behind the training job
		// Three steps of 6 messages of 100 kB, each in 25 packets of at most 4032 bytes.
		{Flow: 1, Name: "1-2", Src: 1, Dst: 2, Size: 1800 * units.KB, Packets: 450, Messages: 18, SrcRank: 1, DstRank: 2},
		{Flow: 2, Name: "3-0", Src: 3, Dst: 0, Size: 1800 * units.KB, Packets: 450, Messages: 18, SrcRank: 3, DstRank: 0},
	}
	if diff := cmp.Diff(p.Flows, want); diff != "" {
		t.Errorf("flows (-got +want):\n%s", diff)
	}
	if p.Transfers != 3 || p.Completing() != 1 {
		t.Errorf("%d transfers, of which %d are complete at some time, want 3 and 1", p.Transfers, p.Completing())
	}
	if diff := cmp.Diff(p.Groups[0], plan.Group{Name: plan.AllTransfers, Flows: []int{0, 1, 2}}); diff != "" {
		t.Errorf("the group of all (-got +want):\n%s", diff)
	}
	info := p.Jobs[0]
	if diff := cmp.Diff(info.Ranks, []int32{0, 1, 2, 3}); diff != "" || info.Name != "ring" || info.Steps != 3 || info.Start != units.Time(job.Start) ||
		info.Collectives[0].Name != "sum" || info.Records != 4*13 {
		t.Errorf("job %+v", info)
	}
	sends := p.Nodes[1].Host.Sends
	if len(sends) != 1 || !sends[0].Connection || sends[0].ID != 1 || len(p.Nodes[1].Host.Player.Starts) != 0 {
		t.Errorf("host 1 sends %+v and starts %+v", sends, p.Nodes[1].Host.Player.Starts)
	}
	got := p.Nodes[1].Host.Player.Jobs
	if len(got) != 1 || got[0].Seed != 7 || got[0].Start != units.Time(job.Start) || !slices.Equal(got[0].Ranks, []int{1}) {
		t.Fatalf("host 1 plays %+v", got)
	}
	if static := got[0].Source.(*graph.Static); static.Of[0] != nil || static.Of[1] == nil {
		t.Error("host 1 has the programs of other ranks, or not its own")
	}
	if diff := cmp.Diff(got[0].Routes, []player.Route{
		{Stream: graph.Stream{From: 0, To: 1}, Flow: metrics.Absent, Port: 1, ID: 0},
		{Stream: graph.Stream{From: 1, To: 2}, Flow: 1, Port: player.Local, ID: 1},
	}); diff != "" {
		t.Errorf("routes of host 1 (-got +want):\n%s", diff)
	}
	control := p.Control()
	if len(control) != 2 || control[0].Delay != job.Local.Delay || control[0].A.Node != 0 || control[0].B.Node != 1 {
		t.Errorf("control links %+v", control)
	}
}

// long is a job of many steps, in each of which rank 0 sends rank 1 10000 messages of 1000
// bytes times the seed. It counts the operations that are read.
type long struct {
	graph.Source
	read *atomic.Int64
}

func (l long) Steps() int              { return 1000 }
func (l long) Only([]int) graph.Source { return l }
func (l long) Labels() *graph.Labels   { return &graph.Labels{} }
func (l long) Program(rank int, seed uint64) graph.Program {
	return &longProgram{long: l, rank: rank, bytes: units.Size(1000 * seed)}
}

type longProgram struct {
	long
	rank, id int
	bytes    units.Size
}

func (p *longProgram) Next(op *graph.Op) bool {
	p.read.Add(1)
	*op = graph.Op{Kind: graph.Kind(p.rank), Peer: int32(1 - p.rank), Bytes: p.bytes, Fence: true, Tag: graph.Tag{Step: int32(p.id / 10_000)}}
	if p.id > 0 {
		op.Deps = []uint32{uint32(p.id) - 1}
	}
	p.id++
	return p.id <= 10_000*p.Steps()
}

// The programs of one step are read, whatever the number of steps, and about a million
// operations more to see whether the job gets stuck; what is random in them follows from the
// seed.
func TestConnectionsOfOneStep(t *testing.T) {
	checkout.SkipSlowRace(t)
	for seed, text := range []string{7: "7", 8: "8"} {
		if text == "" {
			continue
		}
		job := workloads.Job{Name: "long", Source: long{&graph.Static{All: 2}, new(atomic.Int64)}, Hosts: []int{0, 2}}
		p := backendtest.CompileJobs(t, strings.Replace(backendtest.Rails, "[7]", "["+text+"]", 1), job)
		if f := p.Flows[1]; f.Messages != 10_000_000 || f.Size != units.Size(seed)*10*units.GB || f.Packets != 10_000_000*int64((1000*seed+4031)/4032) {
			t.Errorf("seed %d: %+v", seed, f)
		}
		if read := job.Source.(long).read.Load(); read > 1_200_000 {
			t.Errorf("%d operations were read of 20 million", read)
		}
	}
}

// What is wrong with a job is said before the run.
func TestJobsRefused(t *testing.T) {
	ring := backendtest.RingJob([]int{0, 1, 2, 3}, 1, 400)
	programs := func(ranks ...func(b *graph.Builder)) workloads.Job {
		s := &graph.Static{Count: 1, All: len(ranks), Of: map[int][]graph.Op{}}
		for i, write := range ranks {
			b := &graph.Builder{Tag: graph.Tag{Phase: graph.None, Collective: graph.None}}
			write(b)
			s.Of[i] = b.Ops
		}
		return workloads.Job{Name: "x", Source: s, Hosts: []int{0, 1, 2, 3}[:len(ranks)]}
	}
	nothing := func(*graph.Builder) {}
	for _, test := range []struct {
		name   string
		job    workloads.Job
		change func(*workloads.Job)
		want   string
	}{
		{"too few hosts", ring, func(j *workloads.Job) { j.Hosts = j.Hosts[:3] }, "job ring: invalid workload: 3 hosts for 4 ranks"},
		{"no such host", ring, func(j *workloads.Job) { j.Hosts = []int{0, 1, 2, 4} }, "rank 3 is at host 4; hosts go from 0 to 3"},
		{"a short way", ring, func(j *workloads.Job) { j.Local.Delay = units.Nanosecond }, "messages inside a server take 1ns between hosts; this is below the smallest link delay, 1us"},
		{"a circle", programs(
			func(b *graph.Builder) { b.Send(1, 0, 1, b.Recv(1, 0, 1)) },
			func(b *graph.Builder) { b.Send(0, 0, 1, b.Recv(0, 0, 1)) }), nil, "job x: invalid transfer graph: these operations wait for each other: rank 0 operation 0 (recv from 1) -> rank 1 operation 1"},
		{"nobody receives", programs(func(b *graph.Builder) { b.Send(1, 2, 1) }, nothing), nil, "rank 0 sends to rank 1 on channel 2, which receives nothing there"},
		{"nobody sends", programs(func(b *graph.Builder) { b.Recv(1, 2, 1) }, nothing), nil, "rank 0 receives from rank 1 on channel 2, which sends nothing there"},
		{"another size", programs(func(b *graph.Builder) { b.Send(1, 2, 1) }, func(b *graph.Builder) { b.Recv(0, 2, 2) }), nil, "rank 0 sends rank 1 1 messages of 1 bytes on channel 2 in a step, which receives 1 of 2 bytes"},
		{"sizes in another order", programs(func(b *graph.Builder) { b.Send(1, 2, 1); b.Send(1, 2, 2) }, func(b *graph.Builder) { b.Recv(0, 2, 2); b.Recv(0, 2, 1) }), nil, "it receives 2 bytes of the 1 that rank 0 sends"},
		{"to itself", programs(func(b *graph.Builder) { b.Send(0, 0, 1) }), nil, "rank 0: operation 0 (send) of 1 bytes: peer 0, want another rank from 0 to 0"},
		{"more packets than numbers", programs(func(b *graph.Builder) { b.Send(1, 0, 40*units.TB) }, func(b *graph.Builder) { b.Recv(0, 0, 40*units.TB) }), nil,
			"rank 0 sends rank 1 40TB in 1 steps; the packets of a connection have 4294967294 numbers"},
		{"too many bytes", programs(
			func(b *graph.Builder) {
				b.Send(1, 0, math.MaxInt64/2)
				b.Send(1, 0, math.MaxInt64/2)
				b.Send(1, 0, math.MaxInt64/2)
			},
			func(b *graph.Builder) {
				b.Recv(0, 0, math.MaxInt64/2)
				b.Recv(0, 0, math.MaxInt64/2)
				b.Recv(0, 0, math.MaxInt64/2)
			}), nil, "the bytes between two ranks are too many"},
	} {
		job := test.job
		if test.change != nil {
			test.change(&job)
		}
		_, err := backendtest.TryJobs(t, backendtest.Rails, job)
		if err == nil || !errors.Is(err, failure.ErrConfiguration) || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "jobs: ") {
			t.Errorf("%s: got %v\nwant jobs: … %s", test.name, err, test.want)
		}
	}
}

// A job whose step has more operations than are played before the run is told of.
func TestLargeJobsAreNotPlayedBefore(t *testing.T) {
	checkout.SkipSlowRace(t)
	source, err := collective.New(collective.Config{Call: collective.Call{Kind: collective.AllReduce, Bytes: units.GB, Chunk: 16 * units.KB}, Ranks: 8, Iterations: 1})
	if err != nil {
		t.Fatal(err)
	}
	p := backendtest.CompileJobs(t, backendtest.Rails, workloads.Job{Name: "big", Source: source, Hosts: []int{0, 0, 1, 1, 2, 2, 3, 3}, Local: workloads.Local{Delay: units.Microsecond}})
	if !slices.ContainsFunc(p.Notes, func(n string) bool {
		return strings.Contains(n, "whether its ranks wait for each other for ever was not checked")
	}) {
		t.Errorf("notes %q", p.Notes)
	}
}

// BenchmarkConnections counts what the ranks of a large job send: a ring all-reduce of 1024
// ranks, two million operations.
func BenchmarkConnections(b *testing.B) {
	source, err := collective.New(collective.Config{Call: collective.Call{Kind: collective.AllReduce, Bytes: units.GB}, Ranks: 1024, Iterations: 1})
	if err != nil {
		b.Fatal(err)
	}
	hosts := make([]int, 1024)
	for i := range hosts {
		hosts[i] = i
	}
	text := "schema: 1\nname: x\ntopology: {leaf_spine: {leaves: 32, spines: 8, hosts_per_leaf: 32, rate: 100Gbps, spine_rate: 400Gbps, delay: 1us}}\nworkload: {transfers: [0 -> 3 20kB]}\n"
	for b.Loop() {
		if _, err := backendtest.TryJobs(b, text, workloads.Job{Name: "big", Source: source, Hosts: hosts}); err != nil {
			b.Fatal(err)
		}
	}
}

// Two equal jobs have jitter of their own: with the same one they would stay together for
// ever.
func TestJobsHaveSeedsOfTheirOwn(t *testing.T) {
	profile := func() graph.Source {
		source, err := training.NewProfile(training.Profile{Ranks: 2, Compute: units.Millisecond, Bytes: units.KB, Steps: 2, Jitter: jitter.Config{Variation: 0.1}})
		if err != nil {
			t.Fatal(err)
		}
		return source
	}
	p := backendtest.CompileJobs(t, backendtest.Rails, workloads.Job{Name: "a", Source: profile(), Hosts: []int{0, 2}}, workloads.Job{Name: "b", Source: profile(), Hosts: []int{1, 3}})
	var first []units.Duration // compute of rank 0, of each job
	for host := range 2 {
		job := &p.Nodes[host].Host.Player.Jobs[0]
		var op graph.Op
		for program := job.Source.Program(0, job.Seed); program.Next(&op); {
			if op.Kind == graph.Compute {
				first = append(first, op.Duration)
				break
			}
		}
	}
	if len(first) != 2 || first[0] == first[1] {
		t.Errorf("the ranks 0 of two jobs compute for %v", first)
	}
}
