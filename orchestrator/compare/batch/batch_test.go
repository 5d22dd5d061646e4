package batch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/cluster"
	"github.com/csiglab/csiglab/orchestrator/compare/batch/batchtest"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
)

// A sweep is one Job, over all nodes, and its outcomes are those of the trials.
func TestOneJob(t *testing.T) {
	l := newLab(t)
	r := l.runner(t)
	r.quiet = time.Second // a slow machine asks slowly
	trials := list(t, 12)
	outcomes, err := trial.All(t.Context(), r, nil, trials, len(trials), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, out := range outcomes {
		if out.Exit != 0 || out.Metrics["seed"] != float64(i+1) || out.TraceHash != "abc" {
			t.Errorf("trial %d: %+v", i, out)
		}
	}
	specs := l.Specs()
	if len(specs) != 1 || *specs[0].Completions != 12 {
		t.Errorf("%d Jobs", len(specs))
	}
	if len(l.runs["node-a"]) == 0 || len(l.runs["node-b"]) == 0 || len(l.runs["node-a"])+len(l.runs["node-b"]) != 12 {
		t.Errorf("runs by node: %d, %d", len(l.runs["node-a"]), len(l.runs["node-b"]))
	}
}

// A node that stops half way: the Job finishes on the other, no trial that has ended is run
// again, and none is lost.
func TestNodeStops(t *testing.T) {
	l := newLab(t)
	r := l.runner(t)
	trials := list(t, 12)
	held := make(chan struct{})
	release := sync.OnceFunc(func() { close(held) })
	defer release()
	l.before = func(p batchtest.Pod, ctx context.Context) (int, bool) {
		if p.Node == "node-b" && p.Index >= 6 { // these are under way when the node stops
			select {
			case <-ctx.Done():
				return 137, true
			case <-held:
			}
		}
		return 0, false
	}
	stop := sync.OnceFunc(func() { l.Stop("node-b") })
	ended := 0
	err := trial.Each(t.Context(), r, nil, trials, len(trials), func(d trial.Done) {
		if d.Outcome.Exit != 0 || d.Outcome.Metrics["seed"] != float64(d.Trial.Seed) {
			t.Errorf("trial %d: %+v", d.Index, d.Outcome)
		}
		if ended++; ended == 7 {
			stop()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range trials {
		if got := l.runs[fmt.Sprint(i)]; !cmp.Equal(got, []int{0}) {
			t.Errorf("trial %d ended with %v", i, got)
		}
	}
	if len(l.said) != 1 || !strings.Contains(l.said[0], "node-b has lost pods") {
		t.Errorf("said %q", l.said)
	}
}

// Exit codes 1 and 2 count at once, 3 is tried again, and what is killed says so.
func TestExitCodes(t *testing.T) {
	l := newLab(t)
	r := l.runner(t)
	trials := slices.Concat(list(t, 1), list(t, 1, "description=fails"), list(t, 1, "topologyy=x"), list(t, 1, "description=invalid"), list(t, 1, "description=killed"))
	l.before = func(p batchtest.Pod, _ context.Context) (int, bool) { return 137, p.Index == 4 }
	// The order of the indices is that of the requests.
	outcomes, err := inOrder(t.Context(), r, trials)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		exit, pods int
		reason     string
	}{{0, 1, ""}, {1, 1, ""}, {2, 1, `unknown key "topologyy"`}, {3, 3, "frames were late in three-flow"}, {3, 0, "killed, exit code 137; its limit of memory is "}} {
		out := outcomes[i]
		if out.Exit != want.exit || len(l.runs[fmt.Sprint(i)]) != want.pods || !strings.Contains(strings.Join(out.Reasons, "\n"), want.reason) || want.reason == "" && out.Reasons != nil {
			t.Errorf("trial %d: %+v after %v", i, out, l.runs[fmt.Sprint(i)])
		}
	}
}

// A pod of another image, which ends with a code of csiglab and without an outcome, is not
// tried again: its trial is invalid and says so.
func TestSilentPod(t *testing.T) {
	l := newLab(t)
	r := l.runner(t)
	l.before = func(batchtest.Pod, context.Context) (int, bool) { return 1, true }
	out, err := r.Run(t.Context(), list(t, 1)[0])
	if err != nil || out.Exit != 3 || len(out.Reasons) != 1 || !strings.Contains(out.Reasons[0], "exit code 1 without an outcome; is image lab.invalid/csiglab:1 one of csiglab image push?") {
		t.Errorf("%+v, %v", out, err)
	}
	if n := len(l.Specs()); n != 1 {
		t.Errorf("%d Jobs", n)
	}
}

// inOrder asks for trials one after the other, without waiting for their outcomes, and makes
// one Job of them.
func inOrder(ctx context.Context, r *Runner, trials []trial.Trial) ([]trial.Outcome, error) {
	r.quiet = time.Hour // the Job is made here, however slow the machine is
	outcomes, errs := make([]trial.Outcome, len(trials)), make([]error, len(trials))
	var all sync.WaitGroup
	for i, one := range trials {
		all.Go(func() { outcomes[i], errs[i] = r.Run(ctx, one) })
		for waits := 0; waits <= i; time.Sleep(time.Millisecond) {
			r.mu.Lock()
			waits = len(r.waiting)
			r.mu.Unlock()
		}
	}
	r.settle()
	all.Wait()
	r.quiet = 0
	return outcomes, errors.Join(errs...)
}

// A trial whose log is lost, although its pod has ended well, runs again in a further Job,
// and that is said. One that is never readable is invalid.
func TestLostLogs(t *testing.T) {
	l := newLab(t)
	r := l.runner(t)
	var mu sync.Mutex
	lost := map[string]bool{}
	l.before = func(p batchtest.Pod, _ context.Context) (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		first := strings.Contains(p.Name, "sweep-test-1-")
		lost[p.Name] = first && p.Index == 1 || len(p.Config) > 0 && p.Image == "never"
		return 0, lost[p.Name] // ends without a word
	}
	l.NoLog = func(p batchtest.Pod) bool {
		mu.Lock()
		defer mu.Unlock()
		return lost[p.Name]
	}
	outcomes, err := inOrder(t.Context(), r, list(t, 3))
	if err != nil {
		t.Fatal(err)
	}
	for i, out := range outcomes {
		if out.Exit != 0 || out.Metrics["seed"] != float64(i+1) {
			t.Errorf("trial %d: %+v", i, out)
		}
	}
	specs := l.Specs()
	if len(specs) != 2 || *specs[1].Completions != 1 {
		t.Fatalf("%d Jobs", len(specs))
	}
	if len(l.said) != 1 || !strings.Contains(l.said[0], "the outcomes of 1 of 3 trials cannot be read") {
		t.Errorf("said %q", l.said)
	}
	r.Image = "never"
	out, err := r.Run(t.Context(), list(t, 9)[8])
	if err != nil || out.Exit != 3 || !strings.Contains(strings.Join(out.Reasons, ""), "could not be read in 3 Jobs") || len(l.Specs()) != 5 {
		t.Errorf("%+v, %v, %d Jobs", out, err, len(l.Specs()))
	}
}

// Ctrl-C ends the trials, and Close removes all that there is.
func TestClose(t *testing.T) {
	l := newLab(t)
	r := l.runner(t)
	begun := make(chan struct{}, 100)
	l.before = func(p batchtest.Pod, ctx context.Context) (int, bool) {
		begun <- struct{}{}
		<-ctx.Done()
		return 137, true
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-begun
		cancel()
	}()
	if _, err := trial.All(ctx, r, nil, list(t, 10), 10, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := r.Close(context.WithoutCancel(ctx)); err != nil {
		t.Error(err)
	}
	if n := l.Objects(); n != 0 {
		t.Errorf("%d objects remain", n)
	}
	if _, err := r.Run(t.Context(), list(t, 1)[0]); !errors.Is(err, errClosed) {
		t.Error(err)
	}
}

// An image with another csiglab is refused, with the command that helps.
func TestImageLacks(t *testing.T) {
	l := newLab(t)
	r := l.runner(t)
	program := filepath.Join(t.TempDir(), "csiglab")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nexit 0\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	one := list(t, 1)[0]
	one.Program, one.Identity = program, "git-1"
	_, err := r.Run(t.Context(), one)
	if want := "csiglab image push lab.invalid/csiglab:1 --program " + program + " puts it there"; !errors.Is(err, failure.ErrConfiguration) || !strings.Contains(fmt.Sprint(err), want) {
		t.Errorf("%v; want %s", err, want)
	}
	// With the program in the image it is used.
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	data = append(data, "another"...)
	for _, name := range []string{program, filepath.Join(l.dir, "programs", "any", "csiglab")} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, data, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := r.Run(t.Context(), one); err != nil || out.Exit != 0 || out.Metrics["seed"] != 1 {
		t.Errorf("%+v, %v", out, err)
	}
}

// Pods that can never start end the sweep soon; those that wait for room do not.
func TestStuck(t *testing.T) {
	l := newLab(t)
	r := l.runner(t)
	r.patience = time.Millisecond
	l.Refuse = func(p batchtest.Pod) error { return fmt.Errorf("%w: %s: not found", cluster.ErrImage, p.Image) }
	_, err := trial.All(t.Context(), r, nil, list(t, 3), 3, nil)
	if !errors.Is(err, cluster.ErrImage) || !errors.Is(err, failure.ErrInfrastructure) || !strings.Contains(err.Error(), "lab.invalid/csiglab:1: not found") {
		t.Error(err)
	}
	l.Refuse = func(batchtest.Pod) error { return fmt.Errorf("%w: too few cores", cluster.ErrUnschedulable) }
	ctx, cancel := context.WithCancel(t.Context())
	said := make(chan string, 1)
	r.Say = func(text string) { said <- text; cancel() }
	if _, err := trial.All(ctx, r, nil, list(t, 3), 3, nil); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if text := <-said; !strings.Contains(text, "too few cores; csiglab waits too") {
		t.Error(text)
	}
}

// What no ConfigMap can take is cut into more Jobs, and refused if it is one trial.
func TestLargePayload(t *testing.T) {
	checkout.SkipSlowRace(t)
	l := newLab(t)
	r := l.runner(t)
	random := rand.New(rand.NewPCG(1, 2))
	noise := func(n int) string {
		text := make([]byte, n)
		for i := range text {
			text[i] = 'a' + byte(random.IntN(26))
		}
		return string(text)
	}
	trials := list(t, 24)
	for i := range trials {
		trials[i].Set = []string{"description=" + noise(100<<10)}
	}
	outcomes, err := trial.All(t.Context(), r, nil, trials, len(trials), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, out := range outcomes {
		if out.Exit != 0 || out.Metrics["seed"] != float64(i+1) {
			t.Errorf("trial %d: exit %d %.200q", i, out.Exit, out.Reasons)
		}
	}
	n := int32(0)
	for _, spec := range l.Specs() {
		n += *spec.Completions
	}
	if len(l.Specs()) < 2 || n != 24 {
		t.Errorf("%d Jobs of %d trials", len(l.Specs()), n)
	}
	one := list(t, 1)[0]
	one.Set = []string{"description=" + noise(3<<20)}
	if _, err := r.Run(t.Context(), one); !errors.Is(err, failure.ErrConfiguration) || !strings.Contains(err.Error(), "a ConfigMap, which takes them to the pods, has room for 1000 KiB") {
		t.Error(err)
	}
}

// While a Job is under way, further trials are collected instead of becoming Jobs of one.
func TestCollect(t *testing.T) {
	l := newLab(t)
	r := l.runner(t)
	trials := list(t, 12)
	if _, err := trial.All(t.Context(), r, nil, trials, 4, nil); err != nil {
		t.Fatal(err)
	}
	if n := len(l.Specs()); n > 6 {
		t.Errorf("%d Jobs for 12 trials, 4 at a time", n)
	}
}
