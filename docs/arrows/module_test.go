// Package arrows holds no code that runs: its tests walk the module's source
// and fail when a package imports against the arrows of docs/architecture.md, when
// top-level folders import each other in a circle, when a machine touches the outside
// world, when something other than an entry point ends the process, when a file grows
// too long, or when a comment is missing that the style asks for. `make check` runs it.
package arrows

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// modulePath is the prefix of every import path of this module.
const modulePath = "github.com/csiglab/csiglab"

// module is a tree of packages, read from disk or made up by a test.
type module struct {
	fset *token.FileSet
	// packages are keyed by their folder, relative to the root.
	packages map[string]*sourcePackage
}

// sourcePackage is one folder of Go files: the files that are built into the
// module, and its tests.
type sourcePackage struct {
	dir          string
	files, tests []*ast.File
}

// problem is one broken rule.
type problem struct {
	position token.Position
	text     string
}

func (p problem) String() string { return fmt.Sprintf("%v: %s", p.position, p.text) }

// problems collects what the rules find.
type problems struct {
	fset  *token.FileSet
	found []problem
}

func (ps *problems) add(pos token.Pos, format string, args ...any) {
	ps.found = append(ps.found, problem{ps.fset.Position(pos), fmt.Sprintf(format, args...)})
}

// sorted returns the problems in the order of the files' names and lines.
func (ps *problems) sorted() []problem {
	slices.SortStableFunc(ps.found, func(a, b problem) int {
		return cmp.Or(cmp.Compare(a.position.Filename, b.position.Filename), cmp.Compare(a.position.Line, b.position.Line))
	})
	return ps.found
}

// parseModule builds a module from sources, keyed by their slash-separated
// path relative to its root.
func parseModule(sources map[string]string) (*module, error) {
	m := &module{fset: token.NewFileSet(), packages: map[string]*sourcePackage{}}
	for name, text := range sources {
		f, err := parser.ParseFile(m.fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		dir := path.Dir(name)
		p := m.packages[dir]
		if p == nil {
			p = &sourcePackage{dir: dir}
			m.packages[dir] = p
		}
		if strings.HasSuffix(name, "_test.go") {
			p.tests = append(p.tests, f)
		} else {
			p.files = append(p.files, f)
		}
	}
	byName := func(a, b *ast.File) int { return cmp.Compare(m.name(a), m.name(b)) }
	for _, p := range m.packages {
		slices.SortFunc(p.files, byName)
		slices.SortFunc(p.tests, byName)
	}
	return m, nil
}

// name returns a file's path relative to the root.
func (m *module) name(f *ast.File) string { return m.fset.File(f.FileStart).Name() }

// has reports whether the module has a file of this path, other than a test.
func (m *module) has(name string) bool {
	p := m.packages[path.Dir(name)]
	return p != nil && slices.ContainsFunc(p.files, func(f *ast.File) bool { return m.name(f) == name })
}

// sorted returns the packages in the order of their folders.
func (m *module) sorted() []*sourcePackage {
	list := make([]*sourcePackage, 0, len(m.packages))
	for _, p := range m.packages {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b *sourcePackage) int { return cmp.Compare(a.dir, b.dir) })
	return list
}

// all returns a package's files with its tests.
func (p *sourcePackage) all() []*ast.File { return slices.Concat(p.files, p.tests) }

// readSources reads every Go file below root that the go command would see.
func readSources(root string) (map[string]string, error) {
	sources := map[string]string{}
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		ignored := strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
		switch {
		case entry.IsDir() && file != root && (ignored || name == "testdata"):
			return filepath.SkipDir
		case entry.IsDir() && file != root && hasModule(file):
			return filepath.SkipDir // a module of its own, such as that of docs/how-to/extend.md
		case entry.IsDir() || ignored || filepath.Ext(name) != ".go":
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, file)
		sources[filepath.ToSlash(relative)] = string(text)
		return err
	})
	return sources, err
}

func hasModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

// repository returns the module that this test belongs to.
func repository(t *testing.T) *module {
	t.Helper()
	const root = "../.." // go test runs in the package's folder
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Fatal(err)
	}
	sources, err := readSources(root)
	if err != nil {
		t.Fatal(err)
	}
	m, err := parseModule(sources)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
