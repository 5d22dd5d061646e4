package experiment

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/own"
)

// library has the embedded experiments, and for those that read files a folder of the same
// name with these.
//
//go:embed library
var library embed.FS

// Names returns the names of the embedded experiments, in alphabetical order.
func Names() []string {
	files, err := fs.Glob(library, "library/*.yaml")
	if err != nil {
		panic("experiment: no library: " + err.Error())
	}
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = strings.TrimSuffix(strings.TrimPrefix(file, "library/"), ".yaml")
	}
	slices.Sort(names) // the files' order is that with .yaml
	return names
}

// Embedded returns the text of an embedded experiment, and the files that it reads by their names
// relative to the experiment's; nil without any.
func Embedded(name string) (text []byte, files map[string][]byte) {
	text, err := library.ReadFile("library/" + name + ".yaml")
	if err != nil {
		panic("experiment: " + err.Error())
	}
	err = fs.WalkDir(library, "library/"+name, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if files == nil {
			files = map[string][]byte{}
		}
		files[strings.TrimPrefix(path, "library/")], err = library.ReadFile(path)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		panic("experiment: " + err.Error())
	}
	return text, files
}

// embedded returns the text of an embedded experiment, and the folder that the names of its
// files are relative to; "" without files.
func embedded(name string) (text []byte, dir string, err error) {
	text, files := Embedded(name)
	if files == nil {
		return text, "", nil
	}
	digest := sha256.New()
	for _, file := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(digest, "%s %d\n%s", file, len(files[file]), files[file])
	}
	dir, err = unpack(fmt.Sprintf("%s-%x", name, digest.Sum(nil)[:8]), files)
	return text, dir, err
}

// unpack writes files into a folder of the user's cache and returns it. Where the folder has
// them already, it writes nothing.
func unpack(name string, files map[string][]byte) (dir string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = filepath.Join(os.TempDir(), fmt.Sprintf("csiglab-%d", os.Getuid()))
	}
	root := filepath.Join(cache, "csiglab", "library")
	dir = filepath.Join(root, name)
	if holds(dir, files) {
		return dir, nil
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", fmt.Errorf("its files cannot be unpacked: %w", err)
	}
	own.RemoveLeft(root, name+".") //nolint:errcheck // nothing depends on what a killed process has left
	part, err := own.NewTemporary(root, name+".")
	if err != nil {
		return "", fmt.Errorf("its files cannot be unpacked: %w", err)
	}
	defer part.Remove() //nolint:errcheck // gone when all is well
	for file, data := range files {
		path := filepath.Join(part.Dir, filepath.FromSlash(file))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o644)); err != nil {
			return "", fmt.Errorf("its files cannot be unpacked: %w", err)
		}
	}
	if err := os.Rename(part.Dir, dir); err != nil && !holds(dir, files) { // another process was first
		if err := errors.Join(os.RemoveAll(dir), os.Rename(part.Dir, dir)); err != nil {
			return "", fmt.Errorf("its files cannot be unpacked: %w", err)
		}
	}
	return dir, nil
}

// holds reports whether a folder has these files.
func holds(dir string, files map[string][]byte) bool {
	for file, want := range files {
		got, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(file)))
		if err != nil || !bytes.Equal(got, want) {
			return false
		}
	}
	return true
}
