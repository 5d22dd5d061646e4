package fabric

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
)

// shape describes a drawing: boxes by row, and the lines.
func shape(f *Fabric) string {
	rows := map[int]int{}
	for _, b := range f.Boxes {
		rows[b.Row]++
	}
	links := 0
	for _, l := range f.Lines {
		links += l.Links
	}
	return fmt.Sprintf("%d hosts, %d switches, ring %v, boxes %v, %d lines of %d links", f.Hosts, f.Switches, f.Ring, rows, len(f.Lines), links)
}

// A drawing has at most as many boxes as a reader can tell apart, whatever the size of
// the fabric, and stands for every node and link.
func TestFabricFolds(t *testing.T) {
	var line, dragonfly [][2]string
	for i := range 40 {
		line = append(line, [2]string{fmt.Sprintf("h%d", i), fmt.Sprintf("s%d", i)})
		if i > 0 {
			line = append(line, [2]string{fmt.Sprintf("s%d", i-1), fmt.Sprintf("s%d", i)})
		}
	}
	for i := range 36 { // 9 groups of 4
		dragonfly = append(dragonfly, [2]string{fmt.Sprintf("h%d", i), fmt.Sprintf("r%d", i)})
	}
	for i := range 36 {
		for j := i/4*4 + 3; j > i; j-- {
			dragonfly = append(dragonfly, [2]string{fmt.Sprintf("r%d", i), fmt.Sprintf("r%d", j)})
		}
	}
	for a := range 9 {
		for b := range a {
			dragonfly = append(dragonfly, [2]string{fmt.Sprintf("r%d", 4*a+b%4), fmt.Sprintf("r%d", 4*b+a%4)})
		}
	}
	for _, c := range []struct {
		name  string
		links [][2]string
		want  string
	}{
		{"single nodes", readingtest.FatTree(4), "16 hosts, 20 switches, ring false, boxes map[0:16 1:8 2:8 3:4], 48 lines of 48 links"},
		{"hosts fold", readingtest.FatTree(6), "54 hosts, 45 switches, ring false, boxes map[0:18 1:18 2:18 3:9], 126 lines of 162 links"},
		{"pods fold", readingtest.FatTree(8), "128 hosts, 80 switches, ring false, boxes map[0:8 1:16], 128 lines of 128 links"},
		{"pods and cores fold", readingtest.FatTree(16), "1024 hosts, 320 switches, ring false, boxes map[0:8 1:1], 8 lines of 1024 links"},
		{"a line", line[:19], "10 hosts, 10 switches, ring false, boxes map[0:10 1:10], 19 lines of 19 links"},
		{"a long line", line, "40 hosts, 40 switches, ring false, boxes map[0:10], 9 lines of 9 links"},
		{"a Dragonfly", dragonfly, "36 hosts, 36 switches, ring true, boxes map[0:9], 36 lines of 36 links"},
	} {
		m := readingtest.FabricOfLinks(c.links)
		f, _ := newFabric(m, m.Variants[0].Name, nil, nil, nil)
		if got := shape(f); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		hosts, switches := 0, 0
		for _, b := range f.Boxes {
			hosts, switches = hosts+b.Hosts, switches+b.Switches
		}
		if hosts != f.Hosts || switches != f.Switches {
			t.Errorf("%s: boxes of %d hosts and %d switches of %d and %d", c.name, hosts, switches, f.Hosts, f.Switches)
		}
	}
	if f, _ := newFabric(&runfolder.Manifest{Variants: []runfolder.Variant{{Name: "run"}}}, "run", nil, nil, nil); f != nil {
		t.Errorf("a fabric without links: %+v", f)
	}
}

// A line has the load of its busiest link, by direction; a mark is where its port is;
// a flow is drawn where all its shortest paths go.
func TestFabricShowsLoadAndFlows(t *testing.T) {
	m := readingtest.FabricOfLinks(append(readingtest.FatTree(4), [2]string{"tor0", "agg0"})) // a bundle of two
	place := func(from, to string, nth int) reading.Place {
		for _, p := range reading.PlacesOf(m, "run") {
			if p.From == from && p.To == to {
				if nth == 0 {
					return p
				}
				nth--
			}
		}
		t.Fatalf("no port %s-%s", from, to)
		return reading.Place{}
	}
	port := func(p reading.Place, load float64) reading.Port {
		return reading.Port{Place: p, Use: []reading.Use{{Variant: "run", Utilisation: load}}}
	}
	used := []reading.Port{port(place("tor0", "agg0", 0), 0.2), port(place("tor0", "agg0", 1), 0.6), port(place("agg0", "tor0", 0), 0.1), port(place("h0", "tor0", 0), 0.9)}
	src, dst := place("h0", "tor0", 0).Node, place("h2", "tor1", 0).Node
	f, _ := newFabric(m, m.Variants[0].Name, used, used[1:2], []runfolder.Flow{{Name: "0-2", Src: src, Dst: dst, Size: 1}})
	name := func(box int) string { return f.Boxes[box].Name }
	i := slices.IndexFunc(f.Lines, func(l Line) bool { return name(l.A) == "tor0" && name(l.B) == "agg0" })
	if l := f.Lines[i]; l.Links != 2 || l.Up != 0.6 || l.Down != 0.1 || l.Load() != 0.6 {
		t.Errorf("line %+v", l)
	}
	if m := f.Marks; len(m) != 1 || name(m[0].From) != "tor0" || name(m[0].To) != "agg0" {
		t.Errorf("marks %+v", m)
	}
	var steps []string
	for _, s := range f.Paths[0].Steps {
		steps = append(steps, name(s[0])+" "+name(s[1]))
	}
	if d := cmp.Diff(steps, []string{"h0 tor0", "tor1 h2"}); d != "" || f.Paths[0].Whole {
		t.Errorf("path %+v (-got +want):\n%s", f.Paths[0], d)
	}
	many := make([]runfolder.Flow, reading.MaxGroups+1)
	if f, _ := newFabric(m, m.Variants[0].Name, nil, nil, many); len(f.Paths) != 0 {
		t.Errorf("%d paths of many flows", len(f.Paths))
	}
}

// A link is as busy in a bin as its busiest port was in the windows of the bin; a bin
// without packets has no available bandwidth; samples count for the port that they name.
func TestLoad(t *testing.T) {
	m := &runfolder.Manifest{IntervalUS: 100, Variants: []runfolder.Variant{{Name: "run", Overhead: 0}},
		Nodes: []runfolder.Node{{Node: 0, Name: "a", Kind: runfolder.KindHost}, {Node: 1, Name: "s", Kind: runfolder.KindSwitch}, {Node: 2, Name: "b", Kind: runfolder.KindHost}},
		Ports: []runfolder.Port{
			{Node: 0, Port: 0, Peer: 1, RateBPS: 8e9, Tier: "host"}, {Node: 1, Port: 0, Peer: 0, RateBPS: 8e9, Tier: "tor"},
			{Node: 1, Port: 1, Peer: 2, RateBPS: 8e9, Tier: "tor"}, {Node: 2, Port: 0, Peer: 1, RateBPS: 8e9, Tier: "host"},
		}}
	f, lines := newFabric(m, m.Variants[0].Name, nil, nil, nil)
	if f == nil || len(f.Lines) != 2 {
		t.Fatalf("fabric %+v", f)
	}
	of := reading.RunID{Variant: "run", Seed: 1}
	totals := &reading.Totals{Shown: map[string]uint64{"run": 1}, Ends: map[reading.RunID]float64{of: 40_000}}
	g := &reading.Reading{Manifest: m, Totals: totals}
	readers := newLoadReaders(g, f, lines)
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
		row.WindowUS = 100
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
		{"idle", near.Busy[5], 0}, {"nothing sent", near.Left[5], reading.NoPercent},
		{"the last bin", far.Busy[199], 50}, {"what the meter had", far.Left[199], 10}, {"below nothing", far.Left[5], 0},
		{"three of four samples", far.Named[0], 75}, {"none of four", near.Named[0], 0}, {"no sample", far.Named[9], reading.NoPercent},
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
	totals.Ends[of] = 40_100
	short := newLoadReaders(g, f, lines)[0]
	short.port(&runfolder.PortRow{WindowUS: 100, Node: 1, Port: 1, RateBPS: 8e9, Tier: "tor", StartUS: 40_000, BusyPS: sent(100_000)})
	last := short.result()
	if got := last.Lines[lines[[2]int32{1, 2}]].Busy[last.Bins-1]; float64(last.Bins)*last.BinUS <= 40_100 || got != int8(math.Round(100*100/(40_100-float64(last.Bins-1)*last.BinUS))) {
		t.Errorf("%d bins of %g µs, the last one is %d %% busy", last.Bins, last.BinUS, got)
	}
	for _, end := range []float64{0, math.Inf(1), math.NaN()} {
		totals.Ends[of] = end
		if n := len(newLoadReaders(g, f, lines)); n != 0 {
			t.Errorf("a run that ends at %g µs has %d readers", end, n)
		}
	}
}

// The caption says how many switches speak CSIG if some do not, of the variant that is drawn.
func TestCaptionCountsSpeakers(t *testing.T) {
	m := readingtest.FabricOfLinks(readingtest.FatTree(4))
	m.Variants = []runfolder.Variant{{Name: "plain"}, {Name: "tagged", Silent: []string{"s0", "s1", "s2"}}}
	for variant, want := range map[string]bool{"plain": false, "tagged": true} {
		f, _ := newFabric(m, variant, nil, nil, nil)
		s := &Section{Fabric: f, r: &reading.Reading{Facts: reading.Facts{Variants: make([]reading.Variant, 2)}}}
		if got := strings.Contains(s.caption(), " 17 of the switches speak CSIG; the others pass tags on untouched"); got != want {
			t.Errorf("%s: %q", variant, s.caption())
		}
	}
}
