package shim_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/shim"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/node/nodetest"
	"github.com/csiglab/csiglab/nodes/switch/buffer"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/switch/forward"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

const rate = 10 * units.Gbps

// config is the shim of host 3, whose programs talk to those of hosts 5 and 9.
func config() shim.Config {
	return shim.Config{Rate: rate, EdgeConfig: shim.EdgeConfig{
		Node: 3, Name: "h3", Queue: 100 * units.KB,
		Pairs: []metrics.Pair{
			{Flow: 10, Source: 3, Destination: 5}, {Flow: 11, Source: 5, Destination: 3},
			{Flow: 12, Source: 3, Destination: 9}, {Flow: 13, Source: 9, Destination: 3},
		},
		CSIG: &csig.Config{Format: csig.FormatCompact}, Init: shim.Init{Sampling: csig.All, Signals: csig.Weights{csig.ABW: 1, csig.Delay: 1}},
		Seed: 1, Measure: metrics.Span{To: units.Never}, Records: 100 * units.Microsecond,
	}}
}

// rig is a shim, or the switch of newSwitch, and what drives it.
type rig struct {
	*nodetest.Rig
	t       testing.TB
	pool    *wire.Pool
	records *metrics.Batch
	format  wire.Format
	domain  *csig.Domain // nil without CSIG
	// out are the frames that each port sent, sizes what they were charged.
	out   [shim.Ports][][]byte
	sizes [shim.Ports][]units.Size
}

func newRig(t testing.TB, cfg shim.Config) *rig {
	t.Helper()
	return rigOf(t, cfg, shim.New, cfg)
}

// rigOf returns a rig of a machine with two ports in the domain of a shim.
func rigOf[C any, M node.Machine](t testing.TB, shim shim.Config, build func(C, *wire.Pool, metrics.Sink) (M, error), cfg C) *rig {
	t.Helper()
	r := &rig{Rig: nodetest.New(t), t: t, format: wire.Format{Sizes: shim.Sizes, Raw: true}}
	r.Out = r.take
	nodetest.Add(r.Rig, 2, build, cfg)
	r.pool, r.records = r.Nodes[0].Pool, &r.Nodes[0].Records
	if shim.CSIG != nil {
		var err error
		if r.domain, err = csig.NewDomain(*shim.CSIG); err != nil {
			t.Fatal(err)
		}
		r.format.TPIDCompact, r.format.TPIDWide = r.domain.Config().TPIDCompact, r.domain.Config().TPIDWide
	}
	return r
}

// result closes the shim and returns its totals; its windows are in r.records.
func (r *rig) result(now units.Time) metrics.NodeTotals { return r.Nodes[0].Totals(now) }

// receive gives the machine a frame.
func (r *rig) receive(now units.Time, port int, frame []byte) {
	r.t.Helper()
	p := r.pool.Get()
	parse := p.Parse
	if port == shim.Application {
		parse = p.ParseRaw
	}
	if err := parse(frame, r.format); err != nil {
		r.t.Fatalf("%x: %v", frame, err)
	}
	r.Receive(now, 0, port, p)
}

func (r *rig) take(d nodetest.Departure) {
	r.out[d.Port] = append(r.out[d.Port], slices.Concat(d.Packet.Header(), d.Packet.Payload))
	r.sizes[d.Port] = append(r.sizes[d.Port], d.Packet.Size)
	r.pool.Put(d.Packet)
}

// frame returns an Ethernet frame of the given length between two hosts.
func frame(from, to, n int) []byte { return nodetest.RawFrame(from, to, n, nil) }

func counts(t testing.TB, got []metrics.Count, want map[string]int64) {
	t.Helper()
	nodetest.Counts(t, "count", got, want)
}

// "Never changes what the application sees": whatever the tags, what one program
// sends is what the other gets, with a switch in between that writes into them.
func TestWhatProgramsSeeIsUnchanged(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	frames := map[string][]byte{"nothing but Ethernet": frame(3, 9, 14), "small": frame(3, 9, 60), "VLAN": vlan(frame(3, 9, 100), 0x8100),
		"two VLANs": vlan(vlan(frame(3, 9, 100), 0x8100), 0x88a8), "three VLANs": vlan(vlan(vlan(frame(3, 9, 100), 0x8100), 0x8100), 0x8100),
		"broken IPv4": frame(3, 9, 50), "cut tag": append(frame(3, 9, 60)[:12:12], 0x88, 0xb5, 1)}
	frames["broken IPv4"][12] = 0x08
	for i := range 50 {
		f := frame(3, 9, 14+random.IntN(9000))
		for j := 12; j < len(f); j++ {
			f[j] = byte(random.Uint32())
		}
		f[12], f[13] = 0x08, 0x00
		if i%2 == 0 {
			f[12], f[13] = 0x86, 0xdd
		}
		frames[fmt.Sprint("random ", i)] = f
	}
	for _, format := range []csig.Format{csig.FormatNone, csig.FormatCompact, csig.FormatWide} {
		for _, dialect := range []csig.Dialect{csig.UEC050, csig.Draft01} {
			for _, every := range []int{0, 1, 3} {
				for _, count := range []bool{false, true} {
					name := fmt.Sprintf("%v, %v, every %d, count %v", format, dialect, every, count)
					cfg := config()
					cfg.CSIG = &csig.Config{Format: format, Dialect: dialect}
					cfg.Init.Every, cfg.Sizes.CountTag = every, count
					far := cfg
					far.Node, far.Pairs = 9, []metrics.Pair{{Flow: 12, Source: 3, Destination: 9}}
					far.Covered = [][csig.Types]bool{{csig.ABW: true, csig.Delay: true}} // all of the one switch
					a, b, sw := newRig(t, cfg), newRig(t, far), newSwitch(t, cfg)
					now := units.Time(0)
					for what, f := range frames {
						sent := len(a.out[shim.NIC])
						now = now.Add(units.Millisecond)
						a.receive(now, shim.Application, f)
						if len(a.out[shim.NIC]) != sent+1 {
							t.Fatalf("seed %d: %s: %s: not sent: %x", seed, name, what, f)
						}
						onWire := sw.pass(now, a.out[shim.NIC][sent])
						b.receive(now, shim.NIC, onWire)
						got := b.out[shim.Application]
						if len(got) != sent+1 || !bytes.Equal(got[sent], f) {
							t.Fatalf("seed %d: %s: %s: %x\nbecame %x\non the wire %x", seed, name, what, f, got[sent:], onWire)
						}
					}
					if n := a.pool.Out() + b.pool.Out() + sw.pool.Out(); n != 0 {
						t.Errorf("%s: %d packets are lost", name, n)
					}
					samples := int64(0)
					b.result(now)
					for _, w := range b.records.Signals {
						samples += w.Samples
						if w.Locator != 7 && w.Type == uint8(csig.ABW) {
							t.Errorf("%s: %d samples by locator %d, want the switch's port", name, w.Samples, w.Locator)
						}
					}
					if tagged := int64(tags(a)); samples != tagged || (tagged != 0) != (every != 0 && format != csig.FormatNone) {
						t.Errorf("%s: %d samples of %d tags", name, samples, tagged)
					}
				}
			}
		}
	}
}

// tags returns how many frames a shim sent with a tag.
func tags(r *rig) (n int) {
	for _, f := range r.out[shim.NIC] {
		var p wire.Packet
		if err := p.Parse(f, r.format); err != nil {
			r.t.Fatal(err)
		}
		if p.Tag() != nil {
			n++
		}
	}
	return n
}

func vlan(f []byte, tpid uint16) []byte {
	return slices.Concat(f[:12], []byte{byte(tpid >> 8), byte(tpid), 0, 5}, f[12:])
}

// aSwitch leads everything to host 9 through its port 1, whose locator is 7.
type aSwitch struct {
	*rig
}

func newSwitch(t testing.TB, c shim.Config) aSwitch {
	t.Helper()
	limits := buffer.Limits{Data: units.MB, Control: units.MB}
	cfg := dataplane.Config{
		Node: 20, Name: "tor0", Sizes: c.Sizes, AQM: algorithm.Choice{Name: "none"},
		CSIG: &dataplane.CSIG{Domain: *c.CSIG, Tau: units.Microsecond}, Records: units.Millisecond,
		Ports:   []dataplane.Port{{Rate: rate, Buffer: limits, Locator: 6}, {Rate: rate, Buffer: limits, Locator: 7}},
		Forward: forward.Config{Routes: topologies.NewRoutes(slices.Repeat([][]uint16{{1}}, 10)...)},
	}
	// The meters are busy already, so that the switch has less than the initial
	// value of a tag to tell.
	sw := aSwitch{rigOf(t, c, dataplane.New, cfg)}
	for range 20 {
		sw.receive(0, 0, frame(3, 9, 9000))
	}
	sw.Run(units.Time(900 * units.Microsecond))
	sw.out = [shim.Ports][][]byte{}
	return sw
}

func (s *aSwitch) pass(now units.Time, f []byte) []byte {
	s.out = [shim.Ports][][]byte{}
	s.receive(now, 0, f)
	return s.out[1][0]
}

// The tags to one destination ask for the signals in turn, one packet in Every has
// one, and each destination has its own turn.
func TestTagsInTurn(t *testing.T) {
	for _, every := range []int{1, 4} {
		cfg := config()
		cfg.Init.Sampling, cfg.Queue = csig.Sampling{Every: every, Stride: true}, units.NoLimit
		r := newRig(t, cfg)
		for range 10 * every {
			r.receive(0, shim.Application, frame(3, 5, 60))
			r.receive(0, shim.Application, frame(3, 9, 60))
		}
		r.Run(units.Never)
		var got [10][]string
		for _, f := range r.out[shim.NIC] {
			var p wire.Packet
			if err := p.Parse(f, r.format); err != nil {
				t.Fatal(err)
			}
			text := "-"
			if tag := p.Tag(); tag != nil {
				s, _ := r.domain.Peek(tag)
				text = s.String()
			}
			got[p.DestinationHost()] = append(got[p.DestinationHost()], text)
		}
		for _, to := range []int{5, 9} {
			// A whole turn, wherever the phase begins.
			first := slices.IndexFunc(got[to], func(s string) bool { return s != "-" })
			if first < 0 || first >= every {
				t.Fatalf("every %d: host %d: first tag on packet %d", every, to, first)
			}
			for i, s := range got[to] {
				want := "-"
				if n := i - first; n >= 0 && n%every == 0 {
					want = []csig.Type{csig.ABW, csig.Delay}[n/every%2].String()
				}
				if s != want {
					t.Errorf("every %d: packet %d to host %d asks for %s, want %s", every, i, to, s, want)
				}
			}
		}
	}
}

// What arrives is counted by its source, and so are the samples.
func TestRecords(t *testing.T) {
	cfg := config()
	cfg.Measure = metrics.Span{From: units.Time(150 * units.Microsecond), To: units.Time(250 * units.Microsecond)}
	r := newRig(t, cfg)
	tagged := func(from int, n int, value uint64, locator uint16) []byte {
		tag := make([]byte, 4)
		r.domain.Init(tag, csig.Delay)
		r.domain.Update(tag, value, locator)
		f := frame(from, 3, n)
		return slices.Concat(f[:12], tag, f[12:])
	}
	at := func(us int) units.Time { return units.Time(us) * units.Time(units.Microsecond) }
	r.receive(at(10), shim.NIC, tagged(5, 1000, 5000, 40))
	r.receive(at(20), shim.NIC, frame(5, 3, 500))
	r.receive(at(160), shim.NIC, tagged(9, 200, 100_000, 41))
	r.receive(at(170), shim.NIC, tagged(5, 1514, 100_000, 41))
	r.receive(at(180), shim.Application, frame(3, 9, 1514))
	got := r.result(at(300))
	window := func(flow int32, locator uint32, start units.Time, value uint64) metrics.SignalWindow {
		s, _ := r.domain.Decode(tagged(5, 100, value, 1)[12:])
		point := int64(s.Point)
		return metrics.SignalWindow{Flow: flow, Type: uint8(csig.Delay), Locator: locator, Start: start, Samples: 1, PointSum: point, PointMax: point, PointMin: point, LowSum: int64(s.Low), HighSum: int64(s.High)}
	}
	want := metrics.NodeTotals{
		Node: 3, Name: "h3",
		Senders: []metrics.SenderTotals{
			{Flow: 10, Start: units.Never, Done: units.Never},
			{Flow: 12, Start: at(180), Done: units.Never, NewPackets: 1},
		},
		Receivers: []metrics.ReceiverTotals{
			{Flow: 11, Done: units.Never, DeliveredWhole: 3, PayloadBytes: 986 + 486 + 1500, MeasuredWire: 1518, MeasuredPayload: 1500},
			{Flow: 13, Done: units.Never, DeliveredWhole: 1, PayloadBytes: 186, MeasuredWire: 204, MeasuredPayload: 186},
		},
	}
	windows := metrics.Batch{
		Flows: []metrics.FlowWindow{
			{Flow: 11, Packets: 2, WireBytes: 1508, PayloadBytes: 986 + 486},
			{Flow: 11, Start: at(100), Packets: 1, WireBytes: 1518, PayloadBytes: 1500},
			{Flow: 13, Start: at(100), Packets: 1, WireBytes: 204, PayloadBytes: 186},
		},
		Signals: []metrics.SignalWindow{
			window(11, 40, 0, 5000), window(11, 41, at(100), 100_000), window(13, 41, at(100), 100_000),
		},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(metrics.NodeTotals{}, "TraceHash", "Events", "Ports", "Drops", "Programs", "Tags")); diff != "" {
		t.Errorf("totals (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(windows, *r.records, cmpopts.IgnoreFields(metrics.Batch{}, "Ports", "Totals", "Traces", "PortMeasurements")); diff != "" {
		t.Errorf("windows (-want +got):\n%s", diff)
	}
	if len(got.Ports) != 1 || got.Ports[0].RxPackets != 4 || got.Ports[0].TxPackets != 1 || got.Ports[0].TxBytes != 1518 {
		t.Errorf("ports %+v", got.Ports)
	}
}

// The NIC sends at its rate, keeps what fits and drops the rest; nothing gets lost
// on the way.
func TestQueue(t *testing.T) {
	for _, count := range []bool{false, true} {
		cfg := config()
		cfg.Queue, cfg.Sizes.CountTag = 10_000, count
		size := units.Size(1004)
		if count {
			size += 4
		}
		r := newRig(t, cfg)
		for range 15 {
			r.receive(0, shim.Application, frame(3, 9, 1000))
		}
		// One is being sent, nine fit, five do not.
		before := r.result(1)
		if p := before.Ports[0]; p.EnqueuedPackets != 15 || p.TxPackets != 1 || p.QueuedPackets != 9 || p.DroppedPackets != 5 ||
			p.EnqueuedBytes != p.TxBytes+p.DroppedBytes+p.QueuedBytes || p.QueueMax != int64(9*size) {
			t.Errorf("count %v: %+v", count, p)
		}
		counts(t, before.Drops, map[string]int64{"NIC queue full": 5})
		r.Run(units.Never)
		end := r.Now.Add(rate.Serialisation(size))
		if want := units.Time(10 * rate.Serialisation(size)); end != want || len(r.out[shim.NIC]) != 10 {
			t.Errorf("count %v: %d frames within %v, want 10 within %v", count, len(r.out[shim.NIC]), end, want)
		}
		if out := r.pool.Out(); out != 0 {
			t.Errorf("%d packets are lost", out)
		}
	}
}

// Line overhead takes time, and no room in the queue.
func TestOverhead(t *testing.T) {
	cfg := config()
	cfg.Sizes.Overhead = 24
	cfg.Init = shim.Init{}
	r := newRig(t, cfg)
	for range 5 {
		r.receive(0, shim.Application, frame(3, 9, 1000))
	}
	queued := r.result(1).Ports[0].QueueMax
	r.Run(units.Never)
	end := r.Now.Add(rate.Serialisation(1004 + 24))
	if want := units.Time(5 * rate.Serialisation(1004+24)); end != want || queued != 4*1004 || r.result(end).Ports[0].TxBytes != 5*1004 {
		t.Errorf("5 frames within %v, %d B queued; want %v and %d B", end, queued, want, 4*1004)
	}
}

// What cannot cross the fabric does not enter it.
func TestRefusesWhatCannotCross(t *testing.T) {
	broadcast, multicast := frame(3, 9, 100), frame(3, 9, 100)
	copy(broadcast, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	multicast[0] = 0x33
	var ours wire.Packet
	ours.Build(wire.Addresses{Source: wire.HostIP(3), Destination: wire.HostIP(9)}, wire.Probe, 0, 0, 0)
	ours.SetMACs(wire.MAC(9, 0), wire.MAC(3, 0))
	// forPort are bytes of a program for the transport's port, edited.
	forPort := func(n int, at int, v byte) []byte {
		f := bytes.Clone(ours.Header())
		f[at] = v
		return f[:n]
	}
	whole := len(ours.Header())
	for name, tc := range map[string]struct {
		port  int
		frame []byte
		want  string
	}{
		"broadcast":             {shim.Application, broadcast, "multicast"},
		"multicast":             {shim.Application, multicast, "multicast"},
		"host without programs": {shim.Application, frame(3, 4, 100), "no_programs"},
		"itself":                {shim.Application, frame(3, 3, 100), "no_programs"},
		"address of a switch":   {shim.Application, slices.Concat([]byte{2, 0, 0, 9, 0, 1}, frame(3, 9, 100)[6:]), "no_programs"},
		"another's source":      {shim.Application, frame(5, 9, 100), "other_source"},
		"a tag":                 {shim.Application, slices.Concat(frame(3, 9, 60)[:12], []byte{0x88, 0xb5, 0, 0}, frame(3, 9, 60)[12:]), "csig_tag"},
		"our transport":         {shim.Application, ours.Header(), "transport_port"},
		"its port, no header":   {shim.Application, forPort(14+28, 0, 2), "transport_port"},
		"its port, cut header":  {shim.Application, forPort(whole-1, 0, 2), "transport_port"},
		"its port, other kind":  {shim.Application, forPort(whole, 14+28, 'A'), "transport_port"},
		"its port, checksum":    {shim.Application, forPort(whole, 14+10, 1), "transport_port"},
		"its port, UDP length":  {shim.Application, forPort(whole, 14+25, 200), "transport_port"},
		"its port, VLAN":        {shim.Application, vlan(ours.Header(), 0x8100), "transport_port"},
		"our transport, in":     {shim.NIC, ours.Header(), "unexpected kind"},
		"to another":            {shim.NIC, frame(5, 9, 100), "not my address"},
		"from a stranger":       {shim.NIC, frame(4, 3, 100), "not my address"},
	} {
		r := newRig(t, config())
		r.receive(0, tc.port, tc.frame)
		if n := len(r.out[0]) + len(r.out[1]); n != 0 || r.pool.Out() != 0 {
			t.Errorf("%s: %d frames sent, %d packets lost", name, n, r.pool.Out())
		}
		result := r.result(1)
		refused, other := result.Programs, result.Drops
		if tc.port == shim.NIC {
			refused, other = other, refused
		}
		counts(t, refused, map[string]int64{tc.want: 1})
		counts(t, other, nil)
	}
}

func TestNewRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		edit func(*shim.Config)
		want string
	}{
		"tags without a signal": {func(c *shim.Config) { c.Init.Signals = csig.Weights{} }, "packets are tagged and there is no signal"},
		"negative every":        {func(c *shim.Config) { c.Init.Every = -1 }, "one packet in -1"},
		"class of another":      {func(c *shim.Config) { c.Classes = []shim.Class{{Flow: 11}} }, "class 0: flow 11 does not leave this host"},
		"class without signal":  {func(c *shim.Config) { c.Classes = []shim.Class{{Flow: 10, Init: shim.Init{Sampling: csig.All}}} }, "class 0: packets are tagged"},
		"more covered":          {func(c *shim.Config) { c.Covered = make([][csig.Types]bool, 5) }, "4 pairs and what covers 5"},
		"domain":                {func(c *shim.Config) { c.CSIG.TPIDWide = 1 }, "tpid_wide"},
		"pair of others":        {func(c *shim.Config) { c.Pairs[0].Source = 4 }, "flow 10 from host 4 to host 5"},
		"pair with itself":      {func(c *shim.Config) { c.Pairs[0].Destination = 3 }, "flow 10 from host 3 to host 3"},
		"same pair twice":       {func(c *shim.Config) { c.Pairs[2].Destination = 5 }, "flow 12 is the second"},
	} {
		cfg := config()
		tc.edit(&cfg)
		_, err := shim.New(cfg, new(wire.Pool), metrics.Discard)
		if err == nil || !strings.HasPrefix(err.Error(), "shim h3: ") || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

func ExampleNew() {
	var pool wire.Pool
	s, err := shim.New(shim.Config{Rate: 10 * units.Gbps, EdgeConfig: shim.EdgeConfig{
		Node: 0, Name: "host0", Queue: 500 * units.KB, Records: units.Millisecond,
		CSIG: &csig.Config{Format: csig.FormatWide}, Init: shim.Init{Sampling: csig.All, Signals: csig.Only(csig.ABW)},
		Pairs: []metrics.Pair{{Flow: 0, Source: 0, Destination: 1}, {Flow: 1, Source: 1, Destination: 0}},
	}}, &pool, metrics.Discard)
	if err != nil {
		fmt.Println(err)
		return
	}
	p := pool.Get()
	to, from := wire.MAC(1, 0), wire.MAC(0, 0)
	p.Parse(slices.Concat(to[:], from[:], []byte{0x90, 0x00}), wire.Format{Raw: true}) //nolint:errcheck // it is whole
	s.Receive(0, shim.Application, p)
	p, _, _ = s.Transmit(0, shim.NIC)
	fmt.Printf("%x\n", p.Header())
	// Output: 02000001000002000000000088b600000fffff009000
}
