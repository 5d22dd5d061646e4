package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDiskOfAPathThatIsNoFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if d := Disk(filepath.Join(file, "runs")); d.OK || d.Fix == "" {
		t.Errorf("got %+v, want a failure with a fix", d)
	}
	if d := Disk(filepath.Join(t.TempDir(), "not", "yet")); d.Detail == "" || strings.Contains(d.Detail, "no such") {
		t.Errorf("got %+v, want the folder above", d)
	}
}
