package topologies_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// twoRacks has its nodes in no order: two hosts with a switch each, joined by a bundle and
// by way of a third switch.
func twoRacks() topologies.Custom {
	node := func(name string, kind topologies.Kind) topologies.CustomNode {
		return topologies.CustomNode{Name: name, Kind: kind}
	}
	link := func(a, b, count int, rate units.Rate) topologies.CustomLink {
		return topologies.CustomLink{A: a, B: b, Count: count, Rate: rate, Delay: us}
	}
	return topologies.Custom{
		Name:  "two-racks",
		Nodes: []topologies.CustomNode{node("top", topologies.Switch), node("b", topologies.Host), node("left", topologies.Switch), node("a", topologies.Host), node("right", topologies.Switch)},
		Links: []topologies.CustomLink{link(0, 2, 0, 400*units.Gbps), link(2, 4, 2, 200*units.Gbps), link(4, 0, 1, 400*units.Gbps), link(3, 2, 1, 100*units.Gbps), link(4, 1, 1, 50*units.Gbps)},
	}
}

func TestCustom(t *testing.T) {
	c := twoRacks()
	g, err := c.Build()
	built(t, g, err, c.Size)
	want := []topologies.Node{
		{Name: "b", Kind: topologies.Host, Pod: -1}, {Name: "a", Kind: topologies.Host, Pod: -1, Index: 1},
		{Name: "top", Kind: topologies.Switch, Tier: topologies.TierAgg, Pod: -1},
		{Name: "left", Kind: topologies.Switch, Tier: topologies.TierToR, Pod: -1}, {Name: "right", Kind: topologies.Switch, Tier: topologies.TierToR, Pod: -1, Index: 1},
	}
	if diff := cmp.Diff(g.Nodes, want); diff != "" {
		t.Errorf("nodes, got - want +:\n%s", diff)
	}
	if got, want := fmt.Sprint(g.LinkNames()), "[left-top left:1-right left:2-right right-top a-left b-right]"; got != want {
		t.Errorf("links %s, want %s", got, want)
	}
	if ports := topologies.NextHops(g)[3].To(0); len(ports) != 2 {
		t.Errorf("from left to b by ports %v, want the bundle", ports)
	}
	if _, delay := topologies.NewPaths(g).Between(0, 1); delay != 3*us {
		t.Errorf("delay %v, want 3us", delay)
	}
	c.Nodes[0].Tier = topologies.TierCore
	if g, err = c.Build(); err != nil || g.Nodes[2].Tier != topologies.TierCore {
		t.Errorf("%v, tier %v, want core as given", err, g.Nodes[2].Tier)
	}
}

func TestCustomErrors(t *testing.T) {
	for _, c := range []struct {
		change     func(*topologies.Custom)
		node, link int
		want       string
	}{
		{func(c *topologies.Custom) { c.Nodes[2].Ports = 3 }, 2, -1, "switch left has 3 ports and 4 links"},
		{func(c *topologies.Custom) { c.Links[1].B = 2 }, -1, 1, "joins left to itself"},
		{func(c *topologies.Custom) { c.Links[3].B = 1 }, -1, 3, "joins the hosts a and b; a host's link leads to a switch"},
		{func(c *topologies.Custom) { c.Links[2] = c.Links[3] }, -1, 3, "the second link of host a; a host has one link, so that a server with several NICs is a host for each"},
		{func(c *topologies.Custom) { c.Links = c.Links[:4] }, 1, -1, "host b has no link"},
		{func(c *topologies.Custom) { c.Links[0], c.Links[2] = c.Links[1], c.Links[1] }, 0, -1, "switch top has no link"},
		{func(c *topologies.Custom) { c.Links[1], c.Links[2] = c.Links[0], c.Links[0] }, 1, -1, "the fabric is not connected: no way leads from top to b, right"},
		{func(c *topologies.Custom) { c.Nodes[4].Name = "left" }, 4, -1, "the name left is taken by an earlier node"},
		{func(c *topologies.Custom) { c.Nodes[4].Name = "my switch" }, 4, -1, `"my switch" is no name of a node; want up to 40 letters, digits and . _ -, with a letter or digit at both ends`},
		{func(c *topologies.Custom) { c.Nodes[1].Ports = 3 }, 1, -1, "b is a host; ports, delay and tier are those of switches"},
		{func(c *topologies.Custom) { c.Nodes[1].Kind, c.Nodes[3].Kind = topologies.Switch, topologies.Switch }, -1, -1, "no node is a host"},
		{func(c *topologies.Custom) { c.Links[1].Count = 1_000_000_000 }, -1, 1, "1000000000 parallel links, the limit is 4096"},
		{func(c *topologies.Custom) { c.Links[1].Rate = 0 }, -1, 1, "rate 0bps, want more than 0 and at most 100Tbps"},
		{func(c *topologies.Custom) { c.Links[1].Delay = 0 }, -1, 1, "delay 0s, want more than 0 and at most 1s"},
	} {
		custom := twoRacks()
		c.change(&custom)
		_, err := custom.Build()
		var wrong *topologies.CustomError
		if !errors.As(err, &wrong) || wrong.Node != c.node || wrong.Link != c.link || err.Error() != c.want || !errors.Is(err, topologies.ErrInvalid) {
			t.Errorf("got %#v (%v), want node %d, link %d: %s", wrong, err, c.node, c.link, c.want)
		}
	}
}
