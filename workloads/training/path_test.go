package training_test

import (
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/jitter"
	"github.com/csiglab/csiglab/workloads/training"
)

// path is what the critical path of a job consists of: by rank the time of its computations,
// and the time of messages on their way.
type path struct {
	compute  map[int32]units.Duration
	messages units.Duration
	all      units.Duration
}

// criticalPath walks from the operation that ends last to the beginning: from a receive whose
// message came after its dependencies to the send, from all others to the operation that made
// them ready.
func criticalPath(t *testing.T, s graph.Source, l graph.Link) path {
	t.Helper()
	var records metrics.Batch
	l.Sink = &records
	if _, err := graph.Ideal(s, 1, l); err != nil {
		t.Fatal(err)
	}
	type id struct {
		rank int32
		op   int64
	}
	type message struct {
		from, to int32
		tag      metrics.Tag
		number   uint32
	}
	byID, sends := map[id]*metrics.Operation{}, map[message]*metrics.Operation{}
	channels := map[id]uint16{}
	for rank := range s.Ranks() {
		var op graph.Op
		program := s.Program(rank, 1)
		for i := int64(0); program.Next(&op); i++ {
			channels[id{int32(rank), i}] = op.Channel
		}
	}
	number := func(o *metrics.Operation, from, to int32) message {
		return message{from, to, metrics.Tag{Step: int32(channels[id{o.Rank, int64(o.Op)}])}, o.Message}
	}
	last := &records.Operations[0]
	for i := range records.Operations {
		o := &records.Operations[i]
		byID[id{o.Rank, int64(o.Op)}] = o
		if o.Kind == metrics.OperationSend {
			sends[number(o, o.Rank, o.Peer)] = o
		}
		if o.End > last.End {
			last = o
		}
	}
	p := path{compute: map[int32]units.Duration{}, all: units.Duration(last.End)}
	for at := last; at != nil; {
		next := id{at.Rank, at.After}
		switch {
		case at.Kind == metrics.OperationCompute:
			p.compute[at.Rank] += at.End.Sub(at.Start)
		case at.Kind == metrics.OperationRecv && at.End > at.Ready:
			send := sends[number(at, at.Peer, at.Rank)]
			p.messages += at.End.Sub(send.Ready)
			next = id{send.Rank, send.After}
		case at.Kind == metrics.OperationSend:
			p.messages += at.End.Sub(at.Ready)
		}
		at = byID[next]
	}
	return p
}

// A straggler of 20 % in one rank has the critical path of the step go through its
// computations. Without it the path goes through the gradients' messages: they take a little
// longer than the backward passes beside which they travel.
func TestStragglerIsOnTheCriticalPath(t *testing.T) {
	c := small(training.Parallel{DP: 4})
	c.GlobalBatch /= microbatches
	c.Gradients.Bucket = 1
	l := graph.Link{Rate: 24 * units.Gbps, Latency: units.Microsecond}
	even := criticalPath(t, source(t, c), l)
	c.Jitter.Stragglers = []jitter.Straggler{{Rank: 2, Slowdown: 0.2}}
	slow := criticalPath(t, source(t, c), l)
	for name, p := range map[string]path{"even": even, "straggler": slow} {
		sum := p.messages
		for _, d := range p.compute {
			sum += d
		}
		if sum != p.all {
			t.Errorf("%s: the path is %v long, its parts are %v", name, p.all, sum)
		}
	}
	if even.messages < even.all/2 {
		t.Errorf("without straggler %v of %v are messages, want more than half", even.messages, even.all)
	}
	if got := slow.compute[2]; got < slow.all*4/5 {
		t.Errorf("computations of the straggler are %v of %v, want four fifths or more", got, slow.all)
	}
	for rank, d := range slow.compute {
		if rank != 2 && d > 12*units.Microsecond { // the optimizer may be anyone's
			t.Errorf("rank %d computes %v of the path of another rank's delay", rank, d)
		}
	}
}
