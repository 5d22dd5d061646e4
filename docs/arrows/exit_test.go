package arrows

import (
	"go/ast"
	"path"
	"slices"
	"strings"
)

// entryPoints are the files that may end the process: the commands, the check of descriptors
// before csiglab's other packages are initialised, the tools mutants and testlog, the supervisor of package
// netns, and a test's process in a namespace of its own. All others return an error or an exit
// status.
var entryPoints = []string{
	"cmd/csiglab/main.go",
	"cmd/csiglab-lab/main.go",
	"cmd/csiglab-serve/main.go",
	"cmd/csiglab-cluster/main.go",
	"cmd/cli/startup/startup.go",
	"cmd/csig-host/main.go",
	"cmd/csig-switch/main.go",
	"internal/mutants/main.go",
	"internal/testlog/main.go",
	"orchestrator/backend/netns/supervise.go",
	"orchestrator/labs/containerlab/containerlabtest/alone.go",
}

// ending are the functions that end the process, by import path. Names that end in
// "*" stand for all that begin so.
var ending = map[string][]string{
	"os":                           {"Exit"},
	"syscall":                      {"Exit"},
	"golang.org/x/sys/unix":        {"Exit"},
	"log":                          {"Fatal*"},
	"github.com/charmbracelet/log": {"Fatal*"},
	"runtime":                      {"Goexit"},
}

// checkExits finds what ends the process outside an entry point. Tests may: each is a
// program of its own.
func checkExits(m *module, ps *problems) {
	for _, p := range m.sorted() {
		for _, f := range p.files {
			if slices.Contains(entryPoints, m.name(f)) {
				continue
			}
			names := importNames(f)
			ast.Inspect(f, func(n ast.Node) bool {
				selector, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if from, ok := selector.X.(*ast.Ident); ok && ends(names[from.Name], selector.Sel.Name) {
					ps.add(selector.Pos(), "only an entry point may use %s.%s (docs/arrows/exit_test.go lists them)", from.Name, selector.Sel.Name)
				}
				return true
			})
			for name, pkg := range names {
				if strings.HasPrefix(name, ".") && ending[pkg] != nil {
					ps.add(f.Package, "import %s by its name, so that one can see what ends the process", pkg)
				}
			}
		}
	}
}

// importNames returns the packages that a file imports by their names in it. Dot
// imports have the package's path behind the dot.
func importNames(f *ast.File) map[string]string {
	names := map[string]string{}
	for _, spec := range f.Imports {
		pkg := importPath(spec)
		name := path.Base(pkg)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		if name == "." {
			name += pkg
		}
		names[name] = pkg
	}
	return names
}

func ends(pkg, name string) bool {
	return slices.ContainsFunc(ending[pkg], func(pattern string) bool {
		prefix, more := strings.CutSuffix(pattern, "*")
		return name == prefix || more && strings.HasPrefix(name, prefix)
	})
}
