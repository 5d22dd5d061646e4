package lockstep

import "github.com/csiglab/csiglab/units"

// Partition says which nodes of a fabric this Board's part has, where the fabric is cut into
// parts that run on several machines. Each part has a Board of its own, of all nodes; the
// bounds of the others' nodes come from their parts (Exchange).
type Partition struct {
	Part int   // this part
	Of   []int // by node: its part
}

// Exchange is the state of one part, as it tells it to all others. It is plain data.
//
// Each part counts the versions of its state that it has told. A part applies an Exchange
// only when it has applied those that it depends on (Seen), so that what it knows of all
// others is a consistent cut: a frame is either in the state of its receiver's part, or in
// Pending of its sender's. Else a frame between two parts could be in the state of neither
// as a third part knows them, and that part would advance too far.
type Exchange struct {
	Part    int
	Version int64   // of the part's state, from 1 and without a gap
	Seen    []int64 // by part: the version of its state that this state includes
	// Bounds are, for the part's nodes with links into other parts, the earliest that the
	// part can still cause something there: the minimum over the part's nodes k of
	// LB(k) + dist(k, n) inside of the part. In ascending order of nodes.
	Bounds []units.Time
	// Sent are the frames on links into other parts: all that Seen does not cover. Frames of
	// this version follow it in the stream, to the part of their receiver alone.
	Sent []Sent
	// Read are, for the links into the part in ascending order, how many frames have been
	// read of each since the start.
	Read []int64
	// Finished says that no node of the part can have an event before the run's end any
	// more. Earliest is then the smallest bound of its nodes. Last is the latest event that
	// one of them has processed.
	Finished       bool
	Earliest, Last units.Time
}
