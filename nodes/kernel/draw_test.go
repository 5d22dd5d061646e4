package kernel

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/switch/buffer"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/switch/forward"
	"github.com/csiglab/csiglab/nodes/switch/meter"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// one returns one of the values.
func one[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

// Quantisers by format and type.
var quantisers = [2][csig.Standard][]csig.Quantiser{
	{
		{{}, {Name: "abw-geo(10Gbps)"}, {Name: "edges(0, 1Gbps, 2Gbps, 5Gbps)"}},
		{{}, {Name: "edges(0, 10%, 50%) bands(7, 3, 31)"}},
		{{}, {Name: "delay-lin(500ns)"}, {Name: "edges(0, 1us, 2us) bands(0, 9, 4)"}, {Name: "edges(0, 800ns) bands(5, 6)"}},
		{{}, {Name: "edges(0, 5%, 10%, 20%, 90%)"}},
	},
	{
		{{}, {Step: 1 << 13}, {Step: 1 << 20, Base: 1 << 30}},
		{{}, {Step: 1 << 10, Base: 1 << 16}},
		{{}, {Step: 1}, {Step: 64, Base: 1024}},
		{{}, {Step: 16}},
	},
}

// drawConfig draws a switch of four ports.
func drawConfig(r *rand.Rand) Config {
	sizes := wire.Sizes{Header: 64, CountTag: r.IntN(2) == 0, Overhead: one(r, units.Size(0), 24)}
	c := dataplane.Config{
		Node: 9, Name: "tor0", Sizes: sizes, Seed: r.Uint64(), Delay: one(r, 0, 300*units.Nanosecond, 777),
		Forward: forward.Config{Routes: drawRoutes(r), Seed: r.Uint64()},
		AQM:     one(r, algorithm.Choice{Name: "none"}, algorithm.Choice{Name: "step", Params: algorithm.Values{"threshold": one(r, "1B", "1498B", "2996B", "9kB")}}),
		Records: 100 * units.Microsecond, Trim: r.IntN(2) == 0,
	}
	format := wire.Format{Sizes: sizes, Raw: true}
	if r.IntN(12) > 0 {
		domain := csig.Config{
			Format: one(r, csig.FormatCompact, csig.FormatWide), Dialect: one(r, csig.UEC050, csig.Draft01),
			Interval: one(r, 0, 2*units.Microsecond, 128*units.Microsecond, 12_345_677),
			MaxRate:  100 * units.Gbps,
		}
		if r.IntN(4) == 0 {
			domain.TPIDCompact, domain.TPIDWide = 0x9900, 0xccdd
		}
		draw := func(f csig.Format) (q [csig.Types]csig.Quantiser) {
			for t := range csig.Standard {
				q[t] = one(r, quantisers[f-1][t]...)
			}
			return q
		}
		domain.Quantisers = draw(domain.Format)
		if r.IntN(2) == 0 {
			domain.Second = &csig.SecondFormat{Quantisers: draw(domain.Format.Other())}
		}
		if domain.Dialect == csig.UEC050 {
			domain.OverrideD[r.IntN(4)] = r.IntN(2) == 0
		}
		c.CSIG = &dataplane.CSIG{
			Domain: domain, Meter: one(r, meter.Tumbling, meter.Sliding), Phase: one(r, meter.Seeded, meter.Aligned),
			Delay: one(r, dataplane.Residence, dataplane.Wait), Depth: one(r, meter.Occupancy, meter.Drain), Tau: 3 * units.Microsecond,
		}
		d, err := csig.NewDomain(domain)
		if err != nil {
			panic(err)
		}
		format.TPIDCompact, format.TPIDWide = d.Config().TPIDCompact, d.Config().TPIDWide
	}
	for i := range 4 {
		p := dataplane.Port{
			Rate: one(r, 10*units.Gbps, 100*units.Gbps, 9_700_000_001, 333*units.Mbps), MAC: wire.MAC(9, i), PeerMAC: wire.MAC(i, 0),
			Buffer: buffer.Limits{Data: one(r, 4*units.KB, 30*units.KB, 200*units.KB), Hard: one(r, 0, 20*units.KB), Control: units.MB},
		}
		p.Locator = uint16(1 + r.IntN(60))
		p.Second = &dataplane.SecondFormat{Locator: uint16(1 + r.IntN(60))}
		for t := range csig.Standard {
			p.Policies[t] = one(r, dataplane.Update, dataplane.Update, dataplane.Pass, dataplane.Strip)
			p.Second.Policies[t] = one(r, dataplane.Update, dataplane.Update, dataplane.Pass, dataplane.Strip)
		}
		c.Ports = append(c.Ports, p)
	}
	return Config{Switch: c, Format: format}
}

// drawRoutes draws the ports to eight hosts, some of which are nowhere.
func drawRoutes(r *rand.Rand) topologies.Routes {
	ways := make([][]uint16, 8)
	for host := range ways {
		ways[host] = one(r, [][]uint16{{0}, {1}, {2}, {3}, {0, 1}, {1, 2, 3}, {0, 1, 2, 3}, nil}...)
	}
	return topologies.NewRoutes(ways...)
}

// arrival is a frame that comes in at a port.
type arrival struct {
	at    units.Time
	port  int
	frame []byte
}

// drawScript draws frames: bursts, pauses, and several at one instant.
func drawScript(r *rand.Rand, cfg *Config, packets int) []arrival {
	script := make([]arrival, packets)
	now := units.Time(0)
	gap := one(r, 100*units.Nanosecond, units.Microsecond, 30*units.Microsecond)
	favourite := r.IntN(8)
	for i := range script {
		switch r.IntN(40) {
		case 0:
			now = now.Add(units.Duration(r.Int64N(int64(units.Millisecond))))
		case 1:
			now = now.Add(units.Duration(r.Int64N(int64(3 * units.Second))))
		case 2, 3, 4, 5:
		default:
			now = now.Add(units.Duration(r.Int64N(int64(gap))))
		}
		host := r.IntN(9)
		if r.IntN(2) == 0 {
			host = favourite
		}
		script[i] = arrival{now, r.IntN(4), drawFrame(r, cfg.Format, host)}
	}
	return script
}

// drawFrame draws a frame for a host: with tags of CSIG and others, of IP or not, whole or
// damaged.
func drawFrame(r *rand.Rand, format wire.Format, host int) []byte {
	to, from := wire.MAC(host, 0), wire.MAC(r.IntN(8), 0)
	if r.IntN(30) == 0 {
		to[r.IntN(6)] ^= 1
	}
	b := append(to[:], from[:]...)
	for range one(r, 0, 0, 0, 1, 1, 2, r.IntN(10)) {
		switch r.IntN(8) {
		case 0, 1, 2, 3:
			b = binary.BigEndian.AppendUint16(b, one(r, uint16(0x8100), 0x8100, 0x88a8, 0x9100))
			b = binary.BigEndian.AppendUint16(b, uint16(r.Uint32()))
		case 4:
			b = append(b, 0x88, 0xe5, one(r, byte(0), 0x20, 0x20, 0x08, byte(r.Uint32())), byte(r.Uint32()))
			b = append(b, make([]byte, 12)[:one(r, 4, 12)]...)
		default:
			b = appendTag(b, r, format)
		}
	}
	if r.IntN(6) > 0 {
		b = appendTag(b, r, format)
	}
	if r.IntN(15) == 0 {
		b = appendTag(b, r, format)
	}
	size := one(r, r.IntN(60), r.IntN(1500), 1460, 1460)
	switch r.IntN(8) {
	case 0:
		b = binary.BigEndian.AppendUint16(b, one(r, uint16(0x0806), 0x88cc, 100, uint16(r.Uint32())))
	case 1, 2:
		b = append(b, 0x86, 0xdd, byte(one(r, 0x60, 0x60, 0x60, 0x40)|r.IntN(16)), byte(r.Uint32()), 0, 0, 0, 0, one(r, byte(6), 17, 44), 64)
		b = append(b, make([]byte, 32)...)
		for i := range 4 {
			b[len(b)-1-i*8] = byte(r.IntN(4))
		}
	default:
		header := one(r, byte(0x45), 0x45, 0x45, 0x45, 0x46, 0x4f, 0x44, 0x65)
		b = append(b, 0x08, 0x00, header, byte(r.Uint32()), byte(r.Uint32()), byte(r.Uint32()), 0, 0)
		b = append(b, one(r, byte(0), 0x40, 0x40, 0x20), one(r, byte(0), 0, 1), one(r, byte(64), 1), one(r, byte(6), 17, 132, 1), byte(r.Uint32()), byte(r.Uint32()))
		b = append(b, 10, 0, 0, byte(r.IntN(4)), 10, 0, 0, byte(host))
	}
	for range size {
		b = append(b, byte(r.Uint32()))
	}
	if r.IntN(10) == 0 {
		b = b[:min(len(b), 15+r.IntN(len(b)))]
	}
	// A test run takes no frame that ends with its EtherType or, without tags, within IP.
	least := 15
	switch binary.BigEndian.Uint16(b[12:]) {
	case wire.EtherTypeIPv4:
		least = 34
	case wire.EtherTypeIPv6:
		least = 54
	}
	return append(b, make([]byte, max(0, least-len(b)))...)
}

// appendTag appends a tag of a drawn format and content: fresh, of another hop, or anything.
func appendTag(b []byte, r *rand.Rand, format wire.Format) []byte {
	t := one(r, 0, 1, 2, 3, 0, 1, 2, 3, r.IntN(16))
	if r.IntN(2) == 0 {
		b = binary.BigEndian.AppendUint16(b, format.TPIDCompact)
		code := one(r, 0, 31, r.IntN(32), r.IntN(32))
		return binary.BigEndian.AppendUint16(b, uint16(t<<13|r.IntN(2)<<12|code<<7|r.IntN(64)<<1|one(r, 0, 0, 0, 1)))
	}
	b = binary.BigEndian.AppendUint16(b, format.TPIDWide)
	b = binary.BigEndian.AppendUint16(b, uint16(r.IntN(1<<15)<<1|one(r, 0, 0, 0, 1)))
	code := one(r, 0, 1<<20-1, r.IntN(1<<20), r.IntN(1000))
	return binary.BigEndian.AppendUint32(b, uint32(t<<28|code<<8|r.IntN(256)))
}
