package dataplane_test

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/switch/meter"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// Tags as they stand in frames, in hex: fresh ones, then some that a host could forge
// (docs/reference/references.md#worked-tags).
const (
	cTag, sTag = "81000001", "88a80002"
	secTag     = "88e5000000000001"
	encrypted  = "88e50c0000000001"
	delayTag   = "88b54000"
	abwTag     = "88b50f80"
	wideDelay  = "88b6000020000000"
	forged     = "88b549d2" // delay, bucket 19, locator 41
	frozen     = "88b549d3"
	noType     = "88b5d000"
)

// stacked returns a UDP frame of 500 B without its tags, from host 3 to host 1, with
// tags in front of the network layer.
func (r *rig) stacked(tags string) *wire.Packet {
	r.t.Helper()
	stack, err := hex.DecodeString(strings.ReplaceAll(tags, " ", ""))
	if err != nil {
		r.t.Fatal(err)
	}
	destination, source := wire.MAC(1, 0), wire.MAC(3, 0)
	frame := append(destination[:], source[:]...)
	frame = append(append(frame, stack...), 0x08, 0x00)
	frame = wire.AppendIPv4UDP(frame, wire.Datagram{Source: wire.HostIP(3), Destination: wire.HostIP(1), SourcePort: 50000, DestinationPort: 9, Length: 454})
	frame = append(frame, make([]byte, 454)...)
	p := r.pool.Get()
	if err := p.Parse(frame, wire.Format{Sizes: sizes, TPIDCompact: csig.DefaultTPIDCompact, TPIDWide: csig.DefaultTPIDWide, Raw: true}); err != nil {
		r.t.Fatal(err)
	}
	return p
}

// tagsOf returns what stands in front of the network layer.
func tagsOf(p *wire.Packet) string {
	frame := whole(p)
	return hex.EncodeToString(frame[12 : len(frame)-454-wire.UDPLen-wire.IPv4Len-2])
}

// "Ingress from outside of the domain: strip always": no tag comes in, whatever its
// type, format and place; what is left is the frame without them.
func TestOutside(t *testing.T) {
	for _, tc := range []struct {
		arrives, leaves string
		refused         int64
	}{
		{"", "", 0},
		{delayTag, "", 1},
		{forged, "", 1},
		{frozen, "", 1},
		{noType, "", 1},
		{wideDelay, "", 1},
		{cTag + forged, cTag, 1},
		{sTag + cTag + forged, sTag + cTag, 1},
		{sTag + forged + cTag, sTag + cTag, 1},
		{secTag + cTag + forged, secTag + cTag, 1},
		{forged + wideDelay, "", 2},
		{cTag + abwTag + sTag + forged + delayTag, cTag + sTag, 3},
		{forged + encrypted, encrypted, 1},
		{encrypted + forged, encrypted + forged, 0}, // which nobody can read
	} {
		cfg := withCSIG(config(), csig.FormatCompact)
		cfg.Ports[3].Ingress.Outside = true
		r := newRig(t, cfg)
		p := r.stacked(tc.arrives)
		r.receive(0, 3, p)
		r.Run(forever)
		if got := tagsOf(p); got != tc.leaves || len(r.Sent) != 1 || r.Sent[0].Port != 1 || p.Size != units.Size(500+len(tc.leaves)/2) {
			t.Errorf("%s: left as %s of %v, want %s", tc.arrives, got, p.Size, tc.leaves)
		}
		r.wants(nil, map[string]int64{"refused": tc.refused})
	}
}

// Where the peer is outside for one type, tags of other types come in.
func TestOutsideForOneType(t *testing.T) {
	for _, tc := range []struct {
		arrives, leaves string
		counts          map[string]int64
	}{
		{forged, "", map[string]int64{"refused": 1}},
		{cTag + forged, cTag, map[string]int64{"refused": 1}},
		{abwTag, "88b50f80", map[string]int64{"kept": 1}},
		{wideDelay, "", map[string]int64{"refused": 1}}, // of no type of this domain
		{noType, "", map[string]int64{"refused": 1}},
		// What is left is a frame with one tag, which is one of this domain.
		{forged + abwTag, "88b50f80", map[string]int64{"refused": 1, "kept": 1}},
		{abwTag + cTag + forged, "88b50f80" + cTag, map[string]int64{"refused": 1, "kept": 1}},
		{abwTag + forged + wideDelay, abwTag, map[string]int64{"refused": 2, "kept": 1}},
		{abwTag + forged + abwTag, abwTag + abwTag, map[string]int64{"refused": 1, "several": 1}},
	} {
		cfg := withCSIG(config(), csig.FormatCompact)
		cfg.Ports[3].Ingress.Refuses[csig.Delay] = true
		r := newRig(t, cfg)
		p := r.stacked(tc.arrives)
		r.receive(0, 3, p)
		r.Run(forever)
		if got := tagsOf(p); got != tc.leaves {
			t.Errorf("%s: left as %s, want %s", tc.arrives, got, tc.leaves)
		}
		r.wants(nil, tc.counts)
	}
}

// A tag is handled where it stands, by the parser that the conformance tests of
// nodes/csig hold; a frame with two tags is left alone and counted, under every policy
// (docs/reference/references.md#hop-update).
func TestStacks(t *testing.T) {
	for _, tc := range []struct {
		arrives, stripped, updated string
		outcome                    string // under policy update
	}{
		{delayTag, "", delayTag, "kept"},
		{cTag + delayTag, cTag, cTag + delayTag, "kept"},
		{sTag + cTag + delayTag, sTag + cTag, sTag + cTag + delayTag, "kept"},
		{sTag + delayTag + cTag, sTag + cTag, sTag + delayTag + cTag, "kept"},
		{secTag + cTag + delayTag, secTag + cTag, secTag + cTag + delayTag, "kept"},
		{sTag + cTag + abwTag, sTag + cTag, sTag + cTag + abwTag, "kept"},
		{forged + encrypted, encrypted, forged + encrypted, "kept"},
		{encrypted + cTag + forged, encrypted + cTag + forged, encrypted + cTag + forged, ""},
		{delayTag + abwTag, delayTag + abwTag, delayTag + abwTag, "several"},
		{cTag + forged + wideDelay, cTag + forged + wideDelay, cTag + forged + wideDelay, "several"},
		{noType + delayTag, noType + delayTag, noType + delayTag, "several"},
	} {
		for _, policy := range []dataplane.Policy{dataplane.Update, dataplane.Pass, dataplane.Strip, dataplane.Terminate} {
			cfg := withCSIG(config(), csig.FormatCompact)
			cfg.Pairs = []metrics.Pair{{Flow: 5, Source: 3, Destination: 1}}
			for i := range cfg.Ports[1].Policies {
				cfg.Ports[1].Policies[i] = policy
			}
			r := newRig(t, cfg)
			p := r.stacked(tc.arrives)
			r.receive(0, 3, p)
			r.Run(forever)
			want, outcome := tc.arrives, tc.outcome
			if tc.outcome == "kept" {
				want = map[dataplane.Policy]string{dataplane.Update: tc.updated, dataplane.Pass: tc.arrives, dataplane.Strip: tc.stripped, dataplane.Terminate: tc.stripped}[policy]
				outcome = []string{"kept", "passed", "stripped", "terminated"}[policy]
			}
			if got := tagsOf(p); got != want {
				t.Errorf("%s, policy %d: left as %s, want %s", tc.arrives, policy, got, want)
			}
			counts := map[string]int64{}
			if outcome != "" {
				counts[outcome] = 1
			}
			r.wants(nil, counts)
			if got := len(r.signals()); (got == 1) != (outcome == "terminated") {
				t.Errorf("%s, policy %d: %d samples with outcome %q", tc.arrives, policy, got, outcome)
			}
		}
	}
	// A tag behind VLAN tags gets the switch's value and locator in place.
	for _, front := range []string{"", cTag, sTag + cTag, secTag + cTag} {
		r := newRig(t, withCSIG(config(), csig.FormatCompact))
		first, p := r.data(1, 4150*4), r.stacked(front+delayTag)
		r.receive(0, 3, first, p)
		r.Run(forever)
		if got, want := tagsOf(p), front+"88b54116"; got != want { // bucket 2 of 500 ns: 1328 ns behind 16600 B, and 40 ns
			t.Errorf("behind %q: left as %s, want %s", front, got, want)
		}
		r.wants(nil, map[string]int64{"updated": 1})
	}
}

// The port where the domain ends is a hop: it writes what it measures into the tag, and the
// sample is of the whole path. Without a measurement of any hop there is no sample, as of a
// tag with D set, which no hop writes.
func TestTerminateUpdatesFirst(t *testing.T) {
	for i := range 2 * csig.Standard {
		format, signal := formats[i%2], i/2
		for _, tc := range []struct {
			name    string
			tag     func(d *csig.Domain, tag []byte)
			locator uint16
			outcome string
		}{
			{name: "fresh", locator: 11, outcome: "terminated"},
			{name: "better", tag: func(d *csig.Domain, tag []byte) { d.Update(tag, better(signal), 33) }, locator: 11, outcome: "terminated"},
			{name: "worse", tag: func(d *csig.Domain, tag []byte) { d.Update(tag, worst(signal), 33) }, locator: 33, outcome: "terminated"},
			{name: "frozen", tag: func(_ *csig.Domain, tag []byte) { tag[3] |= 1 }, outcome: "untouched"},
		} {
			cfg := withCSIG(config(), format)
			cfg.CSIG.Domain.Interval, cfg.CSIG.Phase = 8*units.Microsecond, meter.Aligned
			cfg.Ports[1].Policies[signal] = dataplane.Terminate
			dataLimit(&cfg, 64*4150)
			r := newRig(t, cfg)
			for range 55 { // a queue, and two windows of the meter that are full
				r.receive(0, 3, r.data(1, 4150))
			}
			p := r.tagged(1, 4150, signal)
			if tc.tag != nil {
				tc.tag(r.domain, p.Tag())
			}
			r.receive(1, 3, p)
			for range 4 {
				r.receive(2, 3, r.data(1, 4150))
			}
			r.Run(forever)
			r.wants(nil, map[string]int64{tc.outcome: 1})
			got := r.signals()
			if (len(got) == 1) != (tc.outcome == "terminated") || len(got) == 1 && got[0].Locator != uint32(tc.locator) || p.Tag() != nil {
				t.Errorf("%v %v, %s: samples %+v, tag %x; want locator %d", format, signal, tc.name, got, p.Tag(), tc.locator)
			}
		}
	}
}

// better and worst are raw values of a hop with little load, and with more than any has.
func better(t csig.Type) uint64 {
	return map[csig.Type]uint64{csig.ABW: 11_000_000_000, csig.ABWC: 900_000, csig.Delay: 700, csig.NQD: 40_000}[t]
}

func worst(t csig.Type) uint64 {
	return map[csig.Type]uint64{csig.ABW: 0, csig.ABWC: 0, csig.Delay: 1 << 40, csig.NQD: 1_000_000}[t]
}

// A port that is idle leaves a fresh tag as it is, and the sample says so: below the first
// edge of delay. A first value that is no code of the quantiser is none.
func TestTerminateAtAnIdlePort(t *testing.T) {
	cfg := withCSIG(config(), csig.FormatCompact)
	cfg.CSIG.Domain.Quantisers[csig.ABW].Name = "edges(0Gbps, 10Gbps, 50Gbps)"
	for i := range cfg.Ports[1].Policies {
		cfg.Ports[1].Policies[i] = dataplane.Terminate
	}
	r := newRig(t, cfg)
	r.receive(0, 3, r.tagged(1, 4150, csig.Delay))
	r.Run(forever)
	got := r.signals()
	if len(got) != 1 || got[0].Locator != 0 || got[0].LowSum != 0 || got[0].HighSum != 499 {
		t.Errorf("samples %+v, want one below 500 ns", got)
	}
	r = newRig(t, cfg)
	r.receive(0, 3, r.tagged(1, 4150, csig.ABW))
	r.Run(forever)
	if got := r.signals(); len(got) > 1 || len(got) == 1 && got[0].Locator != 11 {
		t.Errorf("samples %+v, want what the port measures", got)
	}
}

// A port may put tags on for a host that has none: on data of the transport and on raw
// frames, once what is refused is gone, and by its own sampling and types.
func TestInitAtIngress(t *testing.T) {
	cfg := withCSIG(config(), csig.FormatCompact)
	cfg.Ports[3].Ingress = dataplane.Ingress{Outside: true, Init: csig.All, Signals: []csig.Type{csig.ABW, csig.Delay}}
	r := newRig(t, cfg)
	transport, plain, behind, own, forgery, ack := r.data(1, 4150), r.stacked(""), r.stacked(cTag), r.tagged(1, 4150, csig.NQD), r.stacked(cTag+forged+frozen), r.ack(1)
	other := r.stacked("")
	r.receive(0, 3, transport, plain, behind, own, forgery, ack)
	r.receive(0, 0, other)
	r.Run(forever)
	for i, tc := range []struct {
		p     *wire.Packet
		front string
		t     csig.Type
	}{{transport, "", csig.ABW}, {plain, "", csig.Delay}, {behind, cTag, csig.ABW}, {own, "", csig.Delay}, {forgery, cTag, csig.ABW}} {
		if got, _ := r.domain.Peek(tc.p.Tag()); got != tc.t || tc.p.SecondTag() {
			t.Errorf("packet %d has tag %x, want type %v", i, tc.p.Tag(), tc.t)
		}
		if tc.p.Kind() == wire.Raw && !strings.HasPrefix(tagsOf(tc.p), tc.front+"88b5") {
			t.Errorf("packet %d has the stack %s, want a tag behind %q", i, tagsOf(tc.p), tc.front)
		}
	}
	if ack.Tag() != nil || other.Tag() != nil {
		t.Errorf("an ACK has tag %x, a frame of another port %x, want none", ack.Tag(), other.Tag())
	}
	tags := r.result().Tags
	if count(tags, "initiated") != 5 || count(tags, "refused") != 3 || count(tags, "updated")+count(tags, "kept") != 5 {
		t.Errorf("tags %v, want 5 put on, 3 refused", tags)
	}
}

// Sampling at a port is that of package csig, drawn from the port's own generator: the
// same in every run of a seed.
func TestInitIsSampled(t *testing.T) {
	run := func(seed uint64, init csig.Sampling) (tagged []int) {
		cfg := withCSIG(config(), csig.FormatCompact)
		cfg.Seed, cfg.Sizes.CountTag = seed, true
		cfg.Ports[3].Ingress = dataplane.Ingress{Init: init, Signals: []csig.Type{csig.Delay}}
		r := newRig(t, cfg)
		for i := range 400 {
			p := r.data(1, 4150)
			r.receive(units.Time(i)*units.Time(units.Microsecond), 3, p)
			if p.Tag() != nil {
				tagged = append(tagged, i)
			}
			if want := units.Size(4150 + len(p.Tag())); p.Size != want {
				t.Errorf("a packet with tag %x counts %v, want %v", p.Tag(), p.Size, want)
			}
		}
		if got := count(r.result().Tags, "initiated"); got != int64(len(tagged)) {
			t.Errorf("%d initiated, %d have a tag", got, len(tagged))
		}
		return tagged
	}
	a, b, other := run(1, csig.Sampling{Every: 4}), run(1, csig.Sampling{Every: 4}), run(2, csig.Sampling{Every: 4})
	if len(a) != 100 || len(other) != 100 || !bytes.Equal(bytesOf(a), bytesOf(b)) || bytes.Equal(bytesOf(a), bytesOf(other)) {
		t.Errorf("1 of 4 of 400 packets: %v, again %v, with another seed %v", a, b, other)
	}
	if got := run(1, csig.Sampling{Every: 1, Spacing: 10 * units.Microsecond}); len(got) != 40 {
		t.Errorf("at most one in 10 us over 400 us: %v", got)
	}
}

func bytesOf(list []int) (b []byte) {
	for _, v := range list {
		b = append(b, byte(v), byte(v>>8))
	}
	return b
}

func TestIngressThatIsRefused(t *testing.T) {
	for name, in := range map[string]dataplane.Ingress{
		"no signal":      {Init: csig.All},
		"unknown signal": {Init: csig.All, Signals: []csig.Type{9}},
	} {
		cfg := withCSIG(config(), csig.FormatCompact)
		cfg.Ports[2].Ingress = in
		if _, err := dataplane.New(cfg, new(wire.Pool), metrics.Discard); err == nil || !strings.Contains(err.Error(), "tor0: port 2") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// Neither removing tags nor putting one on allocates.
func TestNothingAllocatesAtTheEdge(t *testing.T) {
	cfg := withCSIG(config(), csig.FormatCompact)
	cfg.Records = units.Hour
	cfg.Ports[3].Ingress = dataplane.Ingress{Outside: true, Init: csig.Sampling{Every: 2}, Signals: []csig.Type{csig.Delay}}
	cfg.Ports[1].Policies[csig.Delay] = dataplane.Strip
	r := newRig(t, cfg)
	one, two := r.stacked(cTag+forged), r.stacked(forged+cTag+wideDelay)
	one.Payload, two.Payload = nil, nil
	pool := new(wire.Pool)
	sw, err := dataplane.New(cfg, pool, metrics.Discard)
	if err != nil {
		t.Fatal(err)
	}
	s, now := node.NewStepper(sw, len(cfg.Ports), metrics.Discard), units.Time(0)
	turn := func() {
		now += units.Time(units.Microsecond)
		for _, template := range []*wire.Packet{one, two} {
			p := pool.Get()
			*p = *template
			s.Receive(now, 3, p)
			for _, d := range s.Departures {
				pool.Put(d.Packet)
			}
			now += units.Time(units.Microsecond)
		}
	}
	for range 100 {
		turn()
	}
	if n := testing.AllocsPerRun(500, turn); n != 0 {
		t.Errorf("two frames cost %v allocations", n)
	}
}
