package waits

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
)

// replayed is a step of three ranks in which rank 1 computes when it has a message of rank 0. The
// message takes 31 us instead of 11: it crosses four links of 100 Gb/s, and waits at the second.
// Rank 2 computes beside it. Step and job end with rank 1, at 61 us.
func replayed(operations ...runfolder.OperationRow) (*replayedRun, *replayedJob) {
	route := &Route{Hops: []int32{0, 1, 1, 2, 2, 3}, rate: 100e9, rttUS: 2, header: 1}
	run := &replayedRun{ports: map[reading.PortID]*portWindows{}, rtts: []float64{2}, hops: &hops{routes: map[int32]*Route{0: route}}}
	for i, link := range []string{"h0-tor0", "tor0-agg0", "tor0-agg1", "tor1-agg0", "tor1-agg1", "h1-tor1"} {
		p := &runfolder.Port{Node: int32(i), Link: link, Name: link, RateBPS: 100e9}
		route.Ports = append(route.Ports, p)
		run.ports[reading.PortID{Node: p.Node}] = &portWindows{busy: map[int]float64{0: 0.3}, queue: map[int]float64{}}
	}
	run.ports[reading.PortID{Node: 1}].queue[0] = 8
	run.ports[reading.PortID{Node: 2}].queue[0] = 2
	one := func(v int32) *int32 { return &v }
	long := func(v int64) *int64 { return &v }
	j := &replayedJob{info: &runfolder.Job{Name: "job", Ranks: []int32{0, 1, 2}}, steps: map[int32]*Step{}, messages: map[*Op]*message{}}
	s := NewStep(j.info, nil, 1)
	message := func(rank, peer int32, kind string) runfolder.OperationRow {
		return runfolder.OperationRow{Rank: rank, Kind: kind, Peer: one(peer), Flow: one(0), Channel: one(0), Message: long(0), Bytes: 125_000}
	}
	send, recv := message(0, 1, "send"), message(1, 0, "recv")
	send.Op, send.After, send.ReadyUS, send.StartUS, send.EndUS = 1, long(0), 10, 10, 42
	recv.Op, recv.EndUS = 0, 41
	rows := []runfolder.OperationRow{
		{Rank: 0, Op: 0, Kind: "compute", EndUS: 10}, send, recv,
		{Rank: 1, Op: 1, Kind: "compute", After: long(0), ReadyUS: 41, StartUS: 41, EndUS: 61},
		{Rank: 2, Op: 0, Kind: "compute", EndUS: 45},
		{Rank: 0, Op: 2, Kind: "span", After: long(1), EndUS: 42}, {Rank: 1, Op: 2, Kind: "span", After: long(1), EndUS: 61}, {Rank: 2, Op: 1, Kind: "span", After: long(0), EndUS: 45},
	}
	for _, row := range append(rows, operations...) {
		s.Add(&row)
	}
	j.steps[1] = s
	j.order(map[int32][]*hopPiece{})
	return run, j
}

// A step is timed again along what its operations wait for; where one path gets shorter, the next
// one decides.
func TestReplay(t *testing.T) {
	links := func(times float64, names ...string) Change {
		c := Change{Rates: map[string]float64{}}
		for _, n := range names {
			c.Rates[n] = times
		}
		return c
	}
	computes := func(rank int32, times float64) Change {
		return Change{Computes: map[string]map[int32]float64{"job": {rank: times}}}
	}
	for _, c := range []struct {
		name string
		Change
		want float64
	}{
		{"nothing", Change{}, 61},
		{"another link", links(4, "tor9-agg9"), 61},
		{"both ports of the hop, without bound", links(1000, "tor0-agg0", "tor0-agg1"), 45},                 // the message takes 11: rank 2 is last
		{"both ports at twice the rate", links(2, "tor0-agg0", "tor0-agg1"), 61 - (31 - (11 + 30/2. - 10))}, // 10 us at the NIC, 15 at the hop
		{"the port with the queue", links(1000, "tor0-agg0"), 61 - (20 - 5)},                                // a quarter of the queue is at the other one
		{"a port with no queue", links(4, "tor1-agg0"), 61},
		{"a slow NIC", links(0.25, "h0-tor0"), 61 + (1 + 40) - 31}, // its 40 us hide what waits behind it
		{"a fast rank", computes(1, 0.5), 51},
		{"a rank that was not last", computes(2, 2), 90},
		{"a rank before the message", computes(0, 2), 71},
	} {
		run, j := replayed()
		was, is := j.times(run, c.Change, 100).length()
		if was != 61 || math.Abs(is-c.want) > 0.05 {
			t.Errorf("%s: %v instead of %v, want %v", c.name, is, was, c.want)
		}
	}
}

// Of a collective an operation needs all, though the records name what ended last.
func TestReplayNeedsWholeCollectives(t *testing.T) {
	long := func(v int64) *int64 { return &v }
	run, j := replayed(
		runfolder.OperationRow{Rank: 2, Op: 5, Kind: "compute", Collective: "sum", After: long(0), ReadyUS: 45, StartUS: 45, EndUS: 58},
		runfolder.OperationRow{Rank: 2, Op: 6, Kind: "hold", Collective: "sum", After: long(0), ReadyUS: 45, EndUS: 60},
		runfolder.OperationRow{Rank: 2, Op: 7, Kind: "compute", After: long(6), ReadyUS: 60, StartUS: 60, EndUS: 80},
		runfolder.OperationRow{Rank: 2, Op: 8, Kind: "span", After: long(7), EndUS: 80},
	)
	_, is := j.times(run, Change{Computes: map[string]map[int32]float64{"job": {2: 2}}}, 100).length()
	if want := 90 + 2*13 + 2*20.; is != want { // the hold ends at 90
		t.Errorf("%v, want %v", is, want)
	}
}

// Records that make no sense end in finite times, and without a change in those that were recorded.
func TestReplayHostile(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 3))
	kinds := []string{"send", "recv", "compute", "span", "hold", "unknown"}
	for round := range 300 {
		var rows []runfolder.OperationRow
		number := func() *int64 { n := random.Int64N(8) - 1; return &n }
		small := func() *int32 { n := int32(random.IntN(5) - 1); return &n }
		for range random.IntN(40) {
			rows = append(rows, runfolder.OperationRow{Rank: int32(random.IntN(5) - 1), Op: random.Int64N(10), Kind: kinds[random.IntN(len(kinds))], Peer: small(), Flow: small(), Channel: small(), Message: number(), After: number(),
				Bytes: random.Int64N(1e6) - 10, ReadyUS: float64(random.IntN(9)), StartUS: float64(random.IntN(9)), EndUS: float64(random.IntN(9))})
		}
		run, j := replayed(rows...)
		c := Change{Rates: map[string]float64{"h0-tor0": 0.5, "tor0-agg0": 4}, Computes: map[string]map[int32]float64{"job": {1: 3}}}
		for o, at := range j.times(run, c, 100).ends {
			if math.IsNaN(at) || math.IsInf(at, 0) || at > 1e7 {
				t.Errorf("round %d: %+v ends at %v", round, o, at)
			}
		}
	}
	if operationKinds["hold"] != metrics.OperationHold {
		t.Error("the kinds of operations have other names in the table")
	}
}
