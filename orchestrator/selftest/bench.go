package selftest

import (
	"context"
	"embed"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/run/campaign"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
)

//go:embed experiments/*.yaml
var experiments embed.FS

// metrics are those of one run, by name.
type metrics map[string]float64

// ran is one run that has ended.
type ran struct {
	metrics
	trace  string // hash
	checks []runfolder.Check
}

// invalidError reports a run that cannot be trusted.
type invalidError struct{ reasons []string }

func (e *invalidError) Error() string { return "a run is not valid: " + strings.Join(e.reasons, "; ") }

// bench runs experiments, each in a folder of its own below folder.
type bench struct {
	folder   string
	version  string
	parallel int
	folders  int // made so far
}

// parse returns an embedded experiment with values overridden, as PATH=VALUE. The
// environment has no part in it.
func (b *bench) parse(name string, set ...string) (*experiment.Set, error) {
	file := "experiments/" + name + ".yaml"
	data, err := experiments.ReadFile(file)
	if err != nil {
		return nil, err
	}
	opts := experiment.Options{Tables: experiment.StandardTables(), Names: measure.NamesOfSet}
	for _, one := range set {
		o, err := experiment.ParseSet("set", one)
		if err != nil {
			return nil, err
		}
		opts.Override = append(opts.Override, o)
	}
	return experiment.Parse(file, "", data, opts)
}

// run runs an experiment and returns its runs by variant and in the order of the seeds. If
// they are not valid, its error is an *invalidError.
func (b *bench) run(ctx context.Context, set *experiment.Set, opts campaign.Options) (map[string][]ran, error) {
	b.folders++
	opts.Out = filepath.Join(b.folder, fmt.Sprint(b.folders))
	opts.Version, opts.Command, opts.Parallel = b.version, []string{"csiglab", "selftest"}, b.parallel
	defer os.RemoveAll(opts.Out) // what is left goes with b.folder
	result, err := campaign.Run(ctx, set, opts)
	if err != nil {
		return nil, err
	}
	if s := result.Summary; !s.Valid {
		return nil, &invalidError{s.Reasons}
	}
	folder, err := runfolder.Open(result.Folder)
	if err != nil {
		return nil, err
	}
	checks := map[string]map[uint64][]runfolder.Check{}
	for _, r := range folder.Manifest.Runs {
		if checks[r.Variant] == nil {
			checks[r.Variant] = map[uint64][]runfolder.Check{}
		}
		checks[r.Variant][r.Seed] = r.Checks
	}
	runs := map[string][]ran{}
	for name, v := range result.Summary.Variants {
		for _, r := range v.Runs {
			m := metrics(maps.Clone(r.Metrics))
			delete(m, "cpu_seconds") // the one metric that differs from run to run
			runs[name] = append(runs[name], ran{metrics: m, trace: r.TraceHash, checks: checks[name][r.Seed]})
		}
	}
	return runs, nil
}
