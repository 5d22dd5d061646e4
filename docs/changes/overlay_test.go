package changes_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
)

// edit is a change of a file: text goes behind anchor, or before it where that is a
// comment. The file must have the anchor once.
type edit struct{ anchor, text string }

// buildWith builds csiglab with changed files and new ones, and returns the program.
// edits has the changes by file; added has the sources of new files, by file. Files
// have their paths in the module; sources are relative to this folder.
func buildWith(t *testing.T, edits map[string][]edit, added map[string]string) (program string) {
	t.Helper()
	overlay := overlayOf(t, edits, added)
	program = filepath.Join(t.TempDir(), "csiglab")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-overlay", overlay, "-o", program, "./cmd/csiglab")
	build.Dir, build.Env = filepath.Join("..", ".."), append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// overlayOf returns the file that makes the go command see changed files and new ones,
// as of buildWith.
func overlayOf(t *testing.T, edits map[string][]edit, added map[string]string) (file string) {
	t.Helper()
	checkout.SkipLong(t)
	absolute := func(name string) string {
		name, err := filepath.Abs(filepath.FromSlash(name))
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	write := func(name string, text []byte) string {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	replace := map[string]string{}
	for file, source := range added {
		replace[absolute(fromRoot(file))] = absolute(source)
	}
	for file, changes := range edits {
		path := absolute(fromRoot(file))
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text := string(source)
		for _, e := range changes {
			if n := strings.Count(text, e.anchor); n != 1 {
				t.Fatalf("%s has %q %d times: this test follows the file", file, e.anchor, n)
			}
			both := e.anchor + e.text
			if strings.HasPrefix(e.anchor, "//") {
				both = e.text + e.anchor
			}
			text = strings.Replace(text, e.anchor, both, 1)
		}
		replace[path] = write(filepath.Join(t.TempDir(), filepath.Base(path)), []byte(text))
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	return write(filepath.Join(t.TempDir(), "overlay.json"), overlay)
}
