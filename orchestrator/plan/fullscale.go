package plan

import (
	"fmt"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
	"github.com/csiglab/csiglab/workloads/graph"
)

// fullScale is what a step of a scaled job means for the real one. A scale shrinks times of
// compute and sizes of messages. It does not shrink latency: what links and switches delay, and
// what switches take to forward the last packet of a message. The latency of a step is the
// difference between two plays of it on links without congestion: with latency, and without.
// So it counts the latency on the critical path alone. Pauses of ranks count as scaled.
type fullScale struct {
	scale         float64        // 0 or 1: the job is the real one
	step, latency units.Duration // of a step without congestion; 0: it has too many operations to be played
	most          spanSum        // the collective with the greatest share of latency
	flops, peak   float64        // see metrics.JobInfo
}

// spanSum is the mean time of the ranks in a collective, and how much of it is latency.
type spanSum struct {
	name          string
	time, latency units.Duration
}

// scaledSource is the programs of a job with a scale.
type scaledSource interface {
	graph.Source
	TimeScale() float64
}

// newFullScale returns what a step of a job means, whose ranks have so many records in it.
func newFullScale(f *fabric, links experiment.Links, job *workloads.Job, records int64, seed uint64) (s fullScale) {
	scaled, ok := job.Source.(scaledSource)
	if !ok {
		return s
	}
	s.scale = scaled.TimeScale()
	if s.scale == 0 || s.scale == 1 || records > checkedOperations {
		return s
	}
	if model, ok := job.Source.(interface{ FLOPs() (step, peak float64) }); ok {
		s.flops, s.peak = model.FLOPs()
	}
	ways := newWays(f, links, job)
	once := graph.Source(scaled)
	if short, ok := scaled.(interface{ Once() graph.Source }); ok { // a single step is enough
		once = short.Once()
	}
	play := func(between func(graph.Stream, units.Size) graph.Way) (units.Time, *spanTimes) {
		spans := &spanTimes{make([]units.Duration, len(once.Labels().Collectives)), make([]int64, len(once.Labels().Collectives))}
		timeline, err := graph.Ideal(once, seed, graph.Link{Between: between, Sink: spans, Most: 2 * checkedOperations})
		if err != nil { // too many operations: whether it gets stuck was asked before
			return 0, spans
		}
		return timeline.End, spans
	}
	with, slow := play(ways.between)
	without, fast := play(func(s graph.Stream, bytes units.Size) graph.Way {
		way := ways.between(s, bytes)
		way.Latency = 0
		return way
	})
	if with == 0 || without == 0 {
		return s
	}
	steps := units.Duration(once.Steps())
	s.step, s.latency = units.Duration(with)/steps, max(0, with.Sub(without))/steps
	for i, c := range once.Labels().Collectives {
		sum := spanSum{name: c.Name, time: slow.mean(i), latency: slow.mean(i) - fast.mean(i)}
		if sum.share() > s.most.share() {
			s.most = sum
		}
	}
	return s
}

func (s *spanSum) share() float64 {
	if s.time == 0 {
		return 0
	}
	return float64(s.latency) / float64(s.time)
}

// share returns the part of the step that is latency.
func (s *fullScale) share() float64 { return float64(s.latency) / float64(max(1, s.step)) }

// notes says what a step means for the real job.
func (s *fullScale) notes(job string) []string {
	switch {
	case s.scale == 0 || s.scale == 1:
		return nil
	case s.step == 0:
		return []string{fmt.Sprintf("job %s: scale %v does not shrink latency; how much of a step that is was not computed, because a play of it has more than %d operations", job, s.scale, checkedOperations)}
	}
	whole := metrics.FullScale(s.step, s.latency, s.scale)
	text := fmt.Sprintf("job %s: at scale %v a step takes at least %v, of which %v (%.1f %%) are latency, which does not shrink; a step of the real job takes at least %v",
		job, s.scale, about(s.step), about(s.latency), 100*s.share(), about(whole))
	if s.peak > 0 {
		text += fmt.Sprintf(", with an MFU of %.3f at most", metrics.MFU(s.flops, s.peak, whole))
	}
	if s.share() > metrics.LatencyDecides {
		text += fmt.Sprintf(". Latency decides: it is more than %.0f %% of the scaled step", 100*metrics.LatencyDecides)
		if s.most.latency > 0 {
			text += fmt.Sprintf(", and %v of the %v of each %s", about(s.most.latency), about(s.most.time), s.most.name)
		}
		text += ". A larger scale or smaller delays show more of the real job"
	}
	return []string{text}
}

// about returns a time with three digits.
func about(d units.Duration) units.Duration {
	unit := units.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return (d + unit/2) / unit * unit
}

// ways are the ways of the messages of a job.
type ways struct {
	fabric *fabric
	links  experiment.Links
	job    *workloads.Job
	paths  *topologies.Paths
	leaves func(src, dst int) int // see fabric.leaving
	known  map[[2]int]idleWay     // by source and destination
}

// idleWay is the way from one host to another over an idle fabric.
type idleWay struct {
	delay units.Duration
	next  []units.Rate // of the links behind the first
}

func newWays(f *fabric, links experiment.Links, job *workloads.Job) *ways {
	return &ways{f, links, job, topologies.NewPaths(f.graph), f.leaving(job), map[[2]int]idleWay{}}
}

// between returns the way of a message. Ranks of a server have a way of their own each.
func (w *ways) between(s graph.Stream, bytes units.Size) graph.Way {
	src, dst := w.job.Hosts[s.From], w.job.Hosts[s.To]
	if g := w.fabric.graph; g.Server(src) == g.Server(dst) {
		return graph.Way{NIC: g.Hosts() + int(s.From), Rate: w.job.Local.Rate, Latency: w.job.Local.Delay}
	}
	from := w.leaves(src, dst)
	way := graph.Way{NIC: from, Rate: w.fabric.rate(from)}
	if from != src {
		way.Latency = w.job.Local.Delay
		if w.job.Local.Rate > 0 {
			way.Latency += w.job.Local.Rate.Serialisation(bytes)
		}
		src = from
	}
	p, ok := w.known[[2]int{src, dst}]
	if !ok {
		_, p.delay = w.paths.Between(src, dst)
		for _, l := range w.paths.Links(src, dst)[1:] {
			p.next = append(p.next, w.fabric.graph.Links[l].Rate)
		}
		w.known[[2]int{src, dst}] = p
	}
	way.Latency += p.delay
	for _, rate := range p.next {
		way.Latency += rate.Serialisation(min(bytes+w.links.Header, w.links.MTU) + w.links.Overhead)
	}
	return way
}

// spanTimes is a Sink that adds up the times of ranks in collectives, by collective.
type spanTimes struct {
	sum   []units.Duration
	count []int64
}

// Emit implements metrics.Sink.
func (s *spanTimes) Emit(r metrics.Record) {
	o, ok := r.(*metrics.Operation)
	if !ok || o.Kind != metrics.OperationSpan || o.Tag.Collective == 0 {
		return
	}
	s.sum[o.Tag.Collective-1] += o.End.Sub(o.Start)
	s.count[o.Tag.Collective-1]++
}

func (s *spanTimes) mean(collective int) units.Duration {
	return s.sum[collective] / units.Duration(max(1, s.count[collective]))
}
