package own_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/csiglab/csiglab/internal/own"
)

func TestReadTrusted(t *testing.T) {
	dir := t.TempDir()
	name, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	write(t, name, "text")
	if err := os.Symlink(name, link); err != nil {
		t.Fatal(err)
	}
	check := func(what string, foreign bool) {
		t.Helper()
		for _, path := range []string{name, link} {
			got, err := own.ReadTrusted(path, 10)
			if errors.Is(err, own.ErrForeign) != foreign || !foreign && (err != nil || string(got) != "text") {
				t.Errorf("%s, %s: %q, %v", what, path, got, err)
			}
		}
	}
	check("own file", false)
	for mode, foreign := range map[os.FileMode]bool{0o644: false, 0o664: false, 0o646: true} {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
		check(mode.String(), foreign)
	}
	if os.Geteuid() != 0 {
		return
	}
	os.Chmod(name, 0o664)
	if err := os.Chown(name, 0, 7); err != nil {
		t.Fatal(err)
	}
	check("another group", true)
	os.Chmod(name, 0o644)
	if err := os.Lchown(link, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	if _, err := own.ReadTrusted(link, 10); !errors.Is(err, own.ErrForeign) {
		t.Errorf("a link of another user: %v", err)
	}
	if err := os.Chown(name, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	check("another user's file", true)
}

func TestReadSecret(t *testing.T) {
	name := filepath.Join(t.TempDir(), "token")
	write(t, name, "secret")
	for _, mode := range []os.FileMode{0o600, 0o400, 0o640, 0o604, 0o620, 0o601} {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
		got, err := own.ReadSecret(name, 10)
		if shared := mode&0o077 != 0; errors.Is(err, own.ErrShared) != shared || !shared && string(got) != "secret" {
			t.Errorf("mode %v: %q, %v", mode, got, err)
		}
	}
	want := "others may read it (mode 0601), and it holds a secret; chmod 600 " + name
	if _, err := own.ReadSecret(name, 10); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
