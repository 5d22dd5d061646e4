package trace

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/collective"
	"github.com/csiglab/csiglab/workloads/graph"
)

// collectives matches the ranks' parts of collectives: the k-th of a group at one rank is the
// k-th of the group at all its ranks. It makes the calls and their labels.
func (a *Assembler) collectives(s *Source) error {
	type taken struct{ rank, meeting int }
	// The parts of each group by rank, in order.
	parts := make([][][]taken, len(a.groups))
	for r := range a.ranks {
		for i := range a.ranks[r].meetings {
			m := &a.ranks[r].meetings[i]
			if m.entry.Kind != Collective {
				continue
			}
			g := m.entry.Call.Group
			at := a.Index(g, r)
			if at < 0 {
				return fmt.Errorf("%s: node %s: rank %d is not in group %q, ranks %s", a.o.At(r, m.entry.Pos), title(&m.entry), r, a.groups[g].name, clip(a.groups[g].ranks))
			}
			if parts[g] == nil {
				for _, member := range a.groups[g].ranks {
					if member >= len(a.ranks) {
						return fmt.Errorf("%s: node %s: group %q has rank %d, of which there is no trace", a.o.At(r, m.entry.Pos), title(&m.entry), a.groups[g].name, member)
					}
				}
				parts[g] = make([][]taken, len(a.groups[g].ranks))
			}
			parts[g][at] = append(parts[g][at], taken{r, i})
		}
	}
	labels := newLabels(s)
	for g := range parts {
		if parts[g] == nil {
			continue
		}
		most := slices.MaxFunc(parts[g], func(x, y []taken) int { return cmp.Compare(len(x), len(y)) })
		for k := range most {
			model := &a.ranks[most[k].rank].meetings[most[k].meeting]
			call := Call{Group: int32(g), Call: a.call(model.entry.Call, len(parts[g]))}
			for at := range parts[g] {
				rank := a.groups[g].ranks[at]
				if len(parts[g][at]) <= k {
					return fmt.Errorf("rank %d has no counterpart of node %s, %s in group %q, which rank %d has at %s: it has %d collectives in the group, others have %d",
						rank, title(&model.entry), describe(model.entry.Call), a.groups[g].name, most[k].rank, a.o.At(most[k].rank, model.entry.Pos), len(parts[g][at]), len(most))
				}
				m := &a.ranks[rank].meetings[parts[g][at][k].meeting]
				if p, q := m.entry.Call, model.entry.Call; p.Kind != q.Kind || p.Root != q.Root || p.Split == nil && q.Split == nil && p.Bytes != q.Bytes {
					return fmt.Errorf("%s: node %s: rank %d runs %s as number %d in group %q, where rank %d runs %s (node %s at %s)",
						a.o.At(rank, m.entry.Pos), title(&m.entry), rank, describe(p), k, a.groups[g].name, most[k].rank, describe(q), title(&model.entry), a.o.At(most[k].rank, model.entry.Pos))
				}
				a.ranks[rank].nodes[m.node].Call = int32(len(s.Calls))
				if m.entry.Call.Split != nil && call.Uneven == nil {
					if a.uneven += len(parts[g]) * len(parts[g]); a.uneven > maxUneven {
						return fmt.Errorf("%s: node %s: more than %d sizes of uneven collectives", a.o.At(rank, m.entry.Pos), title(&m.entry), maxUneven)
					}
					call.Uneven = make([][]units.Size, len(parts[g]))
				}
			}
			if call.Uneven != nil {
				for at := range parts[g] {
					m := &a.ranks[a.groups[g].ranks[at]].meetings[parts[g][at][k].meeting]
					call.Uneven[at] = a.row(m.entry.Call, len(parts[g]))
				}
				for at := range parts[g] {
					rank := a.groups[g].ranks[at]
					m := &a.ranks[rank].meetings[parts[g][at][k].meeting]
					for from, size := range m.entry.Call.From {
						if size != call.Uneven[from][at] && from != at {
							a.Loss.Add("sizes that a rank expects in an uneven all_to_all and the other rank does not send (it receives what is sent)", a.o.At(rank, m.entry.Pos))
						}
					}
				}
				call.Call.Bytes = total(call.Uneven)
			}
			labels.add(&call, len(parts[g]))
			s.Calls = append(s.Calls, call)
			a.groups[g].calls = append(a.groups[g].calls, int32(len(s.Calls)-1))
			check := s.Calls[len(s.Calls)-1].Call
			check.Group = a.groups[g].ranks
			if err := check.Validate(); err != nil {
				return fmt.Errorf("%s: node %s: %w", a.o.At(most[k].rank, model.entry.Pos), title(&model.entry), err)
			}
		}
		parts[g] = nil
	}
	return nil
}

// call returns the collective that a part describes, of a group of n ranks.
func (a *Assembler) call(p *Part, n int) collective.Call {
	c := a.o.Call(p.Kind, p.Bytes, p.Root)
	if p.Kind == collective.Barrier {
		c.Bytes = 0
	}
	return c
}

// row returns what a rank sends to each rank of its group.
func (a *Assembler) row(p *Part, n int) []units.Size {
	if p.Split != nil {
		return p.Split
	}
	row := make([]units.Size, n)
	for i := range row {
		row[i] = p.Bytes / units.Size(n)
		if i < int(p.Bytes%units.Size(n)) {
			row[i]++
		}
	}
	return row
}

// total returns the largest sum of a row.
func total(rows [][]units.Size) (most units.Size) {
	for _, row := range rows {
		var sum units.Size
		for _, size := range row {
			sum += size
		}
		most = max(most, sum)
	}
	return most
}

// describe returns what a rank's part of a collective is, for errors.
func describe(p *Part) string {
	if p.Split != nil {
		return fmt.Sprintf("%s with sizes of its own", p.Kind)
	}
	text := fmt.Sprintf("%s of %d B", p.Kind, int64(p.Bytes))
	if p.Root != 0 {
		text += fmt.Sprintf(" with root %d", p.Root)
	}
	return text
}

// labels gives collectives their labels: those of several groups that are alike, and in the same
// place of the groups' order among those alike, are one collective with several groups.
type labels struct {
	source *Source
	kinds  []int         // how many there are of each kind
	index  map[like]int  // in source.Names.Collectives
	groups map[int]int32 // how many groups have the collective
	places map[like]int  // how many of the kind the group has, with place 0
}

// like is what alike collectives have in common.
type like struct {
	kind      collective.Kind
	bytes     units.Size
	ranks     int
	place     int
	group     int32
	algorithm collective.Algorithm
}

func newLabels(s *Source) *labels {
	return &labels{source: s, kinds: make([]int, len(collective.Kind(0).Names())), index: map[like]int{}, groups: map[int]int32{}, places: map[like]int{}}
}

// add gives a call of a group of n ranks its label.
func (l *labels) add(c *Call, n int) {
	key := like{kind: c.Call.Kind, bytes: c.Call.Bytes, ranks: n, algorithm: c.Call.Algorithm, group: c.Group}
	place := l.places[key]
	l.places[key]++
	key.group, key.place = 0, place
	names := &l.source.Names
	i, ok := l.index[key]
	if !ok && len(names.Collectives) >= maxLabels {
		// Beyond so many, all that are alike have one label.
		key.place = 0
		if i, ok = l.index[key]; !ok {
			i, ok = maxLabels-1, true
		}
	}
	if !ok {
		i = len(names.Collectives)
		l.index[key] = i
		algorithm := key.algorithm
		if algorithm == collective.Auto {
			algorithm = collective.AlgorithmsOf(key.kind)[0]
		}
		names.Collectives = append(names.Collectives, graph.Collective{
			Name: fmt.Sprintf("%s %d", key.kind, l.kinds[key.kind]), Kind: key.kind.String(), Algorithm: algorithm.String(), Ranks: n, Bytes: key.bytes,
		})
		l.kinds[key.kind]++
	}
	c.Label, c.Instance = int32(i), l.groups[i]
	l.groups[i]++
}

// channels gives each group stream numbers that no other group with one of its ranks has. It
// returns the first one of each rank that is free.
func (a *Assembler) channels(s *Source) ([]int, error) {
	free := make([]int, len(a.ranks))
	for g := range a.groups {
		if len(a.groups[g].calls) == 0 {
			continue
		}
		first, most := 0, 0
		for _, r := range a.groups[g].ranks {
			first = max(first, free[r])
		}
		for _, i := range a.groups[g].calls {
			c := &s.Calls[i].Call
			most = max(most, c.Streams())
			if first+c.Streams() > 1<<16 {
				return nil, fmt.Errorf("group %q: the ranks are in so many groups that stream numbers, 0 to %d, do not suffice", a.groups[g].name, 1<<16-1)
			}
			c.Channel = uint16(first)
		}
		for _, r := range a.groups[g].ranks {
			free[r] = first + most
		}
	}
	return free, nil
}

// stream is the messages of a tag from one rank to another.
type stream struct {
	from, to int
	tag      int64
}

// side is the part of one rank.
type side struct {
	stream
	rank int
	m    *meeting
}

// streams matches sends with receives, and gives each stream a channel.
func (a *Assembler) streams(free []int) error {
	messages := 0
	for r := range a.ranks {
		messages += len(a.ranks[r].meetings)
	}
	sides := make([]side, 0, messages)
	for r := range a.ranks {
		for i := range a.ranks[r].meetings {
			m := &a.ranks[r].meetings[i]
			e := &m.entry
			if e.Kind == Collective {
				continue
			}
			if e.Peer < 0 || e.Peer >= len(a.ranks) || e.Peer == r {
				return fmt.Errorf("%s: node %s: rank %d meets rank %d, want another one from 0 to %d", a.o.At(r, e.Pos), title(e), r, e.Peer, len(a.ranks)-1)
			}
			k := stream{r, e.Peer, e.Tag}
			if e.Kind == Recv {
				k.from, k.to = e.Peer, r
			}
			sides = append(sides, side{k, r, m})
		}
	}
	slices.SortStableFunc(sides, func(x, y side) int {
		return cmp.Or(cmp.Compare(x.from, y.from), cmp.Compare(x.to, y.to), cmp.Compare(x.tag, y.tag), cmp.Compare(x.m.entry.Kind, y.m.entry.Kind))
	})
	next := 0 // channel of the pair of ranks
	for i := 0; i < len(sides); {
		k := sides[i].stream
		if i == 0 || sides[i-1].from != k.from || sides[i-1].to != k.to {
			next = max(free[k.from], free[k.to])
		}
		sends, end := i, i
		for end < len(sides) && sides[end].stream == k {
			if end++; sides[end-1].m.entry.Kind == Send {
				sends++
			}
		}
		used, err := a.match(sides[i:sends], sides[sends:end], next)
		if err != nil {
			return err
		}
		next += used
		i = end
	}
	return nil
}

// match matches the sends of a stream with its receives, in their order. If the sizes differ in
// order only, the messages of each size match in theirs: ASTRA-sim matches by rank, tag and
// size. It returns how many channels that takes.
func (a *Assembler) match(sends, recvs []side, channel int) (int, error) {
	ordered := true
	for i := range min(len(sends), len(recvs)) {
		ordered = ordered && sends[i].m.entry.Bytes == recvs[i].m.entry.Bytes
	}
	if !ordered {
		bySize := func(x, y side) int { return cmp.Compare(x.m.entry.Bytes, y.m.entry.Bytes) }
		slices.SortStableFunc(sends, bySize)
		slices.SortStableFunc(recvs, bySize)
	}
	used := 1
	for i := range max(len(sends), len(recvs)) {
		if i >= len(sends) || i >= len(recvs) || sends[i].m.entry.Bytes != recvs[i].m.entry.Bytes {
			return 0, a.unmatched(sends, recvs, i)
		}
		if !ordered && i > 0 && sends[i].m.entry.Bytes != sends[i-1].m.entry.Bytes {
			used++
		}
		if channel+used > 1<<16 {
			return 0, fmt.Errorf("%s: node %s: the tags of messages to rank %d need more than %d channels", a.o.At(sends[i].rank, sends[i].m.entry.Pos), title(&sends[i].m.entry), sends[i].to, 1<<16)
		}
		for _, s := range []side{sends[i], recvs[i]} {
			a.ranks[s.rank].nodes[s.m.node].Channel = uint16(channel + used - 1)
		}
	}
	return used, nil
}

// unmatched is the error for message i of a stream, whose sides are by size if their sizes
// differ.
func (a *Assembler) unmatched(sends, recvs []side, i int) error {
	var one side
	missing := "sends"
	switch {
	case i >= len(sends), i < len(recvs) && recvs[i].m.entry.Bytes < sends[i].m.entry.Bytes:
		one = recvs[i]
	default:
		one, missing = sends[i], "receives"
	}
	other := one.from + one.to - one.rank
	return fmt.Errorf("%s: node %s: rank %d %s no such message: %d B from rank %d to rank %d with tag %d; the trace has %d sends and %d receives of this tag",
		a.o.At(one.rank, one.m.entry.Pos), title(&one.m.entry), other, missing, int64(one.m.entry.Bytes), one.from, one.to, one.tag, len(sends), len(recvs))
}
