// Package checkout gives tests files of the checkout, and public ones of the
// folder shared beside it.
package checkout

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Repository returns the folder of go.mod.
func Repository(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
}

// Shared returns the path of a file or folder in ../shared, such as
// "fixtures/x.topo", and skips the test where that is absent.
func Shared(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(Repository(t), "..", "shared", name)
	_, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		t.Skipf("%s is not beside this checkout: %v", name, err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Open opens a file in ../shared until the test ends, and skips the test where that
// is absent.
func Open(t testing.TB, name string) *os.File {
	t.Helper()
	f, err := os.Open(Shared(t, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// NeedModules skips a test that compiles programs where the module cache is another user's.
func NeedModules(t testing.TB) {
	t.Helper()
	out, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err == nil {
		_, err = os.ReadDir(strings.TrimSpace(string(out)))
	}
	if err != nil {
		t.Skip("there is no module cache to build from: ", err)
	}
}

// LeftOut is what tests say of all or some of their cases where these take long: with -short,
// as in make test and make race, or under the race detector. CI then runs those tests alone
// with neither.
const LeftOut = "left out: "

// Long reports whether -short asks to leave out what takes long, and says so.
func Long(t testing.TB) bool {
	t.Helper()
	if testing.Short() {
		t.Log(LeftOut + "what takes long")
	}
	return testing.Short()
}

// SkipLong skips a test that takes long if go test has -short.
func SkipLong(t testing.TB) {
	t.Helper()
	if Long(t) {
		t.SkipNow()
	}
}

// SlowRace reports whether there is the race detector, under which much takes long and finds
// nothing more, and says so.
func SlowRace(t testing.TB) bool {
	t.Helper()
	if RaceDetector {
		t.Log(LeftOut + "what takes long under the race detector")
	}
	return RaceDetector
}

// SkipSlowRace skips a test that takes long under the race detector and finds nothing more
// with it.
func SkipSlowRace(t testing.TB) {
	t.Helper()
	if SlowRace(t) {
		t.SkipNow()
	}
}
