package containerlabtest

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"
)

// library is the path of a library in what ldd says.
var library = regexp.MustCompile(`/\S+`)

// Image makes an image that holds a program of this machine, at its place, and the
// libraries that it needs.
func Image(t testing.TB, docker *client.Client, program, tag string) {
	t.Helper()
	libraries, err := exec.Command("ldd", program).CombinedOutput()
	if err != nil {
		t.Fatalf("ldd %s: %v\n%s", program, err, libraries)
	}
	var root bytes.Buffer
	w := tar.NewWriter(&root)
	for _, name := range append(library.FindAllString(string(libraries), -1), program) {
		content, err := os.ReadFile(name)
		if err == nil {
			err = w.WriteHeader(&tar.Header{Name: strings.TrimPrefix(name, "/"), Mode: 0o755, Size: int64(len(content))})
		}
		if err == nil {
			_, err = w.Write(content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	answer, err := docker.ImageImport(t.Context(), image.ImportSource{Source: &root, SourceName: "-"}, tag, image.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Close()
	if text, err := io.ReadAll(answer); err != nil || strings.Contains(string(text), "errorDetail") {
		t.Fatalf("%v\n%s", err, text)
	}
}
