package runs

import (
	"fmt"
	"slices"
	"time"

	"github.com/csiglab/csiglab/internal/marked"
)

// patience is how long processes may take to die.
const patience = 3 * time.Second

// Kill kills the processes of a run on this machine, also the commands that Enter has
// started in its nodes, and returns in words which.
func Kill(id string) (removed []string, err error) {
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		left := Processes()[id]
		if len(left) == 0 {
			return removed, nil
		}
		if time.Now().After(deadline) {
			return removed, fmt.Errorf("processes %v do not end", left)
		}
		for _, pid := range left {
			what := fmt.Sprintf("process %d of run %s", pid, id)
			if marked.Kill(pid, EnvironmentRun, id) && !slices.Contains(removed, what) {
				removed = append(removed, what)
			}
		}
	}
}

// Processes returns the processes of all runs that carry its id in their
// environment, by id.
func Processes() map[string][]int { return marked.Processes(EnvironmentRun) }
