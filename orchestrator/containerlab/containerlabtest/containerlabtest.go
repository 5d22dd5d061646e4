// Package containerlabtest gives tests a Docker engine of their own, which pulls
// nothing and changes nothing on the machine's network.
package containerlabtest

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"
)

// startTime bounds the start of an engine; it takes about a second.
const startTime = 30 * time.Second

// Docker starts an engine, points DOCKER_HOST at it until the test ends, and
// returns a client of it. The test is skipped where dockerd is not installed, or
// not run by root.
func Docker(t *testing.T) *client.Client {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("a Docker engine needs root")
	}
	dockerd, err := exec.LookPath("dockerd")
	if err != nil {
		t.Skip("no dockerd: apt-get install --no-install-recommends docker.io iptables")
	}
	dir := scratch(t)
	t.Cleanup(func() { os.RemoveAll(dir) })
	host := "unix://" + filepath.Join(dir, "docker.sock")
	var log bytes.Buffer
	cmd := exec.Command(dockerd, "--data-root", filepath.Join(dir, "data"), "--exec-root", filepath.Join(dir, "exec"),
		"-H", host, "-p", filepath.Join(dir, "docker.pid"), "--iptables=false", "--ip6tables=false",
		"--ip-forward=false", "--ip-masq=false", "--bridge=none")
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	t.Setenv("DOCKER_HOST", host)
	docker, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		removeAll(t, docker)
		docker.Close()
		cmd.Process.Signal(syscall.SIGTERM)
		if err := <-exited; err != nil {
			t.Errorf("dockerd: %v\n%s", err, log.String())
		}
	})
	for start := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if _, err = docker.Ping(t.Context()); err == nil {
			return docker
		}
		select {
		case died := <-exited:
			exited <- nil
			t.Fatalf("dockerd: %v\n%s", died, log.String())
		default:
		}
		if time.Since(start) > startTime {
			t.Fatalf("dockerd did not answer in %v: %v", startTime, err)
		}
	}
}

// scratch returns a folder for the engine, in memory where there is some: an
// engine waits for the disk after each of its many small writes. Not t.TempDir,
// as a Unix socket's path has room for 107 bytes.
func scratch(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "docker")
	if err != nil {
		dir, err = os.MkdirTemp("", "docker")
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// removeAll removes what a failed test left; otherwise the engine would wait ten
// seconds for each container.
func removeAll(t *testing.T, docker *client.Client) {
	ctx := context.Background()
	list, err := docker.ContainerList(ctx, container.ListOptions{All: true})
	if err != nil {
		t.Error(err)
	}
	for _, c := range list {
		if err := docker.ContainerRemove(ctx, c.ID, container.RemoveOptions{Force: true}); err != nil {
			t.Error(err)
		}
	}
}
