package reports

import (
	"bytes"
	"errors"
	"image/color"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/measure"
	"github.com/csiglab/csiglab/reports/analysis"
	"github.com/csiglab/csiglab/reports/analysis/analysistest"
	"github.com/csiglab/csiglab/units"
)

// report is all that is rendered of a folder.
type report struct {
	*page
	numbers *analysis.Result
	Charts  []Chart
}

func build(t *testing.T, f *runfolder.Folder) *report {
	t.Helper()
	numbers, err := analysis.Read(f, measure.Meaning)
	if err != nil {
		t.Fatal(err)
	}
	charts, err := drawCharts(numbers, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &report{newPage(numbers), numbers, charts}
}

func chartOf(t *testing.T, r *report, id string) Chart {
	t.Helper()
	for _, c := range r.Charts {
		if c.ID == id {
			return c
		}
	}
	t.Fatalf("no chart %s", id)
	return Chart{}
}

var approximately = cmp.Comparer(func(a, b float64) bool {
	return math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= 1e-9*max(1, math.Abs(a))
})

// Each series equals the records of the seed in the middle, whose rates are the
// medians.
func TestSeriesEqualTheRecords(t *testing.T) {
	s := analysistest.ThreeFlow()
	r := build(t, s.Folder(t, nil))
	flows := []string{"0-3", "0-1", "2-3"}
	names := []string{"baseline", "csig", "csig-wide"}
	ms := func(at units.Time) float64 { return units.Duration(at).Microseconds()/1000 + 0.05 }

	for v, variant := range names {
		n := s.Results[variant]
		lines, delays := make([]Line, 3), make([]Line, 3)
		for f := range 3 {
			lines[f], delays[f] = Line{Name: flows[f], Style: f}, Line{Name: flows[f], Style: f}
		}
		var shares [3]map[string]float64
		var acks [3]float64
		for _, w := range n.Flows {
			l := &lines[w.Flow]
			l.X, l.Y = append(l.X, ms(w.Start)), append(l.Y, float64(w.WireBytes)*8/1e9/analysistest.Interval.Seconds())
		}
		for _, w := range n.CC {
			l := &delays[w.Flow]
			if len(l.X) > 0 && ms(w.Start)-l.X[len(l.X)-1] > 0.15 {
				l.X, l.Y = append(l.X, ms(w.Start)-0.1), append(l.Y, math.NaN())
			}
			l.X, l.Y = append(l.X, ms(w.Start)), append(l.Y, w.Delay.Microseconds()/float64(w.Acks))
			if at := units.Duration(w.Start); at >= 2*units.Millisecond && at < 14*units.Millisecond {
				acks[w.Flow] += float64(w.Acks)
				if shares[w.Flow] == nil {
					shares[w.Flow] = map[string]float64{}
				}
				for _, a := range w.Actions {
					shares[w.Flow][a.Name] += float64(a.Packets)
				}
			}
		}
		panel := chartOf(t, r, "throughput").Panels[v]
		if d := cmp.Diff(panel.Lines, lines, approximately); d != "" {
			t.Errorf("%s: throughput (-got +want):\n%s", variant, d)
		}
		if panel.Title != variant || panel.Shade != [2]float64{2, 14} || panel.XMax != 32 || panel.Subtitle != "seed 2, of 3 the nearest to the medians" {
			t.Errorf("%s: panel %q %q, shade %v, x to %v", variant, panel.Title, panel.Subtitle, panel.Shade, panel.XMax)
		}
		panel = chartOf(t, r, "delays").Panels[v]
		if d := cmp.Diff(panel.Lines, delays, approximately); d != "" {
			t.Errorf("%s: delays (-got +want):\n%s", variant, d)
		}
		if d := cmp.Diff(panel.Marks, []Mark{{"target 10.52 µs", 10.517}}); d != "" {
			t.Errorf("%s: target (-got +want):\n%s", variant, d)
		}
		var bars []Bar
		for f := range 3 {
			b := Bar{Name: flows[f]}
			for _, a := range analysistest.Actions {
				b.Parts = append(b.Parts, shares[f][a.Name]/acks[f])
			}
			bars = append(bars, b)
		}
		if d := cmp.Diff(chartOf(t, r, "actions").Panels[v].Bars, bars, approximately); d != "" {
			t.Errorf("%s: actions (-got +want):\n%s", variant, d)
		}
	}
	if d := cmp.Diff(chartOf(t, r, "throughput").Legend, []Key{{"0-3", 0, false}, {"0-1", 1, false}, {"2-3", 2, false}}); d != "" {
		t.Errorf("legend (-got +want):\n%s", d)
	}
}

// Charts that compare variants have the median of the seeds of each variant, and a band
// from the least to the greatest.
func TestVariantsAreLaidOver(t *testing.T) {
	s := analysistest.ThreeFlow()
	r := build(t, s.Folder(t, nil))
	names := []string{"baseline", "csig", "csig-wide"}
	// lines returns what a chart must show: the value of each record, joined over the
	// seeds.
	lines := func(values func(*metrics.Batch) []float64) []Line {
		var all []Line
		for style, variant := range names {
			l := Line{Name: variant, Style: style}
			var seeds [][]float64
			for _, n := range s.Records[variant] {
				seeds = append(seeds, values(n))
			}
			for i := range seeds[0] {
				at := []float64{seeds[0][i], seeds[1][i], seeds[2][i]}
				slices.Sort(at)
				l.X, l.Low, l.Y, l.High = append(l.X, (float64(i)+0.5)/10), append(l.Low, at[0]), append(l.Y, at[1]), append(l.High, at[2])
			}
			all = append(all, l)
		}
		return all
	}
	queue := func(port [2]int32) func(*metrics.Batch) []float64 {
		return func(n *metrics.Batch) (values []float64) {
			for _, w := range n.Ports {
				if w.Node == port[0] && w.Port == port[1] {
					values = append(values, float64(w.QueueByteNS)/1e8)
				}
			}
			return values
		}
	}
	charts := []struct {
		id, title, panel string
		index            int
		values           func(*metrics.Batch) []float64
	}{
		{"slowest", "Rate of flow 0-3, the slowest in baseline", "", 0, func(n *metrics.Batch) (values []float64) {
			for _, w := range n.Flows {
				if w.Flow == 0 {
					values = append(values, float64(w.WireBytes)*8/1e9/analysistest.Interval.Seconds())
				}
			}
			return values
		}},
		{"cwnd", "Congestion window of flow 0-3, the slowest in baseline", "", 0, func(n *metrics.Batch) (values []float64) {
			for _, w := range n.CC {
				if w.Flow == 0 {
					values = append(values, float64(w.Cwnd)/1000)
				}
			}
			return values
		}},
		// The deeper queue comes first.
		{"queues", "Queue depth of the bottlenecks", "s1 → s2", 0, queue([2]int32{5, 3})},
		{"queues", "Queue depth of the bottlenecks", "s0 → s1", 1, queue([2]int32{4, 1})},
	}
	for _, c := range charts {
		chart := chartOf(t, r, c.id)
		panel := chart.Panels[c.index]
		if d := cmp.Diff(panel.Lines, lines(c.values), approximately); d != "" {
			t.Errorf("%s %s (-got +want):\n%.2000s", c.id, c.panel, d)
		}
		if chart.Title != c.title || panel.Title != c.panel || !strings.HasSuffix(chart.Caption, "bands reach from the least to the greatest.") {
			t.Errorf("%s: chart %q, panel %q, caption %q", c.id, chart.Title, panel.Title, chart.Caption)
		}
		if d := cmp.Diff(chart.Legend, []Key{{"baseline", 0, false}, {"csig", 1, false}, {"csig-wide", 2, false}}); d != "" {
			t.Errorf("%s: legend (-got +want):\n%s", c.id, d)
		}
	}
}

func TestFindings(t *testing.T) {
	s := analysistest.ThreeFlow()
	r := build(t, s.Folder(t, nil))
	text := strings.Join(r.Findings, "\n")
	for _, want := range []string{
		"The bottlenecks are s1 → s2 (100 % busy; mean queue ", "kB in baseline, ", "kB in csig-wide) and s0 → s1 (100 % busy; ",
		"Flow 0-3 crosses both; s1 → s2 also limits 2-3, s0 → s1 also limits 0-1.",
		"Flow 0-3 suffers: against the mean of the other 2 it gets 17.7 against 82.1 Gb/s in baseline (1\u00a0:\u00a04.6", "30.1 against 69.7 Gb/s in csig (1\u00a0:\u00a02.3",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("findings lack %q:\n%s", want, text)
		}
	}

	s = analysistest.ThreeFlow()
	s.Utilise = 0.63
	s.Rates = map[string][3]float64{"baseline": {31, 32, 32}}
	r = build(t, s.Folder(t, nil))
	text = strings.Join(r.Findings, "\n")
	for _, want := range []string{"No port is full while measured: the busiest, s0 → s1, is used to 63 % on average and in each window of 100\u00a0µs.", "The flows share evenly in baseline; the slowest, 0-3,"} {
		if !strings.Contains(text, want) {
			t.Errorf("findings lack %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "cross") {
		t.Errorf("without a bottleneck:\n%s", text)
	}
}

func TestVerdict(t *testing.T) {
	checkout.SkipSlowRace(t)
	for _, c := range []struct {
		name, state, headline string
		change                func(*runfolder.Manifest, *runfolder.Summary)
	}{
		{"all good", stateGood, "Valid; 2 of 2 expectations hold; 1 of 2 published figures reproduced", nil},
		{"a failure", stateBad, "Valid, but 1 of 2 expectations failed; 1 of 2 published", func(_ *runfolder.Manifest, s *runfolder.Summary) { s.Expectations[0].OK = false }},
		{"invalid", stateBad, "The run is not valid", func(_ *runfolder.Manifest, s *runfolder.Summary) { s.Valid, s.Reasons = false, []string{"late timers"} }},
		{"nothing asked", stateGood, "Valid; the experiment states no expectation", func(m *runfolder.Manifest, s *runfolder.Summary) { m.Published, s.Expectations = nil, nil }},
		{"reproduced", stateGood, "; 1 of 1 published figures reproduced", func(m *runfolder.Manifest, _ *runfolder.Summary) { m.Published = m.Published[:1] }},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := build(t, analysistest.ThreeFlow().Folder(t, c.change)).Verdict
			if v.State != c.state || !strings.Contains(v.Headline, c.headline) {
				t.Errorf("verdict %s %q, want %s %q", v.State, v.Headline, c.state, c.headline)
			}
			if c.name == "invalid" && !cmp.Equal(v.Reasons, []string{"late timers"}) {
				t.Errorf("reasons %v", v.Reasons)
			}
		})
	}
}

func TestPublished(t *testing.T) {
	r := build(t, analysistest.ThreeFlow().Folder(t, func(m *runfolder.Manifest, _ *runfolder.Summary) {
		m.Published = append(m.Published, runfolder.Published{Variant: "csig", Metric: "absent", Value: 1, Low: 0.5, High: 2})
	}))
	want := [][]cell{
		{{Text: "baseline"}, {Text: "fairness_ratio"}, {Text: "4.668"}, {Text: "4.638 … 4.698 (3)"}, {Text: "5"}, {Text: "4.4 … 5.1"}, {"✓ reproduced", stateGood}, {Text: "slides"}},
		{{Text: "csig"}, {Text: "fairness_ratio"}, {Text: "2.346"}, {Text: "2.316 … 2.376 (3)"}, {Text: "2.3"}, {Text: "2.2 … 2.31"}, {"✗ outside: start-up trims", stateBad}, {Text: "slides"}},
		{{Text: "csig"}, {Text: "absent"}, {Text: "–"}, {Text: "–"}, {Text: "1"}, {Text: "0.5 … 2"}, {"✗ not measured", stateBad}, {}},
	}
	if d := cmp.Diff(r.Published.Rows, want); d != "" {
		t.Errorf("published (-got +want):\n%s", d)
	}
}

func TestNotDone(t *testing.T) {
	s := analysistest.ThreeFlow()
	s.Rates = map[string][3]float64{"baseline": {31, 32, 32}}
	s.Open = true
	r := build(t, s.Folder(t, nil))
	if got := r.Completion.Rows[0][2:]; !cmp.Equal(got, []cell{{"not done", stateBad}, {Text: "in 1 of 3 seeds"}}) {
		t.Errorf("completion %v", got)
	}
}

// A report says that records were dropped, and nothing when none were.
func TestDroppedRecords(t *testing.T) {
	f := analysistest.ThreeFlow().Folder(t, nil)
	for dropped, want := range map[int64]string{0: "", 12_345: "12\u202f345: charts and findings lack as many telemetry windows"} {
		f.Manifest.DroppedRecords = dropped
		got := ""
		for _, fact := range build(t, f).How {
			if fact.Name == "Dropped records" {
				got = fact.Value
			}
		}
		if got != want {
			t.Errorf("%d dropped: %q, want %q", dropped, got, want)
		}
	}
}

func TestTables(t *testing.T) {
	r := build(t, analysistest.ThreeFlow().Folder(t, nil))
	if d := cmp.Diff(r.Completion.Rows[0][:4], []cell{{Text: "0-3"}, {Text: "200"}, {Text: "32"}, {Text: "32 (3)"}}); d != "" {
		t.Errorf("completion (-got +want):\n%s", d)
	}
	var names []string
	for _, row := range r.Metrics.Rows {
		names = append(names, row[0].Text)
	}
	if d := cmp.Diff(names, []string{"fairness_ratio", "fct_us.max (of all 3 flows)", "fct_us.mean (of all 3 flows)", "fct_us.p99 (of all 3 flows)", "packets.new", "target_qdelay_us"}); d != "" {
		t.Errorf("key metrics (-got +want):\n%s", d)
	}
	// NaN is absent, and what is 0 everywhere is left out.
	want := [][]string{
		{"fairness_ratio", "", "4.668 (4.638 … 4.698)", "2.346 (2.316 … 2.376)"},
		{"fct_us.0-3", "µs", "32\u202f001 (32\u202f000 … 32\u202f002)", "32\u202f001 (32\u202f000 … 32\u202f002)"},
	}
	for i, row := range want {
		if got := texts(&r.Details)[i][:4]; !cmp.Equal(got, row) {
			t.Errorf("row %q of all metrics, want %q", got, row)
		}
	}
	if got := len(r.Details.Rows); got != 10 {
		t.Errorf("%d rows of all metrics, want 10", got)
	}
	if got := r.Runs.Rows[0]; got[6].Text != "✓ conservation" || got[5].Text != "01ab00000000" {
		t.Errorf("run %v", got)
	}
}

// A run without a record, and one of a single window, have a report too.
func TestHardlyAnything(t *testing.T) {
	for _, windows := range []int{0, 1} {
		w, err := runfolder.Create(filepath.Join(t.TempDir(), "run"), runfolder.Manifest{
			Name: "tiny", IntervalUS: 100, Variants: []runfolder.Variant{{Name: "run"}},
			Nodes: []runfolder.Node{{Node: 0, Name: "h0", Kind: runfolder.KindHost}}, Flows: []runfolder.Flow{{Name: "0-1"}}})
		if err != nil {
			t.Fatal(err)
		}
		node := &metrics.Batch{Flows: []metrics.FlowWindow{{WireBytes: 4150}}[:windows], Totals: []metrics.NodeTotals{{Name: "h0"}}}
		if err := analysistest.AddRun(w, "run", 1, node, runfolder.RunData{}); err != nil {
			t.Fatal(err)
		}
		if err := w.Finish(runfolder.NewSummary("tiny")); err != nil {
			t.Fatal(err)
		}
		f, err := runfolder.Open(w.Dir())
		if err != nil {
			t.Fatal(err)
		}
		r := build(t, f)
		var html, markdown bytes.Buffer
		if err := errors.Join(WriteHTML(&html, r.numbers), WriteMarkdown(&markdown, r.numbers)); err != nil {
			t.Fatal(err)
		}
		if got := len(r.Charts); got != 2*windows { // the slowest flow's rate and all flows'
			t.Errorf("%d windows: %d charts, want %d", windows, got, 2*windows)
		}
		if got := strings.Contains(html.String(), "fill:var(--flow-0)"); got != (windows == 1) {
			t.Errorf("%d windows: a dot for the single point: %v", windows, got)
		}
	}
}

func TestNumber(t *testing.T) {
	for _, c := range []struct {
		v    float64
		want string
	}{{0, "0"}, {4.6689, "4.669"}, {5, "5"}, {146844, "146\u202f844"}, {1234.5, "1234"}, {-0.00123456, "−0.001235"}, {999.96, "1000"}, {12345678.4, "12\u202f345\u202f678"}, {math.NaN(), "–"}, {math.Inf(1), "–"}} {
		if got := number(c.v); got != c.want {
			t.Errorf("number(%v) = %q, want %q", c.v, got, c.want)
		}
	}
}

// Every colour of a drawing is a variable of the style sheet, in light and dark.
func TestPaints(t *testing.T) {
	for p := paintText; p < paintPart+partPaints; p++ {
		if got, want := string(markup("<svg><x y='"+hex(p)+"'/></svg>", "", "", 1, 1)), "var("+p.variable()+")"; !strings.Contains(got, want) {
			t.Errorf("paint %d drawn as %s, want %s", p, got, want)
		}
		if n := strings.Count(pageStyle, p.variable()+": "); n != 2 {
			t.Errorf("%s is defined %d times, want once for light and once for dark", p.variable(), n)
		}
	}
	var b bytes.Buffer
	if err := WriteHTML(&b, build(t, analysistest.ThreeFlow().Folder(t, nil)).numbers); err != nil {
		t.Fatal(err)
	}
	drawings := strings.Join(regexp.MustCompile(`(?s)<svg class="chart".*?</svg>`).FindAllString(b.String(), -1), "")
	if left := regexp.MustCompile(`#[0-9A-Fa-f]{6}|NaN|Inf`).FindString(drawings); left != "" {
		t.Errorf("drawing has %s", left)
	}
	for _, want := range []string{"&lt;of&gt;", "✗ outside: start-up trims", "csiglab run three-flow"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("page lacks %q", want)
		}
	}
	if left := regexp.MustCompile(`(?i)(src|href)="[^"]*|url\([^#]|@import|<script`).FindAllString(b.String(), -1); !cmp.Equal(left, []string{`href="data:,`, `href="#content`, "<script", "<script"}) {
		t.Errorf("references of the page: %v", left)
	}
}

func TestMarkdown(t *testing.T) {
	r := build(t, analysistest.ThreeFlow().Folder(t, func(m *runfolder.Manifest, _ *runfolder.Summary) { m.Published[1].Note = "a | b" }))
	var b bytes.Buffer
	if err := WriteMarkdown(&b, r.numbers); err != nil {
		t.Fatal(err)
	}
	columns := 0
	for line := range strings.Lines(b.String()) {
		bars := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
		if bars == 0 {
			columns = 0
			continue
		}
		if columns == 0 {
			columns = bars
		}
		if bars != columns {
			t.Errorf("line has %d bars, the table's head %d: %s", bars, columns, line)
		}
	}
	for _, want := range []string{"**Valid; 2 of 2 expectations hold", `✗ outside: a \| b |`, "| baseline | fairness\\_ratio | 4.668 |"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("markdown lacks %q:\n%s", want, b.String())
		}
	}
}

// hex prints a colour as gonum's SVG canvas does.
func hex(c color.Color) string {
	canvas := vgsvg.New(10, 10)
	canvas.SetColor(c)
	canvas.Fill(vg.Rectangle{Max: vg.Point{X: 1, Y: 1}}.Path())
	var b bytes.Buffer
	canvas.WriteTo(&b)
	return regexp.MustCompile(`#[0-9A-F]{6}`).FindString(b.String())
}
