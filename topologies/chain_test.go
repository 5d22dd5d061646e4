package topologies_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// names returns the names of the links of the path between two hosts.
func names(g *topologies.Graph, src, dst int) string {
	var list []string
	for _, id := range topologies.NewPaths(g).Links(src, dst) {
		list = append(list, g.LinkName(id))
	}
	return strings.Join(list, " ")
}

// built returns a graph that is valid and as large as its generator says.
func built(t *testing.T, g *topologies.Graph, err error, size func() (topologies.Size, error)) *topologies.Graph {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Validate(); err != nil {
		t.Fatal(err)
	}
	if s, err := size(); err != nil || s != g.Size() {
		t.Errorf("%s: the generator says %+v, %v; the graph has %+v", g.Name, s, err, g.Size())
	}
	return g
}

func TestDumbbell(t *testing.T) {
	spec := topologies.DumbbellSpec{Left: 3, Right: 2, Rate: 100 * units.Gbps, BottleneckRate: 10 * units.Gbps, Delay: us, BottleneckDelay: 5 * us, SwitchDelay: us / 2, Ports: 4}
	g, err := topologies.Dumbbell(spec)
	built(t, g, err, spec.Size)
	if got, want := names(g, 0, 4), "h0-s0 s0-s1 h4-s1"; got != want {
		t.Errorf("path from 0 to 4: %s, want %s", got, want)
	}
	if links, delay := topologies.NewPaths(g).Between(2, 3); links != 3 || delay != 7*us+us {
		t.Errorf("from left to right: %d links and %v, want 3 and 8us", links, delay)
	}
	if got, want := names(g, 0, 2), "h0-s0 h2-s0"; got != want {
		t.Errorf("path from 0 to 2: %s, want %s", got, want)
	}
	for _, l := range g.Links {
		if bottleneck := l.A.Node >= g.Hosts(); bottleneck != (l.Rate == 10*units.Gbps) || bottleneck != (l.Delay == 5*us) {
			t.Errorf("link %+v", l)
		}
	}
	spec.BottleneckRate, spec.BottleneckDelay = 0, 0
	g, err = topologies.Dumbbell(spec)
	built(t, g, err, spec.Size)
	if l := g.Links[len(g.Links)-1]; l.Rate != spec.Rate || l.Delay != spec.Delay {
		t.Errorf("the bottleneck is %v, %v; want the same as the hosts' links", l.Rate, l.Delay)
	}
}

// Each hop has its pairs, which cross one bottleneck; the long pair crosses all.
func TestParkingLot(t *testing.T) {
	spec := topologies.ParkingLotSpec{Hops: 3, Pairs: 2, Rate: 100 * units.Gbps, BottleneckRate: 10 * units.Gbps, Delay: us, Ports: 6}
	g, err := topologies.ParkingLot(spec)
	built(t, g, err, spec.Size)
	for _, c := range []struct {
		src, dst int
		want     string
	}{
		{0, 1, "h0-s0 s0-s1 s1-s2 s2-s3 h1-s3"},
		{2, 3, "h2-s0 s0-s1 h3-s1"}, {4, 5, "h4-s0 s0-s1 h5-s1"},
		{6, 7, "h6-s1 s1-s2 h7-s2"}, {8, 9, "h8-s1 s1-s2 h9-s2"},
		{10, 11, "h10-s2 s2-s3 h11-s3"}, {12, 13, "h12-s2 s2-s3 h13-s3"},
	} {
		if got := names(g, c.src, c.dst); got != c.want {
			t.Errorf("path from %d to %d: %s, want %s", c.src, c.dst, got, c.want)
		}
	}
}

func TestTooFewPorts(t *testing.T) {
	link := func(ports int) topologies.DumbbellSpec {
		return topologies.DumbbellSpec{Left: 2, Right: 7, Rate: units.Gbps, Delay: us, Ports: ports}
	}
	for _, c := range []struct {
		size func() (topologies.Size, error)
		want string
	}{
		{link(4).Size, "switch s1 needs 8 ports and has 4"}, {link(8).Size, ""}, {link(0).Size, ""},
		{topologies.ParkingLotSpec{Hops: 1, Pairs: 3, Rate: 1, Delay: 1, Ports: 4}.Size, "switch s0 needs 5 ports and has 4"},
		{topologies.ParkingLotSpec{Hops: 2, Pairs: 3, Rate: 1, Delay: 1, Ports: 7}.Size, "switch s1 needs 8 ports and has 7"},
		{topologies.ParkingLotSpec{Hops: 2, Pairs: 3, Rate: 1, Delay: 1, Ports: 8}.Size, ""},
	} {
		_, err := c.size()
		var ports *topologies.PortsError
		if got := errors.As(err, &ports) && errors.Is(err, topologies.ErrInvalid) && err.Error() == c.want; got != (c.want != "") {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}
