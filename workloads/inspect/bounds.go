package inspect

import (
	"cmp"
	"slices"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/graph"
)

// Bound is a time that the programs of a source take at least.
type Bound struct {
	// What the bound is of: senders or receivers, whose NIC carries Bytes; computing; order, what a rank
	// does one after the other; dependencies, over links without congestion.
	What string         `json:"what"`
	Time units.Duration `json:"ps"`
	Rank int            `json:"rank"` // that takes longest; -1: all together
	// Bytes that the rank sends, receives, or waits for; of dependencies 0.
	Bytes units.Size `json:"bytes"`
}

// Bounds returns what a source takes at least, the longest first. played may be nil. No network can
// be faster where each rank has one NIC of the link's rate, in each direction.
func (s *Summary) Bounds(link graph.Link, played *Played) []Bound {
	var all []Bound
	longest := func(what string, ranks int, of func(rank int) (units.Duration, units.Size)) {
		b := Bound{What: what}
		for rank := range ranks {
			if d, bytes := of(rank); d > b.Time {
				b.Time, b.Rank, b.Bytes = d, rank, bytes
			}
		}
		if b.Time > 0 {
			all = append(all, b)
		}
	}
	carried := func(bytes []units.Size) func(rank int) (units.Duration, units.Size) {
		return func(rank int) (units.Duration, units.Size) {
			if bytes[rank] == 0 {
				return 0, 0
			}
			return link.Latency + onWire(bytes[rank], link.Rate), bytes[rank]
		}
	}
	longest("senders", len(s.Sent), carried(s.Sent))
	longest("receivers", len(s.Received), carried(s.Received))
	longest("computing", len(s.computing), func(rank int) (units.Duration, units.Size) { return s.computing[rank], 0 })
	longest("order", len(s.order), func(rank int) (units.Duration, units.Size) {
		o := s.order[rank]
		return o.compute + onWire(o.bytes, link.Rate), o.bytes
	})
	if played != nil {
		all = append(all, Bound{What: "dependencies", Time: units.Duration(played.End), Rank: -1})
	}
	slices.SortStableFunc(all, func(a, b Bound) int { return cmp.Compare(b.Time, a.Time) })
	return all
}

// onWire returns how long bytes take at a rate; 0 is without limit.
func onWire(bytes units.Size, rate units.Rate) units.Duration {
	if rate == 0 {
		return 0
	}
	return rate.Serialisation(bytes)
}
