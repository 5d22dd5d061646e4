package collective

import (
	"math/bits"

	"github.com/csiglab/csiglab/units"
)

// Sent returns how many bytes the rank c.Me sends in a valid call, in closed form
// (docs/reference/references.md#collectives). An array that n does not divide has pieces that differ
// by one byte, the larger ones first; so have channels. A rank of a ring sends all pieces of a
// loop but one in a reduce-scatter, and all but one in an all-gather.
func Sent(c *Call) units.Size {
	n := len(c.Group)
	if n == 1 {
		return 0
	}
	switch {
	case c.Kind == Barrier:
		return units.Size(bits.Len(uint(n - 1)))
	case c.Kind == AllToAll:
		return c.exchanged()
	}
	sum, channels := units.Size(0), pieces{c.Bytes, max(1, c.Channels)}
	for i := range channels.n {
		sum += c.share(i, channels.of(i))
	}
	return sum
}

// exchanged returns what the rank sends in an all-to-all.
func (c *Call) exchanged() units.Size {
	p := pieces{c.Bytes, len(c.Group)}
	if c.algorithm() == Hierarchical {
		local, place, sum := c.Local, c.Me%c.Local, units.Size(0)
		for i := range p.n {
			if i%local != place {
				sum += p.of(i)
			} else if i != c.Me {
				sum += units.Size(local) * p.of(i)
			}
		}
		return sum
	}
	if c.Split == nil {
		return p.bytes - p.of(c.Me)
	}
	sum := units.Size(0)
	for i, bytes := range c.Split {
		if i != c.Me {
			sum += bytes
		}
	}
	return sum
}

// share returns what the rank sends on channel i, which has so many bytes of the buffer.
func (c *Call) share(i int, bytes units.Size) units.Size {
	l, root := line{ranks: c.Group, me: c.Me}, c.Root
	if a := c.algorithm(); a == Ring || a == Tree {
		l, root = l.ofChannel(i, c.Servers.Places, root)
	}
	n := len(l.ranks)
	p, place := pieces{bytes, n}, mod(l.me-root, n)
	passes := units.Size(1) // of reduce-scatter and all-gather
	if c.Kind == AllReduce {
		passes = 2
	}
	switch algorithm := c.algorithm(); {
	case c.Kind == SendRecv:
		return bytes
	case c.Kind == Gather && place != 0:
		return p.of(l.me)
	case c.Kind == Scatter && place == 0:
		return bytes - p.of(l.me)
	case c.Kind == Gather || c.Kind == Scatter:
		return 0
	case algorithm == Binomial && c.Kind == Reduce || algorithm == Ring && c.Kind == Reduce:
		if place == 0 {
			return 0
		}
		return bytes
	case algorithm == Ring && c.Kind == Broadcast:
		if place == n-1 {
			return 0
		}
		return bytes
	case algorithm == Binomial:
		children := bits.Len(uint(n - 1)) // of the root
		if place > 0 {
			children = 0
			for bit := 1; bit < place&-place && place+bit < n; bit *= 2 {
				children++
			}
		}
		return bytes * units.Size(children)
	case algorithm == HalvingDoubling:
		sum, first := units.Size(0), reversed(l.me, n)
		if c.Kind != AllGather {
			sum += bytes - p.of(first)
		}
		for width := 1; width < n && c.Kind != ReduceScatter; width *= 2 {
			sum += p.span(first&^(width-1), first&^(width-1)+width)
		}
		return sum
	case algorithm == Direct:
		sum := units.Size(0)
		if c.Kind != AllGather {
			sum += bytes - p.of(l.me)
		}
		if c.Kind != ReduceScatter {
			sum += units.Size(n-1) * p.of(l.me)
		}
		return sum
	case algorithm == Tree:
		sum, half := units.Size(0), pieces{bytes, 2}
		heads, mine, before, behind := l.servers(c.Servers.Places)
		for t, at := range inTrees(mine, len(heads)) {
			edges := len(before) + len(behind)
			if len(before) == 0 {
				edges += len(at.children)
				if at.parent >= 0 {
					edges++
				}
			}
			sum += units.Size(edges) * half.of(t)
		}
		return sum
	case algorithm == Hierarchical:
		within, across := l.inner(c.Local)
		return c.looped(bytes, len(within.ranks), func(loop pieces) units.Size {
			sum, q := loop.around(within.me, 2), pieces{loop.of(within.me), len(across.ranks)}
			return sum + q.around(across.me, 2)
		})
	default: // Ring
		return c.looped(bytes, n, func(loop pieces) units.Size {
			if c.Kind == AllGather {
				return loop.bytes - loop.of(mod(l.me+1, n))
			}
			return loop.around(l.me, passes)
		})
	}
}

// around returns what a rank sends in the reduce-scatter of a ring and, of two passes, in the
// all-gather too.
func (p pieces) around(me int, passes units.Size) units.Size {
	sum := p.bytes - p.of(me)
	if passes > 1 {
		sum += p.bytes - p.of(mod(me+1, p.n))
	}
	return sum
}

// looped returns the sum of what is sent in all loops, of which all but the last are equal.
func (c *Call) looped(bytes units.Size, n int, sent func(pieces) units.Size) units.Size {
	sum := units.Size(0)
	if all := (bytes + units.Size(n) - 1) / units.Size(n); c.Chunk > 0 && c.Chunk < all {
		loop := c.Chunk * units.Size(n)
		times := bytes / loop
		sum, bytes = times*sent(pieces{loop, n}), bytes-times*loop
	}
	if bytes == 0 {
		return sum
	}
	return sum + sent(pieces{bytes, n})
}
