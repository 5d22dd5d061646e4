package arrows

import (
	"maps"
	"strings"
)

// violation is a module made up to break one rule.
type violation struct {
	name    string
	sources map[string]string
	want    string // a part of the problem; empty where there is none
}

// file makes the source of a package: its comment, its clause and the body.
func file(name, body string) string {
	return "// Package " + name + " is made up.\npackage " + name + "\n" + body
}

// importing makes the source of a package that imports others of the module.
func importing(name string, dirs ...string) string {
	var b strings.Builder
	for _, dir := range dirs {
		b.WriteString("import _ \"" + modulePath + "/" + dir + "\"\n")
	}
	return file(name, b.String())
}

// machine makes a module of one machine with the given body.
func machine(body string) map[string]string {
	return map[string]string{"nodes/node/node.go": file("node", body)}
}

// below are packages for the others to import.
var below = map[string]string{
	"units/units.go":                                file("units", ""),
	"nodes/wire/wire.go":                            file("wire", ""),
	"nodes/host/host.go":                            file("host", ""),
	"nodes/host/player/player.go":                   file("player", ""),
	"nodes/host/congestion/congestion.go":           file("congestion", ""),
	"nodes/host/balance/balance.go":                 file("balance", ""),
	"nodes/switch/aqm/aqm.go":                       file("aqm", ""),
	"nodes/switch/aqm/aqmtest/aqmtest.go":           file("aqmtest", "import _ \"testing\"\nimport _ \""+modulePath+"/nodes/switch/aqm\""),
	"nodes/switch/buffer/buffer.go":                 file("buffer", ""),
	"nodes/sim/sim.go":                              file("sim", "import _ \"time\""),
	"nodes/emu/emu.go":                              file("emu", "import _ \"sync\""),
	"nodes/netio/netio.go":                          file("netio", "import _ \"os\""),
	"metrics/metrics.go":                            file("metrics", ""),
	"metrics/runfolder/runfolder.go":                file("runfolder", ""),
	"topologies/topologies.go":                      file("topologies", ""),
	"topologies/htsim/htsim.go":                     file("htsim", ""),
	"orchestrator/experiment/experiment.go":         file("experiment", ""),
	"orchestrator/plan/plan.go":                     file("plan", ""),
	"orchestrator/backend/netns/netns.go":           file("netns", "import _ \"os\""),
	"orchestrator/backend/containers/containers.go": file("containers", ""),
	"orchestrator/run/campaign/campaign.go":         file("campaign", ""),
	"orchestrator/labs/runs/runs.go":                file("runs", ""),
	"reports/chart/chart.go":                        file("chart", ""),
	"reports/reading/reading.go":                    file("reading", "import _ \""+modulePath+"/metrics/runfolder\""),
	"reports/section/section.go":                    file("section", "import _ \""+modulePath+"/reports/reading\""),
	"reports/section/jobs/jobs.go":                  file("jobs", "import _ \""+modulePath+"/reports/section\""),
	"reports/section/blame/blame.go":                file("blame", "import _ \""+modulePath+"/reports/section\""),
	"reports/reports.go":                            file("reports", "import _ \""+modulePath+"/reports/section/jobs\""),
	"cmd/csiglab/main.go":                           "// Command csiglab is made up.\npackage main\nfunc main() {}\n",
	"docs/arrows/arrows_test.go":                    file("arrows", ""),
}

// with adds a file to those below, or replaces one.
func with(name, source string) map[string]string {
	sources := maps.Clone(below)
	sources[name] = source
	return sources
}

var violations = []violation{
	{"none", below, ""},

	{"unknown package", with("nodes/extra/extra.go", file("extra", "")), "nodes/extra has no room"},
	{"unknown top level", with("internal/util/util.go", file("util", "")), "internal/util has no room"},
	{"code among the tests", with("docs/arrows/code.go", file("arrows", "")), "docs/arrows holds tests only"},
	{"import of an unknown package", with("nodes/sim/sim.go", importing("sim", "nodes/extra")), "nodes/extra, which has no room"},

	{"a package that is not there", with("nodes/class/class.go", importing("class", "internal/fifo")), "no package internal/fifo"},
	{"ground imports data", with("units/units.go", importing("units", "nodes/wire")), "units (ground) imports nodes/wire (data, room nodes/wire): imports go down"},
	{"class imports host", with("nodes/class/class.go", importing("class", "nodes/host")), "nodes/class (machines) imports nodes/host (machines, room nodes/host): imports go down"},
	{"machine imports driver", with("nodes/switch/buffer/buffer.go", importing("buffer", "nodes/sim")), "(machines) imports nodes/sim (drivers, room nodes/sim)"},
	{"driver imports orchestrator", with("nodes/sim/sim.go", importing("sim", "orchestrator/plan")), "(drivers) imports orchestrator/plan (plans, room orchestrator/plan)"},
	{"command imported", with("orchestrator/run/campaign/campaign.go", importing("campaign", "cmd/csiglab")), "imports cmd/csiglab"},
	{"command imports command", with("cmd/csig-host/main.go", "// Command csig-host is made up.\npackage main\nimport _ \""+modulePath+"/cmd/csiglab\"\n"), "commands are the top"},

	{"node program imports holder", with("cmd/csig-host/main.go", "// Command csig-host is made up.\npackage main\nimport _ \""+modulePath+"/cmd/cli/holder\"\n"), "cmd/csig-host imports cmd/cli/holder: "},
	{"group of commands imports another", with("cmd/cli/fabrics/fabrics.go", importing("fabrics", "cmd/cli/machine")), "no group of commands imports another"},
	{"what groups share imports a group", with("cmd/cli/command/app.go", importing("command", "cmd/cli/labs")), "cmd/cli/command (commands) imports cmd/cli/labs (commands, room cmd/cli/labs): imports go down"},
	{"holder imports its command", with("cmd/cli/holder/list.go", importing("holder", "cmd/csiglab")), "commands are the top"},

	{"host imports switch", with("nodes/host/host.go", importing("host", "nodes/switch/aqm")), "host and switch share"},
	{"switch imports host", with("nodes/switch/buffer/buffer.go", importing("buffer", "nodes/host")), "host and switch share"},
	{"switch imports player", with("nodes/switch/buffer/buffer.go", importing("buffer", "nodes/host/player")), "host and switch share"},
	{"sim imports emu", with("nodes/sim/sim.go", importing("sim", "nodes/emu")), "know nothing of each other"},
	{"emu imports sim", with("nodes/emu/wall/wall.go", importing("wall", "nodes/sim")), "know nothing of each other"},
	{"congestion is a leaf", with("nodes/host/congestion/congestion.go", importing("congestion", "nodes/host/balance")), "are leaves"},
	{"aqm is a leaf", with("nodes/switch/aqm/aqm.go", importing("aqm", "nodes/switch/buffer")), "are leaves"},
	{"leaf imports below", with("nodes/switch/aqm/aqm.go", importing("aqm", "nodes/wire")), ""},
	{"reports imports orchestrator", with("reports/reports.go", importing("reports", "orchestrator/experiment")), "a report is of a run folder and nothing else"},
	{"reports imports sim", with("reports/reports.go", importing("reports", "nodes/sim")), "a report is of a run folder and nothing else"},
	{"reports imports units", with("reports/reports.go", importing("reports", "units", "metrics/runfolder")), ""},
	{"section imports section", with("reports/section/jobs/jobs.go", importing("jobs", "reports/section", "reports/section/blame")), "no section imports another"},
	{"section imports orchestrator", with("reports/section/jobs/jobs.go", importing("jobs", "orchestrator/plan")), "a report is of a run folder and nothing else"},
	{"a new section needs no line here", with("reports/section/extra/extra.go", importing("extra", "reports/section")), ""},
	{"chart knows runs", with("reports/chart/chart.go", importing("chart", "metrics/runfolder")), "a chart knows nothing but its data"},
	{"reading makes words", with("reports/reading/reading.go", importing("reading", "reports/section")), "readers make numbers"},
	{"orchestrator imports reading", with("orchestrator/run/campaign/campaign.go", importing("campaign", "reports/reading")), "imports go down"},
	{"orchestrator imports reports", with("orchestrator/run/campaign/campaign.go", importing("campaign", "reports")), "imports go down"},
	{"plan imports a backend", with("orchestrator/plan/plan.go", importing("plan", "orchestrator/backend/netns")), "orchestrator/plan (plans) imports orchestrator/backend/netns (runs, room orchestrator/backend)"},
	{"plan imports a driver", with("orchestrator/plan/plan.go", importing("plan", "nodes/sim")), "a plan is data that any driver runs"},
	{"experiment imports its plan", with("orchestrator/experiment/experiment.go", importing("experiment", "orchestrator/plan")), "imports go down"},
	{"backend imports backend", with("orchestrator/backend/containers/containers.go", importing("containers", "orchestrator/backend/netns")), "backends know nothing of each other"},
	{"inproc imports backend", with("orchestrator/backend/inproc/inproc.go", importing("inproc", "orchestrator/backend/containers")), "backends know nothing of each other"},
	{"netns imports containerlab", with("orchestrator/backend/netns/netns.go", importing("netns", "orchestrator/labs/containerlab")), "backends know nothing of each other"},
	{"containerlab imports runs", with("orchestrator/labs/containerlab/containerlab.go", importing("containerlab", "orchestrator/labs/runs")), "knows nothing of runs"},
	{"backend imports campaign", with("orchestrator/backend/netns/netns.go", importing("netns", "orchestrator/run/campaign")), "imports go down"},
	{"package in a room", with("orchestrator/backend/netns/more/more.go", file("more", "")), ""},
	{"package beside the rooms", with("orchestrator/more/more.go", file("more", "")), "orchestrator/more has no room"},
	{"reports imports a judge", with("reports/reports.go", importing("reports", "orchestrator/compare/verdict")), ""},

	{"one way is no circle", with("metrics/runfolder/runfolder.go", importing("runfolder", "topologies")), ""},
	{"circle", map[string]string{
		"metrics/runfolder/runfolder.go": importing("runfolder", "topologies"), "metrics/metrics.go": file("metrics", ""),
		"topologies/topologies.go": file("topologies", ""), "topologies/draw/draw.go": importing("draw", "metrics"),
	}, "top-level folders in a circle: metrics -> topologies -> metrics"},
	{"circle of three", map[string]string{
		"metrics/runfolder/runfolder.go": importing("runfolder", "topologies"), "metrics/metrics.go": file("metrics", ""),
		"topologies/topologies.go": file("topologies", ""), "topologies/draw/draw.go": importing("draw", "workloads"),
		"workloads/workloads.go": file("workloads", ""), "workloads/htsim/htsim.go": importing("htsim", "metrics"),
	}, "top-level folders in a circle: metrics -> topologies -> workloads -> metrics"},

	{"exit below cmd", with("nodes/sim/sim.go", file("sim", `import "os"; func f() { os.Exit(1) }`)), "only an entry point may use os.Exit"},
	{"exit under another name", with("nodes/sim/sim.go", file("sim", `import system "os"; var end = system.Exit`)), "only an entry point may use system.Exit"},
	{"exit without a name", with("nodes/sim/sim.go", file("sim", `import . "os"; func f() { Exit(1) }`)), "import os by its name"},
	{"log.Fatalf", with("cmd/csiglab/run.go", "package main\nimport \"log\"\nfunc f() { log.Fatalf(\"\") }\n"), "only an entry point may use log.Fatalf"},
	{"exit of another", with("nodes/sim/sim.go", file("sim", `type t struct{}; func (t) Exit(int) {}; func f(os t) { os.Exit(1) }`)), ""},
	{"exit of an entry point", with("cmd/csiglab/main.go", "// Command csiglab is made up.\npackage main\nimport \"os\"\nfunc main() { os.Exit(1) }\n"), ""},
	{"exit of a test", with("nodes/sim/sim_test.go", "package sim\nimport \"os\"\nfunc f() { os.Exit(1) }\n"), ""},

	{"test support in the product", with("nodes/switch/buffer/buffer.go", importing("buffer", "nodes/switch/aqm/aqmtest")), "is for tests of nodes/switch/aqm"},
	{"test imports anything", with("reports/reports_test.go", importing("reports", "orchestrator/run/campaign", "nodes/sim")), ""},

	{"what a machine imports", map[string]string{
		"nodes/node/node.go":               importing("node", "workloads/graph"),
		"workloads/graph/graph.go":         file("graph", `import _ "os"`),
		"workloads/tracefile/tracefile.go": file("tracefile", `import _ "os"`),
	}, "workloads/graph/graph.go:3:8: a machine may not import os"},
	{"what no machine imports", with("workloads/tracefile/tracefile.go", file("tracefile", `import _ "os"`)), ""},
	{"as pure as a machine", with("workloads/circle/circle.go", file("circle", `import _ "os"`)), "may not import os"},

	{"net", machine(`import _ "net"`), "may not import net"},
	{"os", machine(`import _ "os"`), "may not import os"},
	{"sync", machine(`import _ "sync"`), "may not import sync"},
	{"atomic", machine(`import _ "sync/atomic"`), "may not import sync/atomic"},
	{"time", machine(`import _ "time"`), "may not import time"},
	{"log", machine(`import _ "log/slog"`), "may not import log/slog"},
	{"runtime", machine(`import _ "runtime"`), "may not import runtime"},
	{"syscall", machine(`import _ "syscall"`), "may not import syscall"},
	{"x/sys", machine(`import _ "golang.org/x/sys/unix"`), "may not import golang.org/x/sys/unix"},
	{"unsafe", machine(`import _ "unsafe"`), "may not import unsafe"},
	{"cgo", machine(`import "C"`), "may not import C"},
	{"bufio", machine(`import _ "bufio"`), "may not import bufio"},
	{"math/rand", machine(`import _ "math/rand"`), "may not import math/rand"},
	{"renamed", machine(`import errors "os"; var _ = errors.Args`), "may not import os"},
	{"in the second file", map[string]string{
		"nodes/node/node.go": file("node", ""), "nodes/node/more.go": "package node\nimport _ \"net\"\n",
	}, "nodes/node/more.go:2:8: a machine may not import net"},
	{"test of a machine", map[string]string{
		"nodes/node/node.go": file("node", ""), "nodes/node/node_test.go": "package node\nimport _ \"os\"\nfunc f() { go f() }\n",
	}, ""},

	{"goroutine", machine("func f() { go f() }"), "starts no goroutine"},
	{"channel", machine("type t struct{ c chan int }"), "has no channel"},
	{"select", machine("func f() { select {} }"), "has no select"},
	{"fmt.Println", machine(`import "fmt"; func f() { fmt.Println() }`), "may not use fmt.Println"},
	{"fmt.Sprint", machine(`import "fmt"; func f() string { return fmt.Sprint() }`), ""},
	{"println", machine("func f() { println() }"), "prints nothing: println"},
	{"a function called println", machine("func println() {}; func f() { println() }"), ""},
	{"global source", machine(`import "math/rand/v2"; func f() int { return rand.IntN(2) }`), "math/rand/v2.IntN uses the global one"},
	{"global source, generic", machine(`import r "math/rand/v2"; func f() int { return r.N[int](2) }`), "math/rand/v2.N uses the global one"},
	{"global source, dot", machine(`import . "math/rand/v2"; var f = Float64`), "math/rand/v2.Float64 uses the global one"},
	{"own source", machine(`import "math/rand/v2"; func f() int { return rand.New(rand.NewPCG(1, 2)).IntN(2) }`), ""},
	{"build constraint", map[string]string{"nodes/node/node.go": "//go:build linux\n\n" + file("node", "")}, "no //go:build"},
	{"linkname", machine("//go:linkname f runtime.f\nfunc f() {}"), "no //go:linkname"},
	{"wrong types", machine("var x int = true"), "type check: cannot use true"},

	{"range over a map", machine("func f(m map[int]int) { for range m {} }"), "a range over a map has a random order"},
	{"range over a named map", machine("type t map[int]int; func f(m t) { for k, v := range m { m[v] = k } }"), "a range over a map has a random order"},
	{"range over a map elsewhere", map[string]string{
		"nodes/wire/wire.go": file("wire", "var Table map[string]int"),
		"nodes/node/node.go": file("node", "import \""+modulePath+"/nodes/wire\"\nfunc f() { for range wire.Table {} }"),
	}, "nodes/node/node.go:4:12: a range over a map"},
	{"range over a generic map", machine("func f[M ~map[int]int](m M) { for range m {} }"), "a range over a map has a random order"},
	{"range over a slice", machine("func f(m []int) { for range m {} }"), ""},
	{"explained", machine("func f(m map[int]int) (n int) {\n// order: a sum does not depend on it\nfor _, v := range m { n += v }\nreturn n }"), ""},
	{"explained beside", machine("func f(m map[int]int) (n int) {\nfor _, v := range m { // order: a sum\nn += v }\nreturn n }"), ""},
	{"explained without reason", machine("func f(m map[int]int) (n int) {\n// order:\nfor _, v := range m { n += v }\nreturn n }"), "a range over a map has a random order"},
	{"explained too far away", machine("func f(m map[int]int) (n int) {\n// order: a sum\n\nfor _, v := range m { n += v }\nreturn n }"), "a range over a map has a random order"},
	{"sorted after", machine(`import "slices"; func f(m map[int]int) (l []int) { for k := range m { l = append(l, k) }; slices.Sort(l); return l }`), ""},
	{"sorted before", machine(`import "slices"; func f(m map[int]int) (l []int) { slices.Sort(l); for k := range m { l = append(l, k) }; return l }`), "a range over a map has a random order"},
	{"another one sorted", machine(`import "slices"; func f(m map[int]int) (l, o []int) { for k := range m { l = append(l, k) }; slices.Sort(o); return l, o }`), "a range over a map has a random order"},
	{"keys", machine(`import ("maps"; "slices"); func f(m map[int]int) []int { return slices.Collect(maps.Keys(m)) }`), "maps.Keys has a random order"},
	{"sorted keys", machine(`import ("maps"; "slices"); func f(m map[int]int) []int { return slices.Sorted(maps.Keys(m)) }`), ""},
	{"delete some", machine(`import "maps"; func f(m map[int]int) { maps.DeleteFunc(m, func(k, v int) bool { return k < v }) }`), "maps.DeleteFunc, which goes through a map"},

	{"no package comment", map[string]string{"nodes/node/node.go": "package node\n"}, "nodes/node has no package comment"},
	{"package comment of another", map[string]string{"nodes/node/node.go": "// Package nod is misspelt.\npackage node\n"}, "no package comment"},
	{"600 lines", machine(strings.Repeat("\n", longestFile-2)), ""},
	{"601 lines", machine(strings.Repeat("\n", longestFile-1)), "601 lines"},
	{"long test", map[string]string{
		"nodes/node/node.go": file("node", ""), "nodes/node/node_test.go": "package node\n" + strings.Repeat("\n", longestFile),
	}, "nodes/node/node_test.go:1:1: 601 lines"},
	{"reminder", machine("// TODO: later\n"), "write TODO(name): why it matters"},
	{"owned reminder", machine("// TODO(ada): the sum overflows after a day\n"), ""},
}
