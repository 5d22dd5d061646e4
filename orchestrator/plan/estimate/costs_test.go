package estimate

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/backend/inproc"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/programs/programstest"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/units"
)

// probes are the experiments that BenchmarkCosts runs, each in a process of its own. Each shows
// one of the costs. The permutations last for several windows of packets, as the first one
// costs more: its packets and queues are new.
var probes = []struct{ name, text string }{
	{"start", `
topology: {leaf_spine: {leaves: 1, spines: 1, hosts_per_leaf: 2, rate: 100Gbps, delay: 1us}}
workload: {transfers: [0 -> 1 4kB]}
`},
	{"hops", `
seeds: [1, 2]
topology: {k_ary: {k: 4, rate: 100Gbps, delay: 1us}}
workload: {transfers: [0 -> 15 8MB, 2 -> 13 8MB, 4 -> 11 8MB, 6 -> 9 8MB]}
variants:
  far: {}
  near: {workload: {transfers: [0 -> 1 16MB, 4 -> 5 16MB, 8 -> 9 16MB, 12 -> 13 16MB]}}
  tagged: {csig: {format: compact}}
`},
	{"rows", `
seeds: [1, 2]
telemetry: {interval: 1us}
topology: {k_ary: {k: 4, rate: 100Gbps, delay: 1us}}
workload: {transfers: [0 -> 15 8MB, 2 -> 13 8MB, 4 -> 11 8MB, 6 -> 9 8MB]}
`},
	{"medium", `
seeds: [1, 2]
topology: {fat_tree: {hosts: 128, pod: 16, tiers: [{down: 4, up: 4, rate: 100Gbps, delay: 1us}, {down: 4, up: 4, rate: 100Gbps, delay: 1us}, {down: 8, rate: 100Gbps, delay: 1us}]}}
workload: {permutation: {size: 512kB}}
`},
	{"large", `
topology: {fat_tree: {hosts: 1024, pod: 64, tiers: [{down: 8, up: 8, rate: 100Gbps, delay: 1us}, {down: 8, up: 8, rate: 100Gbps, delay: 1us}, {down: 16, rate: 100Gbps, delay: 1us}]}}
workload: {permutation: {size: 512kB}}
`},
	{"tagged", `
topology: {k_ary: {k: 10, rate: 100Gbps, delay: 1us}}
workload: {permutation: {size: 64kB}}
csig: {format: compact}
`},
	{"flows", `
topology: {leaf_spine: {leaves: 6, spines: 2, hosts_per_leaf: 8, rate: 100Gbps, delay: 1us}}
workload: {all_to_all: {size: 4kB, parallel: 8}}
`},
}

// sample is what a probe took.
type sample struct {
	name   string
	runs   []probeRun // by variant
	plan   *plan.Plan // of the last one
	count  int        // runs
	rest   float64    // CPU seconds outside the event loops
	memory float64    // bytes at the peak
	live   float64    // bytes in use of a run in this process; 0: not measured
}

// probeRun is a variant of a probe.
type probeRun struct {
	Work
	loop float64 // CPU seconds of the event loop; the least of its seeds, as a machine that others use disturbs
}

// BenchmarkCosts measures the costs of virtual time on this machine (see Reference): it runs small
// experiments, each as a process of its own, and fits the costs. Of several rounds it takes the
// least CPU times. Linux counts the memory of the calling process as the children's, and so the
// benchmark is not to run after others.
func BenchmarkCosts(b *testing.B) {
	folder := programstest.Built(b)
	defer programstest.Remove()
	samples := map[string]*sample{}
	for b.Loop() {
		for _, p := range probes {
			s, err := runProbe(b.Context(), filepath.Join(folder, "csiglab"), b.TempDir(), p.name, "schema: 1\nname: "+p.name+p.text)
			if err != nil {
				b.Fatalf("probe %s: %v", p.name, err)
			}
			s.least(samples[p.name])
			samples[p.name] = s
		}
	}
	for _, name := range []string{"large", "tagged", "flows"} {
		s := samples[name]
		var err error
		if s.live, err = liveMemory(b.Context(), s.plan); err != nil {
			b.Fatalf("probe %s: %v", name, err)
		}
	}
	c := fit(samples)
	b.Logf("%+v", c)
	b.ReportMetric(float64(c.Hop), "ns/hop")
	b.ReportMetric(float64(c.Packet), "ns/packet")
}

// least takes the CPU times and the memory of another sample where they are less.
func (s *sample) least(other *sample) {
	if other == nil {
		return
	}
	s.rest, s.memory = min(s.rest, other.rest), min(s.memory, other.memory)
	for i := range s.runs {
		s.runs[i].loop = min(s.runs[i].loop, other.runs[i].loop)
	}
}

// runProbe runs a probe.
func runProbe(ctx context.Context, csiglab, folder, name, text string) (*sample, error) {
	file, out := filepath.Join(folder, name+".yaml"), filepath.Join(folder, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, csiglab, "run", file, "--out", out, "--parallel", "1", "--force", "--probe")
	cmd.Env = probeEnvironment(os.Environ())
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(string(text)))
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return nil, errors.New("the system does not tell what a process took")
	}
	s := &sample{name: name, memory: float64(usage.Maxrss) * 1024}
	loops, err := loopsOf(filepath.Join(out, runfolder.LogFile))
	if err != nil {
		return nil, err
	}
	set, err := experiment.Parse(file, folder, []byte(text), experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		return nil, err
	}
	s.rest = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	for _, v := range set.Variants {
		p, err := plan.Compile(v.Experiment, v.Experiment.Seeds[0])
		if err != nil {
			return nil, err
		}
		s.plan = p
		r := probeRun{Work: Of(p, nil)}
		for i, loop := range loops[v.Name] {
			if i == 0 || loop < r.loop {
				r.loop = loop
			}
			s.rest -= loop
			s.count++
		}
		s.runs = append(s.runs, r)
	}
	return s, nil
}

// probeEnvironment returns an environment without what would change a run or its cost.
func probeEnvironment(from []string) (env []string) {
	for _, pair := range from {
		name, _, _ := strings.Cut(pair, "=")
		switch {
		case strings.HasPrefix(name, "CSIGLAB_"), name == "GOGC", name == "GOMEMLIMIT", name == "GODEBUG":
		default:
			env = append(env, pair)
		}
	}
	return env
}

// loopsOf returns the CPU seconds of the event loops of runs from their log, by variant.
func loopsOf(log string) (map[string][]float64, error) {
	file, err := os.Open(log)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	loops := map[string][]float64{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var line struct{ Msg, Variant, CPU string }
		if json.Unmarshal(lines.Bytes(), &line) != nil || line.Msg != "run done" {
			continue
		}
		took, err := time.ParseDuration(line.CPU)
		if err != nil {
			return nil, err
		}
		loops[line.Variant] = append(loops[line.Variant], took.Seconds())
	}
	if len(loops) == 0 {
		return nil, fmt.Errorf("%s has no run", filepath.Base(log))
	}
	return loops, nil
}

// fit returns the costs that the probes show.
func fit(samples map[string]*sample) Costs {
	var c Costs
	c.fitLoop(samples)
	c.fitRest(samples)
	c.fitMemory(samples)
	return c
}

func seconds(s float64) time.Duration { return time.Duration(math.Round(s * float64(time.Second))) }

func (c *Costs) fitLoop(samples map[string]*sample) {
	far, near, tagged := &samples["hops"].runs[0], &samples["hops"].runs[1], &samples["hops"].runs[2]
	var equations []equation
	for _, r := range []*probeRun{far, near, &samples["rows"].runs[0]} {
		equations = append(equations, equation{[]float64{float64(r.PacketHops), float64(r.DataPackets), float64(r.Rows)}, r.loop})
	}
	x := solve(equations)
	c.Hop, c.Packet, c.Row = seconds(x[0]), seconds(x[1]), seconds(x[2])
	packets := func(r *probeRun) float64 {
		return (times(float64(r.PacketHops), c.Hop) + times(float64(r.DataPackets), c.Packet)).Seconds()
	}
	factor := func(r *probeRun) float64 {
		return (r.loop - times(float64(r.Rows), c.Row).Seconds()) / max(packets(r), 1e-12)
	}
	c.Tags = max(1, factor(tagged))
	c.Growth = []Growth{{far.workingSet(), 1}}
	for _, name := range []string{"medium", "large"} {
		r := &samples[name].runs[0]
		c.Growth = append(c.Growth, Growth{r.workingSet(), max(c.Growth[len(c.Growth)-1].Factor, factor(r))})
	}
}

func (c *Costs) fitRest(samples map[string]*sample) {
	var equations []equation
	for _, p := range probes {
		s := samples[p.name]
		sum := s.sum()
		equations = append(equations, equation{[]float64{1, float64(sum.Ports), sum.tagged, float64(sum.Flows), float64(sum.Rows)}, s.rest})
	}
	x := solve(equations)
	c.Start, c.Port, c.TagPort, c.Flow, c.EndRow = seconds(x[0]), seconds(x[1]), seconds(x[2]), seconds(x[3]), seconds(x[4])
}

// fitMemory takes what nodes and flows have in use from runs in this process, which is
// exact, and the rest from the processes' peaks, which depend on when garbage was
// collected.
func (c *Costs) fitMemory(samples map[string]*sample) {
	var equations []equation
	for _, p := range probes {
		s := samples[p.name]
		if s.live > 0 {
			r := &s.runs[0]
			equations = append(equations, equation{[]float64{float64(r.Ports), r.taggedPorts(), float64(r.Flows)}, s.live - float64(r.InFlight)*PacketBytes})
		}
	}
	x := solve(equations)
	c.PortMem, c.TagPortMem, c.FlowMem = x[0], x[1], x[2]
	equations = nil
	for _, p := range probes {
		s := samples[p.name]
		equations = append(equations, equation{[]float64{1, tableShare(float64(s.sum().Rows))}, s.memory - c.Memory(&s.runs[0].Work)})
	}
	x = solve(equations)
	c.Base, c.Tables = x[0], max(x[1], leastTables*x[0])
}

// leastTables bounds Tables from below, in units of Base: the probes are short, and a
// run with many rows has more moments at which much garbage is there.
const leastTables = 0.4

// liveMemory returns the greatest number of bytes that the nodes, packets and records of
// a run have in use, as far as a few looks show.
func liveMemory(ctx context.Context, p *plan.Plan) (float64, error) {
	const looks = 4
	before, next, most := inUse(), 0.0, 0.0
	records := measure.NewRecords(p, nil)
	_, err := inproc.Backend{}.Run(ctx, &backend.Run{Plan: p}, backend.Control{Records: records, Progress: func(_ units.Time, delivered float64) {
		if delivered >= next {
			most = max(most, inUse()-before)
			next += 1.0 / looks
		}
	}})
	runtime.KeepAlive(records)
	return most, err
}

// inUse returns the bytes of the heap that are in use.
func inUse() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// sums is what all runs of a sample have together.
type sums struct {
	Ports, Flows int
	Rows         int64
	tagged       float64 // ports
}

func (s *sample) sum() (sum sums) {
	seeds := s.count / len(s.runs)
	for i := range s.runs {
		r := &s.runs[i]
		sum.Ports += seeds * r.Ports
		sum.Flows += seeds * r.Flows
		sum.Rows += int64(seeds) * r.Rows
		sum.tagged += float64(seeds) * r.taggedPorts()
	}
	return sum
}

// equation is a sum of unknowns, each with its factor, that is known.
type equation struct {
	factors []float64
	sum     float64
}

// solveRounds is far more than few unknowns need to settle.
const solveRounds = 20000

// solve returns the unknowns, none below 0, that leave the least squares of relative
// errors. It changes one unknown after another to its best value.
func solve(equations []equation) []float64 {
	n := len(equations[0].factors)
	x, left := make([]float64, n), make([]float64, len(equations))
	scaled := make([][]float64, len(equations))
	squares := make([]float64, n)
	for i, e := range equations {
		left[i] = 1
		scaled[i] = make([]float64, n)
		for j, f := range e.factors {
			scaled[i][j] = f / e.sum
			squares[j] += scaled[i][j] * scaled[i][j]
		}
	}
	for range solveRounds {
		for j := range x {
			if squares[j] == 0 {
				continue
			}
			var slope float64
			for i := range left {
				slope += scaled[i][j] * left[i]
			}
			to := max(0, x[j]+slope/squares[j])
			for i := range left {
				left[i] -= scaled[i][j] * (to - x[j])
			}
			x[j] = to
		}
	}
	return x
}

// Costs are found again by the probes that they would have: fit inverts the model.
func TestFit(t *testing.T) {
	want := Costs{
		Hop: 100 * time.Nanosecond, Packet: 200 * time.Nanosecond, Tags: 1.3, Row: time.Microsecond,
		Start: 100 * time.Millisecond, Port: 50 * time.Microsecond, TagPort: 30 * time.Microsecond, Flow: 70 * time.Microsecond, EndRow: 3 * time.Microsecond,
		Base: 60e6, Tables: 40e6, PortMem: 3e3, TagPortMem: 1e3, FlowMem: 6e3,
	}
	run := func(hops, data, rows int64, ports, flows int, busy float64, tagged bool) probeRun {
		return probeRun{Work: Work{PacketHops: hops, DataPackets: data, Rows: rows, Ports: ports, Flows: flows, BusyPorts: busy, Tagged: tagged, InFlight: int64(10 * flows)}}
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
		s.rest = (want.Start + want.Rest(&Work{Rows: sum.Rows, Ports: sum.Ports, Flows: sum.Flows}) + times(sum.tagged, want.TagPort)).Seconds()
		s.memory = want.Base + want.TableMemory(float64(sum.Rows)) + want.Memory(&s.runs[0].Work)
		for i := range s.runs {
			r := &s.runs[i]
			growth := 1.0
			if r != hops && name != "hops" && name != "rows" && name != "start" {
				growth = want.growth(r.workingSet())
			}
			c := want
			c.Growth = []Growth{{1, growth}}
			c.Growth = append(c.Growth, Growth{1e18, growth})
			r.loop = c.Loop(&r.Work).Seconds()
		}
		if name == "large" || name == "tagged" || name == "flows" {
			s.live = want.Memory(&s.runs[0].Work) / Collector
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
