package experiment

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/internal/lines"
	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/workloads/formats"
)

// absolute returns the absolute name of a file given relative to dir.
func absolute(dir, name string) (string, error) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	return filepath.Abs(name)
}

// inputFile returns the absolute name of a file given relative to dir, which
// must be a file that can be read.
func inputFile(dir, name string) (string, error) {
	name, err := absolute(dir, name)
	if err != nil {
		return name, err
	}
	f, err := lines.Open(name, math.MaxInt64)
	if err != nil {
		return name, fmt.Errorf("file %s: %w", name, err)
	}
	return name, f.Close()
}

// inputPath returns the absolute name of a file, a folder, or the beginning of the names of a
// trace's files, given relative to dir, and what is there: the name itself, or those files. Whether
// they can be read shows when they are.
func inputPath(dir, name string) (string, []string, error) {
	name, err := absolute(dir, name)
	if err != nil {
		return name, nil, err
	}
	if _, err = os.Stat(name); err == nil {
		return name, []string{name}, nil
	}
	files := formats.Files(name)
	if len(files) == 0 {
		return name, nil, fmt.Errorf("file %s: %w", name, cause.Of(err))
	}
	return name, files, nil
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
	f, err := lines.Open(file, most)
	if err != nil {
		return nil, inputError{fmt.Errorf("%s: %w", file, err)}
	}
	return f, nil
}

// readInput reads a regular file of at most so many bytes. The error is an inputError if the file
// cannot be opened.
func readInput(file string, most int64) ([]byte, error) {
	f, err := openInput(file, most)
	if err != nil {
		return nil, err
	}
	defer f.Close() // opened for reading
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return data, nil
}
