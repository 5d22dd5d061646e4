package history

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/csiglab/csiglab/orchestrator/compare/regress"
	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
)

var day = time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)

// document returns the verdict on a revision whose one metric has a value.
func document(name string, date time.Time, value float64) *verdict.Document {
	return &verdict.Document{Schema: verdict.Schema, Suite: "s", Started: day.AddDate(0, 1, 0), Outcome: verdict.Fail,
		Baseline: verdict.Side{Label: "self", Kind: regress.KindSelf, Build: "v1"}, Candidate: verdict.Side{Label: name, Kind: regress.KindGit, Date: date},
		Experiments: []verdict.Experiment{{Name: "x", Variant: "v", Metrics: []verdict.Metric{
			{Name: "fct_us.p99", Unit: "µs", Better: verdict.Lower, Outcome: verdict.Fail, Pairs: []verdict.Pair{{Seed: 1, Baseline: 1, Candidate: value}, {Seed: 2, Baseline: 1, Candidate: value + 1}}},
			{Name: "promises", Outcome: verdict.Fail}}}}}
}

func write(t *testing.T, name string, data []byte) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

func writeVerdict(t *testing.T, folder string, d *verdict.Document) string {
	t.Helper()
	data, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return write(t, filepath.Join(folder, verdict.FileName), data)
}

// stored returns a baseline file whose one metric has a value.
func stored(content string, value float64) []byte {
	s := &regress.Stored{Suite: "s", Version: "v9", Label: "self", Cells: []regress.StoredCell{{Name: "x/v", Content: content, Clock: "virtual", Metrics: []string{"fct_us.p99", "gone"},
		Runs: []regress.StoredRun{{Seed: 1, TraceHash: "a", Values: []float64{value, math.NaN()}}, {Seed: 2, TraceHash: "b", Values: []float64{value + 1, 3}}}}}}
	return s.Text()
}

func revisionsOf(t *testing.T, arguments ...string) ([]verdict.Revision, []string) {
	t.Helper()
	all, notes, err := Read(t.Context(), arguments)
	if err != nil {
		t.Fatal(err)
	}
	return all, notes
}

// Verdicts are in order of their commits, whenever they were given; a folder stands for those in it.
func TestVerdicts(t *testing.T) {
	dir := t.TempDir()
	writeVerdict(t, filepath.Join(dir, "a"), document("git:b", day.AddDate(0, 0, 2), 20))
	writeVerdict(t, filepath.Join(dir, "b"), document("git:a", day.AddDate(0, 0, 1), 10))
	last := writeVerdict(t, filepath.Join(dir, "[*]"), document("git:c", time.Time{}, 30))
	all, _ := revisionsOf(t, dir)
	if len(all) != 3 || all[0].Name != "git:a" || all[1].Name != "git:b" || all[2].Name != "git:c" || !all[2].Date.Equal(day.AddDate(0, 1, 0)) {
		t.Fatalf("%+v", all)
	}
	r := all[0]
	if r.Against != "v1" || r.Outcome != verdict.Fail || strings.Join(r.Failed, ",") != "x/v fct_us.p99,x/v promises" || len(r.Cells) != 1 || len(r.Cells[0].Metrics) != 1 {
		t.Errorf("%+v", r)
	}
	if m := r.Cells[0].Metrics[0]; m.Values[1] != 10 || m.Values[2] != 11 || m.Better != verdict.Lower || m.Outcome != verdict.Fail {
		t.Errorf("%+v", m)
	}
	for _, argument := range []string{last, filepath.Dir(last)} {
		if all, _ := revisionsOf(t, argument); len(all) != 1 || all[0].Name != "git:c" {
			t.Errorf("%s: %+v", argument, all)
		}
	}
}

// All versions of a file in git are revisions, and its present content if that is another.
func TestVersionsOfBaselines(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not at hand")
	}
	dir := t.TempDir()
	at := day
	git := func(folder string, args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", folder, "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_COMMITTER_DATE="+at.Format(time.RFC3339))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git(dir, "init", "-q")
	file := write(t, filepath.Join(dir, "below", "a file.json"), stored("one", 10))
	other := write(t, filepath.Join(dir, "below", "other"), []byte("x"))
	commit := func() { // one a day
		git(dir, "add", ".")
		git(dir, "commit", "-q", "-m", "as of "+at.String())
		at = at.AddDate(0, 0, 1)
	}
	commit()
	write(t, other, []byte("y"))
	commit()
	write(t, file, stored("two", 20))
	commit()
	all, notes := revisionsOf(t, file)
	if len(all) != 2 || len(notes) != 0 || all[0].Cells[0].Metrics[0].Values[1] != 10 || all[1].Cells[0].Metrics[0].Values[2] != 21 || all[1].Cells[0].Definition != "two" {
		t.Fatalf("%+v, %q", all, notes)
	}
	if !all[0].Date.Equal(day) || !all[1].Date.Equal(day.AddDate(0, 0, 2)) || len(all[0].Name) < 7 || !strings.HasSuffix(all[0].Source, " as of "+all[0].Name) {
		t.Errorf("%+v", all)
	}
	if m := all[0].Cells[0].Metrics[1]; len(m.Values) != 1 || m.Values[2] != 3 {
		t.Errorf("a value that a run lacks: %+v", m)
	}
	write(t, file, stored("two", 30))
	if all, _ := revisionsOf(t, file); len(all) != 3 || all[2].Name != "v9" || all[2].Cells[0].Metrics[0].Values[1] != 30 {
		t.Errorf("%+v", all)
	}
	// A clone of the last commit says that versions may be missing.
	clone := filepath.Join(t.TempDir(), "clone")
	git(dir, "clone", "-q", "--depth", "1", "file://"+dir, clone)
	if all, notes := revisionsOf(t, filepath.Join(clone, "below", "a file.json")); len(all) != 1 || len(notes) != 1 || !strings.Contains(notes[0], "shallow clone") {
		t.Errorf("%+v, %q", all, notes)
	}
}

// A file outside of git is one revision, and what is none is refused in a sentence.
func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(dir))
	if all, _ := revisionsOf(t, write(t, filepath.Join(dir, "b.json"), stored("one", 10))); len(all) != 1 || all[0].Name != "v9" {
		t.Errorf("%+v", all)
	}
	newer := document("x", day, 1)
	newer.Schema++
	edited := strings.Replace(string(stored("one", 10)), "10", "12", 1)
	for argument, want := range map[string]string{
		filepath.Join(dir, "none"): "none: no such file or directory",
		dir:                        "neither it nor a folder in it has a verdict.json",
		write(t, filepath.Join(dir, "text"), []byte("hello")):                                   "text:1:",
		write(t, filepath.Join(dir, "edited"), []byte(edited)):                                  "it is damaged or was edited",
		write(t, filepath.Join(dir, "c"), []byte(`{"candidate": {}}`)):                          "it has schema 0, and this csiglab knows 1",
		write(t, filepath.Join(dir, "d"), []byte(`{"schema": 1, "candidate": {}}`)):             "it has no time or no outcome",
		filepath.Dir(writeVerdict(t, filepath.Join(t.TempDir(), "n"), newer)):                   "it has schema 2",
		filepath.Dir(write(t, filepath.Join(t.TempDir(), "m", verdict.FileName), []byte("{"))):  "it is no verdict",
		filepath.Dir(write(t, filepath.Join(t.TempDir(), "m", verdict.FileName), []byte("[]"))): "it is no verdict",
	} {
		if _, _, err := Read(t.Context(), []string{argument}); !errors.Is(err, failure.ErrConfiguration) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", argument, err, want)
		}
	}
}
