package netns_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/nodes/netio"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
	"github.com/csiglab/csiglab/orchestrator/labs/application"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// openTap opens a socket that sees the frames at a node's port of a link, both
// ways.
func openTap(r runs.Run, node, link string, maxFrame int) (conn *netio.Packet, err error) {
	n, err := r.Node(node)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(n.Interfaces, func(i runs.Interface) bool { return i.Link == link })
	if i < 0 {
		return nil, fmt.Errorf("%s has no link %s", node, link)
	}
	space, err := os.Open(n.Network)
	if err != nil {
		return nil, err
	}
	defer space.Close()
	err = application.Within(space, func() error {
		device, err := net.InterfaceByName(n.Interfaces[i].Name)
		if err == nil {
			conn, err = netio.OpenTap(device.Index, maxFrame)
		}
		return err
	})
	return conn, err
}

// TestFramesOnTheWire reads the frames of a link in the middle of the fabric, as
// they are on its interface, with another decoder: Ethernet, CSIG tag, IPv4, UDP,
// whole payloads, in order of model time per direction.
func TestFramesOnTheWire(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs to enter a node's namespace")
	}
	p := backendtest.Compile(t, backendtest.Small)
	f := newRun(t, p)
	f.Wall = &wall.Clock{Dilation: 20000}
	ended := make(chan struct{})
	type sight struct {
		frames [][]byte
		err    error
	}
	seen := make(chan sight, 1)
	f.Ready = func(id string) {
		r := started(t, id)
		go func() {
			var s sight
			defer func() { seen <- s }()
			conn, err := openTap(r, "tor0", "tor0-agg0", f.MaxFrame())
			if err != nil {
				s.err = err
				return
			}
			defer conn.Close()
			batch := make([]netio.Frame, 64)
			for over := false; ; {
				n, err := conn.Receive(batch, 20*time.Millisecond)
				for _, b := range batch[:n] {
					s.frames = append(s.frames, append([]byte(nil), b.Data...))
				}
				if s.err = err; err != nil || n == 0 && over {
					return
				}
				select {
				case <-ended:
					over = true
				default:
				}
			}
		}()
	}
	_, err := run(t, f)
	close(ended)
	if err != nil {
		t.Fatal(err)
	}
	got := <-seen
	if got.err != nil && !errors.Is(got.err, unix.ENETDOWN) { // the interface goes with the run
		t.Fatal(got.err)
	}
	data, tagged := 0, 0
	last := map[string]int64{}
	for i, b := range got.frames {
		trailer, ok := emu.ReadTrailer(b)
		at := trailer.Arrival
		if !ok {
			t.Fatalf("frame %d has no trailer: %x", i, b)
		}
		ethernet := layers.Ethernet{}
		if err := ethernet.DecodeFromBytes(b, gopacket.NilDecodeFeedback); err != nil {
			t.Fatalf("frame %d: %v", i, err)
		}
		from := ethernet.SrcMAC.String()
		if int64(at) < last[from] {
			t.Errorf("frame %d of %s arrives at %v, after one at %d ps", i, from, at, last[from])
		}
		last[from] = int64(at)
		packet := ethernet.Payload
		if uint16(ethernet.EthernetType) == p.Format.TPIDCompact {
			tagged++
			if next := layers.EthernetType(uint16(packet[2])<<8 | uint16(packet[3])); next != layers.EthernetTypeIPv4 {
				t.Fatalf("frame %d: EtherType %v after the CSIG tag", i, next)
			}
			packet = packet[4:]
		}
		decoded := gopacket.NewPacket(packet, layers.LayerTypeIPv4, gopacket.Default)
		ip, _ := decoded.Layer(layers.LayerTypeIPv4).(*layers.IPv4)
		udp, _ := decoded.Layer(layers.LayerTypeUDP).(*layers.UDP)
		if ip == nil || udp == nil || decoded.ErrorLayer() != nil || decoded.Metadata().Truncated {
			t.Fatalf("frame %d does not decode, or is shorter than its IP header says: %v", i, decoded)
		}
		if int(udp.DstPort) != wire.UETPort || int(udp.Length) != int(ip.Length)-wire.IPv4Len {
			t.Errorf("frame %d: UDP port %d, length %d of %d", i, udp.DstPort, udp.Length, ip.Length)
		}
		if wire.Kind(udp.Payload[0]>>3) == wire.Data && ip.TOS>>2 == wire.DSCPTrimmable {
			data++
			if len(udp.Payload) < wire.DataLen+1 {
				t.Errorf("frame %d: data of %d B", i, len(udp.Payload))
			}
		}
	}
	if data == 0 || tagged == 0 {
		t.Errorf("of %d frames %d are whole data and %d carry a tag, want some of each", len(got.frames), data, tagged)
	}
}
