package bisect

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/compare/trial"
)

// Of two searches in one folder, one writes its plan.
func TestBisectTwoInOneFolder(t *testing.T) {
	folder := t.TempDir()
	first, err := trial.OpenJournal(folder)
	if err != nil {
		t.Fatal(err)
	}
	begin := func() error {
		_, err := (&Session{Plan: &Plan{}, Folder: folder, Fresh: true}).run(t.Context())
		return err
	}
	if err := begin(); !errors.Is(err, trial.ErrBusy) {
		t.Errorf("while another one is at work: %v", err)
	}
	one := &Session{Plan: &Plan{Metric: "of the first"}, Folder: folder, Fresh: true}
	if err := one.claim(first); err != nil {
		t.Fatal(err)
	}
	plan, err := os.ReadFile(filepath.Join(folder, PlanFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := begin(); err == nil || !strings.Contains(err.Error(), "another csiglab has begun a search in this folder") {
		t.Errorf("after another one: %v", err)
	}
	if now, err := os.ReadFile(filepath.Join(folder, PlanFile)); err != nil || !bytes.Equal(now, plan) {
		t.Error("the plan of the first search is overwritten")
	}
}
