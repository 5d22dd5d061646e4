package netns_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/internal/checkout"
)

// environmentRights has the test binary give up rights before it runs its tests: it has
// a value of podRights.
const environmentRights = "CSIGLAB_TEST_RIGHTS"

// podRights are the users and capabilities that pods of csiglab have, by the clock of their
// runs.
var podRights = map[string]struct {
	user         int
	capabilities []int
}{
	"lockstep": {1000, nil},
	"wall":     {0, []int{unix.CAP_NET_ADMIN, unix.CAP_NET_RAW, unix.CAP_SETFCAP}},
}

// asInPod gives up the rights that a pod has not, makes /proc/sys read-only, and starts the
// program again.
func asInPod(name string) error {
	rights := podRights[name]
	runtime.LockOSThread()
	for _, mount := range []struct {
		source, target string
		flags          uintptr
	}{
		{"", "/", unix.MS_REC | unix.MS_PRIVATE}, {"/proc/sys", "/proc/sys", unix.MS_BIND},
		{"", "/proc/sys", unix.MS_REMOUNT | unix.MS_BIND | unix.MS_RDONLY},
	} {
		if err := unix.Mount(mount.source, mount.target, "", mount.flags, ""); err != nil {
			return fmt.Errorf("mount %s: %w", mount.target, err)
		}
	}
	for c := range unix.CAP_LAST_CAP + 1 {
		if slices.Contains(rights.capabilities, c) || c == unix.CAP_SETUID || c == unix.CAP_SETGID || c == unix.CAP_SETPCAP {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("drop capability %d: %w", c, err)
		}
	}
	if rights.user != 0 {
		if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(rights.user), syscall.Setuid(rights.user)); err != nil {
			return err
		}
	}
	for _, c := range []uintptr{unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_SETPCAP} {
		if rights.user != 0 {
			break // without capabilities already
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
			return fmt.Errorf("drop capability %d: %w", c, err)
		}
	}
	os.Unsetenv(environmentRights)
	return syscall.Exec("/proc/self/exe", os.Args, os.Environ())
}

// TestRightsOfPods runs tests again with the rights of pods: as a user without any capability,
// and as root with those for tunnels. /proc/sys is read-only.
func TestRightsOfPods(t *testing.T) {
	checkout.SkipSlowRace(t)
	if os.Geteuid() != 0 {
		t.Skip("needs root, to give rights up")
	}
	probe := exec.Command("/bin/true")
	probe.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{HostID: 0, Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: 0, Size: 1}},
	}
	if err := probe.Run(); err != nil {
		t.Skipf("user namespaces are not available: %v", err)
	}
	dir, err := os.MkdirTemp("", "csiglab-rights")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "netns.test")
	self, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = errors.Join(os.WriteFile(program, self, 0o755), os.Chmod(dir, 0o777))
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, rights := range []string{"lockstep", "wall"} {
		cmd := exec.Command(program, "-test.v", "-test.run", "^TestParts$/^2$")
		cmd.Dir = dir
		cmd.Env = []string{"TMPDIR=" + dir, "PATH=" + os.Getenv("PATH"), environmentRights + "=" + rights}
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
		output, err := cmd.CombinedOutput()
		if err != nil || bytes.Contains(output, []byte("--- SKIP")) || !bytes.Contains(output, []byte("--- PASS: TestParts/2")) {
			t.Errorf("%s: %v:\n%s", rights, err, output)
		}
	}
}
