package topologies

import "encoding/binary"

// Routes are the next hops of one switch: the egress ports on minimal paths (see
// search) to each host. They are compact, because switches share what is equal: the
// list of blocks of hosts, the blocks that are not reached alike, and sets of ports (ECMP
// groups). Routes are plain data and must not be changed. The zero value has no routes.
type Routes struct {
	Book *RouteBook
	// Blocks are by host / HostsPerBlock: the route to all hosts of the block, or the
	// index of the block in the book.
	Blocks []Route
	// Pods are the routes to the nearest switch of each pod, by pod, where links join
	// pods, as in a Dragonfly; nil elsewhere. The switch's own pod has NoRoute.
	Pods []Route
}

// HostsPerBlock is the number of hosts in a RouteBlock.
const HostsPerBlock = 128

// RouteBook holds what the routes of several switches have in common.
type RouteBook struct {
	Blocks []RouteBlock // of hosts that are not reached alike
	Groups []PortGroup
	// Ports are those of the groups: first every port number that a switch has, in
	// order, so that consecutive ports need no entries of their own.
	Ports []uint16
}

// RouteBlock is the routes to HostsPerBlock hosts.
type RouteBlock [HostsPerBlock]Route

// PortGroup is a set of ports: Count of RouteBook.Ports from First.
type PortGroup struct{ First, Count uint32 }

// Route is the way to a host: the only port, or the index of a group in
// RouteBook.Groups, or NoRoute. In Routes.Blocks it may also be the index of a block.
type Route uint32

// NoRoute is the Route to a host that cannot be reached.
const NoRoute = ^Route(0)

const (
	routeGroup Route = 1 << 30
	routeBlock Route = 1 << 31
)

// IsPort reports whether the route is a port, which is then its number.
func (r Route) IsPort() bool { return r < routeGroup }

// Group returns the index of the route's group in RouteBook.Groups, for a route that is
// neither a port nor NoRoute.
func (r Route) Group() int { return int(r &^ routeGroup) }

// Route returns the way to a host; NoRoute for a number that no host has.
func (r *Routes) Route(host int) Route {
	block := uint(host) / HostsPerBlock
	if block >= uint(len(r.Blocks)) {
		return NoRoute
	}
	route := r.Blocks[block]
	if route < routeBlock || route == NoRoute {
		return route
	}
	return r.Book.Blocks[route&^routeBlock][uint(host)%HostsPerBlock]
}

// ToPod returns the way to the nearest switch of a pod; NoRoute for a pod that there is
// not, or that is the switch's own.
func (r *Routes) ToPod(pod int) Route {
	if uint(pod) >= uint(len(r.Pods)) {
		return NoRoute
	}
	return r.Pods[pod]
}

// To returns the egress ports towards a host, ascending; none if it cannot be reached.
// The slice belongs to r.
func (r *Routes) To(host int) []uint16 { return r.Ports(r.Route(host)) }

// Ports returns the egress ports of a route, ascending; none of NoRoute. The slice
// belongs to r.
func (r *Routes) Ports(route Route) []uint16 {
	switch {
	case route.IsPort():
		return r.Book.Ports[route : route+1]
	case route == NoRoute:
		return nil
	default:
		g := r.Book.Groups[route.Group()]
		return r.Book.Ports[g.First : g.First+g.Count]
	}
}

// NewRoutes returns the routes of one switch from a plain table: the ports to each host,
// ascending.
func NewRoutes(to ...[]uint16) Routes {
	ports := 0
	for _, set := range to {
		for _, port := range set {
			ports = max(ports, int(port)+1)
		}
	}
	b := newRouteBuilder(1, len(to), ports)
	for host, set := range to {
		b.put(0, host, host+1, b.route(set))
	}
	return b.finish()[0]
}

// NextHops returns the Routes of every node by its id; those of hosts are zero.
// The graph must be valid. The result depends on the graph alone.
func NextHops(g *Graph) []Routes { return NextHopsWithout(g, nil) }

// NextHopsWithout is NextHops without the links between switches that are dead, by their
// id; nil: none is. Hosts that cannot be reached have no route.
func NextHopsWithout(g *Graph, dead []bool) []Routes {
	adjacency := g.Adjacency()
	hosts, ports := g.Hosts(), 0
	for n := hosts; n < len(g.Nodes); n++ {
		ports = max(ports, len(adjacency[n]))
	}
	links := newSearch(g, adjacency, toRoot)
	if dead != nil {
		links.remove(dead)
	}
	s := newSweep(links)
	b := newRouteBuilder(len(g.Nodes)-hosts, hosts, ports)
	ways := make([][sweepWidth]Route, len(g.Nodes)-hosts) // by switch and root
	var p partition
	for first := 0; first < hosts; {
		runs, next := racksFrom(adjacency, first, hosts)
		for i, run := range runs {
			s.roots[i] = int32(run.rack - hosts)
		}
		s.run(len(runs))
		s.ways(b, &p, ways)
		for i := range ways {
			for k, run := range runs {
				if int(s.roots[k]) != i {
					b.put(i, run.first, run.end, ways[i][k])
					continue
				}
				for h := run.first; h < run.end; h++ {
					b.put(i, h, h+1, Route(adjacency[h][0].Peer.Port))
				}
			}
		}
		first = next
	}
	routes := make([]Routes, len(g.Nodes))
	copy(routes[hosts:], b.finish())
	if s.joinsPods() {
		s.toPods(g, b, routes[hosts:], ways)
	}
	return routes
}

// ways fills in, by switch and root of the last search, the routes to the root.
func (s *sweep) ways(b *routeBuilder, p *partition, ways [][sweepWidth]Route) {
	for i := range ways {
		for k := range ways[i] {
			ways[i][k] = NoRoute
		}
	}
	for _, l := range s.levels {
		for _, n := range l.nodes {
			p.begin(l.front[n])
			for _, link := range s.back.of(n) {
				p.split(l.preceding(link, n), uint16(link.port))
			}
			for _, c := range p.classes {
				for route, left := b.route(c.ports), c.roots; left != 0; left &= left - 1 {
					ways[n][trailing(left)] = route
				}
			}
		}
	}
}

// toPods adds the routes to pods. All switches of a pod are one root.
func (s *sweep) toPods(g *Graph, b *routeBuilder, routes []Routes, ways [][sweepWidth]Route) {
	var members [][]int32
	for i := range routes {
		pod := g.Nodes[s.hosts+i].Pod
		for pod >= len(members) {
			members = append(members, nil)
		}
		if pod >= 0 {
			members[pod] = append(members[pod], int32(i))
		}
	}
	all := make([]Route, len(routes)*len(members))
	for i := range routes {
		routes[i].Pods = all[i*len(members) : (i+1)*len(members)]
	}
	var p partition
	for first := 0; first < len(members); first += sweepWidth {
		some := members[first:min(first+sweepWidth, len(members))]
		s.runFrom(some)
		s.ways(b, &p, ways)
		for i := range routes {
			copy(routes[i].Pods[first:], ways[i][:len(some)])
		}
	}
}

// rackRun is hosts in a row that share their switch.
type rackRun struct{ rack, first, end int }

// racksFrom returns the runs of hosts from first on, as many as a sweep has roots, and
// the host after them.
func racksFrom(adjacency [][]Adjacent, first, hosts int) (runs []rackRun, next int) {
	for first < hosts && len(runs) < sweepWidth {
		run := rackRun{rack: adjacency[first][0].Peer.Node, first: first, end: first + 1}
		for run.end < hosts && adjacency[run.end][0].Peer.Node == run.rack {
			run.end++
		}
		runs, first = append(runs, run), run.end
	}
	return runs, first
}

// routeBuilder makes the routes of switches, which are numbered from 0. Those of a
// switch are put in the order of the hosts, without gaps.
type routeBuilder struct {
	hosts  int
	routes []Routes
	open   []openBlock // by switch

	book   *RouteBook
	groups map[string]Route // ports as text -> route
	blocks map[RouteBlock]Route
	key    []byte
}

// openBlock is the block of a switch that lacks routes still.
type openBlock struct {
	all    Route // to all hosts so far, unless they are mixed
	mixed  bool
	routes RouteBlock // if mixed
}

func newRouteBuilder(switches, hosts, ports int) *routeBuilder {
	b := &routeBuilder{
		hosts: hosts, routes: make([]Routes, switches), open: make([]openBlock, switches),
		book: &RouteBook{Ports: make([]uint16, ports)}, groups: map[string]Route{}, blocks: map[RouteBlock]Route{},
	}
	for port := range b.book.Ports {
		b.book.Ports[port] = uint16(port)
	}
	blocks := (hosts + HostsPerBlock - 1) / HostsPerBlock
	all := make([]Route, switches*blocks)
	for i := range b.routes {
		b.routes[i] = Routes{Book: b.book, Blocks: all[i*blocks : i*blocks : (i+1)*blocks]}
	}
	return b
}

// route returns the route by a set of ports, which are ascending.
func (b *routeBuilder) route(ports []uint16) Route {
	switch len(ports) {
	case 0:
		return NoRoute
	case 1:
		return Route(ports[0])
	}
	b.key = b.key[:0]
	for _, p := range ports {
		b.key = binary.BigEndian.AppendUint16(b.key, p)
	}
	route, ok := b.groups[string(b.key)]
	if !ok {
		g := PortGroup{First: uint32(ports[0]), Count: uint32(len(ports))}
		if int(ports[len(ports)-1]-ports[0]) != len(ports)-1 { // not consecutive
			g.First = uint32(len(b.book.Ports))
			b.book.Ports = append(b.book.Ports, ports...)
		}
		route = routeGroup | Route(len(b.book.Groups))
		b.book.Groups = append(b.book.Groups, g)
		b.groups[string(b.key)] = route
	}
	return route
}

// put adds the route of a switch to the hosts from first to before end.
func (b *routeBuilder) put(sw, first, end int, route Route) {
	open := &b.open[sw]
	for first < end {
		start := first / HostsPerBlock * HostsPerBlock
		last := min(start+HostsPerBlock, b.hosts)
		until := min(end, last)
		switch {
		case first == start:
			open.all, open.mixed = route, false
		case !open.mixed && open.all != route:
			open.mixed = true
			fill(open.routes[:first-start], open.all)
		}
		if open.mixed {
			fill(open.routes[first-start:until-start], route)
		}
		if until == last {
			r := &b.routes[sw]
			r.Blocks = append(r.Blocks, b.close(open, last-start))
		}
		first = until
	}
}

// close returns the route of a block that has its routes, to so many hosts.
func (b *routeBuilder) close(open *openBlock, hosts int) Route {
	if !open.mixed {
		if hosts == HostsPerBlock {
			return open.all
		}
		fill(open.routes[:hosts], open.all)
	}
	fill(open.routes[hosts:], NoRoute) // numbers that no host has
	route, ok := b.blocks[open.routes]
	if !ok {
		route = routeBlock | Route(len(b.book.Blocks))
		b.book.Blocks = append(b.book.Blocks, open.routes)
		b.blocks[open.routes] = route
	}
	return route
}

func fill(routes []Route, with Route) {
	for i := range routes {
		routes[i] = with
	}
}

// finish returns the routes of all switches. Equal lists of blocks become one.
func (b *routeBuilder) finish() []Routes {
	lists := map[string][]Route{}
	for i := range b.routes {
		r := &b.routes[i]
		b.key = b.key[:0]
		for _, route := range r.Blocks {
			b.key = binary.BigEndian.AppendUint32(b.key, uint32(route))
		}
		list, ok := lists[string(b.key)]
		if !ok {
			list = append([]Route(nil), r.Blocks...)
			lists[string(b.key)] = list
		}
		r.Blocks = list
	}
	return b.routes
}
