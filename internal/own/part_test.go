package own_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/internal/own"
)

func entries(t *testing.T, dir string, want ...string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range files {
		got = append(got, f.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("%s has %q, want %q", dir, got, want)
	}
}

// While a file is written, its place has what was there before, and nothing is beside it that
// a kill could leave.
func TestPart(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "file")
	for _, before := range []string{"", "old"} {
		var there []string
		if before != "" {
			if err := os.WriteFile(name, []byte(before), 0o604); err != nil {
				t.Fatal(err)
			}
			there = []string{"file"}
		} else {
			os.Remove(name)
		}
		for _, commit := range []bool{false, true} {
			p, err := own.Create(name, 0o640)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.Write([]byte("new")); err != nil {
				t.Fatal(err)
			}
			entries(t, dir, there...)
			if before != "" {
				content(t, name, before)
			}
			if commit {
				if err := p.Commit(); err != nil {
					t.Error(err)
				}
				content(t, name, "new")
				there = []string{"file"}
			}
			p.Discard()
			entries(t, dir, there...)
		}
		if err := os.Chmod(name, 0o604); err != nil {
			t.Fatal(err)
		}
	}
}

// A new file takes no other file's place, whether the file system can make files without a
// name or not.
func TestCreateNew(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "file")
	for i, want := range []error{nil, fs.ErrExist} {
		p, err := own.CreateNew(name, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Write([]byte{'0' + byte(i)}); err != nil {
			t.Error(err)
		}
		if err := p.Commit(); !errors.Is(err, want) {
			t.Errorf("Commit %d: %v, want %v", i, err, want)
		}
		content(t, name, "0")
		entries(t, dir, "file")
	}
}

// A former file keeps its permissions; those of a new one obey the umask.
func TestPartPermissions(t *testing.T) {
	dir := t.TempDir()
	mask := syscall.Umask(0o077)
	defer syscall.Umask(mask)
	former := filepath.Join(dir, "former")
	if err := os.WriteFile(former, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(former, 0o664); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(former, 65534, 65533); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		want os.FileMode
	}{{"new", 0o600}, {"former", 0o664}} {
		p, err := own.Create(filepath.Join(dir, c.name), 0o644)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Commit(); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(dir, c.name))
		if err != nil || info.Mode() != c.want {
			t.Errorf("%s: %v, %v, want %v", c.name, info.Mode(), err, c.want)
		}
		if is := info.Sys().(*syscall.Stat_t); os.Geteuid() == 0 && c.name == "former" && (is.Uid != 65534 || is.Gid != 65533) {
			t.Errorf("%s has owner %d:%d, want 65534:65533", c.name, is.Uid, is.Gid)
		}
	}
	written := filepath.Join(dir, "written")
	if err := own.WriteFile(written, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(written); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v, want 0600", info.Mode(), err)
	}
}

// A full disk leaves the former file and nothing else.
func TestPartOfAFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("csiglab", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("a small file system cannot be mounted: %v", err)
	}
	defer unix.Unmount(dir, 0) //nolint:errcheck // it is the test's own
	name := filepath.Join(dir, "file")
	if err := os.WriteFile(name, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := own.WriteFile(name, make([]byte, 1<<20), 0o644); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v, want ENOSPC", err)
	}
	p, err := own.Create(name, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Write(make([]byte, 1<<20)); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v, want ENOSPC", err)
	}
	p.Discard()
	content(t, name, "old")
	entries(t, dir, "file")
}

// Whoever may write a file but not replace it writes the file, as ever, and its owner stays;
// who may not write the file does not replace it.
func TestPartOfOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to be another user")
	}
	for _, mode := range []os.FileMode{0o755, 0o777, 0o777 | os.ModeSticky} {
		t.Run(mode.String(), func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Chmod(dir, mode); err != nil {
				t.Fatal(err)
			}
			for above := filepath.Dir(dir); above != os.TempDir() && len(above) > 1; above = filepath.Dir(above) {
				if err := os.Chmod(above, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			open, shut := filepath.Join(dir, "open"), filepath.Join(dir, "shut")
			for name, mode := range map[string]os.FileMode{open: 0o666, shut: 0o644} {
				if err := errors.Join(os.WriteFile(name, []byte("old"), 0o600), os.Chown(name, 65533, 65533), os.Chmod(name, mode)); err != nil {
					t.Fatal(err)
				}
			}
			as(t, 65534, func() {
				if _, err := own.Create(shut, 0o644); !errors.Is(err, os.ErrPermission) {
					t.Errorf("%v, want a permission error", err)
				}
				p, err := own.Create(open, 0o644)
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := p.Write([]byte("new")); err != nil {
					t.Error(err)
				}
				if err := p.Commit(); err != nil {
					t.Error(err)
				}
			})
			content(t, open, "new")
			content(t, shut, "old")
			entries(t, dir, "open", "shut")
			if info, err := os.Stat(open); err != nil || info.Sys().(*syscall.Stat_t).Uid != 65533 {
				t.Errorf("%v, owner %d, want 65533", err, info.Sys().(*syscall.Stat_t).Uid)
			}
		})
	}
}

// as calls f with the rights of another user for files, on a thread that ends with it.
func as(t *testing.T, uid int, f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if _, err := unix.SetfsuidRetUid(uid); err != nil {
			t.Error(err)
			return
		}
		if is, err := unix.SetfsuidRetUid(-1); err != nil || is != uid {
			t.Errorf("user %d for files, %v, want %d", is, err, uid)
			return
		}
		f()
	}()
	<-done
}
