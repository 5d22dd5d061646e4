package runfolder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// large is a folder of many ports, in which runs base 0 and 1 have finished and base 2 has
// begun.
func large(t *testing.T) (*Writer, *RunWriter) {
	t.Helper()
	m := three()
	for i := range manyRows {
		p := m.Ports[1]
		p.Port, p.Name = int32(100+i), fmt.Sprintf("tor0-more%d", i)
		m.Ports = append(m.Ports, p)
	}
	w := must(Create(filepath.Join(t.TempDir(), "r"), m))(t)
	if err := w.Experiment([]byte("schema: 1\n")); err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(2) {
		if err := addRun(w, "base", seed, dataOf(seed), result(int64(seed))); err != nil {
			t.Fatal(err)
		}
	}
	r := must(w.BeginRun("base", 2, nil))(t)
	r.Consume(windows(0, 20_000))
	return w, r
}

// A large folder that is stopped has the parts of the runs that have finished, also of one
// that ends after that, and nothing else. Salvage makes the rest.
func TestStop(t *testing.T) {
	for name, end := range map[string]func(*Writer, *RunWriter) int{
		"the run that goes on is discarded": func(w *Writer, r *RunWriter) int {
			w.Stop()
			r.Discard()
			if err := w.Abort("interrupted"); err != nil {
				t.Error(err)
			}
			return 2
		},
		"it ends": func(w *Writer, r *RunWriter) int {
			w.Stop()
			if err := r.End(dataOf(2)); err != nil {
				t.Error(err)
			}
			if err := w.Abort("interrupted"); err != nil {
				t.Error(err)
			}
			return 3
		},
		"all have ended": func(w *Writer, r *RunWriter) int {
			if err := r.End(dataOf(2)); err != nil {
				t.Error(err)
			}
			w.Stop()
			if err := w.Finish(NewSummary("two-flow", RunMetrics{Variant: "base"})); !errors.Is(err, ErrStopped) {
				t.Errorf("Finish: %v, want ErrStopped", err)
			}
			return 3
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, r := large(t)
			runs := end(w, r)
			want := map[string]bool{ManifestFile: true, ExperimentFile: true, LogFile: true}
			for seed := range runs {
				want[partName("base", uint64(seed), runSuffix)] = true
			}
			got := map[string]bool{}
			if err := fs.WalkDir(os.DirFS(w.Dir()), ".", func(name string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() {
					got[name] = true
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(got, want); diff != "" {
				t.Errorf("files (-got +want):\n%s", diff)
			}
			if err := Salvage(w.Dir()); err != nil {
				t.Fatal(err)
			}
			f := must(OpenKept(w.Dir()))(t)
			if len(f.Manifest.Runs) != runs || len(f.Summary.Variants["base"].Runs) != runs {
				t.Errorf("%d runs in the manifest and %d in the summary, want %d", len(f.Manifest.Runs), len(f.Summary.Variants["base"].Runs), runs)
			}
			if rows := f.Manifest.Tables["flows"]; runs == 3 && rows < 20_000 {
				t.Errorf("%d rows of flows, want those of the run that ended when the folder was stopped", rows)
			}
		})
	}
}

// A small folder is written as a whole, stopped or not.
func TestStopOfASmallFolder(t *testing.T) {
	w := begun(t, 0, 1)
	w.Stop()
	if err := w.Abort("interrupted"); err != nil {
		t.Fatal(err)
	}
	if f := must(OpenKept(w.Dir()))(t); len(f.Manifest.Runs) != 2 || f.Manifest.Reason != "interrupted" {
		t.Errorf("%d runs, reason %q", len(f.Manifest.Runs), f.Manifest.Reason)
	}
}
