package collective

import (
	"math"
	"testing"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/graph"
)

// timeOf returns how long a call takes on servers whose ranks have a NIC of 400 Gb/s each and 3.6 Tb/s
// inside, with latencies of 2 us and 1 us.
func timeOf(t *testing.T, call Call, ranks int) units.Duration {
	t.Helper()
	on := &call.Servers
	on.Inside, on.Across = Link{3600 * units.Gbps, units.Microsecond}, Link{400 * units.Gbps, 2 * units.Microsecond}
	line, err := graph.Ideal(job(t, call, ranks), 1, graph.Link{Between: func(s graph.Stream, _ units.Size) graph.Way {
		if p := on.Places; p != nil && p[s.From].Server == p[s.To].Server {
			return graph.Way{NIC: ranks + int(s.From), Rate: on.Inside.Rate, Latency: on.Inside.Latency}
		}
		return graph.Way{NIC: int(s.From), Rate: on.Across.Rate, Latency: on.Across.Latency}
	}})
	if err != nil {
		t.Fatal(err)
	}
	return units.Duration(line.End)
}

// TestProtocolTimes compares with closed forms: what a protocol takes once, and of each message that
// waits for another one the latency, the time of its longer bytes, and what the protocol takes.
func TestProtocolTimes(t *testing.T) {
	const n, size = 8, 9600 * units.KB // pieces of 1200 kB: whole lines of all protocols
	one := servers(n, n, 1)
	for _, c := range []struct {
		protocol             Protocol
		longer               float64
		once, inside, across float64 // us
		tree                 [3]float64
	}{
		{NoProtocol, 1, 0, 0, 0, [3]float64{}},
		{LL, 2, 6.6, 0.6, 2.7, [3]float64{6.8, 0.6, 5}},
		{LL128, 16. / 15, 14, 1.9, 4, [3]float64{14, 1.25, 8.5}},
		{Simple, 1, 8.4, 3.4, 14, [3]float64{8.4, 4, 14}},
	} {
		us := func(bytes units.Size, gbps float64) float64 { return c.longer * float64(bytes) * 8 / gbps / 1e3 }
		for _, k := range []struct {
			name string
			call Call
			want float64
		}{
			{"ring across", Call{Bytes: size}, c.once + 2*(n-1)*(2+c.across+us(size/n, 400))},
			{"ring inside", Call{Bytes: size, Servers: Servers{Places: one}}, c.once + 2*(n-1)*(1+c.inside+us(size/n, 3600))},
			{"direct across", Call{Bytes: size, Algorithm: Direct}, c.once + 2*(2+c.across+(n-1)*us(size/n, 400))},
			// Messages of 240 kB take less than their protocol does: those behind each other do not add up.
			{"chain", Call{Kind: Broadcast, Bytes: size, Chunk: 240 * units.KB}, c.once + (n-1)*(2+c.across+us(240*units.KB, 400)) + 39*us(240*units.KB, 400)},
			{"tree of little data", Call{Algorithm: Tree, Bytes: 960}, c.tree[0] + 6*(2+c.tree[2])},
		} {
			k.call.Servers.Protocol = c.protocol
			if got := timeOf(t, k.call, n).Seconds() * 1e6; math.Abs(got-k.want) > 0.01*k.want {
				t.Errorf("%s of protocol %s takes %.2f us, want %.2f", k.name, c.protocol, got, k.want)
			}
		}
	}
}

// TestLines: a message is as many lines as its data fill, at both ends.
func TestLines(t *testing.T) {
	for _, c := range []struct {
		protocol   Protocol
		data, want units.Size
	}{{NoProtocol, 7, 7}, {Simple, 7, 7}, {LL, 1, 16}, {LL, 8, 16}, {LL, 9, 32}, {LL128, 120, 128}, {LL128, 121, 256}} {
		call := Call{Kind: SendRecv, Bytes: c.data, Servers: Servers{Protocol: c.protocol}}
		var op graph.Op
		for p := job(t, call, 2).Program(0, 1); p.Next(&op); {
			if op.Kind <= graph.Recv && op.Bytes != c.want {
				t.Errorf("%s: %s of %d B has %d B, want %d", c.protocol, op.Kind, c.data, op.Bytes, c.want)
			}
		}
	}
}

// TestFastest: what is chosen takes at most a fifth longer than the best of the three, and each of them
// is chosen for some size.
func TestFastest(t *testing.T) {
	for _, on := range []struct{ servers, each int }{{1, 8}, {4, 8}, {16, 1}} {
		ranks := on.servers * on.each
		places := servers(ranks, on.each, 1)
		for _, call := range []Call{{}, {Channels: 4}, {Algorithm: Tree}, {Kind: AllGather}, {Kind: AllToAll}, {Algorithm: Hierarchical, Local: on.each}, {Algorithm: HalvingDoubling}} {
			chosen := map[Protocol]bool{}
			for size := 4 * units.KiB; size <= units.GiB; size *= 8 {
				call.Bytes, call.Servers = size, Servers{Places: places}
				times := map[Protocol]units.Duration{}
				for p := LL; p <= Fastest; p++ {
					call.Servers.Protocol = p
					times[p] = timeOf(t, call, ranks)
				}
				best := min(times[LL], times[LL128], times[Simple])
				if got := times[Fastest]; float64(got) > 1.2*float64(best) {
					t.Errorf("%s by %s of %d servers of %d, %v: %v, of %v", call.Kind, call.algorithm(), on.servers, on.each, size, got, times)
				}
				for p := LL; p < Fastest; p++ {
					chosen[p] = chosen[p] || times[p] == times[Fastest]
				}
			}
			if !chosen[LL] || !chosen[Simple] {
				t.Errorf("%s by %s of %d servers of %d: chosen are %v", call.Kind, call.algorithm(), on.servers, on.each, chosen)
			}
		}
	}
}

// TestSwitched: with switches that reduce, the stages inside servers take one step each.
func TestSwitched(t *testing.T) {
	const each, n = 8, 4
	call := Call{Algorithm: Hierarchical, Local: each, Bytes: 32 * units.MB, Servers: Servers{Places: servers(each*n, each, 1), Switched: true}}
	inside, piece := 28e6*8/3.6e6, 1e6*8/400e3 // us: 7/8 of the buffer, and a piece of a quarter of an eighth
	want := 2*(1+inside) + 2*(n-1)*(2+piece)
	if got := timeOf(t, call, each*n).Seconds() * 1e6; math.Abs(got-want) > 0.001*want {
		t.Errorf("%v us, want %v", got, want)
	}
	call.Servers.Switched = false
	if got, want := timeOf(t, call, each*n).Seconds()*1e6, want+2*(each-2); math.Abs(got-want) > 0.001*want {
		t.Errorf("with rings %v us, want %v", got, want)
	}
}
