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

// Panel holds the lines or bars of one variant, of the seed that charts show. In a
// chart that compares variants it holds a line for each of them, over all seeds.
type Panel struct {
	Variant string  `json:"variant,omitempty"` // "" when the panel compares variants
	Flow    string  `json:"flow,omitempty"`    // that all lines are of
	Port    *PortID `json:"port,omitempty"`    // that all lines are of: one of Scope.Ports
	Lines   []Line  `json:"lines,omitempty"`
	Levels  []Level `json:"levels,omitempty"`
	Bars    []Bar   `json:"bars,omitempty"`
}

// Line is a series over time: of a group of flows, of a variant or of ports.
type Line struct {
	Group
	Variant string   `json:"variant,omitempty"` // in a panel that compares variants
	Ports   []string `json:"ports,omitempty"`   // that tags name: one, or several that share a locator; noPort, OtherPorts
	First   int      `json:"first"`             // the point of the first value
	Values  Values   `json:"values"`            // one per point; of a variant the medians over the seeds
	Low     Values   `json:"low,omitempty"`     // least of the seeds, of a variant with several
	High    Values   `json:"high,omitempty"`    // greatest of them
}

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
	// Compare is set in place of New by a chart that compares variants. It returns the
	// collector for one run.
	Compare func(*Scope) Collector
}

// Collector collects the numbers of one chart from the rows of one run, in the order
// of the tables: of the shown seed of one variant, or of each run of a chart that
// compares variants. A function may be nil: then the chart does not need that table.
type Collector struct {
	Port   func(runfolder.PortRow)
	Flow   func(runfolder.FlowRow)
	CC     func(runfolder.CCRow)
	Signal func(runfolder.SignalRow)
	// Panels returns the panels after the last row. Read fills in their variant, and
	// adds the constants of CC that are levels in this chart. Of a chart that compares
	// variants each panel has one line; Read joins those of the same flow and port.
	Panels func() []Panel
}

// Scope holds what collectors need to know about one run: what the manifest says and
// what the first pass found.
type Scope struct {
	Manifest *runfolder.Manifest
	Variant  *runfolder.Variant
	Groups   []Group
	Ports    []Port  // Findings.Ports, in an overlay those of both sides, without those that the variant lacks
	PointUS  float64 // time between two points
	EndUS    float64 // when the last window of the run ends
	Slowest  string  // Result.Slowest
	// Transfers is the number of transfers of the variant, and FCTs are the completion
	// times in µs of those that completed in the run, ascending.
	Transfers int
	FCTs      []float64
	Slowdowns []float64 // of the transfers that completed in the run, ascending; nil if not known

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

// measured reports whether a window belongs to the measuring window.
func (s *Scope) measured(startUS float64) bool { return inWindow(s.Manifest, startUS) }

// maxBand bounds the seeds of a variant that charts compare, for their memory.
const maxBand = 64

// readCharts makes the second pass over the tables, for the charts and for products.
func (g *reading) readCharts(r *Result, group map[string]int, products *products, kinds []ChartKind) ([]Chart, error) {
	f, t := g.folder, g.totals
	m := &f.Manifest
	panels := make([][]func() []Panel, len(kinds)) // by kind and variant
	bands := make([]bands, len(kinds))             // by kind
	var ports feed[runfolder.PortRow]
	var flows feed[runfolder.FlowRow]
	var cc feed[runfolder.CCRow]
	var signals feed[runfolder.SignalRow]
	add := func(of run, c Collector) {
		ports.add(of, c.Port)
		flows.add(of, c.Flow)
		cc.add(of, c.CC)
		signals.add(of, c.Signal)
	}
	for i := range m.Variants {
		v := &m.Variants[i]
		scope := Scope{Manifest: m, Variant: v, Groups: r.Groups, PointUS: r.PointUS, Slowest: r.Slowest, group: group}
		scope.Transfers = countCompleting(m.FirstFlows(v.Name))
		for _, p := range g.charted {
			if _, ok := p.In(v.Name); ok {
				scope.Ports = append(scope.Ports, p)
			}
		}
		of := func(r run) *Scope {
			own := scope
			own.EndUS, own.FCTs = t.ends[r], g.done.times[r]
			own.Slowdowns = g.metrics.slowdownsOf(r, len(own.FCTs))
			return &own
		}
		shown := run{v.Name, t.shown[v.Name]}
		for k := range kinds {
			if kinds[k].Compare == nil {
				c := kinds[k].New(of(shown))
				panels[k] = append(panels[k], c.Panels)
				add(shown, c)
				continue
			}
			for _, seed := range t.seeds[v.Name][:min(maxBand, len(t.seeds[v.Name]))] {
				r := run{v.Name, seed}
				c := kinds[k].Compare(of(r))
				bands[k] = append(bands[k], runPanels{v.Name, c.Panels})
				add(r, c)
			}
		}
	}
	products.collect(add)
	for _, read := range []func() error{
		func() error {
			return ports.read(f.Ports(), func(r *runfolder.PortRow) run { return run{r.Variant, r.Seed} })
		},
		func() error {
			return flows.read(f.Flows(), func(r *runfolder.FlowRow) run { return run{r.Variant, r.Seed} })
		},
		func() error {
			return cc.read(f.CC(), func(r *runfolder.CCRow) run { return run{r.Variant, r.Seed} })
		},
		func() error {
			return signals.read(f.Signals(), func(r *runfolder.SignalRow) run { return run{r.Variant, r.Seed} })
		},
	} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	charts := []Chart{}
	for k, kind := range kinds {
		c := Chart{ID: kind.ID, Unit: kind.Unit}
		if kind.Compare != nil {
			c.Panels = bands[k].panels()
		}
		for i, of := range panels[k] {
			v := &m.Variants[i]
			for _, p := range of() {
				p.Variant = v.Name
				p.Levels = append(p.Levels, levelsOf(v, kind.ID)...)
				c.Panels = append(c.Panels, p)
			}
		}
		if len(c.Panels) > 0 {
			charts = append(charts, c)
		}
	}
	return charts, nil
}

// bands are the panels of the runs of a chart that compares variants, by variant in
// the experiment's order, and seed.
type bands []runPanels

type runPanels struct {
	variant string
	panels  func() []Panel
}

// panels joins the panels of the same flow and port: the lines of a variant's seeds
// become one line with a band.
func (b bands) panels() []Panel {
	type key struct {
		flow string
		port PortID
	}
	index := map[key]int{}
	var all []Panel
	var seeds [][][]Line // by panel, by line: those of the seeds
	for _, r := range b {
		for _, p := range r.panels() {
			k := key{flow: p.Flow, port: PortID{-1, -1}}
			if p.Port != nil {
				k.port = *p.Port
			}
			i, ok := index[k]
			if !ok {
				i = len(all)
				index[k] = i
				all, seeds = append(all, Panel{Flow: p.Flow, Port: p.Port, Levels: p.Levels}), append(seeds, nil)
			}
			if n := len(all[i].Lines); n == 0 || all[i].Lines[n-1].Variant != r.variant {
				all[i].Lines, seeds[i] = append(all[i].Lines, Line{Variant: r.variant}), append(seeds[i], nil)
			}
			last := len(seeds[i]) - 1
			seeds[i][last] = append(seeds[i][last], p.Lines[0])
		}
	}
	for i := range all {
		for k := range all[i].Lines {
			all[i].Lines[k].join(seeds[i][k])
		}
	}
	return all
}

// join sets the values of a line to the medians of the lines of seeds, and its band
// to their range. Where fewer than half of them have a value there is none.
func (l *Line) join(seeds []Line) {
	end := 0
	l.Group, l.First = seeds[0].Group, seeds[0].First
	for _, s := range seeds {
		l.First, end = min(l.First, s.First), max(end, s.First+len(s.Values))
	}
	l.Values = make(Values, end-l.First)
	if len(seeds) > 1 {
		l.Low, l.High = make(Values, len(l.Values)), make(Values, len(l.Values))
	}
	values := make([]float64, 0, len(seeds))
	for i := range l.Values {
		values = values[:0]
		for _, s := range seeds {
			if at := l.First + i - s.First; at >= 0 && at < len(s.Values) && !math.IsNaN(s.Values[at]) {
				values = append(values, s.Values[at])
			}
		}
		median, low, high := math.NaN(), math.NaN(), math.NaN()
		if 2*len(values) >= len(seeds) {
			spread := spreadOf(values)
			median, low, high = runfolder.Median(values), spread.Min, spread.Max
		}
		l.Values[i] = median
		if l.Low != nil {
			l.Low[i], l.High[i] = low, high
		}
	}
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

// feed passes the rows of one table to the collectors of their run.
type feed[Row any] map[run][]func(Row)

func (f *feed[Row]) add(of run, collect func(Row)) {
	if collect == nil {
		return
	}
	if *f == nil {
		*f = feed[Row]{}
	}
	(*f)[of] = append((*f)[of], collect)
}

// read reads the table when there is a collector for it.
func (f feed[Row]) read(rows iter.Seq2[Row, error], of func(*Row) run) error {
	if len(f) == 0 {
		return nil
	}
	for row, err := range rows {
		if err != nil {
			return err
		}
		for _, collect := range f[of(&row)] {
			collect(row)
		}
	}
	return nil
}
