package timekeeper

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/csiglab/csiglab/nodes/emu/gateway"
	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/units"
)

// fake is the nodes of a part that do nothing.
type fake struct {
	mu    sync.Mutex
	at    wall.Progress
	start time.Duration
	limit units.Time
}

func (f *fake) Look() wall.Progress {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.at
}

func (f *fake) Start(at time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.start = at
}

func (f *fake) Began() (time.Duration, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.start, f.start != 0
}

func (f *fake) Limit(end units.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.limit = end
}

func (f *fake) limited() units.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.limit
}

// clockOf is the clock of a part: the machines have been up for different times.
func clockOf(part int) func() time.Duration {
	return func() time.Duration { return wall.Monotonic() + time.Duration(part)*time.Hour }
}

// mesh returns the keepers of n parts, joined over TCP. adjust may change the Config of one.
func mesh(t *testing.T, n int, adjust func(part int, c *Config)) ([]*Keeper, []*fake) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	configs, nodes := make([]Config, n), make([]*fake, n)
	for i := range configs {
		nodes[i] = &fake{at: wall.Progress{Next: units.Time(100 * (i + 1)), Last: units.Time(i), Sent: 10, Received: int64(9 + i)}}
		configs[i] = Config{Part: i, Peers: make([]net.Conn, n), Nodes: nodes[i], Now: clockOf(i)}
		for j := range n {
			configs[i].Names = append(configs[i].Names, fmt.Sprintf("shard %d", j))
		}
	}
	for i := range n {
		for j := range i {
			if configs[i].Peers[j], err = net.Dial("tcp", listener.Addr().String()); err != nil {
				t.Fatal(err)
			}
			if configs[j].Peers[i], err = listener.Accept(); err != nil {
				t.Fatal(err)
			}
		}
	}
	keepers := make([]*Keeper, n)
	for i := range configs {
		if adjust != nil {
			adjust(i, &configs[i])
		}
		keepers[i] = New(configs[i])
		t.Cleanup(func() { keepers[i].Close(errors.New("the test is over")) })
	}
	return keepers, nodes
}

// eachOf calls f for all keepers at once.
func eachOf(keepers []*Keeper, f func(i int, k *Keeper) error) []error {
	errs := make([]error, len(keepers))
	var all sync.WaitGroup
	for i, k := range keepers {
		all.Go(func() { errs[i] = f(i, k) })
	}
	all.Wait()
	return errs
}

// begin begins the run in all parts.
func begin(t *testing.T, keepers []*Keeper) (starts []time.Duration) {
	t.Helper()
	starts = make([]time.Duration, len(keepers))
	errs := eachOf(keepers, func(i int, k *Keeper) (err error) {
		starts[i], err = k.Begin(t.Context(), 20*time.Millisecond)
		return err
	})
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return starts
}

// Parts whose clocks are hours apart start at one moment, know how far all of them are, are
// limited and stopped alike, and end without an error. The ways and clocks are reported once
// for each pair.
func TestKeepersTogether(t *testing.T) {
	const n = 3
	var busy [n]bool
	var quits [n]int
	var mu sync.Mutex
	keepers, nodes := mesh(t, n, func(part int, c *Config) {
		c.Programs = func() Programs { mu.Lock(); defer mu.Unlock(); return Programs{busy[part], part == 2} }
		c.Quit = func() { mu.Lock(); defer mu.Unlock(); quits[part]++ }
	})
	starts := begin(t, keepers)
	for i, start := range starts {
		// All clocks of this test run alike, so the offset is known.
		if off := (start - starts[0] - time.Duration(i)*time.Hour).Abs(); off > 10*time.Millisecond {
			t.Errorf("part %d starts %v from the others", i, off)
		}
		if at, _ := nodes[i].Began(); at != start {
			t.Errorf("the nodes of part %d start at %v, Begin says %v", i, at, start)
		}
	}
	mu.Lock()
	busy[1] = true
	mu.Unlock()
	got, err := keepers[0].Collect(t.Context())
	want := State{wall.Progress{Next: 100, Last: 2, Sent: 30, Received: 9 + 10 + 11}, Programs{true, true}}
	if err != nil || got.State != want || got.Ended <= got.Began {
		t.Errorf("%v; collected %+v, want %+v", err, got, want)
	}
	if keepers[0].Released() {
		t.Error("released before a part said so")
	}
	if err := keepers[2].Release(); err != nil {
		t.Fatal(err)
	}
	for !keepers[0].Released() {
		if _, err := keepers[0].Collect(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	verdict := Verdict{End: 4321, Drained: true, Behind: 5}
	if err := errors.Join(keepers[0].QuitPrograms(), keepers[0].Limit(4321), keepers[0].Stop(verdict)); err != nil {
		t.Fatal(err)
	}
	eachOf(keepers, func(_ int, k *Keeper) error { k.Close(nil); return nil })
	var trips []string
	for i, k := range keepers {
		if got, ok := k.Stopped(); !ok || got != verdict || nodes[i].limited() != 4321 || quits[i] != 1 || k.Err() != nil {
			t.Errorf("part %d: stopped %v with %+v, limit %v, %d times quit, error %v", i, ok, got, nodes[i].limited(), quits[i], k.Err())
		}
		for _, trip := range k.Trips() {
			trips = append(trips, fmt.Sprint(i, trip.Peer))
			if trip.Least <= 0 || trip.Median < trip.Least || trip.P99 < trip.Median {
				t.Errorf("parts %d and %d: %+v", i, trip.Peer, trip)
			}
		}
	}
	// Parts 1 and 2 exchange probes rarely.
	if got := strings.Join(trips, ", "); got != "0 1, 0 2" && got != "0 1, 0 2, 1 2" {
		t.Errorf("ways between the parts %s", got)
	}
}

// A clock that drifts is followed: the start of that part moves, so that its model time stays
// that of the leader, and the greatest distance is reported.
func TestClocksThatDrift(t *testing.T) {
	const rate = 0.9 * maxDrift
	origin := wall.Monotonic()
	drifting := func() time.Duration {
		now := wall.Monotonic()
		return now + time.Minute + time.Duration(rate*float64(now-origin))
	}
	keepers, nodes := mesh(t, 2, func(part int, c *Config) {
		if part == 1 {
			c.Now = drifting
		}
	})
	first := begin(t, keepers)[1]
	moved := func() bool { at, _ := nodes[1].Began(); return at != first }
	for end := time.Now().Add(20 * time.Second); !moved() && time.Now().Before(end); {
		if _, err := keepers[0].Collect(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if !moved() {
		t.Fatal("the start has not moved")
	}
	// Both clocks show the same time of the run.
	start0, _ := nodes[0].Began()
	start1, _ := nodes[1].Began()
	here := wall.Monotonic() - start0
	there := drifting() - start1
	if off := (there - here).Abs(); off > 10*time.Millisecond {
		t.Errorf("the parts are %v apart", off)
	}
	keepers[0].Stop(Verdict{})
	eachOf(keepers, func(_ int, k *Keeper) error { k.Close(nil); return nil })
	trips := keepers[0].Trips()
	if len(trips) != 1 || trips[0].Offset.Ahead < 100*time.Microsecond {
		t.Errorf("trips %+v; the clock drifted by %v a second", trips, time.Duration(rate*1e9))
	}
}

// A part that fails, that is gone, that is silent, or that does not keep to the protocol ends
// the run in all others, with its name.
func TestPartsThatFail(t *testing.T) {
	for _, c := range []struct {
		name    string
		silence time.Duration
		fail    func(k *Keeper)
		want    string
	}{
		{"fails", 0, func(k *Keeper) { k.Close(errors.New("node h3: was killed")) }, "shard 1: node h3: was killed"},
		{"fails by another", 0, func(k *Keeper) { k.Close(&gateway.PartError{Part: "shard 2", Reason: "is gone"}) }, "shard 2: is gone"},
		{"is gone", 0, func(k *Keeper) { k.closing.Store(true); k.Peers[0].Close(); k.Peers[2].Close() }, "shard 1: the connection was closed"},
		{"leads", 0, func(k *Keeper) { k.send(k.peers[2], message{kind: stop, words: make([]int64, 3)}) }, "shard 1: sent a message that is not its to send"},
		{"says nonsense", 0, func(k *Keeper) { k.peers[2].conn.Write([]byte{99}) }, "shard 1: sent a message of kind 99, which does not exist"},
		{"is ready twice", 0, func(k *Keeper) { k.send(k.peers[0], message{kind: ready}) }, "shard 1: was ready twice"},
		{"answers nothing", 0, func(k *Keeper) {
			k.send(k.peers[0], message{kind: reply, words: make([]int64, 9)})
			k.send(k.peers[0], message{kind: reply, words: make([]int64, 9)})
		}, "shard 1: answered a probe twice"},
		{"is silent", 200 * time.Millisecond, nil, "shard 1: has sent nothing for 200ms"},
	} {
		t.Run(c.name, func(t *testing.T) {
			keepers, _ := mesh(t, 3, func(part int, config *Config) {
				if config.Silence = c.silence; c.fail == nil && part == 1 {
					config.Programs = func() Programs { <-t.Context().Done(); return Programs{} } // never answers
					config.Silence = time.Minute
				}
			})
			if c.fail != nil {
				begin(t, keepers)
				c.fail(keepers[1])
			}
			errs := eachOf([]*Keeper{keepers[0], keepers[2]}, func(_ int, k *Keeper) error {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				for k.Err() == nil && ctx.Err() == nil {
					if k.Part == leader {
						k.Collect(ctx) //nolint:errcheck // Err has it
					} else {
						k.await(ctx, nil, func() error { return nil }) //nolint:errcheck // Err has it
					}
				}
				k.Close(k.Err()) // the others learn it
				return k.Err()
			})
			for i, err := range errs {
				var part *gateway.PartError
				if !errors.As(err, &part) || !strings.Contains(err.Error(), c.want) {
					t.Errorf("part %d: error %v, want %q", 2*i, err, c.want)
				}
			}
		})
	}
}

// A part that never becomes ready is named, and a cancelled run ends at once.
func TestBeginEnds(t *testing.T) {
	keepers, _ := mesh(t, 2, nil)
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(100*time.Millisecond, func() { cancel(cause) })
	if _, err := keepers[0].Begin(ctx, 0); !errors.Is(err, cause) {
		t.Errorf("error %v, want %v", err, cause)
	}
	expired, cancel2 := context.WithDeadline(t.Context(), time.Now())
	defer cancel2()
	if err := keepers[0].awaitReady(expired, keepers[0].peers[1]); err == nil || err.Error() != "shard 1: is not ready after 1m0s" {
		t.Errorf("error %v", err)
	}
}
