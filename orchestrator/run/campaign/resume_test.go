package campaign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/run/packets"
)

// resumeText is an experiment of eight runs.
const resumeText = fatTree16 + `
workload: {transfers: [0 -> 8 200kB, 4 -> 8 200kB]}
variants:
  plain: {}
  csig: {csig.format: compact, hosts.cc.csig: max-delay}
seeds: [1, 2, 3, 7]
telemetry: {interval: 10us}
trace: {flows: [0-8]}
capture: [tor0-agg0]
derived: [{name: share, expr: 'm("rate_gbps.0-8")'}]
expect: ['csig.share > 0', 'every_seed(plain["flows.incomplete"] == 0)']
`

// until returns options for one run at a time, which are interrupted when so many runs
// are done in all.
func until(runs int, opts Options) (context.Context, Options) {
	ctx, cancel := context.WithCancel(context.Background())
	opts.Parallel = 1
	opts.Progress = func(p Progress) {
		if p.Done >= runs {
			cancel()
		}
	}
	return ctx, opts
}

// The folder of a run that was interrupted, resumed, interrupted again and resumed is as
// that of a run that was not, also when it was begun with some of the variants or seeds.
func TestResume(t *testing.T) {
	set := parseText(t, resumeText)
	whole := filepath.Join(t.TempDir(), "whole")
	result, err := Run(context.Background(), set, Options{Out: whole, Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	if result.Kept != 8 || result.Runs != 8 {
		t.Errorf("kept %d of %d runs, want 8 of 8", result.Kept, result.Runs)
	}
	dir := filepath.Join(t.TempDir(), "cut")
	ctx, opts := until(3, Options{Out: dir, Version: "1"})
	result, err = Run(ctx, set, opts)
	if !errors.Is(err, context.Canceled) || result.Kept != 3 || result.Runs != 8 {
		t.Fatalf("%v, %+v; want an interruption after 3 of 8 runs", err, result)
	}
	f := open(t, dir)
	if f.Manifest.Reason != "interrupted" || len(f.Summary.Variants) != 1 || len(f.Summary.Variants["plain"].Runs) != 3 || f.Summary.Variants["plain"].Metrics["share"] == 0 {
		t.Errorf("reason %q, summary %+v", f.Manifest.Reason, f.Summary)
	}
	ctx, opts = until(5, Options{Version: "1"})
	result, err = Resume(ctx, dir, opts)
	if !errors.Is(err, context.Canceled) || result.Kept != 5 || result.Runs != 8 {
		t.Fatalf("%v, %+v; want an interruption after 5 of 8 runs", err, result)
	}
	var last Progress
	result, err = Resume(context.Background(), dir, Options{Version: "1", Progress: func(p Progress) { last = p }})
	if err != nil || result.Summary == nil || result.Set == nil || last.Done != 8 {
		t.Fatalf("%v, %+v; progress %+v", err, result, last)
	}
	sameFolders(t, dir, whole)
	if _, err := Resume(context.Background(), dir, Options{Version: "1"}); !errors.Is(err, failure.ErrConfiguration) || !errors.Is(err, runfolder.ErrComplete) {
		t.Errorf("a complete folder: %v", err)
	}
}

func open(t *testing.T, dir string) *runfolder.Folder {
	t.Helper()
	f, err := runfolder.OpenKept(dir)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// sameFolders compares two complete folders of the same experiment.
func sameFolders(t *testing.T, got, want string) {
	t.Helper()
	a, b := open(t, got), open(t, want)
	if !a.Manifest.Complete || !b.Manifest.Complete {
		t.Fatalf("complete %v and %v", a.Manifest.Complete, b.Manifest.Complete)
	}
	summary := func(f *runfolder.Folder) runfolder.Summary {
		for _, v := range f.Summary.Variants {
			for _, m := range append([]runfolder.RunSummary{{Metrics: v.Metrics}}, v.Runs...) {
				delete(m.Metrics, "cpu_seconds") // the one that differs from run to run
			}
		}
		return f.Summary
	}
	if d := cmp.Diff(summary(a), summary(b)); d != "" {
		t.Errorf("summary (-resumed +whole):\n%s", d)
	}
	manifest := func(f *runfolder.Folder) runfolder.Manifest {
		m := f.Manifest
		m.Started, m.Finished, m.Resumed, m.Files, m.Digest = time.Time{}, time.Time{}, nil, nil, ""
		for i := range m.Runs {
			m.Runs[i].CPUSeconds, m.Runs[i].WallSeconds = 0, 0
		}
		return m
	}
	if d := cmp.Diff(manifest(a), manifest(b)); d != "" {
		t.Errorf("manifest (-resumed +whole):\n%s", d)
	}
	sameRows(t, "ports", a.Ports(), b.Ports())
	sameRows(t, "flows", a.Flows(), b.Flows())
	sameRows(t, "signals", a.Signals(), b.Signals())
	sameRows(t, "cc", a.CC(), b.CC())
	sameRows(t, "phases", a.Phases(), b.Phases())
	sameRows(t, "metrics", a.Metrics(), b.Metrics())
	if a.Manifest.Tables["events"]+b.Manifest.Tables["events"] > 0 {
		sameRows(t, "events", a.Events(), b.Events())
	}
	for _, r := range a.Manifest.Runs {
		if _, err := os.Stat(packets.FileName(want, r.Variant, r.Seed)); err != nil {
			continue
		}
		one, err1 := os.ReadFile(packets.FileName(got, r.Variant, r.Seed))
		two, err2 := os.ReadFile(packets.FileName(want, r.Variant, r.Seed))
		if err1 != nil || err2 != nil || string(one) != string(two) {
			t.Errorf("the captures of %s %d differ: %v, %v", r.Variant, r.Seed, err1, err2)
		}
	}
	names := func(dir string) (list []string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			list = append(list, e.Name())
		}
		return list
	}
	if d := cmp.Diff(names(got), names(want)); d != "" {
		t.Errorf("files (-resumed +whole):\n%s", d)
	}
}

// sameRows compares two tables.
func sameRows[T any](t *testing.T, table string, a, b iter.Seq2[T, error]) {
	t.Helper()
	rows := func(seq iter.Seq2[T, error]) (list []string) {
		for row, err := range seq {
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(row)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(text), `"cpu_seconds"`) { // the metric that differs from run to run
				list = append(list, string(text))
			}
		}
		slices.Sort(list) // rows of nodes that are processes come in any order
		return list
	}
	got, want := rows(a), rows(b)
	if len(want) == 0 {
		t.Errorf("table %s is empty", table)
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("table %s (-resumed +whole): %.2000s", table, d)
	}
}

// "a run that fails: what finished is kept in the same way, reason is the failure": here
// a file is in the way of the third run's capture. The resumed run removes it.
func TestResumeAfterAFailure(t *testing.T) {
	set := parseText(t, resumeText)
	whole, dir := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "failed")
	if _, err := Run(context.Background(), set, Options{Out: whole}); err != nil {
		t.Fatal(err)
	}
	var planted atomic.Bool
	result, err := Run(context.Background(), set, Options{Out: dir, Parallel: 1, Progress: func(p Progress) {
		if p.Done >= 1 && planted.CompareAndSwap(false, true) {
			if err := os.WriteFile(packets.FileName(dir, "plain", 3), nil, 0o600); err != nil {
				t.Error(err)
			}
		}
	}})
	if !errors.Is(err, failure.ErrInfrastructure) || result.Kept != 2 {
		t.Fatalf("%v, %+v; want a failure after 2 runs", err, result)
	}
	if f := open(t, dir); !strings.Contains(f.Manifest.Reason, "variant plain, seed 3") || len(f.Manifest.Runs) != 2 {
		t.Errorf("reason %q, %d runs", f.Manifest.Reason, len(f.Manifest.Runs))
	}
	if _, err := Resume(context.Background(), dir, Options{}); err != nil {
		t.Fatal(err)
	}
	sameFolders(t, dir, whole)
}

// What was begun with a part of an experiment goes on with that part.
func TestResumeOfAPart(t *testing.T) {
	dir, whole := filepath.Join(t.TempDir(), "cut"), filepath.Join(t.TempDir(), "whole")
	set := func() *experiment.Set {
		set, err := experiment.Parse("test.yaml", "", []byte(resumeText), experiment.Options{Tables: experiment.StandardTables(), Seeds: 2})
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	ctx, opts := until(1, Options{Out: dir})
	if _, err := Run(ctx, set(), opts); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if _, err := Run(context.Background(), set(), Options{Out: whole}); err != nil {
		t.Fatal(err)
	}
	if result, err := Resume(context.Background(), dir, Options{}); err != nil || result.Runs != 4 {
		t.Fatalf("%v, %+v", err, result)
	}
	sameFolders(t, dir, whole)
}

// Results that would not go together are refused, before anything is changed.
func TestResumeRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(t *testing.T, inputs, dir string)
		opts   Options
		want   string
	}{
		{name: "another version", opts: Options{Version: "2"}, want: "it was written by csiglab 1, this is 2"},
		{name: "another topology", opts: Options{Version: "1"}, want: "its ports are no longer those", change: func(t *testing.T, inputs, _ string) {
			rewrite(t, filepath.Join(inputs, "x.topo"), "Downlink_speed_Gbps 100", "Downlink_speed_Gbps 40")
		}},
		{name: "another matrix", opts: Options{Version: "1"}, want: "its flows are no longer those", change: func(t *testing.T, inputs, _ string) {
			rewrite(t, filepath.Join(inputs, "y.cm"), "size 50000", "size 60000")
		}},
		{name: "another experiment", opts: Options{Version: "1"}, want: "experiment.yaml: the file is damaged", change: func(t *testing.T, _, dir string) {
			rewrite(t, filepath.Join(dir, runfolder.ExperimentFile), "name: t", "name: u")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inputs, dir := t.TempDir(), filepath.Join(t.TempDir(), "run")
			for name, text := range map[string]string{"x.topo": noteTopo, "y.cm": noteMatrix} {
				if err := os.WriteFile(filepath.Join(inputs, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			set, err := experiment.Parse("t.yaml", inputs, []byte("schema: 1\nname: t\ntopology: {file: x.topo}\nworkload: {file: y.cm}\nseeds: [1, 2]\n"), experiment.Options{Tables: experiment.StandardTables()})
			if err != nil {
				t.Fatal(err)
			}
			ctx, opts := until(1, Options{Out: dir, Version: "1"})
			if _, err := Run(ctx, set, opts); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if c.change != nil {
				c.change(t, inputs, dir)
			}
			before, _ := os.ReadFile(filepath.Join(dir, runfolder.ManifestFile))
			if _, err := Resume(context.Background(), dir, c.opts); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), dir) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if after, err := os.ReadFile(filepath.Join(dir, runfolder.ManifestFile)); err != nil || string(after) != string(before) {
				t.Errorf("the manifest was changed: %v\n%s", err, after)
			}
		})
	}
}

// rewrite replaces a text in a file.
func rewrite(t *testing.T, file, old, fresh string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil && !strings.Contains(string(text), old) {
		err = fmt.Errorf("%s does not have %q", file, old)
	}
	if err == nil {
		err = os.WriteFile(file, []byte(strings.ReplaceAll(string(text), old, fresh)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Runs with real frames are resumed on their runtime; in real time with their dilation.
func TestResumeRealFrames(t *testing.T) {
	everyRuntime(t, func(t *testing.T, runtime string) {
		if runtime == runtimes.Containerlab {
			needTime(t)
		}
		for _, clock := range []string{runtimes.Lockstep, runtimes.Wall} {
			if clock == runtimes.Wall && os.Getenv("CSIGLAB_E2E") == "" {
				continue // it waits for real time
			}
			text := gentle + "seeds: [1, 2, 3]\n"
			if clock == runtimes.Wall {
				text = strings.Replace(text, "dilation: 200, ", "", 1) // auto: another one each time
			}
			opts := Options{Out: filepath.Join(t.TempDir(), "cut"), Runtime: runtime, Clock: clock, Payload: PayloadElide}
			ctx, cut := until(1, opts)
			result, err := Run(ctx, parseText(t, text), cut)
			if !errors.Is(err, context.Canceled) || result.Kept != 1 {
				t.Fatalf("%s: %v, %+v", clock, err, result)
			}
			before := open(t, opts.Out).Manifest
			if _, err := Resume(context.Background(), opts.Out, Options{Announce: func(text string) { t.Log(text) }}); err != nil {
				t.Fatalf("%s: %v", clock, err)
			}
			m := open(t, opts.Out).Manifest
			if !m.Complete || len(m.Runs) != 3 || m.Runtime != runtime || m.Clock != clock || m.Dilation != before.Dilation || m.Options.Payload != PayloadElide {
				t.Errorf("%s: manifest %+v", clock, m)
			}
			for i, r := range m.Runs {
				if f := r.Fidelity; f != nil && f.Dilation != m.Dilation {
					t.Errorf("run %d has the dilation %v, want %v", i, f.Dilation, m.Dilation)
				}
			}
			if clock == runtimes.Lockstep {
				opts.Out = filepath.Join(t.TempDir(), "whole")
				if _, err := Run(context.Background(), parseText(t, text), opts); err != nil {
					t.Fatal(err)
				}
				sameFolders(t, cut.Out, opts.Out)
			}
		}
	})
}
