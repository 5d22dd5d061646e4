package nodetest

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// header is what Data charges for the headers.
const header = 64

// Data returns a data packet from one host to another of the given wire size, of
// which 64 B are for the headers; as it is sent first, with entropy value 0. It
// comes from pool, which may be nil.
func Data(pool *wire.Pool, from, to int, flow, psn uint32, size units.Size) *wire.Packet {
	var p *wire.Packet
	if pool != nil {
		p = pool.Get()
	} else {
		p = new(wire.Packet)
	}
	p.Build(wire.Addresses{Source: wire.HostIP(from), Destination: wire.HostIP(to), SourcePort: wire.EntropyBase},
		wire.Data, 0, wire.ECT0, int(size-header))
	p.SetMACs(wire.MAC(to, 0), wire.MAC(from, 0))
	p.SetData(flow, psn, 1)
	p.Size = size
	return p
}

// RawFrame returns an Ethernet frame of n bytes, at least 14, between two hosts, of
// an EtherType that no machine reads (0x9000). The payload is random, or, if random
// is nil, counts up.
func RawFrame(from, to, n int, random *rand.Rand) []byte {
	a, b := wire.MAC(to, 0), wire.MAC(from, 0)
	f := slices.Concat(a[:], b[:], []byte{0x90, 0x00})
	for len(f) < n {
		if random != nil {
			f = append(f, byte(random.Uint32()))
		} else {
			f = append(f, byte(len(f)))
		}
	}
	return f
}

// Counts checks counters: each of want is there with its value, and all others
// are 0.
func Counts(t testing.TB, what string, got []metrics.Count, want map[string]int64) {
	t.Helper()
	found := map[string]bool{}
	for _, c := range got {
		found[c.Name] = true
		if c.Packets != want[c.Name] {
			t.Errorf("%s %q = %d, want %d", what, c.Name, c.Packets, want[c.Name])
		}
	}
	for name := range want {
		if !found[name] {
			t.Errorf("%s: no counter %q among %v", what, name, got)
		}
	}
}
