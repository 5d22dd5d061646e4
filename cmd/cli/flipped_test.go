package cli

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/compare/bisect"
	"github.com/csiglab/csiglab/orchestrator/compare/regress"
	"github.com/csiglab/csiglab/orchestrator/compare/results"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
)

// Sixty flipped bits in each file that a sweep, a regression and a search read again: the file
// is named with exit code 3, or nothing differs.
func TestFlippedBitsOfCampaigns(t *testing.T) {
	needTime(t)
	checkout.SkipSlowRace(t)
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	small := write(t, "small.yaml", smallExperiment)
	for _, begin := range [][]string{
		{"sweep", pointsFile(t, "10kB", ""), "--out", at("sweep")},
		append([]string{"regress", smallRegression(t), "--only", "small", "--out", at("regress")}, worse...),
		{"bisect", "--parameter", "topology.leaf_spine.delay", "--good", "1us", "--bad", "9us", "--resolution", "4us", "--delta", "25%", "--experiment", small,
			"--metric", "fct_us.p99", "--seeds", "8", "--out", at("bisect")},
	} {
		if code, out, said := separately(t, begin...); code > command.ExitFailed {
			t.Fatalf("%q: exit code %d\n%s%s", begin, code, out, said)
		}
	}
	compare, report := []string{"compare", at("sweep"), at("copy")}, []string{"report", "--markdown", at("sweep")}
	if err := os.CopyFS(at("copy"), os.DirFS(at("sweep"))); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(39, 1))
	for _, c := range []struct {
		folder, file string
		commands     [][]string
	}{
		{"sweep", "sweep.json", [][]string{compare, report, {"sweep", "--resume", at("sweep")}}},
		{"sweep", results.File, [][]string{compare, report}},
		{"sweep", trial.JournalFile, [][]string{{"sweep", "--resume", at("sweep")}}},
		{"regress", regress.PlanFile, [][]string{{"regress", "--resume", at("regress")}}},
		{"regress", trial.JournalFile, [][]string{{"regress", "--resume", at("regress")}}},
		{"bisect", bisect.PlanFile, [][]string{{"bisect", "--resume", at("bisect")}}},
		{"bisect", bisect.StepsFile, [][]string{{"bisect", "--resume", at("bisect")}}},
		{"bisect", trial.JournalFile, [][]string{{"bisect", "--resume", at("bisect")}}},
	} {
		restore := filled(t, at(c.folder))
		for _, args := range c.commands {
			restore()
			code, out, said := untimed(t, args)
			if code > command.ExitFailed {
				t.Fatalf("%q: exit code %d\n%s%s", args, code, out, said)
			}
			named := 0
			for range 60 {
				text := restore()[c.file]
				bit := r.IntN(8 * len(text))
				bad := bytes.Clone(text)
				bad[bit/8] ^= 1 << (bit % 8)
				if err := os.WriteFile(filepath.Join(at(c.folder), c.file), bad, 0o644); err != nil {
					t.Fatal(err)
				}
				gotCode, got, said := untimed(t, args)
				switch {
				case gotCode == command.ExitInfrastructure && got == "" && strings.Contains(said, c.file):
					named++
				case gotCode != code || got != out:
					t.Errorf("%q, bit %d of %s: exit code %d\n%s%s\nwant %d\n%s", args, bit, c.file, gotCode, got, said, code, out)
				}
			}
			t.Logf("%s, %s: %d of 60 are named", args[0], c.file, named)
		}
		restore()
	}
}

// untimed runs csiglab, and leaves out how long the command and its runs took.
func untimed(t *testing.T, args []string) (code int, stdout, stderr string) {
	t.Helper()
	code, stdout, stderr = separately(t, args...)
	return code, regexp.MustCompile(`(?m)^Compared: in .*$|[0-9.]+\PL{1,2}m?s\b`).ReplaceAllString(stdout, ""), stderr
}

// filled returns a function that gives a folder the files that it has now, and returns them.
func filled(t *testing.T, dir string) func() map[string][]byte {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, e := range entries {
		files[e.Name()] = read(t, filepath.Join(dir, e.Name()))
	}
	return func() map[string][]byte {
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return files
	}
}
