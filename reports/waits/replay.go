package waits

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
)

// Change is what another run of the same experiment has different. A prediction says what the
// recorded steps take with it.
type Change struct {
	Rates    map[string]float64           // by link: its rate as a multiple of the recorded one
	Computes map[string]map[int32]float64 // by job and rank: its computes likewise
}

// Predicted is what the steps of a job of a run take with a Change.
type Predicted struct {
	Run     reading.RunID
	Job     string
	Steps   int     // from the first one, of which the operations were kept
	US      float64 // recorded, of all these steps
	AfterUS float64 // predicted
}

// Saved returns which share of the time of the steps the change saves; negative: they take longer.
func (p *Predicted) Saved() float64 {
	if !(p.US > 0) {
		return 0
	}
	return 1 - p.AfterUS/p.US
}

// Most operations that a Replay holds: of a report, and of a prediction alone.
const (
	MostOfReport = 1 << 18
	mostReplayed = 1 << 21
)

// Replay holds the graph of the operations of runs, and computes when each operation ends if
// something else had been there. It keeps what the records say: who waits for whom, how long
// each compute and each message took, and how long the queues on its way were. It does not
// simulate packets, so that it leaves out what follows from a change in turn: that congestion
// controls answer to other queues, that packets take other paths, and that other jobs move.
type Replay struct {
	reading *reading.Reading
	runs    map[reading.RunID]*replayedRun
	most    int // operations that it holds
	kept    int
	full    bool
}

// replayedRun is the operations of one run and its queues.
type replayedRun struct {
	jobs  map[int32]*replayedJob
	hops  *hops
	ports map[reading.PortID]*portWindows
	rtts  []float64
}

// replayedJob is the steps of a job, and what its messages met.
type replayedJob struct {
	info     *runfolder.Job
	hosts    []string
	steps    map[int32]*Step
	first    int32 // steps from 1 to here, without a gap
	messages map[*Op]*message
}

// portWindows are the telemetry windows of a port.
type portWindows struct {
	busy  map[int]float64 // share of the window, by its number
	queue map[int]float64 // mean wait in it in us
}

// NewReplay returns a replay of runs of a reading that holds so many operations at most.
func NewReplay(r *reading.Reading, most int, runs ...reading.RunID) *Replay {
	p := &Replay{reading: r, most: most, runs: map[reading.RunID]*replayedRun{}}
	for _, run := range runs {
		one := &replayedRun{jobs: map[int32]*replayedJob{}, ports: map[reading.PortID]*portWindows{}}
		jobs := r.Manifest.JobsOf(run.Variant)
		for i := range jobs {
			if j := &jobs[i]; j.Messages && j.FirstSteps > 0 {
				one.jobs[j.Job] = &replayedJob{info: j, hosts: hostsOf(r.Manifest, run.Variant, j), steps: map[int32]*Step{}, messages: map[*Op]*message{}}
			}
		}
		p.runs[run] = one
	}
	return p
}

// Full reports whether the operations are too many for a replay, which then predicts nothing.
func (p *Replay) Full() bool { return p.full }

// AskOperations asks for the operations of the runs, in a pass before that of AskPorts.
func (p *Replay) AskOperations(pass *reading.Pass) {
	for run, one := range p.runs {
		one.rtts = make([]float64, len(p.reading.Manifest.FlowsOfRun(run.Variant, run.Seed)))
		pass.Phases(func(row *runfolder.PhaseRow) {
			if row.Flow >= 0 && int(row.Flow) < len(one.rtts) {
				one.rtts[row.Flow] = row.BaseRTTUS
			}
		}, run)
		if len(one.jobs) == 0 {
			continue
		}
		pass.Operations(func(row *runfolder.OperationRow) { p.operation(one, row) }, run)
	}
}

func (p *Replay) operation(one *replayedRun, row *runfolder.OperationRow) {
	j := one.jobs[row.Job]
	if j == nil || row.Step < 1 || int(row.Step) > j.info.FirstSteps || p.full {
		return
	}
	if p.kept++; p.kept > p.most {
		p.full, p.runs = true, nil
		return
	}
	s := j.steps[row.Step]
	if s == nil {
		s = NewStep(j.info, j.hosts, row.Step)
		j.steps[row.Step] = s
	}
	s.Add(row)
}

// AskPorts asks for the windows of the ports that messages crossed.
func (p *Replay) AskPorts(pass *reading.Pass) {
	interval := p.reading.Manifest.IntervalUS
	for run, one := range p.runs {
		one.hops = newHops(p.reading, run, one.rtts)
		for _, j := range one.jobs {
			j.order(one.hops.lists)
		}
		one.hops.findRoutes()
		for _, r := range one.hops.routes {
			for _, port := range r.Ports {
				one.ports[reading.PortID{Node: port.Node, Port: port.Port}] = &portWindows{map[int]float64{}, map[int]float64{}}
			}
		}
		if len(one.ports) == 0 {
			continue
		}
		pass.Ports(func(row *runfolder.PortRow) {
			w := one.ports[reading.PortID{Node: row.Node, Port: row.Port}]
			if w == nil || row.RateBPS <= 0 {
				return
			}
			i := int(math.Round(row.StartUS / interval))
			w.busy[i] = min(1, row.BusyUS()/interval)
			w.queue[i] = float64(row.QueueByteNS) / (interval * 1e3) * 8e6 / float64(row.RateBPS)
		}, run)
	}
}

// order sorts the operations of each step by their ends, so that what an operation waits for
// comes before it, and notes the flows of messages.
func (j *replayedJob) order(flows map[int32][]*hopPiece) {
	for n := int32(1); j.steps[n] != nil; n++ {
		s := j.steps[n]
		slices.SortStableFunc(s.Ops, func(a, b Op) int {
			return cmp.Or(cmp.Compare(a.EndUS, b.EndUS), cmp.Compare(a.order(), b.order()), cmp.Compare(a.ReadyUS, b.ReadyUS), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.op, b.op))
		})
		s.settle()
		for i := range s.Ops {
			if o := &s.Ops[i]; o.Kind == metrics.OperationSend && o.flow >= 0 {
				flows[o.flow] = []*hopPiece{}
			}
		}
		j.first = n
	}
	maps.DeleteFunc(j.steps, func(n int32, _ *Step) bool { return n > j.first })
}

// order is in which order operations that end at the same time are computed: spans are last, as
// they end with another operation.
func (o *Op) order() int {
	if o.Kind == metrics.OperationSpan {
		return 1
	}
	return 0
}

// Predict returns what the steps of the jobs take with a change, by run and job. It is called
// when the tables have been read. What other rates do follows from queues, and is not known of runs
// in which messages are no packets.
func (p *Replay) Predict(c Change) (all []Predicted) {
	for run, one := range p.runs {
		if len(c.Rates) > 0 && without(variantOf(p.reading, run)) {
			continue
		}
		for _, j := range one.jobs {
			if j.first == 0 {
				continue
			}
			t := j.times(one, c, p.reading.Manifest.IntervalUS)
			was, is := t.length()
			all = append(all, Predicted{Run: run, Job: j.info.Name, Steps: int(j.first), US: was, AfterUS: is})
		}
	}
	slices.SortFunc(all, func(a, b Predicted) int {
		return cmp.Or(cmp.Compare(a.Run.Variant, b.Run.Variant), cmp.Compare(a.Run.Seed, b.Run.Seed), cmp.Compare(a.Job, b.Job))
	})
	return all
}

// Slower returns how many times as long as the median of the ranks a rank of a job computes in all
// steps. ok is false if it computes no longer.
func (p *Replay) Slower(job string, rank int32) (times float64, ok bool) {
	for _, one := range p.runs {
		for _, j := range one.jobs {
			if j.info.Name != job || rank < 0 || int(rank) >= len(j.info.Ranks) {
				continue
			}
			all := make([]float64, len(j.info.Ranks))
			for _, s := range j.steps {
				for i, us := range s.compute {
					all[i] += us
				}
			}
			if median := runfolder.Median(slices.Clone(all)); median > 0 && all[rank] > median {
				return all[rank] / median, true
			}
		}
	}
	return 1, false
}

// times are when the operations of a job end with a change.
type times struct {
	*replayedJob
	run      *replayedRun
	change   Change
	interval float64
	ends     map[*Op]float64
	arrivals map[*Op]float64 // of messages, by their sends
	crossed  map[reading.PortID]crossing
}

// crossing is the message that crossed a port last: one after it may have to wait for it.
type crossing struct {
	fromUS, arrivalUS float64
	bytes             int64
}

func (j *replayedJob) times(run *replayedRun, c Change, interval float64) *times {
	t := &times{j, run, c, interval, map[*Op]float64{}, map[*Op]float64{}, map[reading.PortID]crossing{}}
	for n := int32(1); n <= j.first; n++ {
		t.step(j.steps[n], j.steps[n-1])
	}
	return t
}

// length returns how long all steps take as recorded, and with the change. The first one begins
// when it was recorded to.
func (t *times) length() (was, is float64) {
	begin, end, after := math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, s := range t.steps {
		for i := range s.Ops {
			if o := &s.Ops[i]; o.ends() {
				begin, end, after = min(begin, o.ReadyUS), max(end, o.EndUS), max(after, t.ends[o])
			}
		}
	}
	if !(end > begin) {
		return 0, 0
	}
	return end - begin, after - begin
}

// unit is the computes of a rank while a step is replayed.
type unit struct {
	last   *Op
	endsUS float64 // recorded
}

// collected is a collective, a phase or a step of a rank: how late its operations have ended.
type collected struct {
	rank, group       int32
	phase, collective int16
}

func (t *times) step(s, before *Step) {
	units := map[int32]*unit{}
	latest := map[collected]*Op{} // the operation that ends last with the change, so far
	for i := range s.Ops {
		o := &s.Ops[i]
		ready := t.ready(s, before, o, latest)
		switch o.Kind {
		case metrics.OperationCompute:
			u := units[o.Rank]
			if u == nil {
				u = &unit{}
				units[o.Rank] = u
			}
			if u.last != nil && o.StartUS >= u.endsUS {
				ready = max(ready, t.ends[u.last])
			}
			wait := 0.0
			if o.StartUS > o.ReadyUS && (u.last == nil || u.endsUS < o.StartUS) {
				wait = o.StartUS - o.ReadyUS
			}
			factor := 1.0
			if f, ok := t.change.Computes[t.info.Name][o.Rank]; ok {
				factor = f
			}
			t.ends[o] = ready + wait + (o.EndUS-o.StartUS)*factor
			if u.last == nil || o.EndUS >= u.endsUS {
				u.last, u.endsUS = o, o.EndUS
			}
		case metrics.OperationHold:
			t.ends[o] = ready
			if o.EndUS > o.ReadyUS { // its slot is at a time
				t.ends[o] = max(ready, o.EndUS)
			}
		case metrics.OperationRecv:
			t.ends[o] = ready
			if send := s.send(o.peer, o.Rank, o.channel, o.message); send != nil {
				arrival := t.arrival(s, before, send, latest)
				t.ends[o] = max(ready, arrival+max(0, o.EndUS-max(o.ReadyUS, t.message(s, send).arrivalUS)))
			} else {
				t.ends[o] = ready + o.EndUS - o.ReadyUS
			}
		case metrics.OperationSend:
			t.ends[o] = t.arrival(s, before, o, latest) + max(0, o.EndUS-t.message(s, o).arrivalUS)
		default:
			t.ends[o] = ready
		}
		t.collect(o, latest)
	}
}

// collect enters an operation into the collective, the phase and the step that it is of.
func (t *times) collect(o *Op, latest map[collected]*Op) {
	for _, key := range []collected{{o.Rank, 0, 0, 0}, {o.Rank, 0, o.phase, 0}, {o.Rank, o.group, o.phase, o.collective}} {
		if other := latest[key]; other == nil || t.ends[o] > t.ends[other] {
			latest[key] = o
		}
	}
}

// ready returns when an operation is ready: when the one that it was recorded to wait for has
// ended. Records have the last one of those that it needs. What follows a collective, and the
// end of one, of a phase or of a step, needs all of it.
func (t *times) ready(s, before *Step, o *Op, latest map[collected]*Op) float64 {
	by := o.ReadyUS
	if o.Kind == metrics.OperationSpan {
		by = o.EndUS
	}
	after := s.find(o.Rank, o.after)
	if (after == nil || after.EndUS > by) && before != nil && o.after >= 0 {
		after = before.find(o.Rank, o.after)
	}
	if after == nil || after.EndUS > by {
		return by
	}
	end, known := t.ends[after]
	if !known {
		return by
	}
	ready := end + by - after.EndUS
	switch {
	case o.Kind == metrics.OperationSpan:
		key := collected{o.Rank, o.group, o.phase, o.collective}
		if o.collective == 0 {
			key.group = 0
		}
		if last := latest[key]; last != nil {
			ready = max(ready, t.ends[last])
		}
	case after.collective != 0 && after.collective != o.collective:
		if last := latest[collected{o.Rank, after.group, after.phase, after.collective}]; last != nil && last.EndUS <= by {
			ready = max(ready, t.ends[last])
		}
	}
	return ready
}

// arrival returns when the last byte of a message arrives with the change.
func (t *times) arrival(s, before *Step, send *Op, latest map[collected]*Op) float64 {
	if at, ok := t.arrivals[send]; ok {
		return at
	}
	// A message behind others of its stream waits for them: they are computed first.
	var chain []*Op
	for o := send; o != nil; o = t.message(s, o).previous {
		if _, ok := t.arrivals[o]; ok || len(chain) > len(s.sends) {
			break
		}
		chain = append(chain, o)
	}
	for _, o := range slices.Backward(chain) {
		m := t.message(s, o)
		from := t.ready(s, before, o, latest)
		if m.previous != nil {
			from = max(from, t.arrivals[m.previous])
		}
		t.arrivals[o] = t.behind(m, from, from+m.takes(t.run, &t.change, t.interval))
	}
	return t.arrivals[send]
}
