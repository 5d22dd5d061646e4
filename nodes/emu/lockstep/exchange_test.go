package lockstep_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/nodes/emu/lockstep"
	"github.com/csiglab/csiglab/units"
)

// pair returns the Boards of two nodes with a link each way, one part each, after their
// first exchanges, and what part 0 tells next: it has taken a turn and sent a frame.
func pair(t *testing.T) (a, b *lockstep.Board, x lockstep.Exchange) {
	t.Helper()
	links := []lockstep.Channel{
		{From: 0, To: 1, Lookahead: units.Microsecond, Capacity: 4}, {From: 1, To: 0, Lookahead: units.Microsecond, Capacity: 4},
		{From: 2, To: 0, Lookahead: units.Microsecond, Capacity: 4}, {From: 0, To: 2, Lookahead: units.Microsecond, Capacity: 4},
	}
	boards := make([]*lockstep.Board, 3)
	told := make([]lockstep.Exchange, 3)
	for p := range boards {
		board, err := lockstep.New(make([]int64, lockstep.Words(3, len(links))), 3, links, units.Never)
		if err != nil {
			t.Fatal(err)
		}
		board.Reset()
		if err := board.Partition(lockstep.Partition{Part: p, Of: []int{0, 1, 2}}, true); err != nil {
			t.Fatal(err)
		}
		board.Turn(p, lockstep.Report{Next: units.Time(p+1) * units.Time(units.Microsecond)})
		if diff := cmp.Diff(board.Woken(), []int{3}); diff != "" {
			t.Fatalf("the first report of part %d wakes (-got +want):\n%s", p, diff)
		}
		if !board.Export(&told[p], false) {
			t.Fatalf("part %d tells nothing at first", p)
		}
		boards[p] = board
	}
	for p, board := range boards {
		for q := range told {
			if p != q {
				if err := board.Import(&told[q]); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	horizon, verdict := boards[0].Ask(0)
	if verdict != lockstep.Go || horizon != units.Time(3*units.Microsecond) {
		t.Fatalf("node 0 may %v until %v", verdict, horizon)
	}
	sent := []lockstep.Sent{{Link: 0, Frames: 1, First: units.Time(2 * units.Microsecond)}}
	boards[0].Turn(0, lockstep.Report{Next: units.Time(4 * units.Microsecond), Last: units.Time(units.Microsecond), Sent: sent})
	if !boards[0].Export(&x, false) {
		t.Fatal("part 0 tells nothing after its turn")
	}
	return boards[0], boards[1], x
}

// TestImportRefuses: an exchange that no part can have told is refused with the reason, and
// changes nothing: the true one is accepted afterwards.
func TestImportRefuses(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*lockstep.Exchange)
		want   string
	}{
		{"replayed", func(x *lockstep.Exchange) { x.Version, x.Seen[0] = 1, 1 }, "exchange 1 was sent again after exchange 1"},
		{"skipped", func(x *lockstep.Exchange) { x.Version, x.Seen[0] = 3, 3 }, "exchange 3 was sent after exchange 1: those between are missing"},
		{"own part", func(x *lockstep.Exchange) { x.Part = 1 }, "an exchange of part 1, want another part than 1 of 3"},
		{"no part", func(x *lockstep.Exchange) { x.Part = 3 }, "an exchange of part 3, want another part than 1 of 3"},
		{"lowered bound", func(x *lockstep.Exchange) { x.Bounds[0] = 999_999 }, "exchange 2: the bound of node 0 is 999.999ns, and was 1us"},
		{"negative bound", func(x *lockstep.Exchange) { x.Bounds[0] = -1 }, "exchange 2: the bound of node 0 is -1ps, and was 1us"},
		{"too many bounds", func(x *lockstep.Exchange) { x.Bounds = append(x.Bounds, 0) }, "exchange 2 has 3 parts, 2 bounds and 2 links, want 3, 1 and 2"},
		{"frame too early", func(x *lockstep.Exchange) { x.Sent[0].First = 1_999_999 }, "exchange 2: a frame on link 0 arrives at 1.999999us, and no frame could before 2us"},
		{"no frame", func(x *lockstep.Exchange) { x.Sent[0].Frames = 0 }, "exchange 2: 0 frames on link 0, want 1 to 1048576"},
		{"foreign link", func(x *lockstep.Exchange) { x.Sent[0].Link = 1 }, "exchange 2: frames on link 1, which does not lead out of part 0"},
		{"no link", func(x *lockstep.Exchange) { x.Sent[0].Link = 4 }, "exchange 2: frames on link 4 after link -1 of 4"},
		{"link twice", func(x *lockstep.Exchange) { x.Sent = append(x.Sent, x.Sent[0]) }, "exchange 2: frames on link 0 after link 0 of 4"},
		{"read what was not sent", func(x *lockstep.Exchange) { x.Read[0] = 1 }, "exchange 2: 1 frames were read of link 1, want between 0 and 0"},
		{"seen what was not told", func(x *lockstep.Exchange) { x.Seen[1] = 2 }, "exchange 2 includes version 2 of part 1, which has told 1"},
		{"other version", func(x *lockstep.Exchange) { x.Seen[0] = 1 }, "exchange 2 says that it is of version 1"},
		{"last event never", func(x *lockstep.Exchange) { x.Last = units.Never }, "exchange 2: the earliest event is at 4us and the last at never"},
		{"early", func(x *lockstep.Exchange) { x.Seen[2] = 2 }, lockstep.ErrEarly.Error()},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, b, x := pair(t)
			wrong := x
			wrong.Seen, wrong.Bounds, wrong.Sent, wrong.Read = slices.Clone(x.Seen), slices.Clone(x.Bounds), slices.Clone(x.Sent), slices.Clone(x.Read)
			test.change(&wrong)
			err := b.Import(&wrong)
			if got := fmt.Sprint(err); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if err := b.Import(&x); err != nil {
				t.Errorf("the true exchange afterwards: %v", err)
			}
			if got := b.Count(0); got != 1 {
				t.Errorf("%d frames are counted, want 1", got)
			}
		})
	}
}

// TestImportRefusesLessSeen: a part cannot forget what it has seen.
func TestImportRefusesLessSeen(t *testing.T) {
	_, b, x := pair(t)
	if err := b.Import(&x); err != nil {
		t.Fatal(err)
	}
	x.Version, x.Seen, x.Sent = 3, []int64{3, 1, 0}, nil
	if got, want := fmt.Sprint(b.Import(&x)), "exchange 3 includes version 0 of part 2, and the one before 1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestReadFallsNot: what was read of a link does not become less, and is not more than was
// told to the reader's part.
func TestReadFallsNot(t *testing.T) {
	a, b, x := pair(t)
	if err := b.Import(&x); err != nil {
		t.Fatal(err)
	}
	if h, v := b.Ask(1); v != lockstep.Go || h <= units.Time(2*units.Microsecond) {
		t.Fatalf("node 1 may %v until %v", v, h)
	}
	b.Turn(1, lockstep.Report{Next: units.Never, Last: units.Time(2 * units.Microsecond)})
	var answer lockstep.Exchange
	if !b.Export(&answer, false) {
		t.Fatal("part 1 tells nothing after its turn")
	}
	if diff := cmp.Diff(answer.Read, []int64{1}); diff != "" {
		t.Fatalf("read (-got +want):\n%s", diff)
	}
	answer.Read[0] = 2
	if got, want := fmt.Sprint(a.Import(&answer)), "exchange 2: 2 frames were read of link 0, want between 0 and 1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	answer.Read[0] = 1
	if err := a.Import(&answer); err != nil {
		t.Fatal(err)
	}
	answer.Version, answer.Seen[1], answer.Read[0] = 3, 3, 0
	if got, want := fmt.Sprint(a.Import(&answer)), "exchange 3: 0 frames were read of link 0, want between 1 and 1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPartitionRefuses(t *testing.T) {
	links := []lockstep.Channel{{From: 0, To: 1, Lookahead: 1, Capacity: 1}, {From: 1, To: 0, Lookahead: 1, Capacity: 1}}
	for _, test := range []struct {
		p    lockstep.Partition
		want string
	}{
		{lockstep.Partition{Of: []int{0}}, "lockstep: the partition has 1 nodes, want 2"},
		{lockstep.Partition{Of: []int{0, -1}}, "lockstep: node 1 is in part -1"},
		{lockstep.Partition{Of: []int{0, 2}}, "lockstep: part 1 of 3 has no node"},
		{lockstep.Partition{Part: 2, Of: []int{0, 1}}, "lockstep: there is no part 2 among 2"},
	} {
		b, err := lockstep.New(make([]int64, lockstep.Words(2, 2)), 2, links, units.Never)
		if err != nil {
			t.Fatal(err)
		}
		b.Reset()
		if got := fmt.Sprint(b.Partition(test.p, true)); got != test.want {
			t.Errorf("%+v: got %q, want %q", test.p, got, test.want)
		}
	}
}

// BenchmarkParts measures a ring of 12 nodes in two parts, each of which hands a frame to
// the next: ns per grant, and how many grants an Exchange has.
func BenchmarkParts(b *testing.B) {
	const nodes = 12
	var links []lockstep.Channel
	of := make([]int, nodes)
	for n := range nodes {
		links = append(links,
			lockstep.Channel{From: n, To: (n + 1) % nodes, Lookahead: units.Microsecond, Capacity: 100},
			lockstep.Channel{From: (n + 1) % nodes, To: n, Lookahead: units.Microsecond, Capacity: 100})
		of[n] = 2 * n / nodes
	}
	boards := make([]*lockstep.Board, 2)
	for p := range boards {
		board, err := lockstep.New(make([]int64, lockstep.Words(nodes, len(links))), nodes, links, units.Never)
		if err != nil {
			b.Fatal(err)
		}
		board.Reset()
		if err := board.Partition(lockstep.Partition{Part: p, Of: of}, true); err != nil {
			b.Fatal(err)
		}
		boards[p] = board
	}
	var queue []int // nodes, and behind them the gateways
	follow := func(p, n int, v lockstep.Verdict) {
		if v == lockstep.Go {
			queue = append(queue, n)
		}
		for _, m := range boards[p].Woken() {
			if m == nodes {
				m += p
			}
			queue = append(queue, m)
		}
	}
	for n := range nodes {
		_, v := boards[of[n]].Turn(n, lockstep.Report{})
		follow(of[n], n, v)
	}
	var x lockstep.Exchange
	exchanges := 0
	sent := make([]lockstep.Sent, 1)
	for boards[0].Grants()+boards[1].Grants() < int64(b.N) {
		n := queue[0]
		queue = append(queue[:0], queue[1:]...)
		if n >= nodes {
			p := n - nodes
			if boards[p].Export(&x, false) {
				exchanges++
				if err := boards[1-p].Import(&x); err != nil {
					b.Fatal(err)
				}
				follow(1-p, 0, lockstep.Wait)
			}
			continue
		}
		board := boards[of[n]]
		h, v := board.Ask(n)
		if v != lockstep.Go {
			continue
		}
		sent[0] = lockstep.Sent{Link: 2 * n, Frames: 1, First: h.Add(units.Microsecond)}
		_, v = board.Turn(n, lockstep.Report{Next: h, Last: h, Sent: sent})
		follow(of[n], n, v)
	}
	b.ReportMetric(float64(b.N)/float64(exchanges), "grants/exchange")
}
