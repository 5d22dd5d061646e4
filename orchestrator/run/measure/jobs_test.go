package measure_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/units"
)

// withJobs is a plan of transfers with jobs, whose connections are its last flow.
func withJobs(t *testing.T, jobs ...metrics.JobInfo) *plan.Plan {
	t.Helper()
	p := compile(t, transfers)
	p.Jobs = jobs
	p.Flows[p.Transfers-1].Messages = 7
	return p
}

// ranks makes the operations of the ranks of a job.
type ranks struct{ list []metrics.Operation }

func us(n float64) units.Time { return units.Time(math.Round(n * float64(units.Microsecond))) }

func (r *ranks) add(rank int32, kind metrics.OperationKind, tag metrics.Tag, from, to float64) *metrics.Operation {
	r.list = append(r.list, metrics.Operation{
		Rank: rank, Op: uint32(len(r.list)), Kind: kind, Tag: tag, Peer: metrics.Absent, Flow: metrics.Absent,
		Ready: us(from), Start: us(from), End: us(to), After: metrics.Absent,
	})
	return &r.list[len(r.list)-1]
}

// kept is a Writer that keeps the instances.
type kept struct {
	mu   sync.Mutex
	list []metrics.Instance
}

func (k *kept) Err() error { return nil }
func (k *kept) Consume(b *metrics.Batch) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.list = append(k.list, b.Instances...)
}

// ofJobs returns the metrics that plans without jobs lack.
func ofJobs(p *plan.Plan, records *measure.Records) map[string]float64 {
	got := measure.Metrics(p, &backend.Outcome{}, records)
	maps.DeleteFunc(got, func(name string, _ float64) bool { return !strings.Contains(name, ".train") })
	return got
}

// Two ranks compute and exchange gradients. docs/reference/metrics.md#jobs has the definitions; the
// numbers follow from them by hand.
func TestMetricsOfJobs(t *testing.T) {
	p := withJobs(t, metrics.JobInfo{
		Name: "train", Ranks: []int32{0, 3}, Steps: 2,
		Schedule:    metrics.Schedule{Period: 40 * units.Microsecond, Offset: 20 * units.Microsecond},
		Collectives: []metrics.CollectiveInfo{{Name: "grads-0", Kind: "all_reduce", Ranks: 2, Bytes: 1_000_000}},
	})
	var r ranks
	send, recv, compute, span := metrics.OperationSend, metrics.OperationRecv, metrics.OperationCompute, metrics.OperationSpan
	step := metrics.Tag{Step: 1}
	grads := metrics.Tag{Step: 1, Collective: 1}
	// Rank 0 computes until 100, and waits for rank 1's gradients from 100 to 180 but for
	// what it computes from 110 to 120 on another unit.
	r.add(0, compute, step, 0, 100)
	r.add(0, metrics.OperationHold, step, 52, 61)   // held until a slot, 20 + 40, and a driver that is 1 us late
	r.add(1, metrics.OperationHold, step, 100, 100) // a slot
	r.add(1, metrics.OperationHold, step, 110, 110) // 10 us behind it
	r.add(0, compute, step, 110, 120)
	message := func(o *metrics.Operation, peer, flow int32) int64 {
		o.Peer, o.Flow = peer, flow
		return int64(o.Op)
	}
	message(r.add(0, send, grads, 60, 160), 1, 2)
	received := message(r.add(0, recv, grads, 60, 180), 1, metrics.Absent)
	r.add(0, span, grads, 60, 180)
	r.add(0, span, step, 0, 200).After = received // nothing is under way from 180 to 200
	// Rank 1 begins later, computes longer and hides all but 10 us of its communication.
	r.add(1, compute, step, 20, 170)
	sent := message(r.add(1, send, grads, 100, 180), 0, 2)
	message(r.add(1, recv, grads, 100, 160), 0, metrics.Absent)
	r.add(1, span, grads, 100, 180)
	r.add(1, span, step, 20, 190).After = sent
	// Of the second step rank 1 does not leave the collective.
	r.add(0, span, metrics.Tag{Step: 2, Collective: 1}, 200, 210)
	r.add(0, span, metrics.Tag{Step: 2}, 200, 220)
	var writer kept
	records := measure.NewRecords(p, &writer)
	records.Consume(&metrics.Batch{Operations: r.list})
	records.Consume(totals(p))
	got := ofJobs(p, records)
	want := map[string]float64{
		"steps_done.train": 1, "straggler_rank.train": 1, "iteration_settled_us.train": 200,
		// Of 400 us of both ranks: rank 0 waits for the message from 120 to 180, and rank 1 for its
		// acknowledgement from 170 to 180.
		"compute_share.train": 260. / 400, "exposed_share.train": 70. / 400, "idle_share.train": 70. / 400,
		"bubble_share.train": 0, "skew_wait_share.train": 0, "held_share.train": 0,
	}
	for quantity, stats := range map[string][4]float64{ // mean, p50, p99, max
		"iteration_us.%s.train":       {200, 200, 200, 200},
		"compute_us.%s.train":         {130, 130, 130, 130},
		"exposed_us.%s.train":         {35, 35, 35, 35},
		"idle_us.%s.train":            {35, 35, 35, 35},
		"bubble_us.%s.train":          {},
		"skew_wait_us.%s.train":       {},
		"held_us.%s.train":            {},
		"straggler_ratio.%s.train":    {150. / 130, 150. / 130, 150. / 130, 150. / 130},
		"message_us.%s.train":         {90, 80, 100, 100},
		"schedule_hold_us.%s.train":   {9. / 3, 0, 9, 9},
		"schedule_late_us.%s.train":   {10. / 3, 0, 10, 10},
		"cct_us.%s.train.grads-0":     {120, 120, 120, 120}, // from 60 to 180
		"skew_us.%s.train.grads-0":    {40, 40, 40, 40},
		"algbw_gbps.%s.train.grads-0": {8000. / 120, 8000. / 120, 8000. / 120, 8000. / 120},
		"busbw_gbps.%s.train.grads-0": {8000. / 120, 8000. / 120, 8000. / 120, 8000. / 120}, // 2(n-1)/n = 1
	} {
		for i, name := range []string{"mean", "p50", "p99", "max"} {
			want[fmt.Sprintf(quantity, name)] = stats[i]
		}
	}
	if d := cmp.Diff(got, want, cmpopts.EquateApprox(0.04, 0)); d != "" {
		t.Errorf("metrics (-got +want):\n%s", d)
	}
	instances := []metrics.Instance{
		{Tag: grads, Ranks: 2, Begin: us(60), LastBegin: us(100), End: us(180), Late: 1, Last: 0},
		{Tag: step, Ranks: 2, Begin: 0, LastBegin: us(20), End: us(200), Late: 1, Last: 0, ComputeMean: 130 * units.Microsecond, ComputeMax: 150 * units.Microsecond, Slow: 1,
			ExposedMean: 40 * units.Microsecond, ExposedMax: 70 * units.Microsecond},
	}
	if d := cmp.Diff(writer.list, instances); d != "" {
		t.Errorf("instances (-got +want):\n%s", d)
	}
	names := measure.Names(p)
	for name := range got {
		if !names.Has(name) {
			t.Errorf("%s is not declared", name)
		}
		if !strings.HasPrefix(name, "steps_done") && measure.WhyAbsent(name) == "" {
			t.Errorf("nothing says why a run may lack %s", name)
		}
	}
	if got := slices.Collect(names.Match("busbw_gbps.p50.train.*")); !slices.Equal(got, []string{"busbw_gbps.p50.train.grads-0"}) {
		t.Errorf("the pattern matches %q", got)
	}
	if got := measure.Names(compile(t, transfers)).Lacks("iteration_us.p99.train"); got != "it has no jobs" {
		t.Errorf("a plan without jobs lacks the metric because %q", got)
	}
	if got := measure.Names(withJobs(t, metrics.JobInfo{Name: "train", Ranks: []int32{0, 3}})).Lacks("schedule_late_us.p99.train"); got != "no job has a schedule" {
		t.Errorf("a plan without a schedule lacks the metric because %q", got)
	}
}

// "busbw of 1 GiB, N = 8, 50 Gb/s is 50 Gb/s" (issue 13): the ring takes 2(N-1)S/N over the
// rate, 0.30065 s.
func TestBusBandwidth(t *testing.T) {
	p := withJobs(t, metrics.JobInfo{
		Name: "train", Ranks: make([]int32, 8), Steps: 1,
		Collectives: []metrics.CollectiveInfo{{Name: "ring", Kind: "all_reduce", Ranks: 8, Bytes: units.GiB}},
	})
	took := (50 * units.Gbps).Serialisation(units.GiB * 14 / 8)
	if s := took.Seconds(); math.Abs(s-0.30065) > 1e-5 {
		t.Fatalf("the ring takes %v s", s)
	}
	b := &metrics.Batch{}
	for rank := range int32(8) {
		b.Operations = append(b.Operations, metrics.Operation{Rank: rank, Kind: metrics.OperationSpan, Tag: metrics.Tag{Step: 1, Collective: 1}, End: units.Time(took)})
	}
	records := measure.NewRecords(p, nil)
	records.Consume(b)
	records.Consume(totals(p))
	got := ofJobs(p, records)
	if bus, alg := got["busbw_gbps.mean.train.ring"], got["algbw_gbps.mean.train.ring"]; math.Abs(bus-50) > 1e-6 || math.Abs(alg-50*8/14.) > 1e-6 {
		t.Errorf("busbw %v, algbw %v Gb/s, want 50 and %v", bus, alg, 50*8/14.)
	}
}

// A collective that a job runs several times a step, in several groups, has a time for each
// of them, in whatever order the ranks leave them. Ranks that do not mark steps have steps
// from their first to their last operation.
func TestRepeatedCollectives(t *testing.T) {
	p := withJobs(t, metrics.JobInfo{
		Name: "train", Ranks: make([]int32, 4), Steps: 6,
		Collectives: []metrics.CollectiveInfo{{Name: "tp", Kind: "all_gather", Ranks: 2, Bytes: 1000}},
	})
	of := make([][]metrics.Operation, 4)
	for rank := range int32(4) {
		for step := range int32(6) {
			for k := range int32(3) {
				from := us(float64(100*step + 10*k + rank))
				of[rank] = append(of[rank],
					metrics.Operation{Rank: rank, Kind: metrics.OperationCompute, Tag: metrics.Tag{Step: step + 1}, Ready: from, Start: from, End: from + us(2)},
					metrics.Operation{Rank: rank, Kind: metrics.OperationSpan, Tag: metrics.Tag{Step: step + 1, Collective: 1, Group: rank / 2}, Ready: from, Start: from, End: from + us(4)})
			}
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	var writer kept
	records := measure.NewRecords(p, &writer)
	for slices.ContainsFunc(of, func(l []metrics.Operation) bool { return len(l) > 0 }) {
		if r := random.IntN(4); len(of[r]) > 0 {
			records.Consume(&metrics.Batch{Operations: of[r][:1]})
			of[r] = of[r][1:]
		}
	}
	records.Consume(totals(p))
	got := ofJobs(p, records)
	if n := len(writer.list); n != 6*3*2+6 {
		t.Errorf("%d instances, want 36 collectives and 6 steps", n)
	}
	for _, i := range writer.list {
		if length := i.End.Sub(i.Begin).Microseconds(); i.Tag.Collective != 0 && length != 5 || i.Tag.Collective == 0 && length != 25 {
			t.Errorf("%+v lasts %v us", i, length)
		}
	}
	for name, want := range map[string]float64{
		"cct_us.max.train.tp": 5, "cct_us.mean.train.tp": 5, "skew_us.p50.train.tp": 1, "steps_done.train": 6, "iteration_us.mean.train": 525. / 6, "iteration_us.p50.train": 100,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
}

// Connections of jobs have no completion time; what senders and receivers count of them
// they have.
func TestConnectionsDoNotComplete(t *testing.T) {
	p := withJobs(t, metrics.JobInfo{Name: "train", Ranks: []int32{0, 1}, Steps: 1})
	names := measure.Names(p)
	records := measure.NewRecords(p, nil)
	b := totals(p)
	b.Totals[0].Senders = []metrics.SenderTotals{{Flow: 0, Done: us(7)}, {Flow: 1, Done: units.Never}, {Flow: 2, Done: us(1000)}}
	records.Consume(b)
	got := measure.Metrics(p, &backend.Outcome{End: us(10000)}, records)
	if got["fct_us.max"] != 7 || got["fct_us.0-3"] != 7 || got["flows.incomplete"] != 1 {
		t.Errorf("fct_us.max %v, of the first flow %v, %v incomplete; want 7, 7 and 1", got["fct_us.max"], got["fct_us.0-3"], got["flows.incomplete"])
	}
	for name, want := range map[string]bool{"fct_us.1-2": false, "fct_rx_us.1-2": false, "slowdown.1-2": false, "rate_gbps.1-2": true, "rtt_us.p50.1-2": true, "fct_us.0-3#2": true} {
		if _, ok := got[name]; names.Has(name) != want || ok && !want {
			t.Errorf("%s: the run can have it: %v, want %v; it has it: %v", name, names.Has(name), want, ok)
		}
	}
	for i := range p.Flows {
		p.Flows[i].Messages = 1
	}
	if got := measure.Names(p).Lacks("fct_us.p99"); !strings.Contains(got, "connections of jobs") {
		t.Errorf("without transfers the metric is absent because %q", got)
	}
}

// Groups of connections have no completion times: those of fct_us leave them out.
func TestGroupsOfConnectionsDoNotComplete(t *testing.T) {
	p := withJobs(t, metrics.JobInfo{Name: "train", Ranks: []int32{0, 1}, Steps: 1})
	last := p.Transfers - 1
	p.Groups = append(p.Groups, plan.Group{Name: "job-7", Flows: []int{last}}, plan.Group{Name: "mixed", Flows: []int{0, last}})
	records := measure.NewRecords(p, nil)
	b := totals(p)
	b.Totals[0].Senders = []metrics.SenderTotals{{Flow: 0, Done: us(7)}, {Flow: 1, Done: units.Never}, {Flow: int32(last), Done: us(1000)}}
	records.Consume(b)
	got := measure.Metrics(p, &backend.Outcome{End: us(10000)}, records)
	if _, ok := got["fct_us.max.job-7"]; ok || got["fct_us.max.mixed"] != 7 || measure.Names(p).Has("fct_us.max.job-7") {
		t.Errorf("fct_us.max of a group of connections %v, of a mixed one %v; want none and 7", got["fct_us.max.job-7"], got["fct_us.max.mixed"])
	}
}

// Iterations of warm-up have no marks and do not count, however many there are; the steps of
// a job without any marks count if the job is done, also where a rank does nothing.
func TestStepsWithoutMarks(t *testing.T) {
	p := withJobs(t, metrics.JobInfo{Name: "train", Ranks: []int32{0, 1, 2}, Steps: 8})
	for _, c := range []struct {
		name          string
		marked        int // the last so many steps
		ranks         int32
		done          bool
		steps, lasted float64
	}{
		{"warm-up", 3, 3, true, 3, 10},
		{"no marks", 0, 3, true, 8, 90},
		{"no marks, a rank without operations", 0, 2, true, 8, 90},
		{"no marks, cut off", 0, 3, false, 0, 0},
	} {
		r := &ranks{}
		for rank := range c.ranks {
			at := 0.0
			for step := range int32(8) {
				length := 90.0
				if int(step) >= 8-c.marked {
					length = 10
				}
				tag := metrics.Tag{Step: step + 1}
				r.add(rank, metrics.OperationCompute, tag, at, at+length)
				if length == 10 {
					r.add(rank, metrics.OperationSpan, tag, at, at+length)
				}
				at += length
			}
		}
		records := measure.NewRecords(p, nil)
		records.Consume(&metrics.Batch{Operations: r.list})
		b := totals(p)
		b.Totals[0].Jobs = []metrics.JobTotals{{Job: 0, Done: c.done}}
		records.Consume(b)
		got := ofJobs(p, records)
		if got["steps_done.train"] != c.steps || got["iteration_us.max.train"] != c.lasted {
			t.Errorf("%s: %v steps, the longest %v us; want %v and %v", c.name, got["steps_done.train"], got["iteration_us.max.train"], c.steps, c.lasted)
		}
	}
}

// The settled time is of the second half of the steps in their order, of which the middle
// one of an odd number is a part.
func TestSettledIterations(t *testing.T) {
	p := withJobs(t, metrics.JobInfo{Name: "train", Ranks: []int32{0}, Steps: 5})
	r, at := &ranks{}, 0.0
	for step, length := range []float64{5, 90, 20, 10, 60} {
		r.add(0, metrics.OperationSpan, metrics.Tag{Step: int32(step + 1)}, at, at+length)
		at += length
	}
	records := measure.NewRecords(p, nil)
	records.Consume(&metrics.Batch{Operations: r.list})
	records.Consume(totals(p))
	if got := ofJobs(p, records)["iteration_settled_us.train"]; got != 30 {
		t.Errorf("settled iterations of %v us, want (20 + 10 + 60) / 3", got)
	}
}

// "streaming (no operation list in memory)": the memory of a job with many steps does not
// grow with their operations.
func TestJobsAreStreamed(t *testing.T) {
	p := withJobs(t, metrics.JobInfo{Name: "train", Ranks: make([]int32, 64), Steps: 1000})
	records := measure.NewRecords(p, nil)
	batch := func(step int) *metrics.Batch {
		b := &metrics.Batch{}
		at, tag := units.Time(step)*us(100), metrics.Tag{Step: int32(step + 1)}
		for rank := range int32(64) {
			for k := range units.Time(16) {
				b.Operations = append(b.Operations, metrics.Operation{Rank: rank, Kind: metrics.OperationCompute, Tag: tag, Ready: at + us(float64(4*k)), Start: at + us(float64(4*k)), End: at + us(float64(4*k+2))})
			}
			b.Operations = append(b.Operations, metrics.Operation{Rank: rank, Kind: metrics.OperationSpan, Tag: tag, Ready: at, Start: at, End: at + us(100)})
		}
		return b
	}
	for step := range 8 {
		records.Consume(batch(step))
	}
	next := 8
	later := batch(next)
	if got := testing.AllocsPerRun(100, func() {
		for i := range later.Operations {
			o := &later.Operations[i]
			o.Tag.Step, o.Ready, o.Start, o.End = int32(next+1), o.Ready+us(100), o.Start+us(100), o.End+us(100)
		}
		next++
		records.Consume(later)
	}); got > 10 {
		t.Errorf("%v allocations for the %d operations of a step", got, len(later.Operations))
	}
}
