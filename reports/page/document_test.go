package page

import (
	"fmt"
	"math"
	"strings"

	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/section"
)

// sample is a report made by hand, with everything that a document may have.
type sample struct {
	variants []string
	flows    []string
	title    string
	rows     int // of its longest tables
}

func newSample(variants int) *sample {
	s := &sample{title: "three-flow", flows: []string{"1-10", "0-2", "9-10"}, rows: 40}
	for i := range variants {
		s.variants = append(s.variants, []string{"baseline", "csig", "csig-wide", "paced", "trimmed", "spread"}[i])
	}
	return s
}

// document has 30 parts, about a third of them open.
func (s *sample) document() *Document {
	d := &Document{
		Title: s.title, About: []string{"A flow that crosses two bottlenecks, against one neighbour in each; NSCC alone, and fed by CSIG max(Delay)"},
		Banner: section.Banner{State: section.Warn, Headline: "Valid; 11 of 11 expectations hold", Reasons: []string{"Flow " + s.flows[0] + " is unfinished."}},
		Story: []string{
			"CSIG nearly doubles the rate of the victim, flow " + s.flows[0] + ": from 17.3 to 30.6 Gb/s.",
			"It crosses both bottlenecks, agg2 → tor5 and tor0 → agg0, and without CSIG it hears of one of them only.",
			"The price is a mean completion time of 26.5 ms in place of 24 ms, and a mean queue of 134 kB in place of 94 kB.",
			"All 15 runs are valid; the figures are medians of 5 seeds.",
		},
		First: []Picture{s.fabric(), s.main()}, Notes: []string{"Variants csig and csig-wide: windows of telemetry are 10 µs.", "Charts of delays lack 12 records."},
		Variants: s.variants,
	}
	add := func(level section.Level, id, title, says string, blocks ...section.Block) {
		d.Parts = append(d.Parts, section.Part{ID: id, Title: title, Says: says, Level: level, Blocks: blocks})
	}
	add(section.Quiet, "expectations", "Expectations", "All 11 hold.", s.expectations())
	add(section.Loud, "findings", "Findings", "", s.findings()...)
	add(section.Telling, "compared", "Variants compared", "The slowest flow gains, at the price of the mean.", s.compared())
	add(section.Telling, "fairness", "Fairness", "Flow "+s.flows[0]+" gets 17 of 100 Gb/s where it shares links.", s.fairness())
	add(section.Telling, "signature", "Signature: how busy each link is", "", s.perVariant("signature", 2, s.heat))
	add(section.Plain, "cwnd", "Congestion window", "", s.lines("cwnd", "Window", "kB", 2, 1))
	add(section.Plain, "queues", "Queue depth of the bottlenecks", "", s.lines("queues", "Queue", "kB", 2, 2))
	add(section.Plain, "throughput", "Throughput of each flow", "", s.perVariant("throughput", 3, s.rates))
	add(section.Plain, "blame", "Where transfers waited", "", s.blame())
	add(section.Plain, "completion", "Flow completion times", "", s.completion())
	add(section.Plain, "ports", "Ports", "", s.small("Ports"), s.small("Deepest queues"))
	add(section.Plain, "tail", "Distribution", "", s.lines("tail", "Flows", "%", 2, 1))
	add(section.Quiet, "actions", "What congestion control did", "", s.perVariant("actions", 3, s.actions))
	add(section.Quiet, "heatmap", "From where to where", "Most delay is on the way to h10.", s.matrix())
	add(section.Quiet, "empty", "Nothing at all", "", &section.Table{})
	for i := range 15 {
		add(section.Quiet, fmt.Sprintf("more-%d", i), fmt.Sprintf("More numbers, %d", i), []string{"", "Nothing differs."}[i%2], s.small(fmt.Sprintf("More numbers, %d", i)), section.Fold{Title: "All of them", Blocks: []section.Block{s.metrics(i)}})
	}
	add(section.Quiet, "how", "How this was run", "", section.Code("csiglab run "+s.title), section.List{"Simulated in virtual time.", "Five seeds."}, s.runs())
	return d
}

func (s *sample) fabric() Picture {
	g := &chart.Graph{Name: "Fabric and load", Desc: "Two links are full.", Quantity: "Busy", Unit: "%"}
	var hosts, leaves, spines []int
	for i := range 8 {
		hosts = append(hosts, len(g.Boxes))
		g.Boxes = append(g.Boxes, chart.Box{Row: 0, Pod: i/2 + 1, Lines: []string{fmt.Sprintf("h%d", i)}, Host: true})
	}
	for i := range 4 {
		leaves = append(leaves, len(g.Boxes))
		g.Boxes = append(g.Boxes, chart.Box{Row: 1, Pod: i + 1, Lines: []string{fmt.Sprintf("leaf%d", i)}})
	}
	for i := range 2 {
		spines = append(spines, len(g.Boxes))
		g.Boxes = append(g.Boxes, chart.Box{Row: 2, Lines: []string{fmt.Sprintf("spine%d", i)}})
	}
	m := &chart.Map{Quantities: []chart.MapQuantity{{Name: "Utilisation", Verb: "busy", Legend: []string{"idle", "to 20 % busy", "to 40 %", "to 60 %", "to 80 %", "to 100 %"}}},
		Keys: chart.ScaleKeys("", func(float64, float64) string { return "" })}
	link := func(a, b int) {
		i := len(g.Links)
		name := g.Boxes[a].Lines[0] + " – " + g.Boxes[b].Lines[0]
		g.Links = append(g.Links, chart.Link{A: a, B: b, Class: i % 4, Value: float64(i%4) * 30, Tip: fmt.Sprintf("%s: %d %% busy", name, i%4*30)})
		m.Lines = append(m.Lines, name)
	}
	for i, h := range hosts {
		link(h, leaves[i/2])
	}
	for _, l := range leaves {
		for _, spine := range spines {
			link(l, spine)
		}
	}
	g.Ways = []chart.Way{{Look: chart.Nth(0), Steps: [][2]int{{hosts[0], leaves[0]}, {leaves[0], spines[0]}, {spines[0], leaves[3]}, {leaves[3], hosts[7]}}, Tip: "Flow " + s.flows[0]}}
	g.Badges = []chart.Badge{{From: leaves[0], To: spines[0], Text: "1"}}
	for i, v := range s.variants {
		bins := 10 + i
		text := make([]byte, len(m.Lines)*bins)
		for k := range text {
			text[k] = byte((k*7 + i*20) % 101)
		}
		m.Variants = append(m.Variants, chart.MapVariant{Name: v, BinUS: 1000, Bins: bins, Values: [][]byte{text}})
	}
	legend := []chart.Key{chart.LineKey(s.flows[0], chart.Nth(0)), chart.FillKey("over 90 %", chart.Load(3))}
	return Picture{Figure: &chart.Figure{ID: "fabric", Title: "Fabric and load in " + s.variants[0], Caption: "8 hosts, 6 switches and 16 links.", Legend: legend, Columns: 2,
		Panels: []chart.Panel{{Variant: s.variants[0], Chart: g}}}, Marks: []section.Mark{{Name: "bottleneck: leaf0 → spine0", Value: "100 % busy"}}, Map: m}
}

func (s *sample) main() Picture {
	f := s.lines("slowest", "Rate", "Gb/s", 2, 1)
	f.Title = "Rate of flow " + s.flows[0] + ", the slowest in " + s.variants[0]
	return Picture{Figure: f}
}

const points = 200

func wave(i int, phase float64) (x, y, low, high []float64) {
	for k := range points {
		v := 20 + 15*float64(i) + 6*math.Sin(float64(k)/9+phase)
		if k > 150-10*i {
			v = 95
		}
		x, y, low, high = append(x, float64(k)*0.15), append(y, v), append(low, v-2), append(high, v+2)
	}
	return x, y, low, high
}

func clock() chart.Scaling {
	return chart.Scaling{Name: "Time", Unit: "ms", Max: 30, Clock: chart.ClockRun, Microseconds: 1000}
}

// lines returns a figure with a line for each variant in each panel.
func (s *sample) lines(id, quantity, unit string, columns, panels int) *chart.Figure {
	f := &chart.Figure{ID: id, Title: quantity, Caption: "In windows of 100 µs; the shaded span is where rates are measured. Lines are medians over the seeds, bands reach from the least to the greatest.", Columns: columns}
	for i, v := range s.variants {
		f.Legend = append(f.Legend, chart.LineKey(v, chart.Nth(i)))
	}
	for p := range panels {
		c := &chart.Lines{Name: fmt.Sprintf("port %d", p), X: clock(), Y: chart.Scaling{Name: quantity, Unit: unit}, Shade: [2]float64{2, 14}}
		for i, v := range s.variants {
			x, y, low, high := wave(i, float64(p))
			c.Lines = append(c.Lines, chart.Line{Name: v, Look: chart.Nth(i), X: x, Y: y, Low: low, High: high})
		}
		title := ""
		if panels > 1 {
			title = fmt.Sprintf("tor%d → agg0", p)
		}
		f.Panels = append(f.Panels, chart.Panel{Title: title, Chart: c})
	}
	return f
}

func (s *sample) perVariant(id string, columns int, draw func(variant int) chart.Chart) *chart.Figure {
	f := &chart.Figure{ID: id, Title: "One for each variant", Columns: columns, Caption: "Of the seed that is nearest to the medians."}
	if id == "throughput" {
		for i, flow := range s.flows {
			f.Legend = append(f.Legend, chart.LineKey(flow, chart.Nth(i)))
		}
	}
	for i, v := range s.variants {
		f.Panels = append(f.Panels, chart.Panel{Title: v, Subtitle: "seed 5", Variant: v, Chart: draw(i)})
	}
	return f
}

func (s *sample) rates(variant int) chart.Chart {
	c := &chart.Lines{Name: s.variants[variant], X: clock(), Y: chart.Scaling{Name: "Rate", Unit: "Gb/s"}}
	for i, flow := range s.flows {
		x, y, _, _ := wave(i, float64(variant))
		c.Lines = append(c.Lines, chart.Line{Name: flow, Look: chart.Nth(i), X: x, Y: y})
	}
	return c
}

func (s *sample) heat(variant int) chart.Chart {
	c := &chart.Heat{Name: "Busy in " + s.variants[variant], X: clock(), Step: 0.3, Columns: 100, Y: "Port", Value: chart.Scaling{Name: "Busy", Unit: "%", Max: 100}, EndHead: "%"}
	for r := range 16 {
		row := chart.HeatRow{Group: []string{"hosts ↑", "ToR ↑", "agg ↓", "ToR ↓"}[r/4], Name: fmt.Sprintf("tor%d-agg0", r), End: fmt.Sprint(r * 6)}
		for k := range c.Columns {
			row.Values = append(row.Values, float64((r*6+k*(variant+1))%101))
		}
		c.Rows = append(c.Rows, row)
	}
	return c
}

func (s *sample) actions(variant int) chart.Chart {
	c := &chart.Bars{Name: s.variants[variant], Parts: []chart.BarPart{{Name: "noop", Paint: chart.Action(0)}, {Name: "proportional increase", Short: "prop.", Paint: chart.Action(1)}, {Name: "decrease", Paint: chart.Action(4)}}}
	for i, flow := range s.flows {
		c.Rows = append(c.Rows, chart.BarRow{Name: flow, Values: []float64{50 - float64(5*i), 30, 20 + float64(5*i)}})
	}
	return c
}

func (s *sample) matrix() *chart.Figure {
	c := &chart.Matrix{Name: "Delay", Corner: "from ↓, to →", Value: chart.Scaling{Name: "Delay", Unit: "µs", Max: 64}, Cell: func(row, column int) chart.Cell {
		return chart.Cell{Value: float64(row * column), Paint: chart.Scale(min(row+column, 10)), Text: fmt.Sprint(row * column)}
	}}
	for i := range 8 {
		c.Names = append(c.Names, fmt.Sprintf("h%d", i))
	}
	return &chart.Figure{ID: "heatmap-0", Title: "Mean delay per hop", Columns: 2, Panels: []chart.Panel{{Title: "Mean", Chart: c}, {Title: "Greatest", Chart: c}}}
}

func row(variant string, texts ...string) section.Row {
	r := section.Row{Variant: variant}
	for _, text := range texts {
		r.Cells = append(r.Cells, section.Cell{Text: text})
	}
	return r
}

func columns(names ...string) (all []section.Column) {
	for _, name := range names {
		name, number := strings.CutPrefix(name, "#")
		all = append(all, section.Column{Name: name, Number: number})
	}
	return all
}

func (s *sample) expectations() *section.Table {
	t := &section.Table{Label: "Expectations", Columns: columns("Expectation", "Outcome")}
	for i := range 11 {
		r := row("", fmt.Sprintf("fct_us.p99[%s] < %d", s.flows[i%3], i), "holds ✓")
		r.Cells[1].State = section.Good
		t.Rows = append(t.Rows, r)
	}
	return t
}

func (s *sample) findings() (all []section.Block) {
	for i := range 6 {
		all = append(all, section.Paragraph(fmt.Sprintf("Flow %s suffers: against the mean of the other 2 it gets 17.3 against 82.7 Gb/s in %s (1 : 4.79). The mean queue of agg2 → tor5 grows the most, from 94 kB (7.5 µs) to 134 kB (10.7 µs): it comes to the queueing delay that congestion control steers to.",
			s.flows[i%3], s.variants[i%len(s.variants)])))
	}
	return all
}

// compared has a column for each variant.
func (s *sample) compared() *section.Table {
	t := &section.Table{Label: "Variants compared", Columns: columns("Quantity"), Note: "Medians over the seeds."}
	for _, v := range s.variants {
		t.Columns = append(t.Columns, section.Column{Name: v, Number: true, Variant: v})
	}
	for i, q := range []string{"Mean FCT", "P99 FCT", "Rate of the slowest flow", "Trims"} {
		r := row("", q)
		for k := range s.variants {
			r.Cells = append(r.Cells, section.Cell{Text: fmt.Sprintf("%d.%d ms", 20+i, k), State: []section.State{"", section.Good, section.Bad}[k%3]})
		}
		t.Rows = append(t.Rows, r)
	}
	return t
}

// fairness has rows of variants.
func (s *sample) fairness() *section.Table {
	t := &section.Table{Label: "Fairness", Columns: columns("Shared port", "Variant", "#Flows", "#Jain's index", "#over the seeds", "#Slowest (Gb/s)", "#Fastest (Gb/s)", "Who is slowest"),
		Note: "Rates of the flows that must cross a full port. Jain's index is 1 if all flows get the same."}
	for i, v := range s.variants {
		for p := range 3 {
			t.Rows = append(t.Rows, row(v, fmt.Sprintf("tor%d → h10", p), v, "2", fmt.Sprintf("0.%d", 700+i), "0.698 … 0.704 (5)", fmt.Sprintf("%d.27", 17+i), "82.73", s.flows[0]))
		}
	}
	return t
}

// blame is long, and wider than most windows.
func (s *sample) blame() *section.Table {
	t := &section.Table{Label: "Where transfers waited", Columns: columns("What", "Variant", "#Time", "#Unloaded", "#Lost", "Where most of it", "#How much there", "Who", "Another path", "Named by", "#Samples", "Remark"),
		Query: "csiglab query . 'SELECT * FROM \"transfers\"'"}
	for i := range s.rows {
		v := s.variants[i%len(s.variants)]
		t.Rows = append(t.Rows, row(v, "flow "+s.flows[i%3], v, fmt.Sprintf("%d.5 ms", 30+i), "900 µs", fmt.Sprintf("%d ms", i), fmt.Sprintf("agg%d-tor5: within the fabric, by queues", i), "15.7 ms (48.4 %)", "flow "+s.flows[(i+1)%3], "none", "CSIG samples", fmt.Sprint(i*17), "the last hop to a receiver to which several hosts send"))
	}
	return t
}

func (s *sample) completion() *section.Table {
	t := &section.Table{Label: "Flow completion times", Columns: columns("Flow", "#Size (MB)", "#Time (ms)", "#over the seeds"), Note: "From the flow's start to the arrival of the ACK that completes it."}
	for i, flow := range s.flows {
		t.Rows = append(t.Rows, row("", flow, "200", fmt.Sprintf("%d.5", 20+i), "32.5 … 32.6 (5)"))
	}
	return t
}

func (s *sample) small(label string) *section.Table {
	t := &section.Table{Label: label, Columns: columns("Port", "#Mean", "#Peak")}
	for i := range 5 {
		t.Rows = append(t.Rows, row("", fmt.Sprintf("tor%d", i), fmt.Sprint(i*10), fmt.Sprint(i*20)))
	}
	return t
}

func (s *sample) metrics(n int) *section.Table {
	t := &section.Table{Label: fmt.Sprintf("Every metric, %d", n), Columns: columns("Metric", "Unit", "#Value")}
	for i := range 30 {
		t.Rows = append(t.Rows, row("", fmt.Sprintf("queue_bytes.mean[tor%d-agg0]", i), "B", fmt.Sprint(i)))
	}
	return t
}

func (s *sample) runs() *section.Table {
	t := &section.Table{Label: "Runs", Columns: columns("Variant", "#Seed", "#Wall (s)", "Trace")}
	for i := range s.rows + 20 {
		v := s.variants[i%len(s.variants)]
		t.Rows = append(t.Rows, row(v, v, fmt.Sprint(i), fmt.Sprintf("%d.5", (i*37)%60), "e3b0c44298fc"))
	}
	return t
}
