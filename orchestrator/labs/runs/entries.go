package runs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/internal/cause"
)

// The list is a folder with a file ID.json for each run, the socket ID.sock of a lab
// that is held, the socket ID.enter of a run that takes commands, and the file ID.lock,
// which the run's process keeps locked. The folder exists only while something is in it.
const (
	entrySuffix  = ".json"
	freshSuffix  = ".json.new" // while the entry is written
	socketSuffix = ".sock"
	lockSuffix   = ".lock"
	enterSuffix  = ".enter" // the socket at which commands enter the run
)

// isID reports whether a text can be the id of a run.
func isID(text string) bool { return text != "" && strings.Trim(text, "0123456789abcdef") == "" }

// maxEntry bounds an entry's file. The entry of a node has less than 1 kB.
const maxEntry = 64 << 20

// Damaged is an entry of the list that cannot be read. It may be of a run that goes on.
type Damaged struct {
	ID   string // of the run, by the file's name
	File string
	Err  error // what is wrong with it
}

// Error returns the entry's file and what is wrong with it.
func (d Damaged) Error() string { return fmt.Sprintf("%s: %v", d.File, d.Err) }

// folder returns the directory of the list, which is one user's.
func folder() string {
	switch dir := os.Getenv("XDG_RUNTIME_DIR"); {
	case inherited() != "":
		return inherited()
	case os.Geteuid() == 0:
		return "/run/csiglab"
	case dir != "":
		return filepath.Join(dir, "csiglab")
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("csiglab-%d", os.Getuid()))
}

// checkFolder returns an error unless this user has made the folder of the list: where
// all users may write, another user may have made a folder of that name. The error is
// fs.ErrNotExist if there is no list yet.
func checkFolder() error {
	dir := folder()
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() || info.Sys().(*syscall.Stat_t).Uid != uint32(os.Geteuid()) || info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s is not a folder that is this user's alone", dir)
	}
	return nil
}

func file(id string) string { return filepath.Join(folder(), id+entrySuffix) }

// lockTime is how long another process may keep the list locked. It needs less than a
// millisecond, unless it is stopped meanwhile.
const lockTime = 5 * time.Second

// locked calls do while no other process changes the files of the list. If the list does
// not exist, locked makes it if wanted is set, and otherwise does nothing. At the end it
// removes the folder if it is empty.
func locked(wanted bool, do func() error) error {
	for deadline := time.Now().Add(lockTime); ; time.Sleep(time.Millisecond) {
		if wanted {
			if err := os.MkdirAll(folder(), 0o700); err != nil {
				return err
			}
		}
		err := checkFolder()
		if errors.Is(err, fs.ErrNotExist) {
			if !wanted {
				return nil
			}
			continue // removed in between
		}
		if err != nil {
			return err
		}
		dir, err := os.Open(folder())
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		err = unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil && isFolder(dir) {
			defer dir.Close() // unlocks it
			err = do()
			os.Remove(folder()) // fails if something is in it, or if it is a mount point
			return err
		}
		dir.Close()
		if err != nil && !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("lock %s: %w", folder(), err)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("another csiglab has kept %s locked for %v; is it stopped?", folder(), lockTime)
		}
	}
}

// isFolder reports whether an open folder still is that of the list: it may have been
// removed since, and made again.
func isFolder(dir *os.File) bool {
	open, err1 := dir.Stat()
	now, err2 := os.Lstat(folder())
	return err1 == nil && err2 == nil && os.SameFile(open, now)
}

// record writes a run's file atomically: a reader sees the old or the new one. While the
// list is locked, it calls first before that.
func record(r Run, first func() error) error {
	r.State = ""
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return locked(true, func() error {
		fresh := filepath.Join(folder(), r.ID+freshSuffix)
		err := first()
		if err == nil {
			err = os.WriteFile(fresh, append(text, '\n'), 0o600)
		}
		if err == nil {
			err = os.Rename(fresh, file(r.ID))
		}
		if err != nil {
			os.Remove(fresh) // the first error says more
		}
		return err
	})
}

// lockRun makes the file of a run's lock, and locks it for as long as this process lives
// and the file is open. By the lock processes of other PID namespaces learn that it lives.
func lockRun(id string) (*os.File, error) {
	lock, err := os.OpenFile(lockFile(id), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		lock.Close()
		return nil, fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	return lock, nil
}

func lockFile(id string) string { return filepath.Join(folder(), id+lockSuffix) }

// lockedLife returns the life of a run's process as the run's lock shows it. It is not
// known without a lock's file.
func lockedLife(id string) Life {
	lock, err := os.OpenFile(lockFile(id), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return LifeUnknown
	}
	defer lock.Close() // unlocks it
	switch err := unix.Flock(int(lock.Fd()), unix.LOCK_SH|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		return Lives
	case err != nil:
		return LifeUnknown
	}
	return Died
}

// forget removes the files of a run, also if its entry is damaged.
func forget(id string) error {
	err := locked(false, func() error {
		var errs []error
		for _, suffix := range []string{entrySuffix, freshSuffix, socketSuffix, enterSuffix, lockSuffix} {
			errs = append(errs, os.RemoveAll(filepath.Join(folder(), id+suffix)))
		}
		return errors.Join(errs...)
	})
	if err != nil {
		return fmt.Errorf("forget run %s: %w", id, err)
	}
	return nil
}

// tidy removes what a csiglab that was killed while it changed the list has left there,
// and returns the names of the files.
func tidy() (removed []string, err error) {
	err = locked(false, func() error {
		files, err := os.ReadDir(folder())
		if err != nil {
			return err
		}
		for _, f := range files {
			if !orphan(f.Name()) {
				continue
			}
			name := filepath.Join(folder(), f.Name())
			if err := os.RemoveAll(name); err != nil {
				return err
			}
			removed = append(removed, name)
		}
		return nil
	})
	return removed, err
}

// orphan reports whether a file in the folder of the list, which is locked, belongs to no
// entry.
func orphan(name string) bool {
	if strings.HasSuffix(name, freshSuffix) {
		return true // no entry is being written now
	}
	for _, suffix := range []string{socketSuffix, enterSuffix, lockSuffix} {
		if id, ok := strings.CutSuffix(name, suffix); ok {
			_, err := os.Lstat(file(id))
			return errors.Is(err, fs.ErrNotExist)
		}
	}
	return false
}

// entries reads the list. An entry that cannot be read does not hide the others.
func entries() (list []Run, damaged []Damaged, err error) {
	if err := checkFolder(); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil, nil
		}
		return nil, nil, err
	}
	files, err := os.ReadDir(folder())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	for _, f := range files {
		id, ok := strings.CutSuffix(f.Name(), entrySuffix)
		if !ok {
			continue
		}
		r, err := readEntry(file(id))
		if err == nil && r.ID != id {
			err = fmt.Errorf("it is of run %q", r.ID)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist): // its run has just ended
		case err != nil:
			damaged = append(damaged, Damaged{ID: id, File: file(id), Err: err})
		default:
			list = append(list, r)
		}
	}
	return list, damaged, nil
}

// readEntry reads an entry's file, which must be a file of this user.
func readEntry(name string) (r Run, err error) {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		if errors.Is(err, unix.ELOOP) {
			return r, errors.New("it is a symbolic link")
		}
		return r, cause.Of(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return r, cause.Of(err)
	}
	switch owner := info.Sys().(*syscall.Stat_t).Uid; {
	case !info.Mode().IsRegular():
		return r, errors.New("it is not a regular file")
	case owner != uint32(os.Geteuid()):
		return r, fmt.Errorf("it belongs to user %d", owner)
	case info.Size() > maxEntry:
		return r, fmt.Errorf("it has %d bytes; an entry has at most %d", info.Size(), maxEntry)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxEntry))
	if err != nil {
		return r, cause.Of(err)
	}
	return r, json.Unmarshal(text, &r)
}
