package runs_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// register registers a run and removes it, many times and several at once.
func register() {
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for range 50 {
				e, err := runs.Register(runs.Run{ID: fmt.Sprintf("%x%d", os.Getpid(), i)})
				if err == nil {
					err = e.Remove()
				}
				if err != nil {
					fmt.Println(err)
				}
			}
		})
	}
	all.Wait()
}

// The folder of the list goes with its last entry, and processes that add an entry and
// remove one at the same time do not disturb each other.
func TestFolderGoes(t *testing.T) {
	first, list := ownList(t, "register")
	all := []*exec.Cmd{first}
	for range 2 {
		more := exec.Command(first.Path, first.Args[1:]...)
		more.Env, more.SysProcAttr = first.Env, first.SysProcAttr
		all = append(all, more)
	}
	var wait sync.WaitGroup
	for _, cmd := range all {
		wait.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%v:\n%.2000s", err, out)
			}
		})
	}
	wait.Wait()
	if _, err := os.Lstat(list); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the list stays: %v", err)
	}
}

func TestOwner(t *testing.T) {
	self := runs.Self()
	if got := runs.ParseOwner(self.String()); got != self {
		t.Errorf("%s is parsed as %+v", self, got)
	}
	if !strings.HasPrefix(self.String(), fmt.Sprintf("%d/", os.Getpid())) || self.Ticks == 0 || self.Space == 0 || self.Boot == "" {
		t.Errorf("this process is %+v", self)
	}
	for _, text := range []string{"", "1", "1/2/3", "a/2/3/b", "-1/2/3/b", "1/0/3/b", "1/2/x/b", "0/2/3/b"} {
		if got := runs.ParseOwner(text); got != (runs.Owner{}) {
			t.Errorf("%q is parsed as %+v", text, got)
		}
	}
	other := func(change func(*runs.Owner)) runs.Owner {
		o := self
		change(&o)
		return o
	}
	for _, c := range []struct {
		name string
		of   runs.Owner
		want runs.Life
	}{
		{"this process", self, runs.Lives},
		{"nobody", runs.Owner{}, runs.LifeUnknown},
		{"its PID, later", other(func(o *runs.Owner) { o.Ticks-- }), runs.Died},
		{"no such PID", other(func(o *runs.Owner) { o.PID = 1 << 22 }), runs.Died},
		{"before the boot", other(func(o *runs.Owner) { o.Boot = "another" }), runs.Died},
		{"of another PID namespace", other(func(o *runs.Owner) { o.Space++ }), runs.LifeUnknown},
		{"of an entry without boot and namespace", other(func(o *runs.Owner) { o.Boot, o.Space = "", 0 }), runs.Lives},
	} {
		if got := c.of.Life(); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// cleanForeign cleans in several ways while there is a foreign run, and prints how each
// ends. It does so in a process with a list of its own, as it names no run.
func cleanForeign() {
	for _, how := range []struct {
		which string
		runs.Cleaner
	}{
		{"", runs.Cleaner{}}, {"", runs.Cleaner{All: true}}, {"0fee", runs.Cleaner{}}, {"theirs", runs.Cleaner{All: true}},
		{"", runs.Cleaner{Force: true}}, {"0fee", runs.Cleaner{Force: true}},
	} {
		l := &left{of: map[string]int{"0fee": 3}, unknown: []runs.Run{{ID: "0fee", Name: "theirs", State: runs.Foreign}}}
		how.Say = func(text string) { fmt.Println(text) }
		removed, err := how.Clean(context.Background(), how.which, l)
		fmt.Println(removed, err, l.of["0fee"])
	}
}

// A foreign run is left alone, and said to be, unless Force is set.
func TestCleanForeign(t *testing.T) {
	cmd, _ := ownList(t, "foreign")
	out, err := cmd.CombinedOutput()
	const alone, refused = "left alone: run 0fee of another csiglab, since 0001-01-01 00:00:00; csiglab clean --force 0fee removes it\n[] <nil> 3\n",
		"[] run 0fee is of another csiglab and may be under way; csiglab clean --force 0fee removes it 3\n"
	const gone = "[something of 0fee] <nil> 0\n"
	if want := alone + alone + refused + refused + gone + gone; err != nil || string(out) != want {
		t.Errorf("got %v:\n%s\nwant:\n%s", err, out, want)
	}
}

// Force ends the run that it names, and no other that is under way.
func TestCleanForce(t *testing.T) {
	p, id := holder(t, "comes up")
	if _, err := (runs.Cleaner{Force: true}).Clean(t.Context(), "no-such-run"); err != nil {
		t.Error(err)
	}
	if r := find(t, id); r.State != runs.Running {
		t.Errorf("it is %s", r.State)
	}
	p.Signal(syscall.SIGSTOP)
	began := time.Now()
	removed, err := runs.Cleaner{Force: true}.Clean(t.Context(), id)
	if err != nil || len(removed) != 2 || time.Since(began) > 3*time.Second {
		t.Errorf("Clean of a stopped run: %q, %v, after %v", removed, err, time.Since(began))
	}
	<-p.ended
}

// A process of another PID namespace, such as a program of a lab, learns from the run's
// lock whether the lab lives, and cannot end it.
func TestOtherNamespace(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("a PID namespace needs root")
	}
	p, id := holder(t, "")
	inside := func(args ...string) string {
		cmd := exec.Command("/proc/self/exe", append([]string{"inside", id}, args...)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS, Unshareflags: syscall.CLONE_NEWNS}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%v:\n%s", err, out)
		}
		return string(out)
	}
	if got, want := inside(), fmt.Sprintf("held\n[] clean run %s: process %d, which holds it, is not visible from here\n", id, p.Pid); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	p.kill()
	if got, want := inside(), fmt.Sprintf("dead\n[the entry of run %s] <nil>\n", id); got != want {
		t.Errorf("after its death: got %q, want %q", got, want)
	}
}

// inside prints the state of a run, and how it can be cleaned, in a PID namespace with
// its own /proc.
func inside(id string) {
	if err := syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		fmt.Println(err)
	}
	if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		fmt.Println(err)
	}
	list, err := runs.List(context.Background())
	if err != nil {
		fmt.Println(err)
	}
	r, err := runs.Find(list, id)
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println(r.State)
	removed, err := runs.Clean(context.Background(), id, true)
	fmt.Println(removed, err)
}
