package plan

import (
	"fmt"

	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// newLength predicts how long a run takes, from the experiment alone: the same on every
// machine. It is a bound from below; congestion control and dependencies take longer. It
// is 0 where nothing is known, because programs decide.
func newLength(e *experiment.Experiment, f *fabric, w *workload, jobs []JobLoad) (length units.Duration) {
	if e.Applications != nil {
		return e.End
	}
	flows, paths := transferFlows(e.Links, f, w), topologies.NewPaths(f.graph)
	busy := make([]units.Duration, 2*len(f.graph.Links)) // by link and direction: what its bytes take
	var route []int
	bySource(flows, func(i int) {
		flow, at := &flows[i], int(flows[i].Src)
		bytes := flow.Size + units.Size(flow.Packets)*e.Links.Overhead // line overhead too
		length = max(length, w.Transfers[i].Start+f.rate(at).Serialisation(bytes))
		route = paths.AppendLinks(route[:0], at, int(flow.Dst)) // every flow takes one shortest path
		for _, id := range route {
			link, direction := &f.graph.Links[id], 0
			if link.A.Node != at {
				direction = 1
			}
			at = link.A.Node + link.B.Node - at
			time := &busy[2*id+direction]
			*time += link.Rate.Serialisation(bytes)
			length = max(length, *time)
		}
	})
	for i := range jobs {
		length = max(length, w.Jobs[i].Start+jobs[i].Length)
	}
	for _, g := range e.Generators {
		every := g.Every
		if every == 0 {
			every = g.Rate.Serialisation(g.Size)
		}
		length = max(length, g.Start+units.Duration(g.Count)*every)
		if g.Count == 0 { // without end
			length = max(length, e.End)
		}
	}
	if e.End != 0 {
		length = min(length, e.End)
	}
	return length
}

// Windows of telemetry.interval auto.
const (
	mostWindows  = 200 // of the predicted length, of runs up to 20 ms
	shortestAuto = units.Microsecond
	longestAuto  = 100 * units.Microsecond // a burst is shorter than a millisecond
)

// autoInterval returns the length of the telemetry windows of a run that is predicted to
// take a time: the least of 1, 2, 5, 10, 20, 50 and 100 us with which there are at most
// mostWindows, and the last one of longer runs.
func autoInterval(length units.Duration) units.Duration {
	if length == 0 {
		return longestAuto
	}
	return round(func(interval units.Duration) bool { return interval*mostWindows >= length || interval >= longestAuto })
}

// round returns the least of 1, 2, 5, 10, 20 us and so on that is enough.
func round(enough func(units.Duration) bool) units.Duration {
	interval := shortestAuto
	for i := 0; !enough(interval); i++ {
		if interval *= 2; i%3 == 1 {
			interval += interval / 4 // from 2 to 5
		}
	}
	return interval
}

// WidenInterval makes the telemetry interval at least as long as a full packet takes on the
// slowest link, for labs that do not choose one: shorter windows of a line that is busy say
// nothing more, and come faster than they can be written. It is called before Plan.
func (s *Shape) WidenInterval() {
	s.interval = max(s.interval, longestAuto) // a lab is longer than its workload
	var packet units.Duration
	for i := range s.fabric.graph.Links {
		packet = max(packet, s.fabric.graph.Links[i].Rate.Serialisation(s.experiment.Links.MTU+s.experiment.Links.Overhead))
	}
	if packet > s.interval {
		s.interval = round(func(interval units.Duration) bool { return interval >= packet })
		s.notes = append(s.notes, fmt.Sprintf("records have windows of %v, as a full packet takes %v on the slowest link; telemetry.interval chooses others", s.interval, packet))
	}
}

// newInterval returns the telemetry interval of a shape on its own, and the predicted length of
// its run if the interval is auto.
func newInterval(e *experiment.Experiment, f *fabric, w *workload, jobs []JobLoad) (length, interval units.Duration) {
	if e.Telemetry.Interval != 0 {
		return 0, e.Telemetry.Interval
	}
	length = newLength(e, f, w, jobs)
	return length, autoInterval(length)
}

// SettleInterval gives the shapes of the variants of one experiment the same telemetry
// interval where that is auto: the one that fits the longest of their runs. A shape on
// its own takes the one that fits its run.
func SettleInterval(shapes []*Shape) {
	var longest units.Duration
	for _, s := range shapes {
		longest = max(longest, s.length)
	}
	for _, s := range shapes {
		if s.experiment.Telemetry.Interval == 0 {
			s.interval = autoInterval(longest)
		}
	}
}
