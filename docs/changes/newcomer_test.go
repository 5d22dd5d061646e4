package changes_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Somebody adds a congestion controller, by its file and its line in the table, and runs
// the tests. They say all that is missing, and where it goes; nothing else fails.
func TestNewcomersController(t *testing.T) {
	if os.Getenv("CSIGLAB_E2E") == "" {
		t.Skip("builds nearly all packages anew; set CSIGLAB_E2E=1")
	}
	overlay := overlayOf(t, addition{
		edits: map[string][]edit{"nodes/host/congestion/congestion.go": {{"\tnscc,\n", "\thalving,\n"}}},
		added: map[string]string{"nodes/host/congestion/halving.go": "testdata/newcc/halving.go"},
	})
	test := exec.Command("go", "test", "-overlay", overlay, "./nodes/host/...", "./orchestrator/experiment", "./orchestrator/run/measure", "./orchestrator/run/campaign",
		"-run", "TestSuite|TestTable|TestCatalogue|Documented|TestReference|TestMetricsAreDescribed")
	test.Dir = filepath.Join("..", "..")
	out, err := test.CombinedOutput()
	text := string(out)
	if err == nil {
		t.Fatalf("the tests pass:\n%s", text)
	}
	var failures []string
	for line := range strings.Lines(text) {
		if at := strings.Index(line, "_test.go:"); at >= 0 || strings.Contains(line, "congestiontest.go:") {
			_, words, _ := strings.Cut(strings.TrimSpace(line), ": ")
			failures = append(failures, words)
		}
	}
	wants := []string{
		"no limit of its window is known here: add a line to limits in nodes/host/congestion/suite_test.go, such as",
		"docs/reference/experiment.md is not what the code says; the line before says which command writes it: <!-- From here on this page is made from the tags of the keys: go test ./orchestrator/experiment -run TestReference -update -->",
		"docs/reference/metrics.md is not what the code says; the line before says which command writes it: <!-- What follows is written by go test ./orchestrator/run/measure -run TestReference -update -->",
	}
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("no test says: %s", want)
		}
	}
	for _, failure := range failures {
		known := strings.HasPrefix(failure, "seed ")
		for _, want := range wants {
			known = known || failure == want
		}
		if !known {
			t.Errorf("a test says: %s", failure)
		}
	}
	if t.Failed() {
		t.Logf("%.4000s", text)
	}
}
