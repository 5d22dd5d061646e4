package inspect

import (
	"cmp"
	"slices"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/graph"
)

// maxCounted is how many operations are counted, a few seconds.
const maxCounted = 30_000_000

// Kind is the messages of one kind: of a kind of collective, or point_to_point.
type Kind struct {
	Kind     string     `json:"kind"`
	Messages int        `json:"messages"`
	Bytes    units.Size `json:"bytes"` // that ranks send
}

// Collective is a collective with how often it runs.
type Collective struct {
	Name      string     `json:"name"`
	Kind      string     `json:"kind"`
	Algorithm string     `json:"algorithm"`
	Ranks     int        `json:"ranks"`         // of a group
	Buffer    units.Size `json:"buffer"`        // as nccl-tests count it
	Runs      int        `json:"runs,omitzero"` // of all groups and steps together
}

// Dimension is what a kind of group of ranks sends, such as those of tensor parallelism.
type Dimension struct {
	Name  string     `json:"name"`
	Ranks int        `json:"ranks"` // of a group
	Bytes units.Size `json:"bytes"` // that all ranks send
	// Rank is the one that sends the most in the dimension, Most what it sends.
	Rank int        `json:"rank"`
	Most units.Size `json:"most"`
}

// Summary is what the programs of a source hold. Figures of programs with too many operations to
// count are left out.
type Summary struct {
	Ranks       int            `json:"ranks"`
	Steps       int            `json:"steps"`
	Operations  int            `json:"operations,omitzero"`
	Messages    int            `json:"messages,omitzero"`
	Bytes       units.Size     `json:"bytes,omitzero"`
	Compute     units.Duration `json:"computePs,omitzero"` // of all ranks together
	Kinds       []Kind         `json:"kinds"`
	Collectives []Collective   `json:"collectives"`
	Dimensions  []Dimension    `json:"dimensions,omitempty"` // of sources that have them
	// Sent and Received are bytes by rank.
	Sent     []units.Size `json:"sent,omitempty"`
	Received []units.Size `json:"received,omitempty"`
	// Partial says that there are more than MaxOperations, so that they cannot be played. Uncounted
	// says that there are too many to count, too.
	Partial   bool `json:"partial"`
	Uncounted bool `json:"uncounted,omitzero"`

	computing []units.Duration // of the unit of a rank that computes longest
	order     []own            // what a rank does one after the other, where that is known
}

// own is what a rank does one after the other: it computes, and waits for messages of its own.
type own struct {
	compute units.Duration
	bytes   units.Size
}

// tally is what operations hold.
type tally struct {
	operations     int
	sent, received units.Size
	compute        map[uint8]units.Duration // by unit
	messages       map[string]Kind
	begun          map[int32]int // collectives
}

func newTally() *tally {
	return &tally{compute: map[uint8]units.Duration{}, messages: map[string]Kind{}, begun: map[int32]int{}}
}

// take adds an operation.
func (t *tally) take(op *graph.Op, labels *graph.Labels) {
	t.operations++
	switch op.Kind {
	case graph.Compute:
		t.compute[op.Unit] += op.Duration
	case graph.Begin:
		if c := op.Tag.Collective; c != graph.None {
			t.begun[c]++
		}
	case graph.Send:
		name := "point_to_point"
		if c := op.Tag.Collective; c != graph.None {
			name = labels.Collectives[c].Kind
		}
		k := t.messages[name]
		k.Messages, k.Bytes = k.Messages+1, k.Bytes+op.Bytes
		t.messages[name] = k
		t.sent += op.Bytes
	case graph.Recv:
		t.received += op.Bytes
	}
}

// add adds a tally so many times.
func (t *tally) add(other *tally, times int) {
	t.operations += times * other.operations
	t.sent += units.Size(times) * other.sent
	t.received += units.Size(times) * other.received
	for unit, d := range other.compute {
		t.compute[unit] += units.Duration(times) * d
	}
	for name, k := range other.messages {
		sum := t.messages[name]
		t.messages[name] = Kind{Messages: sum.Messages + times*k.Messages, Bytes: sum.Bytes + units.Size(times)*k.Bytes}
	}
	for c, n := range other.begun {
		t.begun[c] += times * n
	}
}

// longest returns the time of the unit that computes longest.
func (t *tally) longest() (most units.Duration) {
	for _, d := range t.compute {
		most = max(most, d)
	}
	return most
}

// Summarise counts what the programs of a source hold.
func Summarise(s graph.Source, seed uint64) *Summary {
	return summarise(s, seed, MaxOperations, maxCounted)
}

// summarise is Summarise with its limits of operations: to be played, and to be counted.
func summarise(s graph.Source, seed uint64, play, most int) *Summary {
	labels := s.Labels()
	sum := &Summary{Ranks: s.Ranks(), Steps: s.Steps(), Kinds: []Kind{}, Collectives: make([]Collective, len(labels.Collectives))}
	for i, c := range labels.Collectives {
		sum.Collectives[i] = Collective{Name: c.Name, Kind: c.Kind, Algorithm: c.Algorithm, Ranks: c.Ranks, Buffer: c.Bytes}
	}
	parted, inParts := s.(graph.Parted)
	all, ok := sum.count(s, seed, play)
	if !ok {
		sum.Partial = true
		if !inParts {
			all, ok = sum.count(s, seed, most)
		}
	}
	if inParts {
		counted, fits := sum.parts(parted, most)
		if !ok {
			// The parts are without marks, so that their operations are not all.
			all, ok = counted, fits
			counted.operations = 0
		}
	}
	if !ok {
		sum.Uncounted, sum.Dimensions, sum.Sent, sum.Received, sum.computing, sum.order = true, nil, nil, nil, nil, nil
		return sum
	}
	sum.Operations, sum.Bytes = all.operations, all.sent
	for _, d := range all.compute {
		sum.Compute += d
	}
	for name, k := range all.messages {
		k.Kind = name
		sum.Kinds = append(sum.Kinds, k)
		sum.Messages += k.Messages
	}
	for i := range sum.Collectives {
		if c := &sum.Collectives[i]; c.Ranks > 0 {
			c.Runs = all.begun[int32(i)] / c.Ranks
		}
	}
	slices.SortFunc(sum.Kinds, func(a, b Kind) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Kind, b.Kind)) })
	return sum
}

// reset makes room for figures by rank.
func (s *Summary) reset() {
	s.Sent, s.Received, s.computing = make([]units.Size, s.Ranks), make([]units.Size, s.Ranks), make([]units.Duration, s.Ranks)
}

// rank takes the figures of a rank.
func (s *Summary) rank(rank int, t *tally) {
	s.Sent[rank], s.Received[rank], s.computing[rank] = t.sent, t.received, t.longest()
}

// count expands all programs. It reports false if they have more than so many operations.
func (s *Summary) count(source graph.Source, seed uint64, most int) (*tally, bool) {
	labels, all := source.Labels(), newTally()
	s.reset()
	var op graph.Op
	for rank := range s.Ranks {
		t := newTally()
		for p := source.Program(rank, seed); p.Next(&op); {
			if all.operations+t.operations == most {
				return nil, false
			}
			t.take(&op, labels)
		}
		s.rank(rank, t)
		all.add(t, 1)
	}
	return all, true
}

// parts counts the parts of a source, each of which it expands once. It reports false if that is
// more than so many operations.
func (s *Summary) parts(source graph.Parted, most int) (*tally, bool) {
	labels, all, expanded := source.Labels(), newTally(), 0
	known := map[graph.PartKey]*tally{}
	dimensions := map[string]*Dimension{}
	s.reset()
	s.order = make([]own, s.Ranks)
	var b graph.Builder
	of := source.Parts()
	for rank := range s.Ranks {
		t, sent := newTally(), map[string]units.Size{}
		of(rank, func(p *graph.Part) {
			one := known[p.Key]
			if one == nil {
				if one = newTally(); expanded > most {
					return
				}
				b.Reset(0)
				b.Tag = graph.Tag{Phase: graph.None, Collective: graph.None, Group: graph.None}
				p.Append(&b)
				for i := range b.Ops {
					one.take(&b.Ops[i], labels)
				}
				expanded += len(b.Ops)
				known[p.Key] = one
			}
			t.add(one, p.Times)
			if p.Blocks {
				s.order[rank].compute += units.Duration(p.Times) * one.longest()
				s.order[rank].bytes += units.Size(p.Times) * max(one.sent, one.received)
			}
			if p.Dimension != "" {
				sent[p.Dimension] += units.Size(p.Times) * one.sent
				if dimensions[p.Dimension] == nil {
					dimensions[p.Dimension] = &Dimension{Name: p.Dimension, Ranks: p.Ranks}
				}
			}
		})
		s.rank(rank, t)
		all.add(t, 1)
		for name, bytes := range sent {
			d := dimensions[name]
			d.Bytes += bytes
			if bytes > d.Most {
				d.Rank, d.Most = rank, bytes
			}
		}
	}
	for _, d := range dimensions {
		s.Dimensions = append(s.Dimensions, *d)
	}
	slices.SortFunc(s.Dimensions, func(x, y Dimension) int { return cmp.Or(cmp.Compare(y.Bytes, x.Bytes), cmp.Compare(x.Name, y.Name)) })
	return all, expanded <= most
}
