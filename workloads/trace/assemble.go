package trace

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/csiglab/csiglab/workloads/collective"
	"github.com/csiglab/csiglab/workloads/graph"
)

// Limits of what is assembled; a trace past them is hostile.
const (
	maxRanks  = 1 << 16
	maxGroups = 1 << 20 // of ranks
	// maxMembers bounds the members of all groups together.
	maxMembers = 1 << 24
	// maxLabels is the number of collectives that labels tell apart: those of records have 16
	// bits.
	maxLabels = 1 << 14
	// maxOps bounds the operations of a rank, whose ids have 32 bits.
	maxOps = 1 << 31
	// maxUneven bounds the sizes of uneven all-to-alls of all calls together.
	maxUneven = 1 << 24
)

// Limits bound the traces of all ranks together.
type Limits struct {
	Nodes, Deps int    // nodes, and the dependencies between them; 0: as DefaultLimits says
	Bytes       int64  // of all files, unpacked; 0: tracefile.DefaultBytes
	Hint        string // what the error about too many nodes or dependencies ends with
}

// DefaultLimits are those of traces that are played; a trace past them is hostile. FewNodes are
// those within which a process that checks a trace takes up to 470 MB.
var (
	DefaultLimits = Limits{Nodes: 1 << 21, Deps: 1 << 26}
	FewNodes      = Limits{Nodes: 1 << 20, Deps: 1 << 22}
)

// OrDefault returns the limits with those that are 0 taken from DefaultLimits.
func (l Limits) OrDefault() Limits {
	l.Nodes, l.Deps = cmp.Or(l.Nodes, DefaultLimits.Nodes), cmp.Or(l.Deps, DefaultLimits.Deps)
	return l
}

// TooManyNodes is the end of an error about too many nodes.
func (l Limits) TooManyNodes() string { return fmt.Sprintf("more than %d nodes%s", l.Nodes, l.Hint) }

// Options of an Assembler, and of the readers of traces. The zero value takes a trace as it is.
type Options struct {
	// Ranks is the number of ranks; 0: those that there are traces of.
	Ranks int
	collective.Choices
	Steps  int // how often the trace is played; 0: once
	Limits Limits
	// Replicate says that ranks without a trace do what the one rank does that has one, each in
	// groups of its own.
	Replicate bool
	// At returns the place of a position in the trace of a rank.
	At func(rank int, pos int64) string
}

// Assembler makes a Source from the traces of ranks: Group and Rank for each rank, then Finish.
type Assembler struct {
	// Loss is what the source does not have.
	Loss graph.Loss

	o       Options
	ranks   []rankTrace
	nodes   int // of all ranks
	deps    int
	groups  []group
	byKey   map[string]int
	members int
	uneven  int
}

// group is a group of ranks that runs collectives.
type group struct {
	name  string
	ranks []int // nil: all ranks
	calls []int32
}

// All is the group of all ranks; see Assembler.Group.
const All = 0

// NewAssembler returns an Assembler without any rank.
func NewAssembler(o Options) *Assembler {
	o.Limits = o.Limits.OrDefault()
	if o.Steps == 0 {
		o.Steps = 1
	}
	return &Assembler{o: o, groups: []group{{name: "all ranks"}}, byKey: map[string]int{}}
}

// Group returns the number of a group of ranks, which is the same for the same name and ranks;
// nil is All. It keeps ranks. The error says what is wrong with them.
func (a *Assembler) Group(name string, ranks []int) (int, error) {
	if ranks == nil {
		return All, nil
	}
	if len(ranks) == 0 {
		return 0, fmt.Errorf("group %q has no ranks", name)
	}
	key := strconv.AppendQuote(nil, name)
	for _, r := range ranks {
		if r < 0 || r >= maxRanks {
			return 0, fmt.Errorf("group %q: rank %d, want 0 to %d", name, r, maxRanks-1)
		}
		key = strconv.AppendInt(append(key, ' '), int64(r), 10)
	}
	if g, ok := a.byKey[string(key)]; ok {
		return g, nil
	}
	sorted := slices.Sorted(slices.Values(ranks))
	for i, r := range sorted {
		if i > 0 && r == sorted[i-1] {
			return 0, fmt.Errorf("group %q has rank %d twice", name, r)
		}
	}
	if a.members += len(ranks); a.members > maxMembers || len(a.groups) >= maxGroups {
		return 0, fmt.Errorf("more than %d groups or %d members of them", maxGroups, maxMembers)
	}
	a.groups = append(a.groups, group{name: name, ranks: ranks})
	a.byKey[string(key)] = len(a.groups) - 1
	return len(a.groups) - 1, nil
}

// Index returns the index of a rank in a group, or -1.
func (a *Assembler) Index(group, rank int) int {
	if group == All {
		return rank
	}
	return slices.Index(a.groups[group].ranks, rank)
}

// Members returns the ranks of a group; nil of All.
func (a *Assembler) Members(group int) []int { return a.groups[group].ranks }

// Finish returns the source. The error says what ranks do not agree on, with places.
func (a *Assembler) Finish() (*Source, error) {
	all := max(a.o.Ranks, len(a.ranks))
	if all == 0 {
		return nil, fmt.Errorf("there is no trace of any rank")
	}
	if all > maxRanks {
		return nil, fmt.Errorf("%d ranks, want at most %d", all, maxRanks)
	}
	for len(a.ranks) < all {
		a.ranks = append(a.ranks, rankTrace{})
	}
	a.groups[All].ranks = make([]int, all)
	for r := range all {
		a.groups[All].ranks[r] = r
	}
	if err := a.replicate(); err != nil {
		return nil, err
	}
	s := &Source{All: all, Repeat: a.o.Steps}
	if err := a.collectives(s); err != nil {
		return nil, err
	}
	if err := a.bound(s); err != nil {
		return nil, err
	}
	channels, err := a.channels(s)
	if err != nil {
		return nil, err
	}
	if err := a.streams(channels); err != nil {
		return nil, err
	}
	s.Nodes = make([][]Node, all)
	for r := range a.ranks {
		s.Nodes[r] = a.ranks[r].nodes
	}
	s.Groups = make([][]int, len(a.groups))
	for g := range a.groups {
		s.Groups[g] = a.groups[g].ranks
	}
	return s, nil
}

// bound reports that a rank has more operations than ids.
func (a *Assembler) bound(s *Source) error {
	for r := range a.ranks {
		ops := int64(len(a.ranks[r].nodes))
		for i := range a.ranks[r].meetings {
			m := &a.ranks[r].meetings[i]
			if m.entry.Kind != Collective {
				continue
			}
			call := &s.Calls[a.ranks[r].nodes[m.node].Call].Call
			ops += 4 * int64(max(1, call.Channels)) * int64(len(a.groups[m.entry.Call.Group].ranks)+1)
			if call.Chunk > 0 {
				ops += 4 * int64(call.Bytes/call.Chunk)
			}
		}
		if ops > maxOps/int64(s.Repeat) {
			return fmt.Errorf("rank %d has more than %d operations", r, int64(maxOps))
		}
	}
	return nil
}

// replicate gives ranks without a trace the nodes of the one that has one.
func (a *Assembler) replicate() error {
	model, others := -1, 0
	missing := -1
	for r := range a.ranks {
		switch {
		case !a.ranks[r].given:
			if missing < 0 {
				missing = r
			}
		case model < 0:
			model = r
		default:
			others++
		}
	}
	if missing < 0 {
		return nil
	}
	if !a.o.Replicate || others > 0 {
		return fmt.Errorf("there is no trace of rank %d, and one or more of %d other ranks", missing, len(a.ranks)-1)
	}
	from := &a.ranks[model]
	for i := range from.meetings {
		if e := &from.meetings[i].entry; e.Kind != Collective {
			return fmt.Errorf("%s: node %s: it meets rank %d alone, so that the trace of rank %d cannot stand for other ranks", a.o.At(model, e.Pos), title(e), e.Peer, model)
		}
	}
	if a.nodes = len(from.nodes) * len(a.ranks); a.nodes > a.o.Limits.Nodes {
		return fmt.Errorf("%d ranks with the %d nodes of rank %d each, %s", len(a.ranks), len(from.nodes), model, a.o.Limits.TooManyNodes())
	}
	for r := range a.ranks {
		if r == model {
			continue
		}
		t := &a.ranks[r]
		t.nodes = slices.Clone(from.nodes)
		t.meetings = slices.Clone(from.meetings)
		for i := range t.meetings {
			e := &from.meetings[i].entry
			g, err := a.counterpart(e.Call.Group, model, r)
			if err != nil {
				return fmt.Errorf("%s: node %s: %w", a.o.At(model, e.Pos), title(e), err)
			}
			copied, part := *e, *e.Call
			part.Group, copied.Call = g, &part
			part.From = nil // those of the model
			t.meetings[i].entry = copied
		}
	}
	a.Loss.AddN("ranks without a trace of their own, which do what the one with a trace does", a.o.At(model, 0), len(a.ranks)-1)
	return nil
}

// counterpart returns the group of rank r that corresponds to a group of rank model: the same
// one if r is in it, otherwise one with the same distances. Only groups that divide all ranks
// evenly have such ones.
func (a *Assembler) counterpart(g, model, r int) (int, error) {
	ranks := a.groups[g].ranks
	if slices.Contains(ranks, r) {
		return g, nil
	}
	stride := 1
	if len(ranks) > 1 {
		stride = ranks[1] - ranks[0]
	}
	if stride > 0 {
		block := stride * len(ranks)
		first := func(rank int) int { return rank/block*block + rank%stride }
		regular := len(a.ranks)%block == 0
		other := make([]int, len(ranks))
		for i := range ranks {
			regular = regular && ranks[i] == first(model)+i*stride
			other[i] = first(r) + i*stride
		}
		if regular {
			return a.Group(a.groups[g].name, other)
		}
	}
	return 0, fmt.Errorf("the group %v of rank %d does not divide %d ranks evenly, so that the one of rank %d is unknown; give the traces of all ranks", clip(ranks), model, len(a.ranks), r)
}

// clip returns the first of many ranks, for errors.
func clip(ranks []int) string {
	const most = 16
	if len(ranks) <= most {
		return fmt.Sprint(ranks)
	}
	return fmt.Sprintf("%v and %d more", ranks[:most], len(ranks)-most)
}
