package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/machine"
	"github.com/csiglab/csiglab/cmd/cli/settings"
	"github.com/csiglab/csiglab/cmd/cli/telemetry"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// configured is a working directory with a file of settings, and the environment of a user
// without one.
func configured(t *testing.T, text string) []string {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile(settings.FolderFile, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{runs.EnvironmentList, settings.DockerVariable} { // settings change them
		t.Setenv(name, os.Getenv(name))
	}
	return []string{"HOME=" + t.TempDir()}
}

func TestConfig(t *testing.T) {
	env := configured(t, "parallel: 2\ngrafana-url: http://g:3000\n")
	code, stdout, stderr := csiglab(&fakeLab{}, append(env, "CSIGLAB_RUNS=results"), "config", "--listen", ":7")
	if code != 0 || stderr != "" {
		t.Fatalf("exit %d, %s", code, stderr)
	}
	for _, want := range []string{"runs results variable CSIGLAB_RUNS", "parallel 2 csiglab.yaml:1", "listen :7 flag --listen", "grafana-url http://g:3000 csiglab.yaml:2", "processes node default", "cluster-image (none) default"} {
		if !slices.ContainsFunc(strings.Split(stdout, "\n"), func(line string) bool { return strings.Join(strings.Fields(line), " ") == want }) {
			t.Errorf("no line %q in:\n%s", want, stdout)
		}
	}
	code, stdout, _ = csiglab(&fakeLab{}, env, "config", "--json")
	var entries []machine.ConfigEntry
	if err := json.Unmarshal([]byte(stdout), &entries); err != nil || code != 0 || len(entries) != len(settings.All()) {
		t.Fatalf("exit %d, %v: %s", code, err, stdout)
	}
	if want := (machine.ConfigEntry{Setting: "parallel", Value: "2", From: settings.File, At: "csiglab.yaml:1"}); !slices.Contains(entries, want) {
		t.Errorf("%+v lacks %+v", entries, want)
	}
	for _, c := range []struct{ args, env, want string }{
		{"config --listen 7", "", `--listen "7": want an address and a port`},
		{"config --lisen :7", "", `did you mean "--listen"`},
		{"config --grafana-url http://me:secret@g", "", `--grafana-url "http://me:xxxxx@g": want an address without a password`},
		{"config", "CSIGLAB_LISTEN=7", `environment variable CSIGLAB_LISTEN: "7": want an address`},
		{"config all", "", "unknown command"},
	} {
		if code, stdout, stderr := csiglab(&fakeLab{}, append(env, c.env), strings.Fields(c.args)...); code != command.ExitUsage || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("%s, %s: exit %d, %s%s; want %s", c.args, c.env, code, stdout, stderr, c.want)
		}
	}
}

// The commands have the flags of the table, with its defaults.
func TestSettingsOfCommands(t *testing.T) {
	root := root((&command.App{Work: (&fakeLab{}).lab(), Stdout: io.Discard, Stderr: io.Discard}))
	used := map[string]bool{}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		for _, s := range command.SettingsOf(c) {
			used[s.Key+" "+c.Name()], used[s.Key] = true, true
			if f := command.OfSetting(c, s.Flag); f != nil && f.DefValue != s.Default && f.DefValue != "0" && c.Name() != "doctor" { // its folder is that of all runs
				t.Errorf("%s --%s: default %q, the table has %q", c.CommandPath(), s.Flag, f.DefValue, s.Default)
			}
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	for _, s := range settings.All() {
		if !used[s.Key] {
			t.Errorf("no command uses %s", s.Key)
		}
		for _, name := range s.Commands {
			if !used[s.Key+" "+name] {
				t.Errorf("%s: no command %s has the flag", s.Key, name)
			}
		}
	}
	for _, name := range []string{"version", "init", "list", "check", "compare", machine.ConfigName, "trial", "shard", "probe"} {
		for key := range used {
			if strings.HasSuffix(key, " "+name) {
				t.Errorf("%s reads settings: %s", name, key)
			}
		}
	}
}

func TestRunTakesSettings(t *testing.T) {
	const file = "runs: results\nparallel: 3\nprocesses: switches\ncluster-image: csiglab:1\ncluster-context: c\ncluster-namespace: n\nruntime: netns\nlist: l\n"
	env := configured(t, file)
	f := &fakeLab{summary: summaryOf(nil)}
	run := func(env []string, args ...string) {
		t.Helper()
		if code, _, stderr := csiglab(f, env, args...); code != 0 {
			t.Fatalf("%q: exit %d: %s", args, code, stderr)
		}
	}
	run(env, "run", "three-flow")
	o, base := f.options, f.set.Base
	if o.Runs != "results" || o.Out != "" || o.Parallel != 3 || o.Remote != (backend.Remote{}) { // it has no cluster
		t.Errorf("%+v", o)
	}
	// Lockstep has the trace of clock virtual, and needs a process for each node.
	if base.Runtime != runtimes.Netns || base.Clock != runtimes.Lockstep || o.Processes != "node" {
		t.Errorf("runtime %s, clock %s, processes %s", base.Runtime, base.Clock, o.Processes)
	}
	if got, want := os.Getenv(runs.EnvironmentList), filepath.Join(cwd(t), "l"); got != want {
		t.Errorf("list %q, want %q", got, want)
	}
	// Flags and variables win over the file.
	run(append(env, "CSIGLAB_PARALLEL=4", "CSIGLAB_RUNS=elsewhere", "CSIGLAB_RUNTIME=inproc"), "run", "three-flow")
	if o := f.options; o.Runs != "elsewhere" || o.Parallel != 4 || f.set.Base.Runtime != runtimes.Inproc {
		t.Errorf("variables: %+v, %s", o, f.set.Base.Runtime)
	}
	run(env, "run", "three-flow", "--runtime", "inproc", "--parallel", "5", "--out", "x")
	if o := f.options; o.Parallel != 5 || o.Out != "x" || f.set.Base.Runtime != runtimes.Inproc || f.set.Base.Clock != runtimes.Virtual {
		t.Errorf("flags: %+v, %s", o, f.set.Base.Runtime)
	}
	// A process that csiglab starts reads no file.
	run(env, "run", "three-flow", "--"+trial.ProbeFlag)
	if o := f.options; o.Runs != "runs" && o.Runs != "" || o.Parallel != 0 || f.set.Base.Runtime != runtimes.Inproc {
		t.Errorf("a trial: %+v, %s", o, f.set.Base.Runtime)
	}
	// What decides about results is no setting.
	for _, text := range []string{"hosts.cc: swift", "seeds: [1]", "clock: wall"} {
		code, _, stderr := csiglab(f, configured(t, text), "run", "three-flow")
		if code != command.ExitUsage || !strings.Contains(stderr, "csiglab.yaml:1:1: ") || !strings.Contains(stderr, "belongs to the experiment") {
			t.Errorf("%s: exit %d, %s", text, code, stderr)
		}
	}
}

func cwd(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// The runtime of a person gives way to the experiment's, and has no part in results.
func TestRuntimeOfSettings(t *testing.T) {
	for _, c := range []struct{ setting, experiment, flags, runtime, clock string }{
		{"netns", "", "", "netns", "lockstep"},
		{"containerlab", "", "", "containerlab", "lockstep"},
		{"netns", "runtime: inproc", "", "inproc", "virtual"},
		{"netns", "clock: virtual", "", "inproc", "virtual"},
		{"containerlab", "clock: lockstep", "", "containerlab", "lockstep"},
		{"containerlab", "clock: wall", "", "netns", "wall"},
		{"containerlab", "", "--clock wall", "netns", "wall"},
		{"netns", "", "--clock virtual", "inproc", "virtual"},
		{"containerlab", "", "--runtime netns", "netns", "lockstep"},
		{"inproc", "clock: lockstep", "", "netns", "lockstep"},
		{"inproc", "", "", "inproc", "virtual"},
	} {
		env := configured(t, "runtime: "+c.setting+"\n")
		text, _, err := experiment.Text("one")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("one.yaml", append(text, "\n"+c.experiment+"\n"...), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, command := range []string{"run", "validate"} {
			f := &fakeLab{summary: summaryOf(nil)}
			if code, _, stderr := csiglab(f, env, append([]string{command, "one.yaml"}, strings.Fields(c.flags)...)...); code != 0 {
				t.Errorf("%+v: %s: exit %d, %s", c, command, code, stderr)
			} else if b := f.set.Base; b.Runtime != c.runtime || b.Clock != c.clock {
				t.Errorf("%+v: %s: got %s, %s", c, command, b.Runtime, b.Clock)
			}
		}
	}
}

// What a file says about runs to come has no part in one that goes on.
func TestResumeWithoutSettings(t *testing.T) {
	env := configured(t, "processes: one\ncluster-image: csiglab:1\nruntime: netns\nparallel: 2\n")
	code, _, stderr := csiglab(&fakeLab{}, append(env, "CSIGLAB_CLUSTER_NAMESPACE=n"), "run", "--resume", "nowhere", "--seeds", "1")
	if code != command.ExitUsage || !strings.Contains(stderr, "--seeds and --resume nowhere exclude each other") { // and nothing before it in the alphabet
		t.Errorf("exit %d, %s", code, stderr)
	}
}

func TestAlone(t *testing.T) {
	for _, c := range []struct {
		clock string
		from  settings.Layer
		alone bool
		left  int
	}{{runtimes.Wall, settings.Flag, true, 4}, {runtimes.Wall, settings.File, false, 0}, {runtimes.Virtual, settings.File, false, 4}} {
		n := 4
		a := &command.App{Values: settings.Values{"parallel": {From: c.from}}}
		if got := a.Alone(c.clock, &n); got != c.alone || n != c.left {
			t.Errorf("%+v: %v, %d", c, got, n)
		}
	}
	a := &command.App{Values: settings.Values{settings.ClusterContext: {Text: "mine"}}}
	if got := a.Place(&command.Where{On: "kubernetes"}).On; got != "kubernetes:mine" {
		t.Errorf("--on kubernetes: %s", got)
	}
	if got := a.Place(&command.Where{On: "kubernetes:other"}).On; got != "kubernetes:other" {
		t.Errorf("--on kubernetes:other: %s", got)
	}
}

// A token file that others may read is refused wherever one is read, and no token goes where
// a folder's file says.
func TestTokenFiles(t *testing.T) {
	env := configured(t, "grafana-url: http://127.0.0.1:1\n")
	for name, mode := range map[string]os.FileMode{"shared": 0o644, "group": 0o640, "own": 0o600} {
		if err := os.WriteFile(name, []byte("secret\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ args, env, want string }{
		{"grafana push --url http://127.0.0.1:1 --token-file shared", "", "--token-file shared: others may read it (mode 0644), and it holds a secret; chmod 600 shared"},
		{"grafana push --url http://127.0.0.1:1", "CSIGLAB_GRAFANA_TOKEN_FILE=group", "--token-file group: others may read it (mode 0640)"},
		{"grafana push --url http://127.0.0.1:1 --token-file own --datasource-token-file group", "", "--datasource-token-file group: others may read it"},
		{"grafana provision there --datasource-token-file group", "", "--datasource-token-file group: others may read it"},
		{"grafana push", "CSIGLAB_GRAFANA_TOKEN_FILE=own", "csiglab.yaml:1: the token would go to http://127.0.0.1:1, which the file of this folder names; give --url http://127.0.0.1:1"},
	} {
		if code, _, stderr := csiglab(&fakeLab{}, append(env, c.env), strings.Fields(c.args)...); code != command.ExitUsage || !strings.Contains(stderr, c.want) || strings.Contains(stderr, "secret\n") {
			t.Errorf("%s: exit %d, %s; want %s", c.args, code, stderr, c.want)
		}
	}
	if _, err := telemetry.ReadToken("group"); err == nil || !strings.Contains(err.Error(), "--token-file group: others may read it") {
		t.Errorf("serve: %v", err)
	}
	if token, err := telemetry.ReadToken("own"); err != nil || token != "secret" {
		t.Errorf("serve: %q, %v", token, err)
	}
}

// recorded is a server that remembers what it was to serve.
type recorded struct {
	command.Server
	request command.ServeRequest
}

func (r *recorded) Serve(_ context.Context, request command.ServeRequest) error {
	r.request = request
	return nil
}

func TestServeTakesSettings(t *testing.T) {
	env := configured(t, "listen: 0.0.0.0:7\ntoken-file: token\n")
	if err := os.WriteFile("token", []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := &recorded{}
	var out bytes.Buffer
	code := execute(t.Context(), command.Linked{Server: server}, (&fakeLab{}).lab(), []string{"serve"}, append(env, "CSIGLAB_LISTEN=0.0.0.0:8"), &out, &out)
	if r := server.request; code != 0 || r.Listen != "0.0.0.0:8" || r.Token != "secret" {
		t.Errorf("exit %d, %q, %q: %s", code, r.Listen, r.Token, &out)
	}
}

// A note says that a file of others is left out; the command goes on.
func TestForeignSettings(t *testing.T) {
	env := configured(t, "lisen: x\n")
	if err := os.Chmod(settings.FolderFile, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"ps", "config"} {
		code, _, stderr := csiglab(&fakeLab{}, env, command)
		if code != 0 || stderr != "note: csiglab.yaml is not read: not yours alone: everybody may write in it\n" {
			t.Errorf("%s: exit %d, %s", command, code, stderr)
		}
	}
	for _, args := range []string{"--version", "version", "--help", "run --help", "list suites"} {
		if code, _, stderr := csiglab(&fakeLab{}, env, strings.Fields(args)...); code != 0 || stderr != "" {
			t.Errorf("%s: exit %d, %s", args, code, stderr)
		}
	}
}

func TestCompleteSettings(t *testing.T) {
	for args, want := range map[string]string{
		"run --processes": "node\none\nswitches\n", "run --payload": "full\nelide\n", "up --runtime": "inproc\nnetns\ncontainerlab\nkubernetes\n", "config --runtime": "inproc\nnetns\n", "config --": "--grafana-token-file",
	} {
		words := strings.Fields(args)
		if args != "config --" {
			words = append(words, "")
		}
		if code, stdout, stderr := csiglab(&fakeLab{}, nil, append([]string{"__complete"}, words...)...); code != 0 || !strings.Contains(stdout, want) {
			t.Errorf("%s: exit %d, %s%s; want %q", args, code, stdout, stderr, want)
		}
	}
	// The labs are those of the list that a file names.
	env := configured(t, "list: l\n")
	if code, stdout, _ := csiglab(&fakeLab{runs: someRuns()}, env, "__complete", "down", ""); code != 0 || !strings.Contains(stdout, "lab1\t") || os.Getenv(runs.EnvironmentList) != filepath.Join(cwd(t), "l") {
		t.Errorf("exit %d, %s, list %s", code, stdout, os.Getenv(runs.EnvironmentList))
	}
}
