// Package own opens files and folders such that nobody else decides what is written or
// read: no link that another user planted is followed, no file is waited for or read
// without end. It knows nothing of what is in them.
package own

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/csiglab/csiglab/internal/cause"
)

// ErrForeign is wrapped by the errors about folders and links of somebody else.
var ErrForeign = errors.New("not yours alone")

// Folder opens a folder to write into, and makes it and the folders above it if it is
// not there. The folder must belong to the effective user, and nobody else may write in
// it, except the user's own group. A link to it must be the user's or root's; folders
// above it may be anybody's. The error wraps ErrForeign if the folder is not as said.
func Folder(dir string) (*os.Root, error) {
	if err := os.MkdirAll(filepath.Dir(filepath.Clean(dir)), 0o755); err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		if err := checkLink(dir, info); err != nil {
			return nil, err
		}
		if dir, err = filepath.EvalSymlinks(dir); err != nil {
			return nil, err
		}
		if info, err = os.Lstat(dir); err != nil {
			return nil, err
		}
	}
	if !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: syscall.ENOTDIR}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	if err := checkFolder(dir, info, root); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}

// checkFolder checks the folder that was opened, which must be the one that info is of.
func checkFolder(dir string, info fs.FileInfo, root *os.Root) error {
	opened, err := root.Stat(".")
	if err != nil {
		return err
	}
	stat := opened.Sys().(*syscall.Stat_t)
	switch mode := opened.Mode().Perm(); {
	case !os.SameFile(info, opened):
		return fmt.Errorf("%s: %w: it was exchanged for another folder", dir, ErrForeign)
	case int(stat.Uid) != os.Geteuid():
		return fmt.Errorf("%s: %w: it belongs to user %d", dir, ErrForeign, stat.Uid)
	case mode&0o002 != 0:
		return fmt.Errorf("%s: %w: everybody may write in it", dir, ErrForeign)
	case mode&0o020 != 0 && int(stat.Gid) != os.Getegid():
		return fmt.Errorf("%s: %w: group %d may write in it", dir, ErrForeign, stat.Gid)
	}
	return nil
}

// checkLink refuses a link that is neither the user's nor root's.
func checkLink(name string, info fs.FileInfo) error {
	if uid := int(info.Sys().(*syscall.Stat_t).Uid); uid != os.Geteuid() && uid != 0 {
		return fmt.Errorf("%s: %w: it is a link of user %d", name, ErrForeign, uid)
	}
	return nil
}

// NewFile makes a file that is not there yet, not even as a link.
func NewFile(name string, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, perm)
}

// Output opens a file that the user names, to write it anew in its place. It follows a link only if
// that is the user's or root's; otherwise the error wraps ErrForeign.
func Output(name string) (*Part, error) {
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	info, err := os.Lstat(name)
	switch {
	case err != nil || info.Mode()&fs.ModeSymlink == 0:
		flags |= syscall.O_NOFOLLOW // should a link appear now
	default:
		if err := checkLink(name, info); err != nil {
			return nil, err
		}
	}
	file, err := os.OpenFile(name, flags, 0o644)
	if err != nil {
		return nil, err
	}
	return &Part{file: file}, nil
}

// silence is how long a file may give nothing before it counts as one that waits, such
// as /proc/kmsg, which says that it is a regular file.
const silence = 3 * time.Second

// Input opens a regular file of at most so many bytes for reading. Another kind of file,
// such as a folder, would fail later and with a worse message, give bytes without end or
// wait for a writer. Reading fails if more bytes come, or none for Silence. The error
// does not name the file.
func Input(name string, most int64) (*File, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, cause.Of(err)
	}
	if err := regular(info, most); err != nil {
		return nil, err
	}
	// Should it be another file by now, opening it does not wait.
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, cause.Of(err)
	}
	if info, err = f.Stat(); err == nil {
		err = regular(info, most)
	}
	if err == nil && info.Size() == 0 { // files of the kernel do not say their size
		if err = f.SetReadDeadline(time.Now().Add(silence)); errors.Is(err, os.ErrNoDeadline) {
			err = nil
		}
	}
	if err != nil {
		f.Close() // opened for reading
		return nil, cause.Of(err)
	}
	return &File{f, most, most}, nil
}

// ReadFile returns the content of an Input.
func ReadFile(name string, most int64) ([]byte, error) {
	f, err := Input(name, most)
	if err != nil {
		return nil, err
	}
	defer f.Close() // opened for reading
	data, err := io.ReadAll(f)
	return data, cause.Of(err)
}

// File is an Input.
type File struct {
	file       *os.File
	most, left int64
}

// Stat describes the file.
func (f *File) Stat() (fs.FileInfo, error) { return f.file.Stat() }

// Read implements io.Reader.
func (f *File) Read(p []byte) (int, error) {
	n, err := f.file.Read(p)
	if f.left -= int64(n); f.left < 0 {
		return 0, tooLarge(f.most-f.left, f.most)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return 0, fmt.Errorf("it gave nothing for %v", silence)
	}
	return n, err
}

// Start returns at most the first n bytes without reading them.
func (f *File) Start(n int) ([]byte, error) {
	start := make([]byte, n)
	n, err := f.file.ReadAt(start, 0)
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ESPIPE) {
		err = nil
	}
	return start[:n], cause.Of(err)
}

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }

func tooLarge(size, most int64) error {
	return fmt.Errorf("%d bytes are too many; the most is %d", size, most)
}

// regular refuses a file that is not regular, or too large.
func regular(info fs.FileInfo, most int64) error {
	kind := "a file of another kind"
	switch m := info.Mode(); {
	case m.IsRegular() && info.Size() > most:
		return tooLarge(info.Size(), most)
	case m.IsRegular():
		return nil
	case m.IsDir():
		kind = "a folder"
	case m&fs.ModeNamedPipe != 0:
		kind = "a named pipe"
	case m&fs.ModeSocket != 0:
		kind = "a socket"
	case m&fs.ModeDevice != 0:
		kind = "a device"
	}
	return fmt.Errorf("not a regular file, but %s", kind)
}
