package batch

import (
	"context"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/plan/estimate"
	"github.com/csiglab/csiglab/orchestrator/run/predict"
)

// needs is what the trials of an experiment with its overrides need in a pod.
type needs struct {
	reads  []string // files and folders, with absolute names
	given  bool     // the experiment is one of them
	cores  int
	memory int64 // predicted bytes at the peak
	// guessed: this csiglab does not know the experiment, which may be of another version.
	guessed bool
	virtual bool // all of it runs in virtual time
	wall    bool // some of it runs in real time
}

// with returns what two experiments need, one at a time.
func (n needs) with(other needs) needs {
	if n.cores == 0 {
		return other
	}
	return needs{
		cores: max(n.cores, other.cores), memory: max(n.memory, other.memory),
		guessed: n.guessed || other.guessed, virtual: n.virtual && other.virtual, wall: n.wall || other.wall,
	}
}

// Cores that a pod asks for. A run in virtual time or in lockstep goes on alone, so that one
// core per run gives the most runs per machine. In real time a run that waits for a core is
// invalid.
const (
	coresOfRun  = 1
	coresOfWall = 2
)

// guessedMemory is asked for a run that this csiglab cannot predict.
const guessedMemory = 1 << 30

// inputKey tells apart what trials read and need.
func inputKey(t trial.Trial) string {
	return strings.Join(append([]string{t.Experiment}, t.Set...), "\x00")
}

// look returns what trials need, by inputKey.
func look(ctx context.Context, requests []*request) (map[string]needs, error) {
	byKey := map[string]needs{}
	var keys []string
	first := map[string]trial.Trial{}
	for _, q := range requests {
		key := inputKey(q.trial)
		if _, ok := first[key]; !ok {
			first[key] = q.trial
			keys = append(keys, key)
		}
	}
	var mu sync.Mutex
	next := make(chan string)
	var workers sync.WaitGroup
	var failed error
	for range min(runtime.GOMAXPROCS(0), len(keys)) {
		workers.Go(func() {
			for key := range next {
				n, err := needsOf(first[key])
				mu.Lock()
				if byKey[key] = n; err != nil && failed == nil {
					failed = err
				}
				mu.Unlock()
			}
		})
	}
	for _, key := range keys {
		if ctx.Err() == nil {
			next <- key
		}
	}
	close(next)
	workers.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return byKey, failed
}

// needsOf returns what trials of an experiment with its overrides need.
func needsOf(t trial.Trial) (needs, error) {
	n := needs{cores: coresOfRun, memory: guessedMemory, guessed: true}
	dir := ""
	if slices.Contains(experiment.Names(), t.Experiment) {
		_, folder, err := experiment.Text(t.Experiment)
		if err != nil {
			return n, err
		}
		dir = folder
	} else {
		name, err := filepath.Abs(t.Experiment)
		if err != nil {
			return n, err
		}
		n.reads, n.given = []string{name}, true
	}
	opts := experiment.Options{Tables: experiment.StandardTables()}
	for _, text := range t.Set {
		o, err := experiment.ParseSet("--set", text)
		if err != nil {
			return n, nil //nolint:nilerr // the trial's csiglab may know better
		}
		opts.Override = append(opts.Override, o)
	}
	set, err := experiment.Load(t.Experiment, opts)
	if err != nil {
		return n, nil //nolint:nilerr // as above
	}
	for _, name := range set.Files {
		if dir == "" || !strings.HasPrefix(name, dir+string(filepath.Separator)) { // else the program has it
			n.reads = append(n.reads, name)
		}
	}
	way := predict.Way{Way: set.Base.Way(), Parallel: 1}
	memory := int64(0)
	err = plan.EachVariant(set, func(_ int, p *plan.Plan) {
		memory = max(memory, predict.Runs([]predict.Load{{Work: estimate.Of(p, nil), Runs: 1}}, way).Memory)
	})
	if err != nil {
		return n, nil //nolint:nilerr // as above
	}
	n.memory, n.guessed = memory, false
	n.virtual, n.wall = !way.Has(runtimes.RealFrames), way.Has(runtimes.RealTime)
	if n.wall {
		n.cores = coresOfWall
	}
	return n, nil
}
