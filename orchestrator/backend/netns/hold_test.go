package netns_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
	"github.com/csiglab/csiglab/orchestrator/backend/netns"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/units"
)

// pairText is two hosts at switches that a third joins.
const pairText = `
schema: 1
name: pair
topology:
  leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 1, rate: 1Gbps, delay: 1ms}
workload: {transfers: ["0 -> 1 100kB"]}
csig: {format: compact}
seeds: [7]
`

// A run that is held goes on after the last packet, ends when it is released, and
// has its results; held or not, it is told once that it has started.
func TestHold(t *testing.T) {
	for _, processes := range []string{"node", "one", "switches"} {
		t.Run(processes, func(t *testing.T) {
			t.Parallel()
			p := backendtest.Compile(t, pairText)
			f := newRun(t, p)
			f.Processes, f.Wall = backend.Processes(processes), &wall.Clock{Dilation: 100}
			f.Patience = time.Second // which does not bind a run that is held
			hold, started := make(chan struct{}), 0
			f.Hold = hold
			f.Ready = func(id string) {
				list, err := runs.List(context.Background(), netns.Backend{})
				found := false
				for _, r := range list {
					found = found || r.ID == id
				}
				if started++; err != nil || !found {
					t.Errorf("run %q has started and is not in the list %v, error %v", id, list, err)
				}
			}
			// The flow takes 5 ms of model time, 0.5 s of wall time.
			idle := time.Duration(0)
			out, err := perform(context.Background(), f, func(now units.Time) {
				if idle = f.Wall.At(now); idle > 2*time.Second && hold != nil {
					close(hold)
					hold = nil
				}
			})
			if errors.Is(err, backend.ErrUnavailable) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			if started != 1 || out.Behind != 0 || !out.Drained || out.Wall < 2*time.Second || out.Wall > 20*time.Second {
				t.Errorf("started %d times, behind %v, drained %v, took %v", started, out.Behind, out.Drained, out.Wall)
			}
			if done := out.Nodes[0].Senders[0].Done; done == units.Never || done > out.End {
				t.Errorf("the flow completed at %v, the run ended at %v", done, out.End)
			}
		})
	}
}

// A run that is released in the middle of its traffic ends at one moment of the
// model: what one end of a link has sent, the other has received or will after
// that moment.
func TestReleaseInTheMiddle(t *testing.T) {
	t.Parallel()
	p := backendtest.Compile(t, pairText)
	f := newRun(t, p)
	f.Wall = &wall.Clock{Dilation: 2000} // the flow takes 10 s
	hold := make(chan struct{})
	f.Hold = hold
	f.Ready = func(string) { time.AfterFunc(2*time.Second, func() { close(hold) }) }
	out, err := run(t, f)
	if err != nil {
		t.Fatal(err)
	}
	if out.Drained || out.Behind != 0 || out.Wall > 8*time.Second || out.End < units.Time(units.Millisecond) {
		t.Errorf("drained %v, behind %v, took %v, ended at %v", out.Drained, out.Behind, out.Wall, out.End)
	}
	for id, l := range p.Graph.Links {
		a, b := out.Nodes[l.A.Node].Ports[l.A.Port], out.Nodes[l.B.Node].Ports[l.B.Port]
		// 1 ms of a link at 1 Gb/s is 30 full packets.
		if flying := a.TxPackets - b.RxPackets; flying < 0 || flying > 32 {
			t.Errorf("link %d: %d packets sent, %d received", id, a.TxPackets, b.RxPackets)
		}
		if flying := b.TxPackets - a.RxPackets; flying < 0 || flying > 128 {
			t.Errorf("link %d, back: %d packets sent, %d received", id, b.TxPackets, a.RxPackets)
		}
	}
}
