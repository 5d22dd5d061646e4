package analysis

import (
	"math"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// chartKinds is the table of charts, in the order of a report. A new chart is an
// entry and a function here, and an entry and a function in reports/charts.go.
var chartKinds = []ChartKind{
	{ID: "slowest", Unit: "Gb/s", Compare: slowest},
	{ID: "fct", Unit: "µs", Compare: fct},
	{ID: "slowdown", Compare: slowdowns},
	{ID: "queues", Unit: "kB", Compare: queues},
	{ID: "cwnd", Unit: "kB", Compare: cwnd},
	{ID: "throughput", Unit: "Gb/s", New: throughput},
	{ID: "delays", Unit: "µs", New: delays},
	{ID: "named", Unit: "%", New: namedOverTime},
	{ID: "actions", New: actions},
}

// throughput collects the wire rate at the receivers.
func throughput(s *Scope) Collector {
	bytes := newTracks(len(s.Groups))
	return Collector{
		Flow: func(r runfolder.FlowRow) {
			if group, ok := s.Group(r.FlowName); ok {
				bytes[group].add(s.Point(r.StartUS), float64(r.WireBytes))
			}
		},
		Panels: func() []Panel {
			return panelOf(s.lines(bytes, func(group, point int) float64 {
				return bytes[group].at(point) * 8 / 1000 / s.PointUS / float64(s.Groups[group].Flows)
			}))
		},
	}
}

// slowest collects the wire rate of the slowest flow.
func slowest(s *Scope) Collector {
	var bytes track
	return Collector{
		Flow: func(r runfolder.FlowRow) {
			if r.FlowName == s.Slowest {
				bytes.add(s.Point(r.StartUS), float64(r.WireBytes)*8/1000/s.PointUS)
			}
		},
		Panels: func() []Panel { return s.ofSlowest(bytes.first, bytes.sums) },
	}
}

// cwnd collects the window of the slowest flow after the last ACK of each point.
func cwnd(s *Scope) Collector {
	first, values := 0, Values(nil)
	return Collector{
		CC: func(r runfolder.CCRow) {
			if r.FlowName != s.Slowest {
				return
			}
			point := s.Point(r.StartUS)
			if values == nil {
				first = point
			}
			for len(values) <= point-first {
				values = append(values, math.NaN())
			}
			values[point-first] = float64(r.Cwnd) / 1000
		},
		Panels: func() []Panel { return s.ofSlowest(first, values) },
	}
}

// ofSlowest returns the panel of a line of the slowest flow, or none when it has no
// value.
func (s *Scope) ofSlowest(first int, values Values) []Panel {
	if len(values) == 0 {
		return nil
	}
	return []Panel{{Flow: s.Slowest, Lines: []Line{{First: first, Values: values}}}}
}

// maxRanks bounds the points of the distribution of completion times.
const maxRanks = 201

// Rank returns the place of point i of the n points of the distribution of completion
// times among as many transfers, from 1: i+1 where every transfer has a point.
func Rank(i, n, transfers int) int {
	if n <= 1 {
		return transfers
	}
	return 1 + int(math.Round(float64(i)*float64(transfers-1)/float64(n-1)))
}

// fct collects the distribution of completion times where there are more transfers
// than lines: the value of point i is the time of the transfer of that rank. Of those
// that did not complete there is none.
func fct(s *Scope) Collector { return s.distribution(MaxGroups, s.FCTs) }

// slowdowns collects the distribution of slowdowns where there are many transfers, as
// fct does that of completion times.
func slowdowns(s *Scope) Collector { return s.distribution(manyFlows, s.Slowdowns) }

// distribution collects a distribution over the transfers, of which some have a value,
// where there are more than few transfers.
func (s *Scope) distribution(few int, sorted []float64) Collector {
	return Collector{Panels: func() []Panel {
		if s.Transfers <= few || len(sorted) == 0 {
			return nil
		}
		values := make(Values, min(s.Transfers, maxRanks))
		for i := range values {
			values[i] = math.NaN()
			if rank := Rank(i, len(values), s.Transfers); rank <= len(sorted) {
				values[i] = sorted[rank-1]
			}
		}
		return []Panel{{Lines: []Line{{Group: Group{Flows: s.Transfers}, Values: values}}}}
	}}
}

// queues collects the mean data queues of the ports that limit the flows. A window
// without a row is one without a packet.
func queues(s *Scope) Collector {
	points := s.Point(s.EndUS-s.PointUS/2) + 1
	means := map[PortID]Values{}
	for _, p := range s.Ports {
		means[p.PortID] = make(Values, points)
	}
	return Collector{
		Port: func(r runfolder.PortRow) {
			if mean, k := means[PortID{r.Node, r.Port}], s.Point(r.StartUS); k < len(mean) {
				mean[k] += float64(r.QueueByteNS) / (s.PointUS * 1000) / 1000
			}
		},
		Panels: func() (panels []Panel) {
			for _, p := range s.Ports {
				if mean := means[p.PortID]; len(mean) > 0 {
					panels = append(panels, Panel{Port: &p.PortID, Lines: []Line{{Values: mean}}})
				}
			}
			return panels
		},
	}
}

// delays collects the mean delay over the ACKs that controllers were fed.
func delays(s *Scope) Collector {
	sums, acks := newTracks(len(s.Groups)), newTracks(len(s.Groups))
	return Collector{
		CC: func(r runfolder.CCRow) {
			if group, ok := s.Group(r.FlowName); ok && r.Acks > 0 {
				point := s.Point(r.StartUS)
				sums[group].add(point, r.DelaySumUS)
				acks[group].add(point, float64(r.Acks))
			}
		},
		Panels: func() []Panel {
			return panelOf(s.lines(sums, func(group, point int) float64 {
				if n := acks[group].at(point); n > 0 {
					return sums[group].at(point) / n
				}
				return math.NaN()
			}))
		},
	}
}

// actions collects how often controllers did what while rates were measured.
func actions(s *Scope) Collector {
	counts := make([]map[string]int64, len(s.Groups))
	for i := range counts {
		counts[i] = map[string]int64{}
	}
	return Collector{
		CC: func(r runfolder.CCRow) {
			if group, ok := s.Group(r.FlowName); ok && s.measured(r.StartUS) {
				for a, n := range r.Actions {
					counts[group][a] += n
				}
			}
		},
		Panels: func() []Panel {
			var bars []Bar
			for i, group := range s.Groups {
				bar, total := Bar{Group: group}, int64(0)
				for _, a := range s.Variant.Actions {
					bar.Parts = append(bar.Parts, Part{a.Name, counts[i][a.Name]})
					total += counts[i][a.Name]
				}
				if total > 0 {
					bars = append(bars, bar)
				}
			}
			if len(bars) == 0 {
				return nil
			}
			return []Panel{{Bars: bars}}
		},
	}
}

// panelOf returns a panel of lines, or none when there is no line.
func panelOf(lines []Line) []Panel {
	if len(lines) == 0 {
		return nil
	}
	return []Panel{{Lines: lines}}
}

// lines returns a line for each group that has a point. The line goes from the
// group's first point to its last.
func (s *Scope) lines(tracks []track, value func(group, point int) float64) []Line {
	var lines []Line
	for i, t := range tracks {
		if len(t.sums) == 0 {
			continue
		}
		l := Line{Group: s.Groups[i], First: t.first, Values: make(Values, len(t.sums))}
		for k := range l.Values {
			l.Values[k] = value(i, t.first+k)
		}
		lines = append(lines, l)
	}
	return lines
}

// track sums values by point, from the first point that has a value to the last.
type track struct {
	first int
	sums  []float64
}

func newTracks(n int) []track { return make([]track, n) }

func (t *track) add(point int, v float64) {
	switch {
	case len(t.sums) == 0:
		t.first = point
	case point < t.first:
		t.sums = append(make([]float64, t.first-point), t.sums...)
		t.first = point
	}
	for point >= t.first+len(t.sums) {
		t.sums = append(t.sums, 0)
	}
	t.sums[point-t.first] += v
}

func (t *track) at(point int) float64 {
	if i := point - t.first; i >= 0 && i < len(t.sums) {
		return t.sums[i]
	}
	return 0
}
