package player_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/host/player"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
	"github.com/csiglab/csiglab/workloads/graph"
)

// TestRelay: what rank 0 has for rank 2 goes by control port 1 to the host of rank 1, which sends it on as
// flow 7 in the sizes that rank 0's program says; for rank 0 it is sent when it is there.
func TestRelay(t *testing.T) {
	stream := graph.Stream{From: 0, To: 2, Channel: 4}
	inside := graph.Stream{From: 0, To: 1}
	job := func(rank int, routes ...player.Route) *player.Player {
		return player.New(player.Config{Jobs: []player.Job{{
			Job: 3, Source: threeRanks(), Ranks: []int{rank}, Local: workloads.Local{Rate: 8 * units.Gbps, Delay: 4 * us}, Routes: routes,
		}}}, &metrics.Batch{})
	}
	sender := job(0,
		player.Route{Stream: stream, Flow: metrics.Absent, Port: 1, ID: 9},
		player.Route{Stream: inside, Flow: metrics.Absent, Port: 1, ID: 5}, player.Route{Stream: graph.Stream{From: 1}, Flow: metrics.Absent, Port: 1, ID: 6})
	relay := job(1,
		player.Route{Stream: stream, Flow: 7, Port: 1, ID: 9, Relay: true},
		player.Route{Stream: inside, Flow: metrics.Absent, Port: 1, ID: 5}, player.Route{Stream: graph.Stream{From: 1}, Flow: metrics.Absent, Port: 1, ID: 6})
	relay.Posts(0)
	var posts []player.Post
	var when []units.Duration
	for now := sender.NextStart(); now != units.Never; now = sender.NextStart() {
		if got := sender.Posts(now); len(got) > 0 {
			t.Fatalf("the sender posts %v itself", got)
		}
		for _, m := range sender.Outbox() {
			there := now.Add(4 * us)
			if !relay.OnMessage(there, m.Trigger, m.Code) {
				t.Fatalf("the relay does not know %+v", m)
			}
			if m.Code == 9 && relay.NextStart() != there {
				t.Errorf("the relay goes on at %v, want at once, %v", relay.NextStart(), there)
			}
			for _, p := range relay.Posts(there) {
				posts, when = append(posts, p), append(when, there.Sub(0))
			}
			relay.Outbox()
		}
	}
	want := player.Post{Flow: 7, Size: 2000, Tag: metrics.Tag{Step: 1, Collective: 3, Group: 1}, Total: 4000}
	if diff := cmp.Diff(posts, []player.Post{want, want}); diff != "" {
		t.Errorf("posts of the relay (-got +want):\n%s", diff)
	}
	// 1 us for 1000 B of rank 0's messages, of which those to rank 1 take turns with these, and 4 us.
	if !slices.Equal(when, []units.Duration{10*us + 7*us, 10*us + 10*us}) {
		t.Errorf("they come at %v", when)
	}
	if relay.OnMessage(at(99*us), 1<<31|3, 9); relay.NextStart() == at(99*us) {
		t.Error("a third message, which the program does not have, is sent on")
	}
	j := player.Job{Ranks: []int{1}, Routes: []player.Route{{Stream: stream, Relay: true}, {Stream: inside}}}
	if got := j.Read(); !slices.Equal(got, []int{0, 1}) {
		t.Errorf("it reads %v", got)
	}
}
