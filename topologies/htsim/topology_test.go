package htsim_test

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/topologies/htsim"
	"github.com/csiglab/csiglab/units"
)

func counts(hosts, pods, tors, aggs, cores, torAgg, aggCore int) topologies.Counts {
	return topologies.Counts{
		Hosts: hosts, Pods: pods, ToRs: tors, Aggs: aggs, Cores: cores,
		Links: topologies.LinkCounts{Host: hosts, TorAgg: torAgg, AggCore: aggCore},
	}
}

func TestPublicFiles(t *testing.T) {
	const dir = "ultraethernet+uet-htsim/htsim/sim/datacenter/topologies/"
	for name, want := range map[string]topologies.Counts{
		dir + "fat_tree_1024.topo":                               counts(1024, 16, 128, 128, 64, 1024, 1024),
		dir + "fat_tree_128_1os.topo":                            counts(128, 8, 32, 32, 16, 128, 128),
		dir + "fat_tree_128_4os.topo":                            counts(128, 8, 32, 32, 4, 128, 32),
		dir + "leaf_spine_1024.topo":                             counts(1024, 1, 32, 32, 0, 1024, 0),
		dir + "leaf_spine_8192_800g_4_to_1.topo":                 counts(8192, 1, 128, 16, 0, 2048, 0),
		dir + "leaf_spine_tiny.topo":                             counts(32, 1, 4, 2, 0, 8, 0),
		dir + "test.topo":                                        counts(8, 2, 4, 4, 4, 8, 16),
		"scenarios/three-flow.topo":                              counts(16, 4, 8, 4, 1, 8, 4),
		"scenarios/fat-tree-16.topo":                             counts(16, 4, 8, 8, 4, 16, 16),
		"scenarios/collective.topo":                              counts(32, 1, 4, 2, 0, 8, 0),
		"astra-sim+astra-sim/examples/network/htsim/8nodes.topo": counts(8, 2, 4, 4, 4, 8, 16),
	} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			f, err := htsim.ReadTopology(name, checkout.Open(t, "fixtures/"+name))
			if err != nil {
				t.Fatal(err)
			}
			if want := strings.TrimSuffix(filepath.Base(name), ".topo"); f.Name != want {
				t.Errorf("name %q, want %q", f.Name, want)
			}
			g, err := f.Build()
			if err != nil {
				t.Fatal(err)
			}
			if err := g.Validate(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(g.Counts(), want); diff != "" {
				t.Errorf("counts (got -, want +):\n%s", diff)
			}
			var text bytes.Buffer
			if err := htsim.WriteTopology(&text, f); err != nil {
				t.Fatal(err)
			}
			again, err := htsim.ReadTopology(name, &text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(again, f); diff != "" {
				t.Errorf("written and read again (got -, want +):\n%s", diff)
			}
		})
	}
}

// small is a valid file; the tests below spoil it.
const small = `Nodes 16
Tiers 3
Podsize 4
Tier 0
Downlink_speed_Gbps 100
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 1000
Switch_Latency_ns 0
Tier 1
Downlink_speed_Gbps 100
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 1000
Tier 2
Downlink_speed_Gbps 100
Radix_Down 4
Downlink_Latency_ns 1000
`

func TestRead(t *testing.T) {
	f, err := htsim.ReadTopology("a/b/small.topo", strings.NewReader(strings.Replace(strings.ToUpper(small), "RADIX_UP 2\n", "radix_up 2 # two\n\tqueue_up 8300\nQUEUE_DOWN 4150\r\n", 1)))
	if err != nil {
		t.Fatal(err)
	}
	tier := topologies.FatTreeTier{Rate: 100 * units.Gbps, Delay: units.Microsecond, RadixDown: 2, RadixUp: 2, Oversubscribed: 1, Bundle: 1}
	want := topologies.FatTree{Name: "small", Hosts: 16, PodSize: 4, Tiers: []topologies.FatTreeTier{tier, tier, tier}}
	want.Tiers[0].QueueUp, want.Tiers[0].QueueDown = 8300, 4150
	want.Tiers[2].RadixDown, want.Tiers[2].RadixUp = 4, 0
	if diff := cmp.Diff(f, want); diff != "" {
		t.Errorf("got -, want +:\n%s", diff)
	}
}

// replaceLine returns small with line n (from 1) replaced; "" removes it.
func replaceLine(n int, with string) string {
	all := strings.SplitAfter(small, "\n")
	if with != "" {
		with += "\n"
	}
	all[n-1] = with
	return strings.Join(all, "")
}

func TestDiagnostics(t *testing.T) {
	for _, c := range []struct {
		text, want string
	}{
		{"", `x.topo:1:1: the file is empty`},
		{"# nothing\n", `x.topo:1:10: the file is empty`},
		{replaceLine(1, "Node 16"), `x.topo:1:1: unknown key "Node" (did you mean "Nodes"?)`},
		{replaceLine(1, "Nodes"), `x.topo:1:6: Nodes has no value`},
		{replaceLine(1, "Nodes 16 17"), `x.topo:1:10: unexpected "17" after the value of Nodes`},
		{replaceLine(1, "Nodes sixteen"), `x.topo:1:7: Nodes "sixteen" is not a whole number`},
		{replaceLine(1, "Nodes 16.0"), `x.topo:1:7: Nodes "16.0" is not a whole number`},
		{replaceLine(1, "Nodes -16"), `x.topo:1:7: Nodes is -16, want 2 to 1048576`},
		{replaceLine(1, "Nodes 99999999999999999999"), `x.topo:1:7: Nodes is 99999999999999999999, want 2 to 1048576`},
		{replaceLine(1, ""), `x.topo:3:1: Nodes is missing`},
		{replaceLine(2, "Tiers 4"), `x.topo:2:7: Tiers is 4, want 2 to 3`},
		{replaceLine(2, "Tiers 2"), `x.topo:15:6: Tier is 2, want 0 to 1`},
		{replaceLine(2, "Nodes 16"), `x.topo:2:1: Nodes was set in line 1`},
		{replaceLine(3, "Podsize 5"), `x.topo:3:9: Podsize is 5, want a divisor of 16: the fabric has 16 hosts`},
		{replaceLine(3, "Podsize 16"), `x.topo:12:12: tier 1: Radix_Down is 2, want 8: a pod has 8 tors, bundle 1`},
		{replaceLine(4, ""), `x.topo:4:1: Downlink_speed_Gbps belongs to a tier; write Tier 0 before it`},
		{replaceLine(4, "Tier zero"), `x.topo:4:6: Tier "zero" is not a whole number`},
		{replaceLine(5, "Downlink_speed_Gbs 100"), `x.topo:5:1: unknown key "Downlink_speed_Gbs" (did you mean "Downlink_speed_Gbps"?)`},
		{replaceLine(5, "Downlink_speed_Gbps 100Gbps"), `x.topo:5:21: Downlink_speed_Gbps "100Gbps" is not a whole number`},
		{replaceLine(5, "Downlink_speed_Gbps 1000000"), `x.topo:5:21: Downlink_speed_Gbps is 1000000, want 1 to 100000`},
		{replaceLine(5, "Downlink_speed_Gbps 0"), `x.topo:5:21: Downlink_speed_Gbps is 0, want 1 to 100000`},
		{replaceLine(5, "Colour blue"), `x.topo:5:1: unknown key "Colour"; use Downlink_speed_Gbps, Radix_Down, Radix_Up, Downlink_Latency_ns, Switch_Latency_ns, Oversubscribed, Bundle, Queue_Up, Queue_Down or Tier`},
		{replaceLine(5, ""), `x.topo:4:1: tier 0: Downlink_speed_Gbps is missing`},
		{replaceLine(6, "Radix_Down 3"), `x.topo:6:12: tier 0: Radix_Down is 3, want a divisor of 4: a pod has 4 hosts`},
		{replaceLine(7, "Radix_Up 1"), `x.topo:7:10: tier 0: Radix_Up is 1, want 2: 2 down links at 100Gbps, up links at 100Gbps, oversubscribed 1`},
		{replaceLine(7, ""), `x.topo:4:1: tier 0: Radix_Up is missing`},
		{replaceLine(8, "Radix_up 2"), `x.topo:8:1: Radix_Up was set for tier 0 in line 7`},
		{replaceLine(8, "Downlink_Latency_ns 0"), `x.topo:8:21: Downlink_Latency_ns is 0, want 1 to 1000000000`},
		{replaceLine(9, "  Oversubscribed 0"), `x.topo:9:18: Oversubscribed is 0, want 1 to 4096`},
		{replaceLine(9, "Nodes 16"), `x.topo:9:1: Nodes was set in line 1`},
		{replaceLine(9, "Bundle 2"), `x.topo:9:8: tier 0: Bundle is 2, want 1: a host has one link`},
		{replaceLine(10, "Tier 0"), `x.topo:10:6: tier 0 was described in line 4`},
		{replaceLine(10, "Tier 00"), `x.topo:10:6: tier 0 was described in line 4`},
		{replaceLine(10, "Tier 3"), `x.topo:10:6: Tier is 3, want 0 to 2`},
		{replaceLine(11, "Downlink_speed_Gbps 75"), `x.topo:4:1: tier 0: Oversubscribed is 1, want the rate below over the rate above, which is 200Gbps over 150Gbps: 2 down links at 100Gbps, up links at 75Gbps, oversubscribed 1`},
		{replaceLine(12, "Radix_Down 4"), `x.topo:12:12: tier 1: Radix_Down is 4, want 2: a pod has 2 tors, bundle 1 (a bundle of 2 would fit)`},
		{replaceLine(17, "Radix_Down 8"), `x.topo:17:12: tier 2: Radix_Down is 8, want 4: a core reaches one agg in each of 4 pods, bundle 1 (a bundle of 2 would fit)`},
		{replaceLine(17, "Radix_Down 4\nRadix_Up 1"), `x.topo:18:10: Radix_Up: tier 2 is the top and has no up links`},
		{replaceLine(17, "Radix_Down 4\nQueue_Up 1"), `x.topo:18:10: Queue_Up: tier 2 is the top and has no up links`},
		{small + "Podsize 4\n", `x.topo:19:1: Podsize was set in line 3`},
		{replaceLine(3, "") + "Podsize 4\n", `x.topo:18:1: Podsize belongs before the first tier`},
		{strings.Join(strings.SplitAfter(small, "\n")[:14], ""), `x.topo:14:25: tier 2 of 3 is missing`},
		{small[:len(small)-8], `x.topo:18:1: unknown key "Downlink_Latency_" (did you mean "Downlink_Latency_ns"?)`},
	} {
		_, err := htsim.ReadTopology("x.topo", strings.NewReader(c.text))
		var e *htsim.Error
		if !errors.As(err, &e) || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
	_, err := htsim.ReadTopology("x.topo", strings.NewReader(replaceLine(17, "Radix_Down 8")))
	var shape *topologies.ShapeError
	if !errors.As(err, &shape) || shape.Tier != 2 || shape.Field != topologies.FieldRadixDown {
		t.Errorf("got %v, want a ShapeError of radix_down of tier 2", err)
	}
}

func TestWriteRefuses(t *testing.T) {
	for _, edit := range []func(f *topologies.FatTree){
		func(f *topologies.FatTree) { f.Tiers[2].RadixDown = 3 },
		func(f *topologies.FatTree) { f.Tiers[2].Delay = 1500 * units.Picosecond },
		func(f *topologies.FatTree) {
			for i := range f.Tiers {
				f.Tiers[i].Rate = 2500 * units.Mbps
			}
		},
		func(f *topologies.FatTree) { f.Tiers[1].Oversubscribed = 0; f.Tiers[2].Rate = 300 * units.Gbps },
	} {
		f, err := htsim.ReadTopology("small.topo", strings.NewReader(small))
		if err != nil {
			t.Fatal(err)
		}
		edit(&f)
		var text bytes.Buffer
		if err := htsim.WriteTopology(&text, f); err == nil {
			t.Errorf("%+v: no error, wrote\n%s", f, text.String())
		}
	}
}

// Whatever is read without an error builds a valid graph, if it is not huge, and
// survives being written.
func FuzzReadTopology(f *testing.F) {
	f.Add(small)
	f.Add(strings.Replace(small, "Tiers 3", "Tiers 2", 1))
	f.Add("Nodes 8\nTiers 2\nPodsize 8\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 4\nRadix_Up 2\nOversubscribed 2\nDownlink_Latency_ns 1\nTier 1\nBundle 2\nRadix_Down 4\nDownlink_speed_Gbps 100\nDownlink_Latency_ns 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		tree, err := htsim.ReadTopology("f.topo", strings.NewReader(text))
		if err != nil {
			var e *htsim.Error
			if !errors.As(err, &e) || e.Line < 1 || e.Column < 1 {
				t.Fatalf("error %v has no place", err)
			}
			return
		}
		var out bytes.Buffer
		if err := htsim.WriteTopology(&out, tree); err != nil {
			t.Fatal(err)
		}
		again, err := htsim.ReadTopology("f.topo", &out)
		if err != nil || !cmp.Equal(again, tree) {
			t.Fatalf("read again: %+v, %v, want %+v", again, err, tree)
		}
		if tree.Hosts > 1000 {
			return
		}
		g, err := tree.Build()
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Validate(); err != nil {
			t.Fatal(err)
		}
	})
}

func ExampleReadTopology() {
	_, err := htsim.ReadTopology("x.topo", strings.NewReader("Nodes 16\nTiers 3\nPodsiz 4\n"))
	fmt.Println(err)
	// Output: x.topo:3:1: unknown key "Podsiz" (did you mean "Podsize"?)
}
