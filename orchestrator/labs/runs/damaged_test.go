package runs_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// TestMain's "damage" does this in a process of its own, whose list is in a folder of
// the test: it lists and cleans, and prints what it sees.
func damageReport() {
	list, err := runs.List(context.Background())
	fmt.Println("listed", len(list), err)
	damaged, err := runs.ListDamaged()
	for _, d := range damaged {
		fmt.Printf("damaged %s %v\n", d.ID, d.Err)
	}
	fmt.Println("error", err)
	removed, err := runs.Cleaner{}.Clean(context.Background(), "")
	for _, what := range removed {
		fmt.Println("removed", what)
	}
	fmt.Println("error", err)
}

// ownList returns the command of this test's program whose list is below a fresh folder,
// and the list's folder. Root runs it as a user without privileges: root's list is fixed.
func ownList(t *testing.T, arg string) (cmd *exec.Cmd, list string) {
	t.Helper()
	dir, user, attr := userFolder(t)
	cmd = exec.Command("/proc/self/exe", arg)
	cmd.Env, cmd.SysProcAttr = []string{"TMPDIR=" + dir}, attr
	return cmd, filepath.Join(dir, fmt.Sprintf("csiglab-%d", user))
}

// One damaged entry hides no other run, is named, and is removed by clean.
func TestDamaged(t *testing.T) {
	checkout.SkipSlowRace(t)
	for _, c := range []struct {
		name   string
		damage func(file string) error
		want   string // what is wrong with it
	}{
		{"cut short", func(f string) error { return os.WriteFile(f, []byte(`{"id":"0bad","na`), 0o600) }, "unexpected end of JSON input"},
		{"empty", func(f string) error { return os.WriteFile(f, nil, 0o600) }, "unexpected end of JSON input"},
		{"no object", func(f string) error { return os.WriteFile(f, []byte(`[1]`), 0o600) }, "json: cannot unmarshal array into Go value of type runs.Run"},
		{"null", func(f string) error { return os.WriteFile(f, []byte(`null`), 0o600) }, `it is of run ""`},
		{"of another run", func(f string) error { return os.WriteFile(f, []byte(`{"id":"0cab"}`), 0o600) }, `it is of run "0cab"`},
		{"zeros", func(f string) error { return os.WriteFile(f, make([]byte, 4096), 0o600) }, `invalid character '\x00' looking for beginning of value`},
		{"a folder", func(f string) error { return os.MkdirAll(filepath.Join(f, "x", "y"), 0o700) }, "it is not a regular file"},
		{"a pipe", func(f string) error { return unix.Mkfifo(f, 0o600) }, "it is not a regular file"},
		{"a link", func(f string) error { return os.Symlink("/dev/zero", f) }, "it is a symbolic link"},
		{"a link to nothing", func(f string) error { return os.Symlink("/nowhere", f) }, "it is a symbolic link"},
		{"unreadable", func(f string) error { return os.WriteFile(f, []byte(`{}`), 0) }, "permission denied"},
		{"endless", func(f string) error {
			return func() error { _ = os.WriteFile(f, nil, 0o600); return os.Truncate(f, 1<<40) }()
		}, "it has 1099511627776 bytes; an entry has at most 67108864"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd, list := ownList(t, "damage")
			user := cmd.SysProcAttr.Credential
			if err := os.Mkdir(list, 0o700); err != nil {
				t.Fatal(err)
			}
			good := filepath.Join(list, "0dead.json")
			if err := os.WriteFile(good, []byte(`{"id":"0dead","pid":1,"ticks":1}`), 0o600); err != nil {
				t.Fatal(err)
			}
			bad := filepath.Join(list, "0bad.json")
			if err := c.damage(bad); err != nil {
				t.Fatal(err)
			}
			if user != nil {
				err := filepath.WalkDir(list, func(path string, _ os.DirEntry, err error) error {
					if err != nil {
						return err
					}
					return os.Lchown(path, int(user.Uid), int(user.Gid))
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			out, err := cmd.CombinedOutput()
			want := []string{
				"listed 1 <nil>", "damaged 0bad " + c.want, "error <nil>",
				"removed the entry of run 0dead", "removed the damaged entry " + bad, "error <nil>",
			}
			if got := strings.Split(strings.TrimSpace(string(out)), "\n"); err != nil || !slices.Equal(got, want) {
				t.Errorf("got, %v:\n%s\nwant:\n%s", err, out, strings.Join(want, "\n"))
			}
			if _, err := os.Lstat(list); !os.IsNotExist(err) {
				t.Errorf("the empty list stays: %v", err)
			}
		})
	}
}

// An entry that another user has made is not believed. Only root can make one.
func TestDamagedOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("to give a file away needs root")
	}
	cmd, list := ownList(t, "damage")
	user := cmd.SysProcAttr.Credential
	if err := os.Mkdir(list, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(list, "0bad.json"), []byte(`{"id":"0bad","pid":1,"ticks":1}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(list, int(user.Uid), int(user.Gid)); err != nil {
		t.Fatal(err)
	}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "damaged 0bad it belongs to user 0\n") {
		t.Errorf("got %v:\n%s", err, out)
	}
}

// A damaged entry whose run has processes stays until --force ends them: the run may be
// under way.
func TestDamagedWithProcesses(t *testing.T) {
	p, id := holder(t, "")
	command := exec.Command("sleep", "60")
	command.Env = append(os.Environ(), runs.EnvironmentRun+"="+id)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	defer command.Process.Kill()
	damaged := entryFile(t, id)
	if err := os.WriteFile(damaged, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	removed, err := runs.Clean(t.Context(), id, false)
	if err == nil || !strings.Contains(err.Error(), "its run is under way, with 1 processes; csiglab clean --force "+id+" ends it") || len(removed) > 0 {
		t.Errorf("Clean: %q, %v", removed, err)
	}
	if _, err := (runs.Cleaner{Force: true}).Clean(t.Context(), id); err != nil {
		t.Error(err)
	}
	<-ended
	if _, err := os.Lstat(damaged); !os.IsNotExist(err) {
		t.Errorf("the entry stays: %v", err)
	}
	p.kill()
}

// entryFile returns the file of a run's entry.
func entryFile(t *testing.T, id string) string {
	t.Helper()
	for _, dir := range []string{"/run", os.Getenv("XDG_RUNTIME_DIR"), os.TempDir()} {
		found, _ := filepath.Glob(filepath.Join(dir, "csiglab*", id+".json"))
		if len(found) == 1 {
			return found[0]
		}
	}
	t.Fatalf("run %s is not on the list", id)
	return ""
}

// What a kill -9 in the middle of a change of the list leaves is removed, and nothing of
// a lab that is held.
func TestTidy(t *testing.T) {
	_, id := holder(t, "")
	dir := filepath.Dir(entryFile(t, id))
	left := []string{filepath.Join(dir, "0aaa.json.new"), filepath.Join(dir, "0bbb.sock")}
	for _, name := range left {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	removed, err := runs.Clean(t.Context(), "no-such-run", false)
	if err != nil || !slices.Equal(removed, left) {
		t.Errorf("Clean: %q, %v, want %q", removed, err, left)
	}
	if r := find(t, id); r.State != runs.Held {
		t.Errorf("the lab is %s", r.State)
	}
}
