package campaign

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
)

// Issue 17, Must show 3: what unfair-pair and adaptive expect is true of all five seeds, and
// docs/explanation/jobs.md has the table that the test prints: the median iteration of the slower job,
// that of the fluid model, and the iteration from which on the phases are apart.
func TestLevers(t *testing.T) {
	if os.Getenv("CSIGLAB_E2E") == "" {
		t.Skip("takes a minute; CSIGLAB_E2E=1 runs it")
	}
	checkout.SkipSlowRace(t)
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "explanation", "jobs.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"unfair-pair", "adaptive"} {
		set := load(t, name, "seeds=1..5")
		result, err := Run(t.Context(), set, Options{Out: filepath.Join(t.TempDir(), "run"), Runtime: runtimes.Inproc, Clock: runtimes.Virtual})
		if err != nil {
			t.Fatal(err)
		}
		s := result.Summary
		if !s.Valid {
			t.Fatal(s.Reasons)
		}
		for _, e := range s.Expectations {
			if !e.OK {
				t.Errorf("%s: %s does not hold", name, e.Expr)
			}
		}
		for _, v := range set.Variants {
			var slower, model, apart []float64
			for _, run := range s.Variants[v.Name].Runs {
				m := run.Metrics
				slower = append(slower, max(m["iteration_us.p50.first"], m["iteration_us.p50.second"])/1000)
				model = append(model, max(m["iteration_fluid_us.first"], m["iteration_fluid_us.second"])/1000)
				a, knownA := m["apart_iteration.first"]
				b, knownB := m["apart_iteration.second"]
				if knownA && knownB {
					apart = append(apart, max(a, b))
				}
			}
			after := "never"
			if len(apart) == len(slower) {
				after = fmt.Sprintf("%.0f, at most %.0f", runfolder.Median(apart), slices.Max(apart))
			} else if len(apart) > 0 {
				after = fmt.Sprintf("in %d of %d seeds", len(apart), len(slower))
			}
			row := fmt.Sprintf("| `%s` | `%s` | %.1f | %.1f | %s |", name, v.Name, runfolder.Median(slower), runfolder.Median(model), after)
			t.Log(row)
			if !strings.Contains(string(text), row) {
				t.Errorf("docs/explanation/jobs.md has no row %s", row)
			}
		}
	}
}
