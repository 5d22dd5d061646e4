package exposition_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/exposition"
	"github.com/csiglab/csiglab/units"
)

const window = 100 * units.Microsecond

// description returns the description of a switch with two ports and of two flows.
func description() exposition.Description {
	return exposition.Description{
		Common:  exposition.Common{Run: "0af3", Variant: "csig", Seed: "1", Stretch: "1"},
		Info:    &exposition.RunDescription{Experiment: "three-flow", Runtime: "netns", Clock: "wall", CC: "worst-hop", LB: "ecmp", AQM: "red", CSIG: "compact", Dilation: 20},
		Window:  window,
		Signals: []string{"abw", "abw-c", "delay", "nqd"},
		Ports: []exposition.PortDescription{
			{Node: 3, Port: 0, NodeName: "tor0", Name: "tor0-h0", Tier: "tor", Direction: "down", Rate: 8e9},
			{Node: 3, Port: 1, NodeName: "tor0", Name: "tor0-agg0", Tier: "tor", Direction: "up", Rate: 8e9},
		},
		Flows:    []exposition.FlowDescription{{Flow: 0, Job: "gpt", Name: "h0-h1", Source: "tor0", Destination: "tor1"}, {Flow: 1, Job: "gpt", Name: "h0-h2", Source: "tor0", Destination: "tor1"}},
		Jobs:     []metrics.JobInfo{{Job: 0, Name: "gpt", Steps: 3, Phases: []string{"forward"}, Collectives: []metrics.CollectiveInfo{{Name: "dp"}}}},
		Locators: []exposition.LocatorDescription{{Locator: 9, Port: "tor0-agg0", Tier: "tor"}},
	}
}

// values returns the value of each sample by its series, as text.
func values(s *exposition.Set) map[string]float64 {
	got := map[string]float64{}
	s.Each(func(x exposition.Sample) {
		key := x.Name() + "{" + strings.Join(x.Labels, ",") + "}"
		if x.Part == exposition.PartBucket {
			key += x.Bound()
		}
		got[key] = x.Value
	})
	return got
}

func want(t *testing.T, s *exposition.Set, want map[string]float64) {
	t.Helper()
	got := values(s)
	for key, v := range want {
		if g, ok := got[key]; !ok && !math.IsNaN(v) {
			t.Errorf("no series %s", key)
		} else if ok && math.IsNaN(v) {
			t.Errorf("%s = %v, want no such series", key, g)
		} else if ok && math.Abs(g-v) > 1e-9*math.Abs(v) {
			t.Errorf("%s = %v, want %v", key, g, v)
		}
	}
}

// One port sends at half its rate in window 0 and at line rate in window 4, of ten.
func TestIdleWindowsCount(t *testing.T) {
	s := exposition.NewSet(description())
	s.Consume(&metrics.Batch{Node: 3, Ports: []metrics.PortWindow{
		{Node: 3, Port: 1, TxPackets: 50, TxBytes: 49000, Busy: window / 2, ABW: 5e8, QueueMax: 3000, QueueByteNS: 1e8},
		{Node: 3, Port: 1, Start: units.Time(4 * window), TxPackets: 100, TxBytes: 98000, Busy: window, ABW: 1000, Marked: 2, QueueMax: 9000, QueueByteNS: 5e8},
	}})
	const port = "{tor0,tor0-agg0,tor,up}"
	want(t, s, map[string]float64{
		"csig_port_transmit_bytes_total" + port:                       147000,
		"csig_port_transmit_packets_total" + port:                     150,
		"csig_port_marked_packets_total" + port:                       2,
		"csig_port_utilisation_ratio" + port:                          1,
		"csig_port_available_bytes_per_second" + port:                 1000,
		"csig_port_available_bytes_per_second{tor0,tor0-h0,tor,down}": math.NaN(), // no window has said that it has a meter
		"csig_port_queue_bytes" + port:                                5000,
		"csig_port_queue_peak_bytes" + port:                           9000,
		"csig_port_rate_bytes_per_second" + port:                      1e9,
		"csig_port_window_utilisation_ratio_count" + port:             5,
		"csig_port_window_utilisation_ratio_sum" + port:               1.5,
		"csig_port_window_utilisation_ratio_bucket" + port + "0":      3,
		"csig_port_window_utilisation_ratio_bucket" + port + "0.4":    3,
		"csig_port_window_utilisation_ratio_bucket" + port + "0.5":    4,
		"csig_port_window_utilisation_ratio_bucket" + port + "0.99":   4,
		"csig_port_window_utilisation_ratio_bucket" + port + "1":      5,
		"csig_port_window_utilisation_ratio_bucket" + port + "+Inf":   5,
		"csig_port_window_queue_bytes_bucket" + port + "2000":         3,
		"csig_port_window_queue_bytes_bucket" + port + "4000":         4,
		"csig_port_window_queue_bytes_bucket" + port + "16000":        5,
		// The other port has been idle all the time.
		"csig_port_window_utilisation_ratio_bucket{tor0,tor0-h0,tor,down}0": 5,
		"csig_port_window_utilisation_ratio_count{tor0,tor0-h0,tor,down}":   5,
	})
	s.Advance(units.Time(10 * window))
	want(t, s, map[string]float64{
		"csig_port_utilisation_ratio" + port:                              0, // idle since
		"csig_port_available_bytes_per_second" + port:                     1e9,
		"csig_port_queue_peak_bytes" + port:                               0,
		"csig_port_window_utilisation_ratio_count" + port:                 10,
		"csig_port_window_utilisation_ratio_bucket" + port + "0":          8,
		"csig_port_window_utilisation_ratio_sum" + port:                   1.5,
		"csig_port_window_utilisation_ratio_count{tor0,tor0-h0,tor,down}": 10,
	})
	// A record of window 9 that comes late was counted as idle: no counter decreases, and the
	// count is exact again once as much time has passed.
	late := &metrics.Batch{Node: 3, Ports: []metrics.PortWindow{{Node: 3, Port: 1, Start: units.Time(9 * window), TxPackets: 1, TxBytes: 980, Busy: window / 100, ABW: metrics.Absent}}}
	s.Consume(late)
	want(t, s, map[string]float64{
		"csig_port_window_utilisation_ratio_count" + port:        11,
		"csig_port_window_utilisation_ratio_bucket" + port + "0": 8,
	})
	s.Advance(units.Time(12 * window))
	want(t, s, map[string]float64{
		"csig_port_window_utilisation_ratio_count" + port:        12,
		"csig_port_window_utilisation_ratio_bucket" + port + "0": 9,
	})
}

func TestFlowsOfAJobShareTheirSeries(t *testing.T) {
	d := description()
	for i := range d.Flows {
		d.Flows[i].Name = ""
	}
	s := exposition.NewSet(d)
	at := units.Time(window)
	s.Consume(&metrics.Batch{
		Flows: []metrics.FlowWindow{
			{Flow: 0, PayloadBytes: 1000},
			{Flow: 0, Start: at, PayloadBytes: 2000}, {Flow: 1, Start: at, PayloadBytes: 3000},
			{Flow: 1, PayloadBytes: 500},                 // an earlier window of another flow
			{Flow: 77, Start: at, PayloadBytes: 1 << 40}, // nobody has described it
		},
		CC: []metrics.CCWindow{
			{Flow: 0, Acks: 2, Delay: 40 * units.Microsecond, Cwnd: 5000, Actions: []metrics.Count{{Name: "hold", Packets: 2}}},
			{Flow: 0, Start: at, Acks: 1, Delay: 10 * units.Microsecond, Cwnd: 4000},
			{Flow: 1, Start: at, Acks: 3, Delay: 30 * units.Microsecond, Cwnd: 700, Actions: []metrics.Count{{Name: "hold", Packets: 1}, {Name: "cut", Packets: 2}}},
		},
		Signals: []metrics.SignalWindow{
			{Flow: 0, Type: 0, Locator: 9, Samples: 4, PointSum: 2e9, PointMin: 1e6, PointMax: 9e8},
			{Flow: 0, Type: 0, Locator: 9, Start: at, Samples: 4, PointSum: 2e9, PointMin: 7e8, PointMax: 9e8},
			{Flow: 1, Type: 0, Locator: 0, Start: at, Samples: 1, PointMin: 5e8, PointMax: 6e8},
			{Flow: 1, Type: 2, Locator: 9, Start: at, Samples: 1, PointMin: 1000, PointMax: 2000},
			{Flow: 1, Type: 1, Locator: 9, Start: at, Samples: 1, PointMin: 250000, PointMax: 500000},
			{Flow: 1, Type: 3, Locator: 9, Start: at, Samples: 1, PointMin: 250000, PointMax: 500000},
		},
		Totals: []metrics.NodeTotals{{Senders: []metrics.SenderTotals{{Flow: 0, Retransmitted: 3, Timeouts: 1}, {Flow: 1, Retransmitted: 4}}}},
	})
	same := map[string]float64{
		"csig_flow_receive_bytes_total{gpt,}":                  6500,
		"csig_flow_acks_total{gpt,}":                           6,
		"csig_flow_cwnd_bytes{gpt,}":                           4700,
		"csig_cc_actions_total{gpt,,hold}":                     3,
		"csig_cc_actions_total{gpt,,cut}":                      2,
		"csig_signal_samples_total{gpt,,abw,tor0-agg0,tor}":    8,
		"csig_signal_samples_total{gpt,,abw,,}":                1,
		"csig_path_samples_total{tor0,tor1,abw,tor0-agg0,tor}": 8,
		"csig_path_values_total{tor0,tor1,abw,tor0-agg0,tor}":  4e9,
		"csig_flow_retransmitted_packets_total{gpt,}":          7,
		"csig_flow_timeouts_total{gpt,}":                       1,
	}
	want(t, s, same)
	want(t, s, map[string]float64{
		"csig_flow_receive_bytes_per_second{gpt,}":     5000 / 100e-6,
		"csig_flow_delay_seconds{gpt,}":                10e-6,
		"csig_signal_available_bytes_per_second{gpt,}": 5e8,
		"csig_signal_available_ratio{gpt,}":            0.25,
		"csig_signal_delay_seconds{gpt,}":              2e-6,
		"csig_signal_queue_ratio{gpt,}":                0.5,
	})
	s.Advance(units.Time(5 * window)) // gauges of windows that are over
	want(t, s, same)
	want(t, s, map[string]float64{
		"csig_flow_receive_bytes_per_second{gpt,}":     0,
		"csig_flow_delay_seconds{gpt,}":                math.NaN(),
		"csig_signal_available_bytes_per_second{gpt,}": math.NaN(),
	})
}

func TestStepsAndCollectives(t *testing.T) {
	ms := units.Time(units.Millisecond)
	operations := []metrics.Operation{
		{Kind: metrics.OperationCompute, Tag: metrics.Tag{Step: 2, Phase: 1}, Ready: 0, End: 9 * ms},
		{Kind: metrics.OperationSpan, Tag: metrics.Tag{Step: 1, Phase: 1, Collective: 1}, Ready: 0, End: 2 * ms},
		{Kind: metrics.OperationSpan, Tag: metrics.Tag{Step: 1, Phase: 1}, Ready: 0, End: 3 * ms}, // a phase
		{Kind: metrics.OperationSpan, Tag: metrics.Tag{Step: 1}, Ready: ms, End: 5 * ms},
	}
	s := exposition.NewSet(description())
	s.Consume(&metrics.Batch{Operations: operations, Instances: []metrics.Instance{{Tag: metrics.Tag{Step: 1}, End: 50 * ms}}})
	want(t, s, map[string]float64{
		"csig_job_step{gpt}":                    2,
		"csig_job_iteration_seconds_count{gpt}": 1,
		"csig_job_iteration_seconds_sum{gpt}":   4e-3,
		"csig_collective_seconds_sum{gpt,dp}":   2e-3,
		"csig_collective_seconds_count{gpt,dp}": 1,
	})
}

func TestValuesBesideRecords(t *testing.T) {
	s := exposition.NewSet(description())
	s.Consume(&metrics.Batch{Dropped: 4})
	s.SetValue(exposition.Of(exposition.NodeLateness), 0.25, "tor0")
	s.SetValue(exposition.Of(exposition.NodeLateness), 0.5, "tor0")
	s.Observe(exposition.Of(exposition.CollectiveTime), 2.1e-3, "gpt", "dp")
	want(t, s, map[string]float64{
		"csig_run_dropped_records_total{}":                                  4,
		"csig_node_lateness_seconds{tor0}":                                  0.5,
		"csig_collective_seconds_bucket{gpt,dp}0.001995262":                 0,
		"csig_collective_seconds_bucket{gpt,dp}0.002238721":                 1,
		"csig_collective_seconds_count{gpt,dp}":                             1,
		"csig_run_dilation_ratio{}":                                         20,
		"csig_run_info{three-flow,netns,wall,worst-hop,ecmp,red,compact,0}": 1,
	})
}

// hostile names end lines, labels and braces.
const hostile = "a\"b\\c\nd{e=\"f\"} 1\n# TYPE x\xff<b>"

// parse reads a text back with Prometheus' own parser.
func parse(t *testing.T, text string) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatalf("Prometheus' parser: %v\n%s", err, text)
	}
	return families
}

// everything returns a Set with a value in every family.
func everything(d exposition.Description) *exposition.Set {
	s := exposition.NewSet(d)
	for i := range exposition.Families {
		f := &exposition.Families[i]
		labels := make([]string, len(f.Labels))
		for k := range labels {
			labels[k] = hostile
		}
		if f.Type == exposition.Histogram {
			s.Observe(f, 0.5, labels...)
		} else {
			s.SetValue(f, 0.5, labels...)
		}
	}
	return s
}

func TestPrometheusReadsHostileNames(t *testing.T) {
	d := description()
	d.Info, d.Ports, d.Flows, d.Jobs = nil, nil, nil, nil
	d.Run = hostile
	var text bytes.Buffer
	if err := everything(d).WriteText(&text); err != nil {
		t.Fatal(err)
	}
	families := parse(t, text.String())
	if got, want := len(families), len(exposition.Families); got != want {
		t.Errorf("%d families, want the %d of the table", got, want)
	}
	shown := strings.ToValidUTF8(hostile, "\uFFFD")
	for name, f := range families {
		if len(f.Metric) != 1 {
			t.Errorf("%s has %d series, want 1", name, len(f.Metric))
		}
		for _, l := range f.Metric[0].Label {
			switch l.GetName() {
			case "variant", "seed", "stretch":
			default:
				if l.GetValue() != shown {
					t.Errorf("%s: label %s = %q, want %q", name, l.GetName(), l.GetValue(), shown)
				}
			}
		}
	}
}

// The table keeps Prometheus' rules for names, and OpenMetrics' for units.
func TestNamesAreConventional(t *testing.T) {
	var text bytes.Buffer
	d := description()
	d.Info, d.Ports, d.Flows, d.Jobs = nil, nil, nil, nil
	if err := everything(d).WriteText(&text); err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.New(&text).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("promlint: %s: %s", p.Metric, p.Text)
	}
	seen := map[string]bool{}
	for _, f := range exposition.Families {
		if seen[f.Name] {
			t.Errorf("%s is in the table twice", f.Name)
		}
		seen[f.Name] = true
		if !strings.HasPrefix(f.Name, "csig_") || f.Help == "" || !strings.HasSuffix(f.Help, ".") {
			t.Errorf("%s: name or help %q is incomplete", f.Name, f.Help)
		}
		if f.Unit != "" && !strings.HasSuffix(strings.TrimSuffix(f.Name, "_total"), "_"+f.Unit) {
			t.Errorf("%s does not end with its unit %s", f.Name, f.Unit)
		}
		if (f.Type == exposition.Histogram) != (len(f.Buckets) > 0) {
			t.Errorf("%s: a %v with %d buckets", f.Name, f.Type, len(f.Buckets))
		}
		for i := 1; i < len(f.Buckets); i++ {
			if f.Buckets[i] <= f.Buckets[i-1] {
				t.Errorf("%s: buckets do not ascend", f.Name)
			}
		}
	}
}

func TestText(t *testing.T) {
	d := description()
	d.Ports = d.Ports[1:]
	d.Flows, d.Jobs = nil, nil
	s := exposition.NewSet(d)
	s.Consume(&metrics.Batch{Ports: []metrics.PortWindow{{Node: 3, Port: 1, TxPackets: 50, TxBytes: 49000, Busy: window / 2}}})
	text := func(f exposition.Format) string {
		var b bytes.Buffer
		if err := s.Write(&b, f); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	const common = `run="0af3",variant="csig",seed="1",stretch="1"`
	const port = common + `,node="tor0",port="tor0-agg0",tier="tor",direction="up"`
	for format, lines := range map[exposition.Format][]string{
		exposition.Text: {
			"# TYPE csig_run_info gauge",
			`csig_run_info{` + common + `,experiment="three-flow",runtime="netns",clock="wall",cc="worst-hop",lb="ecmp",aqm="red",csig="compact",number="0"} 1`,
			"# HELP csig_run_dropped_records_total Records that found no room in a bounded buffer: what other series count lacks them.",
			"# TYPE csig_run_dropped_records_total counter",
			"csig_run_dropped_records_total{" + common + "} 0",
			"csig_port_transmit_bytes_total{" + port + "} 49000",
			"# TYPE csig_port_window_utilisation_ratio histogram",
			"csig_port_window_utilisation_ratio_bucket{" + port + `,le="1"} 1`,
			"csig_port_window_utilisation_ratio_sum{" + port + `} 0.5`,
		},
		exposition.OpenMetrics: {
			"# TYPE csig_run info",
			"# TYPE csig_port_transmit_bytes counter",
			"# UNIT csig_port_transmit_bytes bytes",
			"csig_port_transmit_bytes_total{" + port + "} 49000",
			"csig_port_window_utilisation_ratio_bucket{" + port + `,le="1.0"} 1`,
			"# EOF",
		},
	} {
		got := text(format)
		for _, line := range lines {
			if !strings.Contains(got, line+"\n") {
				t.Errorf("%s: no line %s in\n%s", format.ContentType(), line, got)
			}
		}
	}
	families := parse(t, text(exposition.Text))
	h := families["csig_port_window_utilisation_ratio"].Metric[0].Histogram
	if h.GetSampleCount() != 1 || h.GetSampleSum() != 0.5 {
		t.Errorf("Prometheus reads %d windows with a sum of %v, want 1 and 0.5", h.GetSampleCount(), h.GetSampleSum())
	}
	if diff := cmp.Diff(text(exposition.Text), text(exposition.Text)); diff != "" {
		t.Errorf("two texts of one Set differ:\n%s", diff)
	}
}
