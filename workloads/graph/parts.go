package graph

// Part is operations that the program of a rank has one or more times. Their order among other
// parts is left open.
type Part struct {
	Key       PartKey
	Times     int    // in all steps
	Dimension string // of the job's parallelism, such as tp; "" without messages
	Ranks     int    // of the group; 0 without one
	Blocks    bool   // the rank does nothing else until its operations are complete, but for what was begun before
	// Append adds the operations once to a program of their own.
	Append func(b *Builder)
}

// PartKey is equal for parts of one source that differ in nothing but the ranks of their messages.
type PartKey struct {
	What, Place int32
}

// Parted is a Source that knows its parts, so that they can be counted without playing all ranks.
type Parted interface {
	Source
	// Parts returns a function that calls do with each part of a rank.
	Parts() func(rank int, do func(p *Part))
}
