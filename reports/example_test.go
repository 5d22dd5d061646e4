package reports_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/reports"
)

func Example() {
	parent, err := os.MkdirTemp("", "csiglab")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(parent)
	w, err := runfolder.Create(filepath.Join(parent, "run"), runfolder.Manifest{
		Name: "one", IntervalUS: 100, Variants: []runfolder.Variant{{Name: "run"}},
		Published: []runfolder.Published{{Variant: "run", Metric: "fct_us.0-1", Value: 176, Low: 170, High: 180}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	summary := runfolder.NewSummary("one", runfolder.RunMetrics{Variant: "run", Seed: 1, Metrics: map[string]float64{"fct_us.0-1": 176.2}})
	if err := w.Finish(summary); err != nil {
		fmt.Println(err)
		return
	}
	folder, err := runfolder.Open(w.Dir())
	if err != nil {
		fmt.Println(err)
		return
	}

	r, err := reports.Read(folder, measure.Meaning)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range r.Verdict.Published {
		fmt.Printf("%s: %.1f %s against %.0f: %s\n", c.Metric, *c.Measured, c.Unit, c.Published, c.Outcome)
	}
	// Output:
	// fct_us.0-1: 176.2 µs against 176: reproduced
}
