package graph

import "fmt"

// Static is a Source whose programs are in memory: that of a trace. Its programs are the
// same for all seeds.
type Static struct {
	Names Labels
	Count int          // of steps
	Of    map[int][]Op // operations by rank; a rank without any has an empty program
	All   int          // number of ranks
}

// Ranks implements Source.
func (s *Static) Ranks() int { return s.All }

// Steps implements Source.
func (s *Static) Steps() int { return s.Count }

// Labels implements Source.
func (s *Static) Labels() *Labels { return &s.Names }

// Program implements Source.
func (s *Static) Program(rank int, _ uint64) Program { return &list{s.Of[rank]} }

// Only implements Source.
func (s *Static) Only(ranks []int) Source {
	part := *s
	part.Of = make(map[int][]Op, len(ranks))
	for _, r := range ranks {
		part.Of[r] = s.Of[r]
	}
	return &part
}

// list is a Program that is in memory.
type list struct{ rest []Op }

// Next implements Program.
func (l *list) Next(op *Op) bool {
	if len(l.rest) == 0 {
		return false
	}
	deps := append(op.Deps[:0], l.rest[0].Deps...)
	*op, l.rest = l.rest[0], l.rest[1:]
	op.Deps = deps
	return true
}

// Check reads all programs of a source and reports the first thing that cannot be played:
// a dependency on the operation itself or on a later one, a rank or label that there is
// none of, a message of no bytes, a rank that sends to itself, a Send without its Recv or
// one of another size. Its error wraps ErrInvalid.
func Check(s Source, seed uint64) error {
	type stream struct {
		from, to int32
		channel  uint16
	}
	sent := map[stream][]int64{}
	labels := s.Labels()
	var op Op
	each := func(kind Kind, do func(rank int, id uint32) error) error {
		for rank := range s.Ranks() {
			program := s.Program(rank, seed)
			for id := uint32(0); program.Next(&op); id++ {
				if kind == Send || op.Kind == Recv {
					if err := do(rank, id); err != nil {
						return fmt.Errorf("%w: rank %d: operation %d (%s): %w", ErrInvalid, rank, id, op.Kind, err)
					}
				}
			}
		}
		return nil
	}
	err := each(Send, func(rank int, id uint32) error {
		if err := op.check(int32(rank), id, s.Ranks()); err != nil {
			return err
		}
		if t := op.Tag; t.Step < 0 || int(t.Step) >= s.Steps() || t.Phase < None || int(t.Phase) >= len(labels.Phases) ||
			t.Collective < None || int(t.Collective) >= len(labels.Collectives) {
			return fmt.Errorf("its tag is of step %d, phase %d, collective %d; there are %d, %d and %d", t.Step, t.Phase, t.Collective, s.Steps(), len(labels.Phases), len(labels.Collectives))
		}
		if op.Kind == Send {
			k := stream{int32(rank), op.Peer, op.Channel}
			sent[k] = append(sent[k], int64(op.Bytes))
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = each(Recv, func(rank int, _ uint32) error {
		k := stream{op.Peer, int32(rank), op.Channel}
		if len(sent[k]) == 0 {
			return fmt.Errorf("rank %d sends nothing more on channel %d", op.Peer, op.Channel)
		}
		if bytes := sent[k][0]; bytes != int64(op.Bytes) {
			return fmt.Errorf("it receives %d bytes of the %d that rank %d sends on channel %d", int64(op.Bytes), bytes, op.Peer, op.Channel)
		}
		sent[k] = sent[k][1:]
		return nil
	})
	if err != nil {
		return err
	}
	for rank := range s.Ranks() {
		program := s.Program(rank, seed)
		for id := 0; program.Next(&op); id++ {
			if k := (stream{int32(rank), op.Peer, op.Channel}); op.Kind == Send && len(sent[k]) > 0 {
				return fmt.Errorf("%w: rank %d: operation %d (send): rank %d receives %d messages too few on channel %d", ErrInvalid, rank, id, op.Peer, len(sent[k]), op.Channel)
			}
		}
	}
	return nil
}
