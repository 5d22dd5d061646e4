package campaign

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/experiment"
)

// smallJobs are the small forms of the experiments with jobs, for real frames.
const smallJobs = "../../../docs/examples/small/*.yaml"

// Issue 13, Must show 5: the small form of each experiment of training traffic passes its
// expectations and, over real frames in lockstep, has the trace that it has in virtual time.
// Without CSIGLAB_E2E=1 one of them does.
func TestSmallJobsInLockstep(t *testing.T) {
	files, err := filepath.Glob(smallJobs)
	if err != nil || len(files) < 4 {
		t.Fatalf("%d small forms, %v; want four or more", len(files), err)
	}
	files = append(files, "chakra-ring") // which is small as it is
	if os.Getenv("CSIGLAB_E2E") == "" {
		files = files[:1]
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			set, err := experiment.Load(file, experiment.Options{Tables: experiment.StandardTables(), Seeds: 1})
			if err != nil {
				t.Fatal(err)
			}
			buildNodes(t)
			opts := overFrames()
			opts.Out = filepath.Join(t.TempDir(), "run")
			s := runIn(t, set, opts)
			if !s.Valid {
				t.Error(s.Reasons)
			}
			for _, e := range s.Expectations {
				if !e.OK {
					t.Errorf("%+v", e)
				}
			}
		})
	}
}
