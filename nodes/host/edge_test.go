package host_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host"
	"github.com/csiglab/csiglab/nodes/host/player"
	"github.com/csiglab/csiglab/nodes/host/shim"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/nodes/node/nodetest"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
)

// withPrograms gives a host programs, which talk to those of the other host: flow 100
// from host 0, flow 101 from host 1. Their tags ask for ABW, the transport's for delay.
func withPrograms(c *host.Config) {
	c.CSIG = &csig.Config{Format: csig.FormatWide, MaxRate: 100 * units.Gbps}
	c.Tagging = transport.Tagging{Sampling: csig.All, Signal: csig.Delay}
	c.Edge = &shim.EdgeConfig{
		Node: c.Node, Name: c.Name, Queue: 20 * units.KB, Sizes: c.Sizes, CSIG: c.CSIG, Init: shim.Init{Sampling: csig.All, Signals: csig.Only(csig.ABW)},
		Pairs: []metrics.Pair{{Flow: 100, Source: 0, Destination: 1}, {Flow: 101, Source: 1, Destination: 0}},
		Seed:  c.Seed, Measure: c.Measure, Records: c.Records,
	}
}

var rawFormat = wire.Format{Sizes: wire.Sizes{Header: header}, Raw: true}

// raw returns a packet of a program.
func raw(t testing.TB, pool *wire.Pool, frame []byte) *wire.Packet {
	t.Helper()
	p := pool.Get()
	if err := p.ParseRaw(frame, rawFormat); err != nil {
		t.Fatal(err)
	}
	return p
}

// The frames of all programs together take the turns of one flow, and control packets
// pass both, 10 to 1.
func TestProgramsTakeTurns(t *testing.T) {
	c := config(0)
	withPrograms(&c)
	c.CC.Params = map[string]string{"cwnd": "12450B"} // three packets each
	sends(&c, 3, 100*mss, 0)
	sends(&c, 5, 100*mss, 0)
	receives(&c, 2, 100*mss)
	h, pool := newHost(t, c)
	order := func() string {
		var b strings.Builder
		for now := units.Time(0); h.Ready().Has(host.NIC); {
			p, departs, ok := h.Transmit(now, host.NIC)
			if !ok {
				break
			}
			if want := now.Add(c.Rate.Serialisation(p.Size)); departs != want {
				t.Fatalf("%v departs at %v, want %v", p, departs, want)
			}
			now = departs
			switch p.Kind() {
			case wire.Raw:
				b.WriteByte('P')
			case wire.Ack:
				b.WriteByte('a')
			default:
				b.WriteByte('0' + byte(p.Flow()))
			}
			pool.Put(p)
		}
		return b.String()
	}
	program := func(n int) {
		for range n {
			h.Receive(0, shim.Application, raw(t, pool, nodetest.RawFrame(0, 1, 100, nil)))
		}
	}
	program(2)
	h.HandleTimeout(0)
	program(3)
	if got, want := order(), "P35P35P35PP"; got != want {
		t.Errorf("turns %s, want %s", got, want)
	}
	// With nothing else to send.
	program(3)
	if got, want := order(), "PPP"; got != want {
		t.Errorf("programs alone: %s, want %s", got, want)
	}
	program(2)
	for psn := range uint32(15) {
		h.Receive(0, host.NIC, data(pool, 2, psn, wire.AckRequest))
	}
	ten := strings.Repeat("a", 10)
	if got, want := order(), ten+"P"+"aaaaa"+"P"; got != want {
		t.Errorf("with control packets: %s, want %s", got, want)
	}
	if pool.Out() != 0 {
		t.Errorf("%d packets not returned", pool.Out())
	}
}

// sharedPair is two hosts with transfers and programs in both directions, joined back
// to back by a link that writes into tags as a switch does: delay 500 ns by port 7,
// ABW 10 GB/s by port 8.
type sharedPair struct {
	*nodetest.Rig
	c      [2]host.Config
	got    [2][][]byte // what the programs of each host received
	domain *csig.Domain
}

func newSharedPair(t *testing.T) *sharedPair {
	t.Helper()
	p := &sharedPair{Rig: nodetest.New(t), c: [2]host.Config{config(0), config(1)}}
	p.Limit = units.Time(units.Second)
	c := &p.c
	for i := range c {
		withPrograms(&c[i])
	}
	sends(&c[0], 0, 40*mss, 0)
	receives(&c[1], 0, 40*mss)
	c[1].Sends = append(c[1].Sends, host.Flow{End: host.End{ID: 1, Peer: wire.HostIP(0), Size: 40 * mss}})
	receives(&c[0], 1, 40*mss)
	// Flow 1, from host 1, starts when flow 0 has arrived there; the trigger is at host 0.
	c[1].Player.Starts = []player.Start{{Transfer: 1, After: 0}}
	c[1].Player.Hits = []player.Hit{{Transfer: 0, Received: true, Trigger: 0, Port: 2}}
	c[0].Player.Triggers = []player.Trigger{{Kind: workloads.OneShot, Count: 1, Targets: []player.Target{{Transfer: 1, Port: 2}}}}
	for i := range c {
		nodetest.Add(p.Rig, c[i].Ports(), host.New, &c[i])
	}
	p.Join(0, host.NIC, 1, host.NIC, linkDelay)
	p.Join(0, 2, 1, 2, linkDelay) // the control port is after that of the programs
	p.Out = func(d nodetest.Departure) {
		if d.Port != shim.Application {
			t.Errorf("%v left by port %d", d.Packet, d.Port)
		}
		p.got[d.Node] = append(p.got[d.Node], slices.Concat(d.Packet.Header(), d.Packet.Payload))
		p.Nodes[d.Node].Pool.Put(d.Packet)
	}
	var err error
	if p.domain, err = csig.NewDomain(*c[0].CSIG); err != nil {
		t.Fatal(err)
	}
	p.Fault = func(_ units.Time, _ int, packet *wire.Packet) []units.Duration {
		if tag := packet.Tag(); tag != nil {
			switch signal, _ := p.domain.Peek(tag); signal {
			case csig.Delay:
				p.domain.Update(tag, 500, 7)
			case csig.ABW:
				p.domain.Update(tag, 10_000_000_000, 8)
			}
		}
		return nodetest.Intact
	}
	return p
}

// A host runs transfers and programs at once: both are delivered, in order and byte
// for byte, each customer's samples are its own, and nothing gets lost or is counted
// twice.
func TestTransportAndPrograms(t *testing.T) {
	p := newSharedPair(t)
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	var sent [2][][]byte
	at := units.Time(0)
	for range 200 {
		at = at.Add(units.Duration(random.IntN(400)) * units.Nanosecond)
		from := random.IntN(2)
		f := nodetest.RawFrame(from, 1-from, 60+random.IntN(1400), random)
		sent[from] = append(sent[from], f)
		p.Receive(at, from, shim.Application, raw(t, p.Nodes[from].Pool, f))
	}
	p.Run(units.Never)
	for i := range sent {
		if got := p.got[1-i]; !slices.EqualFunc(sent[i], got, bytes.Equal) {
			t.Errorf("seed %d: host %d sent %d frames, the other got %d, or others", seed, i, len(sent[i]), len(got))
		}
	}
	var totals [2]metrics.NodeTotals
	for i, n := range p.Nodes {
		totals[i] = n.Totals(p.Now)
		if out := n.Pool.Out(); out != 0 {
			t.Errorf("host %d keeps %d packets", i, out)
		}
	}
	for i, r := range totals {
		port := r.Ports[0]
		if len(r.Ports) != 1 || port.EnqueuedPackets != port.TxPackets || port.EnqueuedBytes != port.TxBytes || port.TxPackets != totals[1-i].Ports[0].RxPackets {
			t.Errorf("host %d: ports %+v, the other's %+v", i, r.Ports, totals[1-i].Ports)
		}
		// The one transfer and the one flow of programs in each direction.
		if len(r.Senders) != 2 || len(r.Receivers) != 2 {
			t.Fatalf("host %d: senders %+v, receivers %+v", i, r.Senders, r.Receivers)
		}
		own, programs := r.Senders[0], r.Senders[1]
		if own.Flow != int32(i) || own.Done == units.Never || own.NewPackets != 40 {
			t.Errorf("host %d: transfer %+v", i, own)
		}
		if programs.Flow != int32(100+i) || programs.NewPackets != int64(len(sent[i])) {
			t.Errorf("host %d: flow of programs %+v", i, programs)
		}
		other := totals[1-i]
		if got := other.Receivers[0]; got.Flow != int32(i) || got.DeliveredWhole != 40 || got.PayloadBytes != int64(40*mss) {
			t.Errorf("host %d: transfer received %+v", 1-i, got)
		}
		var payload int64
		for _, f := range sent[i] {
			payload += int64(len(f) - wire.EthernetLen)
		}
		if got := other.Receivers[1]; got.Flow != int32(100+i) || got.DeliveredWhole != int64(len(sent[i])) || got.PayloadBytes != payload {
			t.Errorf("host %d: frames of programs received %+v, want %d with %d bytes", 1-i, got, len(sent[i]), payload)
		}
		for _, d := range r.Drops {
			if d.Packets != 0 {
				t.Errorf("host %d: dropped %+v", i, d)
			}
		}
	}
	// Flow 1 waited for a message on the control port.
	if first, second := totals[1].Receivers[0].Done, totals[1].Senders[0].Start; second != first.Add(2*linkDelay) {
		t.Errorf("flow 1 started at %v, want %v after %v", second, 2*linkDelay, first)
	}
	// The samples of a transfer are at its sender, those of programs at the far end.
	type key struct {
		node, flow int32
		signal     csig.Type
		locator    uint16
	}
	got := map[key]bool{}
	var samples int64
	for i, n := range p.Nodes {
		for _, w := range n.Records.Signals {
			got[key{int32(i), w.Flow, csig.Type(w.Type), uint16(w.Locator)}] = true
			if w.Flow >= 100 {
				samples += w.Samples
			}
		}
	}
	want := map[key]bool{
		{0, 0, csig.Delay, 7}: true, {1, 1, csig.Delay, 7}: true,
		{1, 100, csig.ABW, 8}: true, {0, 101, csig.ABW, 8}: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("samples (-want +got)\n%s", diff)
	}
	if n := int64(len(sent[0]) + len(sent[1])); samples != n {
		t.Errorf("%d samples of the programs' %d packets", samples, n)
	}
}

// The queue of the programs' frames has its limit while a transfer keeps the NIC busy,
// and what is dropped or still queued is counted at the port.
func TestProgramsQueue(t *testing.T) {
	p := newSharedPair(t)
	p.Run(units.Time(perPacket)) // the transfer is under way
	for range 30 {
		p.Receive(p.Now+1, 0, shim.Application, raw(t, p.Nodes[0].Pool, nodetest.RawFrame(0, 1, 1496, nil)))
	}
	before := p.Nodes[0].Totals(p.Now + 1)
	port := before.Ports[0]
	// 13 frames of 1500 B fit into 20 kB.
	if port.DroppedPackets != 17 || port.DroppedBytes != 17*1500 || port.QueuedPackets != 13 || port.QueuedBytes != 13*1500 || port.QueueMax != 13*1500 {
		t.Errorf("port %+v", port)
	}
	if port.EnqueuedPackets != port.TxPackets+port.DroppedPackets+port.QueuedPackets || port.EnqueuedBytes != port.TxBytes+port.DroppedBytes+port.QueuedBytes {
		t.Errorf("the port's packets or bytes do not add up: %+v", port)
	}
	nodetest.Counts(t, "drops", before.Drops, map[string]int64{"NIC queue full": 17})
	p.Run(units.Never)
	end := p.Nodes[0].Totals(p.Now)
	if len(p.got[1]) != 13 || end.Senders[0].Done == units.Never || end.Ports[0].QueuedPackets != 0 {
		t.Errorf("%d frames arrived, want 13; transfer %+v, port %+v", len(p.got[1]), end.Senders[0], end.Ports[0])
	}
}

// What is wrong for the transport or the programs is dropped and counted once, and a
// host without programs refuses raw frames.
func TestRawFramesThatAreRefused(t *testing.T) {
	c := config(0)
	withPrograms(&c)
	receives(&c, 2, 10*mss)
	var records metrics.Batch
	h, pool := newHostWith(t, c, &records)
	stray := data(pool, 2, 0, 0)
	addresses := wire.Addresses{Source: wire.HostIP(1), Destination: wire.HostIP(1), SourcePort: wire.EntropyBase}
	stray.Build(addresses, wire.Data, 0, wire.ECT0, 100)
	h.Receive(0, host.NIC, stray)
	h.Receive(0, host.NIC, raw(t, pool, nodetest.RawFrame(1, 5, 100, nil)))
	h.Receive(0, host.NIC, raw(t, pool, nodetest.RawFrame(9, 0, 100, nil)))
	// A program may not send as the transport.
	forged := data(pool, 2, 0, 0)
	h.Receive(0, shim.Application, forged)
	h.Close(1)
	nodetest.Counts(t, "drops", records.Totals[0].Drops, map[string]int64{"not my address": 3})
	nodetest.Counts(t, "programs", records.Totals[0].Programs, map[string]int64{"transport_port": 1})
	if pool.Out() != 0 || h.Ready().Has(host.NIC) || h.Ready().Has(shim.Application) {
		t.Errorf("%d packets not returned, ready %v", pool.Out(), h.Ready())
	}

	records = metrics.Batch{}
	h, pool = newHostWith(t, config(0), &records)
	h.Receive(0, host.NIC, raw(t, pool, nodetest.RawFrame(1, 0, 100, nil)))
	h.Close(1)
	nodetest.Counts(t, "drops without programs", records.Totals[0].Drops, map[string]int64{"unexpected kind": 1})
	if pool.Out() != 0 {
		t.Errorf("%d packets not returned", pool.Out())
	}
}

// Nothing is allocated for the frames of programs at a host with transfers.
func TestProgramsAllocateNothing(t *testing.T) {
	c := config(0)
	withPrograms(&c)
	c.Edge.Queue = units.NoLimit
	sends(&c, 1, 1000*mss, 0)
	h, pool := newHost(t, c)
	h.HandleTimeout(0)
	out, in := nodetest.RawFrame(0, 1, 1500, nil), nodetest.RawFrame(1, 0, 1500, nil)
	now := units.Time(0)
	step := func() {
		h.Receive(now, shim.Application, raw(t, pool, out))
		h.Receive(now, host.NIC, raw(t, pool, in))
		for _, port := range []int{host.NIC, shim.Application} {
			for h.Ready().Has(port) {
				p, departs, ok := h.Transmit(now, port)
				if !ok {
					break
				}
				now = departs
				pool.Put(p)
			}
		}
	}
	checkNoAllocations(t, 500, step)
}

func TestNewRefusesAnEdge(t *testing.T) {
	c := config(0)
	withPrograms(&c)
	c.Edge.Pairs[0].Destination = 0
	_, err := host.New(&c, new(wire.Pool), metrics.Discard)
	if want := "host h0: programs: flow 100 from host 0 to host 0 is not between this host and another"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
