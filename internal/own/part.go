package own

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Part is a file that is being written, beside its place. Until Commit, what was there
// before stays as it is. The part has no name where the file system can do that, so that
// kill -9 leaves nothing. Permissions are those of the former file; those of a new file obey
// the umask.
type Part struct {
	file  *os.File
	place string // "": the file is written itself, as a pipe is
	name  string // "": it has none
	fresh bool   // it takes no other file's place
	ended bool
}

// Create begins a file that the user names. It follows a link only if that is the user's or
// root's; otherwise the error wraps ErrForeign. A name that stands for something else than a
// regular file, such as a pipe, is written itself, and so is a file that the user may not
// replace: of another user, or in a folder where the user may make none.
func Create(name string, perm fs.FileMode) (*Part, error) {
	info, err := os.Lstat(name)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if err := checkLink(name, info); err != nil {
			return nil, err
		}
		if info, err = os.Stat(name); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: a link to a file that is not there: %w", name, fs.ErrNotExist)
		}
		if err == nil && info.Mode().IsRegular() {
			name, err = filepath.EvalSymlinks(name)
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Replace(name, perm)
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		file, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		return &Part{file: file}, nil
	}
	p, err := Replace(name, perm)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return inPlace(name)
	}
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(name, os.O_WRONLY|syscall.O_NOFOLLOW, 0) // may the user write it?
	if err == nil {
		file.Close()
		var fresh fs.FileInfo
		if fresh, err = p.file.Stat(); err == nil {
			is, was := fresh.Sys().(*syscall.Stat_t), info.Sys().(*syscall.Stat_t)
			if is.Uid != was.Uid && p.file.Chown(int(was.Uid), int(was.Gid)) != nil {
				p.Discard()
				return inPlace(name) // so that it stays its owner's
			}
			err = p.file.Chmod(info.Mode().Perm())
		}
	}
	if err != nil {
		p.Discard()
		return nil, err
	}
	return p, nil
}

// CreateNew begins a file that takes no other file's place: Commit returns an error that
// wraps fs.ErrExist if there is something of that name.
func CreateNew(name string, perm fs.FileMode) (*Part, error) {
	p, err := Replace(name, perm)
	if err != nil {
		return nil, err
	}
	p.fresh = true
	return p, nil
}

// inPlace begins a file that the user may write, but not replace.
func inPlace(name string) (*Part, error) {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_TRUNC|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	return &Part{file: file}, nil
}

// Replace begins a regular file. A link of its name is replaced, not followed.
func Replace(place string, perm fs.FileMode) (*Part, error) {
	dir := filepath.Dir(place)
	if fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, uint32(perm)); err == nil {
		return &Part{file: os.NewFile(uintptr(fd), place), place: place}, nil
	}
	var err error
	for range 100 { // names that are taken
		name := beside(place)
		var file *os.File
		if file, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, perm); err == nil {
			return &Part{file: file, place: place, name: name}, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return nil, err
}

// beside returns a name for the part of a file. It is short, as the file's own name may be
// as long as names can be.
func beside(place string) string {
	return filepath.Join(filepath.Dir(place), ".csiglab-part-"+strconv.FormatUint(rand.Uint64(), 36))
}

// Write implements io.Writer.
func (p *Part) Write(b []byte) (int, error) { return p.file.Write(b) }

// File returns the open file, which the part closes.
func (p *Part) File() *os.File { return p.file }

// Commit waits until the content is on the disk and puts it in its place. After an error,
// what was there before is still there.
func (p *Part) Commit() (err error) {
	if p.ended {
		return fs.ErrClosed
	}
	if p.place == "" {
		p.ended = true
		return p.file.Close()
	}
	defer p.Discard()
	if err := p.file.Sync(); err != nil {
		return err
	}
	for name := p.place; p.name == ""; name = beside(p.place) {
		err := unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", p.file.Fd()), unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW)
		switch {
		case err == nil && name == p.place: // nothing had this name
			return nil
		case err == nil:
			p.name = name
		case !errors.Is(err, fs.ErrExist):
			return p.copy(err)
		case p.fresh:
			return err
		}
	}
	if p.fresh {
		return os.Link(p.name, p.place)
	}
	if err := os.Rename(p.name, p.place); err != nil {
		return err
	}
	p.name = ""
	return nil
}

// copy commits a part that cannot be given a name, such as without /proc, through one that
// has a name.
func (p *Part) copy(reason error) error {
	info, err := p.file.Stat()
	if err != nil {
		return errors.Join(reason, err)
	}
	named := &Part{place: p.place, name: beside(p.place), fresh: p.fresh}
	named.file, err = os.OpenFile(named.name, os.O_RDWR|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, info.Mode().Perm())
	if err != nil {
		return errors.Join(reason, err)
	}
	defer named.Discard()
	_, err = io.Copy(named.file, io.NewSectionReader(p.file, 0, info.Size()))
	if err == nil {
		err = named.file.Chmod(info.Mode().Perm())
	}
	if err != nil {
		return errors.Join(reason, err)
	}
	return named.Commit()
}

// Discard closes the part and removes it. After Commit it does nothing.
func (p *Part) Discard() {
	if p.ended {
		return
	}
	p.ended = true
	p.file.Close() // it is removed, or synced
	if p.name != "" {
		os.Remove(p.name) // the first error is the cause
	}
}

// WriteFile writes a file as a whole: a reader sees the old one or the new one, and so does
// whoever comes after a kill or a full disk. A link of that name is replaced, not followed.
func WriteFile(name string, data []byte, perm fs.FileMode) error {
	return WriteTo(name, perm, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// WriteTo is as WriteFile; write produces the content.
func WriteTo(name string, perm fs.FileMode, write func(io.Writer) error) error {
	p, err := Replace(name, perm)
	if err != nil {
		return err
	}
	defer p.Discard()
	if err := write(p.file); err != nil {
		return err
	}
	return p.Commit()
}
