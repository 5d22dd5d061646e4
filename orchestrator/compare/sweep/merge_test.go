package sweep

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// A trial that two folders have is the same in both, unless its clock is the wall's.
func TestMergeUnlike(t *testing.T) {
	p := plan(t, request(file(t, text)))
	var folders []string
	for _, unlike := range []string{"", "another"} {
		s := create(t, p)
		swept(t, s, &simulator{}, 2)
		if unlike != "" {
			own := p.trial(5)
			out, _, err := s.journal.Get(own)
			if err != nil {
				t.Fatal(err)
			}
			out.TraceHash = unlike
			if err := s.journal.Add(own, out); err != nil {
				t.Fatal(err)
			}
		}
		folders = append(folders, s.Folder)
		s.Close()
	}
	_, err := Merge(filepath.Join(t.TempDir(), "all"), folders)
	if want := `seed 3 of variant "b" at point (hosts.lb=single, links.mtu=1500B) has trace another, and `; !errors.Is(err, ErrUnlike) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v; want %s", err, want)
	}
}
