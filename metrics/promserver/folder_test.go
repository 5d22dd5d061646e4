package promserver_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/metrics/promserver"
)

// What a killed server left is removed; what lives, what is a link, and what is another user's
// stays.
func TestRemoveLeft(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	living, err := promserver.New(promserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer living.Close()
	stays, err := filepath.Glob(filepath.Join(temp, "csiglab-serve-*"))
	if err != nil || len(stays) != 1 {
		t.Fatalf("%v, %v", stays, err)
	}

	child := exec.Command(os.Args[0], "-test.run", "^TestServerThatIsKilled$")
	child.Env = append(os.Environ(), "PROMSERVER_KILLED=1")
	if out, err := child.CombinedOutput(); err == nil {
		t.Fatalf("it was not killed: %s", out)
	}
	elsewhere, link := t.TempDir(), filepath.Join(temp, "csiglab-serve-link")
	if err := os.Symlink(elsewhere, link); err != nil {
		t.Fatal(err)
	}
	stays = append(stays, link)
	if os.Geteuid() == 0 {
		foreign := filepath.Join(temp, "csiglab-serve-foreign")
		if err := os.Mkdir(foreign, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(foreign, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		stays = append(stays, foreign)
	}
	removed, err := own.RemoveLeft("", own.ServerFolders)
	if err != nil || len(removed) != 1 || !strings.Contains(removed[0], temp+"/csiglab-serve-") {
		t.Errorf("removed %q, %v, want one folder", removed, err)
	}
	left, err := filepath.Glob(filepath.Join(temp, "*"))
	slices.Sort(stays)
	if err != nil || !slices.Equal(left, stays) {
		t.Errorf("left %q, %v, want %q", left, err, stays)
	}
	if removed, err := own.RemoveLeft("", own.ServerFolders); err != nil || len(removed) != 0 {
		t.Errorf("again: removed %q, %v", removed, err)
	}
}

// TestServerThatIsKilled is a process of TestRemoveLeft.
func TestServerThatIsKilled(t *testing.T) {
	if os.Getenv("PROMSERVER_KILLED") == "" {
		t.Skip("a process of TestRemoveLeft")
	}
	if _, err := promserver.New(promserver.Config{}); err != nil {
		os.Exit(0) // it should have been killed
	}
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		self.Kill() //nolint:errcheck // then it ends with 0
	}
	select {}
}
