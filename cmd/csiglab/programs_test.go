package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
)

// built is where builtPrograms has put the programs.
var built struct {
	once   sync.Once
	folder string
	err    error
}

// programsEnv holds the folder of programs that another process has built.
const programsEnv = "TEST_PROGRAMS"

// builtPrograms returns a folder with the three programs, which are static, as
// containers need them, and start at once, which those under the race detector do
// not.
func builtPrograms(t *testing.T) string {
	t.Helper()
	if folder := os.Getenv(programsEnv); folder != "" {
		return folder
	}
	built.once.Do(func() {
		if built.folder, built.err = os.MkdirTemp("", "programs"); built.err != nil {
			return
		}
		built.err = os.Chmod(built.folder, 0o755)
		build := exec.Command("go", "build", "-trimpath", "-o", built.folder, ".", "../csig-host", "../csig-switch")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			built.err = errors.Join(built.err, fmt.Errorf("%v: %v\n%s", build, err, out))
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.folder
}
