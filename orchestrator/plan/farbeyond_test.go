package plan

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/workloads/graph"
)

// vast is a job whose ranks each send so many messages, to so many peers in turn. It counts
// the programs that are read, by many at a time.
type vast struct {
	graph.Source
	ranks, messages, peers int
	read                   *atomic.Int64
}

func (v vast) Ranks() int { return v.ranks }
func (v vast) Steps() int { return 1 }
func (v vast) Program(rank int, _ uint64) graph.Program {
	v.read.Add(1)
	return &vastProgram{v, rank, 0}
}

type vastProgram struct {
	vast
	rank, sent int
}

func (p *vastProgram) Next(op *graph.Op) bool {
	if p.sent == p.messages {
		return false
	}
	*op = graph.Op{Kind: graph.Send, Peer: int32((p.rank + 1 + p.sent%p.peers) % p.ranks), Bytes: 1}
	p.sent++
	return true
}

// A job each of whose ranks is far beyond a limit is refused when a few of them have been read. One that
// is just beyond is left to countTraffic, which reads all.
func TestFarBeyondLimits(t *testing.T) {
	const ranks = 640
	for _, c := range []struct {
		name                string
		messages, peers     int
		operations, streams int64
		want                string // "": all ranks are read
	}{
		{"operations", 100, 1, 20_000, ranks, "a step has more than 134217728 operations"},
		{"connections", 100, 100, 1 << 20, 20_000, "more than 20000 connections"},
		{"just beyond", 100, 1, 60_000, ranks, ""},
	} {
		var programs atomic.Int64
		source := vast{ranks: ranks, messages: c.messages, peers: c.peers, read: &programs}
		_, _, err := countTraffic(source, 1, experiment.Links{MTU: 1500, Header: 64}, c.operations, c.streams)
		read := programs.Load()
		if c.want != "" && (err == nil || err.Error() != c.want || read > sampledRanks) {
			t.Errorf("%s: %v after %d programs; want %q after %d at most", c.name, err, read, c.want, sampledRanks)
		}
		if c.want == "" && (!errors.Is(err, errOperations) || read <= sampledRanks) {
			t.Errorf("%s: %v after %d programs; want %v after more than %d", c.name, err, read, errOperations, sampledRanks)
		}
	}
}

// rooted is a job whose first rank sends to all others, and nobody else sends anything.
type rooted struct{ vast }

func (r rooted) Program(rank int, seed uint64) graph.Program {
	if rank > 0 {
		r.messages = 0
	}
	return r.vast.Program(rank, seed)
}

// A job with one rank that has much more than the others is not refused for it.
func TestRootIsNotBeyondLimits(t *testing.T) {
	const ranks = 640
	source := rooted{vast{ranks: ranks, messages: ranks - 1, peers: ranks - 1, read: new(atomic.Int64)}}
	if err := sample(source, 1, experiment.Links{MTU: 1500, Header: 64}, 1<<20, 10*ranks); err != nil {
		t.Errorf("a root with %d connections of %d: %v", ranks-1, 10*ranks, err)
	}
}
