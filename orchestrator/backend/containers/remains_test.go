package containers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// The containers of a run are not looked for on another engine than its own, which the error names. Two
// paths of one socket are one engine.
func TestRemoveElsewhere(t *testing.T) {
	folder := t.TempDir()
	own, other, linked := filepath.Join(folder, "own.sock"), filepath.Join(folder, "other.sock"), filepath.Join(folder, "linked.sock")
	if err := os.WriteFile(own, nil, 0o600); err != nil { // nobody answers there
		t.Fatal(err)
	}
	if err := os.Symlink(own, linked); err != nil {
		t.Fatal(err)
	}
	run := runs.Run{ID: "a1b2", Runtime: runtimes.Containerlab, Engine: "unix://" + own}
	const advice = " csiglab clean a1b2 removes them"
	for at, elsewhere := range map[string]bool{own: false, linked: false, other: true} {
		t.Setenv("DOCKER_HOST", "unix://"+at)
		_, err := Backend{}.Remove(t.Context(), run)
		if err == nil || strings.Contains(err.Error(), "DOCKER_HOST=unix://"+own+advice) != elsewhere {
			t.Errorf("%s: got %v, names the engine: want %t", at, err, elsewhere)
		}
	}
}
