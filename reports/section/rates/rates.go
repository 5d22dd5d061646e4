// Package rates shows how fast flows are over time: the slowest one in all variants, and each
// in its variant.
package rates

import (
	"fmt"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/series"
	"github.com/csiglab/csiglab/reports/words"
)

// Section is the section of rates.
type Section struct {
	series.Charted

	r *reading.Reading
}

// New returns the section of a folder.
func New(r *reading.Reading) section.Section {
	return &Section{Charted: series.NewCharted(r, Slowest, throughput), r: r}
}

// Slowest collects the wire rate of the slowest flow.
var Slowest = series.Kind{ID: "slowest", Unit: "Gb/s", Compare: func(s *series.Scope) series.Collector {
	var bytes series.Track
	return series.Collector{
		Flow: func(r *runfolder.FlowRow) {
			if r.FlowName == s.Slowest {
				bytes.Add(s.Point(r.StartUS), float64(r.WireBytes)*8/1000/s.PointUS)
			}
		},
		Panels: func() []series.Panel { return series.PanelOfFlow(s.Slowest, bytes.First, bytes.Sums) },
	}
}}

// throughput collects the wire rate at the receivers.
var throughput = series.Kind{ID: "throughput", Unit: "Gb/s", New: func(s *series.Scope) series.Collector {
	bytes := series.NewTracks(len(s.Groups))
	return series.Collector{
		Flow: func(r *runfolder.FlowRow) {
			if group, ok := s.Group(r.FlowName); ok {
				bytes[group].Add(s.Point(r.StartUS), float64(r.WireBytes))
			}
		},
		Panels: func() []series.Panel {
			return series.PanelOf(s.Lines(bytes, func(group, point int) float64 {
				return bytes[group].At(point) * 8 / 1000 / s.PointUS / float64(s.Groups[group].Flows)
			}))
		},
	}
}}

// First returns the figure for the first screen: the rate of the slowest flow; nil without.
func (s *Section) First() *chart.Figure {
	return s.Figure("slowest", "Rate", "Rate of flow "+s.r.Slowest+phrases.SlowestOf(&s.r.Facts), "Wire rate at the receiver")
}

// Figures returns the figures of charts that compare variants: the rate of the slowest flow. Charts
// and facts may be those of two folders.
func Figures(f *reading.Facts, charts []series.Chart) []*chart.Figure {
	s := &Section{Charted: series.Charted{Facts: f, Charts: charts}, r: &reading.Reading{Facts: *f}}
	return series.Present(s.First())
}

// Parts implements section.Section.
func (s *Section) Parts() []section.Part {
	p := section.Part{ID: "rates", Title: "Rates of flows"}
	for _, f := range series.Present(s.First(), s.Figure("throughput", "Throughput", "Throughput of each flow", "Wire rate at the receiver")) {
		p.Blocks = append(p.Blocks, f)
	}
	if p.Blocks == nil {
		return nil
	}
	p.Says, p.Level = s.says()
	return []section.Part{p}
}

// says says how even the rates are.
func (s *Section) says() (text string, level section.Level) {
	of := s.r.Sharing
	switch {
	case len(s.r.Completion) == 0 && len(s.r.Programs) > 0:
		return "", section.Plain // they are all that there is
	case of == nil || len(of.Rates) == 0:
		return "Of each flow over time.", section.Quiet
	case of.Even:
		return fmt.Sprintf("In %s the slowest of %d flows gets nearly as much as the fastest.", of.Rates[0].Variant, of.Flows), section.Quiet
	}
	var texts []string
	for _, rates := range of.Rates {
		texts = append(texts, fmt.Sprintf("%s (others %s) in %s", words.Amount(rates.SlowestGbps, words.BitRates), words.Amount(rates.OthersGbps, words.BitRates), rates.Variant))
	}
	if level = section.Telling; of.OwnTimes {
		level = section.Plain
	}
	return fmt.Sprintf("Flow %s gets %s.", of.Slowest, words.List(texts)), level
}
