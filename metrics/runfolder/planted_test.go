package runfolder

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func mkfifo(path string) error { return syscall.Mkfifo(path, 0o600) }

// nobody is a user other than the one that runs the tests.
const nobody = 65534

// Root follows no link that another user planted: the folder is refused, and what the
// link names is as it was.
func TestPlantedLinks(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can act for another user")
	}
	const secret = "secret"
	for _, c := range []struct {
		name  string
		plant func(dir, target string) error
		has   string
	}{
		{"a folder of another user", func(dir, target string) error {
			return errors.Join(os.Mkdir(dir, 0o755), os.Chown(dir, nobody, nobody))
		}, "belongs to user 65534"},
		{"a link in a folder of another user", func(dir, target string) error {
			return errors.Join(os.Mkdir(dir, 0o755), os.Symlink(target, filepath.Join(dir, ManifestFile+".part")), os.Chown(dir, nobody, nobody))
		}, "belongs to user 65534"},
		{"a folder for everybody", func(dir, target string) error {
			return errors.Join(os.Mkdir(dir, 0o755), os.Chmod(dir, 0o777))
		}, "everybody may write"},
		{"a folder for everybody, sticky", func(dir, target string) error {
			return errors.Join(os.Mkdir(dir, 0o755), os.Chmod(dir, 0o777|os.ModeSticky))
		}, "everybody may write"},
		{"a folder for another group", func(dir, target string) error {
			return errors.Join(os.Mkdir(dir, 0o755), os.Chmod(dir, 0o775), os.Chown(dir, 0, nobody))
		}, "group 65534 may write"},
		{"a link of another user to a folder of root", func(dir, target string) error {
			empty := filepath.Join(filepath.Dir(target), "empty")
			return errors.Join(os.Mkdir(empty, 0o755), os.Symlink(empty, dir), os.Lchown(dir, nobody, nobody))
		}, "a link of user 65534"},
	} {
		t.Run(c.name, func(t *testing.T) {
			parent := t.TempDir()
			target, dir := filepath.Join(parent, "target"), filepath.Join(parent, "run")
			if err := errors.Join(os.WriteFile(target, []byte(secret), 0o600), c.plant(dir, target)); err != nil {
				t.Fatal(err)
			}
			w, err := Create(dir, manifest())
			if !errors.Is(err, ErrNotOwn) || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), c.has) {
				t.Errorf("got %v, want ErrNotOwn with the folder's name and %q", err, c.has)
			}
			if err == nil {
				w.Abort("")
			}
			if text, err := os.ReadFile(target); err != nil || string(text) != secret {
				t.Errorf("the target of the link is now %q, %v", text, err)
			}
		})
	}
}

// What appears in the folder while it is written is not followed either.
func TestLinksThatAppear(t *testing.T) {
	parent := t.TempDir()
	target, dir := filepath.Join(parent, "target"), filepath.Join(parent, "run")
	if err := os.WriteFile(target, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := must(Create(dir, manifest()))(t)
	for _, name := range []string{ManifestFile + ".part", SummaryFile + ".part", SummaryFile, ExperimentFile + ".part", ExperimentFile} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Experiment([]byte("schema: 1\n")), addRun(w, "base", 1, RunData{}), w.Finish(summary())); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(target); err != nil || string(text) != "secret" {
		t.Errorf("the target of the links is now %q, %v", text, err)
	}
	if err := readAll(dir); err != nil {
		t.Error(err)
	}
}

// One's own folders may be links, below folders of anybody, and in /tmp.
func TestOwnFolders(t *testing.T) {
	parent := t.TempDir()
	if os.Geteuid() == 0 {
		if err := os.Chown(parent, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(parent, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(parent, "disk")
	if err := errors.Join(os.Mkdir(other, 0o755), os.Symlink(other, filepath.Join(parent, "link")), os.Mkdir(filepath.Join(parent, "group"), 0o755), os.Chmod(filepath.Join(parent, "group"), 0o775)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"link", "group", "new", "a/b/new", "link/run"} {
		if name == "link/run" {
			if err := errors.Join(os.RemoveAll(other), os.Mkdir(other, 0o755)); err != nil {
				t.Fatal(err)
			}
		}
		w, err := Create(filepath.Join(parent, name), manifest())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := w.Abort("test"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
