package collective

import "math/bits"

// Recursive vector halving with distance doubling, and back: in step k of the reduce-scatter a rank
// exchanges half of what it still has with the rank whose index differs in bit k, so that half of
// the bytes go to the nearest rank, a quarter to one two places away, and so on. The piece that a
// rank ends with is that of its index with the bits reversed.

// halving appends the reduce-scatter.
func (e *emitter) halving(l line, p pieces, after []uint32) []uint32 {
	lo, hi := 0, p.n
	for bit := 1; bit < p.n; bit *= 2 {
		mid, peer := (lo+hi)/2, l.ranks[l.me^bit]
		keep, give := [2]int{lo, mid}, [2]int{mid, hi}
		if l.me&bit != 0 {
			keep, give = give, keep
		}
		e.send(peer, l.on, p.span(give[0], give[1]), after...)
		after = e.recv(peer, l.on, p.span(keep[0], keep[1]), after...)
		lo, hi = keep[0], keep[1]
	}
	return after
}

// doubling appends the all-gather: halving backwards.
func (e *emitter) doubling(l line, p pieces, after []uint32) []uint32 {
	have, width := reversed(l.me, p.n), 1
	for bit := p.n / 2; bit > 0; bit /= 2 {
		peer, other := l.ranks[l.me^bit], have^width
		e.send(peer, l.on, p.span(have, have+width), after...)
		after = e.recv(peer, l.on, p.span(other, other+width), after...)
		have, width = min(have, other), 2*width
	}
	return after
}

// reversed returns the bits of i in reverse, of as many bits as indices of n ranks have.
func reversed(i, n int) int {
	return int(bits.Reverse64(uint64(i)) >> (64 - bits.Len(uint(n-1)))) // n > 1
}
