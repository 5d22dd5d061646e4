package runfolder

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics"
)

// three is a manifest of the runs base 0 to 2.
func three() Manifest {
	m := manifest()
	m.Missing = []VariantSeeds{{"base", []uint64{0, 1, 2}}}
	m.Expectations = []string{"base.ratio > 3"}
	return m
}

// dataOf returns what the run of a seed leaves.
func dataOf(seed uint64) RunData {
	return RunData{TraceHash: [32]byte{byte(seed + 1)}, Metrics: map[string]float64{"ratio": float64(4 + seed)}, Notes: []string{"a note"},
		Programs: []Program{{Host: "host0", StartUS: new(float64)}}} // started at 0, which is not "never"
}

// begun returns a folder in which runs of seeds have finished and one has begun, with
// more rows than a run holds itself.
func begun(t *testing.T, seeds ...uint64) *Writer {
	t.Helper()
	w := must(Create(filepath.Join(t.TempDir(), "r"), three()))(t)
	if err := w.Experiment([]byte("schema: 1\n")); err != nil {
		t.Fatal(err)
	}
	for _, seed := range seeds {
		if err := addRun(w, "base", seed, dataOf(seed), result(int64(seed))); err != nil {
			t.Fatal(err)
		}
	}
	r := must(w.BeginRun("base", 2, nil))(t)
	r.Consume(windows(0, 20_000))
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return w
}

// killed does to a Writer what kill -9 does: its files close, and nothing else is done.
func killed(w *Writer) string {
	w.lock.Close()
	return w.dir
}

// resume opens a folder, adds the runs that it lacks and finishes it.
func resume(t *testing.T, dir string, want ...uint64) {
	t.Helper()
	s := must(OpenStopped(dir))(t)
	if got := s.Manifest.Missing; !gocmp.Equal(got, []VariantSeeds{{"base", want}}) {
		t.Fatalf("missing %+v, want seeds %d of base", got, want)
	}
	w := must(s.Resume())(t)
	runs := []RunMetrics{}
	for _, f := range w.Finished() {
		if slices.Contains(want, f.Run.Seed) || f.Run.Variant != "base" {
			t.Errorf("%s %d has finished", f.Run.Variant, f.Run.Seed)
		}
		runs = append(runs, f.Metrics)
	}
	for _, seed := range want {
		d := dataOf(seed)
		if err := addRun(w, "base", seed, d, result(int64(seed))); err != nil {
			t.Fatal(err)
		}
		runs = append(runs, RunMetrics{"base", seed, d.TraceHash, d.Metrics, nil, nil})
	}
	if err := w.Finish(NewSummary("two-flow", runs...)); err != nil {
		t.Fatal(err)
	}
}

// sameAsWhole compares a folder with one that was written at once.
func sameAsWhole(t *testing.T, dir string) {
	t.Helper()
	w := must(Create(filepath.Join(t.TempDir(), "whole"), three()))(t)
	if err := w.Experiment([]byte("schema: 1\n")); err != nil {
		t.Fatal(err)
	}
	var runs []RunMetrics
	for seed := range uint64(3) {
		d := dataOf(seed)
		if err := addRun(w, "base", seed, d, result(int64(seed))); err != nil {
			t.Fatal(err)
		}
		runs = append(runs, RunMetrics{"base", seed, d.TraceHash, d.Metrics, nil, nil})
	}
	if err := w.Finish(NewSummary("two-flow", runs...)); err != nil {
		t.Fatal(err)
	}
	got, want := must(Open(dir))(t), must(Open(w.Dir()))(t)
	if len(got.Manifest.Resumed) == 0 {
		t.Error("the manifest does not say that the folder was resumed")
	}
	for _, m := range []*Manifest{&got.Manifest, &want.Manifest} {
		m.Finished, m.Resumed, m.Files, m.Digest = m.Started, nil, nil, ""
	}
	if d := gocmp.Diff(got.Manifest, want.Manifest); d != "" {
		t.Errorf("manifest (-got +want):\n%s", d)
	}
	if d := gocmp.Diff(got.Summary, want.Summary); d != "" {
		t.Errorf("summary (-got +want):\n%s", d)
	}
	ports := func(f *Folder) []PortRow {
		rows := must(collect(f.Ports()))(t)
		slices.SortStableFunc(rows, func(a, b PortRow) int { return cmp.Compare(a.Seed, b.Seed) })
		return rows
	}
	phases := func(f *Folder) []PhaseRow {
		rows := must(collect(f.Phases()))(t)
		slices.SortStableFunc(rows, func(a, b PhaseRow) int { return cmp.Compare(a.Seed, b.Seed) })
		return rows
	}
	if d := gocmp.Diff(ports(got), ports(want)); d != "" {
		t.Errorf("ports (-got +want):\n%s", d)
	}
	if d := gocmp.Diff(phases(got), phases(want)); d != "" {
		t.Errorf("phases (-got +want):\n%s", d)
	}
	files := must(os.ReadDir(dir))(t)
	for _, f := range files {
		if f.IsDir() || strings.HasSuffix(f.Name(), ".part") {
			t.Errorf("%s is left", f.Name())
		}
	}
}

// "Ctrl-C keeps what is finished: the folder says incomplete" (issue 10): the tables have
// whole runs only.
func TestAbortKeepsWhatHasFinished(t *testing.T) {
	w := begun(t, 0, 1)
	if err := w.Abort("interrupted"); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(w.Dir()); !errors.Is(err, ErrIncomplete) || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("Open: %v", err)
	}
	f := must(OpenKept(w.Dir()))(t)
	m := &f.Manifest
	if m.Complete || m.Reason != "interrupted" || len(m.Runs) != 2 || !gocmp.Equal(m.Missing, []VariantSeeds{{"base", []uint64{2}}}) {
		t.Errorf("manifest: complete %v, reason %q, %d runs, missing %+v", m.Complete, m.Reason, len(m.Runs), m.Missing)
	}
	if len(m.Variants) != 1 || m.Variants[0].Name != "base" {
		t.Errorf("variants %+v, want base alone: alt has no run", m.Variants)
	}
	if want := must(Open(finished(t)))(t).Manifest.Tables; !gocmp.Equal(m.Tables, want) { // of the same two runs
		t.Errorf("rows %v, want %v", m.Tables, want)
	}
	if rows := must(collect(f.Flows()))(t); len(rows) != 2 || rows[0].Seed != 0 || rows[1].Seed != 1 {
		t.Errorf("rows of flows: %+v", rows)
	}
	s := f.Summary
	if s.Valid || len(s.Reasons) != 1 || s.Reasons[0] != "incomplete: interrupted; 1 of 3 runs are missing" {
		t.Errorf("summary: valid %v, reasons %q", s.Valid, s.Reasons)
	}
	if s.Variants["base"].Metrics["ratio"] != 4.5 || len(s.Expectations) != 0 || !gocmp.Equal(s.NotEvaluated, []string{"base.ratio > 3"}) {
		t.Errorf("summary %+v", s)
	}
	resume(t, w.Dir(), 2)
	sameAsWhole(t, w.Dir())
}

// A folder without a finished run has no table that somebody could take for a result.
func TestAbortWithoutAFinishedRun(t *testing.T) {
	w := begun(t)
	if err := w.Abort("interrupted"); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenKept(w.Dir()); !errors.Is(err, ErrIncomplete) {
		t.Errorf("OpenKept: %v", err)
	}
	if tables := must(filepath.Glob(filepath.Join(w.Dir(), "*.parquet")))(t); len(tables) > 0 {
		t.Errorf("tables are left: %v", tables)
	}
	resume(t, w.Dir(), 0, 1, 2)
	sameAsWhole(t, w.Dir())
}

// After kill -9 the runs that have finished are there, and the others leave nothing; also
// when the resumed run is killed, and interrupted after that.
func TestResumeAfterKill(t *testing.T) {
	dir := killed(begun(t, 1))
	if _, err := OpenKept(dir); !errors.Is(err, ErrIncomplete) {
		t.Errorf("OpenKept: %v", err)
	}
	s := must(OpenStopped(dir))(t)
	if !gocmp.Equal(s.has, map[runKey]bool{{"base", 0}: false, {"base", 1}: true, {"base", 2}: false}) || string(s.Experiment) != "schema: 1\n" {
		t.Errorf("runs %v; experiment %q", s.has, s.Experiment)
	}
	w := must(s.Resume())(t)
	if err := addRun(w, "base", 0, dataOf(0), result(0)); err != nil {
		t.Fatal(err)
	}
	must(w.BeginRun("base", 2, nil))(t)
	killed(w)

	w = must(must(OpenStopped(dir))(t).Resume())(t)
	if err := w.Abort("interrupted again"); err != nil {
		t.Fatal(err)
	}
	if f := must(OpenKept(dir))(t); f.Manifest.Tables["ports"] != 2 || len(f.Manifest.Resumed) != 2 {
		t.Errorf("rows %v, resumed %v", f.Manifest.Tables, f.Manifest.Resumed)
	}
	resume(t, dir, 2)
	sameAsWhole(t, dir)
}

func TestSalvage(t *testing.T) {
	w := begun(t, 0, 1)
	if err := Salvage(w.Dir()); !errors.Is(err, ErrBusy) {
		t.Errorf("while it is written: %v", err)
	}
	dir := killed(w)
	if err := Salvage(dir); err != nil {
		t.Fatal(err)
	}
	f := must(OpenKept(dir))(t)
	if f.Manifest.Tables["flows"] != 2 || !strings.Contains(f.Manifest.Reason, "killed") || f.Manifest.Resumed != nil {
		t.Errorf("manifest %+v", f.Manifest)
	}
	resume(t, dir, 2)
	sameAsWhole(t, dir)
	if err := Salvage(dir); !errors.Is(err, ErrComplete) {
		t.Errorf("a complete folder: %v", err)
	}
	if err := Salvage(killed(begun(t))); !errors.Is(err, ErrIncomplete) {
		t.Errorf("without a finished run: %v", err)
	}
}

// A Parquet file of the user in the folder is not taken for a table.
func TestResumeKeepsOtherFiles(t *testing.T) {
	dir := killed(begun(t, 0, 1))
	mine := filepath.Join(dir, "mine.parquet")
	if err := os.WriteFile(mine, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	resume(t, dir, 2)
	if text := must(os.ReadFile(mine))(t); string(text) != "mine" {
		t.Errorf("the file has %q", text)
	}
}

// ended returns a folder whose three runs have finished.
func ended(t *testing.T) *Writer {
	t.Helper()
	w := must(Create(filepath.Join(t.TempDir(), "r"), three()))(t)
	if err := w.Experiment([]byte("schema: 1\n")); err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(3) {
		if err := addRun(w, "base", seed, dataOf(seed), result(int64(seed))); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// The last run of a small folder has no part: a csiglab that is killed between its end and that of
// the folder has to do it again. The other two have theirs.
func TestResumeTheLastRun(t *testing.T) {
	dir := killed(ended(t))
	resume(t, dir, 2)
	sameAsWhole(t, dir)
}

// onFullDisk has the table of transfers be on a full disk.
func onFullDisk(t *testing.T, w *Writer) {
	t.Helper()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full: ", err)
	}
	phases := slices.IndexFunc(w.tables, func(t *table) bool { return t.name == tablePhases })
	if err := w.tables[phases].close(0); err != nil {
		t.Fatal(err)
	}
	w.tables[phases] = newTableOn(w.tables[phases].layout, full)
}

// A csiglab that finds the disk full after its last run, or is interrupted then, leaves a folder that is
// incomplete and lacks no run.
func TestResumeWithoutAMissingRun(t *testing.T) {
	full, interrupted := ended(t), ended(t)
	onFullDisk(t, full)
	if err := full.Finish(NewSummary("two-flow")); err == nil || !strings.Contains(err.Error(), "/dev/full") || len(full.Finished()) != 3 {
		t.Errorf("Finish: %v; %d runs are kept, want 3", err, len(full.Finished()))
	}
	if err := interrupted.Abort("interrupted"); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{full.Dir(), interrupted.Dir()} {
		if err := Salvage(dir); err != nil {
			t.Fatal(err)
		}
		if f := must(OpenKept(dir))(t); f.Manifest.Missing == nil || len(f.Manifest.Missing) > 0 || len(f.Manifest.Runs) != 3 {
			t.Errorf("missing %v, %d runs", f.Manifest.Missing, len(f.Manifest.Runs))
		}
		w := must(must(OpenStopped(dir))(t).Resume())(t)
		var runs []RunMetrics
		for _, f := range w.Finished() {
			runs = append(runs, f.Metrics)
		}
		if err := w.Finish(NewSummary("two-flow", runs...)); err != nil {
			t.Fatal(err)
		}
		sameAsWhole(t, dir)
	}
}

// A folder whose last run can be written nowhere does not count it.
func TestLastRunOnAFullDisk(t *testing.T) {
	w := ended(t)
	onFullDisk(t, w)
	if err := os.RemoveAll(filepath.Join(w.Dir(), partsFolder)); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(NewSummary("two-flow")); err == nil || !strings.Contains(err.Error(), "/dev/full") || len(w.Finished()) != 2 {
		t.Errorf("Finish: %v; %d runs are kept, want 2", err, len(w.Finished()))
	}
}

// A table on a full disk: the runs are kept as parts.
func TestResumeAfterAFullDisk(t *testing.T) {
	w := begun(t, 0, 1)
	onFullDisk(t, w)
	if err := w.Abort("no space left"); err == nil || !strings.Contains(err.Error(), "/dev/full") {
		t.Errorf("Abort: %v", err)
	}
	if _, err := OpenKept(w.Dir()); !errors.Is(err, ErrIncomplete) {
		t.Errorf("OpenKept: %v", err)
	}
	if tables := must(filepath.Glob(filepath.Join(w.Dir(), "*.parquet")))(t); len(tables) > 0 {
		t.Errorf("tables that are not whole: %v", tables)
	}
	resume(t, w.Dir(), 2)
	sameAsWhole(t, w.Dir())
}

// A run whose rows reached the tables in part does not stay in them.
func TestAbortAfterATornRun(t *testing.T) {
	w := begun(t, 0, 1)
	r := must(w.BeginRun("alt", 7, nil))(t)
	r.Consume(windows(0, 2*chunkRows))
	r.Consume(&metrics.Batch{Node: 1, Flows: []metrics.FlowWindow{{Flow: 99}}})
	if err := r.End(RunData{}); err == nil || !strings.Contains(err.Error(), "flow 99") {
		t.Fatalf("End: %v", err)
	}
	if err := w.Abort("failed"); err != nil {
		t.Fatal(err)
	}
	f := must(OpenKept(w.Dir()))(t)
	if rows := must(collect(f.Flows()))(t); len(rows) != 2 {
		t.Errorf("%d rows of flows, want those of two runs", len(rows))
	}
}

// What is damaged is refused with its name, and nothing is changed.
func TestResumeRefuses(t *testing.T) {
	checkout.SkipSlowRace(t)
	part := partName("base", 1, runSuffix)
	flip := func(name string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			file := filepath.Join(dir, name)
			text := must(os.ReadFile(file))(t)
			text[len(text)/2] ^= 1
			if err := os.WriteFile(file, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	edit := func(change func(m *Manifest)) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			w := &Writer{dir: dir, claim: claim{root: must(os.OpenRoot(dir))(t)}}
			defer w.root.Close()
			f := must(OpenKept(dir))(t)
			w.manifest = f.Manifest
			change(&w.manifest)
			if err := w.writeManifest(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, dir string)
		is     error
		has    string
	}{
		{"a bit of a part", flip(part), ErrDamaged, part},
		{"a part cut short", func(t *testing.T, dir string) {
			if err := os.Truncate(filepath.Join(dir, part), 20); err != nil {
				t.Fatal(err)
			}
		}, ErrDamaged, part},
		{"a part of another run", func(t *testing.T, dir string) {
			if err := os.Rename(filepath.Join(dir, part), filepath.Join(dir, partName("base", 9, runSuffix))); err != nil {
				t.Fatal(err)
			}
		}, ErrDamaged, partName("base", 9, runSuffix)},
		{"a bit of the experiment", flip(ExperimentFile), ErrDamaged, ExperimentFile},
		{"a bit of the manifest", flip(ManifestFile), ErrDamaged, ManifestFile},
		{"no manifest", func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, ManifestFile)) }, ErrForeign, ManifestFile},
		{"no folder", func(t *testing.T, dir string) { os.RemoveAll(dir) }, fs.ErrNotExist, "no such"},
		{"a lab", edit(func(m *Manifest) { m.Options.Held = true }), ErrNotResumable, "a lab"},
		{"an older folder", edit(func(m *Manifest) { m.Schema = Schema - 1 }), ErrForeign, "schema 2"},
		{"a folder before resuming", edit(func(m *Manifest) { m.Missing = nil }), ErrNotResumable, "which runs are missing"},
		{"a folder for everybody", func(t *testing.T, dir string) { os.Chmod(dir, 0o777) }, ErrNotOwn, "everybody may write in it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := begun(t, 0, 1)
			if err := w.Abort("interrupted"); err != nil {
				t.Fatal(err)
			}
			c.damage(t, w.Dir())
			before := contents(t, w.Dir())
			_, err := OpenStopped(w.Dir())
			if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.has) {
				t.Errorf("error %v, want %v with %q", err, c.is, c.has)
			}
			if d := gocmp.Diff(before, contents(t, w.Dir())); d != "" {
				t.Errorf("the folder was changed:\n%s", d)
			}
		})
	}
	// A part that is gone is a run that is missing.
	w := begun(t, 0, 1)
	if err := errors.Join(w.Abort("interrupted"), os.Remove(filepath.Join(w.Dir(), part))); err != nil {
		t.Fatal(err)
	}
	resume(t, w.Dir(), 1, 2)
	sameAsWhole(t, w.Dir())
}

// contents returns the files of a folder.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			var text []byte
			text, err = os.ReadFile(path)
			files[path] = string(text)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return files
}

// Nobody resumes a folder that is being written.
func TestResumeOfALivingFolder(t *testing.T) {
	w := begun(t, 0)
	if _, err := OpenStopped(w.Dir()); !errors.Is(err, ErrBusy) {
		t.Errorf("while it is written: %v", err)
	}
	if err := w.Abort("interrupted"); err != nil {
		t.Fatal(err)
	}
	s := must(OpenStopped(w.Dir()))(t)
	if _, err := OpenStopped(w.Dir()); !errors.Is(err, ErrBusy) {
		t.Errorf("twice: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	resume(t, w.Dir(), 1, 2)
}

// 10,000 seeds hold as few files open, and as little memory, as a few.
func TestManySeeds(t *testing.T) {
	checkout.SkipLong(t)
	checkout.SkipSlowRace(t)
	m := manifest()
	m.Missing = []VariantSeeds{{"base", nil}}
	const seeds = 10_000
	for seed := range uint64(seeds) {
		m.Missing[0].Seeds = append(m.Missing[0].Seeds, seed)
	}
	w := must(Create(filepath.Join(t.TempDir(), "r"), m))(t)
	if err := w.Experiment([]byte("schema: 1\n")); err != nil {
		t.Fatal(err)
	}
	files := func() int { return len(must(os.ReadDir("/proc/self/fd"))(t)) }
	add := func(w *Writer, from, to int) {
		for seed := from; seed < to; seed++ {
			if err := addRun(w, "base", uint64(seed), RunData{Metrics: map[string]float64{"ratio": 1}}, result(1)); err != nil {
				t.Fatal(err)
			}
		}
	}
	add(w, 0, 1)
	before := files()
	add(w, 1, seeds/2)
	if after := files(); after > before {
		t.Errorf("%d files open, %d after the first run", after, before)
	}
	killed(w)
	w = must(must(OpenStopped(w.Dir()))(t).Resume())(t)
	add(w, seeds/2, seeds)
	if err := w.Finish(summary()); err != nil {
		t.Fatal(err)
	}
	if f := must(Open(w.Dir()))(t); f.Manifest.Tables["ports"] != seeds || len(f.Manifest.Runs) != seeds {
		t.Errorf("%d rows of %d runs, want %d", f.Manifest.Tables["ports"], len(f.Manifest.Runs), seeds)
	}
}

// A folder whose writer was killed before it had written the experiment is as a new one, and
// says so; with anything else in it, it is not touched.
func TestKilledBeforeItBegan(t *testing.T) {
	killed := func() (string, *Writer) {
		dir := filepath.Join(t.TempDir(), "r")
		return dir, must(Create(dir, manifest()))(t)
	}
	dir, w := killed()
	if _, err := Create(dir, manifest()); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("its writer lives: %v, want ErrNotEmpty", err)
	}
	must(0, w.claim.release())(t) // as its death does
	if _, err := OpenStopped(dir); !errors.Is(err, ErrNotResumable) || !strings.Contains(err.Error(), "--out "+dir+" begins it anew") {
		t.Errorf("resumed: %v", err)
	}
	other := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(other, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(dir, manifest()); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("with another's file: %v, want ErrNotEmpty", err)
	}
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	again := must(Create(dir, manifest()))(t)
	must(0, again.Experiment([]byte("name: x\n")))(t)
	must(0, again.claim.release())(t)
	if _, err := Create(dir, manifest()); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("with an experiment: %v, want ErrNotEmpty", err)
	}

	// Killed while the manifest was written, and while a folder was emptied.
	for _, name := range []string{ManifestFile + ".part", ManifestFile} {
		dir, w := killed()
		must(0, w.claim.release())(t)
		text := must(os.ReadFile(filepath.Join(dir, ManifestFile)))(t)
		if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, name), text, 0o644)); err != nil {
			t.Fatal(err)
		}
		must(0, must(Create(dir, manifest()))(t).Abort("enough"))(t)
	}
}
