package sweep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/compare/results"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
)

const text = `schema: 1
name: small
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 100Gbps, delay: 1us}}
workload: {transfers: [0 -> 2 100kB]}
variants: {a: {}, b: {links.trim: false}}
seeds: 1..3
sweep:
  grid: {links.mtu: [1500B, 4kB]}
  list: [{hosts.lb: single}, {tie_seed: 7}]
`

// file writes an experiment into a new folder.
func file(t testing.TB, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "small.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func request(name string, set ...string) *Request {
	r := &Request{Experiment: name, Identity: "i", Version: "v", Parallel: 2, Options: experiment.Options{Tables: experiment.StandardTables()}}
	for _, s := range set {
		o, err := experiment.ParseSet("--set", s)
		if err != nil {
			panic(err)
		}
		r.Options.Override = append(r.Options.Override, o)
	}
	return r
}

func plan(t testing.TB, r *Request) *Plan {
	t.Helper()
	p, err := r.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// simulator is a runner whose numbers depend on the trial alone.
type simulator struct {
	mu   sync.Mutex
	ran  []trial.Trial
	stop func(n int) // called when a trial begins
	bad  func(trial.Trial) *trial.Outcome
	more int // further metrics
}

func (s *simulator) Run(ctx context.Context, t trial.Trial) (trial.Outcome, error) {
	s.mu.Lock()
	s.ran = append(s.ran, t)
	n := len(s.ran)
	s.mu.Unlock()
	if s.stop != nil {
		s.stop(n)
	}
	if ctx.Err() != nil {
		return trial.Outcome{}, ctx.Err()
	}
	if s.bad != nil {
		if out := s.bad(t); out != nil {
			return *out, nil
		}
	}
	numbers := rand.New(rand.NewPCG(t.Seed, uint64(len(t.Set[len(t.Set)-1]))))
	m := map[string]float64{"fct_us.p99": numbers.Float64(), "seed_squared": float64(t.Seed * t.Seed), "only." + t.Variant: 1}
	m["cpu_seconds"] = rand.Float64()
	for i := range s.more {
		m[fmt.Sprintf("utilisation.tor%d-agg%d", i, i)] = numbers.Float64()
	}
	return trial.Outcome{Metrics: m, TraceHash: fmt.Sprintf("%x", numbers.Uint64()), Seconds: numbers.Float64()}, nil
}

// swept runs a sweep and returns its table.
func swept(t testing.TB, s *Sweep, r trial.Runner, parallel int) (*Summary, []byte) {
	t.Helper()
	if err := s.Run(t.Context(), r, parallel, nil); err != nil {
		t.Fatal(err)
	}
	return finished(t, s)
}

func finished(t testing.TB, s *Sweep, patterns ...string) (*Summary, []byte) {
	t.Helper()
	s.Plan.Metrics = patterns
	sum, err := s.Finish(func(m []string) []string { return m })
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(sum.Results)
	if err != nil {
		t.Fatal(err)
	}
	return sum, data
}

func create(t testing.TB, p *Plan) *Sweep {
	t.Helper()
	s, err := Create(filepath.Join(t.TempDir(), "sweep"), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// rows returns the rows of a table.
func rows(t testing.TB, sum *Summary) (list []results.Row) {
	t.Helper()
	table, err := results.Open(sum.Results)
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	for row, err := range table.Rows() {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, row)
	}
	return list
}

// A sweep has each point with each variant and each seed, in this order, and the table a row
// for each of them.
func TestTable(t *testing.T) {
	p := plan(t, request(file(t, text), "links.header=40B"))
	if want := []string{"hosts.lb", "tie_seed", "links.mtu"}; !slices.Equal(p.Paths, want) {
		t.Errorf("paths %q, want %q", p.Paths, want)
	}
	r := &simulator{}
	sum, _ := swept(t, create(t, p), r, 3)
	var got []string
	for _, row := range rows(t, sum) {
		got = append(got, fmt.Sprintf("%d %q %s %d %s", row.Point, row.Set, row.Variant, row.Seed, row.Outcome))
		if row.Metrics["seed_squared"] != float64(row.Seed*row.Seed) || row.Metrics["only."+row.Variant] != 1 || len(row.Metrics) != 3 || row.TraceHash == "" {
			t.Errorf("%+v", row)
		}
	}
	var want []string
	for i, values := range [][]string{{"single", "", "1500B"}, {"single", "", "4kB"}, {"", "7", "1500B"}, {"", "7", "4kB"}} {
		for _, variant := range []string{"a", "b"} {
			for seed := 1; seed <= 3; seed++ {
				want = append(want, fmt.Sprintf("%d %q %s %d pass", i, values, variant, seed))
			}
		}
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("got, want:\n%s", diff)
	}
	if len(r.ran) != 24 || sum.Done != 24 || sum.Trials != 24 || sum.Invalid != 0 || len(sum.Points) != 8 || sum.Points[7].Metrics["seed_squared"] != 4 {
		t.Errorf("%d runs, %+v", len(r.ran), sum)
	}
	for _, one := range r.ran {
		if one.Set[0] != "links.header=40B" || len(one.Set) != 3 || one.Identity != "i" || one.Content == "" {
			t.Errorf("%+v", one)
		}
	}
}

// The table has the same bytes however the sweep was cut, interrupted and spread over
// folders, and no trial runs twice.
func TestSameBytes(t *testing.T) {
	name := file(t, text)
	p := plan(t, request(name))
	_, whole := swept(t, create(t, p), &simulator{}, 4)

	cut := create(t, p) // interrupted again and again
	r := &simulator{}
	for n := 0; ; n++ {
		ctx, stop := context.WithCancel(t.Context())
		began := len(r.ran)
		r.stop = func(n int) {
			if n == began+7 {
				stop()
			}
		}
		err := cut.Run(ctx, r, 1, nil)
		stop()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) || n > 10 {
			t.Fatal(err)
		}
		cut.Close()
		if cut, err = Open(t.Context(), cut.Folder); err != nil {
			t.Fatal(err)
		}
	}
	defer cut.Close()
	if _, data := finished(t, cut); !bytes.Equal(data, whole) {
		t.Error("an interrupted sweep has another table")
	}
	if len(r.ran) != 24+3 { // and those that were interrupted
		t.Errorf("%d runs", len(r.ran))
	}

	// The shards are of another checkout, in another folder.
	var folders []string
	seen := 0
	for i := 1; i <= 5; i++ {
		there := plan(t, request(file(t, text)))
		if there.Digest != p.Digest || there.Experiment == p.Experiment {
			t.Fatalf("digests %s and %s", there.Digest, p.Digest)
		}
		there.Shard = Shard{i, 5}
		s, r := create(t, there), &simulator{}
		sum, _ := swept(t, s, r, 2)
		seen += len(r.ran)
		if len(r.ran) < 4 || len(r.ran) > 5 || sum.Trials != len(r.ran) || sum.Done != sum.Trials {
			t.Errorf("shard %d of 5: %d runs, %+v", i, len(r.ran), sum)
		}
		folders = append(folders, s.Folder)
		s.Close()
	}
	if seen != 24 {
		t.Errorf("the shards have %d trials", seen)
	}
	part, err := Merge(filepath.Join(t.TempDir(), "part"), folders[1:])
	if err != nil {
		t.Fatal(err)
	}
	defer part.Close()
	if sum, data := finished(t, part); sum.Done != 19 || sum.Trials != 24 || bytes.Equal(data, whole) {
		t.Errorf("without a shard: %+v", sum)
	}
	r = &simulator{}
	if _, data := swept(t, part, r, 2); !bytes.Equal(data, whole) || len(r.ran) != 5 {
		t.Errorf("the rest: %d runs; the same table: %v", len(r.ran), bytes.Equal(data, whole))
	}
	all, err := Merge(filepath.Join(t.TempDir(), "all"), append(folders, folders[0]))
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	if _, data := finished(t, all); !bytes.Equal(data, whole) {
		t.Error("merged shards have another table")
	}
}

// A trial that went wrong is a row with its reason and no numbers; medians are of the others.
func TestInvalidTrials(t *testing.T) {
	s := create(t, plan(t, request(file(t, text))))
	sum, _ := swept(t, s, &simulator{bad: func(x trial.Trial) *trial.Outcome {
		switch {
		case x.Seed == 2 && x.Variant == "b":
			return &trial.Outcome{Exit: 3, Reasons: []string{"killed\nby a signal", "more"}}
		case x.Seed == 3 && x.Variant == "b":
			return &trial.Outcome{Exit: 1, Metrics: map[string]float64{"seed_squared": 100}}
		case x.Seed == 1 && x.Variant == "a":
			return &trial.Outcome{Exit: 2, Reasons: []string{"x.yaml: wrong"}}
		}
		return nil
	}}, 2)
	if sum.Done != 24 || sum.Invalid != 8 || sum.Failed != 4 || len(sum.Reasons) != 8 || sum.Reasons[1].Reasons[0] != "killed\nby a signal" || sum.Reasons[1].Variant != "b" {
		t.Errorf("%+v", sum)
	}
	if b := sum.Points[1]; b.Seeds != 2 || b.Invalid != 1 || b.Metrics["seed_squared"] != 50.5 {
		t.Errorf("%+v", b)
	}
	for _, row := range rows(t, sum)[:6] {
		got := fmt.Sprintf("%s %d %s %q %d", row.Variant, row.Seed, row.Outcome, row.Reason, len(row.Metrics))
		want := map[string]string{"a1": `a 1 wrong "x.yaml: wrong" 0`, "b2": `b 2 invalid "killed\nby a signal\nmore" 0`, "b3": `b 3 fail "" 1`}[fmt.Sprint(row.Variant, row.Seed)]
		if want == "" {
			want = fmt.Sprintf(`%s %d pass "" 3`, row.Variant, row.Seed)
		}
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// Patterns choose the metrics of the table; one that matches none is a mistake.
func TestPatterns(t *testing.T) {
	s := create(t, plan(t, request(file(t, text))))
	swept(t, s, &simulator{}, 2)
	sum, _ := finished(t, s, "only.*", "fct_us.p99")
	if want := []string{"fct_us.p99", "only.a", "only.b"}; !slices.Equal(sum.Metrics, want) {
		t.Errorf("%q, want %q", sum.Metrics, want)
	}
	if sum, _ := finished(t, s, "cpu_seconds"); !slices.Equal(sum.Metrics, []string{"cpu_seconds"}) {
		t.Errorf("%q", sum.Metrics)
	}
	s.Plan.Metrics = []string{"only.*", "fct.p99"}
	if _, err := s.Finish(func(m []string) []string { return m }); !errors.Is(err, failure.ErrConfiguration) || !strings.Contains(err.Error(), `"fct.p99"`) {
		t.Error(err)
	}
}

// Every point is validated before anything runs. What is wrong with one names it.
func TestWrongPoints(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"value", strings.Replace(text, "4kB", "4kb", 1),
			"point 1 (hosts.lb=single, links.mtu=4kb; and 1 more): FILE:8:29: links.mtu: size"},
		{"together", strings.Replace(text, "[{hosts.lb: single}, {tie_seed: 7}]", "[{}]", 1), "FILE:9:10: sweep.list[0]: want a mapping"},
		{"plan", strings.Replace(text, "{tie_seed: 7}", "{workload.transfers: [0 -> 9 1kB]}", 1), "point 2 (workload.transfers=[0 -> 9 1kB], links.mtu=1500B; and 1 more): "},
		{"key", strings.Replace(text, "tie_seed: 7", "hosts.cc.gian: 7", 1), "point 2 (hosts.cc.gian=7, links.mtu=1500B; and 1 more): FILE:9:46: hosts.cc.gian: "},
		{"twice", strings.Replace(text, "{tie_seed: 7}", "{hosts.lb: single}", 1), "point 2 (hosts.lb=single, links.mtu=1500B): it is the same as point 0"},
		{"base", strings.Replace(text, "name: small", "name: Small", 1), `FILE:2:7: name: "Small" is not`},
	} {
		name := file(t, test.text)
		_, err := request(name).Plan(t.Context())
		if err == nil || !errors.Is(err, failure.ErrConfiguration) || !strings.Contains(err.Error(), strings.ReplaceAll(test.want, "FILE", name)) {
			t.Errorf("%s: %v; want %s", test.name, err, test.want)
		}
	}
	many := strings.Replace(text, "[1500B, 4kB]", "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]", 1)
	_, err := request(file(t, many)).Plan(t.Context())
	if err == nil || strings.Count(err.Error(), "point ") != maxWrong || !strings.HasSuffix(err.Error(), "and 4 more of the 24 points are wrong") {
		t.Error(err)
	}
	if _, err := request(file(t, text), "tie_seed=3").Plan(t.Context()); err == nil || !strings.Contains(err.Error(), "--set tie_seed=3 and the points give the same value") {
		t.Error(err)
	}
	if _, err := request(file(t, text), "seeds=1..10000", "links.trim=true").Plan(t.Context()); err != nil {
		t.Error(err)
	}
	big := strings.Replace(text, "[1500B, 4kB]", "["+strings.TrimSuffix(strings.Repeat("1, ", 30), ", ")+"]", 1)
	for i := 0; strings.Contains(big, "1, 1"); i++ {
		big = strings.Replace(big, "1, 1", fmt.Sprintf("%dB, 1", 2000+i), 1)
	}
	big = strings.Replace(big, ", 1]", "]", 1)
	if _, err := request(file(t, big), "seeds=1..10000").Plan(t.Context()); err == nil || !strings.Contains(err.Error(), "trials; the most is 1000000") {
		t.Error(err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := request(file(t, text)).Plan(stopped); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A change of the experiment, or of a file that it reads, ends a sweep and keeps it from being
// resumed; a file that is written again with the same content does not.
func TestChangedFiles(t *testing.T) {
	name := file(t, strings.Replace(text, "workload: {transfers: [0 -> 2 100kB]}", "workload: {file: x.cm}", 1))
	matrix := filepath.Join(filepath.Dir(name), "x.cm")
	write := func(flow string) {
		if err := os.WriteFile(matrix, []byte("Nodes 4\nConnections 1\n"+flow+" start 0 size 100000\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("0->2")
	p := plan(t, request(name))
	if len(p.Files) != 2 || p.Files[0].Name != name || p.Files[1].Name != matrix {
		t.Fatalf("files %+v", p.Files)
	}
	s := create(t, p)
	r := &simulator{}
	r.stop = func(n int) {
		switch n {
		case 3:
			write("0->2")
		case 5:
			write("0->3")
		}
	}
	if err := s.Run(t.Context(), r, 1, nil); !errors.Is(err, ErrChanged) || len(r.ran) != 5 {
		t.Errorf("after %d runs: %v", len(r.ran), err)
	}
	if done, total := s.Done(); done != 4 || total != 24 {
		t.Errorf("%d of %d", done, total)
	}
	s.Close()
	if _, err := Open(t.Context(), s.Folder); !errors.Is(err, ErrChanged) {
		t.Error(err)
	}
	if other := plan(t, request(name)); other.Digest == p.Digest {
		t.Error("another matrix has the same digest")
	}
	write("0->2")
	again, err := Open(t.Context(), s.Folder)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

// What differs between two sweeps makes them two, and they do not share a folder.
func TestFolders(t *testing.T) {
	name := file(t, text)
	p := plan(t, request(name))
	digests := map[string]string{p.Digest: "the first"}
	for what, r := range map[string]*Request{
		"override": request(name, "links.header=40B"), "seeds": request(name, "seeds=[1, 2]"), "content": request(file(t, text+"# \n")),
		"program":  {Experiment: name, Identity: "j", Options: request(name).Options},
		"variants": {Experiment: name, Identity: "i", Options: experiment.Options{Tables: experiment.StandardTables(), Variants: []string{"b"}}},
		"points":   {Experiment: name, Identity: "i", Options: request(name).Options, Points: &experiment.Sweep{}},
	} {
		other := plan(t, r)
		if same, ok := digests[other.Digest]; ok {
			t.Errorf("another %s has the digest of %s", what, same)
		}
		digests[other.Digest] = what
		s := create(t, p)
		if _, err := Create(s.Folder, p); !errors.Is(err, trial.ErrBusy) {
			t.Errorf("a second process: %v", err)
		}
		s.Close()
		if _, err := Create(s.Folder, other); !errors.Is(err, trial.ErrOtherPlan) {
			t.Errorf("another %s: %v", what, err)
		}
		o := create(t, other)
		o.Close()
		if _, err := Merge(filepath.Join(t.TempDir(), "m"), []string{s.Folder, o.Folder}); !errors.Is(err, trial.ErrOtherPlan) {
			t.Errorf("merged with another %s: %v", what, err)
		}
		again, err := Create(s.Folder, plan(t, request(name))) // goes on
		if err != nil {
			t.Fatal(err)
		}
		again.Close()
	}
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "thesis.tex"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(full, p); !errors.Is(err, ErrNotEmpty) {
		t.Error(err)
	}
	if entries, _ := os.ReadDir(full); len(entries) != 1 {
		t.Errorf("%d files in somebody's folder", len(entries))
	}
	if _, err := Open(t.Context(), full); !errors.Is(err, ErrNoSweep) {
		t.Error(err)
	}
	if _, err := Merge(filepath.Join(t.TempDir(), "m"), []string{full}); !errors.Is(err, ErrNoSweep) {
		t.Error(err)
	}
}

// Points of a table: the first row has the paths, an empty cell leaves one alone.
func TestReadList(t *testing.T) {
	dir := t.TempDir()
	read := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		list, err := ReadList(file)
		if err != nil {
			return strings.ReplaceAll(err.Error(), file, "FILE")
		}
		var points []string
		for _, point := range list {
			var set []string
			for _, o := range point {
				set = append(set, argument(o))
			}
			points = append(points, strings.Join(set, " "))
		}
		return strings.Join(points, "\n")
	}
	for _, test := range []struct{ name, text, want string }{
		{"a.csv", "links.mtu,hosts.lb\n1500B,single\n\"4kB\", \n,\n", "links.mtu=1500B hosts.lb=single\nlinks.mtu=4kB\n"},
		{"bom.CSV", "\ufefflinks.mtu\r\n1kB\r\n", "links.mtu=1kB"},
		{"list.csv", "workload.transfers\n\"[0 -> 1 1kB, 1 -> 0 1kB]\"\n", "workload.transfers=[0 -> 1 1kB, 1 -> 0 1kB]"},
		{"a.yaml", "- {links.mtu: 1kB}\n", "links.mtu=1kB"},
		{"a.txt", "", "FILE: want a file that ends in .csv, .yaml or .yml"},
		{"b.csv", "", "FILE: the table is empty; want a row of paths"},
		{"c.csv", "links.mtu\n", "FILE: the table has no points below its first row"},
		{"d.csv", "links.mtu,links.mtu\n1,2\n", `FILE:1:11: the path "links.mtu" has two columns`},
		{"e.csv", "links.mtu,tie_seed\n1\n", "FILE:2:1: wrong number of fields"},
		{"f.csv", "links.mtu\n\"1\n", `FILE:2:4: extraneous or missing " in quoted-field`},
		{"g.csv", "seeds\n1\n", "FILE:1:1: points cannot change seeds: give the seeds with the key seeds, or with --seeds"},
		{"h.csv", "links.mtu\n[1\n", "FILE:2:1: "},
		{"b.yaml", "a: 1\n", "FILE:1:1: want a list of points"},
	} {
		if got := read(test.name, test.text); got != test.want && !(strings.HasPrefix(test.want, "FILE") && strings.HasPrefix(got, test.want)) {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
	if _, err := ReadList(filepath.Join(dir, "absent.csv")); err == nil {
		t.Error("an absent file is read")
	}
}

// A sweep of 1,000 short trials holds little memory: neither their outcomes nor their rows.
func TestMemory(t *testing.T) {
	checkout.SkipSlowRace(t)
	s := create(t, plan(t, request(file(t, strings.Replace(text, "seeds: 1..3", "seeds: 1..125", 1)))))
	r := &simulator{more: 100}
	measure := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before, most := measure(), int64(0)
	err := s.Run(t.Context(), r, 2, func(p Progress) {
		if p.Done%250 == 0 {
			most = max(most, measure()-before)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	sum, _ := finished(t, s)
	if sum.Done != 1000 || len(sum.Metrics) != 104 {
		t.Errorf("%d trials, %d metrics", sum.Done, len(sum.Metrics))
	}
	t.Logf("%d kB", most>>10)
	if most > 2<<20 {
		t.Errorf("a sweep of 1000 trials holds %d kB", most>>10)
	}
}

// What is left is estimated by the predicted times of the trials, those of this process alone.
func TestProgress(t *testing.T) {
	p := plan(t, request(file(t, text)))
	for i := range p.Points {
		p.Points[i].Weight = float64(1 + 9*(i/2)) // the last two points take ten times as long
	}
	s := create(t, p)
	var shares []float64
	err := s.Run(t.Context(), &simulator{}, 1, func(p Progress) {
		shares = append(shares, p.Share)
		if p.Done != len(shares) || p.Total != 24 || p.Left < 0 {
			t.Errorf("%+v", p)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprintf("%.3f %.3f %.3f", shares[11], shares[17], shares[23]), "0.091 0.545 1.000"; got != want {
		t.Errorf("shares %s, want %s", got, want)
	}
	if err := s.Run(t.Context(), &simulator{}, 1, func(p Progress) {
		if p.Left != 0 {
			t.Errorf("%v left of what the folder has", p.Left)
		}
	}); err != nil {
		t.Fatal(err)
	}
}
