package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/runfolder"
)

// manyRuns is an experiment of two dozen runs that each take a moment.
const manyRuns = `
schema: 1
name: many
topology: {dragonfly: {p: 1, a: 1, h: 1, rate: 100Gbps, delay: 1us}}
workload: {transfers: [0 -> 1 SIZE, 1 -> 0 SIZE]}
variants: {plain: {}, csig: {csig.format: compact, hosts.cc.csig: max-delay}}
seeds: 1..12
expect: ['csig["flows.incomplete"] == 0']
`

// "Ctrl-C keeps what is finished: the folder says incomplete, report shows the finished
// seeds with a banner, run --resume RUN does the rest" (issue 10), for every signal, and
// after kill -9 too. It needs root, to be alone on the machine: csiglab that is killed may
// leave nodes.
func TestInterruptedRunIsResumed(t *testing.T) {
	checkout.SkipLong(t)
	if !alone(t) {
		return
	}
	for _, c := range []struct {
		name, size string
		engine     bool
		signals    []syscall.Signal
		args       []string
	}{
		{"inproc", "40MB", false, []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGKILL}, []string{"--parallel", "2"}},
		{"netns", "2MB", false, []syscall.Signal{syscall.SIGINT, syscall.SIGKILL}, []string{"--runtime", "netns"}},
		{"containerlab", "200kB", true, []syscall.Signal{syscall.SIGINT, syscall.SIGKILL}, []string{"--runtime", "containerlab"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.engine {
				needTime(t)
			}
			f := newFaults(t, c.engine)
			experiment := write(t, "many.yaml", strings.ReplaceAll(manyRuns, "SIZE", c.size))
			whole := filepath.Join(t.TempDir(), "whole")
			if code, said := csiglabProcess(append([]string{"run", experiment, "--out", whole}, c.args...)...).run(t); code != command.ExitOK {
				t.Fatalf("exit code %d:\n%s", code, said)
			}
			for _, signal := range c.signals {
				t.Run(signal.String(), func(t *testing.T) { f.resumed(t, signal, experiment, whole, c.args) })
			}
		})
	}
}

// resumed interrupts a run after its second of 24 runs, and then the resumed run after
// three more, and compares what comes out with a folder that was written at once.
func (f *faults) resumed(t *testing.T, signal syscall.Signal, experiment, whole string, args []string) {
	dir := filepath.Join(t.TempDir(), "cut")
	finished := func() int {
		parts, _ := filepath.Glob(filepath.Join(dir, "parts", "*.run"))
		return len(parts)
	}
	interrupt := func(more int, args ...string) {
		t.Helper()
		p, before := csiglabProcess(args...), finished()
		code, said := p.runWhile(t, func() {
			p.eventually(t, "some runs have finished", func() bool { return finished() >= before+more })
			p.cmd.Process.Signal(signal)
		})
		if signal == syscall.SIGKILL {
			if code != -1 {
				t.Fatalf("exit code %d, want it killed:\n%s", code, said)
			}
			if code, said := csiglabProcess("clean", "--all").run(t); code != command.ExitOK {
				t.Errorf("clean: exit code %d:\n%s", code, said)
			}
			return
		}
		failed(t, code, said, "csiglab: interrupted\nthe run is incomplete: ", " of 24 runs have finished and are kept in "+dir+"; csiglab run --resume "+dir+" does the rest")
	}
	interrupt(2, append([]string{"run", experiment, "--out", dir}, args...)...)
	code, said := csiglabProcess("report", dir).run(t)
	page, err := os.ReadFile(filepath.Join(dir, runfolder.ReportFile))
	if code != command.ExitInfrastructure || err != nil || !strings.Contains(said, dir+" is incomplete, ") || !bytes.Contains(page, []byte("Incomplete: ")) || !bytes.Contains(page, []byte(" of 24 runs have finished")) {
		t.Errorf("report: exit code %d, %v:\n%s", code, err, said)
	}
	interrupt(3, "run", "--resume", dir)
	if code, said := csiglabProcess("run", "--resume", dir).run(t); code != command.ExitOK {
		t.Fatalf("resume: exit code %d:\n%s", code, said)
	}
	f.nothingLeft(t)
	if d := cmp.Diff(summaryFile(t, dir), summaryFile(t, whole)); d != "" {
		t.Errorf("summary (-resumed +whole):\n%s", d)
	}
	a, err1 := runfolder.Open(dir)
	b, err2 := runfolder.Open(whole)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if d := cmp.Diff(a.Manifest.Tables, b.Manifest.Tables); d != "" {
		t.Errorf("rows (-resumed +whole):\n%s", d)
	}
	if signal == syscall.SIGKILL && len(args) > 0 && args[0] == "--parallel" {
		sameFigures(t, dir, whole)
	}
	if code, said := csiglabProcess("run", "--resume", dir).run(t); code != command.ExitUsage || !strings.Contains(said, "the run is complete: no run is left") {
		t.Errorf("resume of a complete folder: exit code %d:\n%s", code, said)
	}
}

// summaryFile reads the summary of a folder without what differs from run to run.
func summaryFile(t *testing.T, dir string) (s runfolder.Summary) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, runfolder.SummaryFile))
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range s.Variants {
		delete(v.Metrics, "cpu_seconds")
		for _, r := range v.Runs {
			delete(r.Metrics, "cpu_seconds")
		}
	}
	return s
}

// What would change the experiment of a resumed run, and folders that cannot be resumed,
// end with exit code 2 and leave the folder alone.
func TestResumeRefuses(t *testing.T) {
	t.Setenv("PATH", builtPrograms(t)+":"+os.Getenv("PATH"))
	dir := filepath.Join(t.TempDir(), "run")
	if a := ask(t, "run", "one", "--out", dir); a.code != command.ExitOK {
		t.Fatal(a.said)
	}
	for _, c := range []struct{ args, env, want string }{
		{args: "--resume DIR one", want: `experiment "one" and --resume DIR exclude each other`},
		{args: "--resume DIR --set seeds=[3]", want: "--set and --resume DIR exclude each other"},
		{args: "--resume DIR --seeds 2", want: "--seeds and --resume DIR exclude each other"},
		{args: "--resume DIR --variant a", want: "--variant and --resume DIR exclude each other"},
		{args: "--resume DIR --out x", want: "--out and --resume DIR exclude each other"},
		{args: "--resume DIR --clock wall", want: "--clock and --resume DIR exclude each other"},
		{args: "--resume DIR --runtime inproc", want: "--runtime and --resume DIR exclude each other"},
		{args: "--resume DIR --payload full", want: "--payload and --resume DIR exclude each other"},
		{args: "--resume DIR --inject drop=a-b:1", want: "--inject and --resume DIR exclude each other"},
		{args: "--resume DIR --check-parity", want: "--check-parity and --resume DIR exclude each other"},
		{args: "--resume DIR --parallel 0", want: "--parallel 0: want at least 1"},
		{args: "--resume DIR", env: "CSIGLAB_SEEDS=[3]", want: "environment variable CSIGLAB_SEEDS and --resume DIR exclude each other"},
		{args: "--resume DIR", env: "CSIGLAB_PAYLOAD=elide", want: "environment variable CSIGLAB_PAYLOAD and --resume DIR exclude each other"},
		{args: "--resume DIR", want: "open run folder DIR: the run is complete: no run is left; csiglab report DIR writes its report"},
		{args: "--resume DIR/nowhere", want: "open run folder DIR/nowhere: no such file or directory"},
		{args: "--resume DIR/..", want: "this is not a run folder of csiglab"},
		{args: "--resume=", want: "--resume: name the folder of a run"},
	} {
		args := append([]string{"run"}, strings.Fields(strings.ReplaceAll(c.args, "DIR", dir))...)
		t.Run(c.env+" "+c.args, func(t *testing.T) {
			if name, value, ok := strings.Cut(c.env, "="); ok {
				t.Setenv(name, value)
			}
			if a, want := ask(t, args...), strings.ReplaceAll(c.want, "DIR", dir); a.code != command.ExitUsage || !strings.Contains(a.said, want) {
				t.Errorf("exit code %d, %q; want 2 and %q", a.code, a.said, want)
			}
		})
	}
	if _, err := runfolder.Open(dir); err != nil {
		t.Errorf("the folder has changed: %v", err)
	}
}

// sameFigures compares the figures of two run folders, byte by byte.
func sameFigures(t *testing.T, a, b string) {
	t.Helper()
	figures := func(run string) map[string][]byte {
		dir := filepath.Join(t.TempDir(), "figures")
		if code, said := csiglabProcess("report", run, "--figures", dir).run(t); code != command.ExitOK {
			t.Fatalf("figures of %s: exit code %d:\n%s", run, code, said)
		}
		return contents(t, dir)
	}
	got, want := figures(a), figures(b)
	if len(want) < 3 || len(got) != len(want) {
		t.Errorf("%d files of figures of %s, %d of %s", len(got), a, len(want), b)
	}
	for name := range want {
		if !bytes.Equal(got[name], want[name]) {
			t.Errorf("%s of %s is another than that of %s", name, a, b)
		}
	}
}
