package inspect_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/collective"
	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/inspect"
)

// A ring all-reduce of S bytes sends 2(N-1)S/N of each rank and takes 2(N-1) steps of S/N.
func TestRing(t *testing.T) {
	s, err := collective.New(collective.Config{Call: collective.Call{Kind: collective.AllReduce, Bytes: 8000}, Ranks: 4, Iterations: 3})
	if err != nil {
		t.Fatal(err)
	}
	sum := inspect.Summarise(s, 1)
	if diff := cmp.Diff(sum.Kinds, []inspect.Kind{{Kind: "all_reduce", Messages: 3 * 4 * 6, Bytes: 3 * 4 * 6 * 2000}}); diff != "" {
		t.Errorf("kinds (got -, want +):\n%s", diff)
	}
	if c := sum.Collectives; len(c) != 1 || c[0].Runs != 3 || c[0].Buffer != 8000 {
		t.Errorf("collectives %+v", c)
	}
	p, err := inspect.Play(s, 1, graph.Link{Rate: 8 * units.Gbps, Latency: units.Microsecond}) // 2 kB take 2 us
	if err != nil {
		t.Fatal(err)
	}
	if want := 3 * 6 * 3 * units.Microsecond; units.Duration(p.End) != want || p.Messages != want || len(p.Path) != 18 {
		t.Errorf("ends at %v, critical messages %v in %d parts, want %v in 18", units.Duration(p.End), p.Messages, len(p.Path), want)
	}
}

// The critical path goes through the rank that computes longest.
func TestStraggler(t *testing.T) {
	tag := graph.Tag{Phase: graph.None, Collective: graph.None, Group: graph.None}
	of := map[int][]graph.Op{}
	for rank, d := range []units.Duration{1, 9, 2} {
		b := graph.Builder{Tag: tag}
		c := b.Compute(d*units.Microsecond, 0)
		b.Ops[0].Deps = nil
		for k := 1; k < 3; k++ {
			b.Send((rank+k)%3, 0, 1, c)
		}
		got := []uint32{b.Recv((rank+1)%3, 0, 1, c), b.Recv((rank+2)%3, 0, 1, c)}
		b.Compute(units.Microsecond, got...)
		of[rank] = b.Ops
	}
	p, err := inspect.Play(&graph.Static{Count: 1, All: 3, Of: of}, 1, graph.Link{})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Path) == 0 || p.Path[0].Rank != 1 || p.Path[0].What != "compute" || p.Compute != 10*units.Microsecond {
		t.Errorf("critical path %+v, computing %v; want 10us, from rank 1 on", p.Path, p.Compute)
	}
	var svg strings.Builder
	if err := p.Picture.SVG(&svg, "a < b"); err != nil {
		t.Fatal(err)
	}
	for rank := range 3 {
		if !strings.Contains(svg.String(), fmt.Sprintf(">rank %d<", rank)) || !strings.Contains(svg.String(), ">a &lt; b<") {
			t.Errorf("no rank %d in the picture", rank)
		}
	}
	// Rank 2 computes for 2 of 10 us at first: 240 of the 1200 columns. Messages take no time.
	if !strings.Contains(svg.String(), `<rect x="70" y="74" width="240" height="12" fill="#4477aa"`) {
		t.Errorf("no box of 2 us in\n%s", svg.String())
	}
}
