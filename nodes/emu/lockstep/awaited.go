package lockstep

import "slices"

// Awaited returns the other parts of which a node has the smallest bound, as they have told
// it: those that this part waits for while none of its own nodes may advance. It needs no
// lock. Without a partition, there are none.
func (b *Board) Awaited() []int {
	if b.part == nil {
		return nil
	}
	var parts []int
	least := int64(0)
	for n, q := range b.part.of {
		if q == b.part.self || len(parts) > 0 && b.bound[n] > least {
			continue
		}
		if len(parts) == 0 || b.bound[n] < least {
			parts, least = parts[:0], b.bound[n]
		}
		parts = append(parts, q)
	}
	slices.Sort(parts)
	return slices.Compact(parts)
}
