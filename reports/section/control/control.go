// Package control shows what congestion control did: the window of the slowest flow, the delays
// that controllers saw, their actions, and the parameters of ports and flows.
package control

import (
	"fmt"
	"math"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/series"
	"github.com/csiglab/csiglab/reports/words"
)

// Section is the section of congestion control.
type Section struct {
	*series.Collection
	Charts []series.Chart

	r *reading.Reading
}

// New returns the section of a folder.
func New(r *reading.Reading) section.Section {
	return &Section{Collection: series.NewCollection(r, Window, delays, actions), r: r}
}

// Settle implements section.Section.
func (s *Section) Settle() error {
	s.Charts = s.Collection.Charts()
	return nil
}

// Numbers implements section.Section.
func (s *Section) Numbers() map[string]any { return map[string]any{"charts": s.Charts} }

// Window collects the window of the slowest flow after the last ACK of each point.
var Window = series.Kind{ID: "cwnd", Unit: "kB", Compare: func(s *series.Scope) series.Collector {
	first, values := 0, reading.Values(nil)
	return series.Collector{
		CC: func(r *runfolder.CCRow) {
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
		Panels: func() []series.Panel { return series.PanelOfFlow(s.Slowest, first, values) },
	}
}}

// delays collects the mean delay over the ACKs that controllers were fed.
var delays = series.Kind{ID: "delays", Unit: "µs", New: func(s *series.Scope) series.Collector {
	sums, acks := series.NewTracks(len(s.Groups)), series.NewTracks(len(s.Groups))
	return series.Collector{
		CC: func(r *runfolder.CCRow) {
			if group, ok := s.Group(r.FlowName); ok && r.Acks > 0 {
				point := s.Point(r.StartUS)
				sums[group].Add(point, r.DelaySumUS)
				acks[group].Add(point, float64(r.Acks))
			}
		},
		Panels: func() []series.Panel {
			return series.PanelOf(s.Lines(sums, func(group, point int) float64 {
				if n := acks[group].At(point); n > 0 {
					return sums[group].At(point) / n
				}
				return math.NaN()
			}))
		},
	}
}}

// actions collects how often controllers did what while rates were measured.
var actions = series.Kind{ID: "actions", New: func(s *series.Scope) series.Collector {
	counts := make([]map[string]int64, len(s.Groups))
	for i := range counts {
		counts[i] = map[string]int64{}
	}
	return series.Collector{
		CC: func(r *runfolder.CCRow) {
			if group, ok := s.Group(r.FlowName); ok && s.Measured(r.StartUS) {
				for a, n := range r.Actions {
					counts[group][a] += n
				}
			}
		},
		Panels: func() []series.Panel {
			var bars []series.Bar
			for i, group := range s.Groups {
				bar, total := series.Bar{Group: group}, int64(0)
				for _, a := range s.Of.Actions {
					bar.Parts = append(bar.Parts, series.Part{Name: a.Name, Count: counts[i][a.Name]})
					total += counts[i][a.Name]
				}
				if total > 0 {
					bars = append(bars, bar)
				}
			}
			if len(bars) == 0 {
				return nil
			}
			return []series.Panel{{Bars: bars}}
		},
	}
}}

// figures returns the figures of the charts that there are.
func (s *Section) figures() (blocks []section.Block) {
	f := &s.r.Facts
	add := func(figure *chart.Figure, title, caption string) {
		figure.Title, figure.Caption = title, caption
		blocks = append(blocks, figure)
	}
	if c := series.Find(s.Charts, "cwnd"); c != nil {
		add(series.OverTime(f, c, "Window"), "Congestion window of flow "+f.Slowest+phrases.SlowestOf(f),
			"After the last ACK of every point, "+phrases.PerPoint(f)+"."+series.OverSeeds(c))
	}
	if c := series.Find(s.Charts, "delays"); c != nil {
		add(series.OverTime(f, c, "Delay"), "Delay that each flow's congestion control saw",
			"Mean over the ACKs of a point, "+phrases.PerPoint(f)+". The level line is the target that CC steers to.")
	}
	if c := series.Find(s.Charts, "actions"); c != nil {
		add(series.Shares(f, c, "Share of ACKs", s.labels), "What congestion control did", "Share of the ACKs, by the action taken, from "+phrases.MeasuredFrom(f)+".")
	}
	return blocks
}

// labels returns the names of an action in legends and in bars, which the manifest keeps with
// the variants.
func (s *Section) labels(action string) (name, short string) {
	for _, v := range s.r.Variants {
		for _, a := range v.Actions {
			if a.Name == action {
				return a.Label, a.Short
			}
		}
	}
	return action, action
}

// Parts implements section.Section.
func (s *Section) Parts() (parts []section.Part) {
	if blocks := s.figures(); blocks != nil {
		p := section.Part{ID: "control", Title: "Congestion control", Blocks: blocks}
		p.Says, p.Level = s.windows()
		parts = append(parts, p)
	}
	ports, flows := portParameters(s.r.Variants), flowParameters(s.r.Variants)
	if len(ports.Rows) > 0 {
		parts = append(parts, section.Part{ID: "parameters", Title: "Parameters", Says: "What auto became: queues, thresholds, RTTs, windows.", Blocks: []section.Block{ports, flows}})
	}
	return parts
}

// otherWindow is how much greater or smaller a mean window is that counts as another one.
const otherWindow = 0.1

// windows says how large the window of the slowest flow is on average.
func (s *Section) windows() (text string, level section.Level) {
	c := series.Find(s.Charts, "cwnd")
	if c == nil {
		return "", section.Quiet
	}
	var texts []string
	low, high := math.Inf(1), 0.0
	for _, l := range c.Panels[0].Lines {
		sum, n := 0.0, 0
		for _, v := range l.Values {
			if !math.IsNaN(v) {
				sum, n = sum+v, n+1
			}
		}
		mean := sum / float64(n) // the collector makes no line without a value
		low, high = min(low, mean), max(high, mean)
		texts = append(texts, words.Amount(mean, words.Sizes)+phrases.In(&s.r.Facts, l.Variant))
	}
	if high > low*(1+otherWindow) {
		level = section.Plain
	}
	return fmt.Sprintf("The window of flow %s is on average %s.", c.Panels[0].Flow, words.List(texts)), level
}
