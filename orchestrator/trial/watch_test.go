package trial

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/failure"
)

type counter int

func (c *counter) Run(context.Context, Trial) (Outcome, error) { *c++; return Outcome{}, nil }

// TestWatch: what was changed before the first trial ends the trials, and so does a file in
// a folder that is changed between two. The same content, written anew, does not.
func TestWatch(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a.cm")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(name+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(name+".new", name); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	var files []File
	for _, name := range []string{name, dir} {
		digest, err := Digest(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, File{name, digest})
	}
	for i := range files {
		write("two")
		var n counter
		w := Watch(&n, files[i:i+1])
		if _, err := w.Run(t.Context(), Trial{}); !errors.Is(err, ErrFileChanged) || !errors.Is(err, failure.ErrConfiguration) || n != 0 {
			t.Errorf("%s was changed before: %v, %d runs", files[i].Name, err, n)
		}
		write("one")
		for range 2 {
			if _, err := w.Run(t.Context(), Trial{}); err != nil {
				t.Errorf("%s is as it was: %v", files[i].Name, err)
			}
			write("one")
		}
		write("six")
		if _, err := w.Run(t.Context(), Trial{}); !errors.Is(err, ErrFileChanged) || n != 2 {
			t.Errorf("%s was changed after: %v, %d runs", files[i].Name, err, n)
		}
		write("one")
	}
}
