// Package queues shows the queues of ports: of those that limit the flows over time, of a large
// fabric by class and at the worst ports, and where packets were dropped and trimmed.
package queues

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/series"
	"github.com/csiglab/csiglab/reports/words"
)

// Section is the section of queues.
type Section struct {
	series.Charted
	Many *Many // nil unless there are many ports

	r *reading.Reading
}

// New returns the section of a folder.
func New(r *reading.Reading) section.Section {
	return &Section{Charted: series.NewCharted(r, Queues), r: r}
}

// Settle implements section.Section.
func (s *Section) Settle() error {
	s.Many = manyOf(s.r.Manifest, s.r.Ports)
	return s.Charted.Settle()
}

// Numbers implements section.Section.
func (s *Section) Numbers() map[string]any {
	numbers := s.Charted.Numbers()
	if s.Many != nil {
		numbers["ports"] = s.Many
	}
	return numbers
}

// Queues collects the mean data queues of the ports that limit the flows.
var Queues = series.Kind{ID: "queues", Unit: "kB", Compare: func(s *series.Scope) series.Collector {
	return s.OfPorts(func(r *runfolder.PortRow) float64 { return float64(r.QueueByteNS) / (s.PointUS * 1000) / 1000 })
}}

// mostInSubtitle is how many variants the line above a panel has.
const mostInSubtitle = 6

// figure returns the figure of queues over time, port after port, in all variants; nil without.
func (s *Section) figure() *chart.Figure {
	c := series.Find(s.Charts, "queues")
	if c == nil {
		return nil
	}
	ports := s.r.Limits
	rank := func(p series.Panel) int {
		return slices.IndexFunc(ports, func(port reading.Port) bool { return port.PortID == *p.Port })
	}
	sorted := *c
	sorted.Panels = slices.SortedStableFunc(slices.Values(c.Panels), func(a, b series.Panel) int { return rank(a) - rank(b) })
	f := series.OverTime(&s.r.Facts, &sorted, "Queue")
	f.Title = "Queue depth of the busiest ports"
	if ports[0].Full {
		f.Title = "Queue depth of the bottlenecks"
	}
	f.Caption = "Mean data queue of every point, " + phrases.PerPoint(&s.r.Facts) + "." + series.OverSeeds(c)
	for i, p := range sorted.Panels {
		port := &ports[rank(p)]
		var texts []string
		for _, u := range port.Use {
			if u.NoQueue {
				continue
			}
			text := fmt.Sprintf("mean %s, peak %s", words.Depth(u.MeanQueueBytes, port.RateBPS), words.Depth(u.PeakQueueBytes, 0))
			if len(port.Use) > 1 {
				text = u.Variant + " " + text
			}
			texts = append(texts, text)
		}
		panel := &f.Panels[i]
		if more := len(texts) - mostInSubtitle; more > 0 {
			texts = append(texts[:mostInSubtitle], fmt.Sprintf("%d more", more))
		}
		panel.Title, panel.Subtitle = phrases.Port(&port.Place), strings.Join(texts, " · ")
		panel.Chart.(*chart.Lines).Name = panel.Title
	}
	return f
}

// Figures returns the figures of charts that compare variants: the queues. Charts
// and facts may be those of two folders.
func Figures(f *reading.Facts, charts []series.Chart) []*chart.Figure {
	s := &Section{Charted: series.Charted{Facts: f, Charts: charts}, r: &reading.Reading{Facts: *f}}
	return series.Present(s.figure())
}

// Parts implements section.Section.
func (s *Section) Parts() (parts []section.Part) {
	if !slices.ContainsFunc(s.r.Variants, func(v reading.Variant) bool { return !v.Flow }) {
		return nil
	}
	if f := s.figure(); f != nil {
		p := section.Part{ID: "queue-depths", Title: "Queues", Blocks: []section.Block{f}}
		p.Says, p.Level = s.says()
		parts = append(parts, p)
	}
	if s.Many != nil && len(s.Many.Worst) > 0 {
		p := section.Part{ID: "ports", Title: "Ports", Blocks: []section.Block{s.Many.classes(), s.Many.worst()}}
		w := slices.MaxFunc(s.Many.Worst, func(a, b Worst) int { return cmp.Compare(a.MeanQueueBytes, b.MeanQueueBytes) })
		if p.Says = fmt.Sprintf("On average less than one packet waits at each of %s.", words.Plural(s.Many.Ports, "port")); w.MeanQueueBytes >= float64(s.r.Variants[0].MTU) {
			if len(s.Many.Worst) <= reading.MaxWorst {
				p.Level = section.Plain
			}
			p.Says = fmt.Sprintf("Of %s, %s has the deepest mean queue%s: %s, %s busy.",
				words.Plural(s.Many.Ports, "port"), phrases.Port(&w.Place), phrases.In(&s.r.Facts, w.Use.Variant), words.Depth(w.MeanQueueBytes, 0), words.Percent(w.Utilisation))
		}
		parts = append(parts, p)
	}
	return parts
}

// says says how many bytes wait at the first of the ports. Where next to none does, there is
// nothing to see.
func (s *Section) says() (text string, level section.Level) {
	port := &s.r.Limits[0]
	var texts []string
	deepest := 0.0
	for _, u := range port.Use {
		if deepest = max(deepest, u.MeanQueueBytes); u.MeanQueueBytes < float64(s.r.Variants[0].MTU) {
			continue
		}
		texts = append(texts, words.Depth(u.MeanQueueBytes, port.RateBPS)+phrases.In(&s.r.Facts, u.Variant))
	}
	if deepest < float64(s.r.Variants[0].MTU) {
		return fmt.Sprintf("On average less than one packet waits at %s.", phrases.Port(&port.Place)), section.Quiet
	}
	if port.Full {
		level = section.Plain
	}
	return fmt.Sprintf("On average %s wait at %s.", words.List(texts), phrases.Port(&port.Place)), level
}

// Findings implements section.Finder: it says where packets were dropped and trimmed.
func (s *Section) Findings() []string {
	var parts []string
	for i := range s.r.Losses {
		l := &s.r.Losses[i]
		for _, of := range []struct {
			verb  string
			count func(reading.LossIn) float64
		}{{"drops", func(v reading.LossIn) float64 { return v.Dropped }}, {"trims", func(v reading.LossIn) float64 { return v.Trimmed }}} {
			var counts []float64
			for _, v := range l.Variants {
				counts = append(counts, of.count(v))
			}
			if slices.Max(counts) > 0 {
				parts = append(parts, fmt.Sprintf("%s %s %s", phrases.Port(&l.Place), of.verb, inVariants(l.Variants, counts)))
			}
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{"Packets dropped or trimmed: " + strings.Join(parts, "; ") + "."}
}

// inVariants prints the counts of variants.
func inVariants(variants []reading.LossIn, counts []float64) string {
	if slices.Min(counts) == slices.Max(counts) {
		if len(counts) == 1 {
			return words.Number(counts[0])
		}
		return words.Number(counts[0]) + " in each variant"
	}
	var texts []string
	for i, v := range variants {
		texts = append(texts, words.Number(counts[i])+" in "+v.Variant)
	}
	return words.List(texts)
}
