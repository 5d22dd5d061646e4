// Package programstest builds csiglab's programs for tests.
package programstest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
)

var built struct {
	once   sync.Once
	folder string
	err    error
}

// Variable is the environment variable with the folder of programs that another process has
// built; .ci/run sets it, too.
const Variable = "TEST_PROGRAMS"

// Built returns a folder with all programs, which are static, as containers need them, and
// start at once, which those under the race detector do not. TestMain calls Remove.
func Built(t testing.TB) string {
	t.Helper()
	if folder := os.Getenv(Variable); folder != "" {
		return folder
	}
	built.once.Do(func() {
		if built.folder, built.err = os.MkdirTemp("", "programs"); built.err != nil {
			return
		}
		built.err = os.Chmod(built.folder, 0o755)
		build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", built.folder, "./cmd/...")
		build.Dir = checkout.Repository(t)
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

// Remove removes what Built has made.
func Remove() { os.RemoveAll(built.folder) }
