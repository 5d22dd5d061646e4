package own_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/csiglab/csiglab/internal/own"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s: %q, %v, want %q", path, got, err, want)
	}
}

// No way of writing a new file follows a link; Output follows one's own alone.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	write(t, target, "secret")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	if _, err := own.NewFile(link, 0o600); !errors.Is(err, os.ErrExist) {
		t.Errorf("NewFile: %v, want ErrExist", err)
	}
	content(t, target, "secret")
	if err := own.WriteFile(link, []byte("new"), 0o640); err != nil {
		t.Error(err)
	}
	content(t, target, "secret")
	content(t, link, "new")
	if info, err := os.Lstat(link); err != nil || info.Mode() != 0o640 {
		t.Errorf("%v, %v, want a file of mode 0640", info.Mode(), err)
	}
	mine := filepath.Join(dir, "mine")
	if err := os.Symlink(target, mine); err != nil {
		t.Fatal(err)
	}
	f, err := own.Output(mine)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("through")); err != nil {
		t.Error(err)
	}
	if err := f.Commit(); err != nil {
		t.Error(err)
	}
	content(t, target, "through")
	if os.Geteuid() != 0 {
		return
	}
	if err := os.Lchown(mine, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	if _, err := own.Output(mine); !errors.Is(err, own.ErrForeign) || !strings.Contains(err.Error(), mine+": not yours alone: it is a link of user 65534") {
		t.Errorf("a link of another user: %v", err)
	}
	content(t, target, "through")
}

func TestInput(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "file")
	write(t, name, "12345")
	if got, err := own.ReadFile(name, 5); err != nil || string(got) != "12345" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := own.ReadFile(name, 4); err == nil || err.Error() != "5 bytes are too many; the most is 4" {
		t.Errorf("4 bytes at most: %v", err)
	}
	// A file that grows while it is read.
	f, err := own.Input(name, 5)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	write(t, name, "1234567890")
	if _, err := io.ReadAll(f); err == nil || !strings.Contains(err.Error(), "too many; the most is 5") {
		t.Errorf("a file that grew: %v", err)
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		pipe: "not a regular file, but a named pipe", dir: "not a regular file, but a folder",
		"/dev/zero": "not a regular file, but a device", filepath.Join(dir, "none"): "no such file or directory",
	} {
		if _, err := own.Input(path, 100); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}
