package dataplane_test

import (
	"testing"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/modules"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/units"
)

// inputs are what the switch has told the signal of this test at its last packet.
var inputs csig.Inputs

// T of the test's signals: of the first hops keep the greatest value, of the second the
// smallest.
const (
	most  csig.Type = 5
	least csig.Type = 7
)

func init() {
	of := csig.Signal{
		Doc: "bytes behind the packet", Unit: csig.Bytes, Compact: "edges(0, 4150B, 8300B, 12450B)", Wide: "linear(1B)",
		Value: func(in *csig.Inputs) uint64 { inputs = *in; return uint64(in.Queue) },
	}
	of.Name, of.Type = "test-most-behind", most
	csig.Register(of)
	of.Name, of.Type, of.Min = "test-least-behind", least, true
	csig.Register(of)
}

func TestSignalsAreRegistered(t *testing.T) {
	if err := modules.Check(); err != nil {
		t.Fatal(err)
	}
}

// A tag of a module's signal is updated by what its function says, by min or max, and a
// hop's policy is of its type.
func TestModuleSignals(t *testing.T) {
	for _, format := range formats {
		for _, signal := range []csig.Type{most, least} {
			r := newRig(t, withCSIG(config(), format))
			first, second := r.tagged(1, 4150, signal), r.tagged(1, 4150, signal)
			r.receive(0, 3, r.data(1, 4150), first, second, r.data(1, 4150))
			r.Run(forever)
			// Two packets stand behind the first one, one behind the second.
			for i, p := range []struct {
				tag  []byte
				want uint64
			}{{first.Tag(), 8300}, {second.Tag(), 4150}} {
				tag := make([]byte, format.Size())
				r.domain.Init(tag, signal)
				r.domain.Update(tag, p.want, 11)
				if string(p.tag) != string(tag) {
					t.Errorf("%v %v: packet %d has %x, want %x", format, signal, i, p.tag, tag)
				}
				// The next hop's queue is longer or shorter.
				if got, want := r.domain.Update(p.tag, 12_450, 12) == csig.Updated, signal == most; got != want {
					t.Errorf("%v %v: a longer queue replaces: %v, want %v", format, signal, got, want)
				}
			}
		}
		cfg := withCSIG(config(), format)
		cfg.Ports[1].Policies[most] = dataplane.Terminate
		r := newRig(t, cfg)
		r.receive(0, 3, r.data(1, 4150), r.tagged(1, 4150, most), r.tagged(1, 4150, least), r.data(1, 4150))
		r.Run(forever)
		r.wants(nil, map[string]int64{"terminated": 1, "updated": 1})
		if s := r.signals(); len(s) != 1 || s[0].Type != uint8(most) || s[0].Samples != 1 || s[0].PointMax < 8300 {
			t.Errorf("%v: samples %+v", format, s)
		}
	}
}

// What a signal may read, of a port that trims: the sums are of the last closed window.
func TestModuleInputs(t *testing.T) {
	cfg := withCSIG(config(), csig.FormatWide)
	dataLimit(&cfg, 2*4150)
	r := newRig(t, cfg)
	const window = units.Time(128 * units.Microsecond)
	// In the first window four packets: the port sends two and trims two of them.
	r.receive(0, 3, r.data(1, 4150), r.data(1, 4150), r.data(1, 4150), r.data(1, 4150))
	r.Run(window / 2)
	sent, trimmed := 0, 0
	for _, kind := range r.kinds() {
		if kind == "trimmed" {
			trimmed++
		} else {
			sent++
		}
	}
	if trimmed == 0 || sent+trimmed != 4 {
		t.Fatalf("sent %v", r.kinds())
	}
	asked := r.tagged(1, 4150, most)
	r.receive(window+1000, 3, r.data(1, 4150), asked)
	r.Run(forever)
	want := csig.Inputs{
		Rate: 100 * units.Gbps, Interval: 128 * units.Microsecond,
		Sent: units.Size(sent*4150 + trimmed*64), TrimmedSent: units.Size(trimmed * 64), Trimmed: units.Size(trimmed * (4150 - 64)),
		Size: asked.Size, Queue: 0, Limit: 2 * 4150,
	}
	// "Dropped or truncated packets are not part of" available bandwidth.
	want.Available = 12_500_000_000 - uint64(sent)*4150*78_125/10
	want.Waited = (100 * units.Gbps).Serialisation(4150)
	want.Residence = want.Waited + (100 * units.Gbps).Serialisation(asked.Size)
	if inputs != want {
		t.Errorf("inputs\n%+v, want\n%+v", inputs, want)
	}
	// Without trimming, what does not fit is dropped; a switch that restarts has forgotten it.
	cfg.Trim = false
	r = newRig(t, cfg)
	r.receive(0, 3, r.data(1, 4150), r.data(1, 4150), r.data(1, 4150), r.data(1, 4150), r.data(1, 4150))
	r.receive(window+1000, 3, r.tagged(1, 4150, most))
	r.Run(window + units.Time(10*units.Microsecond))
	if dropped := count(r.result().Drops, "data queue full"); dropped == 0 || inputs.Dropped != units.Size(dropped)*4150 || inputs.Trimmed != 0 {
		t.Errorf("%d dropped, inputs %+v", dropped, inputs)
	}
}
