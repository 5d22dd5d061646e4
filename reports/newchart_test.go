package reports_test

import (
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/measure"
	"github.com/csiglab/csiglab/reports"
	"github.com/csiglab/csiglab/reports/analysis"
	"github.com/csiglab/csiglab/reports/analysis/analysistest"
)

// A chart costs two entries and two functions, in analysis and in reports. Here
// both are outside of those packages: they need nothing that is not exported.
var (
	cwndNumbers = analysis.ChartKind{ID: "largest", Unit: "kB", New: collectCwnd}
	cwndDrawing = reports.Drawing{ID: "largest", Draw: drawCwnd}
)

// collectCwnd collects the largest window of congestion of each flow.
func collectCwnd(s *analysis.Scope) analysis.Collector {
	points := s.Point(s.EndUS-s.PointUS/2) + 1
	cwnd := make([]analysis.Values, len(s.Groups))
	for i := range cwnd {
		cwnd[i] = make(analysis.Values, points)
	}
	return analysis.Collector{
		CC: func(r runfolder.CCRow) {
			if group, ok := s.Group(r.FlowName); ok {
				v := &cwnd[group][s.Point(r.StartUS)]
				*v = max(*v, float64(r.Cwnd)/1000)
			}
		},
		Panels: func() []analysis.Panel {
			var lines []analysis.Line
			for i, g := range s.Groups {
				lines = append(lines, analysis.Line{Group: g, Values: cwnd[i]})
			}
			return []analysis.Panel{{Lines: lines}}
		},
	}
}

func drawCwnd(r *analysis.Result, c *analysis.Chart) reports.Chart {
	chart := reports.OverTime(r, c, "Window")
	chart.Title, chart.Caption = "Congestion window", "Largest of a point."
	return chart
}

func TestANewChart(t *testing.T) {
	r, err := analysis.Read(analysistest.ThreeFlow().Folder(t, nil), measure.Meaning, cwndNumbers)
	if err != nil {
		t.Fatal(err)
	}
	var html, numbers strings.Builder
	if err := reports.WriteHTML(&html, r, cwndDrawing); err != nil {
		t.Fatal(err)
	}
	if err := reports.WriteJSON(&numbers, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`<section id="largest">`, "<h2>Congestion window</h2>", "Largest of a point.", ">Window (kB)</text>", `<section id="queues">`} {
		if !strings.Contains(html.String(), want) {
			t.Errorf("page lacks %q", want)
		}
	}
	if !strings.Contains(numbers.String(), `{"id":"largest","unit":"kB","panels":[{"variant":"baseline","lines":[{"flow":"0-3","flows":1,"first":0,"values":[63,63,`) {
		t.Error("JSON lacks the chart")
	}
	if err := reports.WriteHTML(&html, r); err == nil {
		t.Error("a chart without a drawing: no error")
	}
}
