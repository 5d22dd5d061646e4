package docs_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// afterwards checks what the commands of a document have made.
var afterwards = map[string]func(t *testing.T, dir string){"demo.md": checkTalk}

// checkTalk compares what docs/how-to/demo.md says with the runs that its commands make.
func checkTalk(t *testing.T, dir string) {
	text, err := os.ReadFile("how-to/demo.md")
	if err != nil {
		t.Fatal(err)
	}
	summaries := map[string]*runfolder.Summary{}
	for _, run := range []string{"talk", "shared"} {
		f, err := runfolder.Open(filepath.Join(dir, "runs", run))
		if err != nil {
			t.Fatal(err)
		}
		summaries[run] = &f.Summary
	}
	step := func(run, variant string, jobs ...string) (us float64) { // of all jobs together
		for _, job := range jobs {
			var values []float64
			for _, r := range summaries[run].Variants[variant].Runs {
				values = append(values, r.Metrics["iteration_us.mean."+job])
			}
			us += runfolder.Median(values)
		}
		return us
	}
	together := func(variant string) float64 { return step("shared", variant, "pipe", "ring1", "ring2") }
	spread := summaries["talk"].Variants["spread"].Runs[0].Metrics
	for _, c := range []struct {
		says      string
		is        float64
		low, high float64
	}{
		{"the gradients stay on their rails: 1.2 ms", step("talk", "rails", "gpt") / 1e3, 1.15, 1.25},
		{"twice as long for the same work", step("talk", "spread", "gpt") / step("talk", "rails", "gpt"), 1.9, 2.1},
		{"half busy", spread["utilisation.max.core"], 0.45, 0.6},
		{"`csig` looks the same", step("talk", "csig", "gpt") / step("talk", "spread", "gpt"), 0.97, 1.03},
		{"a fifth less time with CSIG in both places", 1 - together("both")/together("nscc"), 0.18, 0.22},
		{"a balancer without CSIG gets most of that", (together("nscc") - together("mixed")) / (together("nscc") - together("both")), 0.5, 0.95},
		{"nobody", math.Max(step("shared", "both", "pipe")/step("shared", "nscc", "pipe"), math.Max(step("shared", "both", "ring1")/step("shared", "nscc", "ring1"), step("shared", "both", "ring2")/step("shared", "nscc", "ring2"))), 0, 1},
	} {
		if !strings.Contains(string(text), c.says) {
			t.Errorf("the page does not say %q any more", c.says)
		}
		if !(c.is >= c.low && c.is <= c.high) {
			t.Errorf("%q: %.3g, which is not within %v to %v", c.says, c.is, c.low, c.high)
		}
	}
}
