package traffic

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
	"github.com/csiglab/csiglab/workloads/graph"
)

// added returns a workload of 16 hosts with one generator.
func added(t *testing.T, item Item) *workloads.Workload {
	t.Helper()
	w := &workloads.Workload{Hosts: 16}
	if err := item.Add(w, 3); err != nil {
		t.Fatal(err)
	}
	if err := w.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, x := range w.Transfers {
		if x.Job != 3 {
			t.Fatalf("job %d, want 3", x.Job)
		}
	}
	return w
}

func TestPublishedMeans(t *testing.T) {
	// Trapezoids under the published points (docs/reference/references.md#flow-sizes), by hand: the
	// sum of each step's share times the middle of its sizes.
	for name, want := range map[string]float64{"web-search": 1_711_250, "hadoop": 120_421, "storage": 40_870} {
		s, ok := Published(name)
		if !ok {
			t.Fatalf("no %s", name)
		}
		if got := s.Mean(); math.Abs(got/want-1) > 0.001 {
			t.Errorf("%s: mean %.0f B, want %.0f", name, got, want)
		}
		random, sum := stream(1, forSizes, 0), 0.0
		const n = 100_000
		for range n {
			size := s.draw(random)
			if size < 1 || size > s.Max() {
				t.Fatalf("%s: drew %v", name, size)
			}
			sum += float64(size)
		}
		if got := sum / n; math.Abs(got/want-1) > 0.03 {
			t.Errorf("%s: %d draws have a mean of %.0f B, want %.0f", name, n, got, want)
		}
	}
}

func TestReadSizes(t *testing.T) {
	s, err := ReadSizes(strings.NewReader("# sizes\n0 0\n\n100 50\n300 100\n"), "f")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := s.Mean(), 50*0.5+200*0.5; got != want {
		t.Errorf("mean %v, want %v", got, want)
	}
	for text, want := range map[string]string{
		"":                                   "f:1:1: the last point has to be",
		"0 0\n100 90\n":                      "f:2:1: the last point has to be",
		"0 0\n100\n":                         "f:2:1: 1 fields",
		"0 0\n  x 100\n":                     `f:2:3: "x" is not a number`,
		"0 0\n100 NaN\n":                     `f:2:5: "NaN" is not a number`,
		"0 50\n100 40\n":                     "f:2:1: sizes and percentages have to rise",
		"0 0\n100 101\n":                     "f:2:5: 101 per cent are more than 100",
		"0 0\n" + strings.Repeat("9", 70000): "f:2:1: the line is longer than 65536 bytes",
	} {
		if _, err := ReadSizes(strings.NewReader(text), "f"); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.20q: %v, want %s", text, err, want)
		}
	}
}

func FuzzReadSizes(f *testing.F) {
	f.Add("0 0\n100 50\n300 100\n")
	f.Add("# x\n1e3 1e2")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ReadSizes(strings.NewReader(text), "f")
		if err != nil {
			return
		}
		random := stream(1, forSizes, 0)
		for range 10 {
			if size := s.draw(random); size < 1 || size > max(1, s.Max()) {
				t.Errorf("drew %d of at most %d", size, s.Max())
			}
		}
	})
}

func TestClosedLoop(t *testing.T) {
	w := added(t, &RPC{
		Clients: []int{0, 1}, Servers: []int{1, 8}, Request: Fixed(1000), Response: Fixed(64), Count: 6, Outstanding: 2,
		Think: units.Microsecond, Service: 2 * units.Microsecond, Start: units.Millisecond, Seed: 1,
	})
	if len(w.Transfers) != 2*6*2 {
		t.Fatalf("%d transfers", len(w.Transfers))
	}
	first := 0
	for i, x := range w.Transfers {
		if x.Response != (i%2 == 1) {
			t.Fatalf("transfer %d: response %v", i, x.Response)
		}
		if x.Response {
			request := w.Transfers[i-1]
			if x.Src != request.Dst || x.Dst != request.Src || x.After != request.RecvDone || x.Start != 2*units.Microsecond || x.Size != 64 {
				t.Errorf("transfer %d does not answer the one before: %+v", i, x)
			}
			continue
		}
		if x.Src == x.Dst || x.Size != 1000 {
			t.Errorf("transfer %d: %+v", i, x)
		}
		if x.After == workloads.None {
			first++
			if x.Start != units.Millisecond {
				t.Errorf("transfer %d starts at %v", i, x.Start)
			}
			continue
		}
		// The call two places before, the same client's, is what it waits for.
		if before := w.Transfers[i-4+1]; before.RecvDone != x.After || before.Dst != x.Src || x.Start != units.Microsecond {
			t.Errorf("transfer %d waits for trigger %d, the response before has %d", i, x.After, before.RecvDone)
		}
	}
	if first != 2*2 {
		t.Errorf("%d calls start at once, want those outstanding of both clients", first)
	}
}

func TestOpenLoop(t *testing.T) {
	const every = 10 * units.Microsecond
	w := added(t, &RPC{Clients: []int{0}, Servers: []int{8}, Request: Fixed(1000), Count: 20000, Every: every, Seed: 1})
	last := w.Transfers[len(w.Transfers)-1]
	if last.After != workloads.None {
		t.Errorf("a call of an open loop waits for trigger %d", last.After)
	}
	// The sum of n exponential times has the mean n and the deviation sqrt(n).
	if mean := float64(last.Start) / 20000; math.Abs(mean/float64(every)-1) > 3/math.Sqrt(20000) {
		t.Errorf("mean time between calls %v, want %v", units.Duration(mean), every)
	}
}

func TestPersistentRPC(t *testing.T) {
	rpc := &RPC{
		Clients: []int{4, 5}, Servers: []int{9, 10}, Request: Fixed(5000), Response: Fixed(64), Count: 10, Outstanding: 2,
		Think: units.Microsecond, Service: units.Microsecond, Seed: 1,
	}
	w := &workloads.Workload{Hosts: 16}
	if err := rpc.AddJob(w, "calls"); err != nil {
		t.Fatal(err)
	}
	j := w.Jobs[0]
	if !slices.Equal(j.Hosts, []int{4, 5, 9, 10}) || j.Name != "calls" {
		t.Errorf("job %s on hosts %v", j.Name, j.Hosts)
	}
	if err := graph.Check(j.Source, 1); err != nil {
		t.Error(err)
	}
	sent := map[int]units.Size{}
	for rank := range j.Source.Ranks() {
		var op graph.Op
		for p := j.Source.Program(rank, 1); p.Next(&op); {
			if op.Kind == graph.Send {
				sent[rank] += op.Bytes
			}
		}
	}
	if sent[0] != 50_000 || sent[1] != 50_000 || sent[2]+sent[3] != 20*64 {
		t.Errorf("bytes sent by rank: %v", sent)
	}
}

func TestBursts(t *testing.T) {
	b := &Bursts{From: []int{0, 1}, To: []int{8, 9}, Size: 10 * units.MB, On: units.Millisecond, Rounds: Rounds{Every: 5 * units.Millisecond, Count: 3}}
	w := added(t, b)
	for i, x := range w.Transfers {
		start := units.Duration(i/2) * 5 * units.Millisecond
		if x.Src != i%2 || x.Dst != 8+i%2 || x.Start != start || x.Stop != start+units.Millisecond {
			t.Errorf("burst %d: %+v", i, x)
		}
	}
	b.Spread, b.Seed = units.Millisecond, 1
	w = added(t, b)
	if a, c := w.Transfers[0].Start, w.Transfers[1].Start; a == c || a >= units.Millisecond || c >= units.Millisecond {
		t.Errorf("with spread the pairs begin at %v and %v", a, c)
	}
	if a, c := w.Transfers[0].Start, w.Transfers[2].Start; c-a != 5*units.Millisecond {
		t.Errorf("a pair's bursts are %v apart", c-a)
	}
	if err := b.AddJob(&workloads.Workload{}, "x"); !errors.Is(err, workloads.ErrInvalid) {
		t.Errorf("bursts that stop, on one connection: %v", err)
	}
	b.On = 0
	w = &workloads.Workload{}
	if err := b.AddJob(w, "x"); err != nil {
		t.Fatal(err)
	}
	if err := graph.Check(w.Jobs[0].Source, 1); err != nil {
		t.Error(err)
	}
}

func TestFans(t *testing.T) {
	all := upTo(16)
	w := added(t, &Incast{To: 3, From: all, FanIn: 5, Size: 1000, Rounds: Rounds{Every: units.Millisecond, Count: 2}, Seed: 1})
	senders := func(of []workloads.Transfer) (list []int) {
		for _, x := range of {
			if x.Dst != 3 || x.Src == 3 {
				t.Errorf("incast: %d -> %d", x.Src, x.Dst)
			}
			list = append(list, x.Src)
		}
		return list
	}
	one, two := senders(w.Transfers[:5]), senders(w.Transfers[5:])
	if slices.Equal(one, two) || len(slices.Compact(slices.Clone(one))) != 5 {
		t.Errorf("senders of two rounds: %v and %v", one, two)
	}
	w = added(t, &Outcast{From: 3, To: all, Size: 1000})
	if len(w.Transfers) != 15 {
		t.Errorf("outcast to all: %d transfers", len(w.Transfers))
	}
	w = added(t, &Permutation{Hosts: []int{2, 4, 6, 8}, Size: 1000, Rounds: Rounds{Every: units.Millisecond, Count: 4}, Seed: 1})
	received := map[[2]int]int{}
	for i, x := range w.Transfers {
		received[[2]int{i / 4, x.Dst}]++
	}
	if len(received) != 16 {
		t.Errorf("in four rounds hosts receive %v", received)
	}
}

// No round of a seed is a round of another one, and the first is that of a workload that is
// a permutation alone.
func TestPermutationsOfSeeds(t *testing.T) {
	seen := map[string]string{}
	for seed := range uint64(5) {
		w := &workloads.Workload{Hosts: 32}
		if err := (&Permutation{Hosts: upTo(32), Size: 1000, Rounds: Rounds{Every: units.Millisecond, Count: 4}, Seed: seed}).Add(w, 0); err != nil {
			t.Fatal(err)
		}
		for round := range 4 {
			var to []int
			for _, x := range w.Transfers[32*round:][:32] {
				to = append(to, x.Dst)
			}
			key, name := fmt.Sprint(to), fmt.Sprintf("seed %d, round %d", seed, round)
			if other := seen[key]; other != "" {
				t.Errorf("%s is that of %s", name, other)
			}
			seen[key] = name
		}
		alone, err := workloads.Permutation(32, 1000, seed)
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range alone.Transfers {
			if w.Transfers[i].Dst != x.Dst {
				t.Errorf("seed %d: host %d sends to %d in the first round, want %d", seed, i, w.Transfers[i].Dst, x.Dst)
			}
		}
	}
}

func TestPoisson(t *testing.T) {
	sizes, _ := Published("hadoop")
	p := &Poisson{Hosts: upTo(16), Sizes: sizes, Rate: 10 * units.Gbps, For: 100 * units.Millisecond, Seed: 1}
	w := added(t, p)
	if !slices.IsSortedFunc(w.Transfers, func(a, b workloads.Transfer) int { return int(a.Start - b.Start) }) {
		t.Error("transfers are not in the order of their starts")
	}
	// 16 hosts send 125 MB each in the mean.
	if got, want := float64(w.Bytes()), 16*125e6; math.Abs(got/want-1) > 0.05 {
		t.Errorf("%.0f B in all, want %.0f", got, want)
	}
	again := added(t, p)
	if !slices.Equal(w.Transfers, again.Transfers) {
		t.Error("the same seed gives other transfers")
	}
	p.Seed = 2
	if other := added(t, p); slices.Equal(w.Transfers, other.Transfers) {
		t.Error("another seed gives the same transfers")
	}
}

func TestRefuses(t *testing.T) {
	many := Rounds{Count: 2}
	for what, item := range map[string]Item{
		"no clients":        &RPC{Servers: []int{1}, Request: Fixed(1), Count: 1, Outstanding: 1},
		"no count":          &RPC{Clients: []int{0}, Servers: []int{1}, Request: Fixed(1), Outstanding: 1},
		"no loop":           &RPC{Clients: []int{0}, Servers: []int{1}, Request: Fixed(1), Count: 1},
		"both loops":        &RPC{Clients: []int{0}, Servers: []int{1}, Request: Fixed(1), Count: 1, Outstanding: 1, Every: 1},
		"no size":           &RPC{Clients: []int{0}, Servers: []int{1}, Count: 1, Outstanding: 1},
		"itself":            &RPC{Clients: []int{0}, Servers: []int{0}, Request: Fixed(1), Count: 1, Outstanding: 1},
		"too many calls":    &RPC{Clients: []int{0}, Servers: []int{1}, Request: Fixed(1), Count: workloads.MaxTransfers + 1, Outstanding: 1},
		"unequal pairs":     &Bursts{From: []int{0}, To: []int{1, 2}, Size: 1},
		"rounds at once":    &Bursts{From: []int{0}, To: []int{1}, Size: 1, Rounds: many},
		"fan-in":            &Incast{From: []int{0, 1}, FanIn: 2, Size: 1},
		"nobody":            &Outcast{To: []int{0}, Size: 1},
		"permutation":       &Permutation{Hosts: []int{0}, Size: 1},
		"permutations":      &Permutation{Hosts: []int{0, 1}, Size: 1, Rounds: many},
		"no rate":           &Poisson{Hosts: []int{0, 1}, Sizes: Fixed(1), For: 1},
		"no sizes":          &Poisson{Hosts: []int{0, 1}, Rate: units.Gbps, For: 1},
		"nothing in time":   &Poisson{Hosts: []int{0, 1}, Sizes: Fixed(units.GB), Rate: units.Mbps, For: units.Microsecond},
		"too many messages": &Poisson{Hosts: []int{0, 1}, Sizes: Fixed(1), Rate: units.Tbps, For: units.Second},
	} {
		if err := item.Add(&workloads.Workload{Hosts: 4}, 0); !errors.Is(err, workloads.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func upTo(n int) (hosts []int) {
	for h := range n {
		hosts = append(hosts, h)
	}
	return hosts
}
