package topologies

import "slices"

// Routes are the next hops of one switch: the egress ports on minimal paths (see
// search) to each host. Hosts that share a set of ports share a group, so
// that the routes of a large fabric stay small. The zero value has no routes.
type Routes struct {
	Group []uint16   // host -> position in Ports
	Ports [][]uint16 // group -> ports, ascending; each link of a bundle is one
}

// To returns the egress ports towards a host, ascending. The slice belongs to r.
func (r *Routes) To(host int) []uint16 { return r.Ports[r.Group[host]] }

// NextHops returns the Routes of every node by its id; those of hosts are zero.
// The graph must be valid. Groups are numbered in the order of the first host
// that uses them, so the result depends on the graph alone.
func NextHops(g *Graph) []Routes {
	adjacency := g.Adjacency()
	hosts := g.Hosts()
	routes := make([]Routes, len(g.Nodes))
	groups := make([]map[string]uint16, len(g.Nodes)) // ports as text -> group
	for n := hosts; n < len(g.Nodes); n++ {
		routes[n].Group = make([]uint16, hosts)
		groups[n] = make(map[string]uint16)
	}
	var key []byte
	var ports []uint16
	// group returns the group of switch n whose ports are ports.
	group := func(n int) uint16 {
		key = key[:0]
		for _, p := range ports {
			key = append(key, byte(p>>8), byte(p))
		}
		id, ok := groups[n][string(key)]
		if !ok {
			id = uint16(len(routes[n].Ports))
			groups[n][string(key)] = id
			routes[n].Ports = append(routes[n].Ports, slices.Clone(ports))
		}
		return id
	}
	distances := newSearch(g, adjacency)
	towards := make([]uint16, len(g.Nodes)) // group of each switch towards the rack
	rack := -1                              // the switch that towards leads to
	for h := range hosts {
		own := adjacency[h][0].Peer
		if own.Node != rack {
			rack = own.Node
			distances.from(rack)
			for n := hosts; n < len(g.Nodes); n++ {
				if n == rack || distances.to[n] == unreached {
					continue
				}
				ports = ports[:0]
				for port, a := range adjacency[n] {
					if distances.precedes(a.Peer.Node, n) {
						ports = append(ports, uint16(port))
					}
				}
				towards[n] = group(n)
			}
		}
		for n := hosts; n < len(g.Nodes); n++ {
			routes[n].Group[h] = towards[n]
		}
		ports = append(ports[:0], uint16(own.Port))
		routes[rack].Group[h] = group(rack)
	}
	return routes
}
