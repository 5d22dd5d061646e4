package trial

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
)

// The digest of a folder is of names and contents, and no named pipe stops it.
func TestDigest(t *testing.T) {
	dir := t.TempDir()
	digests := map[string]string{}
	for _, c := range []struct{ name, text string }{{"a", "1"}, {"a", "2"}, {"b", "2"}} {
		if err := os.WriteFile(filepath.Join(dir, c.name), []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		digest, err := Digest(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		if before, ok := digests[digest]; ok {
			t.Errorf("with %s, the digest is that with %s", c, before)
		}
		digests[digest] = c.name + c.text
	}
	pipe := filepath.Join(dir, "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Skip("no named pipes: ", err)
	}
	for _, name := range []string{pipe, dir} {
		if digest, err := Digest(t.Context(), name); err == nil {
			t.Errorf("%s: %s", name, digest)
		}
	}
}

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
