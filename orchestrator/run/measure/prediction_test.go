package measure_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/units"
)

const pairOfJobs = `schema: 1
name: t
topology: {dumbbell: {left: 2, right: 2, rate: 50Gbps, bottleneck_rate: 5Gbps, delay: 1us}}
hosts: {cc: {name: dcqcn, timer: 125us}}
`

// vgg16 is the jobs a and b on it, of 141 ms of compute, with so many bytes, and more keys.
func vgg16(bytes, a, b string) string {
	job := func(name, hosts, more string) string {
		return "  - {name: " + name + ", hosts: " + hosts + ", steps: 40" + more + ", profile: {compute: 141ms, pairs: true, bytes: " + bytes + "}}\n"
	}
	return "jobs:\n" + job("a", "[0, 2]", a) + job("b", "[1, 3]", b)
}

func predict(t *testing.T, text string) (*plan.Plan, []measure.Prediction) {
	t.Helper()
	set, err := experiment.Parse("t.yaml", "", []byte(text), experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	p, err := plan.Compile(set.Variants[0].Experiment, 1)
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	return p, measure.Predict(p)
}

func near(got units.Duration, want, within float64) bool {
	return math.Abs(float64(got)/float64(units.Millisecond)-want) <= within
}

// Each law gives what the table of fluid-model oracles has for two VGG16 (docs/reference/references.md#fluid-model).
func TestPredictionsByLaw(t *testing.T) {
	// 114 ms of 5 Gb/s are 71.25 MB on the line, 70.15 MB without headers of 64 in 4150.
	const bytes = "70.151MB"
	for _, c := range []struct {
		name, text string
		law        string
		a, b, fair float64
	}{
		{"equal timers", pairOfJobs + vgg16(bytes, "", ""), "fair", 369, 369, 369},
		{"timers", strings.Replace(pairOfJobs, "125us}", "125us}, policies: [{match: {jobs: [0]}, cc: {timer: 100us}}]", 1) + vgg16(bytes, "", ""), "weights 1.25 : 1 by 1/T, an approximation", 255, 255, 369},
		{"timers of connectx", strings.Replace(pairOfJobs, "125us}", "125us, rules: connectx}, policies: [{match: {jobs: [0]}, cc: {timer: 100us}}]", 1) + vgg16(bytes, "", ""), "weights 1.56 : 1 by 1/T², an approximation", 255, 255, 369},
		{"adaptive", strings.Replace(pairOfJobs, "125us", "125us, adaptive: true", 1) + vgg16(bytes, "", ""), "adaptive: weights 1 + sent/total", 255, 255, 369},
		{"MLTCP", strings.Replace(pairOfJobs, "{name: dcqcn, timer: 125us}", "{name: mltcp}", 1) + vgg16(bytes, "", ""), "MLTCP: weights 0.25 + 1.75 sent/total", 255, 255, 369},
		{"strict", pairOfJobs + vgg16(bytes, "", "") + "classes: [{name: high, dscp: 20, strict: true, match: {jobs: [0]}}, {name: low, dscp: 26, strict: true, match: {jobs: [1]}}]\n", "strict priorities", 255, 255, 369},
		// The second job ends before the first one, and never has the link for itself.
		{"starved", pairOfJobs + strings.NewReplacer("141ms", "80ms", "[1, 3], steps: 40", "[1, 3], steps: 15").Replace(vgg16("73.843MB", "", "")) + "classes: [{name: high, dscp: 20, strict: true, match: {jobs: [0]}}, {name: low, dscp: 26, strict: true, match: {jobs: [1]}}]\n", "strict priorities", 200, 400, 320},
		{"slots", pairOfJobs + vgg16(bytes, ", schedule: {period: 260ms}", ", start: 130ms, schedule: {period: 260ms}"), "fair, with slots", 260, 260, 255},
		{"weights of classes", pairOfJobs + vgg16(bytes, "", "") + "classes: [{name: low, dscp: 26, weight: 1, match: {jobs: [1]}}, {name: high, dscp: 20, weight: 2, match: {jobs: [0]}}]\n", "weights of the classes", 255, 255, 369},
		// As much each way: with rings both ways are shared alike.
		{"rings", pairOfJobs + strings.ReplaceAll(vgg16(bytes, "", ""), "pairs: true, ", ""), "fair", 369, 369, 369},
		// The NICs are too slow to meet.
		{"apart by rate", strings.Replace(pairOfJobs, "rate: 50Gbps, bottleneck_rate: 5Gbps", "rate: 5Gbps, bottleneck_rate: 10Gbps", 1) + vgg16(bytes, "", ""), "fair", 255, 255, 255},
	} {
		_, all := predict(t, c.text)
		a, b := all[0], all[1]
		if a.NoAlone != "" || a.NoFluid != "" || a.Law != c.law || b.Law != c.law {
			t.Errorf("%s: %+v, want law %q", c.name, a, c.law)
			continue
		}
		if alone := a.Compute + a.Communication; a.Alone != alone || a.Beside != 0 || c.name != "starved" && (!near(a.Compute, 141, 0) || !near(a.Communication, 114, 0.02)) {
			t.Errorf("%s: alone %v of %v and %v", c.name, a.Alone, a.Compute, a.Communication)
		}
		if !near(a.Fluid, c.a, 1.5) || !near(b.Fluid, c.b, 1.5) || !near(b.Fair, c.fair, 0.5) {
			t.Errorf("%s: iterations of %v and %v, with equal shares %v; want %v, %v and %v ms", c.name, a.Fluid, b.Fluid, b.Fair, c.a, c.b, c.fair)
		}
	}
}

// Jobs may send through a link from several hosts, and have as many shares of it.
func TestPredictionsOfSeveralConnections(t *testing.T) {
	_, all := predict(t, `schema: 1
name: t
topology: {dumbbell: {left: 3, right: 3, rate: 50Gbps, bottleneck_rate: 5Gbps, delay: 1us}}
hosts: {cc: dctcp}
jobs:
  - {name: two, hosts: [0, 1, 3, 4], steps: 10, profile: {compute: 100ms, pairs: true, bytes: 30MB}}
  - {name: one, hosts: [2, 5], steps: 10, profile: {compute: 100ms, pairs: true, bytes: 60MB}}
`)
	two, one := all[0], all[1]
	if two.Communication < 97*units.Millisecond || two.Communication-one.Communication > units.Microsecond || one.Communication-two.Communication > units.Microsecond {
		t.Fatalf("the communication takes %v and %v alone, want 97.5 ms", two.Communication, one.Communication)
	}
	// 2 : 1 while both send: as with weights, they part as far as there is room, and the one
	// with two connections waits less.
	if two.Fluid >= one.Fluid || two.Fair != two.Fluid {
		t.Errorf("iterations of %v with two connections and %v with one", two.Fluid, one.Fluid)
	}
}

func TestNoPrediction(t *testing.T) {
	const bytes = "70.151MB"
	jobs := vgg16(bytes, "", "")
	for _, c := range []struct{ name, text, alone, fluid string }{
		{"no shares of a link", strings.Replace(pairOfJobs, "{name: dcqcn, timer: 125us}", "constant", 1) + jobs, "", "job a: how flows of constant share a link is not modelled"},
		{"differing parameters", strings.Replace(pairOfJobs, "125us}", "125us}, policies: [{match: {jobs: [0]}, cc: {rate_ai: 100Mbps}}]", 1) + jobs, "", "its jobs differ in congestion control"},
		{"a fault", pairOfJobs + jobs + "faults: [{kind: rate, links: s0-s1, share: 0.25, at: 10ms, for: 5ms}]\n", "", "faults change the links"},
		{"other traffic", pairOfJobs + jobs + "workload: {transfers: [0 -> 3 64kB]}\n", "", "other traffic than that of jobs shares the links"},
		{"another kind", pairOfJobs + jobs + "  - {name: c, hosts: [0, 1], collective: {kind: all_reduce, size: 1MB}}\n", "", "job c: it is not of kind profile"},
		{"several ways", "schema: 1\nname: t\ntopology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 5Gbps, delay: 1us}}\n" + jobs, "connection 0-2 has several ways", "job a: connection 0-2 has several ways"},
		{"pairs that vary", strings.Replace(pairOfJobs, "left: 2, right: 2", "left: 3, right: 3", 1) + strings.Replace(strings.Replace(vgg16(bytes, ", jitter: 0.1", ""), "[0, 2]", "[0, 1, 3, 4]", 1), "[1, 3]", "[2, 5]", 1), "", "job a: compute times vary from pair to pair"},
		{"a slow receiver", pairOfJobs + vgg16(bytes, "", ", stragglers: [{rank: 1, slow: 2}]"), "", "job b: a receiver computes longer"},
		{"classes by weight", strings.Replace(pairOfJobs, "125us", "125us, adaptive: true", 1) + jobs + "classes: [{name: low, dscp: 26, weight: 1, match: {jobs: [1]}}, {name: high, dscp: 20, weight: 2, match: {jobs: [0]}}]\n", "", "shares by weight with other classes"},
	} {
		p, all := predict(t, c.text)
		if got := all[0]; !strings.Contains(got.NoAlone, c.alone) || c.alone == "" && got.NoAlone != "" || !strings.Contains(got.NoFluid, c.fluid) || got.Fluid != 0 {
			t.Errorf("%s: %+v, want no prediction for %q and %q", c.name, got, c.alone, c.fluid)
		}
		names := measure.Names(p)
		if names.Has("iteration_alone_us.a") != (c.alone == "") || names.Has("iteration_fluid_us.a") || names.Lacks("iteration_fluid_us.a") != all[0].NoFluid {
			t.Errorf("%s: names lack iteration_fluid_us.a because %q", c.name, names.Lacks("iteration_fluid_us.a"))
		}
	}
	p, _ := predict(t, pairOfJobs+"workload: {transfers: [0 -> 3 64kB]}\n")
	if got := measure.Names(p).Lacks("iteration_alone_us.a"); got != "it has no jobs" {
		t.Errorf("without jobs the metric lacks because %q", got)
	}
}

// Jitter is that of the seed, and the end of the run cuts iterations off.
func TestPredictionsFollowTheRun(t *testing.T) {
	text := pairOfJobs + vgg16("70.151MB", ", jitter: 0.03", ", jitter: 0.03, start: 20ms")
	set, err := experiment.Parse("t.yaml", "", []byte(text+"seeds: [1, 2]\n"), experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		t.Fatal(err)
	}
	var of [2]units.Duration
	for i := range of {
		p, err := plan.Compile(set.Variants[0].Experiment, uint64(i+1))
		if err != nil {
			t.Fatal(err)
		}
		one := measure.Predict(p)[0]
		of[i] = one.Fluid
		if one.Alone != 141*units.Millisecond+one.Communication {
			t.Errorf("alone %v has jitter", one.Alone)
		}
	}
	if of[0] == of[1] {
		t.Errorf("both seeds have iterations of %v", of[0])
	}
	_, all := predict(t, pairOfJobs+vgg16("70.151MB", "", "")+"end: 300ms\n")
	if got := all[0]; got.NoFluid != "" || got.Fluid != 0 {
		t.Errorf("before the end of the first iteration: %+v", got)
	}
	if measure.WhyAbsent("iteration_fluid_us.a") == "" {
		t.Error("no reason for an absent metric")
	}
}

// A job of many steps that is not followed to its end stays on the network: the prediction
// ends with it. Here a has ten times the steps of b. Alone an iteration of b takes 19.75 ms;
// with a beside it all the time it takes 24.6 ms.
func TestPredictionsOfManySteps(t *testing.T) {
	const a, b = "  - {name: a, hosts: [0, 2], steps: 20000, profile: {compute: 1ms, pairs: true, bytes: 600kB}}\n", "  - {name: b, hosts: [1, 3], steps: 2000, profile: {compute: 10ms, pairs: true, bytes: 6MB}}\n"
	_, all := predict(t, pairOfJobs+"jobs:\n"+a+b)
	if got := all[1]; !near(got.Alone, 19.75, 0.01) || !near(got.Fair, 24.58, 0.1) || got.Fluid != got.Fair {
		t.Errorf("%v alone, %v with equal shares, %v predicted; want 19.75, 24.58 and 24.58 ms", got.Alone, got.Fair, got.Fluid)
	}
	// A pause far behind what is predicted is none of it.
	text := pairOfJobs + "jobs:\n" + strings.Replace(a, "20000,", "1000000, stragglers: [{rank: 0, pause: 10ms, step: 500000}],", 1) + b
	if _, all = predict(t, text); all[1].NoFluid != "" || !near(all[1].Fluid, 24.58, 0.1) {
		t.Errorf("with a pause in a late step: %+v", all[1])
	}
}

// Jobs of strict classes share among themselves by congestion control, those of classes with
// weights by these: the low ones get what the high ones leave, 3 to 1.
func TestPredictionsWithStrictAndWeightedClasses(t *testing.T) {
	_, all := predict(t, `schema: 1
name: t
topology: {dumbbell: {left: 5, right: 5, rate: 50Gbps, bottleneck_rate: 5Gbps, delay: 1us}}
hosts: {cc: dctcp}
jobs:
  - {name: two, hosts: [0, 1, 5, 6], steps: 10, profile: {compute: 100ms, pairs: true, bytes: 30MB}}
  - {name: one, hosts: [2, 7], steps: 10, profile: {compute: 100ms, pairs: true, bytes: 60MB}}
  - {name: more, hosts: [3, 8], steps: 2, profile: {compute: 100ms, pairs: true, bytes: 60MB}}
  - {name: less, hosts: [4, 9], steps: 2, profile: {compute: 100ms, pairs: true, bytes: 60MB}}
classes:
  - {name: high, dscp: 20, strict: true, match: {jobs: [0, 1]}}
  - {name: more, dscp: 26, weight: 3, match: {jobs: [2]}}
  - {name: less, dscp: 28, weight: 1, match: {jobs: [3]}}
`)
	var weights []float64
	for i := range all {
		weights = append(weights, all[i].Weight)
	}
	if d := cmp.Diff(weights, []float64{2, 1, 3, 1}); d != "" || all[0].Law != "strict priorities, then weights of the classes" {
		t.Errorf("law %q; weights (-got +want):\n%s", all[0].Law, d)
	}
	if two, one := all[0].Fluid, all[1].Fluid; two >= one {
		t.Errorf("iterations of %v with two connections and %v with one, of a class", two, one)
	}
}

// What is predicted is bounded: of many jobs nothing, of many steps the first ones.
func TestPredictionsAreBounded(t *testing.T) {
	checkout.SkipSlowRace(t)
	text := "schema: 1\nname: t\ntopology: {dumbbell: {left: 33, right: 33, rate: 50Gbps, delay: 1us}}\njobs:\n"
	for i := range 33 {
		text += fmt.Sprintf("  - {name: j%d, hosts: [%d, %d], steps: 3, profile: {compute: 1ms, pairs: true, bytes: 1MB}}\n", i, i, 33+i)
	}
	if _, all := predict(t, text); all[0].NoFluid != "33 jobs are more than the 32 that are predicted" || all[0].Alone == 0 {
		t.Errorf("%+v", all[0])
	}
	// Laws that are integrated step by step take long: 12 jobs on two links.
	chain := "schema: 1\nname: t\ntopology: {parking_lot: {hops: 2, pairs: 6, rate: 10Gbps, delay: 1us}}\nhosts: {cc: mltcp}\njobs:\n"
	for i := range 13 {
		chain += fmt.Sprintf("  - {name: j%d, hosts: [%d, %d], steps: 500, profile: {compute: %dms, pairs: true, bytes: %dMB}}\n", i, 2*i, 2*i+1, 3+i%4, 1+i%5)
	}
	begin := time.Now()
	_, all := predict(t, chain)
	if took := time.Since(begin); all[0].Fluid == 0 || took > 3*time.Second {
		t.Errorf("13 jobs on two links: %+v, after %v", all[0], took)
	}
	begin = time.Now()
	_, all = predict(t, strings.Replace(pairOfJobs, "125us", "125us, adaptive: true", 1)+strings.ReplaceAll(vgg16("1MB", ", jitter: 0.1", ", jitter: 0.1"), "steps: 40", "steps: 50000"))
	if took := time.Since(begin); all[0].Fluid == 0 || took > 5*time.Second {
		t.Errorf("50000 steps: %+v, after %v", all[0], took)
	}
}
