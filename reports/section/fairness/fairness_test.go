package fairness

import (
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/section/sectiontest"
	"github.com/csiglab/csiglab/units"
)

func read(t *testing.T, f *runfolder.Folder) *Section {
	t.Helper()
	s, _ := sectiontest.Read[*Section](t, f, New)
	return s
}

func TestJain(t *testing.T) {
	run := func(seed uint64) reading.RunID { return reading.RunID{Variant: "run", Seed: seed} }
	s := &Section{r: &reading.Reading{
		Manifest: &runfolder.Manifest{Measure: runfolder.Window{ToUS: 1}, Variants: []runfolder.Variant{{Name: "run"}}},
		Totals:   &reading.Totals{Seeds: map[string][]uint64{"run": {1, 2, 3}}},
		Rates:    reading.Rates{run(1): {"a": 10, "b": 10}, run(2): {"a": 20, "b": 0}, run(3): {"a": 30, "b": 10}},
	}}
	flows := []runfolder.Flow{{Name: "a", Size: 1}, {Name: "b", Size: 9}}
	// 1, 0.5 and 40²/2/1000 = 0.8.
	if got, want := *s.jain("run", flows), (SharedPort{Flows: 2, Jain: 0.8, JainSeeds: reading.Spread{Count: 3, Min: 0.5, Max: 1}, LeastGbps: 10, MostGbps: 20, Slowest: "b"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	s.r.Manifest.Measure.ToUS = 0
	if got := s.jain("run", flows); got != nil {
		t.Errorf("rates of flows of other sizes over their own time: %+v", got)
	}
}

// The table has the full ports that flows share, and the part says where they share the least
// evenly.
func TestTable(t *testing.T) {
	s := read(t, readingtest.ThreeFlow().Folder(t, nil))
	p := s.Parts()[0]
	rows := sectiontest.Rows(p.Blocks[0].(*section.Table))
	if len(rows) != 6 || !slices.Equal(rows[0][:3], []string{"s0 → s1", "baseline", "2"}) || rows[0][7] != "0-3" {
		t.Errorf("%d rows, the first %q", len(rows), rows[0])
	}
	if p.Level != section.Quiet || !strings.HasPrefix(p.Says, "Least even are 2 flows at s0 → s1 in baseline: Jain's index is 0.7") || !strings.Contains(p.Says, "flow 0-3 gets 18\u00a0Gb/s while the fastest gets 82\u00a0Gb/s") {
		t.Errorf("level %d, %q", p.Level, p.Says)
	}
	e := readingtest.ThreeFlow()
	e.Utilise, e.Rates = 0.63, map[string][3]float64{"baseline": {31, 32, 32}}
	if p := read(t, e.Folder(t, nil)).Parts()[0]; p.Level != section.Quiet || p.Says != "Flows share evenly: Jain's index is at least 1." {
		t.Errorf("level %d, %q", p.Level, p.Says)
	}
}

func TestFindings(t *testing.T) {
	text := strings.Join(read(t, readingtest.ThreeFlow().Folder(t, nil)).Findings(), "\n")
	for _, want := range []string{
		"The bottlenecks are s1 → s2 (100 % busy; mean queue ", "kB in baseline, ", "kB in csig-wide) and s0 → s1 (100 % busy; ",
		"Flow 0-3 crosses both; s1 → s2 also limits 2-3, s0 → s1 also limits 0-1.",
		"Flow 0-3 suffers: against the mean of the other 2 it gets 17.7 against 82.1 Gb/s in baseline (1\u00a0:\u00a04.6", "30.1 against 69.7 Gb/s in csig (1\u00a0:\u00a02.3",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("findings lack %q:\n%s", want, text)
		}
	}
	e := readingtest.ThreeFlow()
	e.Utilise = 0.63
	e.Rates = map[string][3]float64{"baseline": {31, 32, 32}}
	text = strings.Join(read(t, e.Folder(t, nil)).Findings(), "\n")
	for _, want := range []string{"No port is full while measured: the busiest, s0 → s1, is used to 63 % on average and in each window of 100\u00a0µs.", "The flows share evenly in baseline; the slowest, 0-3,"} {
		if !strings.Contains(text, want) {
			t.Errorf("findings lack %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "cross") {
		t.Errorf("without a bottleneck:\n%s", text)
	}
}

// Flows are called unequal only where their rates compare.
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
		f := readingtest.OneWindow(t, c.open, 1,
			readingtest.Flow{Name: "a", Size: c.sizes[0], Gbps: c.rates[0]}, readingtest.Flow{Name: "b", Size: c.sizes[1], Gbps: c.rates[1]},
			readingtest.Flow{Name: "a-b app", Gbps: 1}) // the last of programs, which count for nothing here
		got := strings.Join(read(t, f).Findings(), "\n")
		if !strings.Contains(got, c.want) || strings.Contains(got, c.not) || c.want == "" && got != "" {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// A port that is full in bursts is no port that is never full, however long it is idle in
// between; a busier one that is never full does not hide it.
func TestBurstsAreTold(t *testing.T) {
	p := &readingtest.Planted{Many: readingtest.Many{Leaves: 2, Spines: 2, Hosts: 2}, Interval: 100 * units.Microsecond, Variants: []string{"run"}, EndUS: 10_000}
	p.Run = func(m *runfolder.Manifest, _ string, _ uint64, b *metrics.Batch) {
		burst, busy := &m.Ports[readingtest.PortNamed(t, m, "tor0-agg0")], &m.Ports[readingtest.PortNamed(t, m, "tor0-agg1")]
		for i := range 100 {
			if i%10 < 3 {
				b.Ports = append(b.Ports, p.Window(burst, float64(i)*100, 1, 0))
			}
			b.Ports = append(b.Ports, p.Window(busy, float64(i)*100, 0.6, 0))
		}
	}
	const want = "o port is full all the time, but in bursts: tor0 → agg0 is full in 30 % of the windows of 100\u00a0µs, and used to 30 % on average"
	if got := strings.Join(read(t, p.Folder(t)).Findings(), "\n"); !strings.Contains(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	p.Run = func(m *runfolder.Manifest, _ string, _ uint64, b *metrics.Batch) {
		for i := range 100 {
			b.Ports = append(b.Ports, p.Window(&m.Ports[readingtest.PortNamed(t, m, "tor0-agg1")], float64(i)*100, 0.6+0.2*float64(i%2), 0))
		}
	}
	const never = "o port is full while measured: the busiest, tor0 → agg1, is used to 70 % on average and to 80 % in its busiest window of 100\u00a0µs"
	if got := strings.Join(read(t, p.Folder(t)).Findings(), "\n"); !strings.Contains(got, never) {
		t.Errorf("got %q, want %q", got, never)
	}
}

// Rates of flows that send one after the other say that they are not over one time.
func TestRatesOfDifferentTimes(t *testing.T) {
	p := &readingtest.Planted{Many: readingtest.Many{Leaves: 2, Spines: 2, Hosts: 2}, Interval: 100 * units.Microsecond, Measure: runfolder.Window{ToUS: 10_000}, Variants: []string{"run"}, EndUS: 10_000}
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
		got := strings.Join(read(t, p.Folder(t)).Findings(), "\n")
		if !strings.Contains(got, "suffers") || strings.Contains(got, "Each rate is over the time of its flow; the flows do not all send at the same time.") != apart {
			t.Errorf("apart %t: %q", apart, got)
		}
	}
}

// The story says what limits the flows and who suffers, in full.
func TestStory(t *testing.T) {
	tell := func(s *Section) string {
		var story section.Story
		s.Tell(&story)
		return strings.Join(story.Sentences(), " ")
	}
	got := tell(read(t, readingtest.ThreeFlow().Folder(t, nil)))
	for _, want := range []string{"Two links limit the flows: s1 → s2, 100 % busy, with a mean queue of 88\u00a0kB (7", ", and s0 → s1. Flow 0-3 (h0 to h3) suffers most: from 2 to 14\u00a0ms it gets 17.7\u00a0Gb/s, and the other 2 get on average 82.1\u00a0Gb/s, because it has to cross both links."} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	e := readingtest.ThreeFlow()
	e.Utilise, e.Rates = 0.63, map[string][3]float64{"baseline": {31, 32, 32}}
	got = tell(read(t, e.Folder(t, nil)))
	for _, want := range []string{"No link is full while measured: ", "The flows share evenly: the slowest, 0-3, gets 9"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
}
