package series

import (
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
)

// PanelOf returns a panel of lines, or none when there is no line.
func PanelOf(lines []Line) []Panel {
	if len(lines) == 0 {
		return nil
	}
	return []Panel{{Lines: lines}}
}

// OfPorts collects a quantity of the charted ports: a point is the sum of what its windows add.
// A window without a row, which is one without a packet, adds nothing.
func (s *Scope) OfPorts(of func(r *runfolder.PortRow) float64) Collector {
	points := max(s.Point(s.EndUS-s.PointUS/2)+1, 0)
	sums := map[reading.PortID]reading.Values{}
	for _, p := range s.Charted {
		sums[p.PortID] = make(reading.Values, points)
	}
	return Collector{
		Port: func(r *runfolder.PortRow) {
			if sum, k := sums[reading.PortID{Node: r.Node, Port: r.Port}], s.Point(r.StartUS); k >= 0 && k < len(sum) {
				sum[k] += of(r)
			}
		},
		Panels: func() (panels []Panel) {
			for _, p := range s.Charted {
				if sum := sums[p.PortID]; len(sum) > 0 {
					panels = append(panels, Panel{Port: &p.PortID, Lines: []Line{{Values: sum}}})
				}
			}
			return panels
		},
	}
}

// Lines returns a line for each group that has a point. The line goes from the
// group's first point to its last.
func (s *Scope) Lines(tracks []Track, value func(group, point int) float64) []Line {
	var lines []Line
	for i, t := range tracks {
		if len(t.Sums) == 0 {
			continue
		}
		l := Line{Group: s.Groups[i], First: t.First, Values: make(reading.Values, len(t.Sums))}
		for k := range l.Values {
			l.Values[k] = value(i, t.First+k)
		}
		lines = append(lines, l)
	}
	return lines
}

// Track sums values by point, from the first point that has a value to the last.
type Track struct {
	First int
	Sums  []float64
}

// NewTracks returns n empty tracks.
func NewTracks(n int) []Track { return make([]Track, n) }

// Add adds a value at a point.
func (t *Track) Add(point int, v float64) {
	switch {
	case len(t.Sums) == 0:
		t.First = point
	case point < t.First:
		t.Sums = append(make([]float64, t.First-point), t.Sums...)
		t.First = point
	}
	for point >= t.First+len(t.Sums) {
		t.Sums = append(t.Sums, 0)
	}
	t.Sums[point-t.First] += v
}

// At returns the sum of a point; 0 without a value.
func (t *Track) At(point int) float64 {
	if i := point - t.First; i >= 0 && i < len(t.Sums) {
		return t.Sums[i]
	}
	return 0
}

// Total returns the sum of all points.
func (t *Track) Total() (sum float64) {
	for _, v := range t.Sums {
		sum += v
	}
	return sum
}

// PanelOfFlow returns the panel of a line of a flow, or none when it has no value.
func PanelOfFlow(flow string, first int, values []float64) []Panel {
	if len(values) == 0 {
		return nil
	}
	return []Panel{{Flow: flow, Lines: []Line{{First: first, Values: values}}}}
}

// Find returns the chart of an ID, nil without.
func Find(charts []Chart, id string) *Chart {
	for i := range charts {
		if charts[i].ID == id {
			return &charts[i]
		}
	}
	return nil
}
