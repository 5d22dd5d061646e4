package topologies

import "fmt"

// Groups are the groups of a Dragonfly as its routers know them: which router and group
// a host is in, and which routers are joined by links between groups. They are plain
// data that all routers share. A router has the number of its node without the hosts; a
// group is a pod.
type Groups struct {
	Count    int
	OfRouter []int32 // the group of each router
	OfHost   []int32 // the router of each host
	HostOf   []int32 // the first host of each router; -1: it has none
	// Routers are the routers by group, those of group a at
	// Routers[FirstRouter[a]:FirstRouter[a+1]].
	Routers     []int32
	FirstRouter []int32
	// First and Links are the links between groups, those from group a to group b at
	// Links[First[a*Count+b]:First[a*Count+b+1]].
	First []uint32
	Links []GroupLink
}

// GroupLink is a link between two groups, as seen from the first.
type GroupLink struct {
	From, To int32 // routers
}

// NewGroups returns the groups of a valid graph. An error that wraps ErrInvalid says why
// it is no Dragonfly: a link has one direction, a switch is in no pod, two routers of a group share no link, or two
// groups share none.
func NewGroups(g *Graph) (*Groups, error) {
	if g.OneWay() {
		return nil, fmt.Errorf("%w: no Dragonfly: it has links in one direction", ErrInvalid)
	}
	hosts := g.Hosts()
	routers := len(g.Nodes) - hosts
	name := func(router int) string { return g.Nodes[hosts+router].Name }
	s := &Groups{OfRouter: make([]int32, routers), OfHost: make([]int32, hosts), HostOf: make([]int32, routers)}
	for i := range routers {
		pod := g.Nodes[hosts+i].Pod
		if pod < 0 {
			return nil, fmt.Errorf("%w: no Dragonfly: switch %s is in no group", ErrInvalid, name(i))
		}
		s.OfRouter[i], s.HostOf[i] = int32(pod), -1
		s.Count = max(s.Count, pod+1)
	}
	s.FirstRouter = []int32{0}
	for group := range s.Count {
		for i, of := range s.OfRouter {
			if int(of) == group {
				s.Routers = append(s.Routers, int32(i))
			}
		}
		s.FirstRouter = append(s.FirstRouter, int32(len(s.Routers)))
	}
	s.First = make([]uint32, s.Count*s.Count+1)
	peers := make([]map[int32]bool, routers) // of the same group
	eachEnd := func(visit func(from, to int32)) {
		for _, l := range g.Links {
			a, b := l.A.Node-hosts, l.B.Node-hosts
			if a < 0 || b < 0 {
				continue
			}
			visit(int32(a), int32(b))
			visit(int32(b), int32(a))
		}
	}
	pair := func(from, to int32) int { return int(s.OfRouter[from])*s.Count + int(s.OfRouter[to]) }
	eachEnd(func(from, to int32) {
		if s.OfRouter[from] != s.OfRouter[to] {
			s.First[pair(from, to)+1]++
			return
		}
		if peers[from] == nil {
			peers[from] = map[int32]bool{}
		}
		peers[from][to] = true
	})
	for i := range routers {
		if size := s.Members(int(s.OfRouter[i])); len(peers[i]) != size-1 {
			return nil, fmt.Errorf("%w: no Dragonfly: router %s is joined to %d of the %d others of its group", ErrInvalid, name(i), len(peers[i]), size-1)
		}
	}
	for a := range s.Count {
		for b := range s.Count {
			if a != b && s.First[a*s.Count+b+1] == 0 {
				return nil, fmt.Errorf("%w: no Dragonfly: groups %d and %d share no link", ErrInvalid, a, b)
			}
		}
	}
	for i := range s.Count * s.Count {
		s.First[i+1] += s.First[i]
	}
	s.Links = make([]GroupLink, s.First[s.Count*s.Count])
	next := append([]uint32(nil), s.First...)
	eachEnd(func(from, to int32) {
		if i := pair(from, to); s.OfRouter[from] != s.OfRouter[to] {
			s.Links[next[i]] = GroupLink{from, to}
			next[i]++
		}
	})
	for _, l := range g.Links {
		a, b := l.A.Node, l.B.Node
		if a >= hosts {
			a, b = b, a
		}
		if a >= hosts {
			continue
		}
		router := int32(b - hosts)
		s.OfHost[a] = router
		if h := &s.HostOf[router]; *h < 0 || int(*h) > a {
			*h = int32(a)
		}
	}
	return s, nil
}

// Members returns the number of routers of a group.
func (s *Groups) Members(group int) int { return int(s.FirstRouter[group+1] - s.FirstRouter[group]) }

// Member returns the i-th router of a group.
func (s *Groups) Member(group, i int) int32 { return s.Routers[int(s.FirstRouter[group])+i] }

// Hops returns the number of links between routers of the minimal path from one router
// to another: local, global, local.
func (s *Groups) Hops(from, to int32) int {
	a, b := s.OfRouter[from], s.OfRouter[to]
	switch {
	case from == to:
		return 0
	case a == b:
		return 1
	}
	best := 4
	for _, l := range s.between(a, b) {
		best = min(best, local(from, l.From)+1+local(l.To, to))
	}
	return best
}

// HopsVia returns the number of links between routers of the path from one router to
// another that is minimal to a group other than theirs, and minimal from where it
// enters. Of several links into the group it takes the first of those that are nearest.
func (s *Groups) HopsVia(from int32, group int, to int32) int {
	best, entry := 3, int32(0)
	for _, l := range s.between(s.OfRouter[from], int32(group)) {
		if n := local(from, l.From) + 1; n < best {
			best, entry = n, l.To
		}
	}
	return best + s.Hops(entry, to)
}

func (s *Groups) between(a, b int32) []GroupLink {
	i := int(a)*s.Count + int(b)
	return s.Links[s.First[i]:s.First[i+1]]
}

// local returns the number of links between two routers of a group.
func local(a, b int32) int {
	if a == b {
		return 0
	}
	return 1
}
