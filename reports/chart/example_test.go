package chart_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/csiglab/csiglab/reports/chart"
)

func figure() *chart.Figure {
	return &chart.Figure{ID: "queue", Title: "Queues", Caption: "Means of 10 ms.", Legend: []chart.Key{chart.LineKey("reno", chart.Nth(0))},
		Panels: []chart.Panel{{Title: "leaf1", Chart: &chart.Lines{
			Name:  "leaf1",
			X:     chart.Scaling{Name: "Time", Unit: "ms", Max: 30, Clock: chart.ClockRun, Microseconds: 1000},
			Y:     chart.Scaling{Name: "Queue", Unit: "kB"},
			Lines: []chart.Line{{Name: "reno", Look: chart.Nth(0), X: []float64{5, 15, 25}, Y: []float64{12, 80, 40}}},
		}}}}
}

// A page shows the drawings of a panel, and its script gets the data.
func ExampleFigure_SVG() {
	f := figure()
	svg := string(f.SVG(0, chart.Narrow))
	fmt.Println(svg[:strings.Index(svg, ">")+1])
	fmt.Println(f.Data()[0].ID, f.Data()[0].Kind)
	// Output:
	// <svg class="chart" viewBox="0 0 390 250" xmlns="http://www.w3.org/2000/svg" role="img" data-figure="queue-0" data-plot="38.235 10 339.76 204">
	// queue-0 lines
}

// A paper takes figures without title and caption, as wide as one of its columns; the numbers
// go beside them.
func ExampleFigure_Write() {
	f := figure()
	var pgf strings.Builder
	if err := f.Write(&pgf, chart.PGF, chart.Layout{Size: chart.OneColumn}); err != nil {
		fmt.Println(err)
	}
	fmt.Println(strings.Contains(pgf.String(), `\begin{pgfpicture}`))
	if err := f.Write(os.Stdout, chart.CSV, chart.Layout{}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// true
	// panel,series,Time (ms),Queue (kB),low,high
	// leaf1,reno,5,12,,
	// leaf1,reno,15,80,,
	// leaf1,reno,25,40,,
}

// A chart draws itself at any width.
func ExampleLines() {
	d := figure().Panels[0].Chart.Draw(480)
	fmt.Println(d.Width, d.Height, strings.ReplaceAll(d.Desc, "\u00a0", " "))
	// Output: 480 250 Over Time (ms). reno: 12 to 80 kB.
}

// Shares of bars are per cent where the axis has no end.
func ExampleBars() {
	c := &chart.Bars{Name: "Where packets wait", Parts: []chart.BarPart{{Name: "queue", Paint: chart.Action(0)}, {Name: "wire", Paint: chart.Action(1)}},
		Rows: []chart.BarRow{{Name: "reno", Values: []float64{80, 20}}}}
	fmt.Println(strings.ReplaceAll(c.Draw(480).Desc, "\u00a0", " "))
	// Output: reno: queue 80 %, wire 20 %.
}
