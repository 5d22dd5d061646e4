package plan

import (
	"cmp"
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// loads sums what the traffic of a run needs of each link, every flow on one shortest
// path. Build it with newLoads.
type loads struct {
	graph *topologies.Graph
	paths *topologies.Paths
	times []units.Duration // by link and direction
	route []int            // of the last path

	// Longest is what the most loaded direction of a link needs for its bytes: a bound
	// of the run's length in the fluid model.
	Longest units.Duration
}

// newLoads returns the Loads of a fabric without traffic. The paths are those of the
// same graph.
func newLoads(g *topologies.Graph, paths *topologies.Paths) *loads {
	return &loads{graph: g, paths: paths, times: make([]units.Duration, 2*len(g.Links))}
}

// Add adds bytes from one host to another, with the line overhead of their packets, and
// returns the number of links that they cross.
func (l *loads) Add(source, destination int, bytes units.Size) (hops int) {
	l.route = l.paths.AppendLinks(l.route[:0], source, destination)
	at := source
	for _, id := range l.route {
		link, direction := l.graph.Links[id], 0
		if link.A.Node != at {
			direction = 1
		}
		at = link.A.Node + link.B.Node - at
		time := &l.times[2*id+direction]
		*time += link.Rate.Serialisation(bytes)
		l.Longest = max(l.Longest, *time)
	}
	return len(l.route)
}

// bySource calls visit with the index of each flow, those of one source together: the
// paths of a large fabric are then computed once without being kept.
func bySource(flows []metrics.FlowInfo, visit func(i int)) {
	order := make([]int32, len(flows))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(flows[a].Src, flows[b].Src) })
	for _, i := range order {
		visit(int(i))
	}
}

// length predicts how long a run takes, from the experiment alone: the same on every
// machine. It is a bound from below; congestion control and dependencies take longer. It
// is 0 where nothing is known, because programs decide. flows are those of flowInfos.
func (s *Shape) length(flows []metrics.FlowInfo) (length units.Duration) {
	e := s.experiment
	if e.Applications != nil {
		return e.End
	}
	loads, adjacency := newLoads(s.graph, topologies.NewPaths(s.graph)), s.graph.Adjacency()
	bySource(flows, func(i int) {
		f, t := &flows[i], &s.workload.Transfers[i]
		bytes := f.Size + units.Size(f.Packets)*e.Links.Overhead
		alone := s.graph.Links[adjacency[t.Src][0].Link].Rate.Serialisation(bytes)
		loads.Add(t.Src, t.Dst, bytes)
		length = max(length, t.Start+alone)
	})
	length = max(length, loads.Longest)
	for i := range s.traffic {
		length = max(length, s.workload.Jobs[i].Start+s.traffic[i].load.Length)
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
	mostWindows     = 400 // of the predicted length
	shortestAuto    = units.Microsecond
	longestAuto     = 10 * units.Millisecond
	defaultInterval = 100 * units.Microsecond // where the length is not known
)

// autoInterval returns the length of the telemetry windows of a run that is predicted to
// take a time: the least of 1, 2, 5, 10, 20 us and so on up to 10 ms with which there are
// at most mostWindows.
func autoInterval(length units.Duration) units.Duration {
	if length == 0 {
		return defaultInterval
	}
	interval := shortestAuto
	for i := 0; interval*mostWindows < length && interval < longestAuto; i++ {
		if interval *= 2; i%3 == 1 {
			interval += interval / 4 // from 2 to 5
		}
	}
	return interval
}

// SettleInterval gives the shapes of the variants of one experiment the same telemetry
// interval where that is auto: the one that fits the longest of their runs. A shape on
// its own takes the one that fits its run.
func SettleInterval(shapes []*Shape) {
	var longest units.Duration
	for _, s := range shapes {
		if s.interval == 0 {
			longest = max(longest, s.length(s.flowInfos()))
		}
	}
	for _, s := range shapes {
		if s.interval == 0 {
			s.interval = autoInterval(longest)
		}
	}
}
