package host_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host"
	"github.com/csiglab/csiglab/nodes/host/player"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/node/nodetest"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
)

// docs/reference/references.md#sending: the NIC serves its flows in turn.
func TestRoundRobin(t *testing.T) {
	c := config(0)
	c.CC.Params = map[string]string{"cwnd": "16600B"} // four packets each
	sends(&c, 3, 100*mss, 0)
	sends(&c, 5, 2*mss, 0)
	sends(&c, 8, 100*mss, 0)
	h, pool := newHost(t, c)
	h.HandleTimeout(0)
	var got []uint32
	for now := units.Time(0); ; {
		_, flow, ok := transmit(t, h, pool, &now)
		if !ok {
			break
		}
		got = append(got, flow)
	}
	if diff := cmp.Diff([]uint32{3, 5, 8, 3, 5, 8, 3, 8, 3, 8}, got); diff != "" {
		t.Errorf("turns (-want +got)\n%s", diff)
	}
	// A flow whose window opens again waits for its turn at the end.
	ack := func(flow uint32, cum int) {
		p := pool.Get()
		p.Build(wire.Addresses{Source: wire.HostIP(1), Destination: wire.HostIP(0)}, wire.Ack, 0, wire.NotECT, 0)
		p.SetAck(wire.AckFields{Flow: flow, Cumulative: uint32(cum), Acked: uint32(cum - 1), Received: uint64(cum) * uint64(mtu), Penalty: 255})
		h.Receive(units.Time(10*units.Microsecond), host.NIC, p)
	}
	ack(8, 2)
	ack(8, 2) // it is in the queue already
	ack(3, 1)
	got = nil
	for now := units.Time(10 * units.Microsecond); ; {
		_, flow, ok := transmit(t, h, pool, &now)
		if !ok {
			break
		}
		got = append(got, flow)
	}
	if diff := cmp.Diff([]uint32{8, 3, 8}, got); diff != "" {
		t.Errorf("turns after ACKs (-want +got)\n%s", diff)
	}
	if pool.Out() != 0 {
		t.Errorf("%d packets not returned", pool.Out())
	}
}

// Line overhead takes time at the NIC, and is in no size: a packet of 4150 B and 24 B
// more leaves after 333.92 ns.
func TestOverhead(t *testing.T) {
	c := config(0)
	c.Sizes.Overhead = 24
	sends(&c, 0, 3*mss, 0)
	h, pool := newHost(t, c)
	h.HandleTimeout(0)
	var now units.Time
	for i := range 3 {
		p, departs, ok := h.Transmit(now, host.NIC)
		if want := now.Add(333_920); !ok || departs != want || p.Size != mtu {
			t.Fatalf("packet %d departs at %v, want %v", i, departs, want)
		}
		now = departs
		pool.Put(p)
	}
}

// docs/reference/references.md#sending: control packets go first, 10 to 1 while data waits.
func TestControlBurst(t *testing.T) {
	c := config(0)
	c.CC.Params = map[string]string{"cwnd": "12450B"} // three packets
	sends(&c, 1, 100*mss, 0)
	receives(&c, 2, 100*mss)
	h, pool := newHost(t, c)
	order := func() string {
		var b strings.Builder
		for now := units.Time(0); ; {
			kind, _, ok := transmit(t, h, pool, &now)
			if !ok {
				return b.String()
			}
			b.WriteString(map[wire.Kind]string{wire.Ack: "a", wire.Data: "D"}[kind])
		}
	}
	arrive := func(from, to uint32) {
		for psn := from; psn < to; psn++ {
			h.Receive(0, host.NIC, data(pool, 2, psn, wire.AckRequest))
		}
	}
	arrive(0, 12) // no data waits yet
	if got, want := order(), strings.Repeat("a", 12); got != want {
		t.Errorf("without data: %s, want %s", got, want)
	}
	arrive(12, 47)
	h.HandleTimeout(0)
	ten := strings.Repeat("a", 10)
	if got, want := order(), ten+"D"+ten+"D"+ten+"D"+"aaaaa"; got != want {
		t.Errorf("both wait: %s, want %s", got, want)
	}
}

func TestDrops(t *testing.T) {
	c := config(0)
	sends(&c, 1, 10*mss, 0)
	receives(&c, 2, 10*mss)
	var records metrics.Batch
	h, pool := newHostWith(t, c, &records)
	reply := func(kind wire.Kind, flow uint32) *wire.Packet {
		p := pool.Get()
		p.Build(wire.Addresses{Source: wire.HostIP(1), Destination: wire.HostIP(0)}, kind, 0, wire.NotECT, 0)
		if kind == wire.Control {
			p.SetControl(flow, 0)
		} else {
			p.SetNack(flow, 0, 0, 1, wire.NackTrimmed)
		}
		return p
	}
	stray := pool.Get()
	stray.Build(wire.Addresses{Source: wire.HostIP(1), Destination: wire.HostIP(7)}, wire.Data, 0, wire.ECT0, 100)
	stray.SetData(2, 0, 1)
	to, from := wire.MAC(0, 0), wire.MAC(1, 0)
	raw := pool.Get() // all of whose bytes look like data of flow 2
	if err := raw.Parse(slices.Concat(to[:], from[:], []byte{0x86, 0xdd}, bytes.Repeat([]byte{0, 0, 0, 2}, 20)), wire.Format{Raw: true}); err != nil {
		t.Fatal(err)
	}
	for _, in := range []struct {
		port   int
		p      *wire.Packet
		reason string
	}{
		{host.NIC, data(pool, 9, 0, 0), "unknown flow"},
		{host.NIC, data(pool, 1, 0, 0), "unknown flow"}, // sent here, not received
		{host.NIC, reply(wire.Nack, 2), "unknown flow"}, // received here, not sent
		{host.NIC, reply(wire.Ack, 9), "unknown flow"},
		{host.NIC, stray, "not my address"},
		{host.NIC, raw, "unexpected kind"},
		{host.NIC, reply(wire.Control, 1), "unexpected kind"},
		{1, reply(wire.Control, 4), "unexpected kind"}, // no such trigger
		{1, data(pool, 2, 0, 0), "unexpected kind"},
		{host.NIC, data(pool, 2, 10, 0), "beyond the flow's end"},
		{host.NIC, data(pool, 2, 1<<31, 0), "beyond the flow's end"},
	} {
		before := drops(h, &records)
		h.Receive(0, in.port, in.p)
		after := drops(h, &records)
		for name := range after {
			want := before[name]
			if name == in.reason {
				want++
			}
			if after[name] != want {
				t.Errorf("packet for %q: %d dropped as %q, want %d", in.reason, after[name], name, want)
			}
		}
		if _, ok := after[in.reason]; !ok {
			t.Errorf("no drops are counted as %q", in.reason)
		}
	}
	if pool.Out() != 0 || slices.Max(h.Ready()) > 0 {
		t.Errorf("%d packets kept, ready %v", pool.Out(), h.Ready())
	}
}

func drops(h *host.Host, records *metrics.Batch) map[string]int64 {
	counts := map[string]int64{}
	records.Reset()
	h.Close(0)
	for _, d := range records.NodeTotals().Drops {
		counts[d.Name] = d.Packets
	}
	return counts
}

func TestTimeouts(t *testing.T) {
	c := config(0)
	sends(&c, 1, 2*mss, units.Time(5*units.Microsecond))
	sends(&c, 2, mss, units.Time(7*units.Microsecond))
	h, pool := newHost(t, c)
	at := func(us units.Time) units.Time { return us * units.Time(units.Microsecond) }
	h.HandleTimeout(at(5) - 1) // early
	if h.NextTimeout() != at(5) || slices.Max(h.Ready()) > 0 {
		t.Fatalf("an early call: next %v, ready %v", h.NextTimeout(), h.Ready())
	}
	h.HandleTimeout(at(5))
	if h.NextTimeout() != at(7) || !h.Ready().Has(host.NIC) {
		t.Fatalf("after the start: next %v, ready %v", h.NextTimeout(), h.Ready())
	}
	now := at(5)
	transmit(t, h, pool, &now)
	transmit(t, h, pool, &now)
	h.HandleTimeout(at(7))
	if want := at(5).Add(rto); h.NextTimeout() != want { // of the packet sent at 5us
		t.Fatalf("next %v, want %v", h.NextTimeout(), want)
	}
	// Both packets of flow 1 are acknowledged: its timer is cancelled.
	p := pool.Get()
	p.Build(wire.Addresses{Source: wire.HostIP(1), Destination: wire.HostIP(0)}, wire.Ack, 0, wire.NotECT, 0)
	p.SetAck(wire.AckFields{Flow: 1, Cumulative: 2, Acked: 1, Received: uint64(2 * mtu), Penalty: 255})
	h.Receive(at(8), host.NIC, p)
	if h.NextTimeout() != units.Never {
		t.Errorf("next %v with nothing sent or due", h.NextTimeout())
	}
	now = at(9)
	transmit(t, h, pool, &now)
	due := at(9).Add(rto)
	if h.NextTimeout() != due {
		t.Errorf("next %v, want %v", h.NextTimeout(), due)
	}
	h.HandleTimeout(due)
	now = due
	if kind, flow, ok := transmit(t, h, pool, &now); !ok || kind != wire.Data || flow != 2 {
		t.Errorf("after the timeout: %v of flow %d, %v", kind, flow, ok)
	}
}

// twoWay is a busy pair: transfers in both directions, one after another by
// triggers, with tags.
func twoWay(seed uint64) (c [2]host.Config) {
	for i := range c {
		c[i] = config(i)
		c[i].Seed = seed
		c[i].CC.Params = map[string]string{"csig": "max-delay"}
		c[i].CSIG = &csig.Config{Format: csig.FormatCompact}
		c[i].Tagging = transport.Tagging{Sampling: csig.Sampling{Every: 3}, Signal: csig.Delay}
	}
	for id := range 4 {
		sends(&c[id%2], id, units.Size(id+1)*30*mss+7, units.Time(id)*units.Time(units.Microsecond))
		receives(&c[1-id%2], id, units.Size(id+1)*30*mss+7)
	}
	// Transfer 4 of host 0 waits for a barrier there: transfer 0 acknowledged
	// and transfer 2 received at host 1.
	c[0].Sends = append(c[0].Sends, host.Flow{End: host.End{ID: 4, Peer: wire.HostIP(1), Size: 10 * mss}})
	receives(&c[1], 4, 10*mss)
	c[0].Player.Starts = append(c[0].Player.Starts, player.Start{Transfer: 4, After: 0})
	c[0].Player.Triggers = []player.Trigger{{Kind: workloads.Barrier, Count: 2, Targets: []player.Target{{Transfer: 4, Port: player.Local}}}}
	c[0].Player.Hits = []player.Hit{{Transfer: 0, Trigger: 0, Port: player.Local}}
	c[1].Player.Hits = []player.Hit{{Transfer: 2, Received: true, Trigger: 0, Port: 1}}
	return c
}

// loses drops and trims some packets of the NIC, the same for the same seed.
func loses(seed uint64) func(units.Time, int, *wire.Packet) []units.Duration {
	random := rand.New(rand.NewPCG(seed, 7))
	return func(_ units.Time, _ int, p *wire.Packet) []units.Duration {
		if p.Kind() == wire.Control {
			return nodetest.Intact
		}
		if p.Kind() == wire.Data && random.IntN(20) == 0 {
			p.Trim(wire.Sizes{Header: header}, random.IntN(2) == 0)
		}
		if random.IntN(50) == 0 {
			return nil
		}
		return nodetest.Intact
	}
}

// TestPair: transfers complete, one that waits starts when its barrier falls,
// counts add up, and every packet returns to its pool. Ports that are not ready
// have nothing to send (checked by the driver).
func TestPair(t *testing.T) {
	for name, edit := range map[string]func(c *host.Config){
		"plain":              func(*host.Config) {},
		"go-back-N":          func(c *host.Config) { c.Recovery = transport.GoBackN },
		"SLEEK":              func(c *host.Config) { c.Recovery = transport.Sleek },
		"receiver credits":   func(c *host.Config) { c.Credits = true },
		"credits alone":      func(c *host.Config) { c.CC = algorithm.Choice{Name: "rccc"} },
		"credits, go-back-N": func(c *host.Config) { c.Credits, c.Recovery = true, transport.GoBackN },
		"notification point": func(c *host.Config) { c.CC = algorithm.Choice{Name: "dcqcn"} },
		"fabric and host":    func(c *host.Config) { c.CC = algorithm.Choice{Name: "swift"} },
	} {
		t.Run(name, func(t *testing.T) { checkPairs(t, edit) })
	}
}

func checkPairs(t *testing.T, edit func(c *host.Config)) {
	for seed := range uint64(6) {
		c := twoWay(seed)
		for i := range c {
			edit(&c[i])
		}
		p := newPair(t, c)
		if seed > 0 {
			p.Fault = loses(seed)
		}
		results := p.totals()
		done := map[int32]metrics.SenderTotals{}
		var received int64
		for i, r := range results {
			for _, s := range r.Senders {
				done[s.Flow] = s
				if s.Done == units.Never {
					t.Errorf("seed %d: flow %d is not acknowledged", seed, s.Flow)
				}
			}
			for _, rx := range r.Receivers {
				received += rx.PayloadBytes
				if rx.Done == units.Never {
					t.Errorf("seed %d: flow %d is not received", seed, rx.Flow)
				}
			}
			port := r.Ports[host.NIC]
			if port.EnqueuedPackets != port.TxPackets || port.EnqueuedBytes != port.TxBytes || port.QueuedPackets != 0 {
				t.Errorf("seed %d: host %d: port %+v", seed, i, port)
			}
			for _, d := range r.Drops {
				if d.Packets != 0 {
					t.Errorf("seed %d: host %d dropped %d: %s", seed, i, d.Packets, d.Name)
				}
			}
			if p.Nodes[i].Pool.Out() != 0 || p.hosts[i].NextTimeout() != units.Never {
				t.Errorf("seed %d: host %d keeps %d packets, next timeout %v", seed, i, p.Nodes[i].Pool.Out(), p.hosts[i].NextTimeout())
			}
		}
		want := int64((1+2+3+4)*30*mss + 4*7 + 10*mss)
		if got := p.hosts[0].Delivered() + p.hosts[1].Delivered(); got != want || received != want {
			t.Errorf("seed %d: %d bytes delivered, %d in the totals, want %d", seed, got, received, want)
		}
		// The barrier's second hit crosses from host 1: its control message takes
		// the link's delay and no time to send.
		rx := results[1].Receivers[slices.IndexFunc(results[1].Receivers, func(r metrics.ReceiverTotals) bool { return r.Flow == 2 })]
		if want := max(done[0].Done, rx.Done.Add(linkDelay)); done[4].Start != want {
			t.Errorf("seed %d: transfer 4 starts at %v, want %v", seed, done[4].Start, want)
		}
		if seed > 0 && done[0].Retransmitted+done[1].Retransmitted+done[2].Retransmitted+done[3].Retransmitted == 0 {
			t.Errorf("seed %d: nothing was lost", seed)
		}
	}
}

func TestDeterminism(t *testing.T) {
	run := func(config, faults uint64, disturb func(units.Time, *host.Host)) [2][32]byte {
		p := newPair(t, twoWay(config))
		p.Fault = loses(faults)
		p.Before = func(now units.Time) {
			for _, h := range p.hosts {
				disturb(now, h)
			}
		}
		totals := p.totals()
		return [2][32]byte{totals[0].TraceHash, totals[1].TraceHash}
	}
	nothing := func(units.Time, *host.Host) {}
	plain := run(3, 3, nothing)
	if plain != run(3, 3, nothing) {
		t.Error("the same seed gave other packets")
	}
	if plain == run(4, 3, nothing) {
		t.Error("another seed gave the same packets")
	}
	// Contract of node.Machine: "An early or stale call changes nothing."
	early := func(now units.Time, h *host.Host) {
		for range 2 {
			if h.NextTimeout() > now {
				h.HandleTimeout(now)
			}
		}
	}
	if plain != run(3, 3, early) {
		t.Error("early calls of HandleTimeout changed what is sent")
	}
}

// Control messages take their declared delay alone; all leave at the
// instant they arise, in order.
func TestControlPort(t *testing.T) {
	c := config(0)
	c.Control = 2
	receives(&c, 2, mss)
	c.Player.Hits = []player.Hit{
		{Transfer: 2, Received: true, Trigger: 11, Port: 2},
		{Transfer: 2, Received: true, Trigger: 12, Port: 2},
		{Transfer: 2, Received: true, Trigger: 13, Port: 1},
	}
	h, pool := newHost(t, c)
	h.Receive(77, host.NIC, data(pool, 2, 0, wire.EndOfMessage))
	for port, triggers := range map[int][]uint32{1: {13}, 2: {11, 12}} {
		for _, want := range triggers {
			if !h.Ready().Has(port) {
				t.Fatalf("port %d is not ready", port)
			}
			p, departs, ok := h.Transmit(77, port)
			if !ok || departs != 77 || p.Kind() != wire.Control || p.Flow() != want {
				t.Errorf("port %d: %v, departs %v, want trigger %d at 77ps", port, p, departs, want)
			}
		}
		if p, _, ok := h.Transmit(77, port); ok || h.Ready().Has(port) {
			t.Errorf("port %d: %v more, ready %v", port, p, h.Ready().Has(port))
		}
	}
}

// One packet of each N carries a tag, and each flow draws for itself which.
func TestSampling(t *testing.T) {
	c := config(0)
	c.CSIG = &csig.Config{Format: csig.FormatWide}
	c.Tagging = transport.Tagging{Sampling: csig.Sampling{Every: 8}, Signal: csig.ABWC}
	c.CC.Params = map[string]string{"cwnd": "41500B"}
	for id := range 40 {
		sends(&c, id, 20*mss, 0)
	}
	c.Path.NetworkRTT = 14 * units.Microsecond
	h, pool := newHost(t, c)
	h.HandleTimeout(0)
	first, count := map[uint32]uint32{}, map[uint32]int{}
	for now := units.Time(0); h.Ready().Has(host.NIC); {
		p, departs, ok := h.Transmit(now, host.NIC)
		if !ok {
			break
		}
		now = departs
		if p.Tag() != nil {
			if _, ok := first[p.Flow()]; !ok {
				first[p.Flow()] = p.PSN()
			}
			if at := int(p.PSN()) / 8; at != count[p.Flow()] {
				t.Errorf("flow %d: tag number %d is on PSN %d", p.Flow(), count[p.Flow()], p.PSN())
			}
			count[p.Flow()]++
		}
		pool.Put(p)
	}
	phases := map[uint32]bool{}
	for flow, psn := range first {
		phases[psn] = true
		if psn >= 8 {
			t.Errorf("flow %d: first tag on PSN %d", flow, psn)
		}
	}
	if len(first) != 40 || len(phases) < 4 {
		t.Errorf("%d of 40 flows tagged, %d phases", len(first), len(phases))
	}
}

// A flow may have an init policy of its own; what one flow draws changes nothing for
// another.
func TestTaggingOfFlows(t *testing.T) {
	tags := func(edit func(*host.Config)) map[uint32]map[uint32]csig.Type { // by flow and PSN
		c := config(0)
		c.CSIG = &csig.Config{Format: csig.FormatWide}
		c.Tagging = transport.Tagging{Sampling: csig.Sampling{Every: 8}, Signal: csig.ABWC}
		c.CC.Params = map[string]string{"cwnd": "166000B"} // 40 packets
		for id := range 4 {
			sends(&c, id, 40*mss, 0)
		}
		c.Path.NetworkRTT = 14 * units.Microsecond
		edit(&c)
		h, pool := newHost(t, c)
		d, err := csig.NewDomain(*c.CSIG)
		if err != nil {
			t.Fatal(err)
		}
		h.HandleTimeout(0)
		got := map[uint32]map[uint32]csig.Type{0: {}, 1: {}, 2: {}, 3: {}}
		for now := units.Time(0); h.Ready().Has(host.NIC); {
			p, departs, ok := h.Transmit(now, host.NIC)
			if !ok {
				break
			}
			now = departs
			if tag := p.Tag(); tag != nil {
				got[p.Flow()][p.PSN()], _ = d.Peek(tag)
			}
			pool.Put(p)
		}
		return got
	}
	alike := tags(func(*host.Config) {})
	got := tags(func(c *host.Config) {
		c.Sends[1].Tagging = &transport.Tagging{Sampling: csig.All, Telemetry: csig.Weights{csig.ABW: 3, csig.Delay: 1}}
		c.Sends[2].Tagging = &transport.Tagging{}
		c.Sends[3].Tagging = &transport.Tagging{Sampling: csig.Sampling{Every: 4, Stride: true}, Signal: csig.NQD}
	})
	if diff := cmp.Diff(alike[0], got[0]); diff != "" || len(got[0]) != 5 {
		t.Errorf("flow 0 has %d tags; alone - among flows with policies of their own +\n%s", len(got[0]), diff)
	}
	count := [4]map[csig.Type]int{}
	for flow, of := range got {
		count[flow] = map[csig.Type]int{}
		for _, signal := range of {
			count[flow][signal]++
		}
	}
	want := [4]map[csig.Type]int{{csig.ABWC: 5}, {csig.ABW: 30, csig.Delay: 10}, {}, {csig.NQD: 10}}
	if diff := cmp.Diff(want, count); diff != "" {
		t.Errorf("tags by flow and type (-want +got)\n%s", diff)
	}
}

func TestNewRefuses(t *testing.T) {
	for name, edit := range map[string]func(*host.Config){
		`host h0: the NIC's rate is 0 bit/s`:                 func(c *host.Config) { c.Rate = 0 },
		`host h0: flow 3: unknown congestion control "ncss"`: func(c *host.Config) { c.CC.Name = "ncss" },
		`host h0: flow 3: unknown load balancer "rps"`:       func(c *host.Config) { c.LB.Name = "rps" },
		`host h0: flow 3: nscc has no parameter "gain"`:      func(c *host.Config) { c.CC.Params = map[string]string{"gain": "1"} },
		`host h0: flow 3: mixed: parameter paths: 3 is not`:  func(c *host.Config) { c.LB.Params = map[string]string{"paths": "3"} },
		`host h0: `: func(c *host.Config) {
			c.CSIG = &csig.Config{Format: csig.FormatCompact, Quantisers: [csig.Types]csig.Quantiser{{Name: "no such"}}}
		},
	} {
		c := config(0)
		sends(&c, 3, mss, 0)
		edit(&c)
		h, err := host.New(&c, new(wire.Pool), metrics.Discard)
		if err == nil || !strings.HasPrefix(err.Error(), name) || h != nil {
			t.Errorf("New gives %v, want an error that begins with %s", err, name)
		}
	}
}

// Hosts that are touched between their calls do what hosts do that are not: before, while
// and after their flows are under way.
func TestTouchChangesNothing(t *testing.T) {
	var records [2][2]metrics.Batch
	for touched := range 2 {
		c := [2]host.Config{config(0), config(1)}
		for i := range c {
			c[i].CSIG = &csig.Config{Format: csig.FormatWide, MaxRate: 100 * units.Gbps}
			c[i].Tagging = transport.Tagging{Sampling: csig.Sampling{Every: 3}, Signal: csig.ABW}
			sends(&c[i], i, 200*mss, 0)
			receives(&c[i], 1-i, 200*mss)
		}
		w := newWirePair(t, c, [2]metrics.Sink{&records[touched][0], &records[touched][1]})
		for step := range 3000 {
			if step == 1 {
				w.begin()
			}
			for i := range w.hosts {
				if touched == 1 {
					node.Toucher(w.hosts[i]).Touch()
				}
			}
			w.step()
		}
		for i, h := range w.hosts {
			if got, want := h.Delivered(), int64(200*mss); got != want {
				t.Fatalf("host %d has received %d bytes, want %d", i, got, want)
			}
			h.Close(w.now())
		}
	}
	if diff := cmp.Diff(records[1], records[0]); diff != "" {
		t.Errorf("records of hosts that were touched (-got +want):\n%s", diff)
	}
}

// A host starts its transfer when HandleTimeout is due, and is then asked for
// packets.
func ExampleNew() {
	var pool wire.Pool
	c := config(0)
	sends(&c, 1, 5000, units.Time(units.Microsecond))
	h, err := host.New(&c, &pool, metrics.Discard)
	if err != nil {
		fmt.Println(err)
		return
	}
	now := h.NextTimeout()
	h.HandleTimeout(now)
	for h.Ready().Has(host.NIC) {
		p, departs, ok := h.Transmit(now, host.NIC)
		if !ok {
			break
		}
		fmt.Println(now, p, p.Size)
		pool.Put(p)
		now = departs
	}
	fmt.Println(h.NextTimeout())
	// Output:
	// 1us data flow 1 psn 0 4.15kB
	// 1.332us data flow 1 psn 1 978B
	// 51us
}
