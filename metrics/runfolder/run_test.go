package runfolder

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/tables"
	"github.com/csiglab/csiglab/units"
)

// windows returns a batch of flow windows that begin at microseconds from to to-1.
func windows(from, to int) *metrics.Batch {
	b := &metrics.Batch{Node: 1}
	for i := from; i < to; i++ {
		b.Flows = append(b.Flows, metrics.FlowWindow{Flow: 1, Start: units.Time(i) * units.Time(units.Microsecond), Packets: 1})
	}
	return b
}

// A run's records go to its part while the run goes on, and its rows to the table when it
// has finished, in row groups of bounded size, whatever other runs are written meanwhile.
// The rows of a run are together, in their order.
func TestRunsAreWrittenAsTheyGoOn(t *testing.T) {
	const step, steps = 1000, 3*groupRows/1000 + 1
	dir := filepath.Join(t.TempDir(), "r")
	w := must(Create(dir, manifest()))(t)
	var all sync.WaitGroup
	for seed := range uint64(2) {
		run := must(w.BeginRun("base", seed, nil))(t)
		all.Go(func() {
			for i := range steps {
				run.Consume(windows(i*step, (i+1)*step))
				if len(run.part.raw) >= partBlock {
					t.Errorf("a run holds %d bytes", len(run.part.raw))
				}
			}
			if info, err := os.Stat(filepath.Join(dir, run.partName(begunSuffix))); err != nil || info.Size() == 0 {
				t.Errorf("no record is in the part before the end: %v", err)
			}
			if err := run.End(RunData{}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if err := w.Finish(summary()); err != nil {
		t.Fatal(err)
	}
	f := must(Open(dir))(t)
	next := map[uint64]float64{}
	var order []uint64
	for row, err := range f.Flows() {
		if err != nil {
			t.Fatal(err)
		}
		if row.StartUS != next[row.Seed] {
			t.Fatalf("seed %d: window of %v us, want %v", row.Seed, row.StartUS, next[row.Seed])
		}
		next[row.Seed]++
		if n := len(order); n == 0 || order[n-1] != row.Seed {
			order = append(order, row.Seed)
		}
	}
	if len(order) != 2 {
		t.Errorf("rows of the seeds alternate: %v", order)
	}
	if next[0] != step*steps || next[1] != step*steps {
		t.Errorf("%v rows by seed, want %d each", next, step*steps)
	}
	file := must(os.Open(filepath.Join(dir, "flows.parquet")))(t)
	defer file.Close()
	info := must(file.Stat())(t)
	p := must(parquet.OpenFile(file, info.Size()))(t)
	if len(p.RowGroups()) < 2 {
		t.Error("all rows are in one row group")
	}
	for i, g := range p.RowGroups() {
		if last := i == len(p.RowGroups())-1; g.NumRows() > groupRows+step || g.NumRows() < groupRows && !last {
			t.Errorf("row group %d has %d rows, want %d to %d", i, g.NumRows(), groupRows, groupRows+step)
		}
	}
}

// "dropped records are counted and make the run's tables say so" (issue 7).
func TestDroppedRecordsAreTold(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "r")
	w := must(Create(dir, manifest()))(t)
	for seed, dropped := range []int64{0, 5} {
		run := must(w.BeginRun("base", uint64(seed), nil))(t)
		for range 2 {
			b := windows(0, 3)
			b.Dropped = dropped
			run.Consume(b)
		}
		if run.Dropped() != 2*dropped {
			t.Errorf("%d records were dropped, want %d", run.Dropped(), 2*dropped)
		}
		if err := run.End(RunData{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(summary()); err != nil {
		t.Fatal(err)
	}
	m := must(Open(dir))(t).Manifest
	if m.DroppedRecords != 10 || m.Runs[0].DroppedRecords != 0 || m.Runs[1].DroppedRecords != 10 {
		t.Errorf("the manifest says %d, by run %d and %d, want 10, 0, 10", m.DroppedRecords, m.Runs[0].DroppedRecords, m.Runs[1].DroppedRecords)
	}
	for table, want := range map[string]string{tableFlows: "10", tablePorts: "10", tablePhases: ""} {
		file := must(os.Open(filepath.Join(dir, table+".parquet")))(t)
		info := must(file.Stat())(t)
		if got, _ := must(parquet.OpenFile(file, info.Size()))(t).Lookup(droppedKey); got != want {
			t.Errorf("%s: %s is %q, want %q", table, droppedKey, got, want)
		}
		file.Close()
	}
}

// Rows of a run that failed, or that has not ended, are in no complete folder.
func TestFinishRefusesAnUnfinishedRun(t *testing.T) {
	unknown := &metrics.Batch{Node: 1, Flows: []metrics.FlowWindow{{Flow: 9}}}
	for name, tc := range map[string]struct {
		do   func(w *Writer, r *RunWriter)
		want string
	}{
		"not ended":            {func(*Writer, *RunWriter) {}, "base, seed 1 has not ended"},
		"failed with rows":     {func(_ *Writer, r *RunWriter) { r.Consume(windows(0, groupRows)); r.Consume(unknown); r.End(RunData{}) }, "flow 9"}, //nolint:errcheck // tested elsewhere
		"failed without a row": {func(_ *Writer, r *RunWriter) { r.Consume(windows(0, 10)); r.Consume(unknown); r.End(RunData{}) }, ""},              //nolint:errcheck // tested elsewhere
	} {
		w := must(Create(filepath.Join(t.TempDir(), "r"), manifest()))(t)
		r := must(w.BeginRun("base", 1, nil))(t)
		tc.do(w, r)
		err := w.Finish(summary())
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
		if err := w.Abort("test"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A run that goes on while its folder is closed learns that it is.
func TestConsumeAfterAbort(t *testing.T) {
	w := must(Create(filepath.Join(t.TempDir(), "r"), manifest()))(t)
	r := must(w.BeginRun("base", 1, nil))(t)
	if err := w.Abort("another run failed"); err != nil {
		t.Fatal(err)
	}
	r.Consume(windows(0, 2*groupRows))
	if err := r.Err(); !errors.Is(err, ErrClosed) || !strings.Contains(err.Error(), w.Dir()) {
		t.Errorf("Err: %v", err)
	}
	if err := r.End(RunData{}); !errors.Is(err, ErrClosed) {
		t.Errorf("End: %v", err)
	}
}

// Every type of records that has a table reaches it: one record of each makes one row in each
// table.
func TestEveryTableGetsItsRecords(t *testing.T) {
	b := &metrics.Batch{Node: 1}
	for _, table := range tables.All() {
		if table.Record == reflect.TypeFor[metrics.Transfer]() {
			continue // they are made of RunData
		}
		b.Emit(reflect.New(table.Record).Interface().(metrics.Record))
	}
	dir := filepath.Join(t.TempDir(), "r")
	w := must(Create(dir, manifest()))(t)
	if err := addRun(w, "base", 1, RunData{Nodes: []metrics.NodeTotals{{Senders: []metrics.SenderTotals{{}}}}}, b); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(summary()); err != nil {
		t.Fatal(err)
	}
	written := must(Open(dir))(t).Manifest.Tables
	for name, rows := range written {
		if rows != 1 {
			t.Errorf("%d rows in %s", rows, name)
		}
	}
	if len(written) != len(tables.All()) || len(written) < 11 {
		t.Errorf("%d tables, %d types of records", len(written), len(tables.All()))
	}
}

// A list of a batch belongs to records that have a table, or to those of which RunData, or
// rows, are made.
func TestEveryListHasItsTable(t *testing.T) {
	known := map[reflect.Type]bool{}
	for _, table := range tables.All() {
		known[table.Record] = true
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[metrics.Batch]()) {
		if made := []string{"Totals", "Traces", "PortMeasurements", "FlowMeasurements", "Stalls", "Hops", "Tagged", "Rows"}; f.Type.Kind() == reflect.Slice && known[f.Type.Elem()] == slices.Contains(made, f.Name) {
			t.Errorf("%s: has a table: %v", f.Name, known[f.Type.Elem()])
		}
	}
}

// What it costs to put the windows of a run into its tables.
func BenchmarkTables(b *testing.B) {
	batches := make([]*metrics.Batch, 400)
	for i := range batches {
		batch := &metrics.Batch{Node: 1}
		for k := range 16 {
			at := units.Time(16*i+k) * units.Time(units.Microsecond)
			batch.Emit(&metrics.PortWindow{Node: 1, Port: 2, Start: at, TxPackets: int64(k), TxBytes: 4096 * int64(k), QueueMax: int64(i), Busy: units.Duration(i * k), ABW: metrics.Absent})
			batch.Emit(&metrics.CCWindow{Flow: 1, Start: at, Acks: 2, Actions: []metrics.Count{{Name: "hold", Packets: 2}}, Cwnd: int64(i)})
		}
		batches[i] = batch
	}
	for b.Loop() {
		w := must(Create(filepath.Join(b.TempDir(), "r"), manifest()))(b)
		if err := addRun(w, "base", 1, RunData{}, batches...); err != nil {
			b.Fatal(err)
		}
		if err := w.Finish(summary()); err != nil {
			b.Fatal(err)
		}
	}
}
