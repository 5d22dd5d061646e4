package runfolder_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
)

func Example() {
	parent, err := os.MkdirTemp("", "csiglab")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(parent)
	dir := filepath.Join(parent, "one-20260501T100000-1a2b")

	w, err := runfolder.Create(dir, runfolder.Manifest{
		Name: "one", IntervalUS: 100,
		Flows:    runfolder.Flows([]metrics.FlowInfo{{Flow: 0, Name: "0-1"}}),
		Variants: []runfolder.Variant{{Name: "run"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = runfolder.Open(dir)
	fmt.Println("incomplete before Finish:", errors.Is(err, runfolder.ErrIncomplete))

	run, err := w.BeginRun("run", 1, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	run.Consume(&metrics.Batch{Flows: []metrics.FlowWindow{{Flow: 0, Packets: 2, WireBytes: 8300}}}) // while it goes on
	hash := [32]byte{1}
	if err := run.End(runfolder.RunData{Nodes: []metrics.NodeTotals{{Name: "host1"}}, TraceHash: hash}); err != nil {
		fmt.Println(err)
		return
	}
	summary := runfolder.NewSummary("one", runfolder.RunMetrics{Variant: "run", Seed: 1, TraceHash: hash, Metrics: map[string]float64{"fct_us.0-1": 176.2}})
	if err := w.Finish(summary); err != nil {
		fmt.Println(err)
		return
	}

	f, err := runfolder.Open(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.Summary.Variants["run"].Metrics["fct_us.0-1"])
	for row, err := range f.Flows() {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(row.FlowName, row.WireBytes)
	}
	// Output:
	// incomplete before Finish: true
	// 176.2
	// 0-1 8300
}
