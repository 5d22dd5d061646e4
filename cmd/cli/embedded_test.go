package cli

import (
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/runtimes"
)

// long are embedded experiments of which one seed takes as much time as two of all others.
var long = []string{"adaptive", "cluster-rotation", "collective", "flow-scheduling", "table-1"}

// TestEmbeddedExperiments holds that what the embedded experiments of virtual time expect is
// true of their first two seeds, of the first of long ones, with the program that users run.
func TestEmbeddedExperiments(t *testing.T) {
	needTime(t)
	programs := builtPrograms(t)
	for _, name := range experiment.Names() {
		set, err := experiment.Load(name, experiment.Options{Tables: experiment.StandardTables()})
		if err != nil {
			t.Fatal(err)
		}
		if set.Base.Runtime != runtimes.Inproc {
			continue
		}
		t.Run(name, func(t *testing.T) {
			seeds := "2"
			if slices.Contains(long, name) {
				seeds = "1"
			}
			run := exec.CommandContext(t.Context(), filepath.Join(programs, "csiglab"),
				"run", name, "--seeds", seeds, "--out", filepath.Join(t.TempDir(), "run"))
			if out, err := run.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
