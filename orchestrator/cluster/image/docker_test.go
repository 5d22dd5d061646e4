package image

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"

	"github.com/csiglab/csiglab/orchestrator/labs/containerlab/containerlabtest"
)

// whoami is a csiglab that says who it is.
const whoami = `package main

import (
	"fmt"
	"os"
)

func main() {
	name, err := os.Executable()
	fmt.Println(name, os.Getuid(), os.Getgid(), os.Getenv("HOME"), os.Args[1:], err)
	for _, dir := range []string{"/tmp", "/work"} {
		if err := os.WriteFile(dir+"/file", nil, 0o600); err != nil {
			fmt.Println(err)
		}
	}
}
`

// docker loads what Save writes, and its csiglab runs, as the user of the image.
func TestDockerLoad(t *testing.T) {
	docker := containerlabtest.Docker(t)
	source := filepath.Join(t.TempDir(), "main.go")
	dir := folder(t, plain("host"))
	if err := os.WriteFile(source, []byte(whoami), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-trimpath", "-o", dir+"/csiglab", source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var archive bytes.Buffer
	const reference = "localhost/csiglab:test"
	saved, err := Save(t.Context(), reference, &archive, programsOf(t, dir+"/csiglab", "file-a"))
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := docker.ImageLoad(t.Context(), &archive)
	if err != nil {
		t.Fatal(err)
	}
	defer loaded.Body.Close()
	if text, err := io.ReadAll(loaded.Body); err != nil || !strings.Contains(string(text), reference) {
		t.Fatalf("%v\n%s", err, text)
	}
	made, err := docker.ContainerCreate(t.Context(), &container.Config{Image: reference, Cmd: []string{"trial"}}, &container.HostConfig{NetworkMode: "none"}, nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	done, failed := docker.ContainerWait(t.Context(), made.ID, container.WaitConditionNextExit)
	if err := docker.ContainerStart(t.Context(), made.ID, container.StartOptions{}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-done:
	case err := <-failed:
		t.Fatal(err)
	}
	logs, err := docker.ContainerLogs(t.Context(), made.ID, container.LogsOptions{ShowStdout: true, ShowStderr: true})
	if err != nil {
		t.Fatal(err)
	}
	defer logs.Close()
	var said bytes.Buffer
	if _, err := stdcopy.StdCopy(&said, &said, logs); err != nil {
		t.Fatal(err)
	}
	if got, want := said.String(), "/bin/csiglab 1000 1000 /work [trial] <nil>\n"; got != want {
		t.Errorf("a container of %s says %q, want %q", saved.Digest, got, want)
	}
}
