package cli

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/labs"
	"github.com/csiglab/csiglab/internal/checkout"
)

// TestFaultsHangup: SIGHUP, as when a terminal or an ssh goes, ends csiglab as SIGTERM
// does, and nothing is left. Under nohup it does not. A lab outlives the terminal of its
// up. It needs root, to look at the whole machine.
func TestFaultsHangup(t *testing.T) {
	checkout.SkipLong(t)
	if !alone(t) {
		return
	}
	// A signal that is handled here is not ignored by the processes that are started,
	// even if these tests run under nohup.
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	f := newFaults(t, false)
	for _, c := range []struct {
		name   string
		signal []syscall.Signal
	}{
		{"hangup", []syscall.Signal{syscall.SIGHUP}},
		{"hangup twice", []syscall.Signal{syscall.SIGHUP, syscall.SIGHUP}},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := runNetns(four(t, lasting), filepath.Join(t.TempDir(), "run"))
			code, said := run.runWhile(t, func() {
				run.running(t)
				for _, s := range c.signal {
					run.cmd.Process.Signal(s)
					time.Sleep(2 * sameSignal)
				}
			})
			failed(t, code, said, "csiglab: interrupted")
			f.nothingLeft(t)
		})
	}
	t.Run("nohup", func(t *testing.T) {
		run := runNetns(four(t, "300MB"), filepath.Join(t.TempDir(), "run"))
		run.cmd.Args = append([]string{"nohup"}, run.cmd.Args...)
		run.cmd.Path = "/usr/bin/nohup"
		code, said := run.runWhile(t, func() {
			run.running(t)
			run.cmd.Process.Signal(syscall.SIGHUP)
		})
		if code != command.ExitOK {
			t.Errorf("exit code %d:\n%s", code, said)
		}
		f.nothingLeft(t)
	})
	t.Run("lab", func(t *testing.T) {
		// script(1) makes a terminal, whose end sends SIGHUP to all that are in it.
		up := csiglabProcess("up", four(t, lasting), "--runtime", "netns", "--out", filepath.Join(t.TempDir(), "run"))
		up.cmd.Args = []string{"script", "--quiet", "--return", "--command", strings.Join(up.cmd.Args, " "), "/dev/null"}
		up.cmd.Path = "/usr/bin/script"
		if code, said := up.run(t); code != command.ExitOK {
			t.Fatalf("up: exit code %d:\n%s", code, said)
		}
		time.Sleep(time.Second)
		if list := listed(t); len(list) != 1 || list[0].State != "held" {
			t.Errorf("after the terminal has gone: %+v", list)
		} else if err := syscall.Kill(list[0].PID, syscall.SIGHUP); err != nil { // its own
			t.Error(err)
		} else {
			ended(t, list[0].PID)
		}
		f.clean(t)
	})
}

// TestFaultsStopped: what is stopped by SIGSTOP is named after some seconds, and makes
// nobody wait for more than a minute.
func TestFaultsStopped(t *testing.T) {
	needTime(t)
	if !alone(t) {
		return
	}
	f := newFaults(t, false)
	lab := func(t *testing.T) labs.Entry {
		up := csiglabProcess("up", four(t, lasting), "--runtime", "netns", "--out", filepath.Join(t.TempDir(), "run"))
		if code, said := up.run(t); code != command.ExitOK {
			t.Fatalf("up: exit code %d:\n%s", code, said)
		}
		list := listed(t)
		if len(list) != 1 {
			t.Fatalf("ps lists %+v", list)
		}
		return list[0]
	}
	t.Run("down, supervisor stopped", func(t *testing.T) {
		r := lab(t)
		pid := supervisorOf(r.PID)
		sendTo(t, pid, syscall.SIGSTOP)
		within(t, 40*time.Second, command.ExitInfrastructure, "node supervisor: process "+fmt.Sprint(pid)+" is stopped", "down", r.ID)
		f.clean(t)
	})
	t.Run("down, holder stopped", func(t *testing.T) {
		needTime(t)
		r := lab(t)
		if err := syscall.Kill(r.PID, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		within(t, time.Minute, command.ExitInfrastructure, "csiglab clean --force "+r.ID, "down", r.ID)
		within(t, 10*time.Second, command.ExitOK, "removed run "+r.ID, "clean", "--force", r.ID)
		f.clean(t)
	})
	t.Run("clean --all, both stopped", func(t *testing.T) {
		r := lab(t)
		for _, pid := range []int{supervisorOf(r.PID), r.PID} {
			sendTo(t, pid, syscall.SIGSTOP)
		}
		within(t, 20*time.Second, command.ExitOK, "removed run "+r.ID, "clean", "--all")
		f.clean(t)
	})
}

// within checks how a csiglab ends, and when.
func within(t *testing.T, limit time.Duration, want int, words string, args ...string) {
	t.Helper()
	began := time.Now()
	code, said := csiglabProcess(args...).run(t)
	took := time.Since(began)
	t.Logf("%q after %v:\n%s", args, took, said)
	if code != want || !strings.Contains(said, words) || took > limit {
		t.Errorf("%q: exit code %d after %v, want %d and %q within %v:\n%s", args, code, took, want, words, limit, said)
	}
}
