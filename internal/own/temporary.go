package own

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Temporary is a folder that its process holds by a lock, which ends with the process:
// RemoveLeft removes the folders that nobody holds.
type Temporary struct {
	Dir  string
	lock *os.File
}

// Scratch begins the names of temporary folders in that of the machine that csiglab clean
// removes when their process is gone.
const Scratch = "csiglab-tmp-"

// ServerFolders begins the names of the temporary folders of csiglab serve. The server makes
// them; the next server, and csiglab clean, remove those that killed servers have left.
const ServerFolders = "csiglab-serve-"

// NewTemporary makes a folder whose name begins with prefix, in a folder or, for "", in that
// of the machine's temporary files.
func NewTemporary(in, prefix string) (*Temporary, error) {
	for {
		dir, err := os.MkdirTemp(in, prefix)
		if err != nil {
			return nil, err
		}
		t, err := hold(dir, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue // RemoveLeft was faster than the lock
		}
		if err != nil {
			return nil, errors.Join(err, os.RemoveAll(dir))
		}
		return t, nil
	}
}

// hold locks a folder of this user. The error is fs.ErrNotExist if it is no longer there.
func hold(dir string, flags int) (*Temporary, error) {
	lock, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|flags)
	var is, there os.FileInfo
	if err == nil {
		is, err = lock.Stat()
	}
	if err == nil {
		there, err = os.Lstat(dir)
	}
	switch {
	case err != nil:
	case !os.SameFile(is, there):
		err = fs.ErrNotExist
	case int(is.Sys().(*syscall.Stat_t).Uid) != os.Geteuid():
		err = fs.ErrPermission
	}
	if err != nil {
		lock.Close()
		return nil, err
	}
	return &Temporary{dir, lock}, nil
}

// Path returns the place of a file in the folder.
func (t *Temporary) Path(name string) string { return filepath.Join(t.Dir, name) }

// Remove removes the folder, and only then lets it go.
func (t *Temporary) Remove() error {
	return errors.Join(os.RemoveAll(t.Dir), t.lock.Close())
}

// RemoveLeft removes the folders that processes of this user have left that were killed, and
// returns their places. in and prefix are those of NewTemporary.
func RemoveLeft(in, prefix string) (removed []string, err error) {
	if in == "" {
		in = os.TempDir()
	}
	entries, _ := os.ReadDir(in) // what is not seen stays
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		t, held := hold(filepath.Join(in, e.Name()), unix.LOCK_NB)
		if held != nil {
			continue // in use, gone, or another user's
		}
		if bad := t.Remove(); bad != nil {
			err = errors.Join(err, bad)
			continue
		}
		removed = append(removed, t.Dir)
	}
	return removed, err
}
