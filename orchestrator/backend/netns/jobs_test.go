package netns_test

import (
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
)

// A job whose ranks share servers, with messages over the fabric, between the hosts of a
// server and inside a host, leaves the same traces and operations in virtual time and between
// network namespaces in lockstep.
func TestJobs(t *testing.T) {
	p := backendtest.CompileJobs(t, backendtest.Rails, jobs()...)
	want := backendtest.Virtual(t, p, nil)
	for _, one := range []bool{true, false} {
		f := newRun(t, p)
		f.Processes, f.Elide = processes(one), one
		out, err := run(t, f)
		if err != nil {
			t.Fatal(err)
		}
		backendtest.Same(t, out.Nodes, want)
	}
	done := 0
	for _, n := range want {
		for _, j := range n.Jobs {
			if !j.Done {
				t.Errorf("%s: %+v", n.Name, j)
			}
			done++
		}
	}
	if done != 6 {
		t.Errorf("%d nodes have a job, want 4 and 2", done)
	}
}

// In real time computes take wall time, dilated, and the run ends when the jobs are done.
func TestJobsWall(t *testing.T) {
	f := newRun(t, backendtest.CompileJobs(t, backendtest.Rails, jobs()...))
	f.Wall = &wall.Clock{Dilation: slow}
	out, err := run(t, f)
	if err != nil {
		t.Fatal(err)
	}
	if !out.Drained {
		t.Error("the run did not end by itself")
	}
	var last units.Time
	for _, n := range out.Nodes {
		for _, j := range n.Jobs {
			if !j.Done {
				t.Errorf("%s: %+v", n.Name, j)
			}
		}
		for _, o := range n.Windows.Operations {
			last = max(last, o.End)
			// RingJob: rank r computes for r+1 us.
			if want := units.Duration(o.Rank+1) * units.Microsecond; o.Kind == metrics.OperationCompute && o.End.Sub(o.Start) < want {
				t.Errorf("a compute of %v took %v", want, o.End.Sub(o.Start))
			}
		}
	}
	if least := f.Wall.At(last); out.Wall < least {
		t.Errorf("the run took %v, its last operation ended at %v, which is %v dilated", out.Wall, last, least)
	}
}

// jobs returns two jobs for backendtest.Rails.
func jobs() []workloads.Job {
	other := backendtest.RingJob([]int{3, 3, 0}, 2, 30*units.KB)
	other.Name, other.Start = "other", 5*units.Microsecond
	return []workloads.Job{backendtest.RingJob([]int{0, 1, 2, 3}, 3, 400*units.KB), other}
}
