package sweep

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/compare/trial"
)

// A trial that two folders have is the same in both, unless its clock is the wall's.
func TestMergeUnlike(t *testing.T) {
	p := plan(t, request(file(t, text)))
	var folders []string
	for _, unlike := range []string{"", "another"} {
		s := create(t, p)
		r := &simulator{}
		if unlike != "" {
			r.bad = func(one trial.Trial) *trial.Outcome {
				if one.Key() != p.trial(5).Key() {
					return nil
				}
				return &trial.Outcome{TraceHash: unlike}
			}
		}
		swept(t, s, r, 2)
		folders = append(folders, s.Folder)
		s.Close()
	}
	_, err := Merge(filepath.Join(t.TempDir(), "all"), folders)
	if want := `seed 3 of variant "b" at point (hosts.lb=single, links.mtu=1500B) has trace another, and `; !errors.Is(err, ErrUnlike) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v; want %s", err, want)
	}
}
