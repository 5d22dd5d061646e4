package containerlab_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/labs/containerlab"
)

// shellOf returns what sh is in an image: the target of the link.
func shellOf(t *testing.T, b *bench, image string) string {
	t.Helper()
	made, err := b.docker.ContainerCreate(t.Context(), &container.Config{Image: image, NetworkDisabled: true}, nil, nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	defer b.docker.ContainerRemove(t.Context(), made.ID, container.RemoveOptions{Force: true}) //nolint:errcheck // the engine ends with the test
	file, err := b.docker.ContainerStatPath(t.Context(), made.ID, "/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	return file.LinkTarget
}

func testImages(t *testing.T, b *bench, programs containerlab.Binaries) {
	list := func() int {
		images, err := b.docker.ImageList(t.Context(), image.ListOptions{All: true})
		if err != nil {
			t.Fatal(err)
		}
		return len(images)
	}
	// The tag is that of the Makefile: the Dockerfile, then the binary.
	for _, row := range []struct{ got, dockerfile, binary, program string }{
		{b.images.Switch, "nodes/switch/Dockerfile", programs.Switch, "csig-switch"},
		{b.images.Host, "nodes/host/Dockerfile", programs.Host, "csig-host"},
	} {
		hash := sha256.New()
		for _, path := range []string{filepath.Join(checkout.Repository(t), row.dockerfile), row.binary} {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			hash.Write(text)
		}
		if want := fmt.Sprintf("csiglab/%s:%.12s", row.program, fmt.Sprintf("%x", hash.Sum(nil))); row.got != want {
			t.Errorf("image of %s: got %s, want %s", row.program, row.got, want)
		}
		info, err := b.docker.ImageInspect(t.Context(), row.got)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Config.Entrypoint; len(got) != 1 || got[0] != "/"+row.program {
			t.Errorf("image of %s starts %q", row.program, got)
		}
		if got := shellOf(t, b, row.got); got != "/"+row.program {
			t.Errorf("sh in the image of %s is %q", row.program, got)
		}
	}
	before := list()
	again, err := b.engine.EnsureImages(t.Context(), programs)
	if err != nil || again != b.images {
		t.Errorf("the same binaries again: got %v, %v, want %v", again, err, b.images)
	}
	if got := list(); got != before {
		t.Errorf("the same binaries again: %d images, had %d", got, before)
	}
	changed := filepath.Join(t.TempDir(), "changed")
	binary, err := os.ReadFile(programs.Switch)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(changed, append(binary, 0), 0o700); err != nil {
		t.Fatal(err)
	}
	other, err := b.engine.EnsureImages(t.Context(), containerlab.Binaries{Switch: changed, Host: programs.Host})
	if err != nil || other.Switch == b.images.Switch || other.Host != b.images.Host {
		t.Errorf("another switch: got %v, %v, want another switch than in %v", other, err, b.images)
	}
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{shell: "dynamic linker", "images_test.go": "not a program", "none": "no such file"} {
		_, err := b.engine.EnsureImages(t.Context(), containerlab.Binaries{Switch: path, Host: programs.Host})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("image of %s: got %v, want an error with %q", path, err, want)
		}
	}
}
