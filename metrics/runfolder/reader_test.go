package runfolder

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/units"
)

// long writes a folder whose table of flows has more rows than several batches.
func long(t *testing.T, runs, windows int) *Folder {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "long")
	w := must(Create(dir, manifest()))(t)
	for seed := range uint64(runs) {
		n := &metrics.Batch{Node: 1}
		for i := range windows {
			n.Flows = append(n.Flows, metrics.FlowWindow{Flow: 1, Start: units.Time(i) * units.Time(units.Microsecond), Packets: int64(seed)})
		}
		if err := addRun(w, "base", seed, RunData{}, n); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(summary()); err != nil {
		t.Fatal(err)
	}
	return must(Open(dir))(t)
}

// A reader yields every row of every run in the order of writing, each time that
// it is ranged over, and two of them do not disturb each other.
func TestReadInBatches(t *testing.T) {
	const runs, windows = 3, 2*batchRows + 7
	f := long(t, runs, windows)
	for range 2 {
		n := 0
		for row, err := range f.Flows() {
			if err != nil {
				t.Fatal(err)
			}
			if want := (FlowRow{Variant: "base", Seed: uint64(n / windows), Flow: 1, FlowName: "1-0", SrcName: "tor0", DstName: "host0", StartUS: float64(n % windows), WindowUS: 100, Packets: int64(n / windows)}); row != want {
				t.Fatalf("row %d is %+v, want %+v", n, row, want)
			}
			if n%1000 == 0 {
				for inner, err := range f.Flows() {
					if err != nil || inner.StartUS != 0 {
						t.Fatalf("first row again: %+v, %v", inner, err)
					}
					break
				}
			}
			n++
		}
		if n != runs*windows {
			t.Errorf("%d rows, want %d", n, runs*windows)
		}
	}
}

// Rows keep their values when the reader goes on: pointers and maps of a row are
// its own.
func TestRowsOutliveTheirBatch(t *testing.T) {
	const flows = batchRows + 7
	m := manifest()
	m.Flows = nil
	n := &metrics.Batch{Node: 1, Totals: []metrics.NodeTotals{{Node: 1, Name: "tor0"}}}
	for i := range int64(flows) {
		m.Flows = append(m.Flows, Flow{Flow: int32(i), Name: fmt.Sprint(i)})
		w := result(i)
		w.CC[0].Flow, w.Totals[0].Senders[0].Flow = int32(i), int32(i)
		n.CC = append(n.CC, w.CC[0])
		n.Totals[0].Senders = append(n.Totals[0].Senders, w.Totals[0].Senders[0])
	}
	w := must(Create(filepath.Join(t.TempDir(), "run"), m))(t)
	if err := addRun(w, "base", 1, RunData{}, n); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(summary()); err != nil {
		t.Fatal(err)
	}
	f := must(Open(w.Dir()))(t)
	outlive(t, f.Phases(), flows)
	outlive(t, f.CC(), flows)
}

func outlive[T any](t *testing.T, rows iter.Seq2[T, error], want int) {
	t.Helper()
	var texts [][]byte
	var kept []T
	for row, err := range rows {
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, must(json.Marshal(row))(t))
		kept = append(kept, row)
	}
	for i, row := range kept {
		if now := must(json.Marshal(row))(t); !bytes.Equal(now, texts[i]) {
			t.Fatalf("row %d is now %s, was %s", i, now, texts[i])
		}
	}
	if len(kept) != want {
		t.Errorf("%d rows, want %d", len(kept), want)
	}
}

// A panic in the loop over the rows is the caller's, not damage.
func TestPanicOfTheCaller(t *testing.T) {
	f := long(t, 1, 3)
	defer func() {
		if p := recover(); p != "mine" {
			t.Errorf("recovered %v", p)
		}
	}()
	for range f.Flows() {
		panic("mine")
	}
	t.Error("the panic was lost")
}

// After an error there is no further row, and the error is the last thing that
// the reader yields. Rows before it are whole.
func TestDamageInTheMiddle(t *testing.T) {
	f := long(t, 4, 3000)
	f.Manifest.Files = nil // as in a folder without digests, whose tables are read without a look at all bytes
	path := filepath.Join(f.Dir, "flows.parquet")
	whole := must(os.ReadFile(path))(t)
	late := 0
	for i := 0; i < len(whole); i += max(1, len(whole)/60) {
		b := append([]byte(nil), whole...)
		b[i] ^= 0xff
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		n, ended := 0, false
		for row, err := range f.Flows() {
			if ended {
				t.Fatalf("byte %d flipped: row %+v, %v after an error", i, row, err)
			}
			if err != nil {
				if ended = true; !errors.Is(err, ErrDamaged) {
					t.Errorf("byte %d flipped: %v", i, err)
				}
				if fmt.Sprint(row) != fmt.Sprint(FlowRow{}) {
					t.Errorf("byte %d flipped: row %+v beside an error", i, row)
				}
				continue
			}
			n++
		}
		if !ended && n != 12000 {
			t.Errorf("byte %d flipped: %d rows without an error", i, n)
		}
		if ended && n > 0 {
			late++
		}
	}
	if late == 0 {
		t.Error("no damage was found after the first rows: the table is not read in parts")
	}
}
