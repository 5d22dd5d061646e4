package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
	show "github.com/csiglab/csiglab/reports/history"
)

// verdicts writes the folders of verdicts on revisions whose metric has these values, and returns the
// folder that they are in.
func verdicts(t *testing.T, values ...float64) string {
	t.Helper()
	dir := t.TempDir()
	for i, v := range values {
		m := verdict.Metric{Name: "fct_us.p99", Unit: "µs", Better: verdict.Lower, Outcome: verdict.Pass}
		for seed := range 8 {
			m.Pairs = append(m.Pairs, verdict.Pair{Seed: uint64(seed + 1), Baseline: 1000 + float64(seed), Candidate: v + float64(seed)})
		}
		d := verdict.Document{Schema: verdict.Schema, Suite: "mine", Started: time.Date(2026, 5, 1+i, 0, 0, 0, 0, time.UTC), Outcome: verdict.Pass,
			Candidate: verdict.Side{Label: fmt.Sprint("git:r", i+1), Kind: "git"}, Experiments: []verdict.Experiment{{Name: "incast", Clock: "virtual", Metrics: []verdict.Metric{m}}}}
		data, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		folder := filepath.Join(dir, fmt.Sprint(9-i))
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, verdict.FileName), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestHistoryForms(t *testing.T) {
	dir := verdicts(t, 1000, 1000, 1200)
	page, markdown := filepath.Join(t.TempDir(), "h.html"), filepath.Join(t.TempDir(), "h.markdown")
	code, stdout, stderr := csiglab(&fakeLab{}, nil, "history", dir, "--html", page, "--markdown", markdown)
	if code != 0 || stderr != "" || !strings.HasPrefix(stdout, "mine: 3 revisions from 2026-05-01 to 2026-05-03: 1 of 1 metric changed by more than the noise; the last verdict is pass.\n") || !strings.Contains(stdout, "\n  WORSE  3     incast      fct_us.p99  1 → 1.2\u00a0ms      +20\u00a0%\n") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
	for name, want := range map[string]string{page: "worse at 3: ", markdown: "# History of mine\n"} {
		if text, err := os.ReadFile(name); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: no %q: %v", name, want, err)
		}
	}
	var h show.History
	code, stdout, stderr = csiglab(&fakeLab{}, nil, "history", filepath.Join(dir, "8"), filepath.Join(dir, "9", verdict.FileName), "--json", "--metric", "fct_us.*")
	if err := json.Unmarshal([]byte(stdout), &h); code != 0 || err != nil || h.Schema != show.Schema || len(h.Revisions) != 2 || h.Revisions[0].Name != "git:r1" || len(h.Metrics[0].Points) != 2 {
		t.Errorf("exit %d, %v: %s%s", code, err, stdout, stderr)
	}
	// Within 20 % it is the same.
	if code, stdout, _ := csiglab(&fakeLab{}, nil, "history", dir, "--delta", "25%"); code != 0 || !strings.Contains(stdout, ": 0 of 1 metric changed") {
		t.Errorf("exit %d: %s", code, stdout)
	}
}

func TestHistoryRefuses(t *testing.T) {
	dir := verdicts(t, 1000, 1000)
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "name folders of csiglab regress, or files of csiglab baseline save"},
		{[]string{filepath.Join(dir, "9")}, "one revision is no history"},
		{[]string{"nowhere"}, "nowhere: no such file or directory"},
		{[]string{t.TempDir()}, "neither it nor a folder in it has a verdict.json"},
		{[]string{dir, "--metric", "fct_us.p9"}, "--metric fct_us.p9: no metric of the revisions matches (did you mean"},
		{[]string{dir, "--delta", "x"}, `--delta "x": want a share`},
		{[]string{dir, "--json", "--html", "-"}, "exclude each other"},
		{[]string{dir, "--html", filepath.Join(dir, "no", "h.html")}, "--html"},
	} {
		code, stdout, stderr := csiglab(&fakeLab{}, nil, append([]string{"history"}, c.args...)...)
		if code != command.ExitUsage || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: exit %d: %s%s, want %q", c.args, code, stdout, stderr, c.want)
		}
	}
}
