package dataplane_test

import (
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/wire"
)

// "upon its arrival" (DCTCP paper §3.1): of four packets that come at once the first finds
// the port idle, the next one an empty queue, and the others what waits ahead of them.
func TestQueuesAtArrival(t *testing.T) {
	cfg := withCSIG(config(), csig.FormatWide)
	cfg.AQM = algorithm.Choice{Name: "step", Params: algorithm.Values{"threshold": "1500B"}}
	cfg.AtArrival = true
	r := newRig(t, cfg)
	for range 4 {
		p := r.raw(1, 1518, wire.ECT0)
		r.domain.Init(p.InsertTag(8), csig.NQD)
		r.receive(0, 3, p)
	}
	r.Run(forever)
	for i, want := range []struct {
		ecn    uint8
		behind uint64 // of the limit, 41500 B, in ppm
	}{{wire.ECT0, 0}, {wire.ECT0, 0}, {wire.CE, 1518}, {wire.CE, 2 * 1518}} {
		p := r.Sent[i].Packet
		tag, err := r.domain.ParseTag(p.Tag())
		if err != nil {
			t.Fatal(err)
		}
		if depth := want.behind * 1_000_000 / 41_500; p.ECN() != want.ecn || uint64(tag.Signal) != depth {
			t.Errorf("packet %d: ECN %d and a depth of %d ppm, want %d and %d", i, p.ECN(), tag.Signal, want.ecn, depth)
		}
	}
}

func TestQueuesAtArrivalAreOfOneClass(t *testing.T) {
	cfg := withClasses(config())
	cfg.AtArrival = true
	if _, err := dataplane.New(cfg, new(wire.Pool), metrics.Discard); err == nil || !strings.Contains(err.Error(), "queues as packets arrive are of one class") {
		t.Errorf("got %v", err)
	}
}
