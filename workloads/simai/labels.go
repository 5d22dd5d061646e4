package simai

import (
	"fmt"

	"github.com/csiglab/csiglab/internal/lines"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/collective"
	"github.com/csiglab/csiglab/workloads/graph"
)

// labels collects the names of a workload's collectives.
type labels struct {
	graph.Labels
	known map[labelKey]int32
	names map[string]int
}

type labelKey struct {
	name  string
	kind  string
	group GroupKind
	bytes units.Size
}

func newLabels(phases ...string) *labels {
	return &labels{Labels: graph.Labels{Phases: phases}, known: map[labelKey]int32{}, names: map[string]int{}}
}

// add returns the label of a collective: that of an equal one of this name before it,
// unless apart is set. Ranks and algorithm follow in settle.
func (l *labels) add(name string, item *Item, apart bool) int32 {
	key := labelKey{name, item.Kind.String(), item.Group, item.Bytes}
	if i, ok := l.known[key]; ok && !apart {
		return i
	}
	i := int32(len(l.Collectives))
	l.known[key] = i
	l.names[name]++
	if n := l.names[name]; n > 1 {
		name = fmt.Sprintf("%s %d", name, n)
	}
	l.Collectives = append(l.Collectives, graph.Collective{Name: name, Kind: key.kind, Bytes: item.Bytes})
	return i
}

// settle validates the collectives of a source and completes their labels. time is what a
// pass computes.
func (s *Source) settle(r *lines.Reader, time units.Duration) error {
	var groups [World + 1][]int
	for _, items := range s.Stages {
		for i := range items {
			item := &items[i]
			if item.Do != Collective {
				continue
			}
			if groups[item.Group] == nil {
				groups[item.Group], _, _ = s.Layout.Group(item.Group, 0)
			}
			call := s.call(item)
			call.Group = groups[item.Group]
			if int(item.Root) >= len(call.Group) {
				return r.Errorf(lines.Pos{Line: int(item.Line), Column: 1}, "root %d of a group of %d ranks", item.Root, len(call.Group))
			}
			if err := call.Validate(); err != nil {
				return r.Errorf(lines.Pos{Line: int(item.Line), Column: 1}, "%v", err)
			}
			label := &s.Names.Collectives[item.Index]
			if call.Algorithm == collective.Auto {
				call.Algorithm = collective.AlgorithmsOf(call.Kind)[0]
			}
			label.Ranks, label.Algorithm = len(call.Group), call.Algorithm.String()
		}
	}
	if s.Passes > maxPasses || time > maxTime/units.Duration(s.Passes) {
		return r.Errorf(lines.Pos{Line: 1, Column: 1}, "%d passes of %v computing are too many; the most is %d, and %v", s.Passes, time, maxPasses, maxTime)
	}
	return nil
}
