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
	last := make([]uint16, len(g.Nodes)) // the group that each switch used last
	// group returns the group of switch n whose ports are ports.
	group := func(n int) uint16 {
		if known := routes[n].Ports; len(known) > 0 && slices.Equal(known[last[n]], ports) {
			return last[n]
		}
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
		last[n] = id
		return id
	}
	distances := newSearch(g, adjacency)
	for h := 0; h < hosts; {
		// The hosts from h to end are those of one switch, the rack.
		rack, end := adjacency[h][0].Peer.Node, h
		for end < hosts && adjacency[end][0].Peer.Node == rack {
			ports = append(ports[:0], uint16(adjacency[end][0].Peer.Port))
			routes[rack].Group[end] = group(rack)
			end++
		}
		distances.from(rack)
		for _, i := range distances.order[1:] {
			n := hosts + int(i)
			ports = ports[:0]
			for _, link := range distances.links(i) {
				if distances.precedes(link, i) {
					ports = append(ports, uint16(link.port))
				}
			}
			towards, row := group(n), routes[n].Group[h:end]
			for j := range row {
				row[j] = towards
			}
		}
		h = end
	}
	return routes
}
