package lockstep

// In returns the links that lead to node n, in ascending order. The Board owns
// the slice.
func (b *Board) In(n int) []int { return b.in[n] }
