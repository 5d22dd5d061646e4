package runs

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// lock is the file that the holder of a run has locked for as long as it lives.
func lock(id string) string { return filepath.Join(folder(), id+".lock") }

// hold locks the lock file of a run. The kernel releases it when this process dies.
func hold(id string) (*os.File, error) {
	f, err := os.OpenFile(lock(id), os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX); err != unix.EINTR {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, &os.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
	return f, nil
}

// locked reports whether a living process has locked the lock file of a run.
func locked(id string) bool {
	f, err := os.OpenFile(lock(id), os.O_RDWR|unix.O_NOFOLLOW, 0)
	if err != nil {
		return false
	}
	defer f.Close() // and with it the lock, if this process has got it
	return unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) == unix.EWOULDBLOCK
}
