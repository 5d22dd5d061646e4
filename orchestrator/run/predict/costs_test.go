package predict

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// A run gets a core for 120 hosts; several runs share the cores. Three-flow alone takes as
// long on eight cores as on one.
func TestCoresOfAPrediction(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	costs := Reference
	small := Estimate{Hosts: 16, Nodes: 29, Ports: 56, Flows: 3, PacketHops: 50_000_000, DataPackets: 6_000_000, BusyPorts: 10, InFlight: 100}
	large := small
	large.Hosts = 1024
	wall := func(e Estimate, runs, cores int) float64 {
		p := costs.Predict([]Load{{e, runs}}, Way{Parallel: cores})
		return p.Wall.Seconds()
	}
	for _, c := range []struct {
		name        string
		a, b        float64
		least, most float64 // of a/b
	}{
		{"a small run on eight cores and on one", wall(small, 1, 8), wall(small, 1, 1), 0.999, 1.001},
		{"a large run on two cores and on one", wall(large, 1, 2), wall(large, 1, 1), 0.5, 0.65},
		{"a large run on eight cores and on two", wall(large, 1, 8), wall(large, 1, 2), 0.2, 0.5},
		{"two small runs on two cores and on one", wall(small, 2, 2), wall(small, 2, 1), 0.49, 0.55},
		{"eight small runs and one on eight cores", wall(small, 8, 8), wall(small, 1, 8), 0.9, 1.2},
	} {
		if ratio := c.a / c.b; ratio < c.least || ratio > c.most {
			t.Errorf("%s: %.2f s and %.2f s", c.name, c.a, c.b)
		}
	}
}

// Costs are found again by the probes that they would have: fit inverts the model.
func TestFit(t *testing.T) {
	want := Costs{
		Hop: 100e-9, Packet: 200e-9, Tags: 1.3, Row: 1e-6,
		Start: 0.1, Port: 50e-6, TagPort: 30e-6, Flow: 70e-6, EndRow: 3e-6,
		Base: 60e6, TableMem: 40e6, PortMem: 3e3, TagPortMem: 1e3, FlowMem: 6e3,
	}
	run := func(hops, data, rows int64, ports, flows int, busy float64, tagged bool) probeRun {
		return probeRun{Estimate: Estimate{PacketHops: hops, DataPackets: data, Rows: rows, Ports: ports, Flows: flows, BusyPorts: busy, Tagged: tagged, InFlight: int64(10 * flows)}}
	}
	samples := map[string]*sample{
		"start":  {runs: []probeRun{run(10, 1, 4, 4, 1, 2, false)}, count: 1},
		"hops":   {runs: []probeRun{run(64_000, 8_000, 300, 96, 4, 20, false), run(42_000, 16_000, 300, 96, 4, 8, false), run(64_000, 8_000, 500, 96, 4, 20, true)}, count: 6},
		"rows":   {runs: []probeRun{run(64_000, 8_000, 38_000, 96, 4, 20, false)}, count: 2},
		"medium": {runs: []probeRun{run(61_000, 8_000, 1_000, 768, 128, 760, false)}, count: 2},
		"large":  {runs: []probeRun{run(260_000, 32_000, 8_000, 6_144, 1_024, 6_100, false)}, count: 1},
		"tagged": {runs: []probeRun{run(30_000, 4_000, 2_000, 1_500, 250, 1_400, true)}, count: 1},
		"flows":  {runs: []probeRun{run(12_000, 2_256, 4_000, 144, 2_256, 130, false)}, count: 1},
	}
	hops, medium, large := &samples["hops"].runs[0], &samples["medium"].runs[0], &samples["large"].runs[0]
	want.Growth = []Growth{{hops.workingSet(), 1}, {medium.workingSet(), 2}, {large.workingSet(), 4}}
	for name, s := range samples {
		sum := s.sum()
		s.rest = want.Start + want.rest(&Estimate{Rows: sum.Rows, Ports: sum.Ports, Flows: sum.Flows}) + sum.tagged*want.TagPort
		s.memory = want.Base + tableShare(float64(sum.Rows))*want.TableMem + want.memory(&s.runs[0].Estimate)
		for i := range s.runs {
			r := &s.runs[i]
			growth := 1.0
			if r != hops && name != "hops" && name != "rows" && name != "start" {
				growth = want.growth(r.workingSet())
			}
			c := want
			c.Growth = []Growth{{1, growth}}
			c.Growth = append(c.Growth, Growth{1e18, growth})
			r.loop = c.loop(&r.Estimate)
		}
		if name == "large" || name == "tagged" || name == "flows" {
			s.live = want.memory(&s.runs[0].Estimate) / collector
		}
	}
	got := fit(samples)
	if diff := cmp.Diff(got, want, cmpopts.EquateApprox(0.02, 0)); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
}

// Between the working sets that were measured the growth is interpolated over the
// logarithm, below it is 1, above it goes on.
func TestGrowth(t *testing.T) {
	c := Costs{Growth: []Growth{{1e5, 1}, {1e6, 2}, {1e7, 5}}}
	for set, want := range map[float64]float64{0: 1, 1e5: 1, 1e6: 2, 1e7: 5, 1e8: 8, math.Sqrt(1e5 * 1e6): 1.5, math.Sqrt(1e6 * 1e7): 3.5} {
		if got := c.growth(set); math.Abs(got-want) > 1e-9 {
			t.Errorf("working set %g: %g, want %g", set, got, want)
		}
	}
}

// Costs are measured once for a machine and a build, and anew when they are old, of
// another build, not to be used, or when the user wants it.
func TestCostsAreKept(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	text, err := json.Marshal(Reference)
	if err != nil {
		t.Fatal(err)
	}
	measured := 0
	meter := func() *Meter {
		return &Meter{Version: "v1", Measure: func(ctx context.Context, _ ...string) *exec.Cmd {
			measured++
			return exec.CommandContext(ctx, "printf", "%s", string(text))
		}}
	}
	file := meter().file()
	change := func(edit func(*measuredCosts)) {
		t.Helper()
		text, err := os.ReadFile(file)
		var c measuredCosts
		if err == nil {
			err = json.Unmarshal(text, &c)
		}
		edit(&c)
		if err == nil {
			text, err = json.Marshal(c)
		}
		if err == nil {
			err = os.WriteFile(file, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		do   func(m *Meter)
		want bool // measured
	}{
		{"first", func(*Meter) {}, true},
		{"again", func(*Meter) {}, false},
		{"wanted", func(m *Meter) { m.Anew = true }, true},
		{"another version", func(m *Meter) { m.Version = "v2" }, true},
		{"the same version", func(m *Meter) { m.Version = "v2" }, false},
		{"another machine", func(*Meter) { change(func(c *measuredCosts) { c.CPU = "z80" }) }, true},
		{"calm, 6 days old", func(*Meter) {
			change(func(c *measuredCosts) { c.At, c.Busy = time.Now().Add(-6*24*time.Hour), 0 })
		}, false},
		{"calm, 8 days old", func(*Meter) {
			change(func(c *measuredCosts) { c.At, c.Busy = time.Now().Add(-8*24*time.Hour), 0 })
		}, true},
		{"busy, 2 hours old", func(*Meter) { change(func(c *measuredCosts) { c.At, c.Busy = time.Now().Add(-2*time.Hour), 3 }) }, true},
		{"damaged", func(*Meter) { change(func(c *measuredCosts) { c.Costs.Hop = 0 }) }, true},
	} {
		m := meter()
		if strings.Contains(c.name, "version") {
			m.Version = "v2"
		}
		c.do(m)
		before := measured
		costs, err := m.costs(t.Context())
		if diff := cmp.Diff(costs, Reference); err != nil || diff != "" || measured > before != c.want {
			t.Errorf("%s: %v, measured %v, want %v\n%s", c.name, err, measured > before, c.want, diff)
		}
		if m.Version == "v2" && c.name == "the same version" { // back
			m.Version, m.Anew = "v1", true
			if _, err := m.costs(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if left, _ := filepath.Glob(file + "-*"); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// What cannot be measured is predicted with another machine's costs, and says so; what does
// not matter is not measured.
func TestWithoutMeasurement(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	measured := 0
	m := &Meter{Worth: time.Second, Measure: func(ctx context.Context, _ ...string) *exec.Cmd {
		measured++
		return exec.CommandContext(ctx, "sh", "-c", "echo no such thing >&2; exit 3")
	}}
	there := Available{16e9, "this machine has"}
	small := Estimate{Hosts: 2, Nodes: 3, Ports: 4, Flows: 1, PacketHops: 1000}
	long := small
	long.PacketHops = 1e9
	if p, err := m.Predict(t.Context(), []Load{{small, 1}}, Way{Parallel: 1}, there); err != nil || measured > 0 || p.Memory < 10e6 {
		t.Errorf("a small run: %+v, %v, measured %d times", p, err, measured)
	}
	p, err := m.Predict(t.Context(), []Load{{long, 1}}, Way{Parallel: 1}, there)
	if want := Reference.Hop * 1e9; err == nil || !strings.Contains(err.Error(), "no such thing") || measured != 1 || p.CPU.Seconds() < want {
		t.Errorf("a long run: %+v, %v, measured %d times", p, err, measured)
	}
	var none *Meter
	if p, err := none.Predict(t.Context(), []Load{{long, 1}}, Way{Parallel: 1}, there); err != nil || p.CPU == 0 {
		t.Errorf("nothing to measure with: %+v, %v", p, err)
	}
}
