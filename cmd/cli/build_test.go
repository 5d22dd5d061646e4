package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/labs/containerlab/containerlabtest"
)

// workshop is where the tests build csiglabs with modules: with a cache of builds of its
// own, offline, and with the go command's cache.
type workshop struct {
	dir, source string
	env         []string
}

func newWorkshop(t *testing.T) *workshop {
	t.Helper()
	gocache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	w := &workshop{dir: t.TempDir(), source: checkout.Repository(t)}
	// GOPROXY=off: nothing is fetched for modules that are folders.
	w.env = append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(w.dir, "cache"), "GOCACHE="+strings.TrimSpace(string(gocache)), "GOPROXY=off")
	return w
}

// run runs a program and returns its exit code and what it prints.
func (w *workshop) run(t *testing.T, program string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env, cmd.Dir = w.env, w.dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// build runs csiglab build with a module in a folder.
func (w *workshop) build(t *testing.T, module, folder, output string, more ...string) (code int, stdout, stderr string) {
	t.Helper()
	return w.run(t, filepath.Join(builtPrograms(t), "csiglab"), append([]string{"build", "--with", module + "=" + folder, "-o", output, "--csiglab", w.source}, more...)...)
}

// built is build of a module that is in order.
func (w *workshop) built(t *testing.T, module, folder, output string, more ...string) (program, stdout string) {
	t.Helper()
	code, stdout, stderr := w.build(t, module, folder, output, more...)
	if code != command.ExitOK {
		t.Fatalf("csiglab build --with %s: exit code %d\n%s%s", module, code, stdout, stderr)
	}
	return filepath.Join(w.dir, output), stdout
}

// module writes a module of one file and returns its folder.
func (w *workshop) module(t *testing.T, path, text string) string {
	t.Helper()
	dir := filepath.Join(w.dir, "modules", filepath.Base(path))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"go.mod": "module " + path + "\n\ngo 1.26.0\n", "a.go": text} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// temporary returns what builds have left in the cache that is no build.
func (w *workshop) temporary() []string {
	left, _ := filepath.Glob(filepath.Join(w.dir, "cache/csiglab/builds/tmp-*"))
	return left
}

// worstHop is a small experiment with the controller of docs/how-to/extend.md.
const worstHop = `schema: 1
name: worst
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 10Gbps, delay: 1us}}
workload: {transfers: [0 -> 2 400kB, 1 -> 2 400kB]}
csig: {format: compact}
hosts:
  cc: {name: worst-hop, target: 20us}
`

// TestBuild builds a csiglab with the module of docs/how-to/extend.md and uses it as a user does,
// in every runtime that the machine has.
func TestBuild(t *testing.T) {
	needTime(t)
	w := newWorkshop(t)
	folder := filepath.Join(w.source, "docs/examples/worsthop")
	mine, said := w.built(t, "example.com/worsthop", folder, "mine")
	if !strings.Contains(said, "compiled in") || !strings.Contains(said, "cc worst-hop") {
		t.Errorf("the first build says\n%s", said)
	}
	t.Run("cache", func(t *testing.T) {
		again, said := w.built(t, "example.com/worsthop", folder, "again")
		if !strings.Contains(said, "from the cache") || !cmp.Equal(read(t, again), read(t, mine)) {
			t.Errorf("the second build says\n%s", said)
		}
		changed := w.module(t, "example.com/worsthop", strings.Replace(string(read(t, filepath.Join(folder, "worsthop.go"))), `Default: "5us"`, `Default: "7us"`, 1))
		other, said := w.built(t, "example.com/worsthop", changed, "other")
		if !strings.Contains(said, "compiled in") {
			t.Errorf("the build of a changed module says\n%s", said)
		}
		if _, list, _ := w.run(t, other, "list", "cc"); !strings.Contains(list, "7us") {
			t.Errorf("the changed module lists\n%s", list)
		}
	})
	t.Run("contents", func(t *testing.T) {
		var about struct {
			Modules []struct {
				Path, Sum string
				Registers []struct{ Kind, Name string }
			}
		}
		_, text, _ := w.run(t, mine, "version", "--json")
		if err := json.Unmarshal([]byte(text), &about); err != nil {
			t.Fatal(err)
		}
		if m := about.Modules; len(m) != 1 || m[0].Path != "example.com/worsthop" || !strings.HasPrefix(m[0].Sum, "h1:") || len(m[0].Registers) != 1 || m[0].Registers[0].Name != "worst-hop" {
			t.Errorf("version --json: %s", text)
		}
		if _, list, _ := w.run(t, mine, "list", "cc"); !regexp.MustCompile(`(?m)^  worst-hop: .*\n    of module example.com/worsthop\n    target +time +5us`).MatchString(list) {
			t.Errorf("list cc:\n%s", list)
		}
	})
	experiment := filepath.Join(w.dir, "worst.yaml")
	if err := os.WriteFile(experiment, []byte(worstHop), 0o644); err != nil {
		t.Fatal(err)
	}
	hash := ""
	runs := func(name string, args ...string) func(t *testing.T) {
		return func(t *testing.T) {
			out := filepath.Join(w.dir, "run "+name)
			if code, stdout, stderr := w.run(t, mine, append([]string{"run", experiment, "--out", out}, args...)...); code != command.ExitOK {
				t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
			}
			f, err := runfolder.Open(out)
			if err != nil {
				t.Fatal(err)
			}
			m := f.Manifest
			if len(m.Modules) != 1 || m.Modules[0].Path != "example.com/worsthop" || !slices.Equal(m.Modules[0].Registers, []string{"cc worst-hop"}) {
				t.Errorf("the manifest has the modules %+v", m.Modules)
			}
			if report := read(t, filepath.Join(out, runfolder.ReportFile)); !bytes.Contains(report, []byte("has registered cc worst-hop")) {
				t.Error("the report does not name the module")
			}
			if hash == "" {
				hash = m.Runs[0].TraceHash
			}
			if got := m.Runs[0].TraceHash; got != hash || got == "" {
				t.Errorf("trace hash %s, want %s", got, hash)
			}
		}
	}
	t.Run("virtual", runs("virtual"))
	t.Run("wrong names", func(t *testing.T) {
		for _, c := range []struct{ from, to, want string }{
			{"worst-hop,", "wurst-hop,", `worst.yaml:7:14: hosts.cc.name: unknown algorithm "wurst-hop"`},
			{"worst-hop,", "wurst-hop,", `(did you mean "worst-hop"?)`},
			{"target: 20us", "target: 20", `worst.yaml:7:33: hosts.cc.target: duration "20": a unit is missing`},
			{"target: 20us", "targets: 20us", `worst.yaml:7:25: hosts.cc.targets: worst-hop has no such parameter (did you mean "target"?)`},
			{"target: 20us", "gain: 2", `worst.yaml:7:31: hosts.cc.gain: 2 is not in (0, 1]`},
		} {
			if err := os.WriteFile(experiment, []byte(strings.Replace(worstHop, c.from, c.to, 1)), 0o644); err != nil {
				t.Fatal(err)
			}
			if code, _, stderr := w.run(t, mine, "run", experiment); code != command.ExitUsage || !strings.Contains(stderr, c.want) {
				t.Errorf("%s: exit code %d, %s; want %s", c.to, code, stderr, c.want)
			}
		}
		if err := os.WriteFile(experiment, []byte(worstHop), 0o644); err != nil {
			t.Fatal(err)
		}
	})
	if exec.Command("unshare", "-rn", "true").Run() != nil {
		t.Log("no network namespaces here")
		return
	}
	t.Run("netns", runs("netns", "--runtime", "netns", "--clock", "lockstep"))
	t.Run("containers", func(t *testing.T) {
		containerlabtest.Docker(t)
		if code, _, stderr := w.run(t, mine, "run", experiment, "--runtime", "containerlab", "--clock", "lockstep"); code != command.ExitInfrastructure || !strings.Contains(stderr, "; csiglab build --also csiglab-lab puts it there") {
			t.Errorf("without csiglab-lab: exit code %d, %s", code, stderr)
		}
		w.built(t, "example.com/worsthop", folder, "mine", "--also", "csiglab-lab")
		before := w.env
		w.env = append(slices.Clip(w.env), "DOCKER_HOST="+os.Getenv("DOCKER_HOST"))
		defer func() { w.env = before }()
		runs("containers", "--runtime", "containerlab", "--clock", "lockstep")(t)
	})
	t.Run("other node programs", func(t *testing.T) {
		plain := read(t, filepath.Join(builtPrograms(t), "csig-host"))
		if err := os.WriteFile(mine+".programs/csig-host", plain, 0o755); err != nil {
			t.Fatal(err)
		}
		code, _, stderr := w.run(t, mine, "run", experiment, "--runtime", "netns", "--clock", "lockstep", "--out", filepath.Join(w.dir, "plain"))
		if code != command.ExitInfrastructure || !strings.Contains(stderr, "the node program has not the modules of csiglab") {
			t.Errorf("exit code %d, %s", code, stderr)
		}
		// Without the folder, the programs come from the cache.
		if err := os.RemoveAll(mine + ".programs"); err != nil {
			t.Fatal(err)
		}
		runs("cache", "--runtime", "netns", "--clock", "lockstep")(t)
	})
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A module that is wrong ends the build with exit code 2 and words, and nothing is
// written.
func TestBuildRefuses(t *testing.T) {
	needTime(t)
	w := newWorkshop(t)
	const imports = "package a\n\nimport \"github.com/csiglab/csiglab/nodes/host/congestion\"\n\n"
	for name, c := range map[string]struct{ text, want string }{
		"compile":  {"package a\n\nvar x int = \"s\"\n", "modules/compile/a.go:3:13: cannot use \"s\""},
		"nothing":  {"package a\n", "module example.com/nothing registers nothing: call congestion.Register"},
		"taken":    {imports + "func init() { a, _ := congestion.Table.Lookup(\"nscc\"); congestion.Register(a) }\n", `module example.com/taken: congestion control "nscc": csiglab has one of this name itself`},
		"twice":    {imports + "func init() {\n\ta, _ := congestion.Table.Lookup(\"nscc\")\n\ta.Name = \"mine\"\n\tcongestion.Register(a)\n\tcongestion.Register(a)\n}\n", `congestion control "mine": example.com/twice has registered another one of this name`},
		"no-doc":   {imports + "func init() { a, _ := congestion.Table.Lookup(\"nscc\"); a.Name, a.Doc = \"mine\", \"\"; congestion.Register(a) }\n", `congestion control "mine": mine has no doc: set Spec.Doc`},
		"windows":  {imports + "func init() { a, _ := congestion.Table.Lookup(\"nscc\"); a.Name, a.Windows = \"mine\", nil; congestion.Register(a) }\n", "mine has no Windows"},
		"action":   {imports + "func init() { a, _ := congestion.Table.Lookup(\"nscc\"); a.Name, a.Actions = \"mine\", a.Actions[:1]; congestion.Register(a) }\n", "Output.Action is 1, which Algorithm.Actions of mine does not declare"},
		"panics":   {"package a\n\nfunc init() { panic(\"boom\") }\n", "csiglab with example.com/panics does not start:\npanic: boom; example.com/panics.init.0()"},
		"kind-doc": {"package a\n\nimport \"github.com/csiglab/csiglab/orchestrator/experiment\"\n\nvar _ = experiment.RegisterTopology(experiment.TopologyKind{Kind: experiment.Kind{Name: \"mine\"}})\n", `topology "mine": Kind.Doc is empty`},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := w.build(t, "example.com/"+name, w.module(t, "example.com/"+name, c.text), "out-"+name)
			if code != command.ExitUsage || !strings.Contains(stderr, c.want) || stdout != "" {
				t.Errorf("exit code %d\n%s%s\nwant %s", code, stdout, stderr, c.want)
			}
			if left, _ := filepath.Glob(filepath.Join(w.dir, "out-*")); left != nil || w.temporary() != nil {
				t.Errorf("left %q and %q", left, w.temporary())
			}
		})
	}
	t.Run("no Go toolchain", func(t *testing.T) {
		if _, err := os.Stat("/usr/local/go/bin/go"); err == nil {
			t.Skip("a Go toolchain is in /usr/local/go")
		}
		w := *w
		w.env = append(slices.Clip(w.env), "PATH=/nonexistent")
		if code, _, stderr := w.build(t, "example.com/nothing", w.dir, "out"); code != command.ExitInfrastructure || !strings.Contains(stderr, "needs a Go toolchain") {
			t.Errorf("exit code %d, %s", code, stderr)
		}
	})
}

// An interrupted build leaves nothing, and two builds at the same time give the same.
func TestBuildsAtOnce(t *testing.T) {
	needTime(t)
	w := newWorkshop(t)
	folder := filepath.Join(w.source, "docs/examples/worsthop")
	cmd := exec.Command(filepath.Join(builtPrograms(t), "csiglab"), "build", "--with", "example.com/worsthop="+folder, "-o", "mine", "--csiglab", w.source)
	cmd.Env, cmd.Dir = w.env, w.dir
	stderr := new(bytes.Buffer)
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(limit); ; time.Sleep(10 * time.Millisecond) {
		if begun, _ := filepath.Glob(filepath.Join(w.dir, "cache/csiglab/builds/tmp-*/programs")); begun != nil {
			break
		}
		if time.Now().After(until) {
			t.Fatal("the build does not begin")
		}
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != command.ExitInfrastructure || !strings.Contains(stderr.String(), "interrupted") {
		t.Errorf("%v: %s", err, stderr)
	}
	if left, _ := filepath.Glob(filepath.Join(w.dir, "mine*")); left != nil || w.temporary() != nil {
		t.Errorf("left %q and %q", left, w.temporary())
	}

	said := make(chan string, 2)
	for _, output := range []string{"one", "two"} {
		go func() {
			_, stdout, stderr := w.build(t, "example.com/worsthop", folder, output)
			said <- stdout + stderr
		}()
	}
	if both := <-said + <-said; strings.Count(both, "compiled in") != 1 || strings.Count(both, "from the cache") != 1 {
		t.Errorf("two builds say\n%s", both)
	}
	if !bytes.Equal(read(t, filepath.Join(w.dir, "one")), read(t, filepath.Join(w.dir, "two"))) {
		t.Error("two builds of the same are different")
	}
}

// misbehaving is an experiment with the algorithms of testdata/misbehave.
const misbehaving = `schema: 1
name: bad
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 10Gbps, delay: 1us}}
workload: {transfers: [0 -> 2 4MB, 1 -> 2 4MB]}
hosts: {cc: bad-cc, lb: bad-lb}
links: {aqm: bad-aqm}
`

// TestMisbehave: an algorithm that panics, does not return or asks for what is absurd ends
// the run with exit code 3 and its name, also in the node's own process.
func TestMisbehave(t *testing.T) {
	needTime(t)
	w := newWorkshop(t)
	bad, _ := w.built(t, "example.com/misbehave", filepath.Join(w.source, "cmd/cli/testdata/misbehave"), "bad")
	experiment := filepath.Join(w.dir, "bad.yaml")
	if err := os.WriteFile(experiment, []byte(misbehaving), 0o644); err != nil {
		t.Fatal(err)
	}
	check := func(t *testing.T, setting, want string, args ...string) {
		t.Helper()
		started := time.Now()
		code, stdout, stderr := w.run(t, bad, append([]string{"run", experiment, "--set", setting, "--out", filepath.Join(t.TempDir(), "run")}, args...)...)
		if code != command.ExitInfrastructure || !strings.Contains(stderr, want) || strings.Contains(stderr, "goroutine ") {
			t.Errorf("%s: exit code %d after %v\n%s%s\nwant %s", setting, code, time.Since(started), stdout, stderr, want)
		}
	}
	const of = " of module example.com/misbehave "
	cases := []struct{ setting, want string }{
		{"hosts.cc.how=panic", "congestion control bad-cc" + of + "panics: index out of range [200]"},
		{"hosts.cc.how=negative", "congestion control bad-cc" + of + "asks for a window of -1B, less than nothing"},
		{"hosts.cc.how=huge", "congestion control bad-cc" + of + "asks for a window of 1GB; its Windows say from 4.15kB to 415kB"},
		{"hosts.cc.how=action", "congestion control bad-cc" + of + "answers with the action 7; its Actions have the indices 0 to 0"},
		{"hosts.cc.how=build", "congestion control bad-cc" + of + "panics: no such path"},
		{"hosts.cc.how=loop", "congestion control bad-cc" + of + "has not returned for 4s"},
		{"hosts.lb.how=panic", "load balancer bad-lb" + of + "panics"},
		{"hosts.lb.how=loop", "load balancer bad-lb" + of + "has not returned for 4s"},
		{"links.aqm.how=panic", "AQM policy bad-aqm" + of + "panics"},
		{"links.aqm.how=loop", "AQM policy bad-aqm" + of + "has not returned for 4s"},
	}
	t.Run("virtual", func(t *testing.T) {
		if code, stdout, stderr := w.run(t, bad, "run", experiment, "--out", filepath.Join(t.TempDir(), "run")); code != command.ExitOK {
			t.Errorf("as they behave well: exit code %d\n%s%s", code, stdout, stderr)
		}
		for _, c := range cases {
			check(t, c.setting, c.want)
		}
		check(t, "hosts.cc.how=panic", cases[0].want, "--seeds", "4", "--parallel", "2")
	})
	if exec.Command("unshare", "-rn", "true").Run() != nil {
		t.Log("no network namespaces here")
		return
	}
	for _, args := range [][]string{{"--clock", "lockstep"}, {"--clock", "lockstep", "--processes", "one"}, {"--clock", "wall"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			for _, i := range []int{0, 2, 5, 7, 8} {
				check(t, cases[i].setting, cases[i].want, append([]string{"--runtime", "netns"}, args...)...)
			}
		})
	}
	t.Run("containers", func(t *testing.T) {
		containerlabtest.Docker(t)
		w.built(t, "example.com/misbehave", filepath.Join(w.source, "cmd/cli/testdata/misbehave"), "bad", "--also", "csiglab-lab")
		w.env = append(w.env, "DOCKER_HOST="+os.Getenv("DOCKER_HOST"))
		for _, i := range []int{0, 2, 5} {
			check(t, cases[i].setting, cases[i].want, "--runtime", "containerlab", "--clock", "lockstep")
		}
	})
}
