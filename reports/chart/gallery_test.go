package chart

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// gallery returns a figure of each kind.
func gallery() []*Figure {
	flows := []Key{LineKey("flow a", Nth(0)), LineKey("flow b", Nth(1)), LineKey("flow c", Nth(2)), LineKey("flow d", Nth(3)), LineKey("rest", Others())}
	parts := bars().Parts
	var partKeys []Key
	for _, p := range parts {
		partKeys = append(partKeys, FillKey(p.Name, p.Paint))
	}
	one := func(id string, legend []Key, charts ...Chart) *Figure {
		f := &Figure{ID: id, Title: "Figure of " + id + " → µs ≤ −3", Caption: "What it shows, in a sentence or two that goes on for some time, so that lines have to be broken.", Legend: legend, Columns: len(charts)}
		for i, c := range charts {
			f.Panels = append(f.Panels, Panel{Title: fmt.Sprintf("panel %d ↑", i), Subtitle: "of seed 1", Chart: c})
		}
		return f
	}
	scale := ScaleKeys("idle", func(from, to float64) string {
		return fmt.Sprintf("%s to %s %% busy", number(100*from), number(100*to))
	})
	gantt := step(40)
	return []*Figure{
		one("lines", flows, lines(), negative()), one("bars", partKeys, bars(), times()), one("pairs", []Key{FillKey("before", Action(0)), FillKey("after", Flow(0))}, pairs()),
		one("matrix", scale, matrix(12, false), matrix(12, true)), one("matrixlarge", scale, matrix(256, false)), one("heat", scale, heat(24, 200, false)), one("heatchange", ChangeKeys(20, "points", "less in B", "more in B"), heat(12, 80, true)),
		one("gantt", gantt.Keys(), gantt), one("ganttlong", gantt.Keys(), step(3000)), one("jobs", nil, jobs()), one("wheel", []Key{FillKey("job a", Flow(0)), FillKey("job b", Flow(1))}, wheel(), wheel()),
		one("graph", nil, graph(false)), one("ring", nil, graph(true)), one("intervals", nil, intervals()), one("dots", nil, dots(), dots()),
	}
}

func negative() *Lines {
	c := &Lines{Name: "signed", X: Scaling{Name: "Step", Counts: true, Max: 3}, Y: Scaling{Name: "Difference", Unit: "%"}}
	c.Lines = []Line{{Name: "one", Look: Nth(0), X: []float64{0, 1, 2, 3}, Y: []float64{-20, 30, math.NaN(), 10}}, {Name: "two", Look: Nth(3), X: []float64{0, 1, 2, 3}, Y: []float64{5, -3, 12, math.Inf(1)}},
		{Name: "rest", Look: Others(), X: []float64{0, 1, 2, 3}, Y: []float64{1, 2, 3, 4}, Low: []float64{0, 0.8, 1.8, 2.5}, High: []float64{0, 1.3, 2.3, 3}, Beside: true}}
	return c
}

func times() *Bars {
	b := bars()
	b.Above, b.X = true, Scaling{Name: "Time", Unit: "ms", Max: 106}
	return b
}

func pairs() *Pairs {
	return &Pairs{Name: "shift", X: Scaling{Name: "Share", Unit: "%"}, Sides: []Side{{"before", Action(0)}, {"after", Flow(0)}}, Rows: []PairRow{
		{"ToR ↑", []Spread{{Value: 50, Low: 40, High: 66}, {Value: 3, Low: 3, High: 3}}}, {"a port of a long name on leaf17: swp33 → spine9", []Spread{{Value: 0}, {Value: 97.5, Low: 95, High: 99}}}, {"core ↓", []Spread{{Value: math.NaN()}, {Value: 20, Low: 1, High: 70}}}}}
}

func matrix(n int, diverging bool) *Matrix {
	c := &Matrix{Name: "matrix", Corner: "from ↓, to →", Value: Scaling{Name: "Mean", Unit: "%", Max: 100}}
	for i := range n {
		c.Names = append(c.Names, fmt.Sprintf("tor%d hosts", i))
	}
	c.Cell = func(row, column int) Cell {
		v := float64((row*37 + column*column*11) % 101)
		switch {
		case row == column:
			return Cell{Value: math.NaN()}
		case (row+column)%7 == 0:
			return Cell{Value: math.NaN(), Few: true, Tip: "2 samples"}
		case diverging:
			return Cell{Value: v - 50, Paint: Change(ChangeOf(v-50, 50)), Text: signed(v - 50), Tip: "of 30"}
		}
		return Cell{Value: v, Paint: Scale(LevelOf(v / 100)), Text: number(v), Tip: "30 samples"}
	}
	return c
}

func heat(rows, columns int, diverging bool) *Heat {
	c := &Heat{Name: "heat", X: Scaling{Name: "Time in the step", Unit: "ms", Max: float64(columns) * 0.055, Clock: "step a", Microseconds: 1000}, Step: 0.05, Columns: columns, Y: "Port", Value: Scaling{Name: "Busy", Unit: "%", Max: 100}, EndHead: "%", Diverging: diverging}
	for r := range rows {
		row := HeatRow{Group: []string{"hosts ↑", "ToR ↑", "core ↓", "ToR ↓"}[r*4/rows], Name: fmt.Sprintf("leaf%d: swp%d", r/4, r), End: "97"}
		for k := range columns {
			v := 100 * math.Abs(math.Sin(float64(k)/9+float64(r)))
			if k%50 < 8 {
				v = 0
			}
			if diverging {
				v = v/3 - 15
			}
			row.Values = append(row.Values, v)
		}
		c.Rows = append(c.Rows, row)
	}
	if diverging {
		c.Value = Scaling{Name: "B − A", Unit: "points", Max: 20}
		return c
	}
	c.Spans = []HeatSpan{{Name: "all-reduce", From: 1, To: 7, Active: [][2]float64{{1, 2}, {3, 3.4}, {6, 7}}, Paint: Flow(0), Tip: "all-reduce"}, {Name: "backward", From: 4, To: 9.8, Active: [][2]float64{{4, 9}}, Paint: Flow(5)}}
	return c
}

// step returns lanes of a step whose path has so many hops.
func step(hops int) *Gantt {
	g := &Gantt{Name: "step 3", X: Scaling{Name: "Time in the step", Unit: "ms", Max: 40}, Others: "others",
		Kinds: []SpanKind{{Name: "forward", Paint: Action(1)}, {Name: "backward", Paint: Action(2)}, {Name: "all-reduce", Paint: Flow(0), Place: Lower}, {Name: "waiting for messages", Paint: Target, Opacity: 0.26}},
		Above: []Span{{Kind: 2, From: 12, To: 20, Text: "all-reduce layer 3", Tip: "8 ms"}, {Kind: 2, From: 18, To: 39, Text: "all-reduce layer 2"}, {Kind: 2, From: 38, To: 39.9, Text: "all-reduce layer 1"}}}
	for i := range 5 {
		l := Lane{Name: fmt.Sprintf("%d · host%d", i, i), Strong: i == 2}
		l.Spans = append(l.Spans, Span{Kind: 0, From: 0, To: 10 + float64(i), Tip: "forward: 10 ms"}, Span{Kind: 1, From: 10 + float64(i), To: 22, Tip: "backward"}, Span{Kind: 2, From: 12, To: 38}, Span{Kind: 3, From: 22, To: 38})
		g.Lanes = append(g.Lanes, l)
	}
	g.Shares = &Shares{Kinds: []int{0, 1, 2}, Values: make([][]float64, 3), Note: "of 128 ranks; white: neither computing nor waiting"}
	for k := range 60 {
		g.Shares.Values[0] = append(g.Shares.Values[0], max(0, 1-float64(k)/20))
		g.Shares.Values[1] = append(g.Shares.Values[1], max(0, min(float64(k)/20, 1-float64(k)/40)))
		g.Shares.Values[2] = append(g.Shares.Values[2], min(0.4, float64(k)/80))
	}
	g.Path = append(g.Path, Hop{0, 12, 2, 2, InCompute})
	t, each := 12.0, 27.0/float64(hops)
	lane := 2
	for i := range hops {
		next := (lane + 1) % 5
		in := []In{InTransfer, InQueue, InWait, InTransfer, InTransfer}[(i/7)%5]
		if i%2 == 1 && hops > 100 {
			next = lane
			in = InCompute
		}
		g.Path = append(g.Path, Hop{t, t + each, lane, next, in})
		t, lane = t+each, next
	}
	return g
}

func jobs() *Gantt {
	g := &Gantt{Name: "jobs", X: Scaling{Name: "Time", Unit: "ms", Min: 30, Max: 90}, Kinds: []SpanKind{{Name: "not communicating", Paint: Action(0), Place: Bold}, {Name: "communicating a", Paint: Flow(0), Place: Bold}, {Name: "together", Paint: Bad, Opacity: 0.25, Place: Behind}}}
	for i := range 3 {
		l := Lane{Name: fmt.Sprintf("job%d", i)}
		for k := range 6 {
			from := 28 + float64(k)*10.5 + float64(i)*3
			l.Spans = append(l.Spans, Span{Kind: 2, From: from + 6, To: from + 8}, Span{Kind: 0, From: from, To: from + 10, Text: fmt.Sprint(k)}, Span{Kind: 1, From: from + 5, To: from + 9})
		}
		g.Lanes = append(g.Lanes, l)
	}
	return g
}

func wheel() *Wheel {
	return &Wheel{Name: "wheel", Unit: "ms", Turn: 120, Note: "one turn", Over: []Arc{{10, 20}}, Rings: []Ring{{Name: "job a", Paint: Flow(0), Arcs: []Arc{{0, 30}, {60, 30}}, Marks: []float64{0, 60}}, {Name: "job b", Paint: Flow(1), Arcs: []Arc{{10, 80}}, Marks: []float64{10}}, {Name: "job c", Paint: Flow(2), Arcs: []Arc{{0, 120}}}}}
}

func graph(ring bool) *Graph {
	g := &Graph{Name: "fabric", Ring: ring, Quantity: "Busy", Unit: "%"}
	for i := range 8 {
		g.Boxes = append(g.Boxes, Box{Row: 0, Pod: i / 2, Lines: []string{fmt.Sprintf("host%d", i)}, Host: true})
	}
	for i := range 4 {
		g.Boxes = append(g.Boxes, Box{Row: 1, Pod: i, Lines: []string{fmt.Sprintf("leaf%d", i), "16 hosts"}, Short: []string{fmt.Sprintf("l%d", i), "16 h"}, Folded: i == 3})
	}
	g.Boxes = append(g.Boxes, Box{Row: 2, Lines: []string{"spine0"}}, Box{Row: 2, Lines: []string{"spine1"}})
	for i := range 8 {
		g.Links = append(g.Links, Link{A: i, B: 8 + i/2, Class: i % 4, Value: float64(i % 4 * 30), Tip: "host → leaf 3 % busy"})
	}
	for i := range 4 {
		g.Links = append(g.Links, Link{A: 8 + i, B: 12, Class: i, Value: 3}, Link{A: 8 + i, B: 13, Class: 3 - i, Value: 4})
	}
	g.Marked = [][2]int{{8, 12}, {3, 9}}
	g.Ways = []Way{{Look: Nth(0), Steps: [][2]int{{0, 8}, {8, 12}, {12, 10}, {10, 4}}}, {Look: Nth(1), Steps: [][2]int{{1, 8}, {8, 12}, {12, 9}, {9, 3}}}}
	g.Badges = []Badge{{8, 12, "1"}, {3, 9, "2"}, {11, 11, "3"}}
	return g
}

func intervals() *Intervals {
	inf := math.Inf(1)
	return &Intervals{Name: "changes", X: Scaling{Name: "change, in multiples of what is allowed", Min: -8, Max: 20}, Log: true, Zero: true, Worse: [2]float64{1, 20}, Lines: []UprightMark{{"worse than allowed", 1}}, Rows: []IntervalRow{
		{"incast  flow_completion_time_p99", "+3 %", "tip", Interval{4, 2, 9, Sign{Diamond, Bad}}}, {"three-flow  fairness", "−2 %", "", Interval{-2, -3, -0.5, Sign{Dot, Good}}},
		{"three-flow  a metric of a very long name that does not fit in its room at all", "0 %", "", Interval{0, -inf, inf, Sign{Hollow, Rest}}}, {"far", "+999 %", "", Interval{100, 15, inf, Sign{Diamond, Bad}}}, {"none", "–", "", Interval{math.NaN(), math.NaN(), math.NaN(), Sign{Hollow, Rest}}}}}
}

func dots() *Dots {
	d := &Dots{Intervals: Intervals{Name: "dots", X: Scaling{Name: "change", Unit: "%", Min: -5, Max: 12}, Signed: true, Zero: true, Worse: [2]float64{8, 12}, Lines: []UprightMark{{"allowed +8 %", 8}}, Rows: []IntervalRow{{"p99", "+3 %", "", Interval{3, 1, 5, Sign{Dot, Good}}}}}}
	for i := range 30 {
		d.Samples = append(d.Samples, Sample{Value: 3 + 3*math.Sin(float64(i)), Name: fmt.Sprintf("seed %d", i)})
	}
	return d
}

// TestGallery writes the gallery into a folder for someone to look at.
func TestGallery(t *testing.T) {
	dir := os.Getenv("CHART_GALLERY")
	if dir == "" {
		t.Skip("CHART_GALLERY names no folder")
	}
	var page strings.Builder
	page.WriteString("<!doctype html><meta name=viewport content='width=device-width'><style>" + CSS() + "body{background:var(--paper);color:var(--ink);font-family:Liberation Sans} .chart{width:100%;height:auto;font-family:Liberation Sans} .swatch{width:26px;height:12px} @media (max-width:620px){.w{display:none}} @media (min-width:621px){.n{display:none}}</style>")
	for _, f := range gallery() {
		fmt.Fprintf(&page, "<h3>%s</h3>", f.ID)
		for i := range f.Legend {
			fmt.Fprintf(&page, "%s %s ", f.Legend[i].Swatch(), html.EscapeString(f.Legend[i].Name))
		}
		for i := range f.Panels {
			fmt.Fprintf(&page, "<div class=w style='display:inline-block;width:%d%%'>%s</div><div class=n>%s</div>", 100/f.Columns-1, f.SVG(i, f.width(i)), f.SVG(i, Narrow))
		}
		for name, o := range map[string]Layout{"light": {}, "dark": {Palette: Dark}, "one": {Size: OneColumn}, "two": {Size: TwoColumns}, "slide": {Size: Slide, Palette: Dark}} {
			for _, format := range Formats {
				if format != PNG && name != "one" {
					continue
				}
				var b bytes.Buffer
				if err := f.Write(&b, format, o); err != nil {
					t.Error(err)
				}
				if err := os.WriteFile(filepath.Join(dir, f.ID+"-"+name+"."+string(format)), b.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "page.html"), []byte(page.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
