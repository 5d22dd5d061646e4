package experiment

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/csiglab/csiglab/internal/own"
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

// openRegular opens a regular file of at most so many bytes, which must not be packed or
// in another encoding. The error does not name the file.
func openRegular(name string, most int64) (*own.File, error) {
	f, err := own.Input(name, most)
	if err != nil {
		return nil, err
	}
	start, err := f.Start(4)
	for _, form := range []struct{ start, what string }{
		{"\x1f\x8b", "compressed with gzip; unpack it first"},
		{"\x28\xb5\x2f\xfd", "compressed with zstd; unpack it first"},
		{"\xfd7zX", "compressed with xz; unpack it first"},
		{"BZh", "compressed with bzip2; unpack it first"},
		{"PK\x03\x04", "a zip archive; unpack it first"},
		{"\xff\xfe", "UTF-16; the text must be UTF-8"},
		{"\xfe\xff", "UTF-16; the text must be UTF-8"},
	} {
		if err == nil && strings.HasPrefix(string(start), form.start) {
			err = errors.New(form.what)
		}
	}
	if err != nil {
		f.Close() // opened for reading
		return nil, err
	}
	return f, nil
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

// fileStem returns the name of a file without its folder and its endings, such as lab for
// dir/lab.clab.yml.
func fileStem(name string) string {
	stem, _, _ := strings.Cut(filepath.Base(name), ".")
	return stem
}

// openInput opens a regular file of at most so many bytes. The error is an inputError.
func openInput(file string, most int64) (io.ReadCloser, error) {
	f, err := openRegular(file, most)
	if err != nil {
		return nil, inputError{fmt.Errorf("%s: %w", file, err)}
	}
	return f, nil
}
