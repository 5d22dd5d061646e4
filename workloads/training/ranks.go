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

// groups returns the groups of a rank. p has no 0.
func (p Parallel) groups(rank int) groups {
	at := p.place(rank)
	outer := at.dp / p.EP * p.EP // first rank of expert parallelism
	return groups{
		tp: p.collect(p.TP, (at.pp*p.DP+at.dp)*p.CP+at.cp, at.tp, func(i int, at *place) { at.tp = i }, at),
		cp: p.collect(p.CP, (at.pp*p.DP+at.dp)*p.TP+at.tp, at.cp, func(i int, at *place) { at.cp = i }, at),
		ep: p.collect(p.EP, ((at.pp*p.DP/p.EP+at.dp/p.EP)*p.CP+at.cp)*p.TP+at.tp, at.dp%p.EP, func(i int, at *place) { at.dp = outer + i }, at),
		dp: p.collect(p.DP*p.CP, at.pp*p.TP+at.tp, at.dp*p.CP+at.cp, func(i int, at *place) { at.dp, at.cp = i/p.CP, i%p.CP }, at),
		experts: p.collect(p.DP/p.EP*p.CP, (at.pp*p.EP+at.dp%p.EP)*p.TP+at.tp, at.dp/p.EP*p.CP+at.cp,
			func(i int, to *place) { to.dp, to.cp = i/p.CP*p.EP+at.dp%p.EP, i%p.CP }, at),
		embedding: p.collect(2, (at.dp*p.CP+at.cp)*p.TP+at.tp, min(at.pp, 1), func(i int, at *place) { at.pp = i * (p.PP - 1) }, at),
	}
}

// collect returns a group of n ranks, which are at the places that move sets.
func (p Parallel) collect(n, number, me int, move func(i int, at *place), at place) group {
	g := group{make([]int, n), me, number}
	for i := range g.ranks {
		to := at
		move(i, &to)
		g.ranks[i] = p.rank(to)
	}
	return g
}
