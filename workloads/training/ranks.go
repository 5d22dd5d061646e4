package training

// degrees returns the parallelism with 1 in place of 0.
func (p Parallel) degrees() Parallel {
	return Parallel{TP: max(p.TP, 1), PP: max(p.PP, 1), DP: max(p.DP, 1), EP: max(p.EP, 1), CP: max(p.CP, 1)}
}

// Ranks returns the number of ranks.
func (p Parallel) Ranks() int {
	p = p.degrees()
	return p.TP * p.PP * p.DP * p.CP
}

// place is where a rank is in each dimension.
type place struct{ tp, cp, dp, pp int }

// place returns the place of a rank; see the package comment. p has no 0.
func (p Parallel) place(rank int) place {
	return place{rank % p.TP, rank / p.TP % p.CP, rank / p.TP / p.CP % p.DP, rank / p.TP / p.CP / p.DP}
}

// rank returns the rank at a place.
func (p Parallel) rank(at place) int {
	return ((at.pp*p.DP+at.dp)*p.CP+at.cp)*p.TP + at.tp
}

// group is the ranks that run a collective together.
type group struct {
	ranks  []int // ascending
	me     int   // index in ranks
	number int   // among the groups of its kind, in the order of their first ranks
}

// groups are those of one rank.
type groups struct {
	tp, cp, ep group
	dp         group // over data and context parallelism
	experts    group // that have the same experts
	embedding  group // first and last stage
}

// groups returns the groups of a rank. p has no 0. Experts are spread over data and context
// parallelism taken together, of which context parallelism varies faster.
func (p Parallel) groups(rank int) groups {
	at := p.place(rank)
	all := p.DP * p.CP
	me := at.dp*p.CP + at.cp // among all
	move := func(i int, at *place) { at.dp, at.cp = i/p.CP, i%p.CP }
	return groups{
		tp:        p.collect(p.TP, at.pp*all+me, at.tp, at, func(i int, at *place) { at.tp = i }),
		cp:        p.collect(p.CP, (at.pp*p.DP+at.dp)*p.TP+at.tp, at.cp, at, func(i int, at *place) { at.cp = i }),
		dp:        p.collect(all, at.pp*p.TP+at.tp, me, at, move),
		ep:        p.collect(p.EP, (at.pp*all/p.EP+me/p.EP)*p.TP+at.tp, me%p.EP, at, func(i int, at *place) { move(me/p.EP*p.EP+i, at) }),
		experts:   p.collect(all/p.EP, (at.pp*p.EP+me%p.EP)*p.TP+at.tp, me/p.EP, at, func(i int, at *place) { move(i*p.EP+me%p.EP, at) }),
		embedding: p.collect(2, me*p.TP+at.tp, min(at.pp, 1), at, func(i int, at *place) { at.pp = i * (p.PP - 1) }),
	}
}

// collect returns a group of n ranks, which are at the places that move sets.
func (p Parallel) collect(n, number, me int, at place, move func(i int, at *place)) group {
	g := group{make([]int, n), me, number}
	for i := range g.ranks {
		to := at
		move(i, &to)
		g.ranks[i] = p.rank(to)
	}
	return g
}
