package arrows

import (
	"go/ast"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// layers names every package of the module, bottom to top. A package imports its own
// layer and those below it. A name that ends in "/..." stands for a folder and what lies
// below it.
var layers = [][]string{
	0:  {"units", "internal/fifo", "internal/spelling", "internal/wildcard", "nodes/modules"},
	1:  {"nodes/algorithm", "nodes/algorithm/algorithmtest", "nodes/csig", "nodes/wire", "topologies", "workloads", "workloads/graph", "workloads/jitter", "workloads/pipeline", "workloads/training", "workloads/circle", "workloads/fluid", "workloads/collective", "workloads/trace", "metrics", "metrics/histogram"},
	2:  {"nodes/node", "nodes/node/nodetest", "nodes/fault", "nodes/class", "nodes/deadlock", "nodes/host/player", "nodes/emu/lockstep"}, // the Board is as pure as a machine
	3:  slices.Concat(hostPackages, switchPackages),
	4:  {"nodes/machine"},
	5:  {"internal/lazy", "internal/tagdoc", "internal/cause", "internal/checkout", "internal/crash", "internal/own", "internal/lines", "internal/jsonread", "suites", "topologies/htsim", "topologies/netbench", "topologies/draw", "workloads/htsim", "workloads/tracefile", "workloads/chakra", "workloads/pytorch", "workloads/traffic", "workloads/hpcc", "workloads/goal", "workloads/simai", "workloads/formats", "workloads/profilefile", "workloads/inspect", "metrics/exposition", "metrics/exposition/endpoint", "metrics/meaning", "orchestrator/compare/statistics", "metrics/phases", "orchestrator/compare/verdict", "metrics/perfetto", "metrics/runfolder", "metrics/tables", "metrics/series", "metrics/promserver", "metrics/promserver/limits", "metrics/stream", "nodes/capture", "nodes/capture/capturetest", "nodes/capture/spool", "nodes/netio", "nodes/netio/netiotest", "nodes/watchdog", "orchestrator/compare/results"},
	6:  {"nodes/sim", "nodes/sim/simtest", "nodes/emu", "nodes/emu/lockstep/shared", "nodes/emu/wall"},
	7:  {"nodes/emu/gateway", "nodes/emu/timekeeper", "nodes/emu/process"},
	8:  {"orchestrator/programs", "orchestrator/programs/programstest", "orchestrator/experiment/runtimes", "orchestrator/experiment/expression", "orchestrator/experiment", "orchestrator/experiment/validity"},
	9:  {"orchestrator/experiment/failure", "orchestrator/plan"},
	10: {"orchestrator/cluster", "orchestrator/cluster/image", "orchestrator/labs/reaper", "orchestrator/labs/shape", "orchestrator/labs/application", "orchestrator/labs/runs", "orchestrator/labs/live", "orchestrator/labs/containerlab", "orchestrator/labs/containerlab/clab", "orchestrator/labs/containerlab/containerlabtest", "orchestrator/labs/containerlab/terminal"},
	11: {"orchestrator/backend"},
	12: {"orchestrator/backend/inproc", "orchestrator/backend/netns", "orchestrator/backend/containers", "orchestrator/backend/backendtest", "orchestrator/parts/tunnel"},
	13: {"orchestrator/run/check", "orchestrator/parts/pods", "orchestrator/run/measure", "orchestrator/run/packets", "orchestrator/parts/placement", "orchestrator/run/predict", "orchestrator/parts/shards"},
	14: {"orchestrator/run/campaign"},
	15: {"reports/chart", "reports/words", "reports/reading", "reports/reading/readingtest", "reports/section/...", "reports/phrases", "reports/series", "reports/waits", "reports/heat", "reports/page", "reports/nccl", "reports/profiles", "orchestrator/selftest", "orchestrator/compare/trial", "orchestrator/compare/sweep", "orchestrator/compare/regress", "orchestrator/compare/stress"},
	16: {"orchestrator/compare/batch", "orchestrator/compare/batch/batchtest", "dashboards", "dashboards/dashboardstest", "dashboards/describe", "dashboards/grafana", "orchestrator/compare/bisect", "orchestrator/compare/regress", "reports", "reports/browsertest", "reports/compare", "reports/regression"}, // of sections
	17: {"orchestrator/programs/builder", "cmd/cli/doctor", "cmd/cli/fit", "cmd/cli/labs", "orchestrator/compare/revision", "cmd/cli/settings", "cmd/cli/startup", "cmd/cli/top", "cmd/cli/ui", "internal/mutants", "internal/testlog"},                                                                          // parts of the commands
	18: {"cmd/cli"},
	19: {"cmd/csiglab", "cmd/csiglab-lab", "cmd/csiglab-serve", "cmd/csiglab-cluster", "cmd/csig-host", "cmd/csig-switch"},
}

var (
	hostPackages = []string{
		"nodes/host", "nodes/host/balance", "nodes/host/balance/balancetest", "nodes/host/collector", "nodes/host/congestion", "nodes/host/congestion/congestiontest",
		"nodes/host/generator", "nodes/host/raw", "nodes/host/shim", "nodes/host/transport",
	}
	switchPackages = []string{
		"nodes/switch/aqm", "nodes/switch/aqm/aqmtest", "nodes/switch/buffer", "nodes/switch/dataplane", "nodes/switch/forward", "nodes/switch/forward/forwardtest", "nodes/switch/meter",
	}
)

// machineLayers is the number of layers, from the bottom, that hold machines
// and what they are made of: pure Go (see purity_test.go).
const machineLayers = 5

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
		to:  layers[3],
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
	{from: []string{"reports/..."}, to: []string{"nodes/...", "orchestrator/...", "topologies/...", "workloads/..."},
		why: "a report is of a run folder and nothing else, so that it works on last month's run"},
	{from: []string{"reports/section/..."}, to: []string{"reports/section/..."}, but: []string{"reports/section"},
		why: "no section imports another: what two need is a fact, or a reader that they share"},
	{from: []string{"reports/chart"}, to: []string{"..."}, but: []string{"reports/words"},
		why: "a chart knows nothing but its data"},
	{from: []string{"reports/reading", "reports/waits", "reports/heat"}, to: []string{"..."}, but: []string{"metrics/...", "reports/reading"},
		why: "readers make numbers, not words or pictures"},
	{from: []string{"reports/regression"}, to: []string{"..."}, but: []string{"orchestrator/compare/verdict", "reports/chart", "reports/page", "reports/section", "reports/words"},
		why: "regression renders verdicts and nothing else"},
	{from: []string{"cmd/csig-host", "cmd/csig-switch"}, to: []string{"cmd/..."},
		why: "commands are the top"},
	{from: []string{"..."}, to: layers[19],
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
	return slices.IndexFunc(layers, func(names []string) bool { return matchesAny(names, dir) })
}

// missing returns the packages that the layers name and the module does not have.
func missing(m *module) (names []string) {
	for _, name := range slices.Concat(layers...) {
		if m.packages[strings.TrimSuffix(name, "/...")] == nil {
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
		if !fromSupport && matchesAny(e.from, from) && matchesAny(e.to, to) && !matchesAny(e.but, to) {
			ps.add(spec.Pos(), "%s imports %s: %s", from, to, e.why)
			return
		}
	}
}
