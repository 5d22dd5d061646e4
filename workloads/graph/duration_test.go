package graph

import (
	"errors"
	"testing"

	"github.com/csiglab/csiglab/units"
)

// TestDurations: a message can be used so long after it has arrived, whatever the rank does meanwhile, and a
// mark or a barrier is complete so long after what it waits for.
func TestDurations(t *testing.T) {
	const us = units.Microsecond
	for _, c := range []struct {
		name string
		ops  func(b *Builder) // of rank 1; rank 0 sends two messages, which arrive after 1 us
		want units.Duration
	}{
		{"a message", func(b *Builder) { b.Add(Op{Kind: Recv, Channel: 0, Bytes: 1, Duration: 4 * us}) }, 5 * us},
		{"it waits for a shorter compute", func(b *Builder) {
			b.Add(Op{Kind: Recv, Bytes: 1, Duration: 4 * us}, b.Compute(3*us))
		}, 5 * us},
		{"it waits for a longer compute", func(b *Builder) {
			b.Add(Op{Kind: Recv, Bytes: 1, Duration: 4 * us}, b.Compute(9*us))
		}, 9 * us},
		{"the program comes to it later", func(b *Builder) {
			b.Add(Op{Kind: Compute, Duration: 3 * us, Fence: true})
			b.Add(Op{Kind: Recv, Bytes: 1, Duration: 4 * us}, 0)
		}, 7 * us},
		{"two messages beside each other", func(b *Builder) {
			first := b.Add(Op{Kind: Recv, Bytes: 1, Duration: 4 * us})
			b.Add(Op{Kind: Recv, Bytes: 1, Duration: 4 * us}, first)
		}, 5 * us},
		{"marks and barriers", func(b *Builder) {
			begin := b.Add(Op{Kind: Begin, Duration: us})
			b.Add(Op{Kind: End, Duration: 3 * us}, b.Add(Op{Kind: Barrier, Duration: 2 * us}, begin))
		}, 6 * us},
	} {
		var ranks [2]Builder
		for range 2 {
			ranks[0].Send(1, 0, 1)
		}
		c.ops(&ranks[1])
		s := &Static{Count: 1, All: 2, Of: map[int][]Op{0: ranks[0].Ops, 1: ranks[1].Ops}}
		line, err := Ideal(s, 1, Link{Latency: us})
		if err != nil {
			t.Fatal(err)
		}
		if line.End != units.Time(c.want) {
			t.Errorf("%s: %v, want %v", c.name, line.End, c.want)
		}
	}
	var b Builder
	b.Add(Op{Kind: Send, Peer: 1, Bytes: 1, Duration: us})
	if _, err := Ideal(&Static{Count: 1, All: 2, Of: map[int][]Op{0: b.Ops}}, 1, Link{}); !errors.Is(err, ErrInvalid) {
		t.Errorf("a send that takes time: %v", err)
	}
}
