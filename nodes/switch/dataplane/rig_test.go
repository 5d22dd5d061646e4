package dataplane_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/switch/aqm"
	"github.com/csiglab/csiglab/nodes/switch/buffer"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/switch/forward"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

var sizes = wire.Sizes{Header: 64}

// config is a switch of four ports at 100 Gb/s; host i is behind port i, host 4
// nowhere.
func config() dataplane.Config {
	cfg := dataplane.Config{
		Node: 9, Name: "tor0",
		Forward: forward.Config{Group: []uint16{0, 1, 2, 3, 4}, Ports: [][]uint16{{0}, {1}, {2}, {3}, {}}},
		Sizes:   sizes,
		Buffer:  buffer.Limits{Data: 10 * 4150, Control: 20 * 4150},
		AQM:     algorithm.Choice{Name: "none"},
		Trim:    true,
		Seed:    1,
		Records: 100 * units.Microsecond,
	}
	for i := range 4 {
		cfg.Ports = append(cfg.Ports, dataplane.Port{
			Rate: 100 * units.Gbps, MAC: wire.MAC(9, i), PeerMAC: wire.MAC(i, 0), Locator: uint16(10 + i),
		})
	}
	return cfg
}

// marking makes the switch of cfg mark between two thresholds.
func marking(cfg *dataplane.Config, low, high units.Size) {
	cfg.AQM, cfg.ECN = algorithm.Choice{Name: "linear"}, aqm.Thresholds{Low: low, High: high}
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

// rig drives a switch as a driver would.
type rig struct {
	t       *testing.T
	pool    *wire.Pool
	sw      *dataplane.Switch
	records *metrics.Batch
	stepper *node.Stepper
	domain  *csig.Domain
	now     units.Time
	frees   []int // ports for which a PortFree is due
	sent    []departure
}

type departure struct {
	node.Departure
	at units.Time // when the first bit left
}

func newRig(t *testing.T, cfg dataplane.Config) *rig {
	t.Helper()
	pool := new(wire.Pool)
	records := new(metrics.Batch)
	sw, err := dataplane.New(cfg, pool, records)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, pool: pool, sw: sw, records: records, stepper: node.NewStepper(sw, len(cfg.Ports), records)}
	domain := csig.Config{Format: csig.FormatCompact}
	if cfg.CSIG != nil {
		domain = cfg.CSIG.Domain
	}
	if r.domain, err = csig.NewDomain(domain); err != nil {
		t.Fatal(err)
	}
	return r
}

// data returns a data packet of the given wire size to host dst.
func (r *rig) data(dst int, size int) *wire.Packet {
	p := r.pool.Get()
	p.Build(wire.Addresses{Source: wire.HostIP(3), Destination: wire.HostIP(dst), SourcePort: wire.EntropyBase}, wire.Data, 0, wire.ECT0, size-64)
	p.SetMACs(wire.MAC(9, 3), wire.MAC(3, 0))
	p.SetData(1, 0, 1)
	p.Size = sizes.Of(p)
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
	r.run(now - 1)
	r.free(now)
	r.now = now
	for _, p := range packets {
		r.stepper.Receive(now, port, p)
		r.collect()
	}
}

// run serves everything that is due up to and including until.
func (r *rig) run(until units.Time) {
	for {
		next := r.sw.NextTimeout()
		for _, port := range r.frees {
			next = min(next, r.stepper.FreeAt(port))
		}
		if next > until || next == units.Never {
			return
		}
		r.now = next
		r.free(next)
		if r.sw.NextTimeout() <= next {
			r.stepper.Timeout(next)
			r.collect()
		}
	}
}

// free makes the ports that become free at now send.
func (r *rig) free(now units.Time) {
	for port := range 64 {
		for i, f := range r.frees {
			if f == port && r.stepper.FreeAt(port) <= now {
				r.frees = append(r.frees[:i], r.frees[i+1:]...)
				r.now = now
				r.stepper.PortFree(now, port)
				r.collect()
				break
			}
		}
	}
}

func (r *rig) collect() {
	for _, d := range r.stepper.Departures {
		r.sent = append(r.sent, departure{d, r.now})
	}
	r.frees = append(r.frees, r.stepper.Frees...)
}

const forever = units.Time(units.Hour)

// result closes the switch and returns its totals; its windows are in r.records.
func (r *rig) result() metrics.NodeTotals {
	r.records.Totals, r.records.Traces = nil, nil
	r.stepper.Close(r.now)
	return r.records.NodeTotals()
}

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
	for name, counts := range map[string][]metrics.Count{"drops": result.Drops, "tags": result.Tags} {
		want := drops
		if name == "tags" {
			want = tags
		}
		for _, c := range counts {
			if c.Packets != want[c.Name] {
				r.t.Errorf("%s %q = %d, want %d", name, c.Name, c.Packets, want[c.Name])
			}
		}
		for n := range want {
			if count(counts, n) < 0 {
				r.t.Errorf("no counter %q among %v", n, counts)
			}
		}
	}
}

func (r *rig) kinds() (kinds []string) {
	for _, d := range r.sent {
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

// valid tells whether a packet parses again from its own bytes.
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
