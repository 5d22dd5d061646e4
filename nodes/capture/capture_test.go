package capture_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/nodes/capture"
	"github.com/csiglab/csiglab/nodes/capture/capturetest"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

var profiles = []struct {
	format  csig.Format
	dialect csig.Dialect
}{
	{csig.FormatCompact, csig.UEC050}, {csig.FormatCompact, csig.Draft01},
	{csig.FormatWide, csig.UEC050}, {csig.FormatWide, csig.Draft01},
}

func newDomain(t *testing.T, f csig.Format, d csig.Dialect) *csig.Domain {
	t.Helper()
	domain, err := csig.NewDomain(csig.Config{Format: f, Dialect: d})
	if err != nil {
		t.Fatal(err)
	}
	return domain
}

func formatOf(d *csig.Domain) wire.Format {
	c := d.Config()
	return wire.Format{Sizes: wire.Sizes{Header: 64}, TPIDCompact: c.TPIDCompact, TPIDWide: c.TPIDWide}
}

// tags are values that fill each field once and that stand at its ends.
func tags(d *csig.Domain) []csig.Tag {
	compact := d.Format() == csig.FormatCompact
	signal, reserved := uint32(0xfffff), uint8(0xa5)
	if compact {
		signal, reserved = 0x1f, 1
	}
	frozen := d.Dialect() == csig.UEC050
	return []csig.Tag{
		{},
		{Type: csig.ABW, Signal: signal},
		{Type: csig.ABWC, Signal: signal, Locator: d.MaxLocator()},
		{Type: csig.Delay, Signal: 19, Locator: 41},
		{Type: csig.NQD, Locator: 1, DoNotUpdate: frozen},
		{Type: 7, Signal: 1, Locator: 2, Reserved: reserved},
	}
}

// packets are a data packet, an ACK and a NACK for each tag: the first has the
// tag, the others echo it.
func packets(t *testing.T, d *csig.Domain) []*wire.Packet {
	t.Helper()
	var list []*wire.Packet
	for i, tag := range tags(d) {
		b, err := d.AppendTag(nil, tag)
		if err != nil {
			t.Fatal(err)
		}
		n := uint32(i)
		a := wire.Addresses{Source: wire.HostIP(i), Destination: wire.HostIP(i + 1), SourcePort: wire.EntropyBase + uint16(i)}
		data := new(wire.Packet)
		data.Build(a, wire.Data, wire.AckRequest|wire.EndOfMessage, wire.CE, 300+i)
		data.SetData(1000+n, 5+n, uint8(1+i))
		copy(data.InsertTag(len(b)), b)
		if i%3 == 1 {
			data.Trim(wire.Sizes{Header: 64}, false)
		} else {
			data.Payload = bytes.Repeat([]byte{byte(i)}, data.PayloadLen)
		}
		ack := new(wire.Packet)
		ack.Build(a, wire.Ack, wire.ECNEcho, wire.NotECT, 0)
		ack.SetAck(wire.AckFields{Flow: 2000 + n, EV: 7, Cumulative: 11 + n, Acked: 12 + n, SackBase: 13,
			SackBits: 1<<63 | 1, Received: 1 << 40, OutOfOrder: 300, Penalty: 255})
		ack.SetEcho(b)
		nack := new(wire.Packet)
		nack.Build(a, wire.Nack, 0, wire.NotECT, 0)
		nack.SetNack(3000+n, 9, 14+n, 2, wire.NackTrimmedLastHop)
		nack.SetEcho(b)
		list = append(list, data, ack, nack)
	}
	return list
}

var (
	tor  = capture.Port{Node: 4, Port: 1, Name: "tor0:p1", Description: "link tor0-agg0 to agg0:p0"}
	host = capture.Port{Node: 0, Port: 0, Name: "h0:p0", Host: true}
)

// write writes frames, 100.001 ns apart, to a file as received at alternating
// ports.
func write(t *testing.T, c capture.Config, frames [][]byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "test.pcapng")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	c.Ports = []capture.Port{tor, host}
	w, err := capture.NewWriter(out, c)
	if err != nil {
		t.Fatal(err)
	}
	for i, frame := range frames {
		w.Write(capture.Record{At: units.Time(i) * 100_001, Port: i % 2, Frame: frame, Length: len(frame)})
	}
	if err := errors.Join(w.Close(), out.Close()); err != nil {
		t.Fatal(err)
	}
	return file
}

func text(v any) string { return fmt.Sprint(v) }

func boolean(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// Every field of tag, transport and echo that tshark shows is the one that our
// own decoder reads from the same bytes, in each format and dialect.
func TestDissectorAgreesWithOurDecoder(t *testing.T) {
	for _, profile := range profiles {
		t.Run(fmt.Sprintf("%v %v", profile.format, profile.dialect), func(t *testing.T) {
			domain := newDomain(t, profile.format, profile.dialect)
			list := packets(t, domain)
			var frames [][]byte
			var want [][]string
			for _, p := range list {
				frames = append(frames, append(bytes.Clone(p.Header()), p.Payload...))
				row := []string{"", text(uint8(p.Kind())), text(p.Flow()), "", "", "", "", "", "", "", "", "", "", ""}
				tagColumn, n := 4, 0
				var echo [2 + wire.EchoLen]byte
				tag := p.Tag()
				if p.Kind() != wire.Data {
					tagColumn = 9
					n = p.Echo((*[wire.EchoLen]byte)(echo[2:]))
					binary.BigEndian.PutUint16(echo[:], domain.TPID())
					tag = echo[:2+n]
				}
				fields, err := domain.ParseTag(tag)
				if err != nil {
					t.Fatal(err)
				}
				copy(row[tagColumn:], []string{text(uint8(fields.Type)), text(fields.Signal), text(fields.Locator), boolean(fields.DoNotUpdate), fmt.Sprintf("0x%02x", fields.Reserved)})
				if profile.dialect == csig.Draft01 {
					row[tagColumn+3] = "" // there is no D bit
				}
				switch p.Kind() {
				case wire.Ack:
					row[3] = text(p.Ack().Cumulative)
				default:
					row[3] = text(p.PSN())
				}
				want = append(want, row)
			}
			file := write(t, capture.Config{Format: formatOf(domain), Domain: domain}, frames)
			psn := []string{"csiglab.psn", "csiglab.ack.cumulative"}
			rows := capturetest.Tshark(t, file, []string{"-o", "csig.dialect:" + profile.dialect.String()},
				"_ws.malformed", "csiglab.type", "csiglab.flow", psn[0], psn[1],
				"csig.t", "csig.s", "csig.lm", "csig.d", "csig.r",
				"csiglab.echo.t", "csiglab.echo.s", "csiglab.echo.lm", "csiglab.echo.d", "csiglab.echo.r")
			var got [][]string
			for _, r := range rows {
				got = append(got, append([]string{r[0], r[1], r[2], r[3] + r[4]}, r[5:]...))
			}
			if diff := cmp.Diff(got, want); diff != "" {
				t.Errorf("malformed type flow psn, tag t s lm d r, echo t s lm d r: got - want +:\n%s", diff)
			}
		})
	}
}

// The rest of the transport's fields, read by our decoder and by tshark.
func TestDissectorTransport(t *testing.T) {
	domain := newDomain(t, csig.FormatCompact, csig.UEC050)
	list := packets(t, domain)[:6]
	var frames [][]byte
	for _, p := range list {
		frames = append(frames, append(bytes.Clone(p.Header()), p.Payload...))
	}
	file := write(t, capture.Config{Format: formatOf(domain), Domain: domain}, frames)
	got := capturetest.Tshark(t, file, nil, "csiglab.flags", "csiglab.flags.ack_request", "csiglab.flags.ecn_echo",
		"csiglab.payload_length", "csiglab.trimmed", "csiglab.transmission", "csiglab.ev", "csiglab.ack.psn",
		"csiglab.ack.sack_base", "csiglab.ack.sack_bits", "csiglab.ack.received", "csiglab.ack.out_of_order",
		"csiglab.ack.penalty", "csiglab.nack.code", "_ws.col.Protocol")
	var want [][]string
	for _, p := range list {
		f := p.Flags()
		row := []string{fmt.Sprintf("0x%02x", uint8(f)), boolean(f&wire.AckRequest != 0), boolean(f&wire.ECNEcho != 0),
			"", "", "", "", "", "", "", "", "", "", "", "csiglab"}
		switch p.Kind() {
		case wire.Data:
			copy(row[3:], []string{text(p.OriginalPayload()), boolean(p.Trimmed()), text(p.Transmission())})
		case wire.Ack:
			a := p.Ack()
			copy(row[6:], []string{text(a.EV), text(a.Acked), text(a.SackBase), fmt.Sprintf("0x%016x", a.SackBits),
				text(a.Received), text(a.OutOfOrder), text(a.Penalty)})
		case wire.Nack:
			row[5], row[6], row[13] = text(p.Transmission()), text(p.EV()), text(p.NackCode())
		}
		want = append(want, row)
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("got - want +:\n%s", diff)
	}
}

// vlan puts a VLAN tag before the EtherType at offset 12 plus the given number
// of bytes.
func vlan(frame []byte, skip int, etherType, tci uint16) []byte {
	tag := binary.BigEndian.AppendUint16(nil, etherType)
	tag = binary.BigEndian.AppendUint16(tag, tci)
	return append(append(bytes.Clone(frame[:12+skip]), tag...), frame[12+skip:]...)
}

// The stacks of docs/reference/references.md#tag-position.
func TestDissectorStacks(t *testing.T) {
	for _, profile := range profiles {
		domain := newDomain(t, profile.format, profile.dialect)
		n := domain.Format().Size()
		p := packets(t, domain)[9] // Delay, signal 19, locator 41
		plain := append(bytes.Clone(p.Header()), p.Payload...)
		ctag := vlan(plain, 0, 0x8100, 0x6064)
		frames := [][]byte{
			plain,
			ctag,
			vlan(ctag, 0, 0x88a8, 0x60c8), // S-tag, C-tag, CSIG
			vlan(vlan(plain, n, 0x8100, 0x6064), 0, 0x88a8, 0x60c8), // S-tag, CSIG, C-tag
		}
		for i, f := range frames {
			var walked csig.Frame
			tpids := csig.TPIDs{Compact: domain.Config().TPIDCompact, Wide: domain.Config().TPIDWide}
			err := tpids.Walk(f, &walked)
			if err != nil || walked.Tag == 0 || walked.EtherType != wire.EtherTypeIPv4 {
				t.Fatalf("frame %d: our own decoder reads %+v, %v", i, walked, err)
			}
		}
		file := write(t, capture.Config{Format: formatOf(domain), Domain: domain}, frames)
		got := capturetest.Tshark(t, file, []string{"-o", "csig.dialect:" + profile.dialect.String()},
			"_ws.malformed", "csig.t", "csig.s", "csig.lm", "ieee8021ad.id", "vlan.id", "csiglab.flow")
		flow := text(p.Flow())
		want := [][]string{
			{"", "2", "19", "41", "", "", flow},
			{"", "2", "19", "41", "", "100", flow},
			{"", "2", "19", "41", "200", "100", flow},
			{"", "2", "19", "41", "200", "100", flow},
		}
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("%v %v: got - want +:\n%s", profile.format, profile.dialect, diff)
		}
	}
}

// TPIDs are a preference, because none is assigned.
func TestDissectorTPIDs(t *testing.T) {
	domain, err := csig.NewDomain(csig.Config{Format: csig.FormatWide, TPIDCompact: 0x9900, TPIDWide: 0xccdd})
	if err != nil {
		t.Fatal(err)
	}
	p := packets(t, domain)[9]
	file := write(t, capture.Config{Format: formatOf(domain), Domain: domain}, [][]byte{p.Header()})
	if got, want := capturetest.Tshark(t, file, nil, "csig.s", "csiglab.type"), [][]string{{"", ""}}; !cmp.Equal(got, want) {
		t.Errorf("with the default TPIDs: got %q, want %q", got, want)
	}
	got := capturetest.Tshark(t, file, []string{"-o", "csig.tpid_wide:0x88b6,0xccdd"}, "csig.s", "csiglab.type")
	if want := [][]string{{"19", "2"}}; !cmp.Equal(got, want) {
		t.Errorf("with the right TPID: got %q, want %q", got, want)
	}
}

// The trailer of real frames (docs/reference/wire.md) follows the IP packet, behind a tag
// and without one.
func TestDissectorTrailer(t *testing.T) {
	domain := newDomain(t, csig.FormatWide, csig.UEC050)
	trailer := binary.BigEndian.AppendUint32(nil, 0xc5161ab1)
	trailer = binary.BigEndian.AppendUint32(trailer, 0xabcdef01)
	trailer = binary.BigEndian.AppendUint64(trailer, 33_000_000_123)
	trailer = binary.BigEndian.AppendUint64(trailer, 1<<40)
	var frames [][]byte
	for _, p := range packets(t, domain)[:2] { // data with a tag, an ACK without
		frames = append(frames, append(append(bytes.Clone(p.Header()), p.Payload...), trailer...))
	}
	file := write(t, capture.Config{Format: formatOf(domain), Domain: domain}, frames)
	got := capturetest.Tshark(t, file, nil, "_ws.malformed", "csiglab.type", "csiglab_trailer.run", "csiglab_trailer.arrival", "csiglab_trailer.sequence", "eth.fcs")
	want := [][]string{
		{"", "2", "0xabcdef01", "33000000123", "1099511627776", ""},
		{"", "9", "0xabcdef01", "33000000123", "1099511627776", ""},
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("got - want +:\n%s", diff)
	}
}

// Names, times to the picosecond, directions, lengths and comments, read by
// tshark from what a tap was told.
func TestTap(t *testing.T) {
	domain := newDomain(t, csig.FormatCompact, csig.UEC050)
	file := filepath.Join(t.TempDir(), "tap.pcapng")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	w, err := capture.NewWriter(out, capture.Config{
		Ports: []capture.Port{tor, host}, Format: formatOf(domain), Domain: domain,
		Meaning: func(locator uint16) string { return fmt.Sprintf("port %d of the test", locator) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if w.Tap(3) != nil {
		t.Error("a node without captured ports has a tap")
	}
	p := packets(t, domain)[9]
	p.Payload, p.Ahead, p.Behind, p.EnqueuedAt = nil, 8300, 4150, 1_000_000
	w.Tap(0)(1_000_000, 0, node.Sent, p)
	w.Tap(4)(2_000_250, 1, node.Sent, p)
	w.Tap(4)(2_000_250, 0, node.Sent, p) // not captured
	w.Tap(4)(3_000_000, 1, node.Received, p)
	if err := errors.Join(w.Close(), out.Close()); err != nil {
		t.Fatal(err)
	}
	got := capturetest.Tshark(t, file, []string{"-E", "aggregator=;"}, "frame.interface_name", "frame.interface_description", "frame.time_epoch", "frame.packet_flags_direction",
		"frame.cap_len", "frame.len", "frame.comment")
	tag := p.Tag()
	sample, _ := domain.Decode(tag)
	meaning := fmt.Sprintf("csig delay %d ns to %d ns, written by port 41 of the test", sample.Low, sample.High)
	captured, whole := text(len(p.Header())), text(len(p.Header())+303)
	want := [][]string{
		{"h0:p0", "", "0.000001000", "0x00000002", captured, whole, meaning},
		{"tor0:p1", "link tor0-agg0 to agg0:p0", "0.000002000", "0x00000002", captured, whole,
			"data queue: 8300 B at enqueue, 4150 B at dequeue, 1.00025us in the switch;" + meaning + ";time + 250 ps"},
		{"tor0:p1", "link tor0-agg0 to agg0:p0", "0.000003000", "0x00000001", captured, whole, meaning},
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("got - want +:\n%s", diff)
	}
}

// Without tshark: gopacket's reader finds interfaces, times and bytes.
func TestRead(t *testing.T) {
	domain := newDomain(t, csig.FormatCompact, csig.UEC050)
	frame := packets(t, domain)[0].Header()
	file := write(t, capture.Config{Format: formatOf(domain), Domain: domain}, [][]byte{frame, frame})
	var got, want []capturetest.Packet
	capturetest.ReadFile(t, file, func(p capturetest.Packet) {
		p.Data = bytes.Clone(p.Data)
		got = append(got, p)
	})
	for i, port := range []string{tor.Name, host.Name} {
		want = append(want, capturetest.Packet{Port: port, At: units.Time(i) * 100_000, Data: frame, Length: len(frame)})
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("got - want +:\n%s", diff)
	}
}

func TestOrder(t *testing.T) {
	w, err := capture.NewWriter(new(bytes.Buffer), capture.Config{Ports: []capture.Port{tor}})
	if err != nil {
		t.Fatal(err)
	}
	w.Write(capture.Record{At: 5})
	w.Write(capture.Record{At: 4})
	if err := w.Close(); !errors.Is(err, capture.ErrOrder) || !errors.Is(w.Err(), capture.ErrOrder) {
		t.Errorf("got %v, want %v", err, capture.ErrOrder)
	}
	for _, port := range []int{-1, 1} {
		w, err := capture.NewWriter(new(bytes.Buffer), capture.Config{Ports: []capture.Port{tor}})
		if err != nil {
			t.Fatal(err)
		}
		if w.Write(capture.Record{Port: port}); w.Close() == nil {
			t.Errorf("a packet of port %d of one port was written", port)
		}
	}
	if _, err := capture.NewWriter(new(bytes.Buffer), capture.Config{}); err == nil {
		t.Error("a file without ports was begun")
	}
}

// fabric is two hosts below a ToR, with two links to an aggregation switch.
func fabric() *topologies.Graph {
	g := &topologies.Graph{Nodes: []topologies.Node{
		{Name: "h0"}, {Name: "h1", Index: 1},
		{Name: "tor0", Kind: topologies.Switch, Tier: topologies.TierToR},
		{Name: "agg0", Kind: topologies.Switch, Tier: topologies.TierAgg},
	}}
	for _, pair := range [][2]int{{0, 2}, {1, 2}, {2, 3}, {2, 3}} {
		g.Connect(pair[0], pair[1], 100*units.Gbps, units.Microsecond)
	}
	return g
}

func TestPorts(t *testing.T) {
	got, err := capture.Ports(fabric(), []string{"tor0:3-agg0", "h1-tor0"})
	if err != nil {
		t.Fatal(err)
	}
	want := []capture.Port{
		{Node: 2, Port: 3, Name: "tor0:p3", Description: "link tor0:3-agg0 to agg0:p1, 100Gbps, 1us"},
		{Node: 3, Port: 1, Name: "agg0:p1", Description: "link tor0:3-agg0 to tor0:p3, 100Gbps, 1us"},
		{Node: 1, Port: 0, Name: "h1:p0", Description: "link h1-tor0 to tor0:p1, 100Gbps, 1us", Host: true},
		{Node: 2, Port: 1, Name: "tor0:p1", Description: "link h1-tor0 to h1:p0, 100Gbps, 1us"},
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("got - want +:\n%s", diff)
	}
	if _, err := capture.Ports(fabric(), []string{"tor0-agg0"}); !errors.Is(err, capture.ErrLink) {
		t.Errorf("a link that is not there: %v, want %v", err, capture.ErrLink)
	}
	if _, err := capture.Ports(fabric(), []string{"h1-tor0", "h1-tor0"}); err == nil {
		t.Error("a link was captured twice")
	}
}

func TestMeaning(t *testing.T) {
	domain := newDomain(t, csig.FormatCompact, csig.UEC050)
	var places []csig.Place
	for port := range 30 {
		places = append(places, csig.Place{Tier: csig.TierToR, Dir: csig.Up, Port: 1 + port, Peer: 3})
	}
	places = append(places, csig.Place{Tier: csig.TierAgg, Dir: csig.Down, Port: 2, Peer: 2})
	directory, err := domain.Locators().Assign(places)
	if err != nil {
		t.Fatal(err)
	}
	meaning := capture.Meaning(fabric(), directory)
	if got, want := meaning(directory.Locators[30]), "agg0:p1 (agg, down, to tor0)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	// Compact locators have 3 bits for the port: 30 ports share 7 locators.
	shared := len(directory.Ports(directory.Locators[0]))
	want := "one of " + strconv.Itoa(shared) + " ports (tor, up): tor0:p0 tor0:p7 tor0:p14 …"
	if got := meaning(directory.Locators[0]); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := meaning(0), "locator 0, which no port has"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
