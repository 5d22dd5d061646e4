package builder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/nodes/modules"
)

// With is a module to compile in: of a folder, or of a version.
type With struct {
	Path    string // of the module
	Version string // as in go get; empty: the latest
	Folder  string // empty: a version
}

// ParseWith reads MODULE, MODULE@VERSION or MODULE=FOLDER.
func ParseWith(text string) (w With, err error) {
	w.Path, w.Folder, _ = strings.Cut(text, "=")
	folder := strings.Contains(text, "=")
	var versioned bool
	w.Path, w.Version, versioned = strings.Cut(w.Path, "@")
	switch {
	case strings.HasPrefix(text, ".") || strings.HasPrefix(text, "/"):
		return w, fmt.Errorf("want MODULE=FOLDER; the first line of the folder's go.mod names the module")
	case w.Path == "" || strings.ContainsAny(w.Path, " \t\\"):
		return w, errors.New("want MODULE, MODULE@VERSION or MODULE=FOLDER, such as example.com/relay=../relay")
	case versioned && w.Version == "":
		return w, errors.New("the version after @ is missing")
	case versioned && folder:
		return w, errors.New("a folder has no version: want MODULE=FOLDER or MODULE@VERSION")
	case folder && w.Folder == "":
		return w, errors.New("the folder after = is missing")
	case w.Path == modulePath:
		return w, errors.New("that is csiglab itself; --csiglab chooses its source")
	}
	return w, nil
}

// ParseWiths reads the values of --with.
func ParseWiths(with []string) (list []With, err error) {
	for _, text := range with {
		w, err := ParseWith(text)
		if err != nil {
			return nil, fmt.Errorf("--with %s: %w", text, err)
		}
		list = append(list, w)
	}
	return list, nil
}

// Absolute returns the values of --with with absolute folders, for another process.
func Absolute(with []string) (list []string, err error) {
	parsed, err := ParseWiths(with)
	for i, w := range parsed {
		text := with[i]
		if w.Folder != "" {
			folder, err := filepath.Abs(w.Folder)
			if err != nil {
				return nil, err
			}
			text = w.Path + "=" + folder
		}
		list = append(list, text)
	}
	return list, err
}

// modulePath is that of csiglab.
const modulePath = "github.com/csiglab/csiglab"

// resolved is a module of a request, of which is known where it is.
type resolved struct {
	module modules.Module // the Sum is found later
	folder string         // absolute; empty: in the module cache
}

// resolve finds the modules, sorted by path.
func (b *build) resolve(ctx context.Context) error {
	for _, w := range b.Request.With {
		r := resolved{module: modules.Module{Path: w.Path, Version: w.Version}}
		if slices.ContainsFunc(b.with, func(o resolved) bool { return o.module.Path == w.Path }) {
			return input("--with %s is there twice", w.Path)
		}
		if w.Folder == "" {
			version, err := b.version(ctx, w)
			if err != nil {
				return err
			}
			r.module.Version = version
		} else {
			folder, err := b.checkFolder(ctx, w)
			if err != nil {
				return err
			}
			r.folder = folder
		}
		b.with = append(b.with, r)
	}
	slices.SortFunc(b.with, func(a, o resolved) int { return strings.Compare(a.module.Path, o.module.Path) })
	return nil
}

// checkFolder returns the absolute path of a module's folder.
func (b *build) checkFolder(ctx context.Context, w With) (string, error) {
	flag := fmt.Sprintf("--with %s=%s", w.Path, w.Folder)
	if why := missing(w.Folder); why != "" {
		return "", input("%s: %s", flag, why)
	}
	folder, err := filepath.Abs(w.Folder)
	if err != nil {
		return "", err
	}
	if folder, err = filepath.EvalSymlinks(folder); err != nil {
		return "", err
	}
	if err := checkFiles(folder); err != nil {
		return "", input("%s: %w", flag, err)
	}
	path, err := b.moduleOf(ctx, folder)
	if err != nil {
		return "", input("%s: %w", flag, err)
	}
	if path != w.Path {
		return "", input("%s: the folder has the module %s; want --with %[2]s=%[3]s", flag, path, w.Folder)
	}
	return folder, nil
}

// reads are the endings of the names of files that the go command reads when it lists packages.
var reads = []string{".go", ".mod", ".sum", ".s", ".S", ".sx", ".c", ".cc", ".cpp", ".cxx", ".m", ".h", ".hh", ".hpp", ".hxx", ".f", ".F", ".for", ".f90", ".swig", ".swigcxx"}

// checkFiles refuses a folder with what the go command would wait for or read without end, such
// as a pipe in the place of a Go file.
func checkFiles(folder string) error {
	return filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // the go command says it, if it needs the file
		}
		if d.IsDir() && name != folder && strings.ContainsAny(d.Name()[:1], "._") {
			return fs.SkipDir // of which the go command reads nothing
		}
		if d.IsDir() || d.Type().IsRegular() || !slices.Contains(reads, filepath.Ext(name)) {
			return nil
		}
		if info, err := os.Stat(name); err != nil || info.IsDir() || info.Mode().IsRegular() {
			return nil
		}
		return fmt.Errorf("%s is not a regular file", name)
	})
}

// moduleOf returns the path of the module that a folder has.
func (b *build) moduleOf(ctx context.Context, folder string) (string, error) {
	file := filepath.Join(folder, "go.mod")
	if _, err := os.Stat(file); err != nil {
		return "", fmt.Errorf("the folder has no go.mod; csiglab build takes Go modules: go mod init MODULE writes one")
	}
	out, err := b.tool.run(ctx, call{dir: folder, args: []string{"mod", "edit", "-json", file}})
	if err != nil {
		return "", err
	}
	var mod struct{ Module struct{ Path string } }
	if err := json.Unmarshal(out, &mod); err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	return mod.Module.Path, nil
}

// version returns the version of a module that go get would take.
func (b *build) version(ctx context.Context, w With) (string, error) {
	query := w.Version
	if query == "" {
		query = "latest"
	}
	out, err := b.online(ctx, w.Version != "", call{dir: b.work.Dir, args: []string{"list", "-m", "-json", w.Path + "@" + query}})
	if err != nil {
		return "", classify(fmt.Errorf("--with %s: no such module or version: %w", strings.TrimSuffix(w.Path+"@"+w.Version, "@"), err), err)
	}
	var found struct{ Version string }
	if err := json.Unmarshal(out, &found); err != nil || found.Version == "" {
		return "", fmt.Errorf("go list -m %s: an answer without a version: %s", w.Path, out)
	}
	return found.Version, nil
}
