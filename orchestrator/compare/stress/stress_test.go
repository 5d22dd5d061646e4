package stress

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/orchestrator/compare/sweep"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/experiment"
)

const text = `schema: 1
name: small
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 100Gbps, delay: 1us}}
workload: {transfers: [0 -> 2 100kB]}
variants:
  plain: {}
  tagged: {csig.format: compact, csig.quantisers: {delay: delay-lin-500ns}}
seeds: [1, 102]
expect:
  - plain["fct_us.p99"] < 50
  - every_seed(tagged["fct_us.p99"] < plain["fct_us.p99"])
  - tagged["fct_us.p99"] > 0
`

// load returns an experiment that is small with something in place of something else.
func load(t *testing.T, text string) (file string, set *experiment.Set) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "small.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := experiment.Load(file, experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		t.Fatal(err)
	}
	return file, set
}

// Every dimension of the table has a change, and each setting has its overrides.
func TestSettings(t *testing.T) {
	for _, d := range experiment.StressDimensions {
		if (dimensions[d.Name] == nil) != (d.Name == experiment.SeedsSetting) {
			t.Errorf("dimension %s has no change, or the seeds have one", d.Name)
		}
	}
	const more = "end: 8ms\nmeasure: {from: 1ms, to: 4ms}\nlinks: {queue: 200kB, trim_threshold: 100kB}\nfaults: [{kind: rate, links: tor0-agg0, rate: 40Gbps, at: 1ms}]\n"
	for _, c := range []struct{ name, more, setting, want string }{
		{"rate and times", more, "rate x0.25", "topology.leaf_spine.rate=25Gbps end=32ms measure.from=4ms measure.to=16ms faults[0].rate=10Gbps faults[0].at=4ms"},
		{"rate and times", more, "rate x4", "topology.leaf_spine.rate=400Gbps end=2ms measure.from=250us measure.to=1ms faults[0].rate=160Gbps faults[0].at=250us"},
		{"jobs compute as before", more + "jobs: [{name: j, profile: {compute: 1ms, bytes: 1MB}, hosts: [1, 3]}]\n", "rate x4", "topology.leaf_spine.rate=400Gbps faults[0].rate=160Gbps"},
		{"delays", "", "rtt x0.5", "topology.leaf_spine.delay=500ns"},
		{"MTU", "", "mtu 1500B", "links.mtu=1500B"},
		{"MTU that it has", "links: {mtu: 1500B}\n", "mtu 1500B", "plain: it has that MTU already; tagged: it has that MTU already"},
		{"queues", more, "queue x0.5", "links.queue=100kB links.trim_threshold=50kB"},
		{"automatic queues", "", "queue x0.5", "links.queue=QUEUE"},
		{"formats", "", "format wide", `variants.tagged.csig.format=wide variants.tagged.csig.quantisers.delay="" plain: it has no CSIG`},
		{"formats", "", "format compact", "plain: it has no CSIG; tagged: its tags are compact already"},
		{"both formats", "csig: {second: {}}\n", "format wide", "plain: it has no CSIG; tagged: it has tags of both formats"},
		{"sampling", "", "sampling 1/4", "variants.tagged.csig.init=1/4 plain: it has no CSIG"},
		{"sampling of its own", "csig: {init: stride/2}\n", "sampling 1/4", "plain: it has no CSIG; tagged: its hosts do not tag every packet, but stride/2"},
		{"seeds", more, "seeds", ""},
	} {
		_, set := load(t, text+c.more)
		s, err := settingOf(set, c.setting)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var got []string
		for _, o := range s.Overrides {
			got = append(got, o.Path+"="+o.Value)
		}
		p := Plan{set: set}
		var unchanged []string
		for _, v := range set.Variants {
			if s.Unchanged[v.Name] != "" {
				unchanged = append(unchanged, v.Name)
			}
		}
		if len(unchanged) > 0 {
			got = append(got, p.whyNot(unchanged, s))
		}
		want := c.want
		if strings.Contains(want, "QUEUE") { // half of what the plan has
			queue, _, err := autoQueue(set.Base)
			if err != nil || queue == 0 {
				t.Fatal(queue, err)
			}
			want = strings.Replace(want, "QUEUE", fmt.Sprint(queue/2), 1)
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("%s, %s:\ngot  %s\nwant %s", c.name, c.setting, got, want)
		}
	}
}

// Queues that are auto and differ from port to port have no half that one key could say.
func TestQueuesThatDiffer(t *testing.T) {
	_, set := load(t, strings.Replace(text, "rate: 100Gbps", "rate: 100Gbps, spine_rate: 400Gbps", 1))
	s, err := settingOf(set, "queue x0.5")
	if err != nil || !strings.Contains(s.Unchanged["plain"], "links.queue is auto, which is ") {
		t.Errorf("%+v, %v", s, err)
	}
}

// fake is a runner whose numbers depend on the trial.
type fake struct {
	mu      sync.Mutex
	ran     []trial.Trial
	outcome func(trial.Trial) trial.Outcome
	most    int // runs before it says that the time is over; 0: no limit
}

func (f *fake) Run(_ context.Context, t trial.Trial) (trial.Outcome, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.most > 0 && len(f.ran) == f.most {
		return trial.Outcome{}, context.DeadlineExceeded
	}
	f.ran = append(f.ran, t)
	return f.outcome(t), nil
}

// at reports whether a trial has an override.
func at(t trial.Trial, set string) bool { return strings.Contains(strings.Join(t.Set, " ")+" ", set) }

// judged plans a stress, runs it with a runner and judges it.
func judged(t *testing.T, text string, f *fake, change func(*Request)) (*Plan, *Result) {
	t.Helper()
	file, _ := load(t, text)
	r := Request{
		Experiment: file, Identity: "i", Version: "v", Parallel: 1, Seeds: 3, SettingSeeds: 2, From: 101,
		Options: experiment.Options{Tables: experiment.StandardTables()},
	}
	if change != nil {
		change(&r)
	}
	p, err := r.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if p.Sweep == nil {
		result, err := p.Judge(nil)
		if err != nil {
			t.Fatal(err)
		}
		return p, result
	}
	s, err := sweep.Create(filepath.Join(t.TempDir(), "sweep"), p.Sweep)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Run(t.Context(), f, 1, nil); err != nil && f.most == 0 {
		t.Fatal(err)
	}
	result, err := p.Judge(s)
	if err != nil {
		t.Fatal(err)
	}
	return p, result
}

// verdicts returns the verdicts of an expectation, one word a setting; promised ones have a *.
func verdicts(r *Result, row int) string {
	var list []string
	for _, c := range r.Rows[row].Cells {
		word := map[Verdict]string{Held: "held", Failed: "failed", DoesNotApply: "-", Invalid: "invalid", Refused: "refused", NotRun: "missing"}[c.Verdict]
		if c.Value != nil && c.Verdict == Failed {
			word += fmt.Sprint(*c.Value)
		}
		if c.Promised {
			word += "*"
		}
		list = append(list, word)
	}
	return strings.Join(list, " ")
}

// times are the outcomes of a fabric in which tagged is better, but not at four times the delay.
func times(t trial.Trial) trial.Outcome {
	v := 10.0
	if t.Variant == "tagged" {
		v = 8
		if at(t, "delay=4us ") {
			v = 12
		}
	}
	if at(t, "rate=25Gbps ") {
		v *= 6
	}
	return trial.Outcome{Metrics: map[string]float64{"fct_us.p99": v}, Seconds: 0.5}
}

// Each expectation is judged under each setting over its seeds, all of them unseen. Variants
// that a setting leaves alone are run once.
func TestJudge(t *testing.T) {
	f := &fake{outcome: times}
	p, r := judged(t, text+"robust:\n  - {settings: [seeds, rate x4, mtu, format]}\n", f, nil)
	// seeds, rate x0.25, x4, rtt x0.5, x4, mtu, queue, compact, wide, sampling
	want := []string{
		"held* failed60 held* held held held* held -* -* -",
		"held* held held* held failed held* held -* held* held",
		"held* held held* held held held* held -* held* held",
	}
	for i := range want {
		if got := verdicts(r, i); got != want[i] {
			t.Errorf("%d: got %s, want %s", i, got, want[i])
		}
	}
	if r.Promise() != Kept {
		t.Errorf("promise %v", r.Promise())
	}
	cell := r.Rows[1].Cells[4]
	if diff := cmp.Diff([]uint64{101, 103}, cell.Seeds); diff != "" || !strings.Contains(cell.Text, `tagged["fct_us.p99"] = 12`) {
		t.Errorf("%+v %s", cell, diff)
	}
	if got, want := r.Rows[0].Cells[8].Reason, "plain: it has no CSIG"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	// 2 variants x 3 seeds; x 2 seeds at 6 settings; tagged x 2 seeds at 2.
	if len(f.ran) != 6+24+4 || r.Runs != 34 || r.Missing != 0 || r.Seconds != 17 {
		t.Errorf("%d runs, %+v", len(f.ran), r)
	}
	for _, x := range f.ran {
		if x.Seed == 1 || x.Seed == 102 {
			t.Errorf("a seed of the experiment was run: %+v", x)
		}
	}
	if diff := cmp.Diff([]uint64{101, 103, 104}, p.seeds); diff != "" {
		t.Error(diff)
	}
}

// What is promised decides: an expectation that fails is broken where it is promised, and no
// matter elsewhere; a run without numbers, and one that is missing, are no answer.
func TestPromises(t *testing.T) {
	invalid := func(x trial.Trial) trial.Outcome {
		if x.Variant == "tagged" && at(x, "mtu=1500B ") {
			return trial.Outcome{Exit: 3, Reasons: []string{"out of memory"}}
		}
		return times(x)
	}
	for _, c := range []struct {
		name, text, robust string
		outcome            func(trial.Trial) trial.Outcome
		most               int
		want               Promise
	}{
		{name: "nothing is promised", want: Kept},
		{name: "held", robust: "[{settings: [seeds, rtt x0.5]}]", want: Kept},
		{name: "failed", robust: "[{settings: [rtt]}]", want: Broken},
		{name: "excepted", robust: `[{settings: [rtt], except: ["every_seed*"]}]`, want: Kept},
		{name: "invalid and promised", robust: "[{settings: [mtu]}]", outcome: invalid, want: Unknown},
		{name: "invalid elsewhere", robust: "[{settings: [seeds]}]", outcome: invalid, want: Kept},
		{name: "refused", text: strings.Replace(text, "name: small", "name: small\nlinks: {queue: 5kB}", 1), robust: "[{settings: [queue]}]", want: Broken},
		{name: "refused elsewhere", text: strings.Replace(text, "name: small", "name: small\nlinks: {queue: 5kB}", 1), robust: "[{settings: [seeds]}]", want: Kept},
		{name: "missing and promised", robust: "[{settings: [sampling]}]", most: 8, want: Open},
		{name: "missing elsewhere", robust: "[{settings: [seeds]}]", most: 8, want: Kept},
		{name: "does not apply", robust: "[{settings: [format compact]}]", want: Kept},
	} {
		experiment := c.text
		if experiment == "" {
			experiment = text
		}
		if c.robust != "" {
			experiment += "robust: " + c.robust + "\n"
		}
		outcome := c.outcome
		if outcome == nil {
			outcome = times
		}
		if _, r := judged(t, experiment, &fake{outcome: outcome, most: c.most}, nil); r.Promise() != c.want {
			t.Errorf("%s: got %v, want %v\n%s\n%s\n%s", c.name, r.Promise(), c.want, verdicts(r, 0), verdicts(r, 1), verdicts(r, 2))
		}
	}
}

// Only what is promised is run where nothing else is asked for, and only the settings that are.
func TestChosen(t *testing.T) {
	f := &fake{outcome: times}
	_, r := judged(t, text+"robust: [{settings: [sampling], expect: [\"every_seed*\"]}]\n", f, func(r *Request) { r.Promised = true })
	if got := verdicts(r, 1); got != "held*" || len(f.ran) != 4 { // plain as it is, and tagged
		t.Errorf("%s, %d runs", got, len(f.ran))
	}
	f = &fake{outcome: times}
	_, r = judged(t, text, f, func(r *Request) { r.Settings = []string{"rtt", "seeds"} })
	if got := verdicts(r, 1); got != "held held failed" || len(f.ran) != 6+8 {
		t.Errorf("%s, %d runs", got, len(f.ran))
	}
	f = &fake{outcome: times}
	if _, r = judged(t, text, f, func(r *Request) { r.Promised = true }); len(f.ran) != 0 || len(r.Settings) != 0 {
		t.Errorf("nothing is promised: %+v", r)
	}
	f = &fake{outcome: times} // what the user gives is changed, too
	_, r = judged(t, text, f, func(r *Request) {
		r.Settings = []string{"mtu"}
		r.Options.Override = []experiment.Override{{Path: "links.mtu", Value: "2kB", Origin: "--set"}}
	})
	if got := verdicts(r, 0); got != "held" || len(f.ran) != 4 || !at(f.ran[0], "mtu=1500B ") {
		t.Errorf("%s, %+v", got, f.ran)
	}
	file, _ := load(t, text)
	_, err := (&Request{Experiment: file, Seeds: 1, SettingSeeds: 1, Settings: []string{"rates"}, Options: experiment.Options{Tables: experiment.StandardTables()}}).Plan(t.Context())
	if err == nil || !strings.Contains(err.Error(), `unknown setting "rates"; known: seeds, rate x0.25, `) {
		t.Error(err)
	}
}

// Values of the key tuned are halved and doubled where a variant was given them, when that is asked
// for; the seeds that they were chosen on are seen.
func TestTuned(t *testing.T) {
	const tuned = `tuned:
  - {path: "workload.transfers[*].size", seeds: [101, 104], why: w}
  - {path: csig.quantisers.delay, why: w}
  - {path: hosts.lb, why: w}
`
	f := &fake{outcome: times}
	_, r := judged(t, text+tuned, f, func(r *Request) { r.Settings = []string{"tuned", "seeds"} })
	var got []string
	for _, s := range r.Settings {
		got = append(got, fmt.Sprint(s.Name, ": ", s.Set, s.Seeds))
	}
	want := []string{
		"seeds: [] [103 105 106]",
		"workload.transfers[*].size x0.5: [workload.transfers[0].size=50kB] [103 105]",
		"workload.transfers[*].size x2: [workload.transfers[0].size=200kB] [103 105]",
		"csig.quantisers.delay x0.5: [] [103 105]", "csig.quantisers.delay x2: [] [103 105]",
		"hosts.lb x0.5: [] [103 105]", "hosts.lb x2: [] [103 105]",
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Error(diff)
	}
	if got := verdicts(r, 1); got != "held held held - - - -" || len(f.ran) != 2*3+2*2*2 {
		t.Errorf("%s, %d runs", got, len(f.ran))
	}
	c := r.Rows[1].Cells[3] // tagged is given a delay that is no number, plain none
	if want := "tagged: csig.quantisers.delay is no number there; plain: it is not given csig.quantisers.delay"; c.Reason != want {
		t.Errorf("got %q, want %q", c.Reason, want)
	}
	if c := r.Rows[1].Cells[0]; c.Figure == nil || *c.Figure != 0.8 { // 8 over 10
		t.Errorf("figure: %v", c.Figure)
	}
	_, r = judged(t, text+tuned, f, func(r *Request) { r.Settings = []string{"workload.transfers[*].size x2"} })
	if got := verdicts(r, 1); got != "held" {
		t.Error(got)
	}
	_, r = judged(t, text+tuned, f, nil)
	if len(r.Settings) != len(experiment.StressSettings("all")) {
		t.Errorf("without a name: %v", r.Settings)
	}
}
