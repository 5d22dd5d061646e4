package player_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/host/player"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
)

// started is a transfer and when it started.
type started struct {
	At       units.Time
	Transfer int
}

func newPlayer(cfg player.Config) *player.Player { return player.New(cfg, metrics.Discard) }

// drain starts everything that is due up to the end of time.
func drain(p *player.Player) (all []started) {
	for at := p.NextStart(); at != units.Never; at = p.NextStart() {
		id, ok := p.Due(at)
		if !ok {
			panic("nothing is due at NextStart")
		}
		all = append(all, started{at, id})
	}
	return all
}

// ids returns the transfers that start, in order.
func ids(all []started) (ids []int) {
	for _, s := range all {
		ids = append(ids, s.Transfer)
	}
	return ids
}

func waiting(trigger int, transfers ...int) (starts []player.Start) {
	for _, id := range transfers {
		starts = append(starts, player.Start{Transfer: id, After: trigger})
	}
	return starts
}

func local(transfers ...int) (targets []player.Target) {
	for _, id := range transfers {
		targets = append(targets, player.Target{Transfer: id, Port: player.Local})
	}
	return targets
}

// Events at one instant are in the order of job and transfer.
func TestStartsInOrder(t *testing.T) {
	starts := []player.Start{
		{Transfer: 0, Job: 1, At: 5}, {Transfer: 1, Job: 0, At: 7}, {Transfer: 2, Job: 0, At: 5},
		{Transfer: 3, Job: 1, At: 5}, {Transfer: 4, Job: 0, At: 5}, {Transfer: 5, Job: 2, At: 0},
	}
	for i := range starts {
		starts[i].After = workloads.None
	}
	want := []started{{0, 5}, {5, 2}, {5, 4}, {5, 0}, {5, 3}, {7, 1}}
	const seed = 20257
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 20 {
		random.Shuffle(len(starts), func(i, j int) { starts[i], starts[j] = starts[j], starts[i] })
		if diff := cmp.Diff(want, drain(newPlayer(player.Config{Starts: starts}))); diff != "" {
			t.Fatalf("from %v (-want +got)\n%s", starts, diff)
		}
	}
}

func TestDueIsNotEarly(t *testing.T) {
	p := newPlayer(player.Config{Starts: []player.Start{{Transfer: 3, At: 10, After: workloads.None}}})
	if id, ok := p.Due(9); ok {
		t.Errorf("transfer %d starts before its time", id)
	}
	if id, ok := p.Due(12); !ok || id != 3 {
		t.Errorf("Due(12) = %d, %v, want 3", id, ok)
	}
	if id, ok := p.Due(units.Never); ok || p.NextStart() != units.Never {
		t.Errorf("transfer %d again, next start %v", id, p.NextStart())
	}
}

// htsim's connection matrices: a one-shot fires at its first hit, a barrier at
// its Count-th, each once; every hit of a multi-shot starts the next waiting
// transfer.
func TestTriggers(t *testing.T) {
	for _, test := range []struct {
		name    string
		trigger player.Trigger
		want    [][]int // transfers that start after each hit
	}{
		{"one-shot", player.Trigger{Kind: workloads.OneShot}, [][]int{{10, 11, 12}, nil, nil}},
		{"multi-shot", player.Trigger{Kind: workloads.MultiShot}, [][]int{{10}, {11}, {12}, nil}},
		{"barrier of 1", player.Trigger{Kind: workloads.Barrier, Count: 1}, [][]int{{10, 11, 12}, nil}},
		{"barrier of 3", player.Trigger{Kind: workloads.Barrier, Count: 3}, [][]int{nil, nil, {10, 11, 12}, nil}},
	} {
		test.trigger.ID, test.trigger.Targets = 4, local(10, 11, 12)
		hits := []player.Hit{
			{Transfer: 1, Trigger: 4, Port: player.Local},
			{Transfer: 2, Received: true, Trigger: 4, Port: player.Local},
		}
		p := newPlayer(player.Config{Starts: waiting(4, 12, 10, 11), Hits: hits, Triggers: []player.Trigger{test.trigger}})
		for n, want := range test.want {
			// Hits come from here and from elsewhere.
			switch n % 3 {
			case 0:
				p.OnSent(50, 1)
			case 1:
				p.OnReceived(50, 2)
			default:
				if !p.OnMessage(50, 4, 0) {
					t.Errorf("%s: a hit by message is not known", test.name)
				}
			}
			got := drain(p)
			if diff := cmp.Diff(want, ids(got)); diff != "" {
				t.Errorf("%s: after hit %d (-want +got)\n%s", test.name, n+1, diff)
			}
			for _, s := range got {
				if s.At != 50 {
					t.Errorf("%s: transfer %d starts at %v, want 50ps", test.name, s.Transfer, s.At)
				}
			}
		}
		if out := p.Outbox(); len(out) != 0 {
			t.Errorf("%s: messages %v for local targets", test.name, out)
		}
	}
}

func TestOtherEventsHitNothing(t *testing.T) {
	p := newPlayer(player.Config{
		Starts:   waiting(0, 9),
		Hits:     []player.Hit{{Transfer: 1, Received: true, Trigger: 0, Port: player.Local}},
		Triggers: []player.Trigger{{Kind: workloads.OneShot, Targets: local(9)}},
	})
	p.OnSent(1, 1) // the trigger waits for its receipt
	p.OnReceived(1, 2)
	if got := drain(p); got != nil {
		t.Errorf("started %v", got)
	}
	p.OnReceived(2, 1)
	if got := ids(drain(p)); !slices.Equal(got, []int{9}) {
		t.Errorf("started %v, want 9", got)
	}
}

func TestDelayAfterTrigger(t *testing.T) {
	p := newPlayer(player.Config{
		Starts: []player.Start{
			{Transfer: 1, After: 0, Delay: 30},
			{Transfer: 2, After: 0, Delay: 10},
			{Transfer: 3, At: 115, After: workloads.None},
		},
		Hits:     []player.Hit{{Transfer: 8, Trigger: 0, Port: player.Local}},
		Triggers: []player.Trigger{{Kind: workloads.OneShot, Targets: local(1, 2)}},
	})
	p.OnSent(100, 8)
	if diff := cmp.Diff([]started{{110, 2}, {115, 3}, {130, 1}}, drain(p)); diff != "" {
		t.Errorf("starts (-want +got)\n%s", diff)
	}
}

// A dependency that crosses hosts is a control message (docs/reference/wire.md#control).
func TestRemoteTriggers(t *testing.T) {
	// The trigger lives at host B, is hit at A, starts transfers at B and C.
	const toB, toC = 2, 5
	a := newPlayer(player.Config{Hits: []player.Hit{
		{Transfer: 1, Received: true, Trigger: 6, Port: toB},
		{Transfer: 1, Received: true, Trigger: 7, Port: toC},
	}})
	b := newPlayer(player.Config{
		Starts: waiting(6, 20),
		Triggers: []player.Trigger{{ID: 6, Kind: workloads.OneShot, Targets: []player.Target{
			{Transfer: 20, Port: player.Local}, {Transfer: 30, Port: toC},
		}}},
	})
	c := newPlayer(player.Config{Starts: []player.Start{{Transfer: 30, After: 6, Delay: 4}}})

	a.OnReceived(10, 1)
	out := slices.Clone(a.Outbox())
	if diff := cmp.Diff([]player.Message{{Port: toB, Trigger: 6}, {Port: toC, Trigger: 7}}, out); diff != "" {
		t.Fatalf("messages of the hit (-want +got)\n%s", diff)
	}
	if again := a.Outbox(); len(again) != 0 {
		t.Errorf("messages %v twice", again)
	}
	if !b.OnMessage(11, out[0].Trigger, out[0].Code) {
		t.Error("B does not know the hit")
	}
	if diff := cmp.Diff([]started{{11, 20}}, drain(b)); diff != "" {
		t.Errorf("starts at B (-want +got)\n%s", diff)
	}
	out = slices.Clone(b.Outbox())
	if len(out) != 1 || out[0].Port != toC {
		t.Fatalf("messages of B %v, want one to C", out)
	}
	if !c.OnMessage(12, out[0].Trigger, out[0].Code) {
		t.Error("C does not know the start")
	}
	if diff := cmp.Diff([]started{{16, 30}}, drain(c)); diff != "" {
		t.Errorf("starts at C (-want +got)\n%s", diff)
	}
	if c.OnMessage(13, out[0].Trigger, out[0].Code) || c.NextStart() != units.Never {
		t.Error("a second start message starts the transfer again")
	}
}

func TestUnknownMessages(t *testing.T) {
	p := newPlayer(player.Config{
		Starts:   append(waiting(3, 5), player.Start{Transfer: 6, At: 70, After: workloads.None}),
		Triggers: []player.Trigger{{ID: 3, Kind: workloads.OneShot, Targets: local(5)}},
	})
	for _, m := range []player.Message{
		{Trigger: 4},          // no such trigger
		{Trigger: 3, Code: 5}, // transfer 4
		{Trigger: 3, Code: 7}, // transfer 6 waits for no trigger
		{Trigger: 9, Code: 6}, // transfer 5 waits for another trigger
		{Trigger: 1<<32 - 1, Code: 1<<32 - 1},
	} {
		if p.OnMessage(1, m.Trigger, m.Code) {
			t.Errorf("message %+v is taken", m)
		}
	}
	if diff := cmp.Diff([]started{{70, 6}}, drain(p)); diff != "" {
		t.Errorf("starts (-want +got)\n%s", diff)
	}
}

// Two transfers in a row: the second starts when the first is received here.
func ExampleNew() {
	p := newPlayer(player.Config{
		Starts: []player.Start{
			{Transfer: 1, At: 0, After: workloads.None},
			{Transfer: 2, After: 0, Delay: 3 * units.Microsecond},
		},
		Hits:     []player.Hit{{Transfer: 0, Received: true, Trigger: 0, Port: player.Local}},
		Triggers: []player.Trigger{{ID: 0, Kind: workloads.OneShot, Targets: []player.Target{{Transfer: 2, Port: player.Local}}}},
	})
	fmt.Println(p.Due(0))
	fmt.Println(p.NextStart())
	p.OnReceived(units.Time(10*units.Microsecond), 0)
	fmt.Println(p.NextStart())
	// Output:
	// 1 true
	// never
	// 13us
}
