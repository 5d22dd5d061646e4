package reports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/metrics"
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

// actionLabels are the names of actions in legends and in bars.
var actionLabels = map[string]label{
	metrics.ActionNoop.String():         {"no-op", "no-op"},
	metrics.ActionProportional.String(): {"proportional increase (PI)", "PI"},
	metrics.ActionFast.String():         {"fast increase", "fast"},
	metrics.ActionFair.String():         {"fair increase (FI)", "FI"},
	metrics.ActionDecrease.String():     {"multiplicative decrease (MD)", "MD"},
	metrics.ActionQuickAdapt.String():   {"quick adapt (QA)", "QA"},
}

// actions draws how often controllers did what while rates were measured.
func actions(r *analysis.Result, c *analysis.Chart) Chart {
	chart := Shares(r, c, "Share of ACKs", func(action string) (name, short string) {
		if l, ok := actionLabels[action]; ok {
			return l.name, l.short
		}
		name = strings.ReplaceAll(action, "_", " ")
		return name, name
	})
	chart.Title = "What congestion control did"
	chart.Caption = "Share of the ACKs, by the action taken, from " + measured(r.Setup.Measure) + "."
	return chart
}

type label struct{ name, short string }

// perPoint says how much time a point stands for.
func perPoint(r *analysis.Result) string {
	text := "in windows of " + number(r.PointUS) + " µs"
	if w := r.Setup.Measure; w.FromUS > 0 || w.ToUS > 0 {
		text += "; the shaded span is where rates are measured"
	}
	return text
}
