package measure

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/meaning"
	"github.com/csiglab/csiglab/nodes/deadlock"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/units"
)

// Records receives the records of a run while it goes on: it passes the windows on,
// computes the sums that metrics need, and keeps the nodes' totals. It is a
// metrics.Consumer that may be called from several goroutines.
type Records struct {
	mu      sync.Mutex
	totals  *metrics.Collector
	cc      *ccSums
	signals *signalSums
	flows   flowSums
	ports   *portSums
	classes *classSums
	jobs    *jobSums
	truths  *truths
	over    bool               // the run, for jobs
	stalls  *deadlock.Detector // nil without a lossless class
	cycle   *deadlock.Cycle
	plan    *plan.Plan
	writer  Writer // nil: the windows are not written
}

// Writer writes the windows of a run, as a *runfolder.RunWriter does.
type Writer interface {
	metrics.Consumer
	Err() error // the error of a failed write, nil if there is none
}

// NewRecords returns the Records of a run of a plan. writer gets every batch; it may be
// nil.
func NewRecords(p *plan.Plan, writer Writer) *Records {
	r := &Records{
		classes: newClassSums(p), plan: p,
		totals: metrics.NewCollector(p.Machines()), cc: newCCSums(p), signals: newSignalSums(p),
		flows: make(flowSums, len(p.Flows)), ports: newPortSums(p), jobs: newJobSums(p), truths: newTruths(p), writer: writer,
	}
	if p.Format.PFC {
		r.stalls = deadlock.New(p.Graph.Links)
	}
	return r
}

// Consume implements metrics.Consumer.
func (r *Records) Consume(b *metrics.Batch) {
	r.mu.Lock()
	r.totals.Consume(b)
	r.cc.Consume(b)
	r.signals.Consume(b)
	r.flows.Consume(b)
	r.ports.Consume(b)
	r.classes.Consume(b)
	r.watch(b)
	r.jobs.Consume(b)
	r.truths.Consume(b)
	instances := r.jobs.take()
	r.mu.Unlock()
	if r.writer != nil {
		if len(b.Hops)+len(b.Tagged) > 0 { // the run's table has what they are joined to
			kept := *b
			kept.Hops, kept.Tagged = nil, nil
			b = &kept
		}
		r.writer.Consume(b)
		r.write(instances)
	}
}

// write writes instances of jobs.
func (r *Records) write(instances []metrics.Instance) {
	if len(instances) > 0 && r.writer != nil {
		r.writer.Consume(&metrics.Batch{Instances: instances})
	}
}

// finish ends what goes on until the run is over. It may be repeated.
func (r *Records) finish() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over {
		r.over = true
		undone := map[int32]bool{}
		for _, n := range r.totals.Totals() {
			for _, j := range n.Jobs {
				undone[j.Job] = undone[j.Job] || !j.Done
			}
		}
		r.jobs.finish(func(job int32) bool { return !undone[job] })
		r.write(r.jobs.take())
		for rows := range slices.Chunk(r.truths.take(), truthBatch) {
			if r.writer != nil {
				r.writer.Consume(&metrics.Batch{Rows: []metrics.Rows{metrics.ListOf(&rows)}})
			}
		}
	}
}

// truthBatch is the number of truths that are written together.
const truthBatch = 256

// watch looks for a deadlock among what switches report.
func (r *Records) watch(b *metrics.Batch) {
	for i := range b.Stalls {
		if r.stalls == nil || r.cycle != nil {
			return
		}
		if c, found := r.stalls.Report(&b.Stalls[i]); found {
			r.cycle = &c
		}
	}
}

// ErrDeadlock is wrapped by the error of a run that has come to a deadlock of priority flow
// control.
var ErrDeadlock = errors.New("deadlock")

// Deadlock returns an error that names the ports of a deadlock, nil if there is none.
func (r *Records) Deadlock() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cycle == nil {
		return nil
	}
	adjacency := r.plan.Graph.Adjacency()
	port := func(node, port int) string { return plan.PortName(r.plan.Graph, adjacency, node, port) }
	return fmt.Errorf("%w: %s", ErrDeadlock, r.cycle.Text(port, func(k int) string { return r.plan.Classes[k].Name }))
}

// Err returns why the run need not go on: the error of the writer, or a deadlock; nil
// without either.
func (r *Records) Err() error {
	if err := r.Deadlock(); err != nil {
		return err
	}
	if r.writer == nil {
		return nil
	}
	return r.writer.Err()
}

// Nodes returns the totals of the nodes, in node order, once the run is over.
func (r *Records) Nodes() []metrics.NodeTotals {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.totals.Totals()
}

// dropped returns the number of records that were dropped because a buffer was full.
func (r *Records) dropped() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.totals.Dropped()
}

// ccSums counts the actions of each flow's controller on the ACKs of the measuring
// window.
type ccSums struct {
	plan *plan.Plan
	sums []ccSum // by flow
}

type ccSum struct {
	acks    int64
	delay   units.Duration
	actions map[string]int64 // ACKs by action
}

func newCCSums(p *plan.Plan) *ccSums { return &ccSums{plan: p, sums: make([]ccSum, len(p.Flows))} }

// Consume implements metrics.Consumer.
func (c *ccSums) Consume(b *metrics.Batch) {
	for i := range b.CC {
		w := &b.CC[i]
		if !c.plan.Measure.Contains(w.Start) {
			continue
		}
		s := &c.sums[w.Flow]
		s.acks += w.Acks
		s.delay += w.Delay
		if s.actions == nil {
			s.actions = make(map[string]int64, len(c.plan.Actions))
		}
		for _, a := range w.Actions {
			s.actions[a.Name] += a.Packets
		}
	}
}

// ccMetrics are what controllers did and were told.
var ccMetrics = Group{Title: "Congestion control", Entries: []*Entry{ccDelay, ccShare}}

var (
	ccDelay = &Entry{Form: "cc_delay_us.<flow>", Packets: true, Words: []*words{transferNames}, Better: meaning.Lower, Absent: noACK,
		Doc: "mean delay that CC judged ACKs by: RTT less base RTT; with CSIG max(Delay) the sample less what an idle path has (`hosts.cc.csig_unloaded`); of swift the delay in the fabric, propagation included"}
	ccShare = &Entry{Form: "cc_share.<flow>.<action>", Packets: true, Words: []*words{transferNames, {of: func(s *subjects) (names []string) {
		for _, a := range s.Plan.Actions {
			names = append(names, a.Name)
		}
		return names
	}}}, Share: true, Absent: noACK, Doc: "of the flow's ACKs that CC answered with the [action](#actions); together 1"}
)

// measure adds the share of each action and the mean delay that a controller
// received.
func (c *ccSums) measure(e *emitter) {
	for i, s := range c.sums {
		if s.acks == 0 {
			continue
		}
		name := c.plan.Flows[i].Name
		e.set(ccDelay, s.delay.Microseconds()/float64(s.acks), name)
		for _, a := range c.plan.Actions {
			e.set(ccShare, float64(s.actions[a.Name])/float64(s.acks), name, a.Name)
		}
	}
}
