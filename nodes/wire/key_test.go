package wire_test

import (
	"bytes"
	"testing"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/wire"
)

// A frame keeps its key through whatever a switch or a router does to it, and another frame has
// another one.
func TestKey(t *testing.T) {
	parse := func(frame []byte) *wire.Packet {
		var p wire.Packet
		if err := p.ParseRaw(frame, open); err != nil {
			t.Fatal(err)
		}
		return &p
	}
	key := func(p *wire.Packet) uint64 { return p.Key(p.Payload) }
	domain, err := csig.NewDomain(csig.Config{Format: csig.FormatWide, TPIDCompact: tpidCompact, TPIDWide: tpidWide})
	if err != nil {
		t.Fatal(err)
	}
	r, seed := random()
	frames, keys := rawFrames(t, r), map[uint64]string{}
	for _, name := range []string{"TCP", "TCP ACK", "UDP", "ICMP", "IPv4 options", "first fragment", "later fragment", "IPv6 TCP", "IPv6 UDP", "IPv6 extension", "another EtherType"} {
		f := frames[name]
		p := parse(f)
		was := key(p)
		if other, taken := keys[was]; taken {
			t.Errorf("seed %d: %s has the key of %s", seed, name, other)
		}
		keys[was] = name
		for what, change := range map[string]func(p *wire.Packet){
			"addresses": func(p *wire.Packet) { p.SetMACs([6]byte{2, 1}, [6]byte{2, 2}) },
			"a mark":    func(p *wire.Packet) { p.MarkCE() },
			"a tag":     func(p *wire.Packet) { domain.Init(p.InsertTag(8), csig.Delay) },
		} {
			changed := parse(f)
			change(changed)
			if key(changed) != was || key(parse(wholeOf(changed))) != was {
				t.Errorf("seed %d: %s has another key behind %s", seed, name, what)
			}
		}
		if p.EtherType() == wire.EtherTypeIPv4 {
			routed := bytes.Clone(f)
			routed[14+8]--  // TTL
			routed[14+10]++ // header checksum, as RFC 1624 has it
			if key(parse(append(routed, make([]byte, 9)...))) != was {
				t.Errorf("seed %d: %s has another key behind a router that pads it", seed, name)
			}
		}
		for _, at := range []int{14 + 5, len(f) - 1} {
			changed := bytes.Clone(f)
			changed[at] ^= 1
			if len(f) > 60 && at < 14+256 && key(parse(changed)) == was { // shorter ones are padded
				t.Errorf("seed %d: %s with another byte %d has its key", seed, name, at)
			}
		}
	}
}
