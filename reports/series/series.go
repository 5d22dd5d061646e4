// Package series collects lines over time and bars for the charts of a report: values by point
// from the rows of one run, or of all seeds of a variant with the band that they span. A
// section that has such charts lists their kinds and reads them with a Collection.
package series

import (
	"math"
	"slices"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/reading"
)

// MaxGroups bounds the lines of flows of a panel: reading.MaxGroups.
const MaxGroups = reading.MaxGroups

// Chart holds the series of one chart.
type Chart struct {
	ID     string  `json:"id"`
	Unit   string  `json:"unit"` // of lines and levels
	Panels []Panel `json:"panels"`
}

// Panel holds the lines or bars of one variant, of the seed that charts show. In a
// chart that compares variants it holds a line for each of them, over all seeds.
type Panel struct {
	Variant string          `json:"variant,omitempty"` // "" when the panel compares variants
	Flow    string          `json:"flow,omitempty"`    // that all lines are of
	Port    *reading.PortID `json:"port,omitempty"`    // that all lines are of: one of Scope.Ports
	Lines   []Line          `json:"lines,omitempty"`
	Levels  []Level         `json:"levels,omitempty"`
	Bars    []Bar           `json:"bars,omitempty"`
}

// Line is a series over time: of a group of flows, of a variant or of ports.
type Line struct {
	reading.Group
	Variant string         `json:"variant,omitempty"` // in a panel that compares variants
	Ports   []string       `json:"ports,omitempty"`   // that tags name: one, or several that share a locator; or a text in place of ports
	Slowed  bool           `json:"slowed,omitempty"`  // a fault lowered the rate of a link of Ports
	First   int            `json:"first"`             // the point of the first value
	Values  reading.Values `json:"values"`            // one per point; of a variant the medians over the seeds
	Low     reading.Values `json:"low,omitempty"`     // least of the seeds, of a variant with several
	High    reading.Values `json:"high,omitempty"`    // greatest of them
}

// Level is a constant value to compare lines with.
type Level struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// Bar holds the counts of one group of flows.
type Bar struct {
	reading.Group
	Parts []Part `json:"parts"`
}

// Part is one part of a bar.
type Part struct {
	Name  string `json:"name"`
	Count int64  `json:"count"`
}

// Kind says how the numbers of one chart are collected. One of New and Compare is set.
type Kind struct {
	ID   string
	Unit string
	// New returns the collector for one variant. The collector may keep the scope.
	New func(*Scope) Collector
	// Compare is set in place of New by a chart that compares variants. It returns the
	// collector for one run.
	Compare func(*Scope) Collector
}

// Collector collects the numbers of one chart from the rows of one run, in the order
// of the tables: of the shown seed of one variant, or of each run of a chart that
// compares variants. A function may be nil: then the chart does not need that table.
type Collector struct {
	Port   func(*runfolder.PortRow)
	Flow   func(*runfolder.FlowRow)
	CC     func(*runfolder.CCRow)
	Signal func(*runfolder.SignalRow)
	// Panels returns the panels after the last row. The collection fills in their variant, and
	// adds the constants of CC that are levels in this chart. Of a chart that compares
	// variants each panel has one line; the collection joins those of the same flow and port.
	Panels func() []Panel
}

// Scope holds what collectors need to know about one run.
type Scope struct {
	*reading.Reading
	Of      *runfolder.Variant
	Run     reading.RunID
	Charted []reading.Port // of Collection.Ports those that the variant has
	EndUS   float64        // when the last window of the run ends
}

// Point returns the point of a chart that a window belongs to.
func (s *Scope) Point(startUS float64) int { return int(math.Floor(startUS/s.PointUS + 1e-6)) }

// maxBand bounds the seeds of a variant that charts compare, for their memory.
const maxBand = 64

// Collection reads the charts of some kinds.
type Collection struct {
	Kinds []Kind
	Ports []reading.Port // of charts of ports; nil: reading.Facts.Limits

	r      *reading.Reading
	panels [][]func() []Panel // by kind and variant
	bands  []bands            // by kind
}

// NewCollection returns a collection of kinds.
func NewCollection(r *reading.Reading, kinds ...Kind) *Collection {
	return &Collection{Kinds: kinds, r: r}
}

// Pass implements reading.Reader. A collection reads in the pass after the survey.
func (c *Collection) Pass(n int, p *reading.Pass) error {
	if n != 1 {
		return nil
	}
	m, t := c.r.Manifest, c.r.Totals
	c.panels, c.bands = make([][]func() []Panel, len(c.Kinds)), make([]bands, len(c.Kinds))
	if c.Ports == nil {
		c.Ports = c.r.Limits
	}
	for i := range m.Variants {
		v := &m.Variants[i]
		var ports []reading.Port
		for _, port := range c.Ports {
			if _, ok := port.In(v.Name); ok {
				ports = append(ports, port)
			}
		}
		of := func(r reading.RunID) *Scope { return &Scope{c.r, v, r, ports, t.Ends[r]} }
		shown := c.r.ShownRun(v.Name)
		for k := range c.Kinds {
			if c.Kinds[k].Compare == nil {
				one := c.Kinds[k].New(of(shown))
				c.panels[k] = append(c.panels[k], one.Panels)
				one.ask(p, shown)
				continue
			}
			runs := c.r.RunsOf(v.Name)
			for _, r := range runs[:min(maxBand, len(runs))] {
				one := c.Kinds[k].Compare(of(r))
				c.bands[k] = append(c.bands[k], runPanels{v.Name, one.Panels})
				one.ask(p, r)
			}
		}
	}
	return nil
}

// ask asks for the rows that the collector wants.
func (c *Collector) ask(p *reading.Pass, r reading.RunID) {
	if c.Port != nil {
		p.Ports(c.Port, r)
	}
	if c.Flow != nil {
		p.Flows(c.Flow, r)
	}
	if c.CC != nil {
		p.CC(c.CC, r)
	}
	if c.Signal != nil {
		p.Signals(c.Signal, r)
	}
}

// Charts returns the charts that have a panel, when the tables have been read.
func (c *Collection) Charts() []Chart {
	charts := []Chart{}
	for k, kind := range c.Kinds {
		one := Chart{ID: kind.ID, Unit: kind.Unit}
		if kind.Compare != nil {
			one.Panels = c.bands[k].panels()
		}
		for i, of := range c.panels[k] {
			v := &c.r.Manifest.Variants[i]
			for _, p := range of() {
				p.Variant = v.Name
				p.Levels = append(p.Levels, LevelsOf(v, kind.ID)...)
				one.Panels = append(one.Panels, p)
			}
		}
		if len(one.Panels) > 0 {
			charts = append(charts, one)
		}
	}
	return charts
}

// Charted is what sections with charts have in common: it reads the charts, which are numbers.
type Charted struct {
	*Collection
	Facts  *reading.Facts
	Charts []Chart // after Settle
}

// NewCharted returns a reader of charts of some kinds.
func NewCharted(r *reading.Reading, kinds ...Kind) Charted {
	return Charted{Collection: NewCollection(r, kinds...), Facts: &r.Facts}
}

// Settle implements section.Section.
func (c *Charted) Settle() error {
	c.Charts = c.Collection.Charts()
	return nil
}

// Numbers implements section.Section.
func (c *Charted) Numbers() map[string]any { return map[string]any{"charts": c.Charts} }

// Figure returns the figure of a chart over time, nil without. The caption says what points are,
// and goes on with how long they are.
func (c *Charted) Figure(id, quantity, title, caption string) *chart.Figure {
	one := Find(c.Charts, id)
	if one == nil {
		return nil
	}
	f := OverTime(c.Facts, one, quantity)
	f.Title, f.Caption = title, caption+", "+phrases.PerPoint(c.Facts)+"."+OverSeeds(one)
	return f
}

// Present returns the figures that are not nil.
func Present(figures ...*chart.Figure) []*chart.Figure {
	return slices.DeleteFunc(figures, func(f *chart.Figure) bool { return f == nil })
}

// LevelsOf returns the constants of a variant's CC that are levels in a chart.
func LevelsOf(v *runfolder.Variant, chart string) []Level {
	var levels []Level
	for _, c := range v.Constants {
		if c.Chart == chart {
			levels = append(levels, Level{c.Short, c.Value})
		}
	}
	return levels
}
