package arrows

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// machineImports is everything from outside the module that machines, and what they are made of,
// may import: arithmetic, text, bytes, hashes, seeded generators.
// What is missing is missing on purpose: net, os, io, bufio, log and syscall
// reach the world; time is the wall's (a machine uses units.Time); sync,
// context and runtime are for goroutines; math/rand has a global source, and
// crypto/rand and hash/maphash have nothing else; unsafe and reflect go behind
// the types' backs.
var machineImports = []string{
	"bytes", "cmp", "container/heap", "crypto/sha256", "encoding/binary", "encoding/hex", "errors", "fmt", "hash",
	"hash/fnv", "iter", "maps", "math", "math/big", "math/bits", "math/rand/v2", "slices", "sort", "strconv", "strings",
	"unicode", "unicode/utf8",
	"github.com/zeebo/xxh3",
}

// alsoImported has what single files of the machines' layers may import beside that.
var alsoImported = map[string]string{
	// Who registers an algorithm, while the program starts and no machine runs.
	"nodes/modules/caller.go": "runtime",
}

// impureFunctions are the functions of machineImports that a machine may not
// use, all the same. Of math/rand/v2, only what allowedRand names is allowed.
var impureFunctions = map[string]string{
	"fmt.Print": "prints", "fmt.Printf": "prints", "fmt.Println": "prints",
	"fmt.Scan": "reads standard input", "fmt.Scanf": "reads standard input", "fmt.Scanln": "reads standard input",
	"maps.DeleteFunc": "goes through a map in random order",
}

// mapIterators may appear as the argument of a function that sorts.
var mapIterators = []string{"maps.All", "maps.Keys", "maps.Values"}

// sortingFunctions take such an iterator and leave no trace of its order.
var sortingFunctions = []string{"slices.Sorted", "slices.SortedFunc", "maps.Collect"}

// allowedRand builds generators from seeds; the rest of math/rand/v2's
// functions draw from the global one.
var allowedRand = []string{"New", "NewPCG", "NewChaCha8", "NewZipf"}

// exports maps the import paths of machineImports, and of what they depend on,
// to files with their compiled types.
type exports map[string]string

// listExports asks the go command for the types of machineImports.
func listExports(t *testing.T) exports {
	t.Helper()
	args := append([]string{"list", "-export", "-deps", "-json=ImportPath,Export", "runtime"}, machineImports...)
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go list -export: %v\n%s", err, exit.Stderr)
		}
		t.Fatal(err)
	}
	files := exports{}
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var entry struct{ ImportPath, Export string }
		switch err := decoder.Decode(&entry); {
		case errors.Is(err, io.EOF):
			return files
		case err != nil:
			t.Fatal("go list -export: ", err)
		}
		files[entry.ImportPath] = entry.Export
	}
}

// machineChecker type-checks the packages of the machines from source.
type machineChecker struct {
	module  *module
	outside types.Importer
	checked map[string]*types.Package // by folder; nil while it is being checked
	info    *types.Info
	ps      *problems
}

// checkMachines finds what breaks the purity of machines. Packages that support
// tests may do what tests do.
func checkMachines(m *module, files exports, ps *problems) {
	lookup := func(name string) (io.ReadCloser, error) {
		file, ok := files[name]
		if !ok || file == "" {
			return nil, fmt.Errorf("%s is not among what machines may import", name)
		}
		return os.Open(file)
	}
	c := &machineChecker{
		module: m, outside: importer.ForCompiler(m.fset, "gc", lookup), checked: map[string]*types.Package{},
		info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}},
		ps:   ps,
	}
	for _, p := range pure(m) {
		c.check(p)
		for _, f := range p.files {
			c.checkFile(f)
		}
	}
}

// pure returns the packages that have to be pure: those of the machines' layer but the support of
// tests, all that these import, and alsoPure.
func pure(m *module) (list []*sourcePackage) {
	seen := map[string]bool{}
	var visit func(dir string)
	visit = func(dir string) {
		p := m.packages[dir]
		if p == nil || len(p.files) == 0 || seen[dir] {
			return
		}
		seen[dir], list = true, append(list, p)
		for _, f := range p.files {
			for _, spec := range f.Imports {
				if to, ok := inModule(spec); ok {
					visit(to)
				}
			}
		}
	}
	for _, p := range m.sorted() {
		if room := roomOf(p.dir); room < 0 || layerOf(room) != "machines" && !slices.Contains(alsoPure, p.dir) {
			continue
		}
		if _, support := supported(p.dir); !support {
			visit(p.dir)
		}
	}
	return list
}

// Import implements types.Importer: the module's packages come from source.
func (c *machineChecker) Import(name string) (*types.Package, error) {
	dir, ok := strings.CutPrefix(name, modulePath+"/")
	if !ok {
		return c.outside.Import(name)
	}
	p := c.module.packages[dir]
	if p == nil || len(p.files) == 0 {
		return nil, fmt.Errorf("no package %s", dir)
	}
	if done, ok := c.checked[dir]; ok && done == nil {
		return nil, fmt.Errorf("%s imports itself", dir)
	}
	return c.check(p), nil
}

func (c *machineChecker) check(p *sourcePackage) *types.Package {
	if done := c.checked[p.dir]; done != nil {
		return done
	}
	c.checked[p.dir] = nil
	config := types.Config{Importer: c, Error: func(err error) {
		var e types.Error
		if errors.As(err, &e) && !e.Soft {
			c.ps.add(e.Pos, "type check: %s", e.Msg)
		}
	}}
	// The errors went to config.Error; the package is as complete as it gets.
	pkg, _ := config.Check(modulePath+"/"+p.dir, c.module.fset, p.files, c.info)
	c.checked[p.dir] = pkg
	return pkg
}

func (c *machineChecker) checkFile(f *ast.File) {
	for _, spec := range f.Imports {
		name := importPath(spec)
		if _, own := inModule(spec); !own && !slices.Contains(machineImports, name) && alsoImported[c.module.name(f)] != name {
			c.ps.add(spec.Pos(), "a machine may not import %s", name)
		}
	}
	for _, group := range f.Comments {
		for _, line := range group.List {
			if strings.HasPrefix(line.Text, "//go:build") || strings.HasPrefix(line.Text, "//go:linkname") {
				c.ps.add(line.Pos(), "a machine is the same everywhere: no %s", strings.Fields(line.Text)[0])
			}
		}
	}
	sorted := map[ast.Expr]bool{} // arguments of functions that sort
	ast.PreorderStack(f, nil, func(n ast.Node, stack []ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			c.ps.add(n.Pos(), "a machine starts no goroutine")
		case *ast.SelectStmt:
			c.ps.add(n.Pos(), "a machine has no select")
		case *ast.ChanType:
			c.ps.add(n.Pos(), "a machine has no channel")
		case *ast.CallExpr:
			if len(n.Args) > 0 && slices.Contains(sortingFunctions, c.function(n.Fun)) {
				sorted[n.Args[0]] = true
			}
			if call, ok := n.Fun.(*ast.Ident); ok {
				if b, ok := c.info.Uses[call].(*types.Builtin); ok && strings.HasPrefix(b.Name(), "print") {
					c.ps.add(n.Pos(), "a machine prints nothing: %s", b.Name())
				}
			}
			if slices.Contains(mapIterators, c.function(n.Fun)) && !sorted[n] && !c.orderExplained(f, n.Pos()) {
				c.ps.add(n.Pos(), "%s has a random order: sort it, or say why order does not matter in a comment `// order: …`", c.function(n.Fun))
			}
		case *ast.Ident:
			c.checkUse(n)
		case *ast.RangeStmt:
			t := c.info.TypeOf(n.X)
			if t == nil || !isMap(t) || c.orderExplained(f, n.Pos()) || c.collectsToSort(n, stack) {
				break
			}
			c.ps.add(n.Pos(), "a range over a map has a random order: sort it, or say why order does not matter in a comment `// order: …`")
		}
		return true
	})
}

// checkUse finds functions that reach what their packages share.
func (c *machineChecker) checkUse(name *ast.Ident) {
	function, ok := c.info.Uses[name].(*types.Func)
	if !ok || function.Pkg() == nil || function.Signature().Recv() != nil {
		return
	}
	full := function.Pkg().Path() + "." + function.Name()
	if why, ok := impureFunctions[full]; ok {
		c.ps.add(name.Pos(), "a machine may not use %s, which %s", full, why)
	}
	if function.Pkg().Path() == "math/rand/v2" && !slices.Contains(allowedRand, function.Name()) {
		c.ps.add(name.Pos(), "a machine draws from a generator of its own: %s uses the global one", full)
	}
}

// function returns the full name of the package-level function that is called,
// or "".
func (c *machineChecker) function(called ast.Expr) string {
	var name *ast.Ident
	switch e := called.(type) {
	case *ast.IndexExpr:
		return c.function(e.X)
	case *ast.IndexListExpr:
		return c.function(e.X)
	case *ast.SelectorExpr:
		name = e.Sel
	case *ast.Ident:
		name = e
	default:
		return ""
	}
	if f, ok := c.info.Uses[name].(*types.Func); ok && f.Pkg() != nil && f.Signature().Recv() == nil {
		return f.Pkg().Path() + "." + f.Name()
	}
	return ""
}

// isMap reports whether ranging over t goes through a map.
func isMap(t types.Type) bool {
	if p, ok := t.(*types.TypeParam); ok {
		t = p.Constraint()
	}
	switch u := t.Underlying().(type) {
	case *types.Map:
		return true
	case *types.Interface: // a constraint: any of its terms may be a map
		for i := range u.NumEmbeddeds() {
			if isMap(u.EmbeddedType(i)) {
				return true
			}
		}
	case *types.Union:
		for i := range u.Len() {
			if isMap(u.Term(i).Type()) {
				return true
			}
		}
	}
	return false
}

// orderExplained reports whether a comment on the line of pos, or one that ends
// on the line above, has a line that starts with "order:" and gives a reason.
func (c *machineChecker) orderExplained(f *ast.File, pos token.Pos) bool {
	line := c.module.fset.Position(pos).Line
	for _, group := range f.Comments {
		if end := c.module.fset.Position(group.End()).Line; end != line && end != line-1 {
			continue
		}
		for text := range strings.Lines(group.Text()) {
			if why, ok := strings.CutPrefix(text, "order:"); ok && strings.TrimSpace(why) != "" {
				return true
			}
		}
	}
	return false
}

// collectsToSort reports whether the loop's body only appends to a slice that
// the function sorts further down.
func (c *machineChecker) collectsToSort(loop *ast.RangeStmt, stack []ast.Node) bool {
	if len(loop.Body.List) != 1 {
		return false
	}
	assign, ok := loop.Body.List[0].(*ast.AssignStmt)
	if !ok || len(assign.Lhs) != 1 || len(assign.Rhs) != 1 {
		return false
	}
	list, ok := assign.Lhs[0].(*ast.Ident)
	call, isCall := assign.Rhs[0].(*ast.CallExpr)
	if !ok || !isCall || len(call.Args) != 2 || !c.isUse(call.Args[0], c.info.Uses[list]) {
		return false
	}
	if name, ok := call.Fun.(*ast.Ident); !ok || name.Name != "append" {
		return false
	}
	found := false
	for _, n := range stack {
		body, ok := n.(*ast.BlockStmt)
		if !ok {
			continue
		}
		ast.Inspect(body, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && call.Pos() > loop.End() && len(call.Args) > 0 {
				name := c.function(call.Fun)
				sorts := strings.HasPrefix(name, "slices.Sort") || strings.HasPrefix(name, "sort.")
				found = found || sorts && c.isUse(call.Args[0], c.info.Uses[list])
			}
			return !found
		})
	}
	return found
}

// isUse reports whether the expression names the object.
func (c *machineChecker) isUse(e ast.Expr, object types.Object) bool {
	name, ok := e.(*ast.Ident)
	return ok && object != nil && c.info.Uses[name] == object
}
