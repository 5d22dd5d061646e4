package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
)

// plant is a change of csiglab's source.
type plant struct {
	name     string
	file     string
	from, to string // every from becomes to; there is at least one
	// fails is the experiment and the metric that get worse; empty: the change changes
	// nothing.
	fails string
}

var plants = []plant{
	{"ECN threshold off by 10 times", "nodes/switch/aqm/linear.go", "r.Size, p.ECN.", "r.Size, 10*p.ECN.", "incast-ecn queue_kb.p99.down"},
	{"quick adapt is lost", "nodes/host/congestion/nscc.go", "case !c.quickAdapt:", "case c.quickAdapt || !c.quickAdapt:", "incast-drops drops"},
	{"CSIG aggregation reversed", "nodes/csig/domain.go", "t.Min() && local >= held || !t.Min() && local <= held", "t.Min() && local <= held || !t.Min() && local >= held", "fairness-hops jain.all"},
	{"ECMP ignores the entropy", "nodes/wire/ipv4.go", "uint64(p.u32(p.udp()))<<8", "uint64(p.u16(p.udp()+2))<<8", "fct-tails slowdown.p99"},
	{"refactoring: another order of the cases", "nodes/csig/domain.go", "t.Min() && local >= held || !t.Min() && local <= held", "!t.Min() && held >= local || t.Min() && held <= local", ""},
	{"refactoring: a hash in two steps", "nodes/wire/ipv4.go", "return Mix(addresses^seed, ports^golden)", "first, second := addresses^seed, ports^golden\n\treturn Mix(first, second)", ""},
}

// copyOfSource makes a repository with csiglab's source in one commit.
func copyOfSource(t *testing.T) *gitRepository {
	r := newGitRepository(t)
	source := checkout.Repository(t)
	list, err := exec.Command("git", "-C", source, "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Skip("the source is no git checkout: ", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		info, err := os.Lstat(filepath.Join(source, name))
		if errors.Is(err, os.ErrNotExist) {
			continue // removed and not committed
		}
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		to := filepath.Join(r.dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, read(t, filepath.Join(source, name)), info.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "the source")
	r.git("tag", "base")
	return r
}

// Real regressions, planted in a copy of this repository, fail with the metric that one
// would expect; refactorings pass by the fingerprint. Experiments and limits are those of
// the standard suite.
func TestPlantedRegressions(t *testing.T) {
	needTime(t)
	r := copyOfSource(t)
	cache := t.TempDir()
	t.Setenv("GOPROXY", "off")
	run := func(t *testing.T, args ...string) (code int, stdout string) {
		t.Helper()
		began := time.Now()
		cmd := exec.Command(filepath.Join(builtPrograms(t), "csiglab"), args...)
		cmd.Dir, cmd.Env = r.dir, append(os.Environ(), "XDG_CACHE_HOME="+cache, "GOCACHE="+goCache(t))
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		var exit *exec.ExitError
		if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		t.Logf("%q: exit code %d after %v\n%s", args, cmd.ProcessState.ExitCode(), time.Since(began).Round(time.Second), errs.String())
		return cmd.ProcessState.ExitCode(), out.String()
	}
	stored := filepath.Join(t.TempDir(), "base.json")
	only := []string{"standard", "--only", "fct-tails", "--only", "fairness-hops", "--only", "incast-drops", "--only", "incast-ecn"}
	if code, out := run(t, append([]string{"baseline", "save", "-o", stored, "--baseline", "git:base"}, only...)...); code != command.ExitOK {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	for i, p := range plants {
		t.Run(p.name, func(t *testing.T) {
			file := filepath.Join(r.dir, p.file)
			text := string(read(t, file))
			changed := strings.ReplaceAll(text, p.from, p.to)
			if changed == text {
				t.Fatalf("%s has no %q", p.file, p.from)
			}
			r.git("switch", "-q", "--detach", "base")
			hash := r.commit(p.name, map[string]string{p.file: changed})
			r.git("switch", "-q", "--detach", "base")
			baseline := "stored:" + stored
			if i == 0 || i == len(plants)-1 {
				baseline = "git:base" // two revisions
			}
			out := filepath.Join(t.TempDir(), "out")
			code, stdout := run(t, append([]string{"regress", "--baseline", baseline, "--candidate", "git:" + hash, "--out", out}, only...)...)
			var d verdict.Document
			if err := json.Unmarshal(read(t, filepath.Join(out, "verdict.json")), &d); err != nil {
				t.Fatal(err)
			}
			var failed []string
			for _, e := range d.Experiments {
				for _, m := range e.Metrics {
					if m.Outcome == verdict.Fail {
						failed = append(failed, e.Name+" "+m.Name)
					}
					if p.fails == "" && (m.By != "fingerprint" || m.Outcome != verdict.Pass) {
						t.Errorf("%s %s: %s by %s", e.Name, m.Name, m.Outcome, m.By)
					}
				}
			}
			t.Logf("failed: %q\n%s", failed, stdout)
			if p.fails == "" {
				if code != command.ExitOK || len(failed) > 0 {
					t.Errorf("exit code %d, failed %q", code, failed)
				}
				return
			}
			_, metric, _ := strings.Cut(p.fails, " ")
			if code != command.ExitFailed || !strings.Contains(strings.Join(failed, "\n"), p.fails) || !strings.Contains(stdout, metric) {
				t.Errorf("exit code %d, failed %q; want %s", code, failed, p.fails)
			}
		})
	}
}

func goCache(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// One commit among 32 of an algorithm module makes the queue longer, and two do not build.
// The csiglab that is called does not have the module.
func TestBisectModule(t *testing.T) {
	needTime(t)
	r := newGitRepository(t)
	source := checkout.Repository(t)
	t.Setenv("GOPROXY", "off")
	t.Setenv("GOCACHE", goCache(t))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	text := string(read(t, filepath.Join(source, "docs/examples/worsthop/worsthop.go")))
	good := r.commit("worst-hop: a controller", map[string]string{"go.mod": "module example.com/worsthop\n\ngo 1.26.0\n", "worsthop.go": text})
	const begin, end, bad = `target: r.Duration("target")`, `target: 8 * r.Duration("target")`, 21
	var hashes []string
	for i := 1; i <= 32; i++ {
		files := map[string]string{"README.md": fmt.Sprintf("note %d\n", i)}
		switch {
		case i == bad:
			if text = strings.Replace(text, begin, end, 1); !strings.Contains(text, end) {
				t.Fatalf("worsthop.go has no %q", begin)
			}
			files["worsthop.go"] = text
		case i == 16 || i == 22:
			files["broken.go"] = "package worsthop\n\nfunc helper() int { return missing }\n"
		case i == 17 || i == 23:
			files["broken.go"] = ""
		case i%3 > 0:
			text += fmt.Sprintf("\n// Note %d.\n", i)
			files["worsthop.go"] = text
		}
		hashes = append(hashes, r.commit(fmt.Sprintf("change %d", i), files))
	}
	file := write(t, "worst.yaml", "schema: 1\nname: worst\ntopology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 4, rate: 100Gbps, delay: 1us}}\n"+
		"workload: {transfers: [0 -> 4 4MB, 1 -> 4 4MB, 2 -> 4 4MB, 3 -> 4 4MB]}\ncsig: {format: compact}\nhosts:\n  cc: {name: worst-hop, target: 5us}\n")
	out := filepath.Join(t.TempDir(), "out")
	cmd := exec.Command(filepath.Join(builtPrograms(t), "csiglab"), "bisect", "--with", "example.com/worsthop="+r.dir, "--good", good, "--bad", "main",
		"--experiment", file, "--metric", "hop_delay_us.mean.down", "--out", out)
	cmd.Dir = source
	began := time.Now()
	said, err := cmd.CombinedOutput()
	t.Logf("after %v:\n%s", time.Since(began).Round(time.Second), said)
	if err != nil || !strings.Contains(string(said), "first bad revision: "+hashes[bad-1]+"\n") || !strings.Contains(string(said), "sure     exact: ") {
		t.Errorf("%v; want %s", err, hashes[bad-1])
	}
	if !strings.Contains(string(said), "it does not build: broken.go:3:28: undefined: missing") {
		t.Error("no revision is skipped with the compiler's words")
	}
}
