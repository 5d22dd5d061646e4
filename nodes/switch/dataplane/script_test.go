package dataplane_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/node/nodetest"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// TestScripts plays testdata/*.txt (the rules: docs/reference/references.md#switch-queue): packets that come to one port of a switch at
// 100 Gb/s, and what the port does with them. A line is
//
//	# a comment
//	port KEY=VALUE…                  a fresh switch, see configure
//	TIME in NAME data SIZE [FLAG…]   a data packet arrives
//	TIME in NAME ack [FLAG…]         a control packet arrives
//	  TIME out NAME SIZE [CE] [trimmed], leaves QUEUE
//	                                 the port starts to send; the data queue behind it
//	  TIME trim NAME                 a packet loses its payload
//	  TIME drop NAME: REASON         a packet is dropped
//	  end COUNTERS                   of the port, when all is sent
//
// Lines that begin with two spaces are the trace: all that follows from the other
// lines, and nothing else. A FLAG is not-ect (the sender does not know ECN) or ce
// (the packet is marked).
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { play(t, file) })
	}
}

func play(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var p *player
	want := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	var got []string
	finish := func() {
		if p != nil {
			p.checkRest()
			got = append(got, p.log...)
		}
	}
	for n, line := range want {
		var err error
		switch {
		case line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "  "):
			continue
		case strings.HasPrefix(line, "port"):
			finish()
			var cfg dataplane.Config
			if cfg, err = configure(strings.Fields(line)[1:]); err == nil {
				p = newPlayer(t, cfg)
				p.log = append(p.log, line)
			}
		default:
			err = p.in(line)
		}
		if err != nil {
			t.Fatalf("%s:%d: %v", file, n+1, err)
		}
	}
	finish()
	want = slices.DeleteFunc(want, func(line string) bool { return line == "" || strings.HasPrefix(line, "#") })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// configure returns the configuration of a switch by the words of a line: the
// queues' limits (data, control), the AQM (aqm, low, high), whether to trim (trim)
// and the seed of the coin (seed).
func configure(words []string) (cfg dataplane.Config, err error) {
	cfg = config()
	var port dataplane.Port // whose limits and thresholds all ports get
	port.Buffer = cfg.Ports[0].Buffer
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "data":
			port.Buffer.Data, err = units.ParseSize(value)
		case "control":
			port.Buffer.Control, err = units.ParseSize(value)
		case "aqm":
			cfg.AQM = algorithm.Choice{Name: value}
		case "low":
			port.ECN.Low, err = units.ParseSize(value)
		case "high":
			port.ECN.High, err = units.ParseSize(value)
		case "trim":
			cfg.Trim = value == "true"
		case "seed":
			_, err = fmt.Sscan(value, &cfg.Seed)
		default:
			err = fmt.Errorf("unknown key %q", key)
		}
		if err != nil {
			return cfg, err
		}
	}
	for i := range cfg.Ports {
		cfg.Ports[i].Buffer, cfg.Ports[i].ECN = port.Buffer, port.ECN
	}
	return cfg, nil
}

// player plays a script on one switch. Packets go to port 1.
type player struct {
	*rig
	log     []string
	packets []*scripted // in the order of arrival
	drops   []int64     // by reason, so far
}

// scripted is a packet of a script.
type scripted struct {
	*wire.Packet
	name    string
	arrived bool
	trimmed bool // and logged
	gone    bool // sent or dropped
}

func newPlayer(t *testing.T, cfg dataplane.Config) *player {
	p := &player{rig: newRig(t, cfg)}
	p.drops = make([]int64, len(p.result().Drops))
	p.Out = p.out
	return p
}

func (p *player) event(format string, args ...any) {
	p.log = append(p.log, fmt.Sprintf("  %v %s", units.Duration(p.Now), fmt.Sprintf(format, args...)))
}

// in plays a line about a packet that arrives.
func (p *player) in(line string) error {
	words := strings.Fields(line)
	if len(words) < 4 || words[1] != "in" {
		return fmt.Errorf("no arrival: %q", line)
	}
	at, err := units.ParseDuration(words[0])
	if err != nil {
		return err
	}
	packet := &scripted{name: words[2]}
	flags := words[4:]
	switch words[3] {
	case "data":
		size, err := units.ParseSize(words[4])
		if err != nil {
			return err
		}
		packet.Packet, flags = p.data(1, int(size)), words[5:]
	case "ack":
		packet.Packet = p.ack(1)
	default:
		return fmt.Errorf("unknown kind of packet %q", words[3])
	}
	for _, flag := range flags {
		switch flag {
		case "not-ect":
			packet.Header()[wire.EthernetLen+1] &^= 3
			fixChecksum(packet.Packet)
		case "ce":
			packet.MarkCE()
		default:
			return fmt.Errorf("unknown flag %q", flag)
		}
	}
	p.Run(units.Time(at) - 1)
	p.log = append(p.log, line)
	p.packets = append(p.packets, packet)
	p.receive(units.Time(at), 3, packet.Packet)
	packet.arrived = true
	p.losses(packet)
	return nil
}

// losses logs what an arrival has cost.
func (p *player) losses(packet *scripted) {
	var trimmed []*scripted
	for _, c := range p.packets {
		if !c.gone && !c.trimmed && c.Trimmed() {
			p.event("trim %s", c.name)
			c.trimmed = true
			trimmed = append(trimmed, c)
		}
	}
	for i, d := range p.result().Drops {
		for ; p.drops[i] < d.Packets; p.drops[i]++ {
			lost := packet
			if n := len(trimmed); n > 0 {
				// Of two trimmed packets the arriving one comes second to the queue.
				lost, trimmed = trimmed[n-1], trimmed[:n-1]
			}
			p.event("drop %s: %s", lost.name, d.Name)
			lost.gone = true
		}
	}
}

// out logs a packet that the port starts to send.
func (p *player) out(d nodetest.Departure) {
	i := slices.IndexFunc(p.packets, func(c *scripted) bool { return !c.gone && c.Packet == d.Packet })
	c := p.packets[i]
	c.gone = true
	if err := valid(c.Packet, p.domain); err != nil {
		p.t.Errorf("%s: %v", c.name, err)
	}
	if d.Port != 1 {
		p.t.Errorf("%s left through port %d, want 1", c.name, d.Port)
	}
	var queue units.Size
	for _, other := range p.packets {
		if other.arrived && !other.gone && other.Queues() {
			queue += other.Size
		}
	}
	text := fmt.Sprintf("out %s %dB", c.name, c.Size)
	if c.ECN() == wire.CE {
		text += " CE"
	}
	if c.Trimmed() {
		text += " trimmed"
	}
	p.event("%s, leaves %dB", text, queue)
}

// checkRest sends what is left and logs the counters of the port and of the drops.
func (p *player) checkRest() {
	p.Run(forever)
	total := p.port(1)
	p.log = append(p.log, fmt.Sprintf("  end sent %d, marked %d, trimmed %d by %dB, dropped %d of %dB, largest queue %dB",
		total.TxPackets, total.MarkedPackets, total.TrimmedPackets, total.CutBytes, total.DroppedPackets, total.DroppedBytes, total.QueueMax))
	sent := 0
	for _, c := range p.packets {
		if !c.gone {
			p.t.Errorf("%s has neither left nor been dropped", c.name)
		}
	}
	for _, n := range p.drops {
		sent -= int(n)
	}
	if sent += len(p.packets); p.pool.Out() != sent {
		p.t.Errorf("%d packets out of the pool, %d were sent", p.pool.Out(), sent)
	}
}

// fixChecksum recomputes the IPv4 checksum of an untagged packet.
func fixChecksum(p *wire.Packet) {
	h := p.Header()[wire.EthernetLen:][:wire.IPv4Len]
	h[10], h[11] = 0, 0
	sum := 0
	for i := 0; i < len(h); i += 2 {
		sum += int(h[i])<<8 + int(h[i+1])
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	h[10], h[11] = byte(^sum>>8), byte(^sum)
}
