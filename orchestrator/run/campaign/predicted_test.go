package campaign

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
)

// docs/explanation/jobs.md#the-fluid-model says how far the settled iterations of the
// shipped experiments are from what the plans predict, over all jobs and seeds.
func TestPredictedIterations(t *testing.T) {
	if os.Getenv("CSIGLAB_E2E") == "" {
		t.Skip("takes a minute; CSIGLAB_E2E=1 runs it")
	}
	checkout.SkipSlowRace(t)
	var certain, equal []float64
	for _, name := range []string{"priorities", "flow-scheduling", "cluster-rotation"} {
		set := load(t, name)
		result, err := Run(t.Context(), set, Options{Out: filepath.Join(t.TempDir(), "run")})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range result.Summary.Expectations {
			if !e.OK {
				t.Errorf("%s: %s does not hold", name, e.Expr)
			}
		}
		jobs, err := compile(set, Options{})
		if err != nil {
			t.Fatal(err)
		}
		laws := map[string]string{}
		for _, j := range jobs {
			laws[j.name] = measure.Predict(j.plan)[0].Law
		}
		for _, v := range set.Variants {
			for _, run := range result.Summary.Variants[v.Name].Runs {
				for metric, predicted := range run.Metrics {
					job, ok := strings.CutPrefix(metric, "iteration_fluid_us.")
					if !ok {
						continue
					}
					off := 100 * (run.Metrics["iteration_settled_us."+job]/predicted - 1)
					t.Logf("%s, %s, seed %d, job %s, %s: %+.2f %%", name, v.Name, run.Seed, job, laws[v.Name], off)
					if laws[v.Name] == "fair" {
						equal = append(equal, off)
					} else {
						certain = append(certain, math.Abs(off))
					}
				}
			}
		}
	}
	want := fmt.Sprintf("with strict priorities and with slots are within %.1f %% of the prediction. With equal shares by DCQCN they are from %.0f %% below it to %.0f %% above",
		math.Ceil(10*slices.Max(certain))/10, -slices.Min(equal), slices.Max(equal))
	if text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "explanation", "jobs.md")); err != nil || !strings.Contains(string(text), want) {
		t.Errorf("docs/explanation/jobs.md does not say that settled iterations %s (%v)", want, err)
	}
}
