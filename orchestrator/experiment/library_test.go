package experiment

import (
	"os"
	"path/filepath"
	"testing"
)

// An embedded experiment that reads files finds them, also where somebody has damaged what
// was unpacked before.
func TestEmbeddedFiles(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for range 2 {
		_, dir, err := embedded("chakra-ring")
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "chakra-ring", "ring.7.et")
		info, err := os.Stat(file)
		if err != nil || info.Size() < 1000 {
			t.Fatalf("%v, %v", info, err)
		}
		if _, err := Load("chakra-ring", Options{Tables: StandardTables()}); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, dir, err := embedded("three-flow"); dir != "" || err != nil {
		t.Errorf("three-flow: folder %q, %v", dir, err)
	}
}

// A cache that cannot be written is an error that says so.
func TestEmbeddedFilesWithoutCache(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CACHE_HOME", file)
	if _, err := Load("chakra-ring", Options{Tables: StandardTables()}); err == nil {
		t.Error("no error")
	}
}
