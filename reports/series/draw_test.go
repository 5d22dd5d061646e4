package series

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/reading"
)

// Charts have units that fit what is drawn.
func TestScales(t *testing.T) {
	f := &reading.Facts{Groups: []reading.Group{{Flow: "a", Flows: 1}}, PointUS: 2000}
	f.Setup.Measure.FromUS = 500_000
	for _, c := range []struct {
		point   int
		y, mark float64 // Gb/s
		want    chart.Lines
	}{
		{999, 40, 20, chart.Lines{X: chart.Scaling{Unit: "s", Max: 2, Microseconds: 1e6}, Y: chart.Scaling{Unit: "Gb/s", Max: 40}, Shade: [2]float64{0.5, 2},
			Lines: []chart.Line{{X: []float64{1.999}, Y: []float64{40}}}, Levels: []chart.LevelMark{{Name: "half 20 Gb/s", Y: 20}}}},
		{399, 0.02, 0.04, chart.Lines{X: chart.Scaling{Unit: "ms", Max: 800, Microseconds: 1000}, Y: chart.Scaling{Unit: "Mb/s", Max: 40}, Shade: [2]float64{500, 800},
			Lines: []chart.Line{{X: []float64{799}, Y: []float64{20}}}, Levels: []chart.LevelMark{{Name: "half 40 Mb/s", Y: 40}}}},
	} {
		c.want.X.Name, c.want.X.Clock, c.want.Y.Name, c.want.Lines[0].Name, c.want.Lines[0].Look = "Time", chart.ClockRun, "Throughput", "a", chart.Nth(0)
		figure := OverTime(f, &Chart{Unit: "Gb/s", Panels: []Panel{{
			Lines:  []Line{{Group: f.Groups[0], First: c.point, Values: reading.Values{c.y}}},
			Levels: []Level{{Name: "half", Value: c.mark}},
		}}}, "Throughput")
		if diff := cmp.Diff(figure.Panels[0].Chart.(*chart.Lines), &c.want, cmpopts.EquateApprox(1e-9, 0), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("point %d, %v Gb/s (-got +want):\n%s", c.point, c.y, diff)
		}
	}
}

// Values of a unit that no scale knows keep it.
func TestUnknownUnit(t *testing.T) {
	for _, unit := range []string{"furlongs", ""} {
		figure := OverTime(&reading.Facts{PointUS: 100}, &Chart{Unit: unit, Panels: []Panel{{Lines: []Line{{Group: reading.Group{Flows: 2}, Values: reading.Values{4e6}}}}}}, "Length")
		if y := figure.Panels[0].Chart.(*chart.Lines).Y; y.Name != "Length" || y.Unit != unit || y.Max != 4e6 {
			t.Errorf("unit %q: axis %+v to 4e6", unit, y)
		}
	}
}

// Many flows are drawn as the slowest, the fastest and the mean of the others. Ports keep their
// looks from panel to panel; all others have one of their own.
func TestNamesOfLines(t *testing.T) {
	f := &reading.Facts{Groups: []reading.Group{{Flow: "a", Flows: 1}, {Flow: "b", Flows: 1}, {Flows: 13}}, Variants: []reading.Variant{{Name: "x"}, {Name: "y"}}}
	c := &Chart{Panels: []Panel{{Lines: []Line{{Ports: []string{"p"}}, {Ports: []string{OtherPorts}}}}, {Lines: []Line{{Ports: []string{"q", "r"}}, {Ports: []string{"p"}}, {Ports: []string{"a-b", "s-t"}}}}}}
	f.Limits = []reading.Port{{Place: reading.Place{From: "q", To: "r"}}, {Place: reading.Place{From: "s", To: "t"}}}
	for _, want := range []struct {
		line Line
		name string
		look chart.Look
	}{
		{Line{Group: f.Groups[0]}, "a", chart.Beside(2, 0)}, {Line{Group: f.Groups[1]}, "b", chart.Beside(2, 1)}, {Line{Group: f.Groups[2]}, "mean of the other 13", chart.Others()},
		{Line{Variant: "y", Group: f.Groups[0]}, "y", chart.Nth(1)}, {Line{Ports: []string{"p"}}, "p", chart.Beside(2, 0)}, {Line{Ports: []string{OtherPorts}}, "other ports", chart.Others()},
		{Line{Ports: []string{"q", "r"}}, "one of 2 ports that share a locator (q, …)", chart.Beside(2, 2)}, {Line{Ports: []string{"a-b", "s-t"}}, "one of 2 ports that share a locator (s-t, …)", chart.Beside(2, 3)}, // it limits the flows
	} {
		if got := drawn(f, c, &want.line); got.Name != want.name || !cmp.Equal(got.Look, want.look) {
			t.Errorf("%+v: %q with %+v, want %q with %+v", want.line, got.Name, got.Look, want.name, want.look)
		}
	}
	var keys []string
	for _, k := range legend(f, c) {
		keys = append(keys, k.Name)
	}
	if d := cmp.Diff(keys, []string{"p", "one of 2 ports that share a locator (q, …)", "one of 2 ports that share a locator (s-t, …)", "other ports"}); d != "" {
		t.Errorf("legend (-got +want):\n%s", d)
	}
}

// Actions of several controllers share one legend; more of them than there are colours use
// these again.
func TestShares(t *testing.T) {
	var all []Part
	for i := range chart.Actions + 1 {
		all = append(all, Part{Name: string(rune('a' + i)), Count: 1})
	}
	f := &reading.Facts{Variants: []reading.Variant{{Name: "x"}, {Name: "y"}}, Groups: []reading.Group{{Flow: "0-1", Flows: 1}}}
	figure := Shares(f, &Chart{ID: "actions", Panels: []Panel{
		{Variant: "x", Bars: []Bar{{Group: f.Groups[0], Parts: []Part{{"g", 3}, {"z", 0}, {"a", 1}}}}},
		{Variant: "y", Bars: []Bar{{Group: f.Groups[0], Parts: all}}},
	}}, "Share", func(part string) (string, string) { return "part " + part, part })
	first := figure.Panels[0].Chart.(*chart.Bars)
	if diff := cmp.Diff(first.Rows, []chart.BarRow{{Name: "0-1", Values: append([]float64{75, 0, 25}, make([]float64, chart.Actions-1)...)}}); diff != "" {
		t.Errorf("bars (-got +want):\n%s", diff)
	}
	var legend []string
	for _, k := range figure.Legend {
		legend = append(legend, k.Name)
	}
	if diff := cmp.Diff(legend, []string{"part g", "part a", "part b", "part c", "part d", "part e", "part f", "part h", "part i", "part j", "part k", "part l", "part m"}); diff != "" {
		t.Errorf("legend (-got +want):\n%s", diff)
	}
	if last := first.Parts[chart.Actions]; last.Paint != first.Parts[0].Paint || last.Short != "l" {
		t.Errorf("the part beyond the colours is %+v", last)
	}
}

// Of many values a distribution has some points, the first and the last value among them.
func TestRank(t *testing.T) {
	for i, want := range map[int]int{0: 1, 100: 2501, 200: 5000} {
		if got := Rank(i, 201, 5000); got != want {
			t.Errorf("point %d of 201 is rank %d of 5000, want %d", i, got, want)
		}
	}
	if got := Rank(0, 1, 7); got != 7 {
		t.Errorf("the one point is rank %d of 7", got)
	}
}
