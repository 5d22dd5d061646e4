package graph

import "fmt"

// CheckFences reads all programs of a source and reports the first operation behind a fence
// that does not depend on it. It is for tests of generators: a player that does not expand a
// program behind a fence would otherwise play another program than the one that is written.
// The error wraps ErrInvalid.
func CheckFences(s Source, seed uint64) error {
	var op Op
	for rank := range s.Ranks() {
		program := s.Program(rank, seed)
		fence := int64(nothing)     // the last one
		var behind map[uint32]int64 // of the operations from the last fence on: the last fence that they depend on
		for id := uint32(0); program.Next(&op); id++ {
			on := int64(nothing)
			for _, d := range op.Deps {
				if int64(d) == fence {
					on = fence
				} else if int64(d) > fence {
					on = max(on, behind[d])
				}
			}
			if on != fence {
				return fmt.Errorf("%w: rank %d: operation %d (%s) does not depend on the fence before it, operation %d", ErrInvalid, rank, id, op.Kind, fence)
			}
			if behind == nil || op.Fence {
				behind = map[uint32]int64{}
			}
			if behind[id] = on; op.Fence {
				fence = int64(id)
			}
		}
	}
	return nil
}
