package host_test

import (
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/host"
	"github.com/csiglab/csiglab/nodes/host/player"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/graph"
)

// pingPong is a job of two ranks that send each other a message in turn, and compute between.
func pingPong(steps int, size units.Size, compute units.Duration) *graph.Static {
	s := &graph.Static{Count: steps, All: 2, Of: map[int][]graph.Op{}}
	var b [2]graph.Builder
	for step := range int32(steps) {
		for rank := range b {
			b[rank].Tag = graph.Tag{Step: step, Phase: graph.None, Collective: graph.None, Group: graph.None}
		}
		var after []uint32
		if step > 0 {
			after = []uint32{b[0].Next() - 1}
		}
		b[0].Recv(1, 0, size, b[0].Send(1, 0, size, b[0].Compute(compute, after...)))
		b[1].Send(0, 0, size, b[1].Recv(0, 0, size))
	}
	s.Of[0], s.Of[1] = b[0].Ops, b[1].Ops
	return s
}

// connect gives two hosts a connection each way, with the ids 0 and 1, and a job on them.
func connect(c *[2]host.Config, source graph.Source) {
	for i := range c {
		c[i].Sends = append(c[i].Sends, host.Flow{End: host.End{ID: i, Peer: wire.HostIP(1 - i), Connection: true}})
		c[i].Receives = append(c[i].Receives, host.End{ID: 1 - i, Peer: wire.HostIP(1 - i), Connection: true})
		c[i].Player.Jobs = []player.Job{{Source: source, Ranks: []int{i}, Routes: []player.Route{
			{Stream: graph.Stream{From: 0, To: 1}, Flow: 0}, {Stream: graph.Stream{From: 1, To: 0}, Flow: 1},
		}}}
	}
}

// A job's messages follow each other on one flow each way. A step takes its compute and for
// each message the time of its packets, a link and, at the sender, an ACK; between messages
// the hosts have no timer but the job's.
func TestConnections(t *testing.T) {
	const steps, size, compute = 5, 10*mss + 1, 50 * units.Microsecond
	configs := [2]host.Config{config(0), config(1)}
	for i := range configs {
		configs[i].CC = algorithm.Choice{Name: "constant", Params: map[string]string{"cwnd": "100kB"}}
	}
	connect(&configs, pingPong(steps, size, compute))
	p := newPair(t, configs)
	totals := p.totals()
	for i := range configs {
		s, r := totals[i].Senders[0], totals[i].Receivers[0]
		if s.NewPackets != steps*11 || s.Retransmitted != 0 || r.PayloadBytes != steps*int64(size) {
			t.Errorf("host %d: %d packets, %d again, %d bytes received; want %d packets and %d bytes", i, s.NewPackets, s.Retransmitted, r.PayloadBytes, steps*11, steps*int64(size))
		}
		var ops []metrics.Operation
		for _, o := range p.Nodes[i].Records.Operations {
			if o.Kind == metrics.OperationRecv {
				ops = append(ops, o)
			}
		}
		if len(ops) != steps {
			t.Fatalf("host %d: %d messages received, want %d", i, len(ops), steps)
		}
		// The packets of a message take 10 times perPacket and the short one's 65 bytes; the
		// ACK of a message goes in front of the one that follows it.
		const message, ack = 10*perPacket + 65*80 + linkDelay, 64 * 80
		for n, o := range ops {
			want := units.Time(0).Add(units.Duration(n+1) * compute).Add(units.Duration(2*n+2-i) * message).Add(units.Duration(n+1-i) * ack)
			if o.End != want || o.Tag.Step != int32(n+1) {
				t.Errorf("host %d: message %d of step %d received at %v, want %v", i, n, o.Tag.Step, o.End, want)
			}
		}
		if got := s.Done; got == units.Never || s.Start != units.Time(0).Add(compute).Add(units.Duration(i)*message) {
			t.Errorf("host %d: started at %v, done at %v", i, s.Start, got)
		}
	}
}
