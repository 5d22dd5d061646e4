package reports

import (
	"fmt"
	"slices"

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
	{"throughput", throughput},
	{"queues", queues},
	{"delays", delays},
	{"actions", actions},
}

// throughput draws what every receiver got over time.
func throughput(r *analysis.Result, c *analysis.Chart) Chart {
	chart := OverTime(r, c, "Throughput")
	chart.Title = "Throughput of each flow"
	chart.Caption = "Wire rate at the receiver, " + perPoint(r) + "."
	return chart
}

// queues draws the data queues of the ports that limit the flows, port after
// port.
func queues(r *analysis.Result, c *analysis.Chart) Chart {
	ports := r.Findings.Ports
	rank := func(p analysis.Panel) int {
		return slices.IndexFunc(ports, func(port analysis.Port) bool { return port.PortID == *p.Port })
	}
	sorted := *c
	sorted.Panels = slices.SortedStableFunc(slices.Values(c.Panels), func(a, b analysis.Panel) int { return rank(a) - rank(b) })
	chart := OverTime(r, &sorted, "Queue")
	chart.Title = "Queue depth of the busiest switch ports"
	if ports[0].Full {
		chart.Title = "Queue depth of the bottlenecks"
	}
	chart.Caption = "Data queue, mean and largest of every point, " + perPoint(r) + ". The figures beside the names are of the measured span; in brackets, the time that the link takes to drain."
	for i, p := range sorted.Panels {
		port := &ports[rank(p)]
		use, _ := port.In(p.Variant)
		chart.Panels[i].Title = portName(port) + ", " + p.Variant
		chart.Panels[i].Subtitle = fmt.Sprintf("%s busy · mean %s · peak %s", percent(use.Utilisation), depth(use.MeanQueueBytes, port.RateBPS), depth(use.PeakQueueBytes, port.RateBPS))
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
	chart := Shares(r, c, "Share of ACKs", func(action string) (name, short string) { return actionLabels(r, action) })
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
	text := "in windows of " + number(r.PointUS) + " µs"
	if w := r.Setup.Measure; w.FromUS > 0 || w.ToUS > 0 {
		text += "; the shaded span is where rates are measured"
	}
	return text
}
