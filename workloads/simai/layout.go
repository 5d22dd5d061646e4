package simai

import (
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/workloads/graph"
)

// maxRanks bounds the number of ranks; more is a mistake.
const maxRanks = 1 << 20

// Layout says which ranks work together. Rank numbers go through the ranks of a tensor
// parallel group first, then through those of a data parallel group, then through the
// pipeline's stages, as Megatron numbers them; the ranks of an expert parallel group are
// neighbours in their data parallel group:
//
//	rank = (stage*DP + data)*TP + tensor,  data = replica*EP + expert
type Layout struct {
	TP, DP, PP int // at least 1 each
	EP         int // at least 1; divides DP
}

// Ranks returns the number of all ranks.
func (l Layout) Ranks() int { return l.TP * l.DP * l.PP }

// check refuses a layout that is none. Its error wraps graph.ErrInvalid.
func (l Layout) check() error {
	switch {
	case l.TP < 1 || l.DP < 1 || l.PP < 1 || l.EP < 1:
		return fmt.Errorf("%w: a parallelism is below 1: %+v", graph.ErrInvalid, l)
	case l.TP > maxRanks || l.DP > maxRanks/l.TP || l.PP > maxRanks/(l.TP*l.DP):
		return fmt.Errorf("%w: more than %d ranks: %+v", graph.ErrInvalid, maxRanks, l)
	case l.DP%l.EP != 0:
		return fmt.Errorf("%w: expert parallelism %d does not divide data parallelism %d", graph.ErrInvalid, l.EP, l.DP)
	}
	return nil
}

// GroupKind is which ranks run a collective together.
type GroupKind uint8

// Kinds of group.
const (
	TP        GroupKind = iota // tensor parallel: neighbours
	DP                         // data parallel: equal place in their tensor parallel groups, of one stage
	EP                         // expert parallel: consecutive ranks of a data parallel group
	DPEP                       // the ranks of a data parallel group that have the same experts
	PP                         // equal places of all stages
	Embedding                  // equal places of the first stage and the last
	World                      // all ranks
)

var groupNames = []string{"tp", "dp", "ep", "dp_ep", "pp", "embedding", "world"}

// String returns tp, dp, ep, dp_ep, pp, embedding or world.
func (k GroupKind) String() string { return groupNames[k] }

// span returns the number of ranks of a group, the distance between them, and the number of
// those that the groups run through together: a block of span*stride ranks has stride groups.
func (l Layout) span(k GroupKind) (span, stride int) {
	switch k {
	case TP:
		return l.TP, 1
	case DP:
		return l.DP, l.TP
	case EP:
		return l.EP, l.TP
	case DPEP:
		return l.DP / l.EP, l.TP * l.EP
	case PP:
		return l.PP, l.TP * l.DP
	case Embedding:
		return min(2, l.PP), max(1, l.PP-1) * l.TP * l.DP
	}
	return l.Ranks(), 1
}

// Group returns the ranks of the group of a kind that a rank belongs to, its index in it,
// and the number of the group among those of its kind. A rank of an inner stage has no
// Embedding group: the result is nil.
func (l Layout) Group(k GroupKind, rank int) (ranks []int, me, number int) {
	span, stride := l.span(k)
	block := span * stride
	first := rank/block*block + rank%stride
	number = rank/block*stride + rank%stride
	if k == Embedding {
		first = rank % (l.TP * l.DP)
		number = first
	}
	ranks = make([]int, span)
	for i := range ranks {
		ranks[i] = first + i*stride
	}
	if me = slices.Index(ranks, rank); me < 0 {
		return nil, 0, graph.None
	}
	return ranks, me, number
}

// place returns the index of a rank in its group of a kind, or -1 if it has none; see Group.
func (l Layout) place(k GroupKind, rank int) int {
	span, stride := l.span(k)
	if k != Embedding {
		return rank % (span * stride) / stride
	}
	switch l.stage(rank) {
	case 0:
		return 0
	case l.PP - 1:
		return 1
	}
	return -1
}

// stage returns the pipeline stage of a rank.
func (l Layout) stage(rank int) int { return rank / (l.TP * l.DP) }

// channels is how many stream numbers the collectives of a kind of group have, so that
// their messages have connections of their own, as those of communicators of NCCL have.
const channels = 256

// channel returns the first stream number of a kind of group.
func (k GroupKind) channel() uint16 { return uint16(k) * channels }
