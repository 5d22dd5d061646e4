package reports

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/reports/analysis"
)

// Drawing is an entry of the table of drawings: it says how the chart of an ID
// is drawn. Its numbers come from the entry of that ID in the table of package
// analysis.
type Drawing struct {
	ID   string
	Draw func(*analysis.Result, *analysis.Chart) Chart
}

// drawings is the table of drawings. A new chart is an entry and a function here,
// and an entry and a function in analysis/charts.go.
var drawings = []Drawing{
	{"slowest", slowest},
	{"fct", fct},
	{"slowdown", slowdowns},
	{"queues", queues},
	{"cwnd", cwnd},
	{"throughput", throughput},
	{"delays", delays},
	{"named", namedOverTime},
	{"actions", actions},
}

// slowest draws the rate of the slowest flow, in all variants.
func slowest(r *analysis.Result, c *analysis.Chart) Chart {
	chart := OverTime(r, c, "Rate")
	chart.Title = "Rate of flow " + r.Slowest + slowestOf(r)
	chart.Caption = "Wire rate at the receiver, " + perPoint(r) + "." + overSeeds(c)
	return chart
}

// cwnd draws the window of the slowest flow, in all variants.
func cwnd(r *analysis.Result, c *analysis.Chart) Chart {
	chart := OverTime(r, c, "Window")
	chart.Title = "Congestion window of flow " + r.Slowest + slowestOf(r)
	chart.Caption = "After the last ACK of every point, " + perPoint(r) + "." + overSeeds(c)
	return chart
}

// slowestOf says that the flow of a chart is the slowest of several.
func slowestOf(r *analysis.Result) string {
	switch {
	case r.Findings.Sharing == nil:
		return ""
	case len(r.Variants) == 1:
		return ", the slowest"
	}
	return ", the slowest in " + r.Variants[0].Name
}

// fct draws the distribution of completion times, in all variants: how many of the
// flows have completed after a time.
func fct(r *analysis.Result, c *analysis.Chart) Chart {
	chart := distribution(r, c, "Completion time")
	chart.Title = "Flow completion times"
	chart.Caption = "The share of the flows that complete within a time, from their start." + overSeeds(c)
	return chart
}

// slowdowns draws the distribution of slowdowns, in all variants.
func slowdowns(r *analysis.Result, c *analysis.Chart) Chart {
	chart := distribution(r, c, "Slowdown")
	chart.Title = "Slowdowns"
	chart.Caption = "The share of the flows with a slowdown of at most so much: the completion time over that of the flow alone on an idle fabric." + overSeeds(c)
	return chart
}

// distribution draws the share of the flows for which a quantity is at most a value. The
// caller adds title and caption.
func distribution(r *analysis.Result, c *analysis.Chart, quantity string) Chart {
	chart := Chart{ID: c.ID, Legend: legend(r, c)}
	end := 0.0
	for _, l := range c.Panels[0].Lines {
		for i, v := range l.Values {
			if l.High != nil {
				v = l.High[i]
			}
			if !math.IsNaN(v) {
				end = max(end, v)
			}
		}
	}
	unit := scaleFor(end, scalesOf(c.Unit))
	if unit.unit != "" {
		quantity += " (" + unit.unit + ")"
	}
	panel := Panel{XLabel: quantity, YLabel: "Flows (%)", XMax: end * unit.factor * 1.06, YMax: 100}
	for _, l := range c.Panels[0].Lines {
		name, style := series(r, c, &l)
		line := Line{Name: name, Style: style, X: slices.Clone(l.Values), Low: slices.Clone(l.Low), High: slices.Clone(l.High), Beside: true}
		for i, v := range l.Values {
			share := 100 * float64(analysis.Rank(i, len(l.Values), l.Flows)) / float64(l.Flows)
			if math.IsNaN(v) {
				share = math.NaN()
			}
			line.Y = append(line.Y, share)
		}
		unit.apply(line.X)
		unit.apply(line.Low)
		unit.apply(line.High)
		panel.Lines = append(panel.Lines, line)
	}
	chart.Panels = []Panel{panel}
	return chart
}

// overSeeds explains the bands of a chart that has some.
func overSeeds(c *analysis.Chart) string {
	for _, p := range c.Panels {
		for _, l := range p.Lines {
			if l.High != nil {
				return " Lines are medians over the seeds, bands reach from the least to the greatest."
			}
		}
	}
	return ""
}

// namedOverTime draws which ports CSIG samples named, over time.
func namedOverTime(r *analysis.Result, c *analysis.Chart) Chart {
	chart := OverTime(r, c, "Share of samples")
	chart.Title = "Ports that CSIG named as the bottleneck"
	chart.Caption = "Share of the samples of all flows that name each port, " + perPoint(r) + "."
	for i := range chart.Panels {
		chart.Panels[i].YMax = 100
	}
	return chart
}

// throughput draws what every receiver got over time.
func throughput(r *analysis.Result, c *analysis.Chart) Chart {
	chart := OverTime(r, c, "Throughput")
	chart.Title = "Throughput of each flow"
	chart.Caption = "Wire rate at the receiver, " + perPoint(r) + "."
	return chart
}

// queues draws the data queues of the ports that limit the flows, port after port, in
// all variants.
func queues(r *analysis.Result, c *analysis.Chart) Chart {
	ports := r.Findings.Ports
	rank := func(p analysis.Panel) int {
		return slices.IndexFunc(ports, func(port analysis.Port) bool { return port.PortID == *p.Port })
	}
	sorted := *c
	sorted.Panels = slices.SortedStableFunc(slices.Values(c.Panels), func(a, b analysis.Panel) int { return rank(a) - rank(b) })
	chart := OverTime(r, &sorted, "Queue")
	chart.Title = "Queue depth of the busiest ports"
	if ports[0].Full {
		chart.Title = "Queue depth of the bottlenecks"
	}
	chart.Caption = "Mean data queue of every point, " + perPoint(r) + "." + overSeeds(c)
	for i, p := range sorted.Panels {
		port := &ports[rank(p)]
		var texts []string
		for _, u := range port.Use {
			text := fmt.Sprintf("mean %s, peak %s", depth(u.MeanQueueBytes, port.RateBPS), depth(u.PeakQueueBytes, 0))
			if len(port.Use) > 1 {
				text = u.Variant + " " + text
			}
			texts = append(texts, text)
		}
		chart.Panels[i].Title = portName(&port.Place)
		chart.Panels[i].Subtitle = strings.Join(texts, " · ")
	}
	return chart
}

// delays draws the delay that controllers were fed, against their target.
func delays(r *analysis.Result, c *analysis.Chart) Chart {
	chart := OverTime(r, c, "Delay")
	chart.Title = "Delay that each flow's congestion control saw"
	chart.Caption = "Mean over the ACKs of a point, " + perPoint(r) + ". The level line is the target that CC steers to."
	return chart
}

// actions draws how often controllers did what while rates were measured.
func actions(r *analysis.Result, c *analysis.Chart) Chart {
	chart := shares(r, c, "Share of ACKs", func(action string) (name, short string) { return actionLabels(r, action) })
	chart.Title = "What congestion control did"
	chart.Caption = "Share of the ACKs, by the action taken, from " + measured(r.Setup.Measure) + "."
	return chart
}

// actionLabels returns the names of an action in legends and in bars, which the
// manifest keeps with the variants.
func actionLabels(r *analysis.Result, action string) (name, short string) {
	for _, v := range r.Variants {
		for _, a := range v.Actions {
			if a.Name == action {
				return a.Label, a.Short
			}
		}
	}
	return action, action
}

// perPoint says how much time a point stands for.
func perPoint(r *analysis.Result) string {
	text := "in windows of " + span(r.PointUS)
	if w := r.Setup.Measure; w.FromUS > 0 || w.ToUS > 0 {
		text += "; the shaded span is where rates are measured"
	}
	return text
}
