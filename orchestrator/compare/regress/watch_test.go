package regress

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
)

// TestChangedExperiment: an experiment that is edited while programs are built, or between
// two looks, ends the campaign, and so it ends the saving of a baseline.
func TestChangedExperiment(t *testing.T) {
	const text = "schema: 1\nname: small\ntopology: {dumbbell: {left: 1, right: 1, rate: 100Gbps, delay: 1us}}\nworkload: {transfers: [0 -> 1 500kB]}\n"
	dir := t.TempDir()
	file := filepath.Join(dir, "small.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	prepared := func(r *noisy) *Campaign {
		t.Helper()
		write(text)
		s, err := ReadSuite("fake.yaml", dir, []byte("schema: 1\nname: fake\nseeds: {first: 8, most: 32}\nexperiments:\n  - experiment: small.yaml\n    metrics: {fct_us.mean: 5%}\n"))
		if err != nil {
			t.Fatal(err)
		}
		c := &Campaign{Suite: s, Folder: t.TempDir(), Runner: r, Baseline: Side{Side: verdict.Side{Kind: KindSelf}, Identity: "baseline"}, Candidate: Side{Side: verdict.Side{Kind: KindProgram}, Identity: "candidate"}}
		if err := c.Prepare(); err != nil {
			t.Fatal(err)
		}
		return c
	}
	if _, err := prepared(&noisy{noise: 0.01}).Run(t.Context()); err != nil {
		t.Error(err)
	}
	r := &noisy{}
	c := prepared(r)
	write(text + "# edited\n")
	if _, err := c.Run(t.Context()); !errors.Is(err, trial.ErrFileChanged) || len(r.runs) > 0 {
		t.Errorf("edited during the build: %v after %d runs", err, len(r.runs))
	}
	c = prepared(r)
	write(text + "# edited\n")
	if _, err := c.Save(t.Context()); !errors.Is(err, trial.ErrFileChanged) || len(r.runs) > 0 {
		t.Errorf("edited before values are saved: %v after %d runs", err, len(r.runs))
	}
	r.after = func(trial.Trial, *trial.Outcome) error {
		if len(r.runs) == 3 {
			write(text + "# edited\n")
		}
		return nil
	}
	if _, err := prepared(r).Run(t.Context()); !errors.Is(err, trial.ErrFileChanged) || len(r.runs) != 3 {
		t.Errorf("edited between runs: %v after %d runs", err, len(r.runs))
	}
}
