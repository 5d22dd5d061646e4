package shim_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/shim"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// tagged returns frame with bytes put in before its EtherType.
func tagged(frame, tag []byte) []byte { return slices.Concat(frame[:12], tag, frame[12:]) }

// A tag of the domain leaves a sample, one that cannot be read leaves none, and both
// are stripped. What is no tag, or behind one, is the programs'.
func TestTagsThatArrive(t *testing.T) {
	plain := frame(9, 3, 100)
	compact, wide, draft := csig.Config{Format: csig.FormatCompact}, csig.Config{Format: csig.FormatWide}, csig.Config{Format: csig.FormatCompact, Dialect: csig.Draft01}
	none, moved := csig.Config{}, csig.Config{Format: csig.FormatCompact, TPIDCompact: 0x9999}
	// tag returns one of a domain of its own, as a hop has left it.
	tag := func(c csig.Config) []byte {
		d, err := csig.NewDomain(c)
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, c.Format.Size())
		d.Init(b, csig.Delay)
		d.Update(b, 5000, 7)
		return b
	}
	noType := []byte{0x88, 0xb5, 0xff, 0xff}
	for name, tc := range map[string]struct {
		domain  *csig.Config
		arrives []byte
		want    []byte
		samples int64
	}{
		"compact":                         {&compact, tagged(plain, tag(compact)), plain, 1},
		"wide":                            {&wide, tagged(plain, tag(wide)), plain, 1},
		"jumbo":                           {&wide, tagged(frame(9, 3, 9014), tag(wide)), frame(9, 3, 9014), 1},
		"nothing behind it":               {&compact, tagged(frame(9, 3, 14), tag(compact)), frame(9, 3, 14), 1},
		"before a VLAN tag":               {&compact, tagged(vlan(plain, 0x8100), tag(compact)), vlan(plain, 0x8100), 1},
		"behind a VLAN tag":               {&compact, vlan(tagged(plain, tag(compact)), 0x8100), vlan(plain, 0x8100), 1},
		"between two":                     {&compact, vlan(tagged(vlan(plain, 0x8100), tag(compact)), 0x88a8), vlan(vlan(plain, 0x8100), 0x88a8), 1},
		"wide among compact":              {&compact, tagged(plain, tag(wide)), plain, 0},
		"compact among wide":              {&wide, tagged(plain, tag(compact)), plain, 0},
		"no type that there is":           {&draft, tagged(plain, noType), plain, 0},
		"in a domain without tags":        {&none, tagged(plain, tag(compact)), plain, 0},
		"second tag":                      {&compact, tagged(tagged(plain, tag(wide)), tag(compact)), tagged(tagged(plain, tag(wide)), tag(compact)), 0},
		"cut":                             {&compact, tagged(plain, tag(compact))[:17], tagged(plain, tag(compact))[:17], 0},
		"cut, wide":                       {&compact, tagged(plain, tag(wide))[:21], tagged(plain, tag(wide))[:21], 0},
		"another TPID":                    {&compact, tagged(plain, tag(moved)), tagged(plain, tag(moved)), 0},
		"standard TPID where it is moved": {&moved, tagged(plain, tag(compact)), tagged(plain, tag(compact)), 0},
		"behind three VLAN tags":          {&compact, vlans(tagged(plain, tag(compact)), 3), vlans(plain, 3), 1},
		"behind eight VLAN tags":          {&wide, vlans(tagged(plain, tag(wide)), 8), vlans(plain, 8), 1},
		"behind nine VLAN tags":           {&compact, vlans(tagged(plain, tag(compact)), 9), vlans(tagged(plain, tag(compact)), 9), 0},
		"before nine VLAN tags":           {&compact, tagged(vlans(plain, 9), tag(compact)), vlans(plain, 9), 1},
		"behind a SecTAG":                 {&compact, secTag(tagged(plain, tag(compact)), 0), secTag(plain, 0), 1},
		"behind ciphertext's SecTAG":      {&compact, secTag(tagged(plain, tag(compact)), 0x0c), secTag(tagged(plain, tag(compact)), 0x0c), 0},
		"without CSIG":                    {nil, tagged(plain, tag(compact)), tagged(plain, tag(compact)), 0},
	} {
		cfg := config()
		cfg.CSIG, cfg.Init = tc.domain, shim.Init{}
		r := newRig(t, cfg)
		r.receive(5, shim.NIC, tc.arrives)
		if got := r.out[shim.Application]; len(got) != 1 || !bytes.Equal(got[0], tc.want) {
			t.Errorf("%s: %x\nbecame %x", name, tc.arrives, got)
		}
		result := r.result(10)
		var samples int64
		for _, w := range r.records.Signals {
			samples += w.Samples
		}
		if samples != tc.samples {
			t.Errorf("%s: %d samples, want %d", name, samples, tc.samples)
		}
		several := int64(0)
		if name == "second tag" {
			several = 1
		}
		counts(t, result.Tags, map[string]int64{"delivered_several": several})
		// Ethernet's header and check sequence are no payload of the receiver's.
		if got := result.Receivers[1]; got.DeliveredWhole != 1 || got.MeasuredWire != int64(len(tc.want)+4)-12*several {
			t.Errorf("%s: %+v, want 1 packet of %d B", name, got, len(tc.want)+4)
		}
		counts(t, result.Drops, nil)
	}
}

// vlans returns frame with n C-tags put in front.
func vlans(frame []byte, n int) []byte {
	for range n {
		frame = vlan(frame, 0x8100)
	}
	return frame
}

// secTag returns frame with a SecTAG of MACsec, whose control bits are given.
func secTag(frame []byte, control byte) []byte {
	return tagged(frame, []byte{0x88, 0xe5, control, 0, 0, 0, 0, 1})
}

// A flood of questions is answered one by one and leaves nothing behind; it is
// neither recorded as a flow nor sent into the fabric.
func TestFloodOfQuestions(t *testing.T) {
	const questions = 10_000
	r := newRig(t, config())
	for range questions {
		r.receive(1, shim.Application, arp(t, everyone, 1, ip4(9)))
		r.receive(1, shim.Application, solicit(t, ip6(3), ip6(5), 255, true))
		r.receive(1, shim.Application, arp(t, everyone, 1, ip4(4)))
	}
	if n := len(r.out[shim.Application]); n != 2*questions || len(r.out[shim.NIC]) != 0 || r.pool.Out() != 0 {
		t.Errorf("%d answers, %d frames to the fabric, %d packets lost, want %d, 0, 0", n, len(r.out[shim.NIC]), r.pool.Out(), 2*questions)
	}
	result := r.result(2)
	counts(t, result.Programs, map[string]int64{"arp_answered": questions, "nd_answered": questions, "multicast": questions})
	if p := result.Ports[0]; p.EnqueuedPackets != 0 || result.Senders[0].Start != units.Never {
		t.Errorf("port %+v, sender %+v", p, result.Senders[0])
	}
}

// Nothing is allocated for a packet on its way.
func TestPacketsAllocateNothing(t *testing.T) {
	cfg := config()
	cfg.Queue = units.NoLimit
	cfg.Classes = []shim.Class{{Flow: 12, DSCPs: shim.AllDSCPs, Init: shim.Init{Sampling: csig.Sampling{Every: 3}, Signals: cfg.Init.Signals}}}
	pool := new(wire.Pool)
	s, err := shim.New(cfg, pool, metrics.Discard)
	if err != nil {
		t.Fatal(err)
	}
	d, err := csig.NewDomain(*cfg.CSIG)
	if err != nil {
		t.Fatal(err)
	}
	format := wire.Format{TPIDCompact: d.Config().TPIDCompact, TPIDWide: d.Config().TPIDWide, Raw: true}
	out, question := frame(3, 9, 1500), arp(t, everyone, 1, ip4(9))
	tag := make([]byte, 4)
	d.Init(tag, csig.Delay)
	d.Update(tag, 5000, 7)
	in := tagged(frame(9, 3, 1500), tag)
	pass := func(port int, f []byte, to int) {
		p := pool.Get()
		parse := p.Parse
		if port == shim.Application {
			parse = p.ParseRaw
		}
		if err := parse(f, format); err != nil {
			t.Fatal(err)
		}
		s.Receive(1, port, p)
		p, _, ok := s.Transmit(1, to)
		if !ok {
			t.Fatalf("%x: not sent", f)
		}
		pool.Put(p)
	}
	// Many packets together: less than one allocation per packet counts as none.
	const together = 100
	n := testing.AllocsPerRun(20, func() {
		for range together {
			pass(shim.Application, out, shim.NIC)
			pass(shim.NIC, in, shim.Application)
			pass(shim.Application, question, shim.Application)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations for %d packets, want none", n, 3*together)
	}
}

// No frame of the fabric makes the shim panic or lose a packet, and what the
// programs get is the frame without its tag.
func FuzzFabric(f *testing.F) {
	f.Add(frame(9, 3, 100), byte(0))
	f.Add(tagged(frame(9, 3, 60), []byte{0x88, 0xb5, 0xff, 0xff}), byte(1))
	f.Add(vlan(tagged(frame(5, 3, 20), []byte{0x88, 0xb6, 1, 2, 3, 4, 5, 6}), 0x8100), byte(2))
	f.Add(append(frame(9, 3, 12), 0x88, 0xb6, 0), byte(2))
	f.Fuzz(func(t *testing.T, b []byte, format byte) {
		cfg := config()
		cfg.CSIG = &csig.Config{Format: csig.Format(format % 3), Dialect: csig.Dialect(format / 3 % 2)}
		r := newRig(t, cfg)
		p := r.pool.Get()
		if p.Parse(b, r.format) != nil {
			return
		}
		var want wire.Packet
		want.Parse(b, r.format) //nolint:errcheck // it has been
		want.StripTag()
		r.Receive(0, 0, shim.NIC, p)
		if r.pool.Out() != 0 || len(r.out[shim.NIC]) != 0 {
			t.Fatalf("%x: %d packets are lost, sent %x", b, r.pool.Out(), r.out[shim.NIC])
		}
		for _, got := range r.out[shim.Application] {
			if want.Kind() != wire.Raw || !bytes.Equal(got, slices.Concat(want.Header(), want.Payload)) {
				t.Fatalf("%x: delivered %x", b, got)
			}
		}
		r.result(1)
	})
}
