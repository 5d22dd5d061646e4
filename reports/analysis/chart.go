package analysis

import (
	"iter"
	"math"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Chart holds the series of one chart.
type Chart struct {
	ID     string  `json:"id"`
	Unit   string  `json:"unit"` // of lines and levels
	Panels []Panel `json:"panels"`
}

// Panel holds the lines or bars of one variant, or of one port in one variant.
// They are of the seed that charts show.
type Panel struct {
	Variant string  `json:"variant"`
	Port    *PortID `json:"port,omitempty"` // one of Findings.Ports, of a chart of ports
	Lines   []Line  `json:"lines,omitempty"`
	Levels  []Level `json:"levels,omitempty"`
	Bars    []Bar   `json:"bars,omitempty"`
}

// Line is a series over time: of a group of flows or of a statistic.
type Line struct {
	Group
	Statistic string `json:"statistic,omitempty"` // Mean or Largest of a point, when the line is of no group
	First     int    `json:"first"`               // the point of the first value
	Values    Values `json:"values"`              // one per point
}

// Statistics of the windows of a point.
const (
	Mean    = "mean"
	Largest = "largest"
)

// Level is a constant value to compare lines with.
type Level struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// Bar holds the counts of one group of flows.
type Bar struct {
	Group
	Parts []Part `json:"parts"`
}

// Part is one part of a bar.
type Part struct {
	Name  string `json:"name"`
	Count int64  `json:"count"`
}

// ChartKind is an entry of the table of charts: it says how the numbers of one
// chart are collected. The package reports has a table of the same IDs that says
// how they are drawn.
type ChartKind struct {
	ID   string
	Unit string
	// New returns the collector for one variant. The collector may keep the scope.
	New func(*Scope) Collector
}

// Collector collects the numbers of one chart from the rows of the shown seed of
// one variant, in the order of the tables. A function may be nil: then the chart
// does not need that table.
type Collector struct {
	Port   func(runfolder.PortRow)
	Flow   func(runfolder.FlowRow)
	CC     func(runfolder.CCRow)
	Signal func(runfolder.SignalRow)
	// Panels returns the panels after the last row. Read fills in their variant, and
	// adds the constants of CC that are levels in this chart.
	Panels func() []Panel
}

// Scope holds what collectors need to know about one variant: what the manifest
// says and what the first pass found.
type Scope struct {
	Manifest *runfolder.Manifest
	Variant  *runfolder.Variant
	Groups   []Group
	Ports    []Port  // Findings.Ports, without those that the variant lacks
	PointUS  float64 // time between two points
	EndUS    float64 // when the last window of the shown seed ends

	group map[string]int
}

// Group returns the index in Groups of a flow's group. It reports whether charts
// show the flow: they leave out programs of which no receiver got anything.
func (s *Scope) Group(flow string) (index int, ok bool) {
	index, ok = s.group[flow]
	return index, ok
}

// Point returns the point of a chart that a window belongs to.
func (s *Scope) Point(startUS float64) int { return int(math.Floor(startUS/s.PointUS + 1e-6)) }

// Measured reports whether a window belongs to the measuring window.
func (s *Scope) Measured(startUS float64) bool { return inWindow(s.Manifest, startUS) }

// readCharts makes the second pass over the tables.
func readCharts(f *runfolder.Folder, r *Result, t *totals, group map[string]int, kinds []ChartKind) ([]Chart, error) {
	m := &f.Manifest
	panels := make([][]func() []Panel, len(kinds)) // by kind and variant
	var ports feed[runfolder.PortRow]
	var flows feed[runfolder.FlowRow]
	var cc feed[runfolder.CCRow]
	var signals feed[runfolder.SignalRow]
	for i := range m.Variants {
		v := &m.Variants[i]
		shown := run{v.Name, t.shown[v.Name]}
		scope := Scope{Manifest: m, Variant: v, Groups: r.Groups, PointUS: r.PointUS, EndUS: t.ends[shown], group: group}
		for _, p := range r.Findings.Ports {
			if _, ok := p.In(v.Name); ok {
				scope.Ports = append(scope.Ports, p)
			}
		}
		for k := range kinds {
			own := scope
			c := kinds[k].New(&own)
			panels[k] = append(panels[k], c.Panels)
			ports.add(v.Name, c.Port)
			flows.add(v.Name, c.Flow)
			cc.add(v.Name, c.CC)
			signals.add(v.Name, c.Signal)
		}
	}
	for _, read := range []func() error{
		func() error {
			return ports.read(f.Ports(), t, func(r *runfolder.PortRow) (string, uint64) { return r.Variant, r.Seed })
		},
		func() error {
			return flows.read(f.Flows(), t, func(r *runfolder.FlowRow) (string, uint64) { return r.Variant, r.Seed })
		},
		func() error {
			return cc.read(f.CC(), t, func(r *runfolder.CCRow) (string, uint64) { return r.Variant, r.Seed })
		},
		func() error {
			return signals.read(f.Signals(), t, func(r *runfolder.SignalRow) (string, uint64) { return r.Variant, r.Seed })
		},
	} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	charts := []Chart{}
	for k, kind := range kinds {
		c := Chart{ID: kind.ID, Unit: kind.Unit}
		for i, v := range m.Variants {
			for _, p := range panels[k][i]() {
				p.Variant = v.Name
				p.Levels = append(p.Levels, levelsOf(&v, kind.ID)...)
				c.Panels = append(c.Panels, p)
			}
		}
		if len(c.Panels) > 0 {
			charts = append(charts, c)
		}
	}
	return charts, nil
}

// levelsOf returns the constants of a variant's CC that are levels in a chart.
func levelsOf(v *runfolder.Variant, chart string) []Level {
	var levels []Level
	for _, c := range v.Constants {
		if c.Chart == chart {
			levels = append(levels, Level{c.Short, c.Value})
		}
	}
	return levels
}

// feed passes the rows of one table to the collectors of their variant.
type feed[Row any] map[string][]func(Row)

func (f *feed[Row]) add(variant string, collect func(Row)) {
	if collect == nil {
		return
	}
	if *f == nil {
		*f = feed[Row]{}
	}
	(*f)[variant] = append((*f)[variant], collect)
}

// read reads the table when there is a collector for it.
func (f feed[Row]) read(rows iter.Seq2[Row, error], t *totals, of func(*Row) (variant string, seed uint64)) error {
	if len(f) == 0 {
		return nil
	}
	for row, err := range rows {
		if err != nil {
			return err
		}
		if variant, seed := of(&row); t.isShown(variant, seed) {
			for _, collect := range f[variant] {
				collect(row)
			}
		}
	}
	return nil
}
