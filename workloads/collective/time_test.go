package collective

import (
	"math"
	"math/bits"
	"testing"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/graph"
)

// TestTimes compares when collectives finish over links without congestion with their closed forms. A
// message of x bytes takes x/B to send and arrives a later; a rank sends one at a time, and a message is
// acknowledged when it arrives. S is the buffer, N the number of ranks, x = S/N a piece.
func TestTimes(t *testing.T) {
	const (
		S    = 3 << 24                 // 48 MiB, what all N divide
		B    = 50e9 / 8                // B/s
		a    = 5e-6                    // s
		m, k = 4, 3                    // chunks of S; channels
		tiny = float64(1) / float64(B) // a message of 1 B
	)
	log := func(n int) float64 { return float64(bits.Len(uint(n - 1))) } // rounded up
	most := func(n int, of func(place int) float64) float64 {
		top := 0.0
		for place := 1; place < n; place++ {
			top = max(top, of(place))
		}
		return top
	}
	cases := []struct {
		name string
		call Call
		// want in terms of N as a number, N, x/B and S/B
		want func(n int, N, x, all float64) float64
	}{
		{"ring all-reduce", Call{}, func(_ int, N, x, _ float64) float64 { return 2 * (N - 1) * (a + x) }},
		{"ring all-reduce in loops", Call{Chunk: S / 192}, func(_ int, N, x, _ float64) float64 {
			return 2 * (N - 1) * (192/N*a + x) // each loop reduces N chunks
		}},
		{"ring all-reduce in k channels", Call{Channels: k}, func(_ int, N, x, _ float64) float64 {
			// Bound by the NIC, which is always busy, or by one channel's steps.
			return max(2*(N-1)*x+a, 2*(N-1)*(x/k+a)+(k-1)*x/k)
		}},
		{"halving-doubling all-reduce", Call{Algorithm: HalvingDoubling}, func(n int, N, x, _ float64) float64 { return 2*log(n)*a + 2*(N-1)*x }},
		{"direct all-reduce", Call{Algorithm: Direct}, func(_ int, N, x, _ float64) float64 { return 2 * (a + (N-1)*x) }},
		{"hierarchical all-reduce of pairs", Call{Algorithm: Hierarchical, Local: 2}, func(_ int, N, x, all float64) float64 {
			return 2*(a+all/2) + 2*(N/2-1)*(a+x)
		}},
		{"ring reduce-scatter", Call{Kind: ReduceScatter}, func(_ int, N, x, _ float64) float64 { return (N - 1) * (a + x) }},
		{"halving reduce-scatter", Call{Kind: ReduceScatter, Algorithm: HalvingDoubling}, func(n int, N, x, _ float64) float64 { return log(n)*a + (N-1)*x }},
		{"direct reduce-scatter", Call{Kind: ReduceScatter, Algorithm: Direct}, func(_ int, N, x, _ float64) float64 { return a + (N-1)*x }},
		{"ring all-gather", Call{Kind: AllGather}, func(_ int, N, x, _ float64) float64 { return (N - 1) * (a + x) }},
		{"doubling all-gather", Call{Kind: AllGather, Algorithm: HalvingDoubling}, func(n int, N, x, _ float64) float64 { return log(n)*a + (N-1)*x }},
		{"direct all-gather", Call{Kind: AllGather, Algorithm: Direct}, func(_ int, N, x, _ float64) float64 { return a + (N-1)*x }},
		{"all-to-all peer by peer", Call{Kind: AllToAll}, func(_ int, N, x, _ float64) float64 { return (N - 1) * (a + x) }},
		{"all-to-all at once", Call{Kind: AllToAll, Channels: 64}, func(_ int, N, x, _ float64) float64 { return a + (N-1)*x }},
		{"hierarchical all-to-all of pairs", Call{Kind: AllToAll, Algorithm: Hierarchical, Local: 2}, func(_ int, N, x, all float64) float64 {
			return a + all/2 + (N/2-1)*(a+2*x)
		}},
		{"broadcast along a chain", Call{Kind: Broadcast, Chunk: S / m}, func(_ int, N, _, all float64) float64 { return (N-1)*(a+all/m) + (m-1)*all/m }},
		{"reduction along a chain", Call{Kind: Reduce, Chunk: S / m}, func(_ int, N, _, all float64) float64 { return (N-1)*(a+all/m) + (m-1)*all/m }},
		{"binomial broadcast", Call{Kind: Broadcast, Algorithm: Binomial}, func(n int, _, _, all float64) float64 { return log(n) * (all + a) }},
		{"binomial reduction", Call{Kind: Reduce, Algorithm: Binomial}, func(n int, _, _, all float64) float64 {
			// Several children may send to one parent at a time: nothing is in their way here.
			return most(n, func(place int) float64 { return float64(bits.OnesCount(uint(place))) * (all + a) })
		}},
		{"gather", Call{Kind: Gather}, func(_ int, _, x, _ float64) float64 { return a + x }},
		{"scatter", Call{Kind: Scatter}, func(_ int, N, x, _ float64) float64 { return a + (N-1)*x }},
		{"send and receive", Call{Kind: SendRecv}, func(_ int, _, _, all float64) float64 { return a + all }},
		{"barrier", Call{Kind: Barrier}, func(n int, _, _, _ float64) float64 { return log(n) * (a + tiny) }},
		{"double binary tree", Call{Algorithm: Tree, Chunk: S / 1000}, func(n int, N, _, all float64) float64 {
			// The busiest rank sends S with 2 ranks, 1.5 S with 3, otherwise 2 S. The first chunk goes up
			// and down trees of depth log N.
			return min(N/2, 2)*all + 2*log(n)*(a+all/1000)
		}},
	}
	for _, c := range cases {
		for _, n := range []int{2, 3, 4, 8, 16, 64} {
			if c.call.Algorithm == HalvingDoubling && n == 3 || c.call.Algorithm == Hierarchical && n%2 != 0 {
				continue
			}
			c.call.Bytes = S
			line, err := graph.Ideal(job(t, c.call, n), 1, graph.Link{Rate: 8 * B, Latency: 5 * units.Microsecond})
			if err != nil {
				t.Fatal(err)
			}
			got := units.Duration(line.End).Seconds()
			want := c.want(n, float64(n), S/float64(n)/B, S/B)
			if math.Abs(got-want) > 0.01*want {
				t.Errorf("%s of %d ranks takes %.4f us, want %.4f", c.name, n, 1e6*got, 1e6*want)
			}
		}
	}
}

// TestTreeLatency: a double binary tree of one small message takes 2 log N latencies.
func TestTreeLatency(t *testing.T) {
	for _, n := range []int{2, 3, 4, 5, 8, 16, 64, 100} {
		line, err := graph.Ideal(job(t, Call{Algorithm: Tree, Bytes: 1000}, n), 1, graph.Link{Latency: units.Microsecond})
		if err != nil {
			t.Fatal(err)
		}
		if want := 2 * units.Time(bits.Len(uint(n-1))) * units.Time(units.Microsecond); line.End != want {
			t.Errorf("%d ranks: %v, want %v", n, line.End, want)
		}
	}
}

// TestHierarchicalPipeline: with chunks the stages of a hierarchical all-reduce work on different loops:
// after the first loop, which takes 2 (m-1) + 2 (n-1) latencies, one ends every 2 (n-1), or every m-1 if
// that is more.
func TestHierarchicalPipeline(t *testing.T) {
	for _, c := range []struct{ m, n int }{{2, 1}, {2, 4}, {8, 2}, {4, 4}} {
		const loops = 10
		call := Call{Algorithm: Hierarchical, Bytes: units.Size(loops * c.m * 1000), Chunk: 1000, Local: c.m}
		line, err := graph.Ideal(job(t, call, c.m*c.n), 1, graph.Link{Latency: units.Microsecond})
		if err != nil {
			t.Fatal(err)
		}
		want := 2*(c.m-1) + 2*(c.n-1) + (loops-1)*max(c.m-1, 2*(c.n-1))
		if line.End != units.Time(want)*units.Time(units.Microsecond) {
			t.Errorf("%d in each of %d: %v, want %d us", c.m, c.n, line.End, want)
		}
	}
}
