// Package docs_test runs the commands that the README and docs/ show, so that a
// reader can trust them.
//
// Each line of a block fenced as sh is run on its own, in a copy of the working
// directory with the built programs in bin/ and on PATH, one copy a document,
// and must exit with 0. An HTML comment above the block says otherwise:
//
//	<!-- exit 2 -->                     each command exits with 2
//	<!-- not run: downloads 2 GB -->    nothing is run
//	<!-- if: test -c /dev/net/tun -->   run only where this command succeeds
package docs_test

import (
	"context"
	"errors"
	"io/fs"
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

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/labs/containerlab/containerlabtest"
	"github.com/csiglab/csiglab/orchestrator/programs/programstest"
)

// root is the repository, seen from this folder, in which go test runs.
const root = ".."

// shelves are the folders of docs that hold its pages.
var shelves = []string{"tutorial", "how-to", "reference", "explanation"}

// limit is how long one command of a document may take.
const limit = 5 * time.Minute

// covered lists commands that are not run here, and who does run them.
var covered = []struct {
	command *regexp.Regexp
	why     string
}{
	{regexp.MustCompile(`^git clone `), "the copy stands for the clone"},
	{regexp.MustCompile(`^cd csiglab$`), "the commands run in the copy's root"},
	{regexp.MustCompile(`^make build$`), "bin/ is built"},
	{regexp.MustCompile(`^(make (test|race|lint|check|ci)|go (test|vet) .*|\.ci/run)$`), "CI runs it, and this test is part of it"},
	{regexp.MustCompile(`^make bench$`), "it takes minutes and asserts nothing"},
	{regexp.MustCompile(`^(sudo )?apt-get `), "the machine is not ours to change"},
}

// runner runs the blocks of a document.
type runner struct {
	dir  string   // where commands run
	env  []string // their environment
	fail func(format string, args ...any)
	log  func(format string, args ...any)
}

func (r *runner) run(ctx context.Context, list []block) {
	for _, b := range list {
		if b.onlyIf != "" {
			if out, err := r.command(ctx, b.onlyIf).CombinedOutput(); err != nil {
				b.notRun = "no " + b.onlyIf + ": " + strings.TrimSpace(string(out)) + " (" + err.Error() + ")"
			}
		}
		for _, c := range b.commands {
			if why := b.reasonNotToRun(c.text); why != "" {
				r.log("line %d: not run: %s: %s", c.line, c.text, why)
				continue
			}
			r.runCommand(ctx, c, b.exit)
		}
	}
}

func (b *block) reasonNotToRun(text string) string {
	if b.notRun != "" {
		return b.notRun
	}
	for _, c := range covered {
		if c.command.MatchString(text) {
			return c.why
		}
	}
	if strings.HasPrefix(text, "sudo ") && os.Geteuid() != 0 {
		return "it needs root"
	}
	return ""
}

func (r *runner) runCommand(ctx context.Context, c command, want int) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	start := time.Now()
	out, err := r.command(ctx, strings.TrimPrefix(c.text, "sudo ")).CombinedOutput()
	took := time.Since(start).Round(10 * time.Millisecond)
	got := 0
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		r.fail("line %d: %s: not done after %v\n%s", c.line, c.text, took, tail(out))
		return
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		r.fail("line %d: %s: %v", c.line, c.text, err)
		return
	}
	if got != want {
		r.fail("line %d: %s: got exit %d, want %d\n%s", c.line, c.text, got, want, tail(out))
		return
	}
	r.log("line %d: ran in %v: %s", c.line, took, c.text)
}

// command prepares a shell command. When its time is over, what it started dies
// with it.
func (r *runner) command(ctx context.Context, text string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "bash", "-o", "pipefail", "-c", text)
	cmd.Dir, cmd.Env = r.dir, r.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// tail returns the end of a command's output.
func tail(out []byte) string {
	const most = 4000
	if len(out) > most {
		return "…" + string(out[len(out)-most:])
	}
	return string(out)
}

// environment returns the caller's, with a folder before the others on PATH and
// without settings of csiglab.
func environment(bin string) []string {
	env := slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "CSIGLAB_") })
	return append(env, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func TestMain(m *testing.M) {
	os.Exit(checkout.Main(m, nil, programstest.Remove))
}

// programs puts the programs into bin/ of a folder: a link to those that all tests share, or, if
// make builds some of them there, which then has to build none of another version, those that
// make builds there.
func programs(t *testing.T, dir string, anew bool) (bin string) {
	t.Helper()
	bin = filepath.Join(dir, "bin")
	if !anew {
		if err := os.Symlink(programstest.Built(t), bin); err != nil {
			t.Fatal(err)
		}
		return bin
	}
	cmd := exec.Command("make", "build")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make build: %v\n%s", err, out)
	}
	return bin
}

// documents returns the paths of the README, of CONTRIBUTING and of the pages of docs.
func documents(t *testing.T) []string {
	t.Helper()
	var list []string
	for _, shelf := range append([]string{"."}, shelves...) {
		pages, err := filepath.Glob(filepath.Join(root, "docs", shelf, "*.md"))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, pages...)
	}
	return append(list, filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md"))
}

// copyTree copies the repository without its history, programs and runs.
func copyTree(t *testing.T, to string) {
	t.Helper()
	err := filepath.WalkDir(root, func(from string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, from)
		if err != nil {
			return err
		}
		switch {
		case slices.Contains([]string{".git", "bin", "runs"}, relative):
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil // .git is a file in a worktree
		case entry.IsDir():
			return os.MkdirAll(filepath.Join(to, relative), 0o755)
		case !entry.Type().IsRegular():
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		content, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, relative), content, info.Mode().Perm())
	})
	if err != nil {
		t.Fatal("copy the repository: ", err)
	}
}

// TestCommands runs the commands of every document but the one that TestWalk walks through.
func TestCommands(t *testing.T) {
	checkout.SkipLong(t)
	for _, name := range documents(t) {
		if strings.HasSuffix(name, walkedPage) {
			continue
		}
		t.Run(filepath.Base(name), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			blocks, err := blocks(string(text))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if len(blocks) == 0 {
				return
			}
			dir := t.TempDir()
			copyTree(t, dir)
			bin := programs(t, dir, strings.Contains(string(text), "\nmake demo\n"))
			if _, err := exec.LookPath("dockerd"); err == nil && os.Geteuid() == 0 && strings.Contains(string(text), "docker info") {
				containerlabtest.Docker(t) // of the test's own, which DOCKER_HOST names
			}
			// A list of runs of its own: other labs of this machine may have the same names.
			list := "CSIGLAB_LIST=" + filepath.Join(t.TempDir(), "list")
			r := runner{dir: dir, env: append(environment(bin), list), fail: t.Errorf, log: t.Logf}
			r.run(t.Context(), blocks)
			if after := afterwards[filepath.Base(name)]; after != nil {
				after(t, dir)
			}
		})
	}
}

// TestSample proves that a command that does not do what its document says is
// found, and that the others are run or left out with a reason.
func TestSample(t *testing.T) {
	text, err := os.ReadFile("testdata/sample.md")
	if err != nil {
		t.Fatal(err)
	}
	list, err := blocks(string(text))
	if err != nil {
		t.Fatal(err)
	}
	wantBlocks := []block{
		{commands: []command{{6, "echo one > ran"}, {8, "echo two three >> ran"}, {10, "cat ran   # a comment"}}},
		{commands: []command{{16, "exit 2"}, {17, "true | exit 2"}}, exit: 2},
		{commands: []command{{23, "touch unwanted"}}, notRun: "it takes a day"},
		{commands: []command{{29, "touch unwanted"}}, onlyIf: "false"},
		{commands: []command{{35, "test -e ran"}}, onlyIf: "true"},
		{commands: []command{{41, "git clone https://github.com/csiglab/csiglab"}, {42, "cd csiglab"}, {43, "make test"}, {44, "go test ./..."}}},
		{commands: []command{{50, "false"}, {51, "false | true"}, {52, "no-such-program"}}},
		{commands: []command{{57, "true"}}, exit: 3},
	}
	if diff := cmp.Diff(list, wantBlocks, cmp.AllowUnexported(block{}, command{})); diff != "" {
		t.Errorf("blocks (-got +want):\n%s", diff)
	}

	var failed, ran, left []string
	note := func(list *[]string) func(string, ...any) {
		return func(_ string, args ...any) { *list = append(*list, args[1].(string)) }
	}
	r := runner{dir: t.TempDir(), env: environment("/nonexistent"), fail: note(&failed)}
	r.log = func(format string, args ...any) {
		if strings.Contains(format, "not run") {
			note(&left)(format, args...)
			return
		}
		ran = append(ran, args[2].(string))
	}
	r.run(t.Context(), list)
	check := func(what string, got, want []string) {
		t.Helper()
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("%s (-got +want):\n%s", what, diff)
		}
	}
	check("failed", failed, []string{"false", "false | true", "no-such-program", "true"})
	check("ran", ran, []string{"echo one > ran", "echo two three >> ran", "cat ran   # a comment", "exit 2", "true | exit 2", "test -e ran"})
	check("left out", left, []string{
		"touch unwanted", "touch unwanted",
		"git clone https://github.com/csiglab/csiglab", "cd csiglab", "make test", "go test ./...",
	})
	got, err := os.ReadFile(filepath.Join(r.dir, "ran"))
	if err != nil || string(got) != "one\ntwo three\n" {
		t.Errorf("ran holds %q, %v; want two lines", got, err)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "unwanted")); err == nil {
		t.Error("a command that must not run ran")
	}
}

// TestBlockErrors checks what a document must not say.
func TestBlockErrors(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"```sh\ntrue\n", "line 1: the block has no end"},
		{"a\n```bash\ntrue\n```\n", "line 2: write sh for bash"},
		{"<!-- exit two -->\n```sh\ntrue\n```\n", `line 1: exit "two" is not a number`},
		{"<!-- exit 0 -->\n```sh\ntrue\n```\n", `line 1: exit "0" is not a number`},
		{"<!-- not run: -->\n```sh\ntrue\n```\n", "says nothing"},
		{"<!-- exit 2 -->\ntext\n```sh\ntrue\n```\n", "line 2: the comment above annotates no block"},
		{"<!-- exit 2 -->\n```yaml\na: 1\n```\n", "line 2: the comment above annotates a block that is not sh"},
	} {
		if list, err := blocks(test.text); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("blocks(%q): got %v, %v; want an error with %q", test.text, list, err, test.want)
		}
	}
}
