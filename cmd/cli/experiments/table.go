package experiments

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/compare/results"
	"github.com/csiglab/csiglab/orchestrator/compare/sweep"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/reports/compare"
)

// printTable prints the metrics of a run, a row for each, or the table of a sweep, as CSV.
func printTable(ctx context.Context, a *command.App, folder string) error {
	text, err := command.Interruptible(ctx, func() (string, error) {
		var text bytes.Buffer
		w := csv.NewWriter(&text)
		var err error
		if compare.IsSweep(folder) {
			err = sweepTable(w, folder)
		} else {
			err = metricTableOf(w, folder)
		}
		w.Flush()
		return text.String(), err
	})
	if err != nil {
		return command.FolderError(err)
	}
	return a.Print(text)
}

func metricTableOf(w *csv.Writer, folder string) error {
	f, err := runfolder.OpenKept(folder)
	if err != nil {
		return err
	}
	type run struct {
		variant string
		seed    uint64
	}
	rows := map[run][][]string{}
	for row, err := range f.Metrics() {
		if err != nil {
			return err
		}
		of := run{row.Variant, row.Seed}
		rows[of] = append(rows[of], []string{row.Variant, strconv.FormatUint(row.Seed, 10), row.Name, number(row.Value)})
	}
	w.Write([]string{"variant", "seed", "metric", "value"}) //nolint:errcheck // a buffer takes everything
	for i := range f.Manifest.Runs {                        // by variant and seed; the table is in the order in which they ended
		w.WriteAll(rows[run{f.Manifest.Runs[i].Variant, f.Manifest.Runs[i].Seed}]) //nolint:errcheck // a buffer takes everything
	}
	return nil
}

// sweepTable writes the table of a sweep, without the metrics of single flows, ports and so on,
// of which there may be thousands, unless the sweep's metrics were chosen.
func sweepTable(w *csv.Writer, folder string) error {
	t, p, err := openSweepTable(folder)
	if err != nil {
		return err
	}
	defer t.Close() // opened for reading
	metrics := t.Metrics
	if p == nil || len(p.Metrics) == 0 {
		metrics = slices.DeleteFunc(slices.Clone(metrics), func(name string) bool { return measure.Meaning(name).Single })
	}
	head := append([]string{"point"}, t.Paths...)
	w.Write(append(append(head, "variant", "seed", "outcome"), metrics...)) //nolint:errcheck // a buffer takes everything
	for row, err := range t.Rows() {
		if err != nil {
			return err
		}
		cells := append([]string{strconv.Itoa(row.Point)}, row.Set...)
		cells = append(cells, row.Variant, strconv.FormatUint(row.Seed, 10), row.Outcome)
		for _, name := range metrics {
			cell := ""
			if v, ok := row.Metrics[name]; ok {
				cell = number(v)
			}
			cells = append(cells, cell)
		}
		w.Write(cells) //nolint:errcheck // a buffer takes everything
	}
	return nil
}

// openSweepTable opens the table of a sweep with all trials that have ended. The plan is nil of a
// folder that has the table alone.
func openSweepTable(folder string) (*results.Table, *sweep.Plan, error) {
	p, err := sweep.WriteTable(folder)
	if err != nil && !errors.Is(err, sweep.ErrNoSweep) {
		return nil, nil, err
	}
	t, err := results.Open(filepath.Join(folder, results.File))
	return t, p, err
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
