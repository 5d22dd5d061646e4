package generator_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/generator"
	"github.com/csiglab/csiglab/nodes/node/nodetest"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// config is host 3, which sends streams to host 5, at 100 Gb/s.
func config(streams ...generator.Stream) generator.Config {
	return generator.Config{
		Node: 3, Name: "h3", Rate: 100 * units.Gbps, Queue: 100 * units.KB,
		Format:  wire.Format{Sizes: wire.Sizes{Header: 64}, TPIDCompact: csig.DefaultTPIDCompact, TPIDWide: csig.DefaultTPIDWide, Raw: true},
		Streams: streams,
		Pairs:   []metrics.Pair{{Flow: 7, Source: 3, Destination: 5}, {Flow: 8, Source: 5, Destination: 3}},
		Measure: metrics.Span{To: units.Never},
		Records: 100 * units.Microsecond,
	}
}

func run(t *testing.T, cfg generator.Config) *nodetest.Rig {
	t.Helper()
	r := nodetest.New(t)
	nodetest.Add(r, generator.Ports, generator.New, cfg)
	r.Run(units.Never)
	return r
}

const forever = units.Time(units.Hour)

// A stream has its rate exactly, also where a frame does not take a whole number of
// picoseconds, and its count; every is a step.
func TestRate(t *testing.T) {
	for _, tc := range []struct {
		s    generator.Stream
		last units.Time // start of the last frame
	}{
		{generator.Stream{To: 5, Size: 1000, Rate: 50 * units.Gbps, Count: 1001}, 1000 * 160 * units.Time(units.Nanosecond)},
		{generator.Stream{To: 5, Size: 64, Rate: 30 * units.Gbps, Count: 30001}, 512 * units.Time(units.Microsecond)},
		{generator.Stream{To: 5, Size: 1500, Rate: 7 * units.Kbps, Count: 8}, units.Time(12 * units.Second)},
		{generator.Stream{To: 5, Size: 64, Every: 3 * units.Microsecond, Count: 5, Start: 70}, 70 + units.Time(12*units.Microsecond)},
	} {
		r := run(t, config(tc.s))
		n := len(r.Sent)
		if n != int(tc.s.Count) || r.Sent[0].At != tc.s.Start || r.Sent[n-1].At != tc.last {
			t.Errorf("%+v: %d frames from %v to %v, want the last at %v", tc.s, n, r.Sent[0].At, r.Sent[n-1].At, tc.last)
		}
		got := r.Nodes[0].Totals(forever)
		if len(got.Senders) != 1 || got.Senders[0].Flow != 7 || got.Senders[0].NewPackets != tc.s.Count || got.Ports[0].TxBytes != tc.s.Count*int64(tc.s.Size) {
			t.Errorf("%+v: senders %+v, port %+v", tc.s, got.Senders, got.Ports[0])
		}
	}
}

// Streams of one host share its queue, which drops what does not fit.
func TestQueue(t *testing.T) {
	cfg := config(
		generator.Stream{To: 5, Size: 1500, Rate: 100 * units.Gbps, Count: 1000},
		generator.Stream{To: 5, Size: 1500, Rate: 100 * units.Gbps, Count: 1000},
	)
	r := run(t, cfg)
	got := r.Nodes[0].Totals(forever)
	port := got.Ports[0]
	if port.EnqueuedPackets != 2000 || port.DroppedPackets == 0 || port.TxPackets+port.DroppedPackets != 2000 || port.QueueMax > 100_000 {
		t.Errorf("port %+v", port)
	}
	nodetest.Counts(t, "drops", got.Drops, map[string]int64{"NIC queue full": port.DroppedPackets})
}

// Bytes of stacks, from docs/reference/references.md#tag-position and the layouts of IEEE 802.1Q
// and 802.1AE §9.3.
func TestStacks(t *testing.T) {
	compact := csig.Config{Format: csig.FormatCompact}
	for _, tc := range []struct {
		text   string
		domain csig.Config
		want   string
	}{
		{"", compact, ""},
		{"csig:delay", compact, "88b54000"},
		{"csig:abw", compact, "88b50f80"},
		{"csig:delay", csig.Config{}, "88b54000"},
		{"csig:delay:19/41", compact, "88b549d2"},
		{"csig:delay:19/41:d", compact, "88b549d3"},
		{"csig:2:19/41", compact, "88b549d2"},
		{"csig:5:21/21", compact, "88b5aaaa"},
		{"csig:delay:1125/20551:wide", compact, "88b6a08e20046500"},
		{"csig:abw-c:0x17/0x05:draft-01:0x9900", compact, "99002b85"},
		{"csig:delay:wide:0x88b5", csig.Config{}, "88b5000020000000"},
		{"c-tag:100 csig:delay:19/41", compact, "8100006488b549d2"},
		{"s-tag:200 c-tag csig:abw", compact, "88a800c88100000188b50f80"},
		{"macsec c-tag csig:abw", compact, "88e50000000000018100000188b50f80"},
		{"macsec:encrypted csig:abw", compact, "88e50c000000000188b50f80"},
		{"csig:abw csig:delay:wide", compact, "88b50f8088b6000020000000"},
	} {
		got, err := generator.ParseStack(tc.text, tc.domain)
		if err != nil || hex.EncodeToString(got) != tc.want {
			t.Errorf("%q: %x, %v, want %s", tc.text, got, err, tc.want)
		}
	}
	for text, want := range map[string]string{
		"vlan":                       `"vlan": want a list of c-tag, s-tag`,
		"c-tag:4095":                 `VLAN "4095" is not a number from 0 to 4094`,
		"macsec:open":                `"open" is not encrypted`,
		"csig:":                      "signal type: none given",
		"csig:speed":                 `signal type "speed": unknown`,
		"csig:delay:32/1":            "signal 32 above 31",
		"csig:delay:1/64":            "locator 64 above 63",
		"csig:delay:d:draft-01":      "has no D bit",
		"csig:delay:0x0800":          "means another protocol",
		"csig:delay:x/1":             `"x/1" is not a signal and a locator`,
		"csig:delay:fast":            `"fast" is not SIGNAL/LOCATOR, d, a format, a dialect or a TPID`,
		strings.Repeat("c-tag ", 11): "44 B of tags; the most is 40",
	} {
		if got, err := generator.ParseStack(text, compact); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %x, %v, want an error with %q", text, got, err, want)
		}
	}
}

// Frames are whole Ethernet frames of the declared size with the stack in place: the
// same that a parser of real frames makes of their bytes. Their source ports spread
// them, and each is another.
func TestFrames(t *testing.T) {
	for _, text := range []string{
		"", "csig:delay", "c-tag csig:delay", "s-tag c-tag csig:delay:3/5:wide", "macsec c-tag csig:delay", "macsec:encrypted c-tag",
		"csig:delay csig:abw:wide", "csig:0:wide csig:1:wide csig:2:wide csig:3:wide",
	} {
		for _, size := range []units.Size{64, 100, 150, 1500, 9000} {
			stack, err := generator.ParseStack(text, csig.Config{Format: csig.FormatCompact})
			if err != nil {
				t.Fatal(err)
			}
			cfg := config(generator.Stream{To: 5, Size: size, Every: units.Microsecond, Count: 6, Stack: stack, DSCP: 10, Paths: 3})
			frames := map[string]bool{}
			for i, d := range run(t, cfg).Sent {
				p := d.Packet
				frame := append(bytes.Clone(p.Header()), make([]byte, p.PayloadLen)...)
				frames[string(frame)] = true
				var parsed wire.Packet
				if err := parsed.Parse(frame, cfg.Format); err != nil || parsed.Size != p.Size || !bytes.Equal(parsed.Header(), p.Header()) || parsed.PayloadLen != p.PayloadLen {
					t.Errorf("%q of %v: %v, %v differs from its own bytes", text, size, err, p)
				}
				if len(frame) != int(size)-4+len(stack) || !bytes.Equal(frame[12:12+len(stack)], stack) {
					t.Errorf("%q of %v: frame %x", text, size, frame)
				}
				ip := frame[14+len(stack):]
				if !wire.ValidIPv4(ip) || int(ip[2])<<8+int(ip[3]) != int(size)-18 || ip[1] != 10<<2 ||
					int(ip[20])<<8+int(ip[21]) != wire.EntropyBase+i%3 || int(ip[24])<<8+int(ip[25]) != int(size)-38 {
					t.Errorf("%q of %v: frame %d is %x", text, size, i, ip)
				}
			}
			if len(frames) != 6 {
				t.Errorf("%q of %v: %d different frames, want 6", text, size, len(frames))
			}
		}
	}
}

// received builds a frame from host 5 to host 3 and lets change it.
func received(t *testing.T, stack string, change func(frame []byte)) *wire.Packet {
	t.Helper()
	tags, err := generator.ParseStack(stack, csig.Config{Format: csig.FormatCompact})
	if err != nil {
		t.Fatal(err)
	}
	cfg := config(generator.Stream{To: 3, Size: 500, Every: 1, Count: 1, Stack: tags})
	cfg.Node = 5
	p := run(t, cfg).Sent[0].Packet
	frame := append(bytes.Clone(p.Header()), make([]byte, p.PayloadLen)...)
	change(frame)
	q := new(wire.Packet)
	if err := q.Parse(frame, cfg.Format); err != nil {
		t.Fatal(err)
	}
	return q
}

// What arrives is checked, and counted by source and by the tags that it still has.
func TestReceive(t *testing.T) {
	same := func([]byte) {}
	for _, tc := range []struct {
		name, stack string
		change      func(frame []byte)
		drops, tags map[string]int64
	}{
		{"plain", "", same, nil, nil},
		{"tag", "c-tag csig:delay", same, nil, map[string]int64{"delivered": 1}},
		{"two tags", "csig:delay csig:abw", same, nil, map[string]int64{"delivered_several": 1}},
		{"encrypted", "macsec:encrypted csig:delay", same, nil, nil},
		{"other source", "", func(f []byte) { f[9] = 4 }, map[string]int64{"not my address": 1}, nil},
		{"other destination", "", func(f []byte) { f[3] = 4 }, map[string]int64{"not my address": 1}, nil},
		{"wrong checksum", "", func(f []byte) { f[25]++ }, map[string]int64{"damaged frame": 1}, nil},
		{"wrong payload", "", func(f []byte) { f[300] = 1 }, map[string]int64{"damaged frame": 1}, nil},
		{"transport", "", nil, map[string]int64{"unexpected kind": 1}, nil},
	} {
		r := nodetest.New(t)
		nodetest.Add(r, generator.Ports, generator.New, config())
		p := new(wire.Packet)
		if tc.change == nil {
			p = nodetest.Data(r.Nodes[0].Pool, 5, 3, 1, 0, 500)
		} else {
			p = received(t, tc.stack, tc.change)
		}
		r.Receive(1, 0, 0, p)
		got := r.Nodes[0].Totals(forever)
		nodetest.Counts(t, tc.name+": drops", got.Drops, tc.drops)
		nodetest.Counts(t, tc.name+": tags", got.Tags, tc.tags)
		if len(got.Receivers) != 1 || got.Receivers[0].Flow != 8 || (got.Receivers[0].DeliveredWhole == 1) != (tc.drops == nil) {
			t.Errorf("%s: receivers %+v", tc.name, got.Receivers)
		}
	}
}

func TestConfigurationsThatAreRefused(t *testing.T) {
	good := generator.Stream{To: 5, Size: 100, Every: 1, Count: 1}
	with := func(change func(s *generator.Stream)) generator.Config {
		s := good
		change(&s)
		return config(s)
	}
	for name, cfg := range map[string]generator.Config{
		"small":         with(func(s *generator.Stream) { s.Size = 63 }),
		"no step":       with(func(s *generator.Stream) { s.Every = 0 }),
		"no such flow":  with(func(s *generator.Stream) { s.To = 6 }),
		"DSCP":          with(func(s *generator.Stream) { s.DSCP = 64 }),
		"stack too big": with(func(s *generator.Stream) { s.Stack = bytes.Repeat([]byte{0x81, 0, 0, 1}, 30) }),
		"no rate":       {Node: 3},
		"foreign pair":  func() generator.Config { c := config(); c.Pairs[0].Source = 4; return c }(),
		"pair twice":    func() generator.Config { c := config(); c.Pairs[1] = c.Pairs[0]; return c }(),
	} {
		if _, err := generator.New(cfg, new(wire.Pool), metrics.Discard); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// The packet path allocates nothing.
func TestNothingIsAllocated(t *testing.T) {
	stack, err := generator.ParseStack("c-tag csig:delay", csig.Config{Format: csig.FormatCompact})
	if err != nil {
		t.Fatal(err)
	}
	cfg := config(generator.Stream{To: 5, Size: 1500, Every: units.Microsecond, Stack: stack})
	cfg.Records = units.Second
	pool := new(wire.Pool)
	g, err := generator.New(cfg, pool, metrics.Discard)
	if err != nil {
		t.Fatal(err)
	}
	arriving := received(t, "csig:delay", func([]byte) {})
	// Many frames together: less than one allocation per frame counts as none.
	const together = 100
	if n := testing.AllocsPerRun(20, func() {
		for range together {
			now := g.NextTimeout()
			g.HandleTimeout(now)
			p, _, ok := g.Transmit(now, generator.NIC)
			if !ok {
				t.Fatal("nothing to send")
			}
			pool.Put(p)
			p = pool.Get()
			*p = *arriving
			p.Payload = nil
			g.Receive(now, generator.NIC, p)
		}
	}); n != 0 {
		t.Errorf("%v allocations for %d frames sent and as many received", n, together)
	}
}

func ExampleNew() {
	g, err := generator.New(generator.Config{
		Node: 0, Name: "h0", Rate: 100 * units.Gbps, Queue: 100 * units.KB, Records: units.Millisecond,
		Streams: []generator.Stream{{To: 1, Start: 5, Rate: 50 * units.Gbps, Size: 1500}},
		Pairs:   []metrics.Pair{{Flow: 0, Source: 0, Destination: 1}},
	}, new(wire.Pool), metrics.Discard)
	if err != nil {
		fmt.Println(err)
		return
	}
	g.HandleTimeout(5)
	p, departs, _ := g.Transmit(5, generator.NIC)
	fmt.Printf("%v until %v, the next at %v\n", p.Size, departs, g.NextTimeout())
	// Output: 1.5kB until 120.005ns, the next at 240.005ns
}

func ExampleParseStack() {
	stack, err := generator.ParseStack("s-tag:200 c-tag:100 csig:delay:31/5", csig.Config{Format: csig.FormatCompact})
	fmt.Printf("%x %v\n", stack, err)
	// Output: 88a800c88100006488b54f8a <nil>
}
