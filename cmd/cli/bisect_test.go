package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/internal/checksum"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/compare/bisect"
	"github.com/csiglab/csiglab/orchestrator/compare/regress"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
)

// gitRepository is a repository of a test.
type gitRepository struct {
	t   *testing.T
	dir string
	n   int
}

func newGitRepository(t *testing.T) *gitRepository {
	t.Helper()
	checkout.NeedModules(t)
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git: ", err)
	}
	r := &gitRepository{t: t, dir: t.TempDir()}
	r.git("init", "-q", "-b", "main")
	return r
}

func (r *gitRepository) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", r.dir, "-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "commit.gpgsign=false"}, args...)...)
	date := fmt.Sprintf("2026-05-01T10:%02d:00+02:00", r.n)
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit commits files, and removes those whose text is empty. It returns the hash.
func (r *gitRepository) commit(subject string, files map[string]string) string {
	r.t.Helper()
	r.n++
	for name, text := range files {
		file := filepath.Join(r.dir, name)
		err := os.MkdirAll(filepath.Dir(file), 0o755)
		if text == "" {
			err = os.Remove(file)
		} else if err == nil {
			err = os.WriteFile(file, []byte(text), 0o644)
		}
		if err != nil {
			r.t.Fatal(err)
		}
	}
	r.git("add", "-A")
	r.git("commit", "-q", "--allow-empty", "-m", subject)
	return r.git("rev-parse", "HEAD")
}

// quickLab is the source of a program that does of csiglab run what a search needs, with
// a metric of a level. It is quick to build.
func quickLab(level int, comment string) map[string]string {
	return map[string]string{"go.mod": "module github.com/csiglab/csiglab\n\ngo 1.26.0\n", "go.sum": "\n", "cmd/csiglab/main.go": fmt.Sprintf(`package main

import (
	"fmt"
	"os"
	"slices"
)

// %s
func main() {
	switch args := os.Args; {
	case args[1] == "version":
		fmt.Println("csiglab quick, go1")
	case !slices.Contains(args, "--help"):
		var seed int
		fmt.Sscan(args[slices.Index(args, "--seed")+1], &seed)
		os.WriteFile(args[slices.Index(args, "--out")+1]+".left", nil, 0o644)
		value := %d * (100 + seed*seed%%7)
		fmt.Printf("{\"schema\":%d,\"name\":\"small\",\"valid\":true,\"variants\":{\"run\":{\"runs\":[{\"seed\":%%d,\"traceHash\":\"%%x\",\"metrics\":{\"fct_us.p99\":%%d}}]}}}\n", seed, value, value)
	}
}
`, comment, level, runfolder.SummarySchema)}
}

const smallExperiment = "schema: 1\nname: small\ntopology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 100Gbps, delay: 1us}}\nworkload: {transfers: [0 -> 2 100kB, 1 -> 2 100kB]}\n"

// bisectBench gives the test a cache of builds of its own, and a working directory in the
// repository. It returns the file of the experiment.
func bisectBench(t *testing.T, r *gitRepository) (file string) {
	t.Helper()
	t.Setenv("GOPROXY", "off")
	t.Setenv("GOCACHE", goCache(t))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Chdir(r.dir)
	return write(t, "small.yaml", smallExperiment)
}

// history commits 32 revisions after a good one: texts, refactorings, two that do not build,
// and one with which the metric is worse.
func history(r *gitRepository, bad int, broken ...int) (good string, hashes []string) {
	good = r.commit("the start", quickLab(2, "the start"))
	for i := 1; i <= 32; i++ {
		level := 2
		if i >= bad {
			level = 3
		}
		files := quickLab(level, fmt.Sprintf("refactoring %d", i-i%3)) // two of three change no source
		if slices.Contains(broken, i) {
			files["cmd/csiglab/broken.go"] = "package main\n\nvar x int = \"s\"\n"
		} else if slices.Contains(broken, i-1) {
			files["cmd/csiglab/broken.go"] = ""
		}
		files["README.md"] = fmt.Sprintf("revision %d", i)
		hashes = append(hashes, r.commit(fmt.Sprintf("change %d", i), files))
	}
	return good, hashes
}

// One commit among 32 makes a metric worse, and two do not build.
func TestBisect(t *testing.T) {
	r := newGitRepository(t)
	good, hashes := history(r, 21, 16, 22)
	file := bisectBench(t, r)
	out := filepath.Join(t.TempDir(), "out")
	code, stdout, stderr := csiglab(&fakeLab{}, nil, "bisect", "--good", good[:10], "--bad", "main", "--experiment", file, "--metric", "fct_us.p99", "--out", out)
	if code != command.ExitOK {
		t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
	}
	for _, want := range []string{
		"first bad revision: " + hashes[20] + "\n", "date     2026-05-01 10:22 +0200, Ada\nsubject  change 21\n",
		"at " + hashes[19][:7] + ", ", "+50 % [+50 %, +50 %]; lower is better", "sure     exact: ",
		"again    csiglab regress --experiment " + file + " --metric fct_us.p99 --delta 25% --baseline git:" + hashes[19][:7] + " --candidate git:" + hashes[20][:7] + "\n",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("it prints\n%s\nwithout %q", stdout, want)
		}
	}
	if want := "skipped  " + hashes[15][:7] + " 2026-05-01 \"change 16\": it does not build: cmd/csiglab/broken.go:3:13: cannot use \"s\""; !strings.Contains(stderr, want) {
		t.Errorf("on the way it prints\n%s\nwithout %q", stderr, want)
	}
	var result bisect.Found
	if err := json.Unmarshal(read(t, filepath.Join(out, bisect.ResultFile)), &result); err != nil || !result.Found || result.Candidates[0].Name != hashes[20] || result.Good.Name != hashes[19] {
		t.Errorf("%v: %+v", err, result)
	}
	for _, step := range result.Steps {
		if step.Verdict != bisect.Skipped.String() && step.Candidate != 0 && step.Candidate != 32 && step.By != "fingerprint" && step.By != "build" {
			t.Errorf("%+v", step)
		}
	}
	if len(result.Steps) > 10 {
		t.Errorf("%d steps", len(result.Steps))
	}
	entries, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if !slices.Equal(names, []string{bisect.PlanFile, bisect.ResultFile, bisect.StepsFile, trial.JournalFile}) {
		t.Errorf("the folder has %q", names)
	}

	// Again: nothing is run or judged anew.
	before := read(t, filepath.Join(out, trial.JournalFile))
	code, again, stderr := csiglab(&fakeLab{}, nil, "bisect", "--resume", out)
	if code != command.ExitOK || again != stdout || !bytes.Equal(read(t, filepath.Join(out, trial.JournalFile)), before) {
		t.Errorf("resumed: exit code %d\n%s%s", code, again, stderr)
	}
	if _, asJSON, _ := csiglab(&fakeLab{}, nil, "bisect", "--resume", out, "--json"); !json.Valid([]byte(asJSON)) || !strings.Contains(asJSON, hashes[20]) {
		t.Errorf("--json prints %s", asJSON)
	}
	// Verdicts must be of the candidates that they name.
	steps := read(t, filepath.Join(out, bisect.StepsFile))
	lines := bytes.SplitAfter(steps, []byte("\n"))
	lines[2] = checksum.Append(checksum.Object(bytes.Replace(lines[2], []byte(`"name":"`), []byte(`"name":"f`), 1)))
	if err := os.WriteFile(filepath.Join(out, bisect.StepsFile), bytes.Join(lines, nil), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := csiglab(&fakeLab{}, nil, "bisect", "--resume", out); code != command.ExitUsage || !strings.Contains(stderr, bisect.StepsFile+":3: ") || !strings.Contains(stderr, " of this search") {
		t.Errorf("another candidate's verdict: exit code %d, %s", code, stderr)
	}
	if err := os.WriteFile(filepath.Join(out, bisect.StepsFile), steps, 0o644); err != nil {
		t.Fatal(err)
	}
	// The history must be what it was.
	r.git("commit", "-q", "--amend", "-m", "another")
	if code, _, stderr := csiglab(&fakeLab{}, nil, "bisect", "--resume", out); code != command.ExitOK {
		t.Errorf("after the branch has moved: exit code %d, %s", code, stderr)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(smallExperiment, "100kB", "200kB", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := csiglab(&fakeLab{}, nil, "bisect", "--resume", out); code != command.ExitUsage || !strings.Contains(stderr, "have changed since the search began") {
		t.Errorf("another experiment: exit code %d, %s", code, stderr)
	}
}

// Where revisions beside the change do not build, all that may be the first bad one are named.
func TestBisectSeveral(t *testing.T) {
	r := newGitRepository(t)
	good := r.commit("the start", quickLab(2, ""))
	one := r.commit("breaks", map[string]string{"cmd/csiglab/broken.go": "package main\n\nfunc init() { panic(\"boom\") }\n"})
	two := r.commit("mends\x1b[31m", map[string]string{"cmd/csiglab/broken.go": "", "cmd/csiglab/main.go": quickLab(1, "")["cmd/csiglab/main.go"]})
	file := bisectBench(t, r)
	out := filepath.Join(t.TempDir(), "out")
	args := []string{"bisect", "--good", good, "--bad", "HEAD", "--experiment", file, "--metric", "fct_us.p99", "--out", out}
	if code, _, stderr := csiglab(&fakeLab{}, nil, args...); code != command.ExitUsage || !strings.Contains(stderr, "which is better; to find what made it better, say --better higher") {
		t.Errorf("an improvement: exit code %d, %s", code, stderr)
	}
	code, stdout, stderr := csiglab(&fakeLab{}, nil, append(args[:len(args)-1], out+"2", "--better", "higher")...)
	if code != command.ExitInconclusive || !strings.Contains(stdout, "the first bad revision is one of 2:\n  "+one+"  2026-05-01  \"breaks\"  it does not build: panic: boom") || !strings.Contains(stdout, "\n  "+two+"  2026-05-01  \"mends�[31m\"  bad\n") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
}

// cancelAt ends a context when a text is written.
type cancelAt struct {
	text   string
	cancel context.CancelFunc
	mu     sync.Mutex
	said   bytes.Buffer
}

func (c *cancelAt) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said.Write(p)
	if strings.Contains(c.said.String(), c.text) {
		c.cancel()
	}
	return len(p), nil
}

// An interrupted search goes on where it was.
func TestBisectInterrupted(t *testing.T) {
	r := newGitRepository(t)
	good, hashes := history(r, 3)
	file := bisectBench(t, r)
	out := filepath.Join(t.TempDir(), "out")
	ctx, cancel := context.WithCancel(t.Context())
	stderr := &cancelAt{text: hashes[15][:7] + " 2026-05-01", cancel: cancel}
	var stdout bytes.Buffer
	code := execute(ctx, command.Linked{}, (&fakeLab{}).lab(), []string{"bisect", "--good", good, "--bad", "main", "--experiment", file, "--metric", "fct_us.p99", "--out", out}, nil, &stdout, stderr)
	if code != command.ExitInfrastructure || stdout.Len() > 0 || !strings.Contains(stderr.said.String(), "interrupted\nthe search is not at its end: csiglab bisect --resume "+out+" goes on") {
		t.Fatalf("exit code %d\n%s%s", code, stdout.String(), stderr.said.String())
	}
	for _, left := range []string{regress.ProgramsFolder, regress.RunsFolder} {
		if _, err := os.Stat(filepath.Join(out, left)); err == nil {
			t.Errorf("%s remains", left)
		}
	}
	// Torn lines of a process that was killed.
	for _, name := range []string{bisect.StepsFile, trial.JournalFile} {
		f, err := os.OpenFile(filepath.Join(out, name), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(`{"candidate":4,"na`); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	if err := os.MkdirAll(filepath.Join(out, regress.RunsFolder, "trial-1"), 0o755); err != nil {
		t.Fatal(err)
	}
	code, text, said := csiglab(&fakeLab{}, nil, "bisect", "--resume", out)
	if code != command.ExitOK || !strings.Contains(text, "first bad revision: "+hashes[2]+"\n") || !strings.Contains(said, "3 verdicts of an earlier session are kept") {
		t.Errorf("exit code %d\n%s%s", code, text, said)
	}
	if _, err := os.Stat(filepath.Join(out, regress.RunsFolder)); err == nil {
		t.Error("a run folder of a process that was killed remains")
	}
	if strings.Contains(said, hashes[15][:7]) {
		t.Errorf("it judges again what it has judged:\n%s", said)
	}
}

// Wrong input ends with exit code 2 and words, before anything is built.
func TestBisectRefuses(t *testing.T) {
	r := newGitRepository(t)
	good := r.commit("the start", quickLab(2, ""))
	r.commit("the end", quickLab(2, "the end"))
	file := bisectBench(t, r)
	several := write(t, "several.yaml", smallExperiment+"variants:\n  a: {}\n  b: {hosts.cc: dctcp}\n")
	damaged := t.TempDir()
	if err := os.WriteFile(filepath.Join(damaged, bisect.PlanFile), []byte(`{"schema":1,"good":`), 0o644); err != nil {
		t.Fatal(err)
	}
	whole := []string{"--good", good, "--bad", "main", "--experiment", file, "--metric", "fct_us.p99"}
	values := []string{"--parameter", "links.queue", "--good", "64kB", "--bad", "1MB", "--experiment", file, "--metric", "fct_us.p99"}
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "--good is missing: the end that is good"},
		{whole[:4], "--experiment is missing"},
		{append(slices.Clone(whole), "--metric", "fct_us.p9"), `unknown metric "fct_us.p9" (did you mean`},
		{append(slices.Clone(whole), "--experiment", "thre-flow"), `did you mean "three-flow"?`},
		{append(slices.Clone(whole), "--experiment", several), "want one of them, --variant a or --variant b"},
		{append(slices.Clone(whole), "--variant", "x"), `no variant "x"`},
		{append(slices.Clone(whole), "--good", "nosuch"), `--good: ` + r.dir + ` has no revision "nosuch"`},
		{append(slices.Clone(whole), "--good", "main", "--bad", good), "it is the other way round"},
		{append(slices.Clone(whole), "--bad", good), "are the same commit"},
		{append(slices.Clone(whole), "--delta", "5 percent"), `--delta: "5 percent" is no smallest effect`},
		{append(slices.Clone(whole), "--better", "more"), `--better: "more" is no direction`},
		{append(slices.Clone(whole), "--seeds", "3"), "3 seeds cannot tell good from bad with 95 % confidence: want"},
		{append(slices.Clone(whole), "--seeds", "0"), "--seeds 0: want 1 to 1000"},
		{append(slices.Clone(whole), "--parallel", "0"), "--parallel 0: want at least 1"},
		{append(slices.Clone(whole), "--set", "nothing"), "--set"},
		{append(slices.Clone(whole), "--set", "hosts.ccc=dctcp"), "hosts.ccc"},
		{append(slices.Clone(whole), "--resolution", "1kB"), "--resolution 1kB: goes with --parameter"},
		{append(slices.Clone(whole), "--with", "example.com/a@v1"), "want --with MODULE=FOLDER"},
		{append(slices.Clone(whole), "--with", "example.com/a=/nonexistent"), "no such file"},
		{append(slices.Clone(whole), "--out", r.dir), "the folder is not empty"},
		{append(slices.Clone(values), "--bad", "1"), "--parameter links.queue: "},
		{append(slices.Clone(values), "--resolution", "1us"), "resolution: "},
		{append(slices.Clone(values), "--parameter", "links.quue"), "links.quue"},
		{[]string{"--resume", r.dir}, "not the folder of a search: it has no bisection.json"},
		{[]string{"--resume", damaged, "--good", "x"}, "--good and --resume " + damaged + " exclude each other"},
		{[]string{"--resume="}, "--resume: name the folder of a search"},
	} {
		args := c.args
		if !slices.Contains(args, "--out") && !slices.Contains(args, "--resume") {
			args = append(slices.Clone(args), "--out", filepath.Join(t.TempDir(), "out"))
		}
		if args[len(args)-2] == "--out" && strings.HasPrefix(c.want, "--resume:") {
			args = c.args
		}
		code, stdout, stderr := csiglab(&fakeLab{}, nil, append([]string{"bisect"}, args...)...)
		if code != command.ExitUsage || stdout != "" || !strings.Contains(stderr, c.want) || strings.Contains(stderr, "compiling") {
			t.Errorf("%q: exit code %d\n%s%s\nwant %q", c.args, code, stdout, stderr, c.want)
		}
	}
	if code, _, stderr := csiglab(&fakeLab{}, nil, "bisect", "--resume", damaged); code != command.ExitInfrastructure || !strings.Contains(stderr, bisect.PlanFile+":1:") || !strings.Contains(stderr, "the file ends too soon") {
		t.Errorf("a damaged plan: exit code %d, %s", code, stderr)
	}
	if code, _, stderr := csiglab(&fakeLab{}, []string{"CSIGLAB_HOSTS_CC=dctcp"}, append([]string{"bisect"}, whole...)...); code != command.ExitUsage || !strings.Contains(stderr, "CSIGLAB_HOSTS_CC") {
		t.Errorf("the environment: exit code %d, %s", code, stderr)
	}
	// Ends that are the same program.
	r.commit("a text", map[string]string{"README.md": "x"})
	code, _, stderr := csiglab(&fakeLab{}, nil, append([]string{"bisect", "--out", filepath.Join(t.TempDir(), "out"), "--good", "main~1"}, whole[2:]...)...)
	if code != command.ExitUsage || !strings.Contains(stderr, "bad is no worse than good: both are the same build") {
		t.Errorf("the same build: exit code %d, %s", code, stderr)
	}
}

// The first bad value of a parameter, with real runs.
func TestBisectParameter(t *testing.T) {
	needTime(t)
	file := write(t, "small.yaml", smallExperiment)
	out := filepath.Join(t.TempDir(), "out")
	cmd := exec.Command(filepath.Join(builtPrograms(t), "csiglab"), "bisect", "--parameter", "topology.leaf_spine.delay", "--good", "1us", "--bad", "9us", "--resolution", "2us",
		"--delta", "25%", "--experiment", file, "--metric", "fct_us.p99", "--seeds", "12", "--out", out)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, stdout, stderr.Bytes())
	}
	var result bisect.Found
	if err := json.Unmarshal(read(t, filepath.Join(out, bisect.ResultFile)), &result); err != nil {
		t.Fatal(err)
	}
	effects := map[string]float64{"1us": 0}
	for _, step := range result.Steps {
		if step.Effect != nil {
			effects[step.Name] = *step.Effect.Effect
		}
	}
	good, bad := result.Good.Name, result.Candidates[0].Name
	if !result.Found || !(effects[good] < 0.25) || !(effects[bad] > 0.25) || effects["9us"] <= 0.25 {
		t.Errorf("found %+v: good %s, bad %s, effects %v", result.Found, good, bad, effects)
	}
	values := []string{"1us", "3us", "5us", "7us", "9us"}
	if i := slices.Index(values, good); i < 0 || i == 4 || values[i+1] != bad {
		t.Errorf("good %s and bad %s are no neighbours", good, bad)
	}
	want := fmt.Sprintf("first bad value of topology.leaf_spine.delay: %s\n", bad)
	again := fmt.Sprintf("--baseline-set topology.leaf_spine.delay=%s --candidate-set topology.leaf_spine.delay=%s\n", good, bad)
	if !strings.Contains(string(stdout), want) || !strings.Contains(string(stdout), again) {
		t.Errorf("it prints\n%s", stdout)
	}
}
