package own

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/csiglab/csiglab/internal/cause"
)

// ErrShared is wrapped by the errors about secrets that other users may read.
var ErrShared = errors.New("others may read it")

// ReadTrusted returns the content of an Input that only this user and root may have written.
// If another user owns the file or a link to it, or may write in it, the error wraps
// ErrForeign.
func ReadTrusted(name string, most int64) ([]byte, error) {
	for _, stat := range []func(string) (fs.FileInfo, error){os.Lstat, os.Stat} {
		info, err := stat(name)
		if err == nil {
			err = trusted(info)
		}
		if err != nil {
			return nil, cause.Of(err)
		}
	}
	return read(name, most, trusted)
}

// ReadSecret returns the content of an Input that only its owner may read. The error wraps
// ErrShared if the permissions give anything to others.
func ReadSecret(name string, most int64) ([]byte, error) {
	return read(name, most, func(info fs.FileInfo) error {
		if mode := info.Mode().Perm(); mode&0o077 != 0 {
			return fmt.Errorf("%w (mode %04o), and it holds a secret; chmod 600 %s", ErrShared, mode, name)
		}
		return nil
	})
}

// read returns the content of an Input of which check accepts the open file.
func read(name string, most int64, check func(fs.FileInfo) error) ([]byte, error) {
	f, err := Input(name, most)
	if err != nil {
		return nil, err
	}
	defer f.Close() // opened for reading
	info, err := f.file.Stat()
	if err == nil {
		err = check(info)
	}
	if err != nil {
		return nil, cause.Of(err)
	}
	data, err := io.ReadAll(f)
	return data, cause.Of(err)
}

// trusted refuses what another user owns or may write in. Everybody may write in a link.
func trusted(info fs.FileInfo) error {
	stat := info.Sys().(*syscall.Stat_t)
	mode := info.Mode()
	if mode&fs.ModeSymlink != 0 {
		mode &^= fs.ModePerm
	}
	switch {
	case stat.Uid != 0 && int(stat.Uid) != os.Geteuid():
		return fmt.Errorf("%w: it belongs to user %d", ErrForeign, stat.Uid)
	case mode&0o002 != 0:
		return fmt.Errorf("%w: everybody may write in it", ErrForeign)
	case mode&0o020 != 0 && int(stat.Gid) != os.Getegid():
		return fmt.Errorf("%w: group %d may write in it", ErrForeign, stat.Gid)
	}
	return nil
}
