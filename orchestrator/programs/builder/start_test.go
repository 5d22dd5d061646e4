package builder

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/nodes/modules"
)

// TestMain is a program that takes memory, if it is told to.
func TestMain(m *testing.M) {
	if os.Getenv("BUILDER_TEST") == "memory" {
		var all [][]byte
		for {
			all = append(all, make([]byte, 64<<20))
			if len(all) > 100 { // there is no limit
				fmt.Println(len(all))
				os.Exit(0)
			}
		}
	}
	os.Exit(m.Run())
}

// What modules do while a new csiglab starts is said in words that a terminal takes, has
// bounds, and leaves no process.
func TestStart(t *testing.T) {
	group, err := newGroup()
	if err != nil {
		t.Fatal(err)
	}
	defer group.close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ script, want string }{
		"exits with 0": {"exit 0", `with example.com/m prints other text than the JSON of version --json; a function that runs while the program starts, such as init or Build, must neither print nor end the program: ""`},
		"exits with 1": {"exit 1", "ends the program without a word: exit status 1"},
		"prints":       {`printf 'hello \033[31m{}'`, `must neither print nor end the program: "hello �[31m{}"`},
		"prints much":  {"yes", "prints more than 1 MiB while it starts"},
		"says much":    {"yes >&2", "prints more than 1 MiB while it starts"},
		"panics":       {`printf 'panic: \033]0;title\007\n\ngoroutine 1 [running]:\nmain.main()\n' >&2; exit 2`, "does not start:\npanic: �]0;title�; main.main()"},
		"says why":     {`printf 'csiglab: bad \033[1m\n' >&2; exit 2`, "does not start:\nbad �[1m"},
		"memory":       {"BUILDER_TEST=memory exec " + self, "takes more than 1 GiB of memory"},
		"holds":        {"setsid sleep 61 & exit 0", "starts a process that does not end with it"},
		"forks":        {"setsid sleep 62 >/dev/null 2>&1 & echo '{}'", "has 0 modules, want 1"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "memory" && checkout.SlowRace(t) { // which has words of its own for it
				t.SkipNow()
			}
			program, pids := filepath.Join(t.TempDir(), "csiglab"), filepath.Join(t.TempDir(), "pid")
			script := strings.Replace(c.script, "& ", "& echo $! >"+pids+"; ", 1)
			if err := os.WriteFile(program, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			m := modules.Module{Path: "example.com/m"}
			b := &build{tool: &tool{group: group}, with: []resolved{{module: m}}}
			begin := time.Now()
			_, err := b.examine(t.Context(), program, &content{modules: []modules.Module{m}})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("after %v: %v\nwant %s", time.Since(begin), err, c.want)
			}
			text, err := os.ReadFile(pids)
			if err != nil {
				return
			}
			var pid int
			fmt.Sscan(string(text), &pid) //nolint:errcheck // 0 is this process
			for until := time.Now().Add(5 * time.Second); syscall.Kill(pid, 0) == nil; time.Sleep(10 * time.Millisecond) {
				if stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); strings.Contains(string(stat), ") Z ") {
					break // its parent is gone
				}
				if time.Now().After(until) {
					t.Fatalf("process %d goes on", pid)
				}
			}
		})
	}
}

// What the go command would read without end is refused before it sees the folder.
func TestFilesOfModules(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"a.go", "notes.txt"} {
		if err := os.WriteFile(at(name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(at(".git/x"), 0o755); err != nil {
		t.Fatal(err)
	}
	pipe := func(name string) {
		if err := syscall.Mkfifo(at(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pipe("fifo")
	pipe(".git/x/a.go")
	for link, to := range map[string]string{"b.go": "a.go", "c.go": "nothing", "zero": "/dev/zero", "self": "."} {
		if err := os.Symlink(to, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := checkFiles(dir); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"p.go", "go.sum", "z.s"} {
		if name == "z.s" {
			if err := os.Symlink("/dev/zero", at(name)); err != nil {
				t.Fatal(err)
			}
		} else {
			pipe(name)
		}
		if err := checkFiles(dir); err == nil || err.Error() != at(name)+" is not a regular file" {
			t.Errorf("%s: %v", name, err)
		}
		os.Remove(at(name))
	}
}
