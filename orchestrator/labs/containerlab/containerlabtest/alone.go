package containerlabtest

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// aloneEnv holds the name of the test that Alone runs.
const aloneEnv = "CONTAINERLABTEST_ALONE"

// tellTime is how long before a test's deadline the one of its run in Alone is, so
// that this says where it hung and not only the other that it waited.
const tellTime = 20 * time.Second

// Alone lets a test look at the whole machine while others run: it runs the
// calling test once more in namespaces of its own, where /run, /dev/shm and the
// list of interfaces are empty and no process is but its own. There it returns
// true; here it returns false when that has ended, and the caller returns. What
// the test leaves in them is gone afterwards. The test is skipped without root.
func Alone(t *testing.T) bool {
	t.Helper()
	if os.Getenv(aloneEnv) == t.Name() {
		if os.Getpid() == 1 {
			furnish(t)
			beInit(t)
		}
		return true
	}
	if os.Geteuid() != 0 {
		t.Skip("namespaces for a machine of its own need root")
	}
	args := []string{"-test.run", "^" + regexp.QuoteMeta(t.Name()) + "$", "-test.v", "-test.count", "1"}
	if testing.Short() {
		args = append(args, "-test.short")
	}
	if deadline, ok := t.Deadline(); ok {
		args = append(args, "-test.timeout", (time.Until(deadline) - tellTime).String())
	}
	runtime.LockOSThread() // with which the kernel would kill the child
	defer runtime.UnlockOSThread()
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), aloneEnv+"="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWPID | unix.CLONE_NEWIPC,
		Pdeathsig:  syscall.SIGKILL,
	}
	out, err := cmd.CombinedOutput()
	switch {
	case err != nil:
		t.Errorf("alone: %v\n%s", err, out)
	case bytes.Contains(out, []byte("--- SKIP: "+t.Name()+" ")):
		t.Skipf("alone:\n%s", out)
	case !bytes.Contains(out, []byte("--- PASS: "+t.Name()+" ")):
		t.Errorf("alone: the test did not run\n%s", out)
	default:
		t.Logf("alone:\n%s", out)
	}
	return false
}

// furnish gives the namespaces of this process what a machine has.
func furnish(t *testing.T) {
	t.Helper()
	if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Fatal("mounts of its own: ", err)
	}
	// Others' mounts go when these remove the folders.
	for _, target := range mountsBelow(t, "/run/", "/dev/shm/") {
		if err := unix.Unmount(target, unix.MNT_DETACH); err != nil && err != unix.EINVAL { // it has gone
			t.Fatalf("unmount %s: %v", target, err)
		}
	}
	for _, m := range []struct{ target, kind, options string }{
		{"/proc", "proc", ""}, {"/run", "tmpfs", "mode=755"}, {"/dev/shm", "tmpfs", "mode=1777"},
	} {
		if err := unix.Mount(m.kind, m.target, m.kind, unix.MS_NOSUID|unix.MS_NODEV, m.options); err != nil {
			t.Fatalf("mount %s: %v", m.target, err)
		}
	}
}

// mountsBelow returns the mounts below folders, the last first.
func mountsBelow(t *testing.T, folders ...string) (targets []string) {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		target := strings.Fields(line)[1]
		if slices.ContainsFunc(folders, func(folder string) bool { return strings.HasPrefix(target, folder) }) {
			targets = append(targets, target)
		}
	}
	slices.Reverse(targets)
	return targets
}

// beInit runs this program once more and reaps the orphans of the namespace, whose
// first process it is: an engine waits for processes of its predecessor to
// disappear. It does not return.
func beInit(t *testing.T) {
	child, err := syscall.ForkExec("/proc/self/exe", os.Args, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
	if err != nil {
		t.Fatal(err)
	}
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			t.Fatal("wait for the test: ", err)
		case pid == child && status.Signaled():
			t.Fatalf("the test was killed by %v", status.Signal())
		case pid == child:
			os.Exit(status.ExitStatus())
		}
	}
}
