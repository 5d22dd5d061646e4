package topologies_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Hops are those of minimal paths, which a slow method finds; over a third group they are
// those to where the path enters and from there.
func TestGroupsHops(t *testing.T) {
	for _, g := range []*topologies.Graph{dragonfly(t, 2, 4, 2, 0), dragonfly(t, 1, 4, 2, 4), dragonfly(t, 1, 2, 4, 3)} {
		groups, err := topologies.NewGroups(g)
		if err != nil {
			t.Fatal(err)
		}
		hosts, distance, adjacency := g.Hosts(), minimal(g), g.Adjacency()
		routers := len(g.Nodes) - hosts
		hops := func(a, b int) int { return distance[hosts+a][hosts+b] % 1000 }
		for a := range routers {
			if groups.OfRouter[a] != int32(g.Nodes[hosts+a].Pod) {
				t.Fatalf("%s: router %d is in group %d", g.Name, a, groups.OfRouter[a])
			}
			for b := range routers {
				if got := groups.Hops(int32(a), int32(b)); got != hops(a, b) {
					t.Fatalf("%s: %d hops from router %d to %d, want %d", g.Name, got, a, b, hops(a, b))
				}
				for group := range groups.Count {
					if own, other := groups.OfRouter[a], groups.OfRouter[b]; own == other || group == int(own) || group == int(other) {
						continue
					}
					// Where minimal paths from a enter the group, with one or two links.
					nearest, fits := 99, map[int]bool{}
					for e := range routers {
						if int(groups.OfRouter[e]) != group {
							continue
						}
						for _, far := range adjacency[hosts+e] {
							before := far.Peer.Node - hosts
							if before < 0 || groups.OfRouter[before] != groups.OfRouter[a] {
								continue
							}
							n := hops(a, before) + 1
							if n < nearest {
								nearest, fits = n, map[int]bool{}
							}
							if n == nearest {
								fits[n+hops(e, b)] = true
							}
						}
					}
					if got := groups.HopsVia(int32(a), group, int32(b)); !fits[got] {
						t.Fatalf("%s: %d hops from router %d over group %d to %d, want one of %v", g.Name, got, a, group, b, fits)
					}
				}
			}
		}
		for h := range hosts {
			router := int(groups.OfHost[h])
			if adjacency[h][0].Peer.Node != hosts+router || int(groups.HostOf[router]) > h {
				t.Errorf("%s: host %d is at router %d, whose first host is %d", g.Name, h, router, groups.HostOf[router])
			}
		}
		for group := range groups.Count {
			for i := range groups.Members(group) {
				if m := groups.Member(group, i); int(groups.OfRouter[m]) != group {
					t.Errorf("%s: router %d is a member of group %d", g.Name, m, group)
				}
			}
		}
	}
}

// Routes to a group are the ports on minimal paths to the nearest of its routers: the
// global links that lead there, or else the local links to the routers that have one.
func TestRoutesToPods(t *testing.T) {
	for _, g := range []*topologies.Graph{dragonfly(t, 2, 4, 2, 0), dragonfly(t, 1, 4, 2, 4), dragonfly(t, 1, 2, 4, 3), dragonfly(t, 1, 8, 9, 70)} {
		hosts, adjacency, routes := g.Hosts(), g.Adjacency(), topologies.NextHops(g)
		leads := func(node, pod int) bool { // by a link of its own
			for _, a := range adjacency[node] {
				if a.Peer.Node >= hosts && g.Nodes[a.Peer.Node].Pod == pod {
					return true
				}
			}
			return false
		}
		pods := g.Nodes[len(g.Nodes)-1].Pod + 1
		for n := hosts; n < len(g.Nodes); n++ {
			for pod := range pods {
				want := map[uint16]bool{}
				for port, a := range adjacency[n] {
					peer := a.Peer.Node
					switch own := g.Nodes[n].Pod; {
					case peer < hosts || pod == own:
					case leads(n, pod):
						want[uint16(port)] = g.Nodes[peer].Pod == pod
					case g.Nodes[peer].Pod == own:
						want[uint16(port)] = leads(peer, pod)
					}
				}
				for _, port := range routes[n].Ports(routes[n].ToPod(pod)) {
					if !want[port] {
						t.Fatalf("%s: %s takes port %d to group %d", g.Name, g.Nodes[n].Name, port, pod)
					}
					delete(want, port)
				}
				for port, missing := range want {
					if missing {
						t.Fatalf("%s: %s does not take port %d to group %d", g.Name, g.Nodes[n].Name, port, pod)
					}
				}
			}
			if r := routes[n].ToPod(pods); r != topologies.NoRoute {
				t.Fatalf("%s: a route to group %d of %d", g.Name, pods, pods)
			}
		}
	}
	for _, r := range topologies.NextHops(kary(t, 4)) {
		if r.Pods != nil {
			t.Fatal("a tree has routes to pods")
		}
	}
}

// A fabric that is no Dragonfly has no groups; the error says why.
func TestNewGroupsRefuses(t *testing.T) {
	noLocal := dragonfly(t, 1, 2, 1, 0)
	noLocal.Links = append(noLocal.Links[:noLocal.Hosts():noLocal.Hosts()], noLocal.Links[noLocal.Hosts()+1:]...)
	noGlobal := dragonfly(t, 1, 2, 1, 0)
	noGlobal.Links = noGlobal.Links[:len(noGlobal.Links)-1]
	for want, g := range map[string]*topologies.Graph{
		"switch core0 is in no group":              kary(t, 4),
		"router r0 is joined to 0 of the 1 others": noLocal,
		"groups 1 and 2 share no link":             noGlobal,
	} {
		if _, err := topologies.NewGroups(g); !errors.Is(err, topologies.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", g.Name, err, want)
		}
	}
}

// The longest detour of a Dragonfly at full size is local, global, local, global, local;
// by way of a router there is one more local link where the path enters.
func TestLongestDetour(t *testing.T) {
	g, err := topologies.Dragonfly(topologies.DragonflySpec{HostsPerRouter: 1, Routers: 4, Global: 2, Rate: units.Gbps,
		Delay: us, LocalDelay: 10 * us, GlobalDelay: 100 * us, SwitchDelay: 1000 * us})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := slices.Max(topologies.LongestDetours(g, false)), (2+3*10+2*100+6*1000)*us; got != want {
		t.Errorf("by way of a group %v, want %v", got, want)
	}
	if got, want := slices.Max(topologies.LongestDetours(g, true)), (2+4*10+2*100+7*1000)*us; got != want {
		t.Errorf("by way of a router %v, want %v", got, want)
	}
}
