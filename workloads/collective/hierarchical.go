package collective

import "github.com/csiglab/csiglab/units"

// inner returns the own inner group, and the ranks at the own place of all inner groups.
func (l line) inner(local int) (within, across line) {
	first, place := l.me/local*local, l.me%local
	within = line{ranks: l.ranks[first : first+local], me: place, on: l.on}
	across = line{me: l.me / local, on: l.on}
	for i := place; i < len(l.ranks); i += local {
		across.ranks = append(across.ranks, l.ranks[i])
	}
	return within, across
}

// hierarchical appends an all-reduce in three stages: a reduce-scatter by rings within the inner
// groups, an all-reduce by rings across them, of one piece each, and an all-gather within. With switches
// in the servers the first and the last have one step. With chunks the stages work on different loops at the same time.
func (e *emitter) hierarchical(l line, bytes units.Size, after []uint32) []uint32 {
	within, across := l.inner(e.call.Local)
	back := within
	back.on++ // apart from the reduce-scatter of later loops, with which it may change order
	scatter, between, gather := after, after, after
	for loop := range e.loops(bytes, len(within.ranks)) {
		p := pieces{loop, len(within.ranks)}
		scatter = e.scatterWithin(within, p, scatter)
		ready := both(scatter, between)
		if q := (pieces{p.of(within.me), len(across.ranks)}); q.bytes > 0 && q.n > 1 {
			ready = e.ringReduceScatter(across, q, ready)
			ready = e.ringAllGather(across, q, ready)
			between = ready
		}
		gather = e.gatherWithin(back, p, both(ready, gather))
	}
	return both(both(scatter, between), gather)
}

// scatterWithin appends the reduce-scatter within an inner group.
func (e *emitter) scatterWithin(l line, p pieces, after []uint32) []uint32 {
	if e.call.Servers.Switched {
		return e.join(e.directReduceScatter(l, p, after))
	}
	return e.ringReduceScatter(l, p, after)
}

// gatherWithin appends the all-gather within an inner group.
func (e *emitter) gatherWithin(l line, p pieces, after []uint32) []uint32 {
	if e.call.Servers.Switched {
		return e.join(e.directAllGather(l, p, after))
	}
	return e.ringAllGather(l, p, after)
}

// both joins dependencies.
func both(a, b []uint32) []uint32 {
	all := append([]uint32{}, a...)
	for _, d := range b {
		have := false
		for _, o := range a {
			have = have || o == d
		}
		if !have {
			all = append(all, d)
		}
	}
	return all
}

// allToAllHierarchical appends an all-to-all in two stages. Within its inner group a rank sends to
// each other all that is for the ranks at that one's place, of all inner groups; then it sends across
// what its own inner group has for each rank at its place.
func (e *emitter) allToAllHierarchical(begin uint32) {
	c := e.call
	l := line{ranks: c.Group, me: c.Me, on: c.Channel}
	local := c.Local
	p := pieces{c.Bytes, len(l.ranks)}
	within, across := l.inner(local)
	after := []uint32{begin}
	if local > 1 {
		column := func(place int) (sum units.Size) { // what a rank has for the ranks at a place
			for i := place; i < p.n; i += local {
				sum += p.of(i)
			}
			return sum
		}
		after = e.join(e.exchange(within,
			func(k int) units.Size { return column(within.index(k)) },
			func(int) units.Size { return column(within.me) }, after))
	}
	if len(across.ranks) > 1 {
		after = e.exchange(across,
			func(k int) units.Size { return units.Size(local) * p.of(across.index(k)*local+within.me) },
			func(int) units.Size { return units.Size(local) * p.of(l.me) }, after)
	}
	e.ends = append(e.ends, after...)
}
