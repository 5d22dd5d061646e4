package measure

import (
	"cmp"
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/meaning"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/units"
)

// overlapMetrics are of jobs that share links.
var overlapMetrics = Group{Title: "Jobs that share links", Of: "jobs that share links", Words: []*words{sharingJobs}, Entries: []*Entry{overlapFirst, overlapLast, apartIteration},
	More: "A job communicates while a collective of it is under way, also while a rank waits for a late one. Two jobs share a link if connections of both may take one port; `shares` in [manifest.json](run-folder.md#manifestjson) names them. Overlap is of iterations that begin to communicate while another such job runs.",
}

const noOverlap = "no collective of it began while another job that shares a link ran"

var (
	overlapFirst = &Entry{Form: "overlap_share.first.<job>", Better: meaning.Lower, Share: true, Needs: sharing, Absent: noOverlap,
		Doc: "overlap share of the first iteration: of its communication, the time in which another job that shares a link with it communicates too"}
	overlapLast    = &Entry{Form: "overlap_share.last.<job>", Better: meaning.Lower, Share: true, Needs: sharing, Absent: noOverlap, Doc: "median of the overlap shares of the last quarter of the iterations"}
	apartIteration = &Entry{Form: "apart_iteration.<job>", Unit: "iteration", Better: meaning.Lower, Needs: sharing, Absent: "it overlapped with other jobs to the end, or " + noOverlap,
		Doc: "number of the first iteration, from 1, from which on all overlap shares are below 5 %; absent if the last one is not"}

	sharing     = append(ofJobs[:1:1], &need{"ones that share a link", func(p *plan.Plan) bool { return len(jobsThat(p, sharesLinks)) > 0 }, "it has no jobs that share a link"})
	sharingJobs = &words{of: func(s *subjects) []string { return jobsThat(s.Plan, sharesLinks) }}
)

func sharesLinks(j *metrics.JobInfo) bool { return len(j.Shares) > 0 }

// Apart is the overlap share below which an iteration of a job is apart from those of the
// jobs that it shares links with.
const Apart = 0.05

// phaseSum is when a job that shares links communicates: while a collective of it is under
// way.
type phaseSum struct {
	all []stepSpan // as they end; of one step several where they do not follow each other
	end units.Time // of the last one
}

// stepSpan is a time in which a job communicates in a step.
type stepSpan struct {
	step int32
	metrics.Span
}

func (p *phaseSum) add(i *metrics.Instance) {
	p.end = max(p.end, i.End)
	if i.End <= i.Begin {
		return
	}
	if n := len(p.all); n > 0 {
		if last := &p.all[n-1]; last.step == i.Tag.Step && i.Begin <= last.To && i.End >= last.From {
			last.From, last.To = min(last.From, i.Begin), max(last.To, i.End)
			return
		}
	}
	p.all = append(p.all, stepSpan{i.Tag.Step, metrics.Span{From: i.Begin, To: i.End}})
}

// overlap is the share of the communication of an iteration in which a job that shares a
// link communicates too.
type overlap struct {
	step  int32
	share float64
}

// overlaps returns the overlap shares of a job's iterations, in their order: of those that
// begin to communicate while another job that shares a link runs.
func (s *jobSums) overlaps(j *jobSum) (all []overlap) {
	var others intervals
	begin, end := units.Never, units.Time(-1)
	for _, share := range j.info.Shares {
		o := &s.jobs[share.Job]
		begin, end = min(begin, o.info.Start), max(end, o.phases.end)
		for i := range o.phases.all {
			others = append(others, o.phases.all[i].Span)
		}
	}
	others = union(others)
	spans := slices.Clone(j.phases.all)
	slices.SortStableFunc(spans, func(a, b stepSpan) int { return cmp.Compare(a.step, b.step) })
	var phase intervals
	for i := 0; i < len(spans); {
		step := spans[i].step
		phase = phase[:0]
		for ; i < len(spans) && spans[i].step == step; i++ {
			phase = append(phase, spans[i].Span)
		}
		phase = union(phase)
		if phase[0].From < begin || phase[0].From >= end || step == 0 {
			continue
		}
		var both, own units.Duration
		for _, i := range phase {
			own += i.To.Sub(i.From)
			both += others.between(i.From, i.To)
		}
		all = append(all, overlap{step, float64(both) / float64(own)})
	}
	return all
}

// union returns the moments that are in any of the intervals, whose order does not matter.
func union(list intervals) (all intervals) {
	slices.SortFunc(list, func(a, b metrics.Span) int { return int(min(1, max(-1, a.From-b.From))) })
	for _, i := range list {
		if n := len(all); n > 0 && i.From <= all[n-1].To {
			all[n-1].To = max(all[n-1].To, i.To)
			continue
		}
		all = append(all, i)
	}
	return all
}

// between is within for moments of which many are later.
func (l intervals) between(from, to units.Time) (sum units.Duration) {
	first, _ := slices.BinarySearchFunc(l, from, func(i metrics.Span, from units.Time) int {
		if i.To <= from {
			return -1
		}
		return 1
	})
	for _, i := range l[first:] {
		if i.From >= to {
			break
		}
		sum += (metrics.Span{From: from, To: to}).Overlap(i.From, i.To)
	}
	return sum
}

// measureOverlaps adds the metrics of overlaps.
func (s *jobSums) measureOverlaps(e *emitter, j *jobSum) {
	all := s.overlaps(j)
	if len(all) == 0 {
		return
	}
	e.set(overlapFirst, all[0].share, j.info.Name)
	last := make([]float64, 0, len(all)/4+1)
	for _, o := range all[len(all)-(len(all)+3)/4:] {
		last = append(last, o.share)
	}
	slices.Sort(last)
	e.set(overlapLast, percentile(0.5)(last), j.info.Name)
	apart := len(all)
	for apart > 0 && all[apart-1].share < Apart {
		apart--
	}
	if apart < len(all) {
		e.set(apartIteration, float64(all[apart].step), j.info.Name)
	}
}
