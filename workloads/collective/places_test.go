package collective

import (
	"fmt"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/graph"
)

// servers returns the places of ranks on servers of so many NICs, with so many ranks on a NIC.
func servers(ranks, nics, each int) []Place {
	places := make([]Place, ranks)
	for r := range places {
		places[r] = Place{Server: r / each / nics, NIC: r / each % nics}
	}
	return places
}

// crossing returns what each NIC of server 0 sends to other servers and receives from them, and of
// each channel the NICs by which it does so, as text.
func crossing(s graph.Source, places []Place) (out, in []units.Size, ways map[uint16]string) {
	out, in, ways = make([]units.Size, 16), make([]units.Size, 16), map[uint16]string{}
	var op graph.Op
	for rank, at := range places {
		if at.Server != 0 {
			continue
		}
		for p := s.Program(rank, 1); p.Next(&op); {
			if (op.Kind != graph.Send && op.Kind != graph.Recv) || places[op.Peer].Server == 0 {
				continue
			}
			sum, way := &out[at.NIC], fmt.Sprintf(" out %d", at.NIC)
			if op.Kind == graph.Recv {
				sum, way = &in[at.NIC], fmt.Sprintf(" in %d", at.NIC)
			}
			if !strings.Contains(ways[op.Channel], way) {
				ways[op.Channel] += way
			}
			*sum += op.Bytes
		}
	}
	return out, in, ways
}

// TestRotate: channel c of a ring enters a server at NIC c and leaves it at the NIC before; with as many
// channels as NICs each carries 2 (N-1)/N of an eighth of the buffer in both directions.
func TestRotate(t *testing.T) {
	const S, nics, ranks = 64 * units.MiB, 8, 64
	places := servers(ranks, nics, 1)
	s := job(t, Call{Bytes: S, Channels: nics, Servers: Servers{Places: places}}, ranks)
	if err := graph.Check(s, 1); err != nil {
		t.Fatal(err)
	}
	out, in, ways := crossing(s, places)
	for nic := range nics {
		want := units.Size(2 * (ranks - 1) * S / nics / ranks)
		if out[nic] != want || in[nic] != want {
			t.Errorf("NIC %d sends %d B and receives %d B, want %d", nic, out[nic], in[nic], want)
		}
		last := (nic + nics - 1) % nics
		if got := ways[uint16(nic)]; got != fmt.Sprintf(" in %d out %d", nic, last) && got != fmt.Sprintf(" out %d in %d", last, nic) {
			t.Errorf("channel %d goes%s, want in %d out %d", nic, got, nic, last)
		}
	}
	// With one channel, or with a server for each rank, all is as without places.
	for _, c := range []struct {
		places   []Place
		channels int
	}{{places, 1}, {servers(ranks, 1, 1), 8}, {servers(ranks, 1, 4), 8}} {
		with, without := job(t, Call{Bytes: S, Channels: c.channels, Servers: Servers{Places: c.places}}, ranks), job(t, Call{Bytes: S, Channels: c.channels}, ranks)
		var a, b graph.Op
		for p, q := with.Program(9, 1), without.Program(9, 1); p.Next(&a); {
			if q.Next(&b); a.Kind != b.Kind || a.Peer != b.Peer || a.Bytes != b.Bytes {
				t.Fatalf("%d channels: %+v with places, %+v without", c.channels, a, b)
			}
		}
	}
}

// TestTreeOfServers: of a tree, channel c crosses servers at NIC c alone. A server in the middle sends
// half of the buffer up and two halves down in the tree in which it has children, and half up in the
// other.
func TestTreeOfServers(t *testing.T) {
	const S, nics, ranks = 64 * units.MiB, 4, 32
	places := servers(ranks, nics, 1)
	s := job(t, Call{Algorithm: Tree, Bytes: S, Channels: nics, Servers: Servers{Places: places}}, ranks)
	if err := graph.Check(s, 1); err != nil {
		t.Fatal(err)
	}
	out, in, _ := crossing(s, places)
	for nic := range nics {
		// Server 0 is the root of the first tree, with one child, and a leaf of the second.
		if want := S / nics; out[nic] != want || in[nic] != want {
			t.Errorf("NIC %d sends %d B and receives %d B, want %d", nic, out[nic], in[nic], want)
		}
	}
	all := units.Size(0)
	for rank := range ranks {
		bytes, _ := sent(s, rank)
		all += bytes
	}
	if want := 2 * (ranks - 1) * S; all != want {
		t.Errorf("all ranks send %d B, want %d: each edge of a tree carries half of S up and down", all, want)
	}
}

// TestPlacesOfAnyShape: wherever ranks are, each receives what it is sent.
func TestPlacesOfAnyShape(t *testing.T) {
	odd := servers(12, 3, 1)
	odd[0], odd[11], odd[5] = odd[11], odd[0], Place{Server: 7, NIC: 9}
	for _, places := range [][]Place{servers(12, 4, 1), servers(12, 8, 1), servers(12, 3, 2), odd} {
		for _, kind := range []Kind{AllReduce, ReduceScatter, AllGather, Broadcast, Reduce} {
			remainder(t, Call{Kind: kind, Bytes: 4001, Channel: 7, Channels: 5, Servers: Servers{Places: places}, Root: 6}, 12)
		}
		remainder(t, Call{Algorithm: Tree, Bytes: 4001, Channel: 7, Channels: 5, Servers: Servers{Places: places}}, 12)
	}
}

// TestTreeChunk: without a chunk a tree is pipelined by NCCL's rule. 1 MiB through 8 ranks, 3 deep, is
// 16 chunks of 64 KiB.
func TestTreeChunk(t *testing.T) {
	for _, c := range []struct {
		bytes units.Size
		depth int
		want  units.Size
	}{
		{units.MiB, 3, 64 * units.KiB}, {64 * units.KiB, 3, 32 * units.KiB}, {16 * units.MiB, 3, 512 * units.KiB}, {8 * units.MiB, 10, 128 * units.KiB},
		{units.GiB, 10, 512 * units.KiB}, {64 * units.GiB, 10, 32 * units.MiB},
	} {
		if got := treeChunk(c.bytes, c.depth); got != c.want {
			t.Errorf("%v, %d deep: %v, want %v", c.bytes, c.depth, got, c.want)
		}
	}
	if _, largest := sent(job(t, Call{Algorithm: Tree, Bytes: units.MiB}, 8), 3); largest != 64*units.KiB {
		t.Errorf("messages of %v", largest)
	}
}
