package batch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/compare/batch/batchtest"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/experiment"
)

// The test program is the csiglab of the trials, too.
func TestMain(m *testing.M) {
	os.Exit(checkout.Main(m, map[string]func([]string) int{"run": run}))
}

// run is csiglab run as far as trial.Local knows it. Its metrics are of the experiment's
// inputs. The key description says how it ends.
func run(args []string) int {
	if slices.Contains(args, "--help") {
		return 0
	}
	opts := experiment.Options{Tables: experiment.StandardTables()}
	seed, folder, variant := uint64(0), "", "run"
	for i, arg := range args {
		switch {
		case arg == "--seed":
			seed, _ = strconv.ParseUint(args[i+1], 10, 64)
		case arg == "--out":
			folder = args[i+1]
		case strings.HasPrefix(arg, "--variant="):
			variant = strings.TrimPrefix(arg, "--variant=")
		case strings.HasPrefix(arg, "--set="):
			o, err := experiment.ParseSet("--set", strings.TrimPrefix(arg, "--set="))
			if err != nil {
				fmt.Fprintln(os.Stderr, "csiglab:", err)
				return 2
			}
			opts.Override = append(opts.Override, o)
		}
	}
	set, err := experiment.Load(args[len(args)-1], opts)
	if err != nil {
		fmt.Fprintln(os.Stderr, "csiglab:", err)
		return 2
	}
	metrics := map[string]float64{"seed": float64(seed), "files": float64(len(set.Files)), "procs": float64(len(os.Getenv("AWS_SECRET_ACCESS_KEY")))}
	for _, name := range set.Files {
		data, err := os.ReadFile(name)
		if err != nil {
			fmt.Fprintln(os.Stderr, "csiglab:", err)
			return 2
		}
		metrics["bytes"] += float64(len(data))
	}
	if err := os.MkdirAll(filepath.Join(folder, "part"), 0o755); err != nil {
		return 3
	}
	if err := os.WriteFile(filepath.Join(folder, "part", "rows"), []byte(set.Base.Description), 0o644); err != nil {
		return 3
	}
	exit := map[string]int{"fails": 1, "invalid": 3}[set.Base.Description]
	s := runfolder.Summary{Schema: runfolder.SummarySchema, Valid: exit != 3, Variants: map[string]runfolder.VariantSummary{variant: {Runs: []runfolder.RunSummary{{Seed: seed, TraceHash: "abc", Metrics: metrics}}}}}
	if exit == 3 {
		s.Reasons = []string{"frames were late in " + args[len(args)-1]}
	}
	if err := json.NewEncoder(os.Stdout).Encode(&s); err != nil {
		return 3
	}
	return exit
}

// lab is a cluster whose pods are calls of Serve.
type lab struct {
	batchtest.Cluster
	dir    string
	before func(p batchtest.Pod, ctx context.Context) (exit int, ended bool) // of each pod; may be nil

	mu   sync.Mutex
	runs map[string][]int // exit codes of the pods, by their trial's seed and node
	said []string
}

func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{dir: t.TempDir(), runs: map[string][]int{}}
	l.Nodes, l.Slots = []string{"node-a", "node-b"}, 2
	l.Run = func(ctx context.Context, p batchtest.Pod, log io.Writer) int {
		if l.before != nil {
			if exit, ended := l.before(p, ctx); ended {
				return exit
			}
		}
		var said bytes.Buffer // whoever reads an outcome finds its pod counted
		exit := Serve(ctx, l.place(p, &said))
		l.count(p, exit, ctx.Err() == nil)
		log.Write(said.Bytes())
		return exit
	}
	return l
}

// count notes a pod that has ended by itself.
func (l *lab) count(p batchtest.Pod, exit int, ended bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ended {
		l.runs[fmt.Sprint(p.Index)] = append(l.runs[fmt.Sprint(p.Index)], exit)
		l.runs[p.Node] = append(l.runs[p.Node], exit)
	}
}

// place gives a pod its folders.
func (l *lab) place(p batchtest.Pod, log io.Writer) Place {
	dir := filepath.Join(l.dir, p.Name)
	place := Place{Payload: filepath.Join(dir, "payload"), Credentials: filepath.Join(dir, "credentials"), Work: filepath.Join(dir, "work"),
		Results: filepath.Join(l.dir, "claim"), Programs: filepath.Join(l.dir, "programs"), Index: p.Index, Out: log, Errors: log}
	for _, folder := range []string{place.Credentials, place.Work, place.Results} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			panic(err)
		}
	}
	if err := os.WriteFile(place.Payload, p.Config[payloadFile], 0o600); err != nil {
		panic(err)
	}
	for name, data := range p.Secret {
		if err := os.WriteFile(filepath.Join(place.Credentials, name), data, 0o600); err != nil {
			panic(err)
		}
	}
	return place
}

func (l *lab) runner(t *testing.T) *Runner {
	t.Helper()
	r := &Runner{Cluster: &l.Cluster, Image: "lab.invalid/csiglab:1", ID: "sweep-test", pause: time.Millisecond, Say: func(text string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.said = append(l.said, text)
	}}
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if n := l.Objects(); n > 0 {
			t.Errorf("%d objects remain", n)
		}
	})
	return r
}

// identity is that of the test program.
func identity(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	id, err := trial.FileIdentity(self)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// list returns trials of an embedded experiment, by seeds from 1.
func list(t *testing.T, n int, set ...string) []trial.Trial {
	t.Helper()
	id := identity(t)
	trials := make([]trial.Trial, n)
	for i := range trials {
		trials[i] = trial.Trial{Identity: id, Experiment: "three-flow", Content: "x", Seed: uint64(i + 1), Variant: "run", Set: set}
	}
	return trials
}
