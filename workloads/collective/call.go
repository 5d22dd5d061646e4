package collective

import (
	"fmt"
	"math/bits"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/graph"
)

// maxMessages is the number of messages that a rank may send in one collective, which bounds
// the memory of its expansion.
const maxMessages = 1 << 18

// Call is one collective of a group of ranks, as one of them sees it. All ranks of the group
// have the same call but for Me, Send and Receive.
type Call struct {
	Kind      Kind
	Algorithm Algorithm
	Group     []int // ranks, in the order of the ring
	Me        int   // the rank's index in Group
	// Bytes is the size of the buffer, at least 1; see Kind. Without Split and but for Barrier,
	// whose messages have 1 B.
	Bytes units.Size
	Root  int // index in Group; of Broadcast, Reduce, Gather and Scatter
	// Channel is the first of the Streams stream numbers that the call may use.
	Channel uint16
	// Channels is the number of channels, as NCCL's: each does its share of the buffer, on
	// stream numbers of its own; 0 is 1. Of AllToAll it is the number of peers that a rank
	// exchanges with at the same time.
	Channels int
	// Chunk is the largest message, 0: no limit, but of Tree what NCCL takes. Rings run in loops, each
	// of which reduces Chunk times the number of ranks; trees and chains are pipelined by chunks.
	Chunk units.Size
	Local int // of Hierarchical: ranks of an inner group, which divides the group
	// Split and From are of an uneven AllToAll: what the rank sends to, and receives from, each
	// rank of the group by index; 0: no message. Both, or neither. The own entry is ignored.
	Split, From []units.Size
	Servers     Servers
	// Fences lets Append put fences (see graph.Op) into the collective, and makes the end one,
	// which bounds memory. The caller promises that the rank does nothing beside the
	// collective: all that it appends behind depends on the end.
	Fences bool
}

// Streams returns how many stream numbers the call uses, from Channel on.
func (c *Call) Streams() int {
	switch n := max(1, c.Channels); {
	case c.Kind == AllToAll || c.Kind == Barrier:
		return 1
	case c.Algorithm == Tree || c.Algorithm == Hierarchical:
		return 2 * n
	default:
		return n
	}
}

// Append appends a collective to the program of the rank c.Me: Begin, which depends on deps,
// the sends and receives, and End, whose id it returns, with the tag of b. End is complete
// when the rank has received all that it waits for, and all that it sent is acknowledged. The
// error, before anything is appended, is that of Validate.
func Append(b *graph.Builder, c *Call, deps ...uint32) (uint32, error) {
	if err := c.Validate(); err != nil {
		return 0, err
	}
	e := emitter{b: b, call: c, last: -1, handover: c.handovers()[c.protocol()]}
	begin := b.Begin(deps...)
	first := len(b.Ops)
	e.expand(begin)
	for i := first; i < len(b.Ops); i++ {
		if op := &b.Ops[i]; op.Kind == graph.Send {
			op.Total = e.streams[op.Total].total
		}
	}
	for _, s := range e.streams {
		e.ends = append(e.ends, s.send)
	}
	if len(e.ends) == 0 {
		e.ends = append(e.ends, begin)
	}
	end := graph.Op{Kind: graph.End, Fence: c.Fences}
	if len(c.Group) > 1 {
		end.Duration = e.handover.once
	}
	return b.Add(end, e.ends...), nil
}

// Validate reports why the call cannot be expanded. Its error wraps graph.ErrInvalid.
func (c *Call) Validate() error {
	if err := c.check(); err != nil {
		return fmt.Errorf("%w: %s by %s of %d ranks: %w", graph.ErrInvalid, c.Kind, c.algorithm(), len(c.Group), err)
	}
	return nil
}

func (c *Call) algorithm() Algorithm {
	if c.Algorithm == Auto && int(c.Kind) < len(has) {
		return has[c.Kind][0]
	}
	return c.Algorithm
}

func (c *Call) check() error {
	if int(c.Kind) >= len(has) {
		return fmt.Errorf("unknown kind")
	}
	n, known := len(c.Group), false
	for _, a := range has[c.Kind] {
		known = known || a == c.algorithm()
	}
	switch {
	case !known:
		return fmt.Errorf("there is no such algorithm of it, want one of %v", has[c.Kind])
	case n == 0:
		return fmt.Errorf("the group is empty")
	case c.Me < 0 || c.Me >= n:
		return fmt.Errorf("own index %d, want 0 to %d", c.Me, n-1)
	case c.Root < 0 || c.Root >= n:
		return fmt.Errorf("root %d, want an index of the group, 0 to %d", c.Root, n-1)
	case (c.Split == nil) != (c.From == nil) || c.Split != nil && (c.Kind != AllToAll || c.algorithm() != Direct || len(c.Split) != n || len(c.From) != n):
		return fmt.Errorf("uneven sizes are those of a direct all_to_all, one for each rank of the group, to it and from it")
	case c.Bytes < 1 && c.Kind != Barrier && c.Split == nil:
		return fmt.Errorf("%d bytes, want 1 or more", int64(c.Bytes))
	case c.Channels < 0 || int(c.Channel)+c.Streams() > 1<<16:
		return fmt.Errorf("channels %d from stream %d on, want at most %d streams", c.Channels, c.Channel, 1<<16)
	case c.Chunk < 0:
		return fmt.Errorf("chunk of %d bytes, want 0 (no chunks) or more", int64(c.Chunk))
	case c.algorithm() == HalvingDoubling && bits.OnesCount(uint(n)) != 1:
		return fmt.Errorf("the number of ranks is not a power of two")
	case c.algorithm() == Hierarchical && (c.Local < 1 || n%c.Local != 0):
		return fmt.Errorf("inner groups of %d ranks do not divide the group", c.Local)
	case c.messages() > maxMessages:
		return fmt.Errorf("%v in chunks of %v are more than %d messages of a rank", c.Bytes, c.Chunk, maxMessages)
	}
	for i := range c.Split {
		if c.Split[i] < 0 || c.From[i] < 0 {
			return fmt.Errorf("a size to or from index %d is negative", i)
		}
	}
	for _, rank := range c.Group {
		if c.Servers.Places != nil && (rank < 0 || rank >= len(c.Servers.Places)) {
			return fmt.Errorf("rank %d has none of the %d places", rank, len(c.Servers.Places))
		}
	}
	return nil
}

// messages returns a bound of the number of messages that a rank sends or receives.
func (c *Call) messages() int64 {
	all := 2 * int64(max(1, c.Channels)) * int64(len(c.Group)+1)
	if c.Chunk > 0 { // the own chunk of a tree keeps far below the limit
		all += 4 * min(int64(c.Bytes/c.Chunk), maxMessages)
		for i := range c.Split {
			all += min(int64(max(c.Split[i], c.From[i])/c.Chunk), maxMessages)
		}
	}
	return all
}
