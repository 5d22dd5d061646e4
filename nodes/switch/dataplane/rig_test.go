package dataplane_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/node/nodetest"
	"github.com/csiglab/csiglab/nodes/switch/aqm"
	"github.com/csiglab/csiglab/nodes/switch/buffer"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/switch/forward"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

var sizes = wire.Sizes{Header: 64}

// config is a switch of four ports at 100 Gb/s; host i is behind port i, host 4
// nowhere.
func config() dataplane.Config {
	cfg := dataplane.Config{
		Node: 9, Name: "tor0",
		Forward: forward.Config{Routes: topologies.NewRoutes([]uint16{0}, []uint16{1}, []uint16{2}, []uint16{3}, nil)},
		Sizes:   sizes,
		AQM:     algorithm.Choice{Name: "none"},
		Trim:    true,
		Seed:    1,
		Records: 100 * units.Microsecond,
	}
	for i := range 4 {
		cfg.Ports = append(cfg.Ports, dataplane.Port{
			Rate: 100 * units.Gbps, Buffer: buffer.Limits{Data: 10 * 4150, Control: 20 * 4150}, MAC: wire.MAC(9, i), PeerMAC: wire.MAC(i, 0), Locator: uint16(10 + i),
		})
	}
	return cfg
}

// marking makes the switch of cfg mark between two thresholds.
func marking(cfg *dataplane.Config, low, high units.Size) {
	cfg.AQM = algorithm.Choice{Name: "linear"}
	for i := range cfg.Ports {
		cfg.Ports[i].ECN = aqm.Thresholds{Low: low, High: high}
	}
}

// dataLimit limits the data queue of every port of cfg.
func dataLimit(cfg *dataplane.Config, limit units.Size) {
	for i := range cfg.Ports {
		cfg.Ports[i].Buffer.Data = limit
	}
}

// controlLimit limits the control queue of every port of cfg.
func controlLimit(cfg *dataplane.Config, limit units.Size) {
	for i := range cfg.Ports {
		cfg.Ports[i].Buffer.Control = limit
	}
}

// withCSIG puts the switch of cfg into a domain whose delay buckets are 500 ns
// compact and 16 ns wide.
func withCSIG(cfg dataplane.Config, format csig.Format) dataplane.Config {
	domain := csig.Config{Format: format, MaxRate: 100 * units.Gbps}
	if format == csig.FormatCompact {
		domain.Quantisers[csig.Delay].Name = "delay-lin-500ns"
	}
	cfg.CSIG = &dataplane.CSIG{Domain: domain, Tau: 14 * units.Microsecond}
	return cfg
}

// rig is a switch and what drives it.
type rig struct {
	*nodetest.Rig
	t       *testing.T
	sw      *dataplane.Switch
	pool    *wire.Pool
	records *metrics.Batch
	domain  *csig.Domain
}

func newRig(t *testing.T, cfg dataplane.Config) *rig {
	t.Helper()
	r := &rig{Rig: nodetest.New(t), t: t}
	r.sw = nodetest.Add(r.Rig, cfg.PortCount(), dataplane.New, cfg)
	r.pool, r.records = r.Nodes[0].Pool, &r.Nodes[0].Records
	domain := csig.Config{Format: csig.FormatCompact}
	if cfg.CSIG != nil {
		domain = cfg.CSIG.Domain
	}
	var err error
	if r.domain, err = csig.NewDomain(domain); err != nil {
		t.Fatal(err)
	}
	return r
}

// data returns a data packet of the given wire size to host dst.
func (r *rig) data(dst int, size int) *wire.Packet {
	p := nodetest.Data(r.pool, 3, dst, 1, 0, units.Size(size))
	p.SetMACs(wire.MAC(9, 3), wire.MAC(3, 0))
	return p
}

func (r *rig) ack(dst int) *wire.Packet {
	p := r.data(dst, 64)
	p.Build(wire.Addresses{Source: wire.HostIP(3), Destination: wire.HostIP(dst), SourcePort: wire.EntropyBase}, wire.Ack, 0, wire.NotECT, 0)
	return p
}

func (r *rig) tagged(dst, size int, t csig.Type) *wire.Packet {
	p := r.data(dst, size)
	r.domain.Init(p.InsertTag(r.domain.Format().Size()), t)
	p.Size = sizes.Of(p)
	return p
}

// receive lets packets arrive on a port at now, after what is due before.
func (r *rig) receive(now units.Time, port int, packets ...*wire.Packet) {
	r.t.Helper()
	r.Receive(now, 0, port, packets...)
}

const forever = units.Time(units.Hour)

// result closes the switch and returns its totals; its windows are in r.records.
func (r *rig) result() metrics.NodeTotals { return r.Nodes[0].Totals(r.Now) }

// signals closes the switch and returns its windows of samples.
func (r *rig) signals() []metrics.SignalWindow {
	r.result()
	return r.records.Signals
}

func (r *rig) port(i int) metrics.PortTotals { return r.result().Ports[i] }

func count(counts []metrics.Count, name string) int64 {
	for _, c := range counts {
		if c.Name == name {
			return c.Packets
		}
	}
	return -1
}

// wants checks the drop and tag counters: those named, and 0 for all others.
func (r *rig) wants(drops, tags map[string]int64) {
	r.t.Helper()
	result := r.result()
	nodetest.Counts(r.t, "drops", result.Drops, drops)
	nodetest.Counts(r.t, "tags", result.Tags, tags)
}

func (r *rig) kinds() (kinds []string) {
	for _, d := range r.Sent {
		name := d.Packet.Kind().String()
		if d.Packet.Trimmed() {
			name = "trimmed"
		}
		kinds = append(kinds, name)
	}
	return kinds
}

func random() (*rand.Rand, uint64) {
	seed := rand.Uint64()
	return rand.New(rand.NewPCG(seed, 0)), seed
}

// valid reports whether a packet parses again from its own bytes.
func valid(p *wire.Packet, domain *csig.Domain) error {
	c := domain.Config()
	frame := append([]byte{}, p.Header()...)
	frame = append(frame, make([]byte, p.PayloadLen)...)
	return new(wire.Packet).Parse(frame, wire.Format{Sizes: sizes, TPIDCompact: c.TPIDCompact, TPIDWide: c.TPIDWide})
}

func macs(p *wire.Packet) (destination, source uint64) {
	h := p.Header()
	return binary.BigEndian.Uint64(append([]byte{0, 0}, h[0:6]...)), binary.BigEndian.Uint64(append([]byte{0, 0}, h[6:12]...))
}
