package cli

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/labs/containerlab/containerlabtest"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// ways are ways to start a program so that neither its environment, its session nor its
// parent shows where it came from. MARK stands for a number of seconds. sudo resets the
// environment and the user as su does; a program with the set-user-ID bit has no death
// signal of its parent's.
var ways = []struct {
	name, line string
	root       bool // it needs root
}{
	{"env -i", "env -i sleep MARK", false},
	{"setsid", "setsid sleep MARK", false},
	{"double fork", "(setsid sh -c 'sleep MARK & exec sleep MARK' &) & exec sleep MARK", false},
	{"all of them", "env -i setsid sh -c '(env -i setsid sleep MARK &) & exec sleep MARK'", false},
	{"ignores signals", "trap '' INT TERM HUP; env -i setsid sh -c \"trap '' INT TERM HUP; sleep MARK; sleep MARK\"", false},
	{"su", "su - root -c 'exec setsid sleep MARK'", true},
	{"su to another user", "su -s /bin/sh nobody -c 'exec setsid sleep MARK'", true},
	{"sudo", "sudo -n env -i setsid sleep MARK", true},
	{"set-user-ID", "SETUID MARK", true},
}

// Issue 9, must show 2: a program of exec ends with its lab, however it was started: when
// the lab goes down, and when its holder is killed and clean removes the rest.
func TestProgramsDoNotOutliveTheirLab(t *testing.T) {
	programs := programsOfAnyUser(t)
	t.Run("netns", func(t *testing.T) { testOutlive(newTool(t, programs), "netns", "") })
	t.Run("containerlab", func(t *testing.T) {
		needTime(t)
		if os.Geteuid() != 0 {
			t.Skip("to join containers needs root")
		}
		checkout.SkipLong(t)
		docker := containerlabtest.Docker(t)
		testOutlive(newTool(t, programs), "containerlab", "")
		containerlabtest.Image(t, docker, "/bin/sh", "test/sh:1")
		testOutlive(newTool(t, programs), "containerlab", "test/sh:1")
	})
}

// programsOfAnyUser returns a folder with csiglab's programs, also for a user who cannot
// build them.
func programsOfAnyUser(t *testing.T) string {
	t.Helper()
	if os.Geteuid() == 0 {
		return builtPrograms(t)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	programs := t.TempDir()
	for _, name := range []string{"csiglab", "csig-host", "csig-switch"} {
		if err := os.Symlink(self, filepath.Join(programs, name)); err != nil {
			t.Fatal(err)
		}
	}
	return programs
}

// testOutlive starts programs in every way on a host with programs and, where its image
// is this machine, in the network of a switch. image is that of the hosts' programs, ""
// for this machine's files.
func testOutlive(u *tool, runtime, image string) {
	u.experiment("outlive")
	for round, end := range []string{"down", "killed"} {
		before := interfaces(u)
		applications := "applications={hosts: [0]}"
		if image != "" {
			applications = "applications={hosts: [0], image: " + image + "}"
		}
		stdout, _ := u.want(command.ExitOK, "up", "outlive.yaml", "--runtime", runtime, "--out", fmt.Sprint(runtime, len(image), end), "--json",
			"--set", applications, "--set", "workload.transfers=[1 -> 2 100kB]")
		r := u.parse(stdout)
		mark := fmt.Sprintf("%d%d", 38+round, 10_000+os.Getpid()%10_000) // seconds that no other sleep has
		spaces, cgroups := heldBy(u, r)
		started := 0
		for _, node := range []string{"h0", "tor0"} {
			for _, way := range ways {
				if image != "" && node == "h0" {
					if way.name != "double fork" {
						continue // its image has a shell and no more
					}
					way.line = "(while :; do :; done & ) & while :; do :; done # MARK"
				}
				if line, ok := u.prepare(way.line, way.root); ok {
					u.inBackground(r, node, strings.ReplaceAll(line, "MARK", mark))
					started++
				}
			}
		}
		if started < 6 {
			u.Fatalf("only %d programs could be started", started)
		}
		if end == "down" {
			u.down(r.ID)
		} else {
			if err := syscall.Kill(r.PID, syscall.SIGKILL); err != nil {
				u.Fatal(err)
			}
			ended(u, r.PID)
			u.want(command.ExitOK, "clean", r.ID)
		}
		var left []string
		for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			if left = slices.Concat(leftOf(r, spaces, cgroups), withMark(mark)); len(left) == 0 {
				break
			}
		}
		if len(left) > 0 {
			u.Errorf("%s, image %q, %s: left: %q", runtime, image, end, left)
		}
		if now := interfaces(u); !slices.Equal(now, before) {
			u.Errorf("%s, image %q, %s: interfaces %q, before %q", runtime, image, end, now, before)
		}
		if rest := u.ps(); len(rest) > 0 {
			u.Errorf("%s, image %q, %s: on the list: %+v", runtime, image, end, rest)
		}
	}
}

// prepare returns the line of a way, if this machine has what it needs.
func (u *tool) prepare(line string, root bool) (string, bool) {
	u.Helper()
	if root && os.Geteuid() != 0 {
		return "", false
	}
	program := strings.Fields(line)[0]
	if program != "SETUID" {
		_, err := exec.LookPath(strings.TrimLeft(program, "("))
		return line, err == nil || strings.HasPrefix(line, "(") || program == "trap"
	}
	// Every user may execute the copy; it runs as its owner.
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		return "", false
	}
	text, err := os.ReadFile(sleep)
	copied := filepath.Join(u.dir, "sleep")
	if _, wrong := os.Stat(copied); wrong == nil {
		return strings.ReplaceAll(line, "SETUID", copied), true
	}
	if err == nil {
		err = os.WriteFile(copied, text, 0o755)
	}
	if err == nil {
		err = os.Chmod(copied, os.ModeSetuid|0o755)
	}
	if err != nil {
		u.Fatal(err)
	}
	return strings.ReplaceAll(line, "SETUID", copied), true
}

// inBackground starts a shell's line in a node and waits until it runs.
func (u *tool) inBackground(r runs.Run, node, line string) {
	u.Helper()
	cmd := u.command("exec", r.ID, node, "--", "sh", "-c", "echo; "+line)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		u.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		u.Fatalf("%s: %q: %v", node, line, err)
	}
	u.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait() //nolint:errcheck // it has been killed, or its program has
	})
}

// heldBy returns what a run has made on this machine, apart from its folder: namespaces,
// by their names in /proc, and the folders of the cgroups of its containers.
func heldBy(u *tool, r runs.Run) (spaces, cgroups []string) {
	u.Helper()
	for _, n := range r.Nodes {
		for _, path := range []string{n.Network, n.Programs} {
			if path == "" {
				continue
			}
			space, err := os.Readlink(path)
			if err != nil || !strings.HasPrefix(space, "net:[") {
				u.Fatalf("%s: %q, %v", path, space, err)
			}
			spaces = append(spaces, space)
		}
		if n.Container == "" {
			continue
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", n.PID))
		if err != nil {
			u.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			part := strings.SplitN(strings.TrimSpace(line), ":", 3)
			folders, _ := filepath.Glob("/sys/fs/cgroup/*" + part[2])
			if len(part[2]) > len("/docker/") {
				cgroups = append(cgroups, folders...)
			}
		}
	}
	stdout, _ := u.want(command.ExitOK, "exec", r.ID, "tor0", "--", "readlink", "/proc/self/ns/pid", "/proc/self/ns/mnt")
	return append(spaces, strings.Fields(stdout)...), cgroups
}

// leftOf returns what is left of a run: its namespaces, which a process or a mount keeps,
// its cgroups, and the files of the list.
func leftOf(r runs.Run, spaces, cgroups []string) (left []string) {
	for _, pattern := range []string{"/proc/[0-9]*/ns/*", "/proc/[0-9]*/fd/*"} {
		files, _ := filepath.Glob(pattern)
		for _, f := range files {
			if space, err := os.Readlink(f); err == nil && slices.Contains(spaces, space) {
				left = append(left, f+" is "+space)
			}
		}
	}
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, r.ID) || strings.Contains(line, r.Folder) || slices.ContainsFunc(spaces, func(s string) bool { return strings.Contains(line, " "+s+" ") }) {
			left = append(left, "mount "+strings.TrimSpace(line))
		}
	}
	for _, folder := range cgroups {
		if _, err := os.Stat(folder); err == nil {
			left = append(left, folder)
		}
	}
	for _, folder := range []string{"/run/csiglab", os.Getenv("XDG_RUNTIME_DIR") + "/csiglab", fmt.Sprintf("%s/csiglab-%d", os.TempDir(), os.Getuid())} {
		files, _ := filepath.Glob(folder + "/*" + r.ID + "*")
		left = append(left, files...)
	}
	return left
}

// interfaces returns the names of the interfaces of this process's network.
func interfaces(u *tool) (names []string) {
	u.Helper()
	list, err := net.Interfaces()
	if err != nil {
		u.Fatal(err)
	}
	for _, i := range list {
		names = append(names, i.Name)
	}
	return names
}

// withMark returns the processes whose command line has a mark, apart from csiglab exec,
// which ends with its command.
func withMark(mark string) (left []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && bytes.Contains(text, []byte(mark)) {
			left = append(left, fmt.Sprintf("process %s", bytes.ReplaceAll(text, []byte{0}, []byte{' '})))
		}
	}
	return left
}
