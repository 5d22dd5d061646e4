package wire_test

import (
	"encoding/hex"
	"errors"
	"testing"

	"github.com/csiglab/csiglab/nodes/wire"
)

// IEEE 802.3 Annex 31D, figure 31D-1: address 01-80-C2-00-00-01, EtherType 0x8808, opcode
// 0x0101, class-enable vector, eight timers, zeros up to 64 B with the check sequence.
func TestPauseFrame(t *testing.T) {
	f := wire.PauseFields{Vector: 0b1001, Timers: [8]uint16{0: 0xffff}}
	var p, q wire.Packet
	p.BuildPause([6]byte{2, 0, 0, 5, 0, 1}, f, wire.Sizes{Header: 100, Overhead: 20})
	const want = "0180c2000001" + "020000050001" + "8808" + "0101" + "0009" + "ffff000000000000" + "0000000000000000" +
		"0000000000000000" + "0000000000000000" + "000000000000" + "000000000000" // 26 zeros at the end
	got := hex.EncodeToString(p.Header())
	if len(p.Header()) != 60 || got[:len(want)-24] != want[:len(want)-24] {
		t.Errorf("header %s\nwant   %s", got, want)
	}
	if p.Size != wire.PauseSize || p.Kind() != wire.Pause || !p.Pauses() || p.Trimmed() || p.ECN() != wire.NotECT || p.Tag() != nil {
		t.Errorf("%v: size %v, kind %v", &p, p.Size, p.Kind())
	}
	if p.Pause() != f {
		t.Errorf("fields %+v, want %+v", p.Pause(), f)
	}
	format := wire.Format{PFC: true, TPIDCompact: 0x88b5, TPIDWide: 0x88b6}
	if err := q.Parse(p.Header(), format); err != nil || q.Pause() != f || q.Kind() != wire.Pause || q.Size != 64 {
		t.Errorf("parsed %v, %+v, %v", err, q.Pause(), q.Kind())
	}
	format.PFC = false
	if err := q.Parse(p.Header(), format); !errors.Is(err, wire.ErrNotTransport) {
		t.Errorf("without flow control: %v", err)
	}
	format.PFC = true
	short := p.Header()[:59]
	if err := q.Parse(short, format); !errors.Is(err, wire.ErrTruncated) {
		t.Errorf("a short frame: %v", err)
	}
	other := append([]byte(nil), p.Header()...)
	other[15] = 0 // opcode 0x0100
	if err := q.Parse(other, format); !errors.Is(err, wire.ErrNotTransport) {
		t.Errorf("another opcode: %v", err)
	}
}

// Data of any class queues with data; ACKs, NACKs and trimmed packets do not.
func TestDSCPOfClasses(t *testing.T) {
	var p wire.Packet
	p.Build(wire.Addresses{Source: 1, Destination: 2}, wire.Data, 0, wire.ECT0, 100)
	for dscp := range uint8(64) {
		p.SetDSCP(dscp)
		control := dscp == 11 || dscp == 12 || dscp == 46
		if p.Queues() == control || wire.ControlDSCP(dscp) != control || p.DSCP() != dscp || p.ECN() != wire.ECT0 {
			t.Errorf("DSCP %d: queues %v", dscp, p.Queues())
		}
		if !wire.ValidIPv4(p.L3()) {
			t.Errorf("DSCP %d: wrong checksum", dscp)
		}
	}
}
