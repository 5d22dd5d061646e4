package changes_test

import (
	"encoding/json"
	"maps"
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

// addition is a change of csiglab: changes by file, and sources of new files, by file. Files
// have their paths in the module; sources are relative to this folder.
type addition struct {
	edits map[string][]edit
	added map[string]string
}

// built is the folder of the program with additions, once a test has asked for it.
var built string

func TestMain(m *testing.M) {
	os.Exit(checkout.Main(m, nil, func() { os.RemoveAll(built) }))
}

// withAdditions returns csiglab with the additions of all tests, which change no file twice. It is
// one program because nearly all packages are compiled anew for it.
func withAdditions(t *testing.T) (program string) {
	t.Helper()
	if built != "" {
		return filepath.Join(built, "csiglab")
	}
	whole := addition{map[string][]edit{}, map[string]string{}}
	for _, a := range []addition{newBackend, newCommand, newTable} {
		maps.Copy(whole.edits, a.edits)
		maps.Copy(whole.added, a.added)
	}
	overlay := overlayOf(t, whole)
	folder, err := os.MkdirTemp("", "changes")
	if err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-overlay", overlay, "-o", folder+"/", "./cmd/csiglab")
	build.Dir, build.Env = filepath.Join("..", ".."), append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		os.RemoveAll(folder)
		t.Fatalf("%v\n%s", err, out)
	}
	built = folder
	return filepath.Join(built, "csiglab")
}

// overlayOf returns the file that makes the go command see an addition.
func overlayOf(t *testing.T, a addition) (file string) {
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
	for file, source := range a.added {
		replace[absolute(fromRoot(file))] = absolute(source)
	}
	for file, changes := range a.edits {
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
