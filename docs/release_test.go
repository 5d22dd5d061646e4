package docs_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/internal/checkout"
)

// TestRelease makes the archives of a release in two clones, which have the same bytes, and runs
// what is in them. Clones have what is committed.
func TestRelease(t *testing.T) {
	if os.Getenv("CSIGLAB_E2E") == "" {
		t.Skip("set CSIGLAB_E2E=1: it links all programs twice")
	}
	repository := checkout.Repository(t)
	var sums [2]string
	var folders [2]string
	for i := range folders {
		folders[i] = filepath.Join(t.TempDir(), strings.Repeat("x", i+1))
		for _, command := range [][]string{{"git", "clone", "--quiet", repository, folders[i]}, {"make", "-C", folders[i], "release"}} {
			cmd := exec.Command(command[0], command[1:]...)
			cmd.Env = append(os.Environ(), "PROCESSORS=amd64")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%q: %v\n%s", command, err, tail(out))
			}
		}
		text, err := os.ReadFile(filepath.Join(folders[i], "bin", "release", "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		sums[i] = string(text)
	}
	if diff := cmp.Diff(sums[0], sums[1]); diff != "" || strings.Count(sums[0], "\n") != 1 {
		t.Errorf("checksums of two clones (-first +second):\n%s\nof the first:\n%s", diff, sums[0])
	}

	archives, err := filepath.Glob(filepath.Join(folders[0], "bin", "release", "*.tar.gz"))
	if err != nil || len(archives) != 1 {
		t.Fatal(archives, err)
	}
	dir := t.TempDir()
	if out, err := exec.Command("tar", "-C", dir, "--strip-components=1", "-xzf", archives[0]).CombinedOutput(); err != nil {
		t.Fatalf("tar: %v\n%s", err, out)
	}
	version := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(archives[0]), "csiglab-"), "-linux-amd64.tar.gz")
	for _, program := range []string{"csiglab", "csiglab-lab", "csiglab-serve", "csiglab-cluster"} {
		if out, err := exec.Command(filepath.Join(dir, program), "version").CombinedOutput(); err != nil || !bytes.Contains(out, []byte(version)) {
			t.Errorf("%s version: %v\n%s\nwant %s", program, err, out, version)
		}
	}
	for _, program := range []string{"csiglab", "csiglab-lab", "csiglab-serve", "csiglab-cluster", "csig-host", "csig-switch"} {
		var bom struct {
			Format     string `json:"bomFormat"`
			Components []struct{ Name, Version string }
		}
		text, err := os.ReadFile(filepath.Join(dir, program+".cdx.json"))
		if err == nil {
			err = json.Unmarshal(text, &bom)
		}
		if err != nil || bom.Format != "CycloneDX" || len(bom.Components) == 0 {
			t.Errorf("the modules of %s: %q, %d of them, %v", program, bom.Format, len(bom.Components), err)
		}
	}
}
