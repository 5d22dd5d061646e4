package series_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/metrics/series"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
	"github.com/csiglab/csiglab/units"
)

// point is a sample, with its time in ms since the start of the run. A series that ends has
// a point with NaN.
type point struct {
	At    int64
	Value float64
}

// memory is a series.Sink that keeps everything, by the text of the series.
type memory struct {
	t      *testing.T
	zero   int64
	names  []string
	points map[string][]point
	fail   error // of Append
}

func newMemory(t *testing.T, start time.Time) *memory {
	return &memory{t: t, zero: start.UnixMilli(), points: map[string][]point{}}
}

func (m *memory) Open(s *series.Series) (int, error) {
	name := s.Name + "{"
	for _, l := range s.Labels {
		if l.Value != "" && l.Name != "run" && l.Name != "seed" && l.Name != "stretch" {
			name += l.Name + "=" + l.Value + " "
		}
	}
	name = strings.TrimSuffix(name, " ") + "}"
	if slices.Contains(m.names, name) {
		m.t.Errorf("%s is opened twice", name)
	}
	m.names = append(m.names, name)
	return len(m.names) - 1, nil
}

func (m *memory) Append(at int, ms int64, value float64) error {
	if m.fail != nil {
		return m.fail
	}
	list := m.points[m.names[at]]
	if n := len(list); n > 0 && list[n-1].At >= ms-m.zero {
		m.t.Errorf("%s: a sample at %d ms after one at %d ms", m.names[at], ms-m.zero, list[n-1].At)
	}
	m.points[m.names[at]] = append(list, point{ms - m.zero, value})
	return nil
}

func (m *memory) End(at int, ms int64) error { return m.Append(at, ms, math.NaN()) }

// of returns the points of a series.
func (m *memory) of(name string) []point {
	m.t.Helper()
	list, ok := m.points[name]
	if !ok {
		m.t.Errorf("no series %s in\n%s", name, strings.Join(slices.Sorted(maps.Keys(m.points)), "\n"))
	}
	return list
}

func (m *memory) want(name string, want ...point) {
	m.t.Helper()
	if diff := cmp.Diff(want, m.of(name), cmp.Comparer(func(a, b float64) bool {
		return a == b || math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) < 1e-9*math.Abs(a)
	})); diff != "" {
		m.t.Errorf("%s: -want +got\n%s", name, diff)
	}
}

// none is the value of a series that ends.
var none = math.NaN()

var started = time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)

const window = 100 * units.Microsecond

// at returns the beginning of a window.
func at(window int) units.Time { return units.Time(window) * units.Time(100*units.Microsecond) }

// folder writes a run folder with one run of these records, and opens it.
func folder(t *testing.T, change func(m *runfolder.Manifest), records *metrics.Batch) *runfolder.Folder {
	t.Helper()
	m := runfolder.Manifest{
		Name: "x", Runtime: "inproc", Clock: "virtual", Started: started, IntervalUS: window.Microseconds(), Signals: []string{"abw", "abw-c", "delay", "nqd"},
		Nodes:    []runfolder.Node{{Node: 0, Name: "tor0", Kind: runfolder.KindSwitch}, {Node: 1, Name: "h0", Kind: runfolder.KindHost}},
		Ports:    []runfolder.Port{{Node: 0, Port: 0, Peer: 1, RateBPS: 8e9, Link: "l", Name: "tor0-h0", Tier: "tor", Direction: "down"}},
		Variants: []runfolder.Variant{{Name: "v", CC: "nscc", CSIG: "compact"}},
	}
	if change != nil {
		change(&m)
	}
	w, err := runfolder.Create(filepath.Join(t.TempDir(), "run"), m)
	if err != nil {
		t.Fatal(err)
	}
	records.Totals = append(records.Totals, metrics.NodeTotals{Node: records.Node, Name: "tor0"})
	if err := readingtest.AddRun(w, "v", 1, records, runfolder.RunData{TraceHash: [32]byte{1}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(runfolder.NewSummary(m.Name, runfolder.RunMetrics{Variant: "v", Seed: 1, TraceHash: [32]byte{1}})); err != nil {
		t.Fatal(err)
	}
	f, err := runfolder.Open(w.Dir())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func read(t *testing.T, f *runfolder.Folder, o series.Options) (*memory, series.Loaded) {
	t.Helper()
	m := newMemory(t, series.Origin)
	loaded, err := series.Read(t.Context(), f, o, m)
	if err != nil {
		t.Fatal(err)
	}
	return m, loaded
}

// portBatch are the windows of one port: busy in windows 0 and 1, idle until 30, busy in 30.
func portBatch() *metrics.Batch {
	b := &metrics.Batch{}
	for _, w := range []struct {
		window int
		share  float64
	}{{0, 1}, {1, 0.5}, {30, 0.25}} {
		bytes := int64(w.share * 100_000) // 8 Gb/s for 100 us
		b.Ports = append(b.Ports, metrics.PortWindow{
			Start: at(w.window), TxBytes: bytes, TxPackets: bytes / 1000, QueueMax: 3000, QueueByteNS: 2000 * int64(window/units.Nanosecond),
			Busy: units.Duration(w.share * float64(window)), ABW: int64(1e9 * (1 - w.share)), Marked: 1,
		})
	}
	return b
}

// Gauges have the times of their windows, and their idle value at both ends of a gap, so
// that no line is drawn over it. Counters are flat in the gap. All end after the run.
func TestPort(t *testing.T) {
	m, loaded := read(t, folder(t, nil, portBatch()), series.Options{Stretch: 1000})
	const labels = "{variant=v node=tor0 port=tor0-h0 tier=tor direction=down}"
	m.want("csig_port_utilisation_ratio"+labels, point{0, 1}, point{100, 0.5}, point{200, 0}, point{2900, 0}, point{3000, 0.25}, point{3100, 0.25}, point{3101, none})
	m.want("csig_port_available_bytes_per_second"+labels, point{0, 0}, point{100, 5e8}, point{200, 1e9}, point{2900, 1e9}, point{3000, 7.5e8}, point{3100, 7.5e8}, point{3101, none})
	m.want("csig_port_transmit_bytes_total"+labels, point{0, 0}, point{100, 100_000}, point{200, 150_000}, point{3000, 150_000}, point{3100, 175_000}, point{3101, none})
	m.want("csig_port_queue_bytes"+labels, point{0, 2000}, point{100, 2000}, point{200, 0}, point{2900, 0}, point{3000, 2000}, point{3100, 2000}, point{3101, none})
	m.want("csig_port_rate_bytes_per_second"+labels, point{0, 1e9}, point{3100, 1e9}, point{3101, none})
	m.want("csig_port_dropped_packets_total"+labels, point{0, 0}, point{3100, 0}, point{3101, none})
	// Of 31 windows 28 are idle. Histograms are written every ten windows.
	m.want("csig_port_window_utilisation_ratio_bucket{variant=v node=tor0 port=tor0-h0 tier=tor direction=down le=0}",
		point{0, 0}, point{1000, 8}, point{3000, 28}, point{3100, 28}, point{3101, none})
	m.want("csig_port_window_utilisation_ratio_bucket{variant=v node=tor0 port=tor0-h0 tier=tor direction=down le=0.5}",
		point{0, 0}, point{1000, 9}, point{3000, 29}, point{3100, 30}, point{3101, none})
	m.want("csig_port_window_utilisation_ratio_count"+labels, point{0, 0}, point{1000, 10}, point{3000, 30}, point{3100, 31}, point{3101, none})
	m.want("csig_run_info{variant=v experiment=x runtime=inproc clock=virtual cc=nscc csig=compact number=1}", point{0, 1}, point{3100, 1}, point{3101, none})
	if got, want := loaded.To.Sub(loaded.From), 3100*time.Millisecond; got != want || !loaded.From.Equal(series.Origin) || loaded.Run != "run" {
		t.Errorf("loaded %q from %v for %v, want run, %v, %v", loaded.Run, loaded.From, got, series.Origin, want)
	}
}

// Without stretch ten windows share a millisecond: a gauge has the worst of them, a counter
// the last value.
func TestWindowsOfOneMillisecond(t *testing.T) {
	m, _ := read(t, folder(t, nil, portBatch()), series.Options{Stretch: 1})
	const labels = "{variant=v node=tor0 port=tor0-h0 tier=tor direction=down}"
	m.want("csig_port_utilisation_ratio"+labels, point{0, 1}, point{1, 0}, point{2, 0}, point{3, 0.25}, point{4, 0.25}, point{5, none})
	m.want("csig_port_available_bytes_per_second"+labels, point{0, 0}, point{1, 1e9}, point{2, 1e9}, point{3, 7.5e8}, point{4, 7.5e8}, point{5, none})
	m.want("csig_port_transmit_bytes_total"+labels, point{0, 0}, point{1, 150_000}, point{3, 150_000}, point{4, 175_000}, point{5, none})
}

// A query looks back for five minutes: a series that does not change has a sample more
// often.
func TestLongGap(t *testing.T) {
	b := portBatch()
	b.Ports[2].Start = at(6000) // 600 s later
	m, _ := read(t, folder(t, nil, b), series.Options{Stretch: 1000})
	for name, points := range m.points {
		for i := 1; i < len(points); i++ {
			if gap := points[i].At - points[i-1].At; gap > (5 * time.Minute).Milliseconds() {
				t.Errorf("%s: nothing between %d and %d ms", name, points[i-1].At, points[i].At)
			}
		}
	}
}

// batch returns records of so many flows in two windows, and those of a third one later.
func batch(flows int) *metrics.Batch {
	b := &metrics.Batch{Node: 1}
	for _, w := range []int{0, 1, 40} {
		for f := range int32(flows) {
			b.Flows = append(b.Flows, metrics.FlowWindow{Flow: f, Start: at(w), Packets: 1, WireBytes: 1100, PayloadBytes: 1000})
			b.CC = append(b.CC, metrics.CCWindow{
				Flow: f, Start: at(w), Acks: 2, Delay: 20 * units.Microsecond, Cwnd: 5000 + int64(w), Actions: []metrics.Count{{Name: "noop", Packets: 2}},
			})
			b.Signals = append(b.Signals, metrics.SignalWindow{Flow: f, Start: at(w), Type: 2, Locator: 7, Samples: 3, PointSum: 9000, PointMin: 1000, PointMax: 4000 + int64(f)})
		}
	}
	return b
}

func withFlows(n int) func(*runfolder.Manifest) {
	return func(m *runfolder.Manifest) {
		for f := range int32(n) {
			m.Flows = append(m.Flows, runfolder.Flow{Flow: f, Name: fmt.Sprintf("f%d", f), Src: 1, Dst: 1, Size: 3000})
		}
		m.Variants[0].Locators = &runfolder.LocatorTable{Scheme: "registry", Locators: []runfolder.Locator{{Locator: 7, Ports: []string{"tor0-h0"}}}}
	}
}

// A run of few flows has series by flow.
func TestFlows(t *testing.T) {
	m, _ := read(t, folder(t, withFlows(2), batch(2)), series.Options{Stretch: 1000})
	const labels = "{variant=v flow=f1}"
	m.want("csig_flow_receive_bytes_per_second"+labels, point{0, 1e7}, point{100, 1e7}, point{200, 0}, point{3900, 0}, point{4000, 1e7}, point{4100, 1e7}, point{4101, none})
	m.want("csig_flow_receive_bytes_total"+labels, point{0, 0}, point{100, 1000}, point{200, 2000}, point{4000, 2000}, point{4100, 3000}, point{4101, none})
	m.want("csig_flow_cwnd_bytes"+labels, point{0, 5000}, point{100, 5001}, point{4000, 5040}, point{4100, 5040}, point{4101, none})
	// A value of samples ends ten windows after the last one.
	m.want("csig_flow_delay_seconds"+labels, point{0, 1e-5}, point{100, 1e-5}, point{1100, none}, point{4000, 1e-5}, point{4100, 1e-5}, point{4101, none})
	m.want("csig_signal_delay_seconds"+labels, point{0, 4.001e-6}, point{100, 4.001e-6}, point{1100, none}, point{4000, 4.001e-6}, point{4100, 4.001e-6}, point{4101, none})
	m.want("csig_signal_samples_total{variant=v flow=f1 signal=delay bottleneck=tor0-h0 tier=tor}", point{0, 0}, point{100, 3}, point{200, 6}, point{4000, 6}, point{4100, 9}, point{4101, none})
	m.want("csig_path_samples_total{variant=v source=h0 destination=h0 signal=delay bottleneck=tor0-h0 tier=tor}", point{0, 0}, point{100, 6}, point{200, 12}, point{4000, 12}, point{4100, 18}, point{4101, none})
	m.want("csig_path_values_total{variant=v source=h0 destination=h0 signal=delay bottleneck=tor0-h0 tier=tor}", point{0, 0}, point{100, 1.8e-5}, point{200, 3.6e-5}, point{4000, 3.6e-5}, point{4100, 5.4e-5}, point{4101, none})
	m.want("csig_cc_actions_total{variant=v flow=f1 action=noop}", point{0, 0}, point{100, 2}, point{200, 4}, point{4000, 4}, point{4100, 6}, point{4101, none})
}

// The window of a flow ends with its last ACK, where the run goes on.
func TestWindowEnds(t *testing.T) {
	b := batch(1)
	b.Ports = []metrics.PortWindow{{Node: 0, Port: 0, Start: at(60), TxPackets: 1, TxBytes: 100}}
	m, _ := read(t, folder(t, withFlows(1), b), series.Options{Stretch: 1000})
	m.want("csig_flow_cwnd_bytes{variant=v flow=f0}", point{0, 5000}, point{100, 5001}, point{4000, 5040}, point{4100, none})
}

// A telemetry window takes 100 ms to a second of the axis, and a lab keeps its time.
func TestStretchOf(t *testing.T) {
	for us, want := range map[float64]int{100e3: 1, 20e3: 10, 1000: 100, 100: 1000, 99: 10_000, 2: 100_000, 1: 100_000, 0.01: series.MostStretch} {
		if got := series.StretchOf(&runfolder.Manifest{IntervalUS: us}); got != want {
			t.Errorf("windows of %v us: %d, want %d", us, got, want)
		}
	}
	if got := series.StretchOf(&runfolder.Manifest{IntervalUS: 100, Options: runfolder.Options{Held: true}}); got != 1 {
		t.Errorf("a lab: %d, want 1", got)
	}
}

// A run of many flows has series by job: sums of bytes and windows, means of delays, the
// worst of samples.
func TestManyFlows(t *testing.T) {
	m, _ := read(t, folder(t, withFlows(17), batch(17)), series.Options{Stretch: 1000})
	const labels = "{variant=v}"
	m.want("csig_flow_receive_bytes_total"+labels, point{0, 0}, point{100, 17_000}, point{200, 34_000}, point{4000, 34_000}, point{4100, 51_000}, point{4101, none})
	m.want("csig_flow_cwnd_bytes"+labels, point{0, 17 * 5000}, point{100, 17 * 5001}, point{4000, 17 * 5040}, point{4100, 17 * 5040}, point{4101, none})
	m.want("csig_signal_delay_seconds"+labels, point{0, 4.016e-6}, point{100, 4.016e-6}, point{1100, none}, point{4000, 4.016e-6}, point{4100, 4.016e-6}, point{4101, none})
	for name := range m.points {
		if strings.Contains(name, "flow=") {
			t.Errorf("%s is of a flow", name)
		}
	}
}

// Of a large fabric the ports with the deepest queues have series of their own; the others
// are together, and nothing that they sent is lost.
func TestManyPorts(t *testing.T) {
	const n = series.MostPorts + 6
	b := &metrics.Batch{}
	f := folder(t, func(m *runfolder.Manifest) {
		m.Ports = nil
		for p := range int32(n) {
			m.Ports = append(m.Ports, runfolder.Port{Node: 0, Port: p, Peer: 1, RateBPS: 8e9, Name: fmt.Sprintf("p%d", p), Tier: "tor", Direction: "up"})
			b.Ports = append(b.Ports, metrics.PortWindow{Port: p, TxBytes: 10, Busy: units.Duration(p) * units.Nanosecond, QueueMax: int64(p), ABW: 5e8 + int64(p)})
		}
	}, b)
	m, loaded := read(t, f, series.Options{Stretch: 1000})
	const together = "{variant=v port=others tier=tor direction=up}"
	others := n - series.MostPorts/2
	if loaded.OtherPorts != others {
		t.Errorf("%d ports are together, want %d", loaded.OtherPorts, others)
	}
	m.want("csig_port_transmit_bytes_total"+together, point{0, 0}, point{100, 10 * float64(others)}, point{101, none})
	m.want("csig_port_queue_peak_bytes"+together, point{0, float64(others - 1)}, point{100, float64(others - 1)}, point{101, none})
	m.want("csig_port_rate_bytes_per_second"+together, point{0, 1e9 * float64(others)}, point{100, 1e9 * float64(others)}, point{101, none})
	// The port with the least has half of its rate left: half of the rate of all.
	m.want("csig_port_available_bytes_per_second"+together, point{0, 0.5e9 * float64(others)}, point{100, 0.5e9 * float64(others)}, point{101, none})
	m.want("csig_port_queue_peak_bytes{variant=v node=tor0 port=p1029 tier=tor direction=up}", point{0, 1029}, point{100, 1029}, point{101, none})
	if _, ok := m.points["csig_port_queue_peak_bytes{variant=v node=tor0 port=p0 tier=tor direction=up}"]; ok {
		t.Error("the port with the smallest queue has series of its own")
	}
}

// The histograms of a job have its steps and collectives, at their ends.
func TestJobs(t *testing.T) {
	b := portBatch()
	tag := metrics.Tag{Step: 1, Phase: 1, Collective: 1}
	b.Instances = []metrics.Instance{
		{Job: 0, Tag: tag, Ranks: 2, Begin: at(1), LastBegin: at(1), End: at(3)},
		{Job: 0, Tag: metrics.Tag{Step: 1}, Ranks: 2, Begin: at(0), LastBegin: at(0), End: at(5)},
	}
	b.Operations = []metrics.Operation{{Job: 0, Kind: metrics.OperationSpan, Tag: tag, Ready: at(1), Start: at(1), End: at(3), After: metrics.Absent}}
	m, _ := read(t, folder(t, func(m *runfolder.Manifest) {
		m.Jobs = []runfolder.Job{{Job: 0, Name: "gpt", Ranks: []int32{1, 1}, Steps: 1, FirstSteps: 1, Phases: []string{"backward"}, Collectives: []runfolder.Collective{{Name: "dp-0", Kind: "all_reduce", Ranks: 2}}}}
	}, b), series.Options{Stretch: 1000})
	m.want("csig_collective_active_ranks{variant=v job=gpt collective=dp-0 phase=backward}", point{0, 0}, point{100, 2}, point{300, 0}, point{3100, 0}, point{3101, none})
	m.want("csig_collective_seconds_sum{variant=v job=gpt collective=dp-0}", point{0, 0}, point{300, 2e-4}, point{3100, 2e-4}, point{3101, none})
	m.want("csig_job_iteration_seconds_count{variant=v job=gpt}", point{0, 0}, point{500, 1}, point{3100, 1}, point{3101, none})
	zero := float64(series.Origin.Unix())
	m.want("csig_job_begin_timestamp_seconds{variant=v job=gpt step=1}", point{0, zero}, point{3100, zero}, point{3101, none})
	m.want("csig_job_begin_timestamp_seconds{variant=v job=gpt step=1 phase=backward}", point{0, zero + 0.1}, point{3100, zero + 0.1}, point{3101, none})
	m.want("csig_job_step{variant=v job=gpt}", point{0, 1}, point{500, none})
}

// What is marked on a time axis: faults that happened, one of them until the end of the run.
func TestFaults(t *testing.T) {
	until := 50.0
	f := folder(t, nil, portBatch())
	f.Manifest.Runs[0].Faults = []runfolder.Fault{
		{Name: "down-0", Kind: "down", Where: []string{"tor0-agg0", "tor0-agg1"}, FromUS: 20, UntilUS: &until, Happened: true},
		{Name: "loss-1", Kind: "loss", Where: []string{"tor0-agg0"}, FromUS: 1000, Happened: true},
		{Name: "rate-2", Kind: "rate", Where: []string{"tor0-agg0"}, FromUS: 9000},
	}
	m, _ := read(t, f, series.Options{Stretch: 1000})
	zero := float64(series.Origin.Unix())
	at := func(labels string, seconds float64) {
		t.Helper()
		m.want("csig_run_fault_timestamp_seconds{variant=v "+labels+"}", point{0, zero + seconds}, point{3100, zero + seconds}, point{3101, none})
	}
	at("fault=down-0 kind=down where=tor0-agg0, tor0-agg1 edge=begin", 0.02)
	at("fault=down-0 kind=down where=tor0-agg0, tor0-agg1 edge=end", 0.05)
	at("fault=loss-1 kind=loss where=tor0-agg0 edge=begin", 1)
	for name := range m.points {
		if strings.Contains(name, "rate-2") || strings.Contains(name, "fault=loss-1") && strings.Contains(name, "edge=end") {
			t.Errorf("%s: it did not happen", name)
		}
	}
}

// A whole experiment: the first seed of each variant, or all; transfers that end.
func TestExperiment(t *testing.T) {
	f := readingtest.ThreeFlow().Folder(t, nil)
	m, loaded := read(t, f, series.Options{Stretch: 1000, Run: "mine"})
	if len(loaded.Runs) != 3 || loaded.Run != "mine" || loaded.Late != 0 {
		t.Errorf("loaded %+v", loaded)
	}
	if _, ok := m.points["csig_path_samples_total{variant=csig source=s0 destination=s2 signal=delay}"]; ok {
		t.Error("a run without samples has them by racks")
	}
	if _, all := readSeeds(t, f); len(all.Runs) != 9 {
		t.Errorf("all seeds: %d runs, want 9", len(all.Runs))
	}
}

// readSeeds reads all seeds, of which series have the same text here.
func readSeeds(t *testing.T, f *runfolder.Folder) (sink, series.Loaded) {
	loaded, err := series.Read(t.Context(), f, series.Options{AllSeeds: true}, sink{})
	if err != nil {
		t.Fatal(err)
	}
	return sink{}, loaded
}

type sink struct{}

func (sink) Open(*series.Series) (int, error) { return 0, nil }
func (sink) Append(int, int64, float64) error { return nil }
func (sink) End(int, int64) error             { return nil }

func TestErrors(t *testing.T) {
	f := folder(t, nil, portBatch())
	for _, o := range []series.Options{{Stretch: -1}, {Stretch: series.MostStretch + 1}, {Start: time.Date(99999, 1, 1, 0, 0, 0, 0, time.UTC)}} {
		if _, err := series.Read(t.Context(), f, o, sink{}); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
	full := errors.New("full")
	if _, err := series.Read(t.Context(), f, series.Options{}, &memory{t: t, points: map[string][]point{}, fail: full}); !errors.Is(err, full) {
		t.Errorf("got %v, want the sink's error", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := series.Read(ctx, f, series.Options{}, sink{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if err := os.Truncate(filepath.Join(f.Dir, "ports.parquet"), 100); err != nil {
		t.Fatal(err)
	}
	if _, err := series.Read(t.Context(), f, series.Options{}, sink{}); !errors.Is(err, runfolder.ErrDamaged) {
		t.Errorf("got %v, want ErrDamaged", err)
	}
}
