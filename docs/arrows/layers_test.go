package arrows

import (
	"go/ast"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A layer is a part of csiglab that a person can name. Its rooms are folders.
type layer struct {
	name  string
	rooms []string
}

// layers has every room of the module once, from the bottom to the top. A package belongs to the
// room whose folder it lies in. It imports its own room and those that stand before it.
var layers = []layer{
	{"ground", []string{
		"units", "nodes/modules", "internal/plain", "internal/cause", "internal/checkout", "internal/checksum", "internal/crash", "internal/fifo", "internal/garbage", "internal/heap", "internal/lazy", "internal/marked", "internal/spelling",
		"internal/own", "internal/lines", "internal/jsonread", "internal/tagdoc", "internal/wildcard",
	}},
	{"data", []string{"nodes/algorithm", "nodes/csig", "nodes/wire", "topologies", "metrics", "workloads", "suites"}},
	{"machines", []string{"nodes/node", "nodes/class", "nodes/fault", "nodes/deadlock", "nodes/fluid", "nodes/host", "nodes/switch", "nodes/machine"}},
	{"drivers", []string{"nodes/watchdog", "nodes/netio", "nodes/capture", "nodes/sim", "nodes/emu", "nodes/kernel", "conformance"}},
	{"plans", []string{"orchestrator/programs", "orchestrator/experiment", "orchestrator/plan"}},
	{"runs", []string{
		"orchestrator/labs", "orchestrator/backend", "orchestrator/cluster", "orchestrator/parts", "orchestrator/run",
		"orchestrator/compare", "orchestrator/selftest",
	}},
	{"readers", []string{"reports", "dashboards"}},
	{"commands", []string{
		"cmd/cli/startup", "cmd/cli/settings", "cmd/cli/doctor", "cmd/cli/command", "cmd/cli/choose", "cmd/cli/resources", "cmd/cli/perform",
		"cmd/cli/fit", "cmd/cli/holder", "cmd/cli/top", "cmd/cli/ui",
		"cmd/cli/experiments", "cmd/cli/comparisons", "cmd/cli/labs", "cmd/cli/telemetry", "cmd/cli/fabrics", "cmd/cli/machine",
		"cmd/cli", "cmd", "internal/mutants", "internal/testlog",
	}},
}

// mostLayers is how many layers there may be: as many as one can recite.
const mostLayers = 8

// alsoPure are packages outside of the machines' layer that are as pure as a machine, though no
// machine imports them. What machines import is pure in any case (purity_test.go).
var alsoPure = []string{
	"internal/wildcard", "workloads/circle", "workloads/collective", "workloads/fluid", "workloads/jitter", "workloads/pipeline", "workloads/trace",
	"workloads/training", "nodes/emu/lockstep",
}

// judges are the packages of orchestrator that reports may import: arithmetic and plain data about compared runs.
var judges = []string{"orchestrator/compare/statistics", "orchestrator/compare/results", "orchestrator/compare/verdict"}

// commandGroups are the packages of csiglab's commands, a package for each heading of csiglab --help.
var commandGroups = []string{"cmd/cli/comparisons", "cmd/cli/experiments", "cmd/cli/fabrics", "cmd/cli/labs", "cmd/cli/machine", "cmd/cli/telemetry"}

// testsOnly lists the folders that hold tests and nothing that can be imported.
var testsOnly = []string{"docs", "docs/arrows", "docs/changes"}

// exception forbids imports that the layers alone would allow. A name that ends in
// "..." stands for a folder and what lies below it.
type exception struct {
	from []string // the importing packages
	to   []string // what they must not import
	but  []string // what they may import all the same
	why  string
}

var exceptions = []exception{
	{from: []string{"nodes/host/..."}, to: []string{"nodes/switch/..."},
		why: "host and switch share only wire and csig"},
	{from: []string{"nodes/switch/..."}, to: []string{"nodes/host/..."},
		why: "host and switch share only wire and csig"},
	{from: []string{"nodes/sim"}, to: []string{"nodes/emu/..."},
		why: "the drivers know nothing of each other"},
	{from: []string{"nodes/emu/..."}, to: []string{"nodes/sim"},
		why: "the drivers know nothing of each other"},
	{from: []string{"nodes/host/congestion", "nodes/host/balance", "nodes/switch/aqm", "nodes/switch/forward"},
		to:  []string{"nodes/host/...", "nodes/switch/..."},
		why: "congestion, balance, aqm and forward are leaves"},
	{from: []string{"orchestrator/backend/inproc"}, to: []string{"orchestrator/backend/netns", "orchestrator/backend/containers"},
		why: "backends know nothing of each other"},
	{from: []string{"orchestrator/backend/netns"}, to: []string{"orchestrator/backend/inproc", "orchestrator/backend/containers", "orchestrator/labs/containerlab"},
		why: "backends know nothing of each other"},
	{from: []string{"orchestrator/backend/containers"}, to: []string{"orchestrator/backend/inproc", "orchestrator/backend/netns"},
		why: "backends know nothing of each other"},
	{from: []string{"orchestrator/plan", "orchestrator/experiment"}, to: []string{"nodes/sim", "nodes/emu/..."},
		why: "a plan is data that any driver runs"},
	{from: []string{"orchestrator/labs/containerlab/..."}, to: []string{"orchestrator/labs/runs", "orchestrator/labs/application"},
		why: "containerlab deploys topologies and knows nothing of runs"},
	{from: []string{"reports/..."}, to: []string{"nodes/...", "orchestrator/...", "topologies/...", "workloads/..."}, but: judges,
		why: "a report is of a run folder and nothing else, so that it works on last month's run"},
	{from: []string{"reports/section/..."}, to: []string{"reports/section/..."}, but: []string{"reports/section"},
		why: "no section imports another: what two need is a fact, or a reader that they share"},
	{from: []string{"reports/chart"}, to: []string{"..."}, but: []string{"reports/words"},
		why: "a chart knows nothing but its data"},
	{from: []string{"reports/reading", "reports/waits", "reports/heat"}, to: []string{"..."}, but: []string{"metrics/...", "reports/reading"},
		why: "readers make numbers, not words or pictures"},
	{from: []string{"reports/regression"}, to: []string{"..."}, but: []string{"internal/spelling", "orchestrator/compare/verdict", "reports/chart", "reports/junit", "reports/page", "reports/section", "reports/words"},
		why: "regression renders verdicts and nothing else"},
	{from: commandGroups, to: commandGroups,
		why: "no group of commands imports another: what two need stands in cmd/cli/command, choose, perform or resources"},
	{from: []string{"cmd/csig-host", "cmd/csig-switch"}, to: []string{"cmd/..."},
		why: "commands are the top"},
	{from: []string{"..."}, to: []string{"cmd/csiglab", "cmd/csiglab-lab", "cmd/csiglab-serve", "cmd/csiglab-cluster", "cmd/csig-host", "cmd/csig-switch"},
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

// rooms returns all rooms in their order.
func rooms() (list []string) {
	for _, l := range layers {
		list = append(list, l.rooms...)
	}
	return list
}

// roomOf returns the number of the room that a folder lies in, or -1 if there is none. Of rooms
// in each other it is the innermost one.
func roomOf(dir string) int {
	found, list := -1, rooms()
	for i, room := range list {
		if matches(room+"/...", dir) && (found < 0 || len(room) > len(list[found])) {
			found = i
		}
	}
	return found
}

// layerOf returns the name of the layer that a room belongs to.
func layerOf(room int) string {
	for _, l := range layers {
		if room < len(l.rooms) {
			return l.name
		}
		room -= len(l.rooms)
	}
	return ""
}

// missing returns the rooms and packages that the rules name and the module does not have.
func missing(m *module) (names []string) {
	for _, name := range slices.Concat(rooms(), alsoPure, judges) {
		if !slices.ContainsFunc(m.sorted(), func(p *sourcePackage) bool { return matches(name+"/...", p.dir) }) {
			names = append(names, name)
		}
	}
	return names
}

// checkCircles finds circles between top-level folders: a folder whose packages
// import another folder's must not be imported by that one, directly or through
// others.
func checkCircles(m *module, ps *problems) {
	imports := map[string]map[string]*ast.ImportSpec{} // by folder: an import of each other folder
	for _, p := range m.sorted() {
		from := top(p.dir)
		for _, f := range p.files {
			for _, spec := range f.Imports {
				if to, ok := inModule(spec); ok && top(to) != from {
					if imports[from] == nil {
						imports[from] = map[string]*ast.ImportSpec{}
					}
					imports[from][top(to)] = spec
				}
			}
		}
	}
	for _, from := range slices.Sorted(maps.Keys(imports)) {
		for _, to := range slices.Sorted(maps.Keys(imports[from])) {
			if back := way(imports, to, from, nil); back != nil {
				ps.add(imports[from][to].Pos(), "top-level folders in a circle: %s -> %s", from, strings.Join(back, " -> "))
			}
		}
	}
}

// way returns the folders from one to another, both included, or nil if there is no way.
func way(imports map[string]map[string]*ast.ImportSpec, from, to string, seen []string) []string {
	if from == to {
		return []string{to}
	}
	seen = append(seen, from)
	for _, next := range slices.Sorted(maps.Keys(imports[from])) {
		if slices.Contains(seen, next) {
			continue
		}
		if rest := way(imports, next, to, seen); rest != nil {
			return append([]string{from}, rest...)
		}
	}
	return nil
}

// top returns the top-level folder of a package.
func top(dir string) string {
	folder, _, _ := strings.Cut(dir, "/")
	return folder
}

// supported returns the package whose tests a folder supports: x for x/xtest.
func supported(dir string) (of string, ok bool) {
	parent := path.Dir(dir)
	return parent, path.Base(dir) == path.Base(parent)+"test"
}

// checkLayers finds the packages that lie in no room and the imports that go
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
		if roomOf(p.dir) < 0 {
			ps.add(p.all()[0].Package, "%s has no room: name it in docs/arrows/layers_test.go", p.dir)
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
	source, room := roomOf(from), roomOf(to)
	if slices.Contains(testsOnly, to) || room < 0 {
		ps.add(spec.Pos(), "%s imports %s, which has no room", from, to)
		return
	}
	for _, e := range exceptions {
		if !fromSupport && matchesAny(e.from, from) && matchesAny(e.to, to) && !matchesAny(e.but, to) {
			ps.add(spec.Pos(), "%s imports %s: %s", from, to, e.why)
			return
		}
	}
	if room > source {
		ps.add(spec.Pos(), "%s (%s) imports %s (%s, room %s): imports go down", from, layerOf(source), to, layerOf(room), rooms()[room])
	}
}
