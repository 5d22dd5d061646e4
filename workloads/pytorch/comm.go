package pytorch

import (
	"slices"
	"strings"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/collective"
	"github.com/csiglab/csiglab/workloads/trace"
)

// comm is what a node record_param_comms says. What it does not say is none, or "".
type comm struct {
	name    string // of the collective, as PyTorch has it
	seq     int64
	group   string // pg_name
	groupID int64  // in schemas before 1.0.3
	// place is the argument rank: of a collective the own place in the group or the root's, of
	// a send or receive the other rank's.
	place               int64
	start, stride, size int64 // of the group
	in, out             int64 // bytes
	split               []int64
}

// none is the absence of a number.
const none = -1

// kind is what a communication is, beside the kinds of collective.
type kind uint8

const (
	unknown kind = iota
	isCollective
	isSend
	isRecv
	isWait
	isNothing // what communicates nothing, such as the creation of a group
)

// names are those that PyTorch and its backends give, without case and underscores.
var names = map[string]collective.Kind{
	"allreduce": collective.AllReduce, "allreducecoalesced": collective.AllReduce,
	"reduce": collective.Reduce, "reduceoop": collective.Reduce,
	"broadcast": collective.Broadcast, "broadcastoop": collective.Broadcast,
	"allgather": collective.AllGather, "allgatherbase": collective.AllGather, "allgathercoalesced": collective.AllGather,
	"allgatherintotensor": collective.AllGather, "allgatherintotensorcoalesced": collective.AllGather, "allgathertensorcoalesced": collective.AllGather,
	"reducescatter": collective.ReduceScatter, "reducescatterbase": collective.ReduceScatter, "reducescattertensor": collective.ReduceScatter,
	"reducescattertensorcoalesced": collective.ReduceScatter, "reducescattercoalesced": collective.ReduceScatter,
	"alltoall": collective.AllToAll, "alltoallbase": collective.AllToAll, "alltoallv": collective.AllToAll, "alltoallsingle": collective.AllToAll,
	"gather": collective.Gather, "scatter": collective.Scatter, "barrier": collective.Barrier,
}

// kind returns what the communication is.
func (c *comm) kind() (kind, collective.Kind) {
	name := strings.ToLower(strings.ReplaceAll(c.name, "_", ""))
	switch name {
	case "send", "isend":
		return isSend, 0
	case "recv", "irecv", "recvanysource":
		return isRecv, 0
	case "wait":
		return isWait, 0
	case "init", "", "startcoalescing", "endcoalescing":
		return isNothing, 0
	}
	if k, ok := names[name]; ok {
		return isCollective, k
	}
	return unknown, 0
}

// own reports whether place is the rank's own place in the group.
func (c *comm) own() bool {
	what, k := c.kind()
	return what == isCollective && c.place >= 0 && slices.Contains([]collective.Kind{collective.AllReduce, collective.AllGather, collective.ReduceScatter, collective.AllToAll, collective.Barrier}, k)
}

// groupKey says which group a communication has.
type groupKey struct {
	defined             int   // index in groups of the trace, or none
	start, stride, size int64 // otherwise, or size 0: unknown
}

// key returns the group of a communication.
func (t *rank) key(c *comm) groupKey {
	for i := range t.groups {
		g := &t.groups[i]
		if c.group != "" && g.Name == c.group || c.group == "" && c.groupID != 0 && g.ID == c.groupID {
			return groupKey{defined: i}
		}
	}
	if c.start >= 0 && c.size > 0 && (c.stride > 0 || c.size == 1) && c.start+(c.size-1)*c.stride < maxRanks {
		return groupKey{none, c.start, c.stride, c.size}
	}
	return groupKey{defined: none}
}

// member returns the rank at a place of a group, or the place itself if the group is unknown.
func (t *rank) member(k groupKey, place int64) int {
	switch {
	case k.defined != none && t.groups[k.defined].Ranks != nil:
		if ranks := t.groups[k.defined].Ranks; place < int64(len(ranks)) {
			return ranks[place]
		}
		return none
	case k.defined == none && k.size > 0:
		if place < k.size {
			return int(k.start + place*k.stride)
		}
		return none
	}
	return int(min(place, maxRanks))
}

// own returns the rank that the trace says it is of: that at its place in the group of a
// collective.
func (t *rank) own() int {
	for i := range t.nodes {
		if c := t.nodes[i].comm; c != nil && c.own() {
			if r := t.member(t.key(c), c.place); r >= 0 && r < maxRanks {
				return r
			}
		}
	}
	return 0
}

// world returns how many ranks the groups name.
func (t *rank) world() (ranks int) {
	for i := range t.nodes {
		if c := t.nodes[i].comm; c != nil {
			switch k := t.key(c); {
			case k.defined != none && t.groups[k.defined].Ranks != nil:
			case k.size > 0:
				ranks = max(ranks, int(k.start+(k.size-1)*k.stride)+1)
			default:
				ranks = max(ranks, int(min(c.size, maxRanks)))
			}
		}
	}
	for _, g := range t.groups {
		for _, m := range g.Ranks {
			ranks = max(ranks, m+1)
		}
	}
	return min(ranks, maxRanks)
}

// firstCollective returns the first collective, or nil.
func (t *rank) firstCollective() *node {
	for i := range t.nodes {
		if c := t.nodes[i].comm; c != nil {
			if what, _ := c.kind(); what == isCollective {
				return &t.nodes[i]
			}
		}
	}
	return nil
}

// maxRanks bounds what a trace may say of ranks.
const maxRanks = 1 << 16

// group returns the number of the group of a communication.
func (t *rank) group(n *node) (int, error) {
	k := t.key(n.comm)
	if g, ok := t.byGroup[k]; ok && (k.defined != none || k.size > 0) {
		return g, nil
	}
	var name string
	var ranks []int
	switch {
	case k.defined != none:
		name, ranks = t.groups[k.defined].Name, t.groups[k.defined].Ranks
	case k.size > 0:
		name = n.comm.group
		for i := range k.size {
			ranks = append(ranks, int(k.start+i*k.stride))
		}
	case n.comm.size > 0 && n.comm.size != int64(t.ranks):
		t.lost("communication in groups that nothing defines (all ranks take part)", n)
	}
	g, err := t.assembler.Group(name, ranks)
	if err != nil {
		return 0, t.errorf(n, "%w", err)
	}
	t.byGroup[k] = g
	return g, nil
}

// size returns how many ranks a group has.
func (t *rank) size(group int) int64 {
	if members := t.assembler.Members(group); members != nil {
		return int64(len(members))
	}
	return int64(t.ranks)
}

// communicate completes the entry of a collective, send or receive. It reports false if nothing
// of it is played.
func (t *rank) communicate(n *node, e *trace.Entry) (bool, error) {
	c := n.comm
	what, k := c.kind()
	if what == unknown {
		t.lost("collectives "+clip(c.name)+", whose kind csiglab does not know", n)
		return false, nil
	}
	group, err := t.group(n)
	if err != nil {
		return false, err
	}
	ranks := t.size(group)
	if what != isCollective {
		peer := none
		if c.place >= 0 {
			peer = t.member(t.key(c), c.place)
		}
		if peer < 0 {
			t.lost("nodes "+c.name+" without the other rank", n)
			return false, nil
		}
		e.Kind, e.Peer, e.Tag = trace.Send, peer, int64(group)
		bytes := c.in
		if what == isRecv {
			e.Kind = trace.Recv
			bytes = c.out
		}
		if bytes <= 0 {
			bytes = max(c.in, c.out)
		}
		if bytes <= 0 {
			t.lost("messages of 0 B, which are sent as 1 B", n)
			bytes = 1
		}
		e.Bytes = units.Size(bytes)
		return true, nil
	}
	part := trace.Part{Kind: k, Group: group}
	bytes := c.in
	switch k {
	case collective.AllGather, collective.Gather:
		if bytes *= ranks; bytes <= 0 {
			bytes = c.out
		}
	case collective.Scatter:
		if bytes = c.out * ranks; bytes <= 0 {
			bytes = c.in
		}
	case collective.ReduceScatter:
		if bytes <= 0 {
			bytes = c.out * ranks
		}
	default:
		if bytes <= 0 {
			bytes = c.out
		}
	}
	if part.Bytes = units.Size(bytes); bytes <= 0 && k != collective.Barrier {
		t.lost("collectives of 0 B or of unknown size", n)
		return false, nil
	}
	if bytes > int64(trace.MaxBytes) {
		return false, t.errorf(n, "%s of %d B, want at most %d", c.name, bytes, int64(trace.MaxBytes))
	}
	if (k == collective.Broadcast || k == collective.Reduce || k == collective.Gather || k == collective.Scatter) && c.place > 0 && c.place < ranks {
		part.Root = int(c.place)
	}
	if k == collective.AllToAll && len(c.split) > 0 {
		if int64(len(c.split)) != ranks {
			return false, t.errorf(n, "%s has %d split sizes for %d ranks", c.name, len(c.split), ranks)
		}
		part.Split = splits(c.split, c.in)
	}
	e.Kind, e.Call = trace.Collective, &part
	return true, nil
}

// splits divides bytes in the proportions of split sizes, which count the rows of a tensor.
func splits(rows []int64, bytes int64) []units.Size {
	sizes := make([]units.Size, len(rows))
	var all int64
	even := true
	for _, r := range rows {
		all += r
		even = even && r == rows[0]
	}
	if all <= 0 || even {
		return nil
	}
	for i, r := range rows {
		sizes[i] = units.Size(bytes / all * r)
	}
	return sizes
}

// clip returns the beginning of a long name.
func clip(name string) string { return strings.ToValidUTF8(name[:min(len(name), 60)], "?") }
