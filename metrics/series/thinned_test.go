package series_test

import (
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/metrics/series"
	"github.com/csiglab/csiglab/metrics/thinning"
	"github.com/csiglab/csiglab/units"
)

// A lab's folder whose windows have become longer with their age has the series of one that
// keeps all: the same ones, counters that end at the same values and are the same wherever a
// long window ends, as many windows in histograms, and gauges that are means.
func TestThinned(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	record := func(thin runfolder.Thinning) *runfolder.Folder {
		random = rand.New(rand.NewPCG(1, 2))
		w, err := runfolder.Create(filepath.Join(t.TempDir(), "run"), runfolder.Manifest{
			Name: "x", Runtime: "netns", Clock: "wall", Dilation: 1, Started: started, IntervalUS: window.Microseconds(), Signals: []string{"abw", "abw-c", "delay", "nqd"},
			Nodes:    []runfolder.Node{{Node: 0, Name: "tor0", Kind: runfolder.KindSwitch}, {Node: 1, Name: "h0", Kind: runfolder.KindHost}},
			Ports:    []runfolder.Port{{Node: 0, Port: 0, Peer: 1, RateBPS: 8e9, Link: "l", Name: "tor0-h0", Tier: "tor", Direction: "down"}},
			Flows:    []runfolder.Flow{{Flow: 0, Name: "f0", Src: 1, Dst: 1}},
			Variants: []runfolder.Variant{{Name: "v", CC: "nscc", CSIG: "compact", Locators: &runfolder.LocatorTable{Scheme: "registry", Locators: []runfolder.Locator{{Locator: 7, Ports: []string{"tor0-h0"}}}}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		run, err := w.BeginRun("v", 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		run.Thin(thin, nil)
		for i := range 8_000 { // 40 s in which every fiftieth window has something
			b := &metrics.Batch{Node: 0}
			at := units.Time(50*i+random.IntN(50)) * units.Time(window)
			bytes := int64(random.IntN(100_000))
			b.Emit(&metrics.PortWindow{Node: 0, Port: 0, Start: at, TxPackets: 1, TxBytes: bytes, QueueMax: bytes, QueueByteNS: bytes * 1e5, Busy: units.Duration(bytes) * 1000, ABW: 5e8})
			run.Consume(b)
			b = &metrics.Batch{Node: 1}
			b.Emit(&metrics.FlowWindow{Flow: 0, Start: at, Packets: 1, WireBytes: bytes, PayloadBytes: bytes})
			b.Emit(&metrics.SignalWindow{Flow: 0, Start: at, Type: 2, Locator: 7, Samples: 2, PointSum: bytes, PointMin: 1, PointMax: bytes})
			run.Consume(b)
		}
		if err := run.End(runfolder.RunData{}); err != nil {
			t.Fatal(err)
		}
		if err := w.Finish(runfolder.NewSummary("x", runfolder.RunMetrics{Variant: "v", Seed: 1})); err != nil {
			t.Fatal(err)
		}
		f, err := runfolder.Open(w.Dir())
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	whole := record(runfolder.Thinning{})
	thinned := record(runfolder.Thinning{Steps: []thinning.Step{{After: 5 * units.Second, Interval: 10 * units.Millisecond}, {After: 20 * units.Second, Interval: units.Second}}})
	steps := thinned.Manifest.Runs[0].Thinned
	if len(steps) != 2 || steps[0].IntervalUS != 1e6 || steps[1].IntervalUS != 1e4 {
		t.Fatalf("thinned %v", steps)
	}
	want, _ := read(t, whole, series.Options{Stretch: 1})
	got, _ := read(t, thinned, series.Options{Stretch: 1})
	names := slices.Sorted(maps.Keys(want.points))
	if others := slices.Sorted(maps.Keys(got.points)); !slices.Equal(names, others) {
		t.Errorf("series %q, want %q", others, names)
	}
	// at returns what a series has at a moment.
	at := func(points []point, ms int64) float64 {
		i, there := slices.BinarySearchFunc(points, ms, func(p point, ms int64) int { return int(p.At - ms) })
		if !there {
			i--
		}
		return points[i].Value
	}
	counters := 0
	for _, name := range names {
		family, _, _ := strings.Cut(name, "{")
		whole := strings.HasSuffix(family, "_count") // histograms are written now and then
		if !strings.HasSuffix(family, "_total") && !whole {
			continue
		}
		counters++
		for ms := int64(1000); ms <= 40_000; ms += 1000 {
			if whole && ms < 40_000 {
				continue
			}
			if w, g := at(want.points[name], ms), at(got.points[name], ms); math.Abs(g-w) > 1e-6*math.Abs(w) {
				t.Errorf("%s is %v at %d ms, want %v", name, g, ms, w)
			}
		}
	}
	if counters < 8 {
		t.Errorf("%d counters in %q", counters, names)
	}
	const port, flow = "csig_port_utilisation_ratio{variant=v node=tor0 port=tor0-h0 tier=tor direction=down}", "csig_flow_receive_bytes_per_second{variant=v flow=f0}"
	for name, mean := range map[string]float64{port: 0.5 / 50, flow: 5e4 * 10_000 / 50} {
		for _, ms := range []int64{500, 5500, 12_500} {
			if v := at(got.of(name), ms); math.Abs(v-mean) > 0.15*mean {
				t.Errorf("%s is %v at %d ms, in a window of a second; want about %v", name, v, ms, mean)
			}
		}
	}
}
