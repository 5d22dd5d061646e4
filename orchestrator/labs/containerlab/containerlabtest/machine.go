package containerlabtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/volume"
	"github.com/docker/docker/client"
	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
)

// Machine lists all that a run could leave on this machine: the engine's
// containers (`docker ps -a`), unnamed images, volumes and networks; interfaces
// (`ip link`), named namespaces (`ip netns`) and every other file below /run;
// processes; mounts; and what containerlab is known to write elsewhere. A test
// compares two of them, Alone. docker may be nil.
func Machine(t *testing.T, docker *client.Client) []string {
	t.Helper()
	var found []string
	add := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if docker != nil {
		for _, thing := range engineHas(t, docker) {
			add("%s", thing)
		}
	}
	interfaces, err := netlink.LinkList()
	check(err)
	for _, l := range interfaces {
		add("interface %s", l.Attrs().Name)
	}
	home, err := os.UserHomeDir()
	check(err)
	for _, root := range []string{"/run", "/etc/hosts", "/etc/ssh/ssh_config.d", filepath.Join(home, ".clab"), filepath.Join(os.TempDir(), ".clab")} {
		check(filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err == nil && strings.HasPrefix(path, "/run/containerd/s/"):
				add(ofEngine+"socket %s", path)
			case err == nil && !existsAnyway(path):
				add("file %s", path)
			}
			return err
		}))
	}
	hosts, err := os.ReadFile("/etc/hosts")
	check(err)
	add("hosts %s", hosts)
	if os.Getenv(aloneEnv) != "" { // others' processes and mounts come and go
		found = append(found, processes(t)...)
		mounts, err := os.ReadFile("/proc/self/mounts")
		check(err)
		for line := range strings.Lines(string(mounts)) {
			if target := strings.Fields(line)[1]; docker != nil && strings.HasPrefix(target, engineFolder(docker)) {
				add(ofEngine+"mount %s", target)
			} else {
				add("mount %s", target)
			}
		}
	}
	slices.Sort(found)
	return found
}

// ofEngine marks what an engine makes for a container, besides the container, and
// may forget to remove when it is ended in the middle.
const ofEngine = "engine's "

func engineFolder(docker *client.Client) string {
	return filepath.Dir(strings.TrimPrefix(docker.DaemonHost(), "unix://")) + "/"
}

// existsAnyway reports whether a folder below /run is made at the first use of an
// engine, and stays.
func existsAnyway(path string) bool {
	return strings.HasPrefix("/run/containerd/s/", path+"/") ||
		strings.HasPrefix("/run/docker/runtime-runc/moby/", path+"/")
}

func engineHas(t *testing.T, docker *client.Client) (found []string) {
	t.Helper()
	ctx := context.Background()
	containers, err := docker.ContainerList(ctx, container.ListOptions{All: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range containers {
		found = append(found, fmt.Sprintf("container %s %s", strings.Join(c.Names, " "), c.State))
	}
	images, err := docker.ImageList(ctx, image.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("dangling", "true"))})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range images {
		found = append(found, "image without a name "+i.ID)
	}
	volumes, err := docker.VolumeList(ctx, volume.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range volumes.Volumes {
		found = append(found, "volume "+v.Name)
	}
	networks, err := docker.NetworkList(ctx, network.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range networks {
		found = append(found, "network "+n.Name)
	}
	return found
}

// processes lists the command lines of all processes but the engine's own.
func processes(t *testing.T) (found []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		line, err := os.ReadFile(file)
		name, _, _ := bytes.Cut(line, []byte{0})
		if err != nil || len(line) == 0 {
			continue
		}
		text := "process " + string(bytes.ReplaceAll(line, []byte{0}, []byte{' '}))
		switch program := filepath.Base(string(name)); {
		case program == "dockerd", program == "containerd", program == "runc":
		case strings.HasPrefix(program, "containerd-shim"):
			found = append(found, ofEngine+text)
		default:
			found = append(found, text)
		}
	}
	return found
}

// leaveTime is how long the kernel and the engine may take to forget.
const leaveTime = 10 * time.Second

// NothingLeft waits until the machine is as it was before, and fails the test if
// that does not come to pass.
func NothingLeft(t *testing.T, docker *client.Client, before []string) {
	t.Helper()
	nothingLeft(t, docker, before, func(string) bool { return false })
}

// NothingLeftButEngine is NothingLeft after an engine was ended in the middle, whose own
// remains of its containers' processes do not count.
func NothingLeftButEngine(t *testing.T, docker *client.Client, before []string) {
	t.Helper()
	nothingLeft(t, docker, before, func(what string) bool { return strings.HasPrefix(what, ofEngine) })
}

func nothingLeft(t *testing.T, docker *client.Client, before []string, ignore func(string) bool) {
	t.Helper()
	before = slices.DeleteFunc(slices.Clone(before), ignore)
	diff := ""
	for deadline := time.Now().Add(leaveTime); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if diff = cmp.Diff(before, slices.DeleteFunc(Machine(t, docker), ignore)); diff == "" {
			return
		}
	}
	t.Errorf("the machine is not as before (-before +now):\n%s", diff)
}
