package arrows

import (
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"
)

// layers lists every package of the module, bottom to top. A name that ends in
// "/..." stands for the folder and what lies below it; the longest name that
// matches wins. A package imports its own layer and those below it.
var layers = [][]string{
	{"units", "internal/fifo", "internal/spelling"},
	{"nodes/algorithm/...", "nodes/csig", "nodes/wire", "topologies", "workloads", "metrics"},
	{"nodes/node", "nodes/node/nodetest", "nodes/host/player", "nodes/emu/lockstep"}, // the Board is as pure as a machine
	{"nodes/host/...", "nodes/switch/..."},
	{"nodes/machine"},
	{"nodes/sim", "nodes/emu/...", "nodes/netio/...", "topologies/htsim/...", "topologies/draw", "workloads/htsim/...", "metrics/runfolder", "metrics/stream", "internal/cause", "internal/checkout", "internal/lines", "nodes/capture/..."},
	{"orchestrator/...", "reports/analysis/..."},
	{"reports"}, // renders what analysis computed
	{"cmd/..."},
}

// machineLayers is the number of layers, from the bottom, that hold machines
// and what they are made of: pure Go (see purity_test.go).
const machineLayers = 5

// testsOnly lists the folders that hold tests and nothing that can be imported.
var testsOnly = []string{"docs", "docs/arrows", "docs/changes"}

// exception forbids imports that the layers alone would allow.
type exception struct {
	from []string // patterns of the importing packages
	to   []string // patterns of what they must not import
	but  []string // patterns of what they may import all the same
	why  string
}

var exceptions = []exception{
	{from: []string{"nodes/host/..."}, to: []string{"nodes/switch/..."},
		why: "host and switch meet in wire and csig"},
	{from: []string{"nodes/switch/..."}, to: []string{"nodes/host/..."},
		why: "host and switch meet in wire and csig"},
	{from: []string{"nodes/sim"}, to: []string{"nodes/emu/..."},
		why: "the drivers know nothing of each other"},
	{from: []string{"nodes/emu/..."}, to: []string{"nodes/sim"},
		why: "the drivers know nothing of each other"},
	{from: []string{"nodes/host/congestion", "nodes/host/balance", "nodes/switch/aqm", "nodes/switch/forward"},
		to:  layers[3],
		but: []string{"nodes/host/player"}, // matches layers[3] by its folder, belongs to layer 2
		why: "congestion, balance, aqm and forward are leaves"},
	{from: []string{"reports"}, to: []string{"nodes/...", "orchestrator/...", "topologies/...", "workloads/..."},
		why: "reports reads a run folder and nothing else, so that it works on last month's run"},
	{from: []string{"reports/analysis/..."}, to: []string{"..."}, but: []string{"metrics/...", "units"},
		why: "analysis reads a run folder and nothing else"},
	{from: []string{"orchestrator/..."}, to: []string{"reports/..."},
		why: "a run ends with its folder; cmd joins the two"},
	{from: []string{"..."}, to: []string{"cmd/..."},
		why: "commands are the top"},
}

// matches reports whether a folder is what the pattern names.
func matches(pattern, dir string) bool {
	prefix, below := strings.CutSuffix(pattern, "...")
	if !below {
		return dir == pattern
	}
	return strings.HasPrefix(dir+"/", prefix)
}

func matchesAny(patterns []string, dir string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(pattern, dir) })
}

// layerOf returns the layer of a folder, or -1 if no layer names it.
func layerOf(dir string) int {
	layer, longest := -1, ""
	for i, patterns := range layers {
		for _, pattern := range patterns {
			if matches(pattern, dir) && len(pattern) > len(longest) {
				layer, longest = i, pattern
			}
		}
	}
	return layer
}

// supported returns the package whose tests a folder supports: x for x/xtest.
func supported(dir string) (of string, ok bool) {
	parent := path.Dir(dir)
	return parent, path.Base(dir) == path.Base(parent)+"test"
}

// checkLayers finds the packages that no layer names and the imports that go
// up, across, or into the support of a package's tests. Tests themselves may
// import what they like.
func checkLayers(m *module, ps *problems) {
	for _, p := range m.sorted() {
		if slices.Contains(testsOnly, p.dir) {
			for _, f := range p.files {
				ps.add(f.Package, "%s holds tests only, this file is none", p.dir)
			}
			continue
		}
		if layerOf(p.dir) < 0 {
			ps.add(p.all()[0].Package, "%s has no layer: name it in docs/arrows/layers_test.go", p.dir)
			continue
		}
		for _, f := range p.files {
			for _, spec := range f.Imports {
				if to, ok := inModule(spec); ok {
					checkImport(p.dir, to, spec, ps)
				}
			}
		}
	}
}

// inModule returns the folder that an import of this module names.
func inModule(spec *ast.ImportSpec) (dir string, ok bool) {
	return strings.CutPrefix(importPath(spec), modulePath+"/")
}

func importPath(spec *ast.ImportSpec) string {
	name, _ := strconv.Unquote(spec.Path.Value) // the parser has checked the literal
	return name
}

func checkImport(from, to string, spec *ast.ImportSpec, ps *problems) {
	_, fromSupport := supported(from)
	if of, ok := supported(to); ok && !fromSupport {
		ps.add(spec.Pos(), "%s imports %s, which is for tests of %s", from, to, of)
		return
	}
	// The support of x's tests imports x, a leaf or not.
	if of, ok := supported(from); ok && of == to {
		return
	}
	switch layer := layerOf(to); {
	case slices.Contains(testsOnly, to) || layer < 0:
		ps.add(spec.Pos(), "%s imports %s, which has no layer", from, to)
		return
	case layer > layerOf(from):
		ps.add(spec.Pos(), "%s (layer %d) imports %s (layer %d): imports go down", from, layerOf(from), to, layer)
		return
	}
	for _, e := range exceptions {
		if matchesAny(e.from, from) && matchesAny(e.to, to) && !matchesAny(e.but, to) {
			ps.add(spec.Pos(), "%s imports %s: %s", from, to, e.why)
			return
		}
	}
}
