package player_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/host/player"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
	"github.com/csiglab/csiglab/workloads/graph"
)

const us = units.Microsecond

func at(d units.Duration) units.Time { return units.Time(d) }

// threeRanks is a job whose rank 0 sends ranks 1 and 2 two messages each. Rank 1 answers the
// second one.
func threeRanks() *graph.Static {
	var ranks [3]graph.Builder
	for i := range ranks {
		ranks[i].Tag = graph.Tag{Step: 0, Phase: graph.None, Collective: 2, Group: 1}
	}
	zero, one, two := &ranks[0], &ranks[1], &ranks[2]
	begin := zero.Compute(10 * us)
	for range 2 {
		zero.Send(1, 0, 1000, begin)
		zero.Add(graph.Op{Kind: graph.Send, Peer: 2, Channel: 4, Bytes: 2000, Total: 4000}, begin)
		one.Recv(0, 0, 1000)
		two.Recv(0, 4, 2000)
	}
	one.Send(0, 0, 500, 1)
	zero.Recv(1, 0, 500)
	return &graph.Static{Count: 1, All: 3, Of: map[int][]graph.Op{0: zero.Ops, 1: one.Ops, 2: two.Ops}}
}

// A host with ranks 0 and 1 sends what is for rank 2 on its connection, flow 7, and plays the
// rest itself: "each rank sends them one after the other at Rate, and they arrive Delay
// later" (workloads.Local). 8 Gb/s are 1 us for 1000 bytes.
func TestJob(t *testing.T) {
	var records metrics.Batch
	p := player.New(player.Config{Jobs: []player.Job{{
		Job: 3, Source: threeRanks(), Ranks: []int{0, 1}, Start: at(100 * us), Local: workloads.Local{Rate: 8 * units.Gbps, Delay: 4 * us},
		Routes: []player.Route{
			{Stream: graph.Stream{From: 0, To: 2, Channel: 4}, Flow: 7},
			{Stream: graph.Stream{From: 0, To: 1}, Flow: metrics.Absent, Port: player.Local},
			{Stream: graph.Stream{From: 1, To: 0}, Flow: metrics.Absent, Port: player.Local},
		},
	}}}, &records)
	type moment struct {
		At    units.Time
		Posts []player.Post
	}
	var got []moment
	for now := p.NextStart(); now != units.Never; now = p.NextStart() {
		m := moment{At: now}
		m.Posts = append(m.Posts, p.Posts(now)...)
		got = append(got, m)
		if len(got) > 20 {
			t.Fatalf("it does not end: %v", got)
		}
	}
	tag := metrics.Tag{Step: 1, Collective: 3, Group: 1}
	post := player.Post{Flow: 7, Size: 2000, Tag: tag, Total: 4000}
	want := []moment{
		{At: at(100 * us)}, {At: at(110 * us), Posts: []player.Post{post, post}},
		{At: at(111 * us)}, {At: at(112 * us)}, // the messages to rank 1 have left
		{At: at(115 * us)}, {At: at(116 * us)}, // and have arrived; rank 1 answers
		{At: at(116*us + 500*units.Nanosecond)}, {At: at(120*us + 500*units.Nanosecond)},
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("what happens when (-got +want):\n%s", diff)
	}
	if out := p.Outbox(); len(out) > 0 {
		t.Errorf("control messages for ranks that are here: %v", out)
	}
	totals := p.Close()
	if len(totals) != 1 || totals[0].Done || totals[0].Job != 3 || totals[0].Operations != 7 || !strings.Contains(totals[0].Waits, "rank 0 operation 2 (send to 2) has not been acknowledged") {
		t.Errorf("before the connection has sent: %+v", totals)
	}
	p.OnMessageSent(at(130*us), 7, 1)
	p.Posts(at(130 * us))
	p.OnMessageSent(at(140*us), 7, 2)
	if next := p.NextStart(); next != at(140*us) {
		t.Errorf("next is due at %v, want at once", next)
	}
	p.Posts(at(140 * us))
	if totals := p.Close(); !totals[0].Done || totals[0].Waits != "" {
		t.Errorf("at the end: %+v", totals)
	}
	ends := map[[2]int32]units.Time{}
	for _, o := range records.Operations {
		if o.Job != 3 || o.Tag != tag {
			t.Errorf("got %+v", o)
		}
		ends[[2]int32{o.Rank, int32(o.Op)}] = o.End
		if o.Op == 2 && o.Rank == 0 && (o.Flow != 7 || o.Peer != 2 || o.Message != 0) {
			t.Errorf("the first send of the connection: %+v", o)
		}
	}
	if diff := cmp.Diff(ends, map[[2]int32]units.Time{
		{0, 0}: at(110 * us), {0, 1}: at(115 * us), {0, 3}: at(116 * us), {0, 2}: at(130 * us), {0, 4}: at(140 * us), {0, 5}: at(120*us + 500*units.Nanosecond),
		{1, 0}: at(115 * us), {1, 1}: at(116 * us), {1, 2}: at(120*us + 500*units.Nanosecond),
	}); diff != "" {
		t.Errorf("ends of operations (-got +want):\n%s", diff)
	}
}

// Between hosts of one server a message is a control message, which leaves when the rank has
// sent it and takes the link's delay, the job's.
func TestJobInServer(t *testing.T) {
	host := func(route player.Route, ranks ...int) *player.Player {
		return newPlayer(player.Config{Jobs: []player.Job{{
			Job: 2, Source: threeRanks(), Ranks: ranks, Local: workloads.Local{Rate: 8 * units.Gbps, Delay: 4 * us},
			Routes: []player.Route{
				route,
				{Stream: graph.Stream{From: 0, To: 1}, Flow: metrics.Absent, Port: player.Local},
				{Stream: graph.Stream{From: 1, To: 0}, Flow: metrics.Absent, Port: player.Local},
			}}}})
	}
	stream := graph.Stream{From: 0, To: 2, Channel: 4}
	sender := host(player.Route{Stream: stream, Flow: metrics.Absent, Port: 5, ID: 9}, 0, 1)
	receiver := host(player.Route{Stream: stream, Flow: metrics.Absent, Port: 1, ID: 9}, 2)
	receiver.Posts(0)
	messages := 0
	for now := sender.NextStart(); now != units.Never; now = sender.NextStart() {
		if posts := sender.Posts(now); len(posts) > 0 {
			t.Errorf("at %v: posts %v", now, posts)
		}
		for _, m := range sender.Outbox() {
			// The NIC of rank 0 sends 1000, 2000, 1000 and 2000 bytes in turn.
			if want := []units.Time{at(13 * us), at(16 * us)}[messages]; now != want || m.Port != 5 {
				t.Errorf("message %d leaves port %d at %v, want %v", messages, m.Port, now, want)
			}
			messages++
			if !receiver.OnMessage(now.Add(4*us), m.Trigger, m.Code) {
				t.Errorf("message %+v is not known", m)
			}
			receiver.Posts(now.Add(4 * us))
		}
	}
	if messages != 2 || !sender.Close()[0].Done || !receiver.Close()[0].Done {
		t.Errorf("%d messages; %+v, %+v", messages, sender.Close(), receiver.Close())
	}
	for _, m := range [][2]uint32{{1<<31 | 2, 8}, {1<<31 | 1, 9}, {2, 9}} {
		if receiver.OnMessage(at(us), m[0], m[1]) {
			t.Errorf("message %v is taken", m)
		}
	}
}

// A job whose messages are known takes no memory for each.
func TestJobAllocations(t *testing.T) {
	b := graph.Builder{}
	for range 4000 {
		b.Send(1, 0, 1000)
	}
	p := newPlayer(player.Config{Jobs: []player.Job{{
		Source: &graph.Static{Count: 1, All: 2, Of: map[int][]graph.Op{0: b.Ops}}, Ranks: []int{0},
		Routes: []player.Route{{Stream: graph.Stream{From: 0, To: 1}, Flow: 0}},
	}}})
	p.Posts(0)
	count := 0
	if allocations := testing.AllocsPerRun(1000, func() {
		count++
		p.OnMessageSent(at(us), 0, count)
		p.Posts(at(us))
	}); allocations > 0 {
		t.Errorf("%v objects for each message", allocations)
	}
}
