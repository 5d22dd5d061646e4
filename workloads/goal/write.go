package goal

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/graph"
)

// Write writes the programs of a source as a schedule. Streams become tags. Barriers and
// marks become calcs of no time on a processor of their own. What an operation may not
// begin before becomes a chain of calcs on one more processor. The loss report names what a
// schedule cannot say: the names of collectives, phases and steps, and fractions of a
// nanosecond. Nothing is checked: see graph.Check. An error is that of out, or of a source
// with more processors per rank than GOAL has.
func Write(out io.Writer, s graph.Source, seed uint64) (*graph.Loss, error) {
	w := &writer{Writer: bufio.NewWriter(out), loss: &graph.Loss{}}
	fmt.Fprintf(w, "num_ranks %d\n", s.Ranks())
	for rank := range s.Ranks() {
		if err := w.survey(s.Program(rank, seed), rank); err != nil {
			return nil, err
		}
		w.rank(s.Program(rank, seed), rank)
	}
	if err := w.Flush(); err != nil {
		return nil, err
	}
	return w.loss, nil
}

// writer is the state of one Write.
type writer struct {
	*bufio.Writer
	loss   *graph.Loss
	line   []byte
	clock  []units.Duration // times that operations of the rank wait for, ascending
	marks  int              // the processor of what takes no time
	clocks int              // the processor of the chain of times
}

// survey finds which processors and times a rank uses.
func (w *writer) survey(p graph.Program, rank int) error {
	w.clock, w.marks = w.clock[:0], 0
	var op graph.Op
	for p.Next(&op) {
		if op.Kind == graph.Compute {
			w.marks = max(w.marks, int(op.Unit)+1)
		}
		if op.NotBefore > 0 {
			w.clock = append(w.clock, op.NotBefore)
		}
	}
	slices.Sort(w.clock)
	w.clock = slices.Compact(w.clock)
	w.clocks = w.marks + 1
	if w.clocks > math.MaxUint8 {
		return fmt.Errorf("goal: rank %d computes on more than %d processors", rank, math.MaxUint8-1)
	}
	return nil
}

// rank writes the block of a rank.
func (w *writer) rank(p graph.Program, rank int) {
	fmt.Fprintf(w, "\nrank %d {\n", rank)
	place := "rank " + strconv.Itoa(rank)
	last := units.Duration(0)
	for i, t := range w.clock {
		fmt.Fprintf(w, "t%d: calc %d cpu %d\n", i, w.nanoseconds(t, place)-w.nanoseconds(last, place), w.clocks)
		if i > 0 {
			fmt.Fprintf(w, "t%d requires t%d\n", i, i-1)
		}
		last = t
	}
	var op graph.Op
	for id := 0; p.Next(&op); id++ {
		w.loss.LeaveTime(&op, place)
		w.line = strconv.AppendInt(append(w.line[:0], 'l'), int64(id), 10)
		switch op.Kind {
		case graph.Send:
			w.line = fmt.Appendf(w.line, ": send %db to %d tag %d\n", int64(op.Bytes), op.Peer, op.Channel)
		case graph.Recv:
			w.line = fmt.Appendf(w.line, ": recv %db from %d tag %d\n", int64(op.Bytes), op.Peer, op.Channel)
		case graph.Compute:
			w.line = fmt.Appendf(w.line, ": calc %d cpu %d\n", w.nanoseconds(op.Duration, place), op.Unit)
		case graph.Begin, graph.End:
			w.loss.Add("marks of collectives, phases and steps, written as calcs of no time", place)
			fallthrough
		default:
			w.line = fmt.Appendf(w.line, ": calc 0 cpu %d\n", w.marks)
		}
		w.Write(w.line) // errors stay until Flush
		for _, d := range op.Deps {
			fmt.Fprintf(w, "l%d requires l%d\n", id, d)
		}
		if op.NotBefore > 0 {
			i, _ := slices.BinarySearch(w.clock, op.NotBefore)
			fmt.Fprintf(w, "l%d requires t%d\n", id, i)
		}
	}
	w.WriteString("}\n")
}

// nanoseconds rounds a time to a whole number of them.
func (w *writer) nanoseconds(d units.Duration, place string) int64 {
	if d%units.Nanosecond != 0 {
		w.loss.Add("times rounded to nanoseconds", place)
	}
	return int64((d + units.Nanosecond/2) / units.Nanosecond)
}
