package netns_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/netns"
	"github.com/csiglab/csiglab/orchestrator/orchestratortest"
)

// TestCapture reads the frames of a link in the middle of the fabric with another
// decoder: Ethernet, CSIG tag, IPv4 with a right checksum, UDP, whole payloads,
// in order of model time per direction.
func TestCapture(t *testing.T) {
	p := orchestratortest.Compile(t, orchestratortest.Small)
	f := fabric(t, p)
	link := -1
	for id := range p.Graph.Links {
		if p.Graph.LinkName(id) == "tor0-agg0" {
			link = id
		}
	}
	if link < 0 {
		t.Fatal("no link tor0-agg0")
	}
	f.Capture = &netns.Capture{Link: link, File: filepath.Join(t.TempDir(), "link.pcap")}
	out, err := run(t, f)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(f.Capture.File)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := pcapgo.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var frames, data, tagged int64
	last := map[string]int64{}
	for {
		b, info, err := r.ReadPacketData()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		frames++
		ethernet := layers.Ethernet{}
		if err := ethernet.DecodeFromBytes(b, gopacket.NilDecodeFeedback); err != nil {
			t.Fatalf("frame %d: %v", frames, err)
		}
		from := ethernet.SrcMAC.String()
		if at := info.Timestamp.UnixNano(); at < last[from] {
			t.Errorf("frame %d of %s arrives at %d ns, after one at %d ns", frames, from, at, last[from])
		} else {
			last[from] = at
		}
		packet := ethernet.Payload
		if uint16(ethernet.EthernetType) == p.Format.TPIDCompact {
			tagged++
			if next := layers.EthernetType(uint16(packet[2])<<8 | uint16(packet[3])); next != layers.EthernetTypeIPv4 {
				t.Fatalf("frame %d: EtherType %v after the CSIG tag", frames, next)
			}
			packet = packet[4:]
		}
		decoded := gopacket.NewPacket(packet, layers.LayerTypeIPv4, gopacket.Default)
		ip, _ := decoded.Layer(layers.LayerTypeIPv4).(*layers.IPv4)
		udp, _ := decoded.Layer(layers.LayerTypeUDP).(*layers.UDP)
		if ip == nil || udp == nil || decoded.ErrorLayer() != nil && !decoded.Metadata().Truncated {
			t.Fatalf("frame %d does not decode: %v", frames, decoded)
		}
		if decoded.Metadata().Truncated {
			t.Fatalf("frame %d is shorter than its IP header says", frames)
		}
		if int(udp.DstPort) != wire.UETPort || int(udp.Length) != int(ip.Length)-wire.IPv4Len {
			t.Errorf("frame %d: UDP port %d, length %d of %d", frames, udp.DstPort, udp.Length, ip.Length)
		}
		if wire.Kind(udp.Payload[0]>>3) == wire.Data && ip.TOS>>2 == wire.DSCPTrimmable {
			data++
			if len(udp.Payload) < wire.DataLen+1 {
				t.Errorf("frame %d: data of %d B", frames, len(udp.Payload))
			}
		}
	}
	if frames == 0 || frames != out.Captured || out.Missed != 0 {
		t.Errorf("capture has %d frames, outcome says %d and %d missed", frames, out.Captured, out.Missed)
	}
	if data == 0 || tagged == 0 {
		t.Errorf("of %d frames %d are whole data and %d carry a tag, want some of each", frames, data, tagged)
	}
}
