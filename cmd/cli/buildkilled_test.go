package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/checkout"
)

// slowGo is a go command whose build starts a compiler and a linker that take a minute.
const slowGo = `#!/bin/sh
if [ "$1" = build ]; then
	DIR/compile 60 &
	DIR/link 60 &
	wait
fi
exec REAL "$@"
`

// TestBuildKilled: when csiglab is killed while it builds, the go command, its compilers and
// linkers and all else that it has started end within 2 s, and clean removes the temporary
// folder.
func TestBuildKilled(t *testing.T) {
	checkout.SkipLong(t)
	checkout.SkipSlowRace(t)
	checkout.NeedModules(t)
	suite := smallRegression(t)
	w := newWorkshop(t)
	build := []string{"build", "--with", "example.com/worsthop=" + filepath.Join(w.source, "docs/examples/worsthop"), "-o", filepath.Join(w.dir, "mine"), "--csiglab", w.source}
	regress := []string{"regress", suite, "--only", "marks", "--seeds", "5", "--baseline", "git:HEAD", "--out", filepath.Join(w.dir, "out")}
	for _, c := range []struct {
		name string
		args []string
		slow bool // by slowGo; else everything is compiled
	}{
		{"build", build, true}, {"build with go", build, false}, {"regress git", regress, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.args[0] == "regress" && exec.Command("git", "-C", w.source, "rev-parse", "HEAD").Run() != nil {
				t.Skip("the checkout is no git repository")
			}
			mark, env := "TEST_BUILD="+t.Name(), slices.Clone(w.env)
			if c.slow {
				env = append(env, "PATH="+slowTools(t)+":"+os.Getenv("PATH"))
			} else {
				env = append(env, "GOCACHE="+t.TempDir())
			}
			env = append(env, mark)
			run := csiglabProcess(c.args...)
			run.cmd.Env, run.cmd.Dir = env, w.source
			run.runWhile(t, func() {
				run.eventually(t, "a compiler runs", func() bool { return slices.ContainsFunc(processesWith(t, mark), isCompiler) })
				run.cmd.Process.Kill()
			})
			until := time.Now().Add(2 * time.Second)
			for range 2 { // also what was started while the others were waited for
				for _, pid := range processesWith(t, mark) {
					line, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
					if !endedWithin(pid, time.Until(until)) {
						t.Errorf("process %d goes on: %q", pid, line)
					}
				}
			}
			if left := w.temporary(); len(left) == 0 {
				t.Error("nothing was left for clean to remove")
			}
			clean := csiglabProcess("clean")
			clean.cmd.Env = env
			if code, said := clean.run(t); code != command.ExitOK || !strings.Contains(said, "the temporary folder of a command that was killed: ") {
				t.Errorf("clean: exit code %d\n%s", code, said)
			}
			if left := w.temporary(); len(left) > 0 {
				t.Errorf("after clean: %q", left)
			}
		})
	}
}

// slowTools returns a folder with slowGo.
func slowTools(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	real, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(sleep)
	for _, name := range []string{"compile", "link"} {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), program, 0o755))
	}
	script := strings.NewReplacer("DIR", dir, "REAL", real).Replace(slowGo)
	if err := errors.Join(err, os.WriteFile(filepath.Join(dir, "go"), []byte(script), 0o755)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// processesWith returns the processes whose environment has a variable.
func processesWith(t *testing.T, variable string) (list []int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil || !slices.Contains(strings.Split(string(text), "\x00"), variable) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			list = append(list, pid)
		}
	}
	return list
}

func isCompiler(pid int) bool {
	program, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe")
	return err == nil && filepath.Base(program) == "compile"
}
