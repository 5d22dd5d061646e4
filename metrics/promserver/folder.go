package promserver

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

const folderPrefix = "csiglab-serve-"

// folder is a temporary folder whose owner holds it by a lock, which ends with the process.
type folder struct {
	path string
	held *os.File
}

func newFolder() (*folder, error) {
	for {
		path, err := os.MkdirTemp("", folderPrefix)
		if err != nil {
			return nil, err
		}
		f, err := hold(path, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue // RemoveLeft was faster than the lock
		}
		if err != nil {
			return nil, errors.Join(err, os.RemoveAll(path))
		}
		return f, nil
	}
}

// hold locks a folder of this user. The error is fs.ErrNotExist if it is no longer there.
func hold(path string, flags int) (*folder, error) {
	held, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(held.Fd()), unix.LOCK_EX|flags)
	var is, there os.FileInfo
	if err == nil {
		is, err = held.Stat()
	}
	if err == nil {
		there, err = os.Lstat(path)
	}
	if err == nil && !os.SameFile(is, there) {
		err = fs.ErrNotExist
	}
	if err == nil && int(is.Sys().(*syscall.Stat_t).Uid) != os.Geteuid() {
		err = fs.ErrPermission
	}
	if err != nil {
		held.Close()
		return nil, err
	}
	return &folder{path, held}, nil
}

// remove removes the folder, and only then lets it go.
func (f *folder) remove() error {
	return errors.Join(os.RemoveAll(f.path), f.held.Close())
}

// RemoveLeft removes the folders that killed servers of this user left in the temporary
// folder, and returns them as texts. Those of servers that live stay.
func RemoveLeft() (removed []string, err error) {
	paths, err := filepath.Glob(filepath.Join(os.TempDir(), folderPrefix+"*"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		f, held := hold(path, unix.LOCK_NB)
		if held != nil {
			continue // in use, gone, or another user's
		}
		if bad := f.remove(); bad != nil {
			err = errors.Join(err, bad)
			continue
		}
		removed = append(removed, fmt.Sprintf("the folder of a server that was killed: %s", path))
	}
	return removed, err
}
