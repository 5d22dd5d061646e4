package formats_test

import (
	"strings"
	"testing"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/formats"
	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/htsim"
)

func ranksOf(t *testing.T, text string) (graph.Source, *graph.Loss) {
	t.Helper()
	load, _, err := htsim.ReadMatrix("x.cm", strings.NewReader(text), htsim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, loss, err := formats.Ranks(load)
	if err != nil {
		t.Fatal(err)
	}
	if err := graph.Check(s, 1); err != nil {
		t.Fatal(err)
	}
	return s, loss
}

// Each transfer of a chain starts when the one before has been received; where the next
// sender is not the receiver, a message of one byte tells it.
func TestRanks(t *testing.T) {
	link := graph.Link{Rate: 8 * units.Gbps, Latency: units.Microsecond} // 1 kB takes 1 us
	chain := "Nodes 4\nConnections 2\nTriggers 1\n0->1 id 1 start 5000000 size 1000 recv_done_trigger 1\n1->2 id 2 trigger 1 size 1000\ntrigger id 1 oneshot\n"
	s, loss := ranksOf(t, chain)
	timeline, err := graph.Ideal(s, 1, link)
	if err != nil || timeline.End != units.Time(9*units.Microsecond) || timeline.Messages != 2 || !loss.Empty() {
		t.Errorf("ideal %+v, %v, lost %v; want 5 us and two messages of 2 us", timeline, err, loss)
	}
	s, loss = ranksOf(t, strings.Replace(chain, "1->2", "3->2", 1))
	timeline, err = graph.Ideal(s, 1, link)
	if err != nil || timeline.Messages != 3 || timeline.Bytes != 2001 {
		t.Errorf("ideal %+v, %v; want a message of one byte between them", timeline, err)
	}
	if got, want := loss.String(), "1 triggers that another host hits, told by a message of one byte, the first at transfer 2 (3->2)"; got != want {
		t.Errorf("lost %q, want %q", got, want)
	}
}

// A barrier starts what waits when all have hit it, a multishot one transfer per hit.
func TestRanksTriggers(t *testing.T) {
	const hits = "Nodes 4\nConnections 4\nTriggers 1\n0->1 id 1 start 0 size 10 send_done_trigger 1\n0->2 id 2 start 0 size 10 send_done_trigger 1\n0->1 id 3 trigger 1 size 10\n0->2 id 4 trigger 1 size 10\ntrigger id 1 "
	deps := func(s graph.Source) (deps [][]uint32) {
		p := s.Program(0, 1)
		for {
			var op graph.Op
			if !p.Next(&op) {
				return deps
			}
			deps = append(deps, op.Deps)
		}
	}
	s, loss := ranksOf(t, hits+"barrier count 2\n")
	if d := deps(s); len(d) != 4 || len(d[2]) != 2 || len(d[3]) != 2 || !loss.Empty() {
		t.Errorf("barrier: %v, lost %v", d, loss)
	}
	s, loss = ranksOf(t, hits+"multishot\n")
	if d := deps(s); len(d) != 4 || len(d[2]) != 1 || d[2][0] != 0 || len(d[3]) != 1 || d[3][0] != 1 {
		t.Errorf("multishot: %v", d)
	}
	if got, want := loss.String(), "2 hits of triggers whose order depends on time, taken in the order of the file, the first at trigger 1"; got != want {
		t.Errorf("lost %q, want %q", got, want)
	}
}
