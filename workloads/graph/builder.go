package graph

import "github.com/csiglab/csiglab/units"

// Builder makes the operations of one rank, one after the other. It is what generators of
// programs write into. The zero value is ready; the ids that it returns are those of the
// rank's program if Reset is told where the operations begin.
type Builder struct {
	// Tag is given to every operation.
	Tag Tag
	// Ops are the operations so far.
	Ops []Op

	base uint32
	deps []uint32
}

// Reset forgets the operations, whose memory it uses again. The next operation has the id
// base.
func (b *Builder) Reset(base uint32) {
	b.Ops, b.deps, b.base = b.Ops[:0], b.deps[:0], base
}

// Next returns the id of the next operation.
func (b *Builder) Next() uint32 { return b.base + uint32(len(b.Ops)) }

// Add appends an operation with the builder's tag and returns its id. It copies deps, the
// ids of operations before it.
func (b *Builder) Add(op Op, deps ...uint32) uint32 {
	from := len(b.deps)
	b.deps = append(b.deps, deps...)
	op.Deps, op.Tag = b.deps[from:len(b.deps):len(b.deps)], b.Tag
	b.Ops = append(b.Ops, op)
	return b.Next() - 1
}

// Send appends a Send; see Op for its fields.
func (b *Builder) Send(peer int, channel uint16, bytes units.Size, deps ...uint32) uint32 {
	return b.Add(Op{Kind: Send, Peer: int32(peer), Channel: channel, Bytes: bytes}, deps...)
}

// Recv appends a Recv.
func (b *Builder) Recv(peer int, channel uint16, bytes units.Size, deps ...uint32) uint32 {
	return b.Add(Op{Kind: Recv, Peer: int32(peer), Channel: channel, Bytes: bytes}, deps...)
}

// Compute appends a Compute on unit 0.
func (b *Builder) Compute(d units.Duration, deps ...uint32) uint32 {
	return b.Add(Op{Kind: Compute, Duration: d}, deps...)
}

// Hold appends a Hold.
func (b *Builder) Hold(deps ...uint32) uint32 { return b.Add(Op{Kind: Hold}, deps...) }

// Barrier appends a Barrier.
func (b *Builder) Barrier(deps ...uint32) uint32 { return b.Add(Op{Kind: Barrier}, deps...) }

// Begin appends the mark of a beginning.
func (b *Builder) Begin(deps ...uint32) uint32 { return b.Add(Op{Kind: Begin}, deps...) }

// End appends the mark of an end.
func (b *Builder) End(deps ...uint32) uint32 { return b.Add(Op{Kind: End}, deps...) }
