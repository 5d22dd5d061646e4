package dataplane_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

var formats = []csig.Format{csig.FormatCompact, csig.FormatWide}

// docs/reference/references.md#per-hop-delay: 332 ns through an idle switch, 664 ns behind one
// full packet; and the same with waiting only.
func TestDelayCodes(t *testing.T) {
	for _, format := range formats {
		for _, mode := range []dataplane.DelayMode{dataplane.Residence, dataplane.Wait} {
			for _, own := range []units.Duration{0, 500 * units.Nanosecond} {
				cfg := withCSIG(config(), format)
				cfg.CSIG.Delay, cfg.Delay = mode, own
				r := newRig(t, cfg)
				idle, behind := r.tagged(1, 4150, csig.Delay), r.tagged(1, 4150, csig.Delay)
				r.receive(1_000_000, 3, idle, behind)
				r.Run(forever)
				for i, p := range []*wire.Packet{idle, behind} {
					// Residence: waiting, own serialisation, the switch's own delay.
					ns := uint64(332 * (i + 1))
					if own > 0 {
						ns += 500
					}
					if mode == dataplane.Wait {
						ns = uint64(332 * i)
					}
					want := r.domain.Config() // the code that a fresh tag gets for ns
					tag := make([]byte, format.Size())
					r.domain.Init(tag, csig.Delay)
					r.domain.Update(tag, ns, cfg.Ports[1].Locator)
					if !bytes.Equal(p.Tag(), tag) {
						t.Errorf("%v, mode %d, switch delay %v, packet %d: tag %x, want %x for %d ns", want.Format, mode, own, i, p.Tag(), tag, ns)
					}
				}
			}
		}
	}
}

// The same figures, as codes that this test works out itself: 500 ns buckets
// compact, 16 ns steps wide.
func TestDelayCodesByHand(t *testing.T) {
	for format, codes := range map[csig.Format][2]uint32{csig.FormatCompact: {0, 1}, csig.FormatWide: {332 / 16, 664 / 16}} {
		r := newRig(t, withCSIG(config(), format))
		idle, behind := r.tagged(1, 4150, csig.Delay), r.tagged(1, 4150, csig.Delay)
		r.receive(0, 3, idle, behind)
		r.Run(forever)
		for i, p := range []*wire.Packet{idle, behind} {
			tag, err := r.domain.ParseTag(p.Tag())
			if err != nil || tag.Signal != codes[i] {
				t.Errorf("%v, packet %d: code %d, %v, want %d", format, i, tag.Signal, err, codes[i])
			}
		}
	}
}

func TestSignals(t *testing.T) {
	for _, format := range formats {
		cfg := withCSIG(config(), format)
		r := newRig(t, cfg)
		const window = units.Time(128 * units.Microsecond)
		// The first window carries 100 packets, 415000 B of 1600000 B.
		for i := range 100 {
			r.receive(units.Time(i)*units.Time(units.Microsecond), 3, r.data(1, 4150))
		}
		// Later, five packets: two of them queue behind the one that is measured.
		packets := map[csig.Type]*wire.Packet{}
		want := map[csig.Type]uint64{
			csig.ABW:  12_500_000_000 - 415_000*7_812_500/1000,
			csig.ABWC: 1_000_000 - 259_375,
			csig.NQD:  2 * 1_000_000 / 10,
		}
		now := window + 1000
		for t := range want {
			packets[t] = r.tagged(1, 4150, t)
			r.receive(now, 3, r.data(1, 4150), packets[t], r.data(1, 4150), r.data(1, 4150))
			r.Run(now + 10*full)
			now += 20 * full
		}
		for typ, raw := range want {
			tag := make([]byte, format.Size())
			r.domain.Init(tag, typ)
			r.domain.Update(tag, raw, cfg.Ports[1].Locator)
			if !bytes.Equal(packets[typ].Tag(), tag) {
				t.Errorf("%v %v: tag %x, want %x for %d", format, typ, packets[typ].Tag(), tag, raw)
			}
		}
	}
}

func TestPolicies(t *testing.T) {
	for _, format := range formats {
		for policy, outcome := range map[dataplane.Policy]string{
			dataplane.Update: "updated", dataplane.Pass: "passed", dataplane.Strip: "stripped", dataplane.Terminate: "terminated",
		} {
			cfg := withCSIG(config(), format)
			cfg.Ports[1].Policies[csig.Delay] = policy
			r := newRig(t, cfg)
			first, p := r.data(1, 4150), r.tagged(1, 4150, csig.Delay)
			fresh := bytes.Clone(p.Tag())
			r.receive(0, 3, first, p)
			r.Run(forever)
			r.wants(nil, map[string]int64{outcome: 1})
			switch policy {
			case dataplane.Update:
				if tag, err := r.domain.ParseTag(p.Tag()); err != nil || tag.Locator != 11 || bytes.Equal(p.Tag(), fresh) {
					t.Errorf("%v: update left %x (%+v, %v)", format, p.Tag(), tag, err)
				}
			case dataplane.Pass:
				if !bytes.Equal(p.Tag(), fresh) {
					t.Errorf("%v: pass left %x, want %x", format, p.Tag(), fresh)
				}
			default:
				if p.Tag() != nil {
					t.Errorf("%v: policy %d left tag %x", format, policy, p.Tag())
				}
			}
			if got := len(r.signals()); (got == 1) != (policy == dataplane.Terminate) {
				t.Errorf("%v: policy %d recorded %d postcards", format, policy, got)
			}
			if err := valid(p, r.domain); err != nil {
				t.Errorf("%v: policy %d: %v", format, policy, err)
			}
		}
	}
}

// Policies are per type: another type of tag is updated.
func TestPolicyIsPerType(t *testing.T) {
	cfg := withCSIG(config(), csig.FormatCompact)
	cfg.Ports[1].Policies[csig.NQD] = dataplane.Strip
	r := newRig(t, cfg)
	r.receive(0, 3, r.tagged(1, 4150, csig.NQD), r.tagged(1, 4150, csig.Delay))
	r.Run(forever)
	if r.Sent[0].Packet.Tag() != nil || r.Sent[1].Packet.Tag() == nil {
		t.Errorf("tags %x, %x, want none and one", r.Sent[0].Packet.Tag(), r.Sent[1].Packet.Tag())
	}
}

func TestTerminateRecordsTheSample(t *testing.T) {
	cfg := withCSIG(config(), csig.FormatWide)
	cfg.Ports[1].Policies[csig.Delay] = dataplane.Terminate
	r := newRig(t, cfg)
	p := r.tagged(1, 4150, csig.Delay)
	r.domain.Update(p.Tag(), 1600, 33)
	r.receive(0, 3, p)
	w := r.signals()
	if len(w) != 1 || w[0].Flow != 1 || w[0].Locator != 33 || w[0].Samples != 1 || w[0].PointMin < 1600 || w[0].PointMax >= 1616 {
		t.Errorf("postcards %+v, want flow 1, locator 33, 1600 to 1615 ns", w)
	}
}

// With count_tag a stripped packet is charged its tag for the last time, and is
// then what a parser makes of its bytes.
func TestStripWithCountedTag(t *testing.T) {
	counted := wire.Sizes{Header: 64, CountTag: true}
	cfg := withCSIG(config(), csig.FormatWide)
	cfg.Sizes = counted
	cfg.Ports[1].Policies[csig.Delay] = dataplane.Strip
	r := newRig(t, cfg)
	p := r.tagged(1, 4150, csig.Delay)
	p.Size = counted.Of(p)
	r.receive(0, 3, p)
	if d := r.Sent[0]; d.Departs != units.Time(4158*80) || p.Size != 4150 {
		t.Errorf("departs at %d with %v, want %d and 4150 B after", d.Departs, p.Size, 4158*80)
	}
	if got := r.port(1); got.EnqueuedBytes != 4158 || got.TxBytes != 4158 {
		t.Errorf("%d B in, %d B out, want 4158", got.EnqueuedBytes, got.TxBytes)
	}
}

// The D rule at the hop that trims: D is set, and with force_local the worst
// code and the trimming port's locator are written; later hops leave it.
func TestTrimmingSetsD(t *testing.T) {
	for _, format := range formats {
		for _, rule := range []csig.TrimRule{csig.TrimForceLocal, csig.TrimMeasured, csig.TrimNone} {
			cfg := withCSIG(config(), format)
			cfg.CSIG.Domain.TrimRule = rule
			dataLimit(&cfg, 4150)
			r := newRig(t, cfg)
			a, b := r.tagged(1, 4150, csig.Delay), r.tagged(1, 4150, csig.Delay)
			fresh := bytes.Clone(a.Tag())
			r.receive(0, 3, r.data(1, 4150), a, b)
			trimmed := a
			if b.Trimmed() {
				trimmed = b
			}
			got, err := r.domain.ParseTag(trimmed.Tag())
			if err != nil || !trimmed.Trimmed() || !got.DoNotUpdate {
				t.Fatalf("%v: %+v, %v, want a trimmed packet with D", format, got, err)
			}
			want := bytes.Clone(fresh)
			measured := uint64(332) // a: serialised at the ingress, with nothing before it in the queue
			if trimmed == b {
				measured += 332 // behind a
			}
			r.domain.Trim(want, measured, cfg.Ports[1].Locator)
			if !bytes.Equal(trimmed.Tag(), want) {
				t.Errorf("%v, %v: tag %x, want %x", format, rule, trimmed.Tag(), want)
			}
			if rule == csig.TrimForceLocal && got.Locator != cfg.Ports[1].Locator {
				t.Errorf("%v: locator %d, want the trimming port's", format, got.Locator)
			}
			r.Run(forever)
			r.wants(nil, map[string]int64{"frozen": 1, "updated": count(r.result().Tags, "updated"), "kept": count(r.result().Tags, "kept")})
			if !bytes.Equal(trimmed.Tag(), want) {
				t.Errorf("%v, %v: the tag moved to %x after trimming", format, rule, trimmed.Tag())
			}
		}
	}
}

// A port that only passes tags leaves them alone when it trims, too.
func TestTrimmingPassesTags(t *testing.T) {
	cfg := withCSIG(config(), csig.FormatCompact)
	cfg.Ports[1].Policies[csig.Delay] = dataplane.Pass
	dataLimit(&cfg, 4150)
	r := newRig(t, cfg)
	a, b := r.tagged(1, 4150, csig.Delay), r.tagged(1, 4150, csig.Delay)
	fresh := bytes.Clone(a.Tag())
	r.receive(0, 3, r.data(1, 4150), a, b)
	r.Run(forever)
	if !bytes.Equal(a.Tag(), fresh) || !bytes.Equal(b.Tag(), fresh) || a.Trimmed() == b.Trimmed() {
		t.Errorf("tags %x, %x (trimmed %v, %v), want %x", a.Tag(), b.Tag(), a.Trimmed(), b.Trimmed(), fresh)
	}
}

// What comes from outside the domain has its tag removed; untagged packets and
// other ports are left alone.
func TestOutsidePortRefusesTags(t *testing.T) {
	cfg := withCSIG(config(), csig.FormatCompact)
	cfg.Ports[0].Ingress.Outside = true
	r := newRig(t, cfg)
	fromOutside, inside := r.tagged(1, 4150, csig.Delay), r.tagged(2, 4150, csig.Delay)
	r.receive(0, 0, fromOutside, r.data(1, 4150))
	r.receive(0, 3, inside)
	r.Run(forever)
	if fromOutside.Tag() != nil || inside.Tag() == nil {
		t.Errorf("tags %x from outside, %x from inside, want none and one", fromOutside.Tag(), inside.Tag())
	}
	tags := r.result().Tags
	if count(tags, "refused") != 1 || count(tags, "updated")+count(tags, "kept") != 1 {
		t.Errorf("tags %v, want one refused and one handled", tags)
	}
}

// "A hop without CSIG is legal": tags cross it untouched.
func TestWithoutCSIGTagsPass(t *testing.T) {
	r := newRig(t, config())
	p, q := r.tagged(1, 4150, csig.Delay), r.tagged(1, 4150, csig.ABW)
	want := [][]byte{bytes.Clone(p.Tag()), bytes.Clone(q.Tag())}
	r.receive(0, 3, r.data(1, 4150), p, q)
	r.Run(forever)
	if !bytes.Equal(p.Tag(), want[0]) || !bytes.Equal(q.Tag(), want[1]) {
		t.Errorf("tags %x, %x, want %x", p.Tag(), q.Tag(), want)
	}
	r.wants(nil, nil)
}

func TestUnknownTypePasses(t *testing.T) {
	r := newRig(t, withCSIG(config(), csig.FormatCompact))
	p := r.tagged(1, 4150, csig.Delay)
	p.Tag()[2] |= 0x80 // type 6
	want := bytes.Clone(p.Tag())
	r.receive(0, 3, p)
	if !bytes.Equal(p.Tag(), want) {
		t.Errorf("tag %x, want %x", p.Tag(), want)
	}
	r.wants(nil, map[string]int64{"unknown": 1})
}

func TestParse(t *testing.T) {
	for text, want := range map[string]dataplane.Policy{
		"update": dataplane.Update, "pass": dataplane.Pass, "strip": dataplane.Strip, "terminate": dataplane.Terminate,
	} {
		if got, err := dataplane.ParsePolicy(text); err != nil || got != want {
			t.Errorf("ParsePolicy(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	if _, err := dataplane.ParsePolicy("drop"); err == nil {
		t.Error(`ParsePolicy("drop") succeeded`)
	}
}

func ExampleNew() {
	pool := new(wire.Pool)
	sw, err := dataplane.New(config(), pool, metrics.Discard)
	if err != nil {
		fmt.Println(err)
		return
	}
	p := pool.Get()
	p.Build(wire.Addresses{Source: wire.HostIP(3), Destination: wire.HostIP(1)}, wire.Data, 0, wire.ECT0, 4086)
	p.SetData(0, 5, 1)
	p.Size = sizes.Of(p)
	sw.Receive(0, 3, p)
	port := sw.Ready().NextWithout(make(node.PortSet, 1), 0)
	sent, departs, _ := sw.Transmit(0, port)
	fmt.Println("port", port, "sends", sent, "until", departs)
	// Output: port 1 sends data flow 0 psn 5 until 332ns
}
