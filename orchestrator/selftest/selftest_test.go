package selftest

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/nodes/emu/process"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/netns"
)

// TestMain lets the test binary be the supervisor of runs in network namespaces, and the
// programs of their nodes.
func TestMain(m *testing.M) {
	netns.Supervise()
	if name := filepath.Base(os.Args[0]); name == "csig-host" || name == "csig-switch" {
		os.Exit(process.Main())
	}
	os.Exit(m.Run())
}

// programs puts the programs of nodes on PATH.
var programs = sync.OnceValue(func() error {
	dir, err := os.MkdirTemp("", "selftest-programs-*")
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, name := range []string{"csig-host", "csig-switch"} {
		if err := os.Symlink(self, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return os.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
})

// needsNodes skips a test where nodes cannot have namespaces.
func needsNodes(t *testing.T) {
	t.Helper()
	checkout.SkipSlowRace(t)
	if err := exec.Command("unshare", "--user", "--map-root-user", "--net", "true").Run(); err != nil && os.Geteuid() != 0 {
		t.Skip("this user can make no network namespaces: ", err)
	}
}

func isReal(c test) bool { return c.kind == Parity || c.name == "lost-frame" }
