package experiment

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

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
	f, err := openRegular(name)
	if err != nil {
		return name, fmt.Errorf("file %s: %w", name, err)
	}
	return name, f.Close()
}

// openRegular opens a regular file. Others, such as a folder, would fail later and
// with a worse message, or wait for a writer. The error does not name the file.
func openRegular(name string) (*os.File, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, cause.Of(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, cause.Of(err)
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

// openInput opens a regular file. The error is an inputError.
func openInput(file string) (*os.File, error) {
	f, err := openRegular(file)
	if err != nil {
		return nil, inputError{fmt.Errorf("%s: %w", file, err)}
	}
	return f, nil
}
