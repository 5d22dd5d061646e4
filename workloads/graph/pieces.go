package graph

// Pieces is a Program that is expanded piece by piece.
type Pieces struct {
	// Append appends the next operations to b, if there are any. It returns false with the
	// last of the program. It has to be set.
	Append func(b *Builder) bool

	builder Builder
	at      int // the next operation of builder
	over    bool
}

// Next implements Program.
func (p *Pieces) Next(op *Op) bool {
	for p.at == len(p.builder.Ops) {
		if p.over {
			return false
		}
		p.builder.Reset(p.builder.Next())
		p.at = 0
		p.over = !p.Append(&p.builder)
	}
	deps := op.Deps[:0]
	*op = p.builder.Ops[p.at]
	op.Deps = append(deps, op.Deps...)
	p.at++
	return true
}
