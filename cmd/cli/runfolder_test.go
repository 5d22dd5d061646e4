package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/cmd/cli/command"
)

// A folder in which another user can plant links is refused, and nothing that a link
// names is touched.
func TestPlantedFolder(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can act for another user")
	}
	const nobody = 65534
	t.Setenv("PATH", builtPrograms(t)+":"+os.Getenv("PATH"))
	parent := t.TempDir()
	target, dir := filepath.Join(parent, "target"), filepath.Join(parent, "run")
	links := []string{"manifest.json.part", "summary.json.part", "log.jsonl", "ports.parquet", "report.html"}
	if err := errors.Join(os.WriteFile(target, []byte("secret"), 0o600), os.Mkdir(dir, 0o755), os.Chown(dir, nobody, nobody)); err != nil {
		t.Fatal(err)
	}
	empty := ask(t, "run", "one", "--out", dir)
	if empty.code != command.ExitUsage || !strings.Contains(empty.said, dir) || !strings.Contains(empty.said, "belongs to user 65534") {
		t.Errorf("an empty folder of another user: exit code %d: %s", empty.code, empty.said)
	}
	for _, name := range links {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, runtime := range []string{"inproc", "netns"} {
		if a := ask(t, "run", "one", "--runtime", runtime, "--out", dir); a.code != command.ExitUsage || !strings.Contains(a.said, dir) {
			t.Errorf("%s: exit code %d: %s; want 2 and the folder's name", runtime, a.code, a.said)
		}
	}
	// The same for the file of a capture: a link of another user is not followed.
	run, link := filepath.Join(parent, "good"), filepath.Join(parent, "x.pcapng")
	if err := errors.Join(os.Symlink(target, link), os.Lchown(link, nobody, nobody)); err != nil {
		t.Fatal(err)
	}
	if a := ask(t, "run", "one", "--out", run); a.code != command.ExitOK {
		t.Fatalf("a good folder: exit code %d: %s", a.code, a.said)
	}
	if a := ask(t, "capture", run, "--link", "tor0-agg0", "--out", link); a.code != command.ExitUsage || !strings.Contains(a.said, link+": not yours alone: it is a link of user 65534") {
		t.Errorf("capture: exit code %d: %s; want 2 and the link's name", a.code, a.said)
	}
	if text, err := os.ReadFile(target); err != nil || string(text) != "secret" {
		t.Errorf("the target of the links is now %q, %v", text, err)
	}
}

// A path with a colon cannot be mounted into containers.
func TestFolderWithAColon(t *testing.T) {
	t.Setenv("PATH", builtPrograms(t)+":"+os.Getenv("PATH"))
	t.Setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
	dir := filepath.Join(t.TempDir(), "a:b")
	if a := ask(t, "run", "one", "--runtime", "containerlab", "--out", dir); a.code != command.ExitUsage || !strings.Contains(a.said, "run folder "+dir+": a path with a colon") {
		t.Errorf("exit code %d: %s; want 2 and the folder's name", a.code, a.said)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder was made: %v", err)
	}
	if a := ask(t, "run", "one", "--out", dir); a.code != command.ExitOK {
		t.Errorf("in one process: exit code %d: %s", a.code, a.said)
	}
}

// One changed digit in a file of the run ends report with exit code 3 and the file's name,
// in every form, and capture too.
func TestReportOfAChangedFolder(t *testing.T) {
	t.Setenv("PATH", builtPrograms(t)+":"+os.Getenv("PATH"))
	dir := filepath.Join(t.TempDir(), "run")
	if a := ask(t, "run", "one", "--out", dir); a.code != command.ExitOK {
		t.Fatalf("exit code %d: %s", a.code, a.said)
	}
	for _, name := range []string{"manifest.json", "summary.json", "experiment.yaml", "log.jsonl", "ports.parquet", "phases.parquet"} {
		path := filepath.Join(dir, name)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(whole) == 0 {
			continue // this run has nothing to log
		}
		changed := append([]byte(nil), whole...)
		at := len(changed) / 2
		for i, c := range changed {
			if strings.HasSuffix(name, "parquet") {
				break
			}
			if c >= '2' && c <= '8' { // the digit stays a digit
				at = i
			}
		}
		changed[at] ^= 1
		if err := os.WriteFile(path, changed, 0o644); err != nil {
			t.Fatal(err)
		}
		for _, form := range []string{"", "--json", "--markdown"} {
			args := []string{"report", dir}
			if form != "" {
				args = append(args, form)
			}
			if a := ask(t, args...); a.code != command.ExitInfrastructure || !strings.Contains(a.said, name) {
				t.Errorf("%s, report %s: exit code %d: %.300s; want 3 and the file's name", name, form, a.code, a.said)
			}
		}
		if err := os.WriteFile(path, whole, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if a := ask(t, "report", dir); a.code != command.ExitOK {
		t.Errorf("the folder as it was: exit code %d: %s", a.code, a.said)
	}
}
