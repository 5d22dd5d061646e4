package docs_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
)

// walkedPage is the page that TestWalk walks through.
const walkedPage = "tutorial/first-run.md"

// walk is what the commands of first-run.md are, in order, and what a new user finds
// after each.
var walk = []struct {
	what    string
	command string // a regular expression
	says    string // a regular expression of what it prints
	leaves  func(t *testing.T, dir string)
}{
	{"init", `^csiglab init mine$`, `wrote +mine\.yaml`, nil},
	{"validate", `^csiglab validate mine\.yaml$`, `mine is valid: 2 variants x 3 seeds`, nil},
	{"run", `^csiglab run mine\.yaml`, `(?s)csig\.unfairness.* OK.*report +runs/mine/report\.html`, func(t *testing.T, dir string) {
		if m := manifestOf(t, dir, "mine"); !m.Complete || len(m.Runs) != 6 {
			t.Errorf("complete %v, %d runs; want 6", m.Complete, len(m.Runs))
		}
	}},
	{"check", `^csiglab check runs/mine$`, `csig\.unfairness.* OK`, nil},
	{"another expectation", `^csiglab check runs/mine --expect`, `csig\["fct_us\.p99"\] = [0-9.]+ < .* OK`, nil},
	{"an expectation that fails", `^csiglab check runs/mine --expect`, `csig\["fct_us\.mean"\] = [0-9.]+ < plain\["fct_us\.mean"\] = [0-9.]+ FAILED`, nil},
	{"Ctrl-C", `^timeout .* csiglab run mine\.yaml .*--out runs/many$`, `csiglab: interrupted\nthe run is incomplete: [0-9]+ of 100 runs ha.* csiglab run --resume runs/many does the rest`, func(t *testing.T, dir string) {
		if m := manifestOf(t, dir, "many"); m.Complete || m.Reason != "interrupted" || len(m.Runs) == 0 || len(m.Missing) == 0 {
			t.Errorf("complete %v, reason %q, %d runs, missing %v", m.Complete, m.Reason, len(m.Runs), m.Missing)
		}
	}},
	{"report", `^csiglab report runs/many$`, `runs/many is incomplete`, func(t *testing.T, dir string) {
		page, err := os.ReadFile(filepath.Join(dir, "runs", "many", "report.html"))
		if err != nil || !regexp.MustCompile(`Incomplete: [0-9]+ of 100 runs ha`).Match(page) {
			t.Errorf("the report does not say that it is incomplete: %v", err)
		}
	}},
	{"check of the incomplete folder", `^csiglab check runs/many$`, `the run is incomplete: interrupted; csiglab run --resume RUN`, nil},
	{"resume", `^csiglab run --resume runs/many$`, `(?s)100 of 100 runs done.*report +runs/many/report\.html`, func(t *testing.T, dir string) {
		if m := manifestOf(t, dir, "many"); !m.Complete || len(m.Runs) != 100 || m.Missing != nil {
			t.Errorf("complete %v, %d runs, missing %v; want 100 runs", m.Complete, len(m.Runs), m.Missing)
		}
	}},
	{"check of the whole", `^csiglab check runs/many$`, `csig\.unfairness.* OK`, nil},
	{"DuckDB", `^duckdb -c ".*FROM 'runs/many/phases\.parquet'`, `(?s)csig.*1-10.*plain.*9-10`, nil},
	{"compare", `^csiglab compare runs/many:plain runs/many:csig --html runs/compare\.html$`, `(?si)worse +fct_us\.p50.*better +jain\.all`, func(t *testing.T, dir string) {
		if page, err := os.ReadFile(filepath.Join(dir, "runs", "compare.html")); err != nil || !strings.Contains(string(page), "<svg") {
			t.Errorf("no page with figures: %v", err)
		}
	}},
	{"sweep", `^csiglab sweep mine\.yaml --grid links\.queue=`, `(?s)200kB +csig +2 .*results +runs/queues/results\.parquet`, nil},
	{"regress", `^csiglab regress --experiment mine\.yaml .*--candidate-set links\.queue=50kB$`, `(?s)FAIL: 1 of 2 metrics got worse \(.*trims .*allowed ≤.\+5`, nil},
}

// walked is what the walk reads of a manifest.
type walked struct {
	Complete bool
	Reason   string
	Runs     []struct{ Variant string }
	Missing  []struct {
		Variant string
		Seeds   []uint64
	}
}

func manifestOf(t *testing.T, dir, run string) (m walked) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "runs", run, "manifest.json"))
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		t.Error(err)
	}
	return m
}

// "The walk of a new user, scripted in a test from docs alone: init, validate, run, check,
// resume after Ctrl-C, report, DuckDB query" (issue 10): the commands of first-run.md in an
// empty folder that has the program and nothing else.
func TestWalk(t *testing.T) {
	checkout.SkipLong(t)
	text, err := os.ReadFile(walkedPage)
	if err != nil {
		t.Fatal(err)
	}
	list, err := blocks(string(text))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	r := runner{dir: dir, env: append(environment(programs(t, dir, false)), "CSIGLAB_LIST="+filepath.Join(t.TempDir(), "list"))}
	step := 0
	for _, b := range list {
		for _, c := range b.commands {
			if step == len(walk) {
				t.Fatalf("line %d: %s: the walk has no such step", c.line, c.text)
			}
			s := walk[step]
			step++
			t.Run(s.what, func(t *testing.T) {
				if !regexp.MustCompile(s.command).MatchString(c.text) {
					t.Fatalf("line %d: %s; want %s", c.line, c.text, s.command)
				}
				said := r.step(t, c.text, b.exit)
				if !regexp.MustCompile(s.says).MatchString(said) {
					t.Errorf("%s says\n%s\nwant %s", c.text, said, s.says)
				}
				if s.leaves != nil {
					s.leaves(t, dir)
				}
			})
			if t.Failed() {
				t.FailNow() // the next steps need this one
			}
		}
	}
	if step != len(walk) {
		t.Errorf("first-run.md ends before: %s", walk[step].what)
	}
}

// step runs a command and returns what it prints, on both outputs.
func (r *runner) step(t *testing.T, text string, want int) string {
	t.Helper()
	cmd := r.command(t.Context(), text)
	if sql, ok := strings.CutPrefix(text, "duckdb -c "); ok && !works("duckdb", "--version") {
		if !works("node", "-e", "require('@duckdb/node-api')") {
			t.Skip("neither the command duckdb nor the npm package @duckdb/node-api is here")
		}
		cmd = exec.CommandContext(t.Context(), "node", script(t, "duckdb.js"))
		cmd.Dir, cmd.Stdin = r.dir, strings.NewReader(strings.Trim(sql, `"`))
	}
	out, err := cmd.CombinedOutput()
	code := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		code = exit.ExitCode()
	case err != nil:
		t.Fatalf("%s: %v", text, err)
	}
	if code != want {
		t.Fatalf("%s: exit code %d, want %d:\n%s", text, code, want, tail(out))
	}
	return string(out)
}
