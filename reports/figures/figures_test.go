package figures

import (
	"os"
	"path/filepath"
	"testing"
)

// Files that cannot be placed leave the folder as it was.
func TestFiguresAllOrNone(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"index.json", "a.svg", "gone.svg"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("old"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// A file cannot take the place of a folder, which is found when others are in place.
	if err := os.MkdirAll(filepath.Join(dir, "c.svg", "in it"), 0o755); err != nil {
		t.Fatal(err)
	}
	texts := map[string][]byte{"index.json": []byte("new"), "a.svg": []byte("new"), "b.svg": []byte("new"), "c.svg": []byte("new")}
	if err := place(dir, texts, []string{"a.svg", "gone.svg", "index.json"}); err == nil {
		t.Fatal("no error about a file that cannot be placed")
	}
	if err := os.RemoveAll(filepath.Join(dir, "c.svg")); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 3 {
		t.Errorf("%v, %v", left, err)
	}
	for _, f := range left {
		if text, err := os.ReadFile(filepath.Join(dir, f.Name())); err != nil || string(text) != "old" {
			t.Errorf("%s: %q, %v", f.Name(), text, err)
		}
	}
}
