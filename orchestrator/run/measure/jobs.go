package measure

import (
	"cmp"
	"maps"
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/histogram"
	"github.com/csiglab/csiglab/metrics/meaning"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/collective"
	"github.com/csiglab/csiglab/workloads/graph"
)

// jobMetrics are of jobs and their collectives.
var jobMetrics = Group{Title: "Jobs", Of: "jobs",
	Doc:     "These are of the whole run, whatever the measuring window. A `<collective>` is one of a job, `train.gradients-0`. Each value is of a step, or of one collective of one group of ranks in a step.",
	Entries: []*Entry{iterationTime, settledTime, fullTime, latencyShare, utilisation, straggling, stragglerRank, stepsDone, messageTime, holdTime, lateTime, collectiveTime, arrivalSkew, algorithmRate, busRate},
	More:    "Percentiles of `message_us`, `schedule_hold_us` and `schedule_late_us` are off by up to 1/32 of the value. Connections of jobs have rates, windows and samples as other flows, but no completion time.",
}

// Reasons why runs lack metrics of jobs.
const (
	noStep       = "the ranks did not end a step"
	noCompute    = "the ranks did not end a step in which they compute"
	noCollective = "not all ranks of a group left the collective"
	noSlot       = "no rank came to a slot"
)

var (
	iterationTime = &Entry{Form: "iteration_us.<statistic>.<job>", Words: []*words{statisticNames, jobNames}, Better: meaning.Lower, Needs: ofJobs, Absent: noStep,
		Doc: "the steps' times, start to start: from when the first rank begins a step to when the first rank begins the next one; of the last step to when its last rank ends it. So the mean is the time of all steps over their number, also where steps overlap"}
	settledTime = &Entry{Form: "iteration_settled_us.<job>", Words: []*words{jobNames}, Better: meaning.Lower, Needs: ofJobs, Absent: noStep,
		Doc: "mean of the second half of the steps' times: without the first steps, in which jobs that share links find their places"}
	fullTime = &Entry{Form: "full_iteration_us.<job>", Words: []*words{scaledJobs}, Better: meaning.Lower, Needs: scaled, Absent: noStep,
		Doc: "of a job with a `scale`: what a step of the real job takes, by `iteration_us.mean`: its latency, which the scale does not shrink, plus the rest of it over the scale. The latency is that on the critical path of a step without congestion, which follows from the plan"}
	latencyShare = &Entry{Form: "latency_share.<job>", Words: []*words{scaledJobs}, Share: true, Needs: scaled, Absent: noStep,
		Doc: "of a job with a `scale`: the share of `iteration_us.mean` that is latency. `full_iteration_us` of two scales agree to this share, as far as congestion control does the same at both"}
	utilisation = &Entry{Form: "mfu.<job>", Words: []*words{modelJobs}, Better: meaning.Higher, Share: true, Needs: countedFLOPs, Absent: noStep,
		Doc: "model flops utilisation of a job of kind model whose compute times follow from `tflops`: the operations of the model in a step, without recomputation, over what all ranks could do at their peak in the mean time of a step of the real job"}
	straggling = &Entry{Form: "straggler_ratio.<statistic>.<job>", Words: []*words{statisticNames, jobNames}, Better: meaning.Lower, Needs: ofJobs, Absent: noCompute,
		Doc: "the most that a rank computes in a step, over the mean of the ranks; 1 without stragglers"}
	stragglerRank = &Entry{Form: "straggler_rank.<job>", Words: []*words{jobNames}, Unit: "rank", Needs: ofJobs, Absent: noCompute, Doc: "the rank that computed longest in most steps"}
	stepsDone     = &Entry{Form: "steps_done.<job>", Words: []*words{jobNames}, Unit: "steps", Better: meaning.Higher, Needs: ofJobs, Doc: "steps that all ranks have ended"}
	messageTime   = &Entry{Form: "message_us.<statistic>.<job>", Words: []*words{statisticNames, jobNames}, Better: meaning.Lower, Needs: ofJobs, Absent: "no message crossed the fabric",
		Doc: "completion time of the messages that cross the fabric, at the sender: from when a message is ready to be sent, behind earlier ones of its connection, to when its last byte is acknowledged"}
	holdTime = &Entry{Form: "schedule_hold_us.<statistic>.<job>", Words: []*words{statisticNames, scheduledJobs}, Needs: scheduled, Absent: noSlot,
		Doc: "of a job with a [schedule](../how-to/jobs.md#flow-scheduling), over ranks and steps: how long a rank was held back until its slot; 0 where it was late"}
	lateTime = &Entry{Form: "schedule_late_us.<statistic>.<job>", Words: []*words{statisticNames, scheduledJobs}, Better: meaning.Lower, Needs: scheduled, Absent: noSlot,
		Doc: "of a job with a schedule: how long after the last slot its phase began: 0 where it waited for the slot"}
	collectiveTime = &Entry{Form: "cct_us.<statistic>.<collective>", Words: []*words{statisticNames, collectives}, Better: meaning.Lower, Needs: ofJobs, Absent: noCollective,
		Doc: "collective completion time: from when the first rank of the group enters the collective to when the last one leaves it"}
	arrivalSkew = &Entry{Form: "skew_us.<statistic>.<collective>", Words: []*words{statisticNames, collectives}, Better: meaning.Lower, Needs: ofJobs, Absent: noCollective,
		Doc: "from when the first rank of the group enters the collective to when the last one does"}
	algorithmRate = &Entry{Form: "algbw_gbps.<statistic>.<collective>", Words: []*words{statisticNames, sizedCollectives}, Better: meaning.Higher, Needs: ofJobs, Absent: noCollective,
		Doc: "algorithm bandwidth as of [nccl-tests](references.md#collectives): size of the buffer over the completion time. Of all-gather and reduce-scatter the size is that of the whole array"}
	busRate = &Entry{Form: "busbw_gbps.<statistic>.<collective>", Words: []*words{statisticNames, sizedCollectives}, Better: meaning.Higher, Needs: ofJobs,
		Absent: noCollective + ", or nccl-tests have no factor for its kind",
		Doc:    "bus bandwidth, which compares with the rate of a link whatever the number n of ranks: the algorithm bandwidth times 2(n-1)/n for all-reduce, (n-1)/n for all-gather, reduce-scatter, all-to-all, gather and scatter, 1 for broadcast, reduce and send-recv"}
)

// What jobs need, and their words.
var (
	ofJobs       = []*need{{"jobs", func(p *plan.Plan) bool { return len(p.Jobs) > 0 }, "it has no jobs"}}
	scaled       = append(ofJobs[:1:1], &need{"one with a scale whose latency is known", func(p *plan.Plan) bool { return len(jobsThat(p, hasLatency)) > 0 }, "no job has a scale below 1 and steps that were played"})
	countedFLOPs = append(ofJobs[:1:1], &need{"one of kind model with `tflops`", func(p *plan.Plan) bool { return len(jobsThat(p, hasFLOPs)) > 0 }, "no job has a model whose operations are counted"})
	scheduled    = append(ofJobs[:1:1], &need{"one with a schedule", func(p *plan.Plan) bool { return len(jobsThat(p, hasSchedule)) > 0 }, "no job has a schedule"})

	jobNames         = &words{of: func(s *subjects) []string { return jobsThat(s.Plan, func(*metrics.JobInfo) bool { return true }) }}
	scaledJobs       = &words{of: func(s *subjects) []string { return jobsThat(s.Plan, hasLatency) }}
	modelJobs        = &words{of: func(s *subjects) []string { return jobsThat(s.Plan, hasFLOPs) }}
	scheduledJobs    = &words{of: func(s *subjects) []string { return jobsThat(s.Plan, hasSchedule) }}
	collectives      = &words{of: func(s *subjects) []string { return collectivesOf(s.Plan, false) }}
	sizedCollectives = &words{of: func(s *subjects) []string { return collectivesOf(s.Plan, true) }}
)

func hasSchedule(j *metrics.JobInfo) bool { return j.Schedule.Period > 0 }

func hasLatency(j *metrics.JobInfo) bool { return j.Latency > 0 }

// hasFLOPs leaves out jobs of a scale whose time at full scale is not known.
func hasFLOPs(j *metrics.JobInfo) bool { return j.FLOPs > 0 && (j.TimeScale == 1 || j.Latency > 0) }

func jobsThat(p *plan.Plan, are func(*metrics.JobInfo) bool) (names []string) {
	for i := range p.Jobs {
		if are(&p.Jobs[i]) {
			names = append(names, p.Jobs[i].Name)
		}
	}
	return names
}

// collectivesOf returns the names of the collectives of jobs, each once: of all, or of those of
// whose name the first has a size.
func collectivesOf(p *plan.Plan, sized bool) (names []string) {
	known := map[string]bool{}
	for i := range p.Jobs {
		for k := range p.Jobs[i].Collectives {
			c := &p.Jobs[i].Collectives[k]
			name := p.Jobs[i].Name + "." + c.Name
			if !known[name] && (c.Bytes > 0 || !sized) {
				names = append(names, name)
			}
			known[name] = true
		}
	}
	return names
}

// jobSums computes the metrics and the instances of jobs from the operations of their
// ranks, as they come. It holds the operations of the steps that some rank has not left, and
// no others (waits).
type jobSums struct {
	jobs  []jobSum // as Plan.Jobs
	ready []metrics.Instance
}

// jobSum is one job.
type jobSum struct {
	info        *metrics.JobInfo
	ranks       []rankSum
	steps       map[int32]*stepSum
	open        map[instanceKey]*openInstance // collectives that some rank has not left yet
	marked      bool                          // ranks mark where they leave steps
	unmarked    []rankTime                    // steps that ranks left without a mark, while none has come
	done        int                           // steps that all ranks have left
	iterations  iterations
	straggling  []float64
	messages    histogram.Histogram // ps
	held, late  histogram.Histogram // ps, of each rank in each step
	slow        []int32             // steps in which a rank computed longest, by rank
	collectives []collectiveSum     // as info.Collectives; those of one name share the first
	phases      phaseSum            // of a job that shares links
}

// collectiveSum is the collectives of one name.
type collectiveSum struct {
	first                  int // of the same name
	times, skews, alg, bus []float64
}

// rankSum is the steps that a rank is in, and those that it left last: a collective may end
// after the step that began it.
type rankSum struct{ steps []*rankStep }

// rankSteps is how many steps of a rank are held.
const rankSteps = 4

// rankStep is one step of one rank.
type rankStep struct {
	step     int32
	left     bool
	from, to units.Time // of all operations so far
	busy     intervals  // in which it computes
	active   intervals  // in which it computes, or a message of it is under way or expected
	repeats  map[instanceKey]int32
}

// rankTime is what a step took a rank.
type rankTime struct {
	rank, step       int32
	from, to         units.Time
	compute, exposed units.Duration
}

// time returns what the step took a rank.
func (r *rankStep) time(rank int32) rankTime {
	compute := r.busy.within(r.from, r.to)
	return rankTime{rank, r.step, r.from, r.to, compute, r.active.within(r.from, r.to) - compute}
}

// stepSum is one step over its ranks.
type stepSum struct {
	instance metrics.Instance
	compute  units.Duration // of all ranks
	exposed  units.Duration
}

// instanceKey identifies an instance of a collective; Repeat is 0 in rankStep.repeats.
type instanceKey struct {
	step, group, repeat int32
	collective          int16
}

type openInstance struct {
	instance metrics.Instance
	want     int32 // ranks
}

func newJobSums(p *plan.Plan) *jobSums {
	s := &jobSums{jobs: make([]jobSum, len(p.Jobs))}
	for i := range s.jobs {
		info := &p.Jobs[i]
		j := &s.jobs[i]
		*j = jobSum{
			info: info, ranks: make([]rankSum, len(info.Ranks)), steps: map[int32]*stepSum{}, open: map[instanceKey]*openInstance{},
			slow: make([]int32, len(info.Ranks)), collectives: make([]collectiveSum, len(info.Collectives)),
			iterations: iterations{waits: waits{perStage: int32(info.PerStage), ranks: make([]waitRank, len(info.Ranks))}},
		}
		firsts := map[string]int{}
		for k := range info.Collectives {
			name := info.Collectives[k].Name
			if _, ok := firsts[name]; !ok {
				firsts[name] = k
			}
			j.collectives[k].first = firsts[name]
		}
	}
	return s
}

// Consume implements metrics.Consumer.
func (s *jobSums) Consume(b *metrics.Batch) {
	for i := range b.Operations {
		o := &b.Operations[i]
		if o.Job < 0 || int(o.Job) >= len(s.jobs) || o.Rank < 0 || int(o.Rank) >= len(s.jobs[o.Job].ranks) {
			continue // the run folder refuses it
		}
		s.jobs[o.Job].add(o, s)
	}
}

// take returns the instances that are complete, which are the caller's.
func (s *jobSums) take() []metrics.Instance {
	ready := s.ready
	s.ready = nil
	return ready
}

// add counts an operation. Those of one rank come in the order of their ends.
func (j *jobSum) add(o *metrics.Operation, s *jobSums) {
	r := j.rank(o, s)
	j.iterations.add(o)
	if o.Kind != metrics.OperationSpan {
		r.from, r.to = min(r.from, o.Ready), max(r.to, o.End)
	}
	switch o.Kind {
	case metrics.OperationSend:
		if o.Flow != metrics.Absent {
			j.messages.Add(int64(o.End.Sub(o.Ready)), 1)
		}
		r.active.add(o.Ready, o.End)
	case metrics.OperationRecv:
		r.active.add(o.Ready, o.End)
	case metrics.OperationCompute:
		r.busy.add(o.Start, o.End)
		r.active.add(o.Start, o.End)
	case metrics.OperationHold:
		j.held.Add(int64(o.End.Sub(o.Ready)), 1)
		late := units.Duration(0)
		if o.End == o.Ready { // or it waited for a slot, and the driver may come later than that
			slots := graph.Schedule(j.info.Schedule)
			late = slots.Late(o.End)
		}
		j.late.Add(int64(late), 1)
	case metrics.OperationSpan:
		switch t := o.Tag; {
		case t.Collective != 0:
			j.leaveCollective(o, r, s)
		case t.Phase == 0 && t.Step != 0 && !r.left:
			j.marked, j.unmarked = true, nil // such as iterations of warm-up
			r.left, r.from, r.to = true, o.Start, o.End
			j.leaveStep(r.time(o.Rank), s)
		}
	}
}

// rank returns the step of the rank that an operation belongs to.
func (j *jobSum) rank(o *metrics.Operation, s *jobSums) *rankStep {
	r := &j.ranks[o.Rank]
	for i := len(r.steps) - 1; i >= 0; i-- {
		if r.steps[i].step == o.Tag.Step {
			return r.steps[i]
		}
	}
	var one *rankStep
	if len(r.steps) == rankSteps {
		one = r.steps[0]
		j.passBy(o.Rank, one)
		copy(r.steps, r.steps[1:])
		r.steps = r.steps[:rankSteps-1]
		clear(one.repeats)
		*one = rankStep{busy: one.busy[:0], active: one.active[:0], repeats: one.repeats}
	} else {
		one = &rankStep{repeats: map[instanceKey]int32{}}
	}
	one.step, one.from = o.Tag.Step, units.Never
	r.steps = append(r.steps, one)
	return one
}

// passBy notes a step that a rank has behind it and has not marked. It counts if no rank of
// the job marks any.
func (j *jobSum) passBy(rank int32, r *rankStep) {
	if !r.left && !j.marked && r.step != 0 && r.from != units.Never {
		j.unmarked = append(j.unmarked, r.time(rank))
	}
}

// leaveStep counts the step of a rank.
func (j *jobSum) leaveStep(r rankTime, s *jobSums) {
	if r.step == 0 || r.from == units.Never {
		return
	}
	t := j.steps[r.step]
	if t == nil {
		t = &stepSum{instance: metrics.Instance{Job: j.info.Job, Tag: metrics.Tag{Step: r.step}, Begin: units.Never, LastBegin: -1, End: -1, Slow: -1}}
		j.steps[r.step] = t
	}
	enter(&t.instance, r.rank, r.from, r.to)
	t.compute += r.compute
	t.exposed += r.exposed
	i := &t.instance
	i.ExposedMax = max(i.ExposedMax, r.exposed)
	if r.compute > i.ComputeMax || r.compute == i.ComputeMax && (i.Slow < 0 || r.rank < i.Slow) {
		i.ComputeMax, i.Slow = r.compute, r.rank
	}
	if int(i.Ranks) == len(j.ranks) {
		j.endStep(t, s)
		delete(j.steps, r.step)
	}
}

// endStep counts a step that all ranks have left.
func (j *jobSum) endStep(t *stepSum, s *jobSums) {
	i, n := &t.instance, units.Duration(t.instance.Ranks)
	i.ComputeMean, i.ExposedMean = t.compute/n, t.exposed/n
	j.done++
	j.iterations.step(i)
	if t.compute > 0 {
		j.slow[i.Slow]++
		j.straggling = append(j.straggling, float64(i.ComputeMax)*float64(n)/float64(t.compute))
	}
	s.ready = append(s.ready, *i)
}

// leaveCollective counts a collective that a rank has left.
func (j *jobSum) leaveCollective(o *metrics.Operation, r *rankStep, s *jobSums) {
	c := j.info.Collective(o.Tag)
	if c == nil {
		return
	}
	key := instanceKey{step: o.Tag.Step, group: o.Tag.Group, collective: o.Tag.Collective}
	repeat := r.repeats[key]
	r.repeats[key]++
	key.repeat = repeat
	open := j.open[key]
	if open == nil {
		open = &openInstance{
			instance: metrics.Instance{Job: j.info.Job, Tag: o.Tag, Repeat: repeat, Begin: units.Never, LastBegin: -1, End: -1},
			want:     int32(c.Ranks),
		}
		open.instance.Tag.Phase = 0
		j.open[key] = open
	}
	enter(&open.instance, o.Rank, o.Start, o.End)
	if open.instance.Ranks == open.want {
		j.endCollective(open, s)
		delete(j.open, key)
	}
}

// endCollective counts a collective that all ranks of its group have left.
func (j *jobSum) endCollective(open *openInstance, s *jobSums) {
	i := &open.instance
	c := j.info.Collective(i.Tag)
	sum := &j.collectives[j.collectives[i.Tag.Collective-1].first]
	time := i.End.Sub(i.Begin)
	sum.times = append(sum.times, time.Microseconds())
	sum.skews = append(sum.skews, i.LastBegin.Sub(i.Begin).Microseconds())
	if c.Bytes > 0 && time > 0 {
		alg := algorithmBandwidth(c.Bytes, time)
		sum.alg = append(sum.alg, alg)
		if kind, err := collective.ParseKind(c.Kind); err == nil {
			sum.bus = append(sum.bus, alg*collective.BusFactor(kind, c.Ranks))
		}
	}
	if len(j.info.Shares) > 0 {
		j.phases.add(i)
	}
	s.ready = append(s.ready, *i)
}

// algorithmBandwidth returns the size of a collective's buffer over its time, in Gb/s:
// the algorithm bandwidth of nccl-tests (docs/reference/references.md#collectives).
func algorithmBandwidth(size units.Size, time units.Duration) float64 {
	return float64(size) * 8 / time.Seconds() / float64(units.Gbps)
}

// enter adds the time of one rank to an instance.
func enter(i *metrics.Instance, rank int32, from, to units.Time) {
	i.Ranks++
	i.Begin = min(i.Begin, from)
	if from > i.LastBegin || from == i.LastBegin && rank < i.Late {
		i.LastBegin, i.Late = from, rank
	}
	if to > i.End || to == i.End && rank < i.Last {
		i.End, i.Last = to, rank
	}
}

// finish counts the steps of jobs whose ranks do not mark where they leave them, if the job
// is done: those of ranks without operations do not count. It is called once, when the run
// has ended.
func (s *jobSums) finish(done func(job int32) bool) {
	for k := range s.jobs {
		j := &s.jobs[k]
		for rank := range j.ranks {
			for _, r := range j.ranks[rank].steps {
				j.passBy(int32(rank), r)
			}
			j.ranks[rank].steps = nil
		}
		if !j.marked && done(j.info.Job) {
			j.leaveUnmarked(s)
		}
		j.iterations.finish()
	}
}

// leaveUnmarked counts the steps of a job that does not mark them.
func (j *jobSum) leaveUnmarked(s *jobSums) {
	slices.SortFunc(j.unmarked, func(a, b rankTime) int {
		return cmp.Or(cmp.Compare(a.step, b.step), cmp.Compare(a.rank, b.rank))
	})
	for _, r := range j.unmarked {
		j.iterations.bound(r.rank, r.to)
	}
	for _, r := range j.unmarked {
		j.leaveStep(r, s)
	}
	for _, step := range slices.Sorted(maps.Keys(j.steps)) {
		j.endStep(j.steps[step], s)
	}
}

// measure adds the metrics of jobs.
func (s *jobSums) measure(e *emitter) {
	for k := range s.jobs {
		j := &s.jobs[k]
		name := j.info.Name
		e.set(stepsDone, float64(j.done), name)
		j.iterations.measure(e, name)
		measureFullScale(e, j.info, &j.iterations)
		messages := distributionOf(&j.messages, perMicrosecond)
		e.distribution(messageTime, &messages, name)
		if hasSchedule(j.info) {
			held, late := distributionOf(&j.held, perMicrosecond), distributionOf(&j.late, perMicrosecond)
			e.distribution(holdTime, &held, name)
			e.distribution(lateTime, &late, name)
		}
		e.values(straggling, j.straggling, name)
		if len(j.straggling) > 0 {
			e.set(stragglerRank, float64(slices.Index(j.slow, slices.Max(j.slow))), name)
		}
		for i := range j.collectives {
			c := &j.collectives[i]
			if c.first != i {
				continue
			}
			subject := name + "." + j.info.Collectives[i].Name
			e.values(collectiveTime, c.times, subject)
			e.values(arrivalSkew, c.skews, subject)
			e.values(algorithmRate, c.alg, subject)
			e.values(busRate, c.bus, subject)
		}
		s.measureOverlaps(e, j)
	}
}

// measureFullScale emits what the mean of the steps' times means for the real job.
func measureFullScale(e *emitter, j *metrics.JobInfo, t *iterations) {
	if len(t.times) == 0 {
		return
	}
	step := t.length / units.Duration(len(t.times))
	if step <= 0 {
		return
	}
	whole := step
	if hasLatency(j) {
		whole = metrics.FullScale(step, j.Latency, j.TimeScale)
		e.set(fullTime, whole.Microseconds(), j.Name)
		e.set(latencyShare, min(1, float64(j.Latency)/float64(step)), j.Name)
	}
	if hasFLOPs(j) {
		e.set(utilisation, metrics.MFU(j.FLOPs, j.PeakFLOPS, whole), j.Name)
	}
}

// values emits the statistics of a metric of a subject, if there are any. It sorts the values.
func (e *emitter) values(m *Entry, values []float64, subject string) {
	if len(values) == 0 {
		return
	}
	slices.Sort(values)
	d := Distribution{Any: true, Mean: mean(values), P50: percentile(0.5)(values), P99: percentile(0.99)(values), Max: values[len(values)-1]}
	e.distribution(m, &d, subject)
}

// intervals is a set of moments: disjoint intervals, ascending.
type intervals []metrics.Span

// add adds an interval. It takes constant time, over all intervals, if they come in the
// order of their ends.
func (l *intervals) add(from, to units.Time) {
	if to <= from {
		return
	}
	list := *l
	end := len(list)
	for end > 0 && list[end-1].From > to {
		end--
	}
	begin := end
	for begin > 0 && list[begin-1].To >= from {
		begin--
		from, to = min(from, list[begin].From), max(to, list[begin].To)
	}
	*l = slices.Replace(list, begin, end, metrics.Span{From: from, To: to})
}

// within returns how long the moments between two are.
func (l intervals) within(from, to units.Time) (sum units.Duration) {
	for _, i := range slices.Backward(l) {
		if i.To <= from {
			break
		}
		sum += (metrics.Span{From: from, To: to}).Overlap(i.From, i.To)
	}
	return sum
}
