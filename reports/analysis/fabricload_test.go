package analysis

import (
	"math"
	"testing"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// A link is as busy in a bin as its busiest port was in the windows of the bin; a bin
// without packets has no available bandwidth; samples count for the port that they name.
func TestFabricLoad(t *testing.T) {
	m := &runfolder.Manifest{IntervalUS: 100, Variants: []runfolder.Variant{{Name: "run", Overhead: 0}},
		Nodes: []runfolder.Node{{Node: 0, Name: "a", Kind: runfolder.KindHost}, {Node: 1, Name: "s", Kind: runfolder.KindSwitch}, {Node: 2, Name: "b", Kind: runfolder.KindHost}},
		Ports: []runfolder.Port{
			{Node: 0, Port: 0, Peer: 1, RateBPS: 8e9, Tier: "host"}, {Node: 1, Port: 0, Peer: 0, RateBPS: 8e9, Tier: "tor"},
			{Node: 1, Port: 1, Peer: 2, RateBPS: 8e9, Tier: "tor"}, {Node: 2, Port: 0, Peer: 1, RateBPS: 8e9, Tier: "host"},
		}}
	f, lines := fabricOf(m, m.Variants[0].Name, nil, nil, nil)
	if f == nil || len(f.Lines) != 2 {
		t.Fatalf("fabric %+v", f)
	}
	of := run{"run", 1}
	totals := &totals{manifest: m, shown: map[string]uint64{"run": 1}, ends: map[run]float64{of: 40_000}}
	readers := newFabricReaders(totals, f, lines)
	if len(readers) != 1 || readers[0].of.BinUS != 200 || readers[0].of.Bins != 200 {
		t.Fatalf("%d readers of 400 windows: %+v, want 200 bins of two windows", len(readers), readers[0].of)
	}
	r := readers[0]
	abw := func(bps int64) *int64 { return &bps }
	sent := func(bytes int64) *int64 { ps := bytes * 1000; return &ps } // how long it takes
	node, one := int32(1), int32(1)
	for _, row := range []runfolder.PortRow{
		{Node: 0, Port: 0, RateBPS: 8e9, Tier: "host", StartUS: 0, BusyPS: sent(30_000)},                    // 30 % of a window
		{Node: 0, Port: 0, RateBPS: 8e9, Tier: "host", StartUS: 100, BusyPS: sent(50_000)},                  // in the same bin
		{Node: 1, Port: 0, RateBPS: 8e9, Tier: "tor", StartUS: 100, BusyPS: sent(10_000), ABWBPS: abw(4e9)}, // the other direction
		{Node: 1, Port: 1, RateBPS: 8e9, Tier: "tor", StartUS: 39_900, BusyPS: sent(100_000), ABWBPS: abw(8e8)},
		{Node: 7, Port: 1, RateBPS: 8e9, StartUS: 0, BusyPS: sent(100_000)},                              // of no link
		{Node: 1, Port: 1, RateBPS: 8e9, StartUS: math.NaN(), BusyPS: sent(100_000)},                     // damaged
		{Node: 1, Port: 1, RateBPS: 8e9, StartUS: 1e300, BusyPS: sent(100_000)},                          // damaged
		{Node: 1, Port: 1, RateBPS: 8e9, StartUS: -1, BusyPS: sent(100_000)},                             // damaged
		{Node: 1, Port: 1, RateBPS: 8e9, Tier: "tor", StartUS: 1000, BusyPS: sent(1e4), ABWBPS: abw(-5)}, // damaged
	} {
		r.port(&row)
	}
	r.signal(&runfolder.SignalRow{StartUS: 50, Samples: 3, Node: &node, Port: &one})
	r.signal(&runfolder.SignalRow{StartUS: 60, Samples: 1}) // shared by ports
	load := r.result()
	near, far := load.Lines[lines[[2]int32{0, 1}]], load.Lines[lines[[2]int32{1, 2}]]
	for _, c := range []struct {
		name      string
		got, want int8
	}{
		{"busiest port, mean of two windows", near.Busy[0], 40}, {"least that a meter or a window left", near.Left[0], 50},
		{"idle", near.Busy[5], 0}, {"nothing sent", near.Left[5], NoPercent},
		{"the last bin", far.Busy[199], 50}, {"what the meter had", far.Left[199], 10}, {"below nothing", far.Left[5], 0},
		{"three of four samples", far.Named[0], 75}, {"none of four", near.Named[0], 0}, {"no sample", far.Named[9], NoPercent},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, want %d", c.name, c.got, c.want)
		}
	}
	if !load.Measured || !load.HasNamed {
		t.Errorf("measured %t, named %t", load.Measured, load.HasNamed)
	}
	// The last bin ends with the run: 401 windows are 200 bins of two windows or more, and a
	// full line is full in it.
	totals.ends[of] = 40_100
	short := newFabricReaders(totals, f, lines)[0]
	short.port(&runfolder.PortRow{Node: 1, Port: 1, RateBPS: 8e9, Tier: "tor", StartUS: 40_000, BusyPS: sent(100_000)})
	last := short.result()
	if got := last.Lines[lines[[2]int32{1, 2}]].Busy[last.Bins-1]; float64(last.Bins)*last.BinUS <= 40_100 || got != int8(math.Round(100*100/(40_100-float64(last.Bins-1)*last.BinUS))) {
		t.Errorf("%d bins of %g µs, the last one is %d %% busy", last.Bins, last.BinUS, got)
	}
	for _, end := range []float64{0, math.Inf(1), math.NaN()} {
		totals.ends[of] = end
		if n := len(newFabricReaders(totals, f, lines)); n != 0 {
			t.Errorf("a run that ends at %g µs has %d readers", end, n)
		}
	}
}
