package emu_test

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"reflect"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/nodes/capture/spool"
	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// sortRecords brings events of one instant into an order that all runs share.
func sortRecords(records []spool.Record) {
	slices.SortFunc(records, func(a, b spool.Record) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Port, b.Port), bytes.Compare(a.Frame, b.Frame))
	})
}

// tapped returns what taps see at ports of a run in virtual time.
func tapped(t *testing.T, p *plan.Plan, ports []topologies.End) []spool.Record {
	t.Helper()
	var records []spool.Record
	backendtest.Virtual(t, p, func(i int) node.Tap {
		return func(now units.Time, port int, event node.Event, packet *wire.Packet) {
			place := slices.Index(ports, topologies.End{Node: i, Port: port})
			if place < 0 {
				return
			}
			r := spool.Record{At: now, Port: place, Sent: event == node.Sent, Frame: bytes.Clone(packet.Header()), Length: packet.PayloadLen}
			if r.Sent && p.Graph.Nodes[i].Kind == topologies.Switch {
				r.Queue = &spool.Queue{Ahead: packet.Ahead, Behind: packet.Behind, Waited: now.Sub(packet.EnqueuedAt)}
			}
			records = append(records, r)
		}
	})
	sortRecords(records)
	return records
}

// TestCapture: nodes capture, at the ports that are asked for, what a tap sees in
// virtual time, with the payload and the trailer that were on the wire.
func TestCapture(t *testing.T) {
	p := backendtest.Compile(t, backendtest.Small)
	var ports []topologies.End
	for id := range p.Graph.Links {
		if name := p.Graph.LinkName(id); name == "h5-tor2" || name == "tor2-agg2" {
			ports = append(ports, p.Graph.Links[id].A, p.Graph.Links[id].B)
		}
	}
	f := fabric(p)
	f.Spools = emu.Capture{Folder: t.TempDir(), Ports: ports}
	if _, _, err := run(t, p, f, 2); err != nil {
		t.Fatal(err)
	}
	var got []spool.Record
	for _, name := range f.Spools.Spools() {
		r, err := spool.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		for last := units.Time(0); ; {
			record, err := r.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if record.At < last {
				t.Errorf("%s: a record of %v follows one of %v", name, record.At, last)
			}
			last = record.At
			got = append(got, shorten(t, p, f, record))
		}
		r.Close()
	}
	sortRecords(got)
	want := tapped(t, p, ports)
	if len(want) < 100 {
		t.Fatalf("virtual time has only %d packets", len(want))
	}
	if !reflect.DeepEqual(got, want) { // cmp takes its time over thousands that are equal
		t.Errorf("real frames - virtual time +:\n%s", gocmp.Diff(got, want))
	}
}

// shorten checks the payload and trailer of a captured frame and returns the
// record with the headers alone and the payload's length.
func shorten(t *testing.T, p *plan.Plan, f emu.Fabric, r *spool.Record) spool.Record {
	t.Helper()
	trailer, ok := emu.ReadTrailer(r.Frame)
	arrives := trailer.Arrival
	switch delay := units.Microsecond; {
	case !ok:
		t.Fatalf("a frame without a trailer at %v", r.At)
	case r.Sent && arrives <= r.At.Add(delay):
		t.Errorf("a frame sent at %v arrives at %v", r.At, arrives)
	case !r.Sent && arrives != r.At:
		t.Errorf("a frame received at %v arrives at %v", r.At, arrives)
	}
	var packet wire.Packet
	if err := packet.Parse(r.Frame[:len(r.Frame)-emu.TrailerLen], p.Format); err != nil {
		t.Fatalf("frame at %v: %v", r.At, err)
	}
	n := len(packet.Header()) + packet.PayloadLen + emu.TrailerLen
	if len(r.Frame) != n || r.Length != n {
		t.Errorf("%v at %v has %d bytes, length %d, want %d", &packet, r.At, len(r.Frame), r.Length, n)
	}
	if packet.PayloadLen > 0 && bytes.Count(packet.Payload, []byte{0}) > packet.PayloadLen/16 {
		t.Errorf("%v at %v has a payload of zeros", &packet, r.At)
	}
	short := *r
	short.Frame, short.Length = bytes.Clone(packet.Header()), packet.PayloadLen
	return short
}

// Only nodes with captured ports have a spool, and one that cannot be written is
// an error.
func TestSpools(t *testing.T) {
	p := backendtest.Compile(t, backendtest.Small)
	f := fabric(p)
	f.Spools = emu.Capture{Folder: t.TempDir() + "/gone", Ports: []topologies.End{p.Graph.Links[0].A}}
	configs, _ := f.Configs()
	if configs[1].Spool != nil || configs[0].Spool == nil {
		t.Fatalf("spools of nodes 0 and 1 are %v, %v; want one for node 0 alone", configs[0].Spool, configs[1].Spool)
	}
	if _, err := spool.Create(configs[0].Spool.File); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a spool in a folder that is not there: %v", err)
	}
}
