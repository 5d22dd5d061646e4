package collective

import (
	"math/bits"

	"github.com/csiglab/csiglab/units"
)

// node is what a rank has around it in a binary tree, as indices.
type node struct {
	parent   int // or -1
	children []int
}

// inTree returns the place of index i in the binary tree of n that NCCL builds (src/graph/trees.cc,
// ncclGetBtree): 0 is the root and has one child. Odd indices are leaves.
func inTree(i, n int) node {
	parent := func(i int) int {
		if i == 0 {
			return -1
		}
		low := i & -i
		if up := i&^low | 2*low; up < n {
			return up
		}
		return i &^ low
	}
	at := node{parent: parent(i)}
	for distance := 1 << bits.Len(uint(n)); distance > 0; distance /= 2 {
		if c := i - distance; c > 0 && parent(c) == i {
			at.children = append(at.children, c)
		}
		if c := i + distance; c < n && parent(c) == i {
			at.children = append(at.children, c)
		}
	}
	return at
}

// inTrees returns the places of index i in both trees of n. The second is the first as in a
// mirror or, of an odd number, with all indices one place on (ncclGetDtree), so that no rank has
// children in both but, of an odd number, rank 0.
func inTrees(i, n int) [2]node {
	to := func(i int) int { return n - 1 - i }
	from := to
	if n%2 == 1 {
		to, from = func(i int) int { return mod(i-1, n) }, func(i int) int { return mod(i+1, n) }
	}
	second := inTree(to(i), n)
	if second.parent >= 0 {
		second.parent = from(second.parent)
	}
	for k, c := range second.children {
		second.children[k] = from(c)
	}
	return [2]node{inTree(i, n), second}
}

// trees appends an all-reduce by both trees. In each, chunks of half of the bytes are reduced towards
// the root and broadcast from there, both at the same time (NCCL src/device/all_reduce.h,
// runTreeSplit). The chunks of the two trees take turns. The trees are of the servers' first ranks;
// the others of a server are a chain behind its first (src/graph/connect.cc).
func (e *emitter) trees(l line, bytes units.Size, after []uint32) []uint32 {
	var up, down [2]flow
	var rest [2]units.Size
	half := pieces{bytes, 2}
	heads, mine, before, behind := l.servers(e.call.Servers.Places)
	for t, at := range inTrees(mine, len(heads)) {
		parent, children := before, behind
		if len(before) == 0 {
			if at.parent >= 0 {
				parent = []int{heads[at.parent]}
			}
			children = nil
			for _, c := range at.children {
				children = append(children, heads[c])
			}
			children = append(children, behind...)
		}
		up[t] = flow{e: e, on: l.on + uint16(t), from: children, to: parent}
		down[t] = flow{e: e, on: l.on + uint16(t), from: parent, to: children}
		rest[t] = half.of(t)
	}
	chunk := e.call.Chunk
	if chunk == 0 {
		chunk = treeChunk(bytes, (len(l.ranks)-1)/len(heads)+bits.Len(uint(len(heads)-1)))
	}
	for rest[0]+rest[1] > 0 {
		for t := range rest {
			if rest[t] == 0 {
				continue
			}
			size := min(rest[t], chunk)
			rest[t] -= size
			reduced := up[t].pass(size, after)
			if len(up[t].to) > 0 {
				reduced = after // what comes down is reduced elsewhere
			}
			down[t].pass(size, reduced)
		}
	}
	var ends []uint32
	for t := range up {
		ends = append(append(ends, up[t].last()...), down[t].last()...)
	}
	return ends
}

// treeChunk returns the chunk of a tree of some depth for the bytes of a channel, as NCCL's protocol
// Simple has it (src/enqueue.cc): 512 KiB, a step of the buffer, less where the chunks would not
// fill the tree. Departs from it beyond 1 GiB: chunks grow, so that their number stays bounded.
func treeChunk(bytes units.Size, depth int) units.Size {
	const most = 1 << 11 // chunks
	chunk := 512 * units.KiB
	for _, rule := range []struct {
		fill  int // times the depth
		least units.Size
	}{{8, 128 * units.KiB}, {4, 64 * units.KiB}, {1, 32 * units.KiB}} {
		for bytes/chunk < units.Size(depth*rule.fill) && chunk > rule.least {
			chunk /= 2
		}
	}
	return max(chunk, bytes/most)
}

// flow passes chunks on: it receives each from several ranks, or none, and sends it to several
// others, or none.
type flow struct {
	e        *emitter
	on       uint16
	from, to []int      // ranks
	inTurn   bool       // a chunk goes to one of to after the other
	got      [][]uint32 // last receive of each of from
	sent     [][]uint32 // the last window sends to each of to
}

// pass appends the receives and sends of one chunk. A chunk that comes from no other rank is there
// after deps. pass returns what is complete when the chunk is there.
func (f *flow) pass(bytes units.Size, deps []uint32) []uint32 {
	if f.sent == nil {
		f.got, f.sent = make([][]uint32, len(f.from)), make([][]uint32, len(f.to))
		for i := range f.got {
			f.got[i] = deps
		}
	}
	there := deps
	if len(f.from) > 0 {
		there = nil
		for i, from := range f.from {
			f.got[i] = f.e.recv(from, f.on, bytes, f.got[i]...)
			there = append(there, f.got[i]...)
		}
	}
	for i, to := range f.to {
		wait := there[:len(there):len(there)]
		if k := len(f.sent[i]); k == window {
			wait = append(wait, f.sent[i][0])
			f.sent[i] = f.sent[i][:copy(f.sent[i], f.sent[i][1:])]
		}
		if f.inTurn && i > 0 {
			wait = append(wait, f.e.sent(f.to[i-1], f.on))
		}
		f.e.send(to, f.on, bytes, wait...)
		f.sent[i] = append(f.sent[i], f.e.sent(to, f.on))
	}
	return there
}

// last returns the last receives.
func (f *flow) last() []uint32 {
	var ends []uint32
	for _, got := range f.got {
		ends = append(ends, got...)
	}
	return ends
}

// chunks yields the sizes of the chunks of so many bytes.
func (e *emitter) chunks(bytes units.Size) func(func(units.Size) bool) {
	return func(yield func(units.Size) bool) {
		for bytes > 0 {
			chunk := e.message(bytes)
			if bytes -= chunk; !yield(chunk) {
				return
			}
		}
	}
}
