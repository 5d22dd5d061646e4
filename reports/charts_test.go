package reports

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/reports/analysis"
	"github.com/csiglab/csiglab/reports/analysis/analysistest"
)

// The tables of this package and of analysis have the same charts.
func TestEveryChartHasADrawing(t *testing.T) {
	e := analysistest.ThreeFlow()
	e.Samples = map[string]map[uint16]int64{"csig": {1: 5}}
	r := build(t, e.Folder(t, nil))
	var collected, drawn []string
	for _, c := range r.numbers.Charts {
		collected = append(collected, c.ID)
		if c.ID == "slowest" { // the next two are of many flows: TestDistribution, TestManyFlows
			collected = append(collected, "fct", "slowdown")
		}
	}
	for _, d := range drawings {
		drawn = append(drawn, d.ID)
	}
	if diff := cmp.Diff(drawn, collected); diff != "" {
		t.Errorf("drawings (-got +want):\n%s", diff)
	}
	r.numbers.Charts = append(r.numbers.Charts, analysis.Chart{ID: "unheard-of"})
	if err := WriteHTML(&strings.Builder{}, r.numbers); err == nil || !strings.Contains(err.Error(), "unheard-of") {
		t.Errorf("a chart without a drawing: %v", err)
	}
}

// Many flows are drawn as the slowest, the fastest and the mean of the others.
func TestNamesOfGroups(t *testing.T) {
	r := &analysis.Result{Groups: []analysis.Group{{Flow: "a", Flows: 1}, {Flow: "b", Flows: 1}, {Flows: 13}}}
	for i, want := range []Key{{"a", 0, false}, {"b", 1, false}, {"mean of the other 13", styleRest, false}} {
		if name, style := series(r, nil, &analysis.Line{Group: r.Groups[i]}); name != want.Name || style != want.Style {
			t.Errorf("group %d: name %q and style %d, want %v", i, name, style, want)
		}
	}
}

// Actions of several controllers share one legend; more of them than there are
// colours use these again.
func TestShares(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e", "f", "g"}
	var all []analysis.Part
	for _, name := range names {
		all = append(all, analysis.Part{Name: name, Count: 1})
	}
	r := &analysis.Result{Variants: []analysis.Variant{{Name: "x"}, {Name: "y"}}, Groups: []analysis.Group{{Flow: "0-1", Flows: 1}}}
	chart := shares(r, &analysis.Chart{ID: "actions", Panels: []analysis.Panel{
		{Variant: "x", Bars: []analysis.Bar{{Group: r.Groups[0], Parts: []analysis.Part{{Name: "g", Count: 3}, {Name: "h", Count: 0}, {Name: "a", Count: 1}}}}},
		{Variant: "y", Bars: []analysis.Bar{{Group: r.Groups[0], Parts: all}}},
	}}, "Share", func(part string) (string, string) { return "part " + part, part })
	if diff := cmp.Diff(chart.Panels[0].Bars, []Bar{{Name: "0-1", Parts: []float64{0.75, 0, 0.25, 0, 0, 0, 0, 0}}}); diff != "" {
		t.Errorf("bars (-got +want):\n%s", diff)
	}
	var legend []string
	for _, k := range chart.Legend {
		legend = append(legend, k.Name)
	}
	if diff := cmp.Diff(legend, []string{"part g", "part a", "part b", "part c", "part d", "part e", "part f"}); diff != "" {
		t.Errorf("legend (-got +want):\n%s", diff)
	}
	for _, p := range chart.Panels {
		if svg, err := drawPanel(p, width(2), lineHeight); err != nil || strings.Contains(string(svg), "--action-6") {
			t.Errorf("%s: %v:\n%s", p.Title, err, svg)
		}
	}
}
