// Package collective expands the collectives of training jobs to sends and receives of the
// ranks that take part: all-reduce, all-to-all and the others, by the algorithms that the
// libraries of the field use. It knows no network. Each rank's part depends on what this rank
// has received, and on nothing else: a rank that is late delays those that wait for its data.
//
// Append writes one collective of one rank into a graph.Builder, for generators of whole jobs. New
// makes a job of one collective that runs again and again, as nccl-tests do. Sources of the
// algorithms: docs/reference/references.md#collectives. Departs from NCCL, which rounds chunks up
// and makes the last ones smaller: pieces of an array that does not divide differ by one byte.
// Slices of chunks are left out. A round of an all-to-all ends when its message has arrived and that
// sent is acknowledged.
package collective

import (
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/spelling"
)

// Kind is what a collective does.
type Kind uint8

// Kinds of collective. Bytes of a call is the size of the buffer, as nccl-tests count it.
const (
	// AllReduce leaves the sum of all ranks' buffers at every rank.
	AllReduce Kind = iota
	// ReduceScatter leaves at each rank its piece of the sum. Bytes is the whole array.
	ReduceScatter
	// AllGather leaves the pieces of all ranks at every rank. Bytes is the whole array.
	AllGather
	// AllToAll sends a piece of each rank's buffer to every other rank.
	AllToAll
	// Broadcast leaves the buffer of the root at every rank.
	Broadcast
	// Reduce leaves the sum of all buffers at the root.
	Reduce
	// Gather leaves the pieces of all ranks at the root. Bytes is the whole array.
	Gather
	// Scatter leaves at each rank its piece of the root's array. Bytes is the whole array.
	Scatter
	// SendRecv sends each rank's buffer to the next rank of the group, all at the same time.
	SendRecv
	// Barrier sends messages of one byte. No rank leaves it before all have entered.
	Barrier
)

var kinds = []string{"all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast", "reduce", "gather", "scatter", "send_recv", "barrier"}

// Names returns the names of all kinds.
func (Kind) Names() []string { return slices.Clone(kinds) }

// String returns the kind's name.
func (k Kind) String() string { return name(kinds, int(k)) }

// ParseKind returns the kind of a name.
func ParseKind(text string) (Kind, error) {
	i, err := parse("collective", kinds, text)
	return Kind(i), err
}

// UnmarshalText implements encoding.TextUnmarshaler: a name of Kinds.
func (k *Kind) UnmarshalText(text []byte) error { return spelling.Enum(k, "collective", text, kinds) }

// Algorithm is how a collective is done.
type Algorithm uint8

// Algorithms.
const (
	// Auto is Ring if the kind has it, otherwise Direct or, of a barrier, Dissemination.
	Auto Algorithm = iota
	// Ring passes pieces from each rank to the next. Of Broadcast and Reduce it is a chain.
	Ring
	// HalvingDoubling exchanges halves with partners at distances 1, 2, 4 … (reduce-scatter),
	// and the same backwards (all-gather). The group has a power of two of ranks.
	HalvingDoubling
	// Tree is the double binary tree: half of the buffer is reduced to the root of a binary
	// tree and broadcast from there, the other half in a second tree, in which the leaves of
	// the first are inner nodes.
	Tree
	// Hierarchical splits the group into inner groups of Call.Local ranks each. All-reduce: a
	// reduce-scatter within each, rings across, an all-gather within each. All-to-all: first
	// within the inner group, for all ranks at the same place of other inner groups, then across.
	Hierarchical
	// Direct sends from every rank to every other.
	Direct
	// Binomial is a binomial tree from, or to, the root.
	Binomial
	// Dissemination sends in round k to the rank 2^k places on.
	Dissemination
)

var algorithms = []string{"auto", "ring", "halving_doubling", "tree", "hierarchical", "direct", "binomial", "dissemination"}

// Names returns the names of all algorithms.
func (Algorithm) Names() []string { return slices.Clone(algorithms) }

// String returns the algorithm's name.
func (a Algorithm) String() string { return name(algorithms, int(a)) }

// ParseAlgorithm returns the algorithm of a name.
func ParseAlgorithm(text string) (Algorithm, error) {
	i, err := parse("algorithm", algorithms, text)
	return Algorithm(i), err
}

// UnmarshalText implements encoding.TextUnmarshaler: a name of Algorithms.
func (a *Algorithm) UnmarshalText(text []byte) error {
	return spelling.Enum(a, "algorithm", text, algorithms)
}

// has lists the algorithms that each kind has; the first is what Auto stands for.
var has = [...][]Algorithm{
	AllReduce:     {Ring, HalvingDoubling, Tree, Hierarchical, Direct},
	ReduceScatter: {Ring, HalvingDoubling, Direct},
	AllGather:     {Ring, HalvingDoubling, Direct},
	AllToAll:      {Direct, Hierarchical},
	Broadcast:     {Ring, Binomial},
	Reduce:        {Ring, Binomial},
	Gather:        {Direct},
	Scatter:       {Direct},
	SendRecv:      {Direct},
	Barrier:       {Dissemination},
}

// AlgorithmsOf returns the algorithms of a kind. The first is what Auto stands for.
func AlgorithmsOf(k Kind) []Algorithm { return slices.Clone(has[k]) }

// BusFactor returns what nccl-tests multiply a collective's algorithm bandwidth (bytes of the
// buffer by time) with to get its bus bandwidth, which compares with the rate of a link
// whatever the number n of ranks (docs/reference/references.md#collectives).
func BusFactor(k Kind, n int) float64 {
	if n < 1 {
		return 0
	}
	switch share := float64(n-1) / float64(n); k {
	case AllReduce:
		return 2 * share
	case ReduceScatter, AllGather, AllToAll, Gather, Scatter:
		return share
	case Barrier:
		return 0
	}
	return 1
}

func name(of []string, i int) string {
	if i < len(of) {
		return of[i]
	}
	return fmt.Sprint(i)
}

func parse(what string, of []string, text string) (int, error) {
	i := slices.Index(of, text)
	if i < 0 {
		return 0, fmt.Errorf("%s %q: want one of %s", what, text, strings.Join(of, ", "))
	}
	return i, nil
}
