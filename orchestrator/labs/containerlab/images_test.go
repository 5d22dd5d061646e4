package containerlab_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/pkg/stdcopy"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/labs/containerlab"
)

// runImage runs a container until it ends.
func runImage(t *testing.T, b *bench, c *container.Config) (code int64, said string) {
	t.Helper()
	made, err := b.docker.ContainerCreate(t.Context(), c, nil, nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	defer b.docker.ContainerRemove(t.Context(), made.ID, container.RemoveOptions{Force: true}) //nolint:errcheck // the engine ends with the test
	if err := b.docker.ContainerStart(t.Context(), made.ID, container.StartOptions{}); err != nil {
		t.Fatal(err)
	}
	ended, failed := b.docker.ContainerWait(t.Context(), made.ID, container.WaitConditionNotRunning)
	select {
	case err := <-failed:
		t.Fatal(err)
	case status := <-ended:
		code = status.StatusCode
	}
	logs, err := b.docker.ContainerLogs(t.Context(), made.ID, container.LogsOptions{ShowStdout: true, ShowStderr: true})
	if err != nil {
		t.Fatal(err)
	}
	defer logs.Close()
	var out bytes.Buffer
	if _, err := stdcopy.StdCopy(&out, &out, logs); err != nil {
		t.Fatal(err)
	}
	return code, out.String()
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
		code, said := runImage(t, b, &container.Config{Image: row.got, Entrypoint: []string{"sh", "-c", "ip link"}, Env: []string{"CSIGLAB_NODE=tor1"}, NetworkDisabled: true})
		if code != 127 || !strings.Contains(said, "csiglab exec LAB tor1 -- ") {
			t.Errorf("a shell in the image of %s: exit code %d\n%s", row.program, code, said)
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
