package reports

import (
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/analysis"
	"github.com/csiglab/csiglab/reports/analysis/analysistest"
	"github.com/csiglab/csiglab/units"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestSharing holds that flows are called unequal only where their rates
// compare.
func TestSharing(t *testing.T) {
	for _, c := range []struct {
		name      string
		open      bool
		sizes     [2]units.Size
		rates     [2]float64
		want, not string
	}{
		{"two alike", true, [2]units.Size{5, 5}, [2]float64{95, 95.2}, "The flows share evenly in run", "suffers"},
		{"two unlike", true, [2]units.Size{5, 5}, [2]float64{30, 70}, "Flow a suffers: against the other it gets 30 against 70 Gb/s", "evenly"},
		{"slow links", true, [2]units.Size{5, 5}, [2]float64{0.003, 0.0071}, "it gets 3 against 7.1 Mb/s in run", "evenly"},
		{"a short one over its own time", true, [2]units.Size{5, 500}, [2]float64{30, 90}, "", "suffers"},
		{"a short one over a window", false, [2]units.Size{5, 500}, [2]float64{30, 90}, "Flow a suffers", "evenly"},
	} {
		f := analysistest.OneWindow(t, c.open, 1,
			analysistest.Flow{Name: "a", Size: c.sizes[0], Gbps: c.rates[0]}, analysistest.Flow{Name: "b", Size: c.sizes[1], Gbps: c.rates[1]},
			analysistest.Flow{Name: "a-b app", Gbps: 1}) // the last of programs, which count for nothing here
		got := strings.Join(build(t, f).Findings, "\n")
		if !strings.Contains(got, c.want) || strings.Contains(got, c.not) || c.want == "" && got != "" {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// A port that is full in bursts is no port that is never full, however long it is idle in
// between; a busier one that is never full does not hide it.
func TestBurstsAreTold(t *testing.T) {
	p := &analysistest.Planted{Many: analysistest.Many{Leaves: 2, Spines: 2, Hosts: 2}, Interval: 100 * units.Microsecond, Variants: []string{"run"}, EndUS: 10_000}
	p.Run = func(m *runfolder.Manifest, _ string, _ uint64, b *metrics.Batch) {
		burst, busy := &m.Ports[analysistest.PortNamed(t, m, "tor0-agg0")], &m.Ports[analysistest.PortNamed(t, m, "tor0-agg1")]
		for i := range 100 {
			if i%10 < 3 {
				b.Ports = append(b.Ports, p.Window(burst, float64(i)*100, 1, 0))
			}
			b.Ports = append(b.Ports, p.Window(busy, float64(i)*100, 0.6, 0))
		}
	}
	r := build(t, p.Folder(t)).numbers
	const want = "o port is full all the time, but in bursts: tor0 → agg0 is full in 30 % of the windows of 100\u00a0µs, and used to 30 % on average"
	if got := strings.Join(Findings(r), "\n"); !strings.Contains(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	p.Run = func(m *runfolder.Manifest, _ string, _ uint64, b *metrics.Batch) {
		for i := range 100 {
			b.Ports = append(b.Ports, p.Window(&m.Ports[analysistest.PortNamed(t, m, "tor0-agg1")], float64(i)*100, 0.6+0.2*float64(i%2), 0))
		}
	}
	r = build(t, p.Folder(t)).numbers
	const never = "o port is full while measured: the busiest, tor0 → agg1, is used to 70 % on average and to 80 % in its busiest window of 100\u00a0µs"
	if got := strings.Join(Findings(r), "\n"); !strings.Contains(got, never) {
		t.Errorf("got %q, want %q", got, never)
	}
}

// Rates of flows that send one after the other say that they are not over one time.
func TestRatesOfDifferentTimes(t *testing.T) {
	p := &analysistest.Planted{Many: analysistest.Many{Leaves: 2, Spines: 2, Hosts: 2}, Interval: 100 * units.Microsecond, Measure: runfolder.Window{ToUS: 10_000}, Variants: []string{"run"}, EndUS: 10_000}
	for _, apart := range []bool{false, true} {
		p.Run = func(m *runfolder.Manifest, _ string, _ uint64, b *metrics.Batch) {
			for i := range 100 {
				for k := range m.Flows {
					if !apart || i*len(m.Flows)/100 == k {
						b.Flows = append(b.Flows, metrics.FlowWindow{Flow: m.Flows[k].Flow, Start: units.Time(i) * units.Time(p.Interval), WireBytes: 100_000 * int64(k+1)})
					}
				}
			}
		}
		got := strings.Join(build(t, p.Folder(t)).Findings, "\n")
		if !strings.Contains(got, "suffers") || strings.Contains(got, "Each rate is over the time of its flow; the flows do not all send at the same time.") != apart {
			t.Errorf("apart %t: %q", apart, got)
		}
	}
}

// Charts have units that fit what is drawn.
func TestScales(t *testing.T) {
	r := &analysis.Result{Groups: []analysis.Group{{Flow: "a", Flows: 1}}, PointUS: 2000}
	r.Setup.Measure.FromUS = 500_000
	for _, c := range []struct {
		point   int
		y, mark float64 // Gb/s
		want    Panel
	}{
		{999, 40, 20, Panel{XLabel: "Time (s)", YLabel: "Throughput (Gb/s)", XMax: 2, YMax: 40, Shade: [2]float64{0.5, 2}, Lines: []Line{{Name: "a", X: []float64{1.999}, Y: []float64{40}}}, Marks: []Mark{{"half 20 Gb/s", 20}}}},
		{399, 0.02, 0.04, Panel{XLabel: "Time (ms)", YLabel: "Throughput (Mb/s)", XMax: 800, YMax: 40, Shade: [2]float64{500, 800}, Lines: []Line{{Name: "a", X: []float64{799}, Y: []float64{20}}}, Marks: []Mark{{"half 40 Mb/s", 40}}}},
	} {
		chart := OverTime(r, &analysis.Chart{Unit: "Gb/s", Panels: []analysis.Panel{{
			Lines:  []analysis.Line{{Group: r.Groups[0], First: c.point, Values: analysis.Values{c.y}}},
			Levels: []analysis.Level{{Name: "half", Value: c.mark}},
		}}}, "Throughput")
		if diff := cmp.Diff(chart.Panels[0], c.want, cmpopts.EquateApprox(1e-9, 0), cmpopts.IgnoreUnexported(Panel{})); diff != "" {
			t.Errorf("point %d, %v Gb/s (-got +want):\n%s", c.point, c.y, diff)
		}
	}
}

// Values of a unit that no scale knows keep it.
func TestUnknownUnit(t *testing.T) {
	for unit, want := range map[string]string{"furlongs": "Length (furlongs)", "": "Length"} {
		chart := OverTime(&analysis.Result{PointUS: 100}, &analysis.Chart{Unit: unit, Panels: []analysis.Panel{{Lines: []analysis.Line{{Group: analysis.Group{Flows: 2}, Values: analysis.Values{4e6}}}}}}, "Length")
		if p := chart.Panels[0]; p.YLabel != want || p.YMax != 4e6 {
			t.Errorf("unit %q: axis %q to %v, want %q to 4e6", unit, p.YLabel, p.YMax, want)
		}
	}
}
