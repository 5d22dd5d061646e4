package experiment

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/internal/spelling"
)

// inputFile returns the absolute name of a file given relative to dir, which
// must be a file that can be read.
func inputFile(dir, name string) (string, error) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	name, err := filepath.Abs(name)
	if err != nil {
		return name, err
	}
	f, err := openRegular(name, math.MaxInt64)
	if err != nil {
		return name, fmt.Errorf("file %s: %w", name, err)
	}
	return name, f.Close()
}

// silence is how long a file may give nothing before it counts as one that waits, such as
// /proc/kmsg, which says that it is a regular file.
const silence = 3 * time.Second

// openRegular opens a regular file of at most so many bytes. Others, such as a folder,
// would fail later and with a worse message, give bytes without end or wait for a
// writer. The error does not name the file.
func openRegular(name string, most int64) (*os.File, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, cause.Of(err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("not a regular file, but %s", kindOfFile(info.Mode()))
	}
	// Should it be another file by now, opening it does not wait.
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, cause.Of(err)
	}
	if err := checkOpen(f, most); err != nil {
		f.Close() // opened for reading
		return nil, err
	}
	return f, nil
}

// checkOpen refuses an open file that is not regular, too large, or not text.
func checkOpen(f *os.File, most int64) error {
	info, err := f.Stat()
	switch {
	case err != nil:
		return cause.Of(err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("not a regular file, but %s", kindOfFile(info.Mode()))
	case info.Size() > most:
		return fmt.Errorf("%d bytes are too many; the most is %d", info.Size(), most)
	case info.Size() == 0 && most < math.MaxInt64:
		// Files of the kernel do not say their size.
		if err := f.SetReadDeadline(time.Now().Add(silence)); err != nil && !errors.Is(err, os.ErrNoDeadline) {
			return cause.Of(err)
		}
		return nil
	}
	start := make([]byte, 4)
	n, err := f.ReadAt(start, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return cause.Of(err)
	}
	for _, form := range []struct{ start, what string }{
		{"\x1f\x8b", "compressed with gzip; unpack it first"},
		{"\x28\xb5\x2f\xfd", "compressed with zstd; unpack it first"},
		{"\xfd7zX", "compressed with xz; unpack it first"},
		{"BZh", "compressed with bzip2; unpack it first"},
		{"PK\x03\x04", "a zip archive; unpack it first"},
		{"\xff\xfe", "UTF-16; the text must be UTF-8"},
		{"\xfe\xff", "UTF-16; the text must be UTF-8"},
	} {
		if strings.HasPrefix(string(start[:n]), form.start) {
			return errors.New(form.what)
		}
	}
	return nil
}

// kindOfFile names a kind of file that is not regular.
func kindOfFile(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a folder"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "a file of another kind"
}

// bounded reads a file whose size is checked again while it is read, because it may grow
// and files of the kernel do not say their size.
type bounded struct {
	*os.File
	left int64
}

// Read implements io.Reader. The error does not name the file.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.File.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errors.New("more bytes than the limit")
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return 0, fmt.Errorf("it gave nothing for %v", silence)
	}
	return n, err
}

// nearestFile returns the file in name's folder whose name is like it, or "".
func nearestFile(name string) string {
	entries, err := os.ReadDir(filepath.Dir(name))
	if err != nil {
		return ""
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() && e.Name() != filepath.Base(name) {
			names = append(names, e.Name())
		}
	}
	return spelling.Nearest(filepath.Base(name), names)
}

// openInput opens a regular file of at most so many bytes. The error is an inputError.
func openInput(file string, most int64) (io.ReadCloser, error) {
	f, err := openRegular(file, most)
	if err != nil {
		return nil, inputError{fmt.Errorf("%s: %w", file, err)}
	}
	return &bounded{f, most}, nil
}
