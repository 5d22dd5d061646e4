package regress

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
)

// TestStrict: other traces with metrics that are no worse pass as changed, and fail with
// Strict; equal traces pass both ways; equal traces with another value have changed.
func TestStrict(t *testing.T) {
	for _, test := range []struct {
		name    string
		after   func(t trial.Trial, out *trial.Outcome) error
		strict  bool
		outcome verdict.Outcome
		change  verdict.Change
		differ  int
	}{
		{"traces", func(_ trial.Trial, out *trial.Outcome) error { out.Metrics["fct_us.mean"] = 1; return nil }, false, verdict.Pass, verdict.Changed, 8},
		{"traces, strict", func(_ trial.Trial, out *trial.Outcome) error { out.Metrics["fct_us.mean"] = 1; return nil }, true, verdict.Fail, verdict.Changed, 8},
		{"one trace, strict", func(one trial.Trial, out *trial.Outcome) error {
			out.Metrics["fct_us.mean"] = 1
			if one.Seed != 3 {
				out.TraceHash = fmt.Sprint(one.Seed)
			}
			return nil
		}, true, verdict.Fail, verdict.Changed, 1},
		{"equal, strict", func(one trial.Trial, out *trial.Outcome) error {
			out.Metrics["fct_us.mean"], out.TraceHash = 1, fmt.Sprint(one.Seed)
			return nil
		}, true, verdict.Pass, verdict.Identical, 0},
		{"values, strict", func(one trial.Trial, out *trial.Outcome) error {
			out.TraceHash = fmt.Sprint(one.Seed)
			if out.Metrics["fct_us.mean"] = 100; one.Identity == "candidate" {
				out.Metrics["fct_us.mean"] = 99
			}
			return nil
		}, true, verdict.Fail, verdict.Changed, 0},
	} {
		c := fakeCampaign(t, "schema: 1\nname: fake\nseeds: {first: 8, most: 8}\nexperiments:\n  - experiment: one\n    metrics: {fct_us.mean: 5%}\n", &noisy{after: test.after})
		c.Strict, c.Building = test.strict, time.Hour
		d := run(t, c)
		if e := d.Experiments[0]; d.Outcome != test.outcome || e.Outcome != test.outcome || e.Change != test.change || e.Differ != test.differ {
			t.Errorf("%s: %s, %s, %s, the traces of %d seeds differ; want %s, %s, %d", test.name, d.Outcome, e.Outcome, e.Change, e.Differ, test.outcome, test.change, test.differ)
		}
		if d.Seconds < 3600 || d.Building != 3600 {
			t.Errorf("%s: %v s, of which building takes %v; want the build in it", test.name, d.Seconds, d.Building)
		}
		if strict := strings.HasSuffix(d.Experiments[0].Reproduce, "--strict"); strict != test.strict {
			t.Errorf("%s: %s", test.name, d.Experiments[0].Reproduce)
		}
	}
}
