package check_test

import (
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
	"github.com/csiglab/csiglab/orchestrator/run/check"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
	"github.com/csiglab/csiglab/workloads/graph"
)

// deaf is a job of two ranks and two steps whose second step breaks the promise that all steps
// send the same: rank 1 waits for a message that rank 0 does not send.
type deaf struct{ graph.Static }

func (d *deaf) Steps() int { return 2 }

// deafJob returns the job.
func deafJob() workloads.Job {
	d := &deaf{graph.Static{All: 2, Count: 2, Of: map[int][]graph.Op{}}}
	zero, one := graph.Builder{}, graph.Builder{}
	zero.Tag = graph.Tag{Phase: graph.None, Collective: graph.None}
	one.Tag = zero.Tag
	zero.Send(1, 0, 1000)
	one.Recv(0, 0, 1000)
	zero.Tag.Step, one.Tag.Step = 1, 1
	zero.Compute(units.Microsecond, 0)
	one.Recv(0, 0, 1000, 0)
	d.Of[0], d.Of[1] = zero.Ops, one.Ops
	return workloads.Job{Name: "deaf", Source: notChecked{d}, Hosts: []int{0, 2}}
}

// notChecked hides that a source is so small that a plan plays it before the run.
type notChecked struct{ *deaf }

// Program adds steps without messages that nobody waits for, more than a plan plays.
func (n notChecked) Program(rank int, seed uint64) graph.Program {
	return &padded{Program: n.deaf.Program(rank, seed), pad: rank == 0}
}

func (n notChecked) Only([]int) graph.Source { return n }

// padded puts 1.2 million barriers into the second step of a program.
type padded struct {
	graph.Program
	pad  bool
	read int
}

func (p *padded) Next(op *graph.Op) bool {
	p.read++
	if p.pad && p.read > 1 && p.read < 1_200_000 {
		*op = graph.Op{Kind: graph.Barrier, Tag: graph.Tag{Step: 1, Phase: graph.None, Collective: graph.None}, Deps: append(op.Deps[:0], uint32(p.read)-2), Fence: true}
		return true
	}
	return p.Program.Next(op)
}

// Issue 13: what a run of jobs is checked for. A job that ends has sent and received what its
// programs say; one that cannot end is named with the rank that waits, and for what.
func TestJobs(t *testing.T) {
	ring := backendtest.RingJob([]int{0, 1, 2, 3}, 2, 400*units.KB)
	fault := "\nfaults: [{kind: down, links: 's0.r0-g0.rail0', at: 10us}]\n"
	for _, test := range []struct {
		name, more string
		job        workloads.Job
		ok         bool
		want       string
	}{
		{"to its end", "", ring, true, "all 1 transfers and 1 jobs completed"},
		{"cut off", "end: 30us\n", ring, true, "the run was ended at 30us"},
		{"with losses", "\nfaults: [{kind: loss, links: '*', random: 3, share: 0.2, at: 1us, for: 60us}]\n", ring, true, "all 1 transfers and 1 jobs completed"},
		{"no way", fault, ring, true, "1 of 1 transfers completed; job ring did not end: at s0.r0 rank 0 operation"},
		{"stuck", "", deafJob(), false, "job deaf did not end: at s1.r0 rank 1 operation 1 (recv from 0) waits for message 1 of rank 0 on channel 0, and nothing is left to do"},
	} {
		p := backendtest.CompileJobs(t, backendtest.Rails+test.more, test.job)
		out, nodes := runFaults(t, p)
		if c := check.Conservation(p, out, nodes); !c.OK {
			t.Errorf("%s: conservation: %s", test.name, c.Detail)
		}
		if c := check.Completion(p, out, nodes); c.OK != test.ok || !strings.HasPrefix(c.Detail, test.want) && !strings.Contains(c.Detail, test.want) {
			t.Errorf("%s: completion: %+v, want %v, %q", test.name, c, test.ok, test.want)
		}
	}
}

// A job that says that it is done and whose connection lacks a packet is found.
func TestConservationFindsAMissingMessage(t *testing.T) {
	p := backendtest.CompileJobs(t, backendtest.Rails, backendtest.RingJob([]int{0, 2}, 1, 40*units.KB))
	out, nodes := runFaults(t, p)
	find := func(change func()) runfolder.Check {
		change()
		return check.Conservation(p, out, nodes)
	}
	if c := find(func() {}); !c.OK {
		t.Fatal(c.Detail)
	}
	if c := find(func() { p.Flows[1].Packets++; p.Flows[1].Size += units.KB }); c.OK || !strings.Contains(c.Detail, "flow 0-2: complete with 10 of 11 packets and 40000 of 41000 bytes") {
		t.Errorf("got %+v", c)
	}
	p.Flows[1].Packets--
	p.Flows[1].Size -= units.KB
	// Also a message that the receiver holds open, though the job says that it is done.
	done := &nodes[2].Receivers[0].Done
	if at := *done; at == units.Never {
		t.Fatal("the receiver of flow 1 is not done")
	} else if c := find(func() { *done = units.Never }); c.OK || !strings.Contains(c.Detail, "its job is done, 10 of 10 packets") {
		t.Errorf("got %+v", c)
	}
	if c := find(func() { nodes[2].Jobs[0].Done = false }); !c.OK {
		t.Errorf("a job that has not ended: %+v", c)
	}
}
