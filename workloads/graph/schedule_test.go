package graph_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/graph"
)

// Slots are Offset + k Period. What is ready at most Correction before one waits for it; all
// else goes on at once. The table is against a search over all slots.
func TestScheduleUntil(t *testing.T) {
	for _, s := range []graph.Schedule{
		{Period: 10, Offset: 3, Correction: 4}, {Period: 10, Offset: 0, Correction: 10}, {Period: 10, Offset: 9, Correction: 0}, {Period: 1, Correction: 1}, {},
	} {
		for now := units.Time(0); now < 40; now++ {
			until, late := now, units.Duration(0)
			if s.Period > 0 {
				next := units.Time(s.Offset)
				for next < now {
					next += units.Time(s.Period)
				}
				if next.Sub(now) <= s.Correction {
					until = next
				}
				if late = now.Sub(next); late < 0 {
					late += s.Period
				}
			}
			// Before the first slot there is the time since the one that would precede it.
			if late < 0 {
				late += s.Period
			}
			if got := s.Until(now); got != until {
				t.Errorf("%+v: what is ready at %d ps goes on at %d, want %d", s, now, got, until)
			}
			if got := s.Late(now); got != late {
				t.Errorf("%+v: %d ps is %d ps late, want %d", s, now, got, late)
			}
		}
	}
}

// Two ranks compute and exchange messages. Early ones wait for the slot, which is the same
// for both without a message between them; the late one goes on at once, and its hold has a
// record too. What follows names the hold as what it waited for.
func TestHold(t *testing.T) {
	program := func(peer int, computes ...units.Duration) func(b *graph.Builder) {
		return func(b *graph.Builder) {
			tail := b.Begin()
			for _, d := range computes {
				tail = b.Hold(b.Compute(d, tail))
				tail = b.Barrier(b.Send(peer, 0, 1000, tail), b.Recv(peer, 0, 1000, tail))
			}
			b.End(tail)
		}
	}
	s := build(program(1, 12*us, 20*us, 20*us), program(0, 17*us, 25*us, 17*us))
	var records metrics.Batch
	e := graph.NewEngine(graph.Config{
		Source: s, Ranks: []int{0, 1}, Start: units.Time(5 * us), Sink: &records,
		Schedule: graph.Schedule{Period: 30 * us, Offset: 25 * us, Correction: 10 * us},
	})
	for e.Next() != units.Never {
		now := e.Next()
		e.Advance(now)
		for _, p := range e.Posts() { // messages take no time
			e.Sent(now, p.Stream, 1)
			e.Received(now, p.Stream, 1)
		}
	}
	if !e.Done() {
		t.Fatal(e.Stuck())
	}
	got := map[int32][]times{}
	for _, o := range records.Operations {
		if o.Kind == metrics.OperationHold {
			got[o.Rank] = append(got[o.Rank], timesOf(o))
		}
		if o.Kind == metrics.OperationSend && o.After%5 != 2 { // begin, then compute, hold, send, recv and barrier
			t.Errorf("rank %d: send %d follows operation %d, not the hold", o.Rank, o.Op, o.After)
		}
	}
	want := map[int32][]times{
		0: {{17, 17, 25}, {45, 45, 55}, {75, 75, 85}}, // by 8 us, and twice by just the correction
		1: {{22, 22, 25}, {50, 50, 55}, {72, 72, 72}}, // 13 us before the slot is too far
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("ready, start and end of the holds in us (-got +want):\n%s", d)
	}
}
