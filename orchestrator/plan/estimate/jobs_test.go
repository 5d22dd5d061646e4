package estimate_test

import (
	"testing"

	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
	"github.com/csiglab/csiglab/orchestrator/plan/estimate"
	"github.com/csiglab/csiglab/units"
)

// The prediction of a job knows its length, with what its ranks compute and wait for, its
// packets and the rows of its operations.
func TestJobs(t *testing.T) {
	p := backendtest.CompileJobs(t, backendtest.Rails, backendtest.RingJob([]int{0, 1, 2, 3}, 20, 400*units.KB))
	e := estimate.Of(p, nil)
	var end units.Time
	var operations, spans, packets int64
	for _, n := range backendtest.Virtual(t, p, nil) {
		for _, j := range n.Jobs {
			operations += j.Operations
		}
		for _, o := range n.Windows.Operations {
			end = max(end, o.End)
			spans++
		}
		for _, s := range n.Senders {
			packets += s.NewPackets
		}
	}
	if got, want := e.ModelTime.Seconds(), units.Duration(end).Seconds(); got < want/2 || got > want*1.1 {
		t.Errorf("predicted length %v, want that of the run, %v, or somewhat less", e.ModelTime, units.Duration(end))
	}
	if e.Operations != operations {
		t.Errorf("%d operations, want %d", e.Operations, operations)
	}
	if e.DataPackets < packets || e.DataPackets > packets*5/4 {
		t.Errorf("%d packets predicted, %d sent", e.DataPackets, packets)
	}
	if e.Rows < spans/2 {
		t.Errorf("%d rows predicted, %d operations were recorded", e.Rows, spans)
	}
	if e.Live < 4 || e.Live > operations/20 {
		t.Errorf("%d operations at a time of %d in 20 steps", e.Live, operations)
	}
}
