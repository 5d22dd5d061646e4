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
	series.Charted

	r *reading.Reading
}

// New returns the section of a folder.
func New(r *reading.Reading) section.Section {
	return &Section{Charted: series.NewCharted(r, Window, delays, actions), r: r}
}

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

// window returns the figure of the window of the slowest flow, in all variants; nil without.
func (s *Section) window() *chart.Figure {
	return s.Figure("cwnd", "Window", "Congestion window of flow "+s.r.Slowest+phrases.SlowestOf(&s.r.Facts), "After the last ACK of every point")
}

// controllers returns the figures of what controllers saw and did.
func (s *Section) controllers() (blocks []section.Block) {
	if f := s.Figure("delays", "Delay", "Delay that each flow's congestion control saw", "Mean over the ACKs of a point"); f != nil {
		f.Caption += " The level line is the target that CC steers to."
		blocks = append(blocks, f)
	}
	if c := series.Find(s.Charts, "actions"); c != nil {
		f := series.Shares(&s.r.Facts, c, "Share of ACKs", s.labels)
		f.Title = "What congestion control did"
		f.Caption = "Share of the ACKs, by the action taken, from " + phrases.MeasuredFrom(&s.r.Facts) + "."
		blocks = append(blocks, f)
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

// Figures returns the figures of charts that compare variants: the window of the slowest flow.
// Charts and facts may be those of two folders.
func Figures(f *reading.Facts, charts []series.Chart) []*chart.Figure {
	s := &Section{Charted: series.Charted{Facts: f, Charts: charts}, r: &reading.Reading{Facts: *f}}
	return series.Present(s.window())
}

// Parts implements section.Section.
func (s *Section) Parts() (parts []section.Part) {
	if f := s.window(); f != nil {
		p := section.Part{ID: "windows", Title: "Congestion window", Blocks: []section.Block{f}}
		p.Says, p.Level = s.windows()
		parts = append(parts, p)
	}
	if blocks := s.controllers(); blocks != nil {
		parts = append(parts, section.Part{ID: "control", Title: "Congestion control", Says: s.mostOften(), Blocks: blocks})
	}
	ports, flows := portParameters(s.r.Variants), flowParameters(s.r.Variants)
	if len(ports.Rows) > 0 {
		parts = append(parts, section.Part{ID: "parameters", Title: "Parameters", Says: "What auto became: queues, thresholds, RTTs, windows.", Blocks: []section.Block{ports, flows}})
	}
	return parts
}

// otherWindow is how much greater or smaller a mean window is that counts as another one.
const otherWindow = 0.1

// measured reports whether the middle of a point lies in the measuring window.
func (s *Section) measured(point int) bool {
	at, w := (float64(point)+0.5)*s.r.PointUS, s.r.Setup.Measure
	return at >= w.FromUS && (w.ToUS == 0 || at <= w.ToUS)
}

// windows says how large the window of the slowest flow is on average while measured.
func (s *Section) windows() (text string, level section.Level) {
	panel := &series.Find(s.Charts, "cwnd").Panels[0]
	var texts []string
	low, high := math.Inf(1), 0.0
	for _, l := range panel.Lines {
		sum, n := 0.0, 0
		for i, v := range l.Values {
			if !math.IsNaN(v) && s.measured(l.First+i) {
				sum, n = sum+v, n+1
			}
		}
		if n == 0 {
			continue
		}
		mean := sum / float64(n)
		low, high = min(low, mean), max(high, mean)
		texts = append(texts, words.Amount(mean, words.Sizes)+phrases.In(&s.r.Facts, l.Variant))
	}
	if texts == nil {
		return "", section.Quiet
	}
	if high > low*(1+otherWindow) {
		level = section.Plain
	}
	return fmt.Sprintf("The window of flow %s is on average %s.", panel.Flow, words.List(texts)), level
}

// mostOften says which action the controllers of the first variant with some took most often.
func (s *Section) mostOften() string {
	c := series.Find(s.Charts, "actions")
	if c == nil {
		return ""
	}
	panel := &c.Panels[0]
	counts, total, most := map[string]int64{}, int64(0), ""
	for _, b := range panel.Bars {
		for _, part := range b.Parts {
			counts[part.Name] += part.Count
			total += part.Count
		}
	}
	for _, name := range words.SortedKeys(counts) {
		if most == "" || counts[name] > counts[most] {
			most = name
		}
	}
	label, _ := s.labels(most)
	return fmt.Sprintf("The most frequent action%s is %s: %s of the ACKs.", phrases.In(&s.r.Facts, panel.Variant), label, words.Percent(float64(counts[most])/float64(total)))
}
