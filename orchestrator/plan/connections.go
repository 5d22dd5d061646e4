package plan

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/graph"
)

// Limits of jobs, so that a check of an experiment ends within 5 s
// (docs/explanation/reliability.md#hostile-files).
const (
	mostStepOperations = 1 << 27 // of a step of all jobs of a variant
	checkedOperations  = 1 << 20 // that are played to see whether the jobs of a variant get stuck
)

// jobTraffic is what the ranks of a job send.
type jobTraffic struct {
	streams []streamTraffic // ascending by stream
	records int64           // metrics.Operations of a step, without spans
	load    JobLoad         // before the job was played
}

// streamTraffic is what one rank of a job sends to another on one channel in the whole run.
type streamTraffic struct {
	graph.Stream
	messages, packets int64
	bytes             units.Size
	transfer          int // the connection that carries it; within: none does
}

// within is the transfer of a stream inside a server.
const within = -1

// maxPackets is the most packets of a connection: sequence numbers have 32 bits.
const maxPackets = 1<<32 - 2

// countTraffic reads the first step of the programs of all ranks, which all other steps
// repeat, and returns the traffic of all steps and the number of operations that it read.
// The error is of a message that makes no sense, or about more than so many operations or
// streams.
func countTraffic(s graph.Source, seed uint64, links experiment.Links, operations, streams int64) (*jobTraffic, int64, error) {
	if err := sample(s, seed, links, operations, streams); err != nil {
		return nil, 0, err
	}
	ranks := s.Ranks()
	counters := make([]counter, min(runtime.GOMAXPROCS(0), ranks))
	var wait sync.WaitGroup
	for w := range counters {
		c := &counters[w]
		c.source, c.seed, c.links, c.most, c.mostStreams = s, seed, links, operations, streams
		wait.Go(func() {
			for rank := w; rank < ranks && c.err == nil; rank += len(counters) {
				c.count(rank)
			}
		})
	}
	wait.Wait()
	whole := &jobTraffic{}
	var received []streamTraffic
	var read int64
	var compute units.Duration // of a step, of the rank that computes longest
	for i := range counters {
		c := &counters[i]
		whole.streams, received, whole.records, read = append(whole.streams, c.sent...), append(received, c.received...), whole.records+c.records, read+c.read
		compute = max(compute, c.compute)
	}
	first := slices.MinFunc(counters, func(a, b counter) int { return cmp.Compare(a.failedAt(), b.failedAt()) })
	if first.err != nil { // of the lowest rank: the same on every machine
		return nil, 0, first.err
	}
	if read > operations {
		return nil, 0, errOperations
	}
	if int64(len(whole.streams)) > streams {
		return nil, 0, tooManyStreams(streams)
	}
	slices.SortFunc(whole.streams, compareStreams)
	slices.SortFunc(received, compareStreams)
	if err := match(whole.streams, received); err != nil {
		return nil, 0, err
	}
	for i := range whole.streams {
		t, steps := &whole.streams[i], int64(s.Steps())
		if t.messages > math.MaxInt32/steps || int64(t.bytes) > math.MaxInt64/2/steps {
			return nil, 0, fmt.Errorf("rank %d sends rank %d more than %d messages or %v in all steps", t.From, t.To, math.MaxInt32, units.Size(math.MaxInt64/2))
		}
		if t.packets > maxPackets || !inMemory(s) && t.packets > maxPackets/steps {
			return nil, 0, fmt.Errorf("rank %d sends rank %d %v in %d steps; the packets of a connection have %d numbers", t.From, t.To, t.bytes, steps, int64(maxPackets))
		}
		if !inMemory(s) {
			t.messages, t.packets, t.bytes = t.messages*steps, t.packets*steps, t.bytes*units.Size(steps)
		}
	}
	whole.load = JobLoad{Operations: read, Live: read, Length: compute}
	if !inMemory(s) {
		steps := int64(s.Steps())
		whole.load.Operations, whole.load.Length = read*steps, compute*units.Duration(min(steps, math.MaxInt64/max(1, int64(compute))))
	} else {
		whole.records = (whole.records + int64(s.Steps()) - 1) / int64(s.Steps())
	}
	return whole, read, nil
}

// Of a job of many ranks, sampledRanks are read first. If each of them has farBeyond times what
// a rank may have on average, the others are not read.
const (
	sampledRanks = 8
	farBeyond    = 2
)

// sample refuses a job that is so far beyond a limit of countTraffic that each of a few ranks
// shows it. A single one does not: the root of a collective has what the others have not. The
// programs of a trace in memory may differ much, and have limits of their own.
func sample(s graph.Source, seed uint64, links experiment.Links, operations, streams int64) error {
	ranks := int64(s.Ranks())
	if inMemory(s) || ranks < 8*sampledRanks {
		return nil
	}
	var refused error
	for i := range int64(sampledRanks) {
		c := counter{source: s, seed: seed, links: links, most: farBeyond * operations / ranks, mostStreams: farBeyond * streams / ranks}
		c.count(int(i * (ranks - 1) / (sampledRanks - 1)))
		switch {
		case errors.Is(c.err, errOperations):
			refused = errOperations
		case errors.Is(c.err, errStreams):
			refused = tooManyStreams(streams)
		default:
			return nil // another error is found again, of the lowest rank
		}
	}
	return refused
}

var errOperations = fmt.Errorf("a step has more than %d operations", mostStepOperations)

// errStreams is the class of tooManyStreams.
var errStreams = errors.New("connections")

func tooManyStreams(most int64) error { return fmt.Errorf("more than %d %w", most, errStreams) }

func compareStreams(a, b streamTraffic) int {
	return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Channel, b.Channel))
}

// match checks that every stream is received as it is sent.
func match(sent, received []streamTraffic) error {
	for i := 0; i < len(sent) || i < len(received); i++ {
		if i < len(sent) && i < len(received) && compareStreams(sent[i], received[i]) == 0 {
			if s, r := &sent[i], &received[i]; s.messages != r.messages || s.bytes != r.bytes {
				return fmt.Errorf("%w: rank %d sends rank %d %d messages of %d bytes on channel %d in a step, which receives %d of %d bytes",
					graph.ErrInvalid, s.From, s.To, s.messages, int64(s.bytes), s.Channel, r.messages, int64(r.bytes))
			}
			continue
		}
		if i >= len(received) || i < len(sent) && compareStreams(sent[i], received[i]) < 0 {
			return fmt.Errorf("%w: rank %d sends to rank %d on channel %d, which receives nothing there", graph.ErrInvalid, sent[i].From, sent[i].To, sent[i].Channel)
		}
		return fmt.Errorf("%w: rank %d receives from rank %d on channel %d, which sends nothing there", graph.ErrInvalid, received[i].To, received[i].From, received[i].Channel)
	}
	return nil
}

// counter counts what some ranks of a job send and receive.
type counter struct {
	source      graph.Source
	seed        uint64
	links       experiment.Links
	most        int64 // operations
	mostStreams int64

	sent, received []streamTraffic
	records, read  int64
	compute        units.Duration // of the rank that computes longest
	err            error
	failed         int // rank
}

// failedAt returns the rank of the error, after all others if there is none.
func (c *counter) failedAt() int {
	if c.err == nil {
		return math.MaxInt
	}
	return c.failed
}

// inMemory reports whether the programs of a source are in memory. They are read to their
// end then: the steps of a trace may differ.
func inMemory(s graph.Source) bool {
	if scaled, ok := s.(*graph.Scaled); ok {
		s = scaled.Of
	}
	_, static := s.(*graph.Static)
	return static
}

// count reads the program of a rank.
func (c *counter) count(rank int) {
	fail := func(format string, args ...any) { c.err, c.failed = fmt.Errorf(format, args...), rank }
	var op graph.Op
	program, all := c.source.Program(rank, c.seed), inMemory(c.source)
	sent, received := map[streamKey]int{}, map[streamKey]int{}
	mss := c.links.MTU - c.links.Header
	var compute units.Duration
	defer func() { c.compute = max(c.compute, compute) }()
	for id := 0; program.Next(&op) && (all || op.Tag.Step < 1); id++ {
		if c.read++; c.read > c.most {
			c.err, c.failed = errOperations, rank
			return
		}
		switch {
		case op.Kind == graph.Compute:
			c.records++
			compute += min(max(0, op.Duration), math.MaxInt64-compute)
			continue
		case op.Kind == graph.Hold:
			c.records++
			continue
		case op.Kind > graph.Recv:
			continue
		case op.Peer < 0 || int(op.Peer) >= c.source.Ranks() || int(op.Peer) == rank || op.Bytes < 1:
			fail("%w: rank %d: operation %d (%s) of %d bytes: peer %d, want another rank from 0 to %d", graph.ErrInvalid, rank, id, op.Kind, int64(op.Bytes), op.Peer, c.source.Ranks()-1)
			return
		}
		c.records++
		list, numbers, stream := &c.sent, sent, graph.Stream{From: int32(rank), To: op.Peer, Channel: op.Channel}
		if op.Kind == graph.Recv {
			list, numbers, stream = &c.received, received, graph.Stream{From: op.Peer, To: int32(rank), Channel: op.Channel}
		}
		k := streamKey{op.Peer, op.Channel}
		i, ok := numbers[k]
		if !ok {
			i = len(*list)
			if int64(i) > c.mostStreams {
				c.err, c.failed = tooManyStreams(c.mostStreams), rank
				return
			}
			*list = append(*list, streamTraffic{Stream: stream})
			numbers[k] = i
		}
		t := &(*list)[i]
		if t.bytes += op.Bytes; t.bytes < 0 {
			fail("%w: rank %d: operation %d (%s): the bytes between two ranks are too many", graph.ErrInvalid, rank, id, op.Kind)
			return
		}
		t.messages++
		if op.Bytes <= mss {
			t.packets++
		} else {
			t.packets += transport.Packets(op.Bytes, c.links.MTU, c.links.Header)
		}
	}
}

// streamKey is a stream of one rank in one direction.
type streamKey struct {
	peer    int32
	channel uint16
}
