package revision

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/programs/builder"
)

// repository is a git repository of the test.
type repository struct {
	t   *testing.T
	dir string
}

// newRepository makes a repository, and gives the test a cache of builds of its own. The go
// command keeps its cache, and asks nobody for modules.
func newRepository(t *testing.T) *repository {
	t.Helper()
	checkout.NeedModules(t)
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git: ", err)
	}
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", strings.TrimSpace(string(out)))
	t.Setenv("GOPROXY", "off")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	r := &repository{t, t.TempDir()}
	r.git("init", "-q", "-b", "main")
	return r
}

func (r *repository) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", r.dir, "-c", "user.name=A\tTester", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_DATE=2026-05-01T10:00:00+02:00", "GIT_COMMITTER_DATE=2026-05-01T10:00:00+02:00", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// write writes files of the working tree.
func (r *repository) write(files map[string]string) {
	r.t.Helper()
	for name, text := range files {
		file := filepath.Join(r.dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			r.t.Fatal(err)
		}
	}
}

// commit commits files and returns the hash.
func (r *repository) commit(subject string, files map[string]string) string {
	r.t.Helper()
	r.write(files)
	r.git("add", "-A")
	r.git("commit", "-q", "--allow-empty", "-m", subject)
	return r.git("rev-parse", "HEAD")
}

// lab is the source of a program with csiglab's module path that says a version, which is
// quick to build.
func lab(says string) map[string]string {
	return map[string]string{
		"go.mod": "module github.com/csiglab/csiglab\n\ngo 1.26.0\n", "go.sum": "",
		"cmd/csiglab/main.go": fmt.Sprintf("package main\n\nimport \"fmt\"\n\nvar release string\n\nfunc main() { fmt.Println(\"csiglab %s\"+release+\", go1\") }\n", says),
	}
}

// String names the kind, and what it is of.
func TestRefString(t *testing.T) {
	for ref, want := range map[Ref]string{{Kind: Self}: "self", {Git, "v1:x"}: "git:v1:x", {Folder, "../a b"}: "folder:../a b", {File, "bin/csiglab"}: "program:bin/csiglab"} {
		if got := ref.String(); got != want {
			t.Errorf("%+v: %s, want %s", ref, got, want)
		}
	}
}

// refOf returns what String is of; without a kind, it is a revision.
func refOf(text string) Ref {
	if kind, value, ok := strings.Cut(text, ":"); ok {
		return Ref{Kind(kind), value}
	}
	return Ref{Git, text}
}

// Revisions, folders and programs are built and told apart by their content: a revision
// that changes no source is the same program, and so is a working tree that equals one.
func TestBuild(t *testing.T) {
	r := newRepository(t)
	first := r.commit("first", lab("one "))
	r.commit("only a text", map[string]string{"README.md": "read me"})
	r.git("tag", "text")
	r.commit("second", lab("two "))
	r.commit("a picture", map[string]string{"docs/a.txt": "x"})
	into := t.TempDir()
	build := func(ref string) Program {
		t.Helper()
		p, err := Build(t.Context(), Request{Ref: refOf(ref), Source: r.dir, Into: into})
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(p.File, "version").Output()
		if err != nil || !strings.HasPrefix(string(out), "csiglab "+p.Version+",") {
			t.Errorf("%s: says %q, %v; the version is %q", ref, out, err, p.Version)
		}
		return p
	}
	one, text, two := build("git:"+first), build("text"), build("git:main~1")
	if one.Identity != text.Identity || one.Identity == two.Identity {
		t.Errorf("identities %s, %s, %s", one.Identity, text.Identity, two.Identity)
	}
	if !strings.HasPrefix(one.Version, "one ") || one.Version != text.Version || !strings.HasPrefix(two.Version, "two ") {
		t.Errorf("versions %q, %q, %q", one.Version, text.Version, two.Version)
	}
	short := r.git("rev-parse", "--short", "text")
	if one.Label != "git:"+r.git("rev-parse", "--short", first) || text.Label != "git:text ("+short+")" || one.Commit != first || one.Date.UTC().Format("2006-01-02 15:04") != "2026-05-01 08:00" {
		t.Errorf("labels %q, %q, commit %s of %s", one.Label, text.Label, one.Commit, one.Date)
	}

	clean := build("folder:" + r.dir)
	if clean.Identity != two.Identity || clean.Label != "folder:"+r.dir+" ("+r.git("rev-parse", "--short", "HEAD")+")" {
		t.Errorf("a clean working tree: %+v", clean)
	}
	r.write(lab("three "))
	dirty := build("folder:" + r.dir)
	if dirty.Identity == two.Identity || !strings.HasSuffix(dirty.Label, " and changes)") || !strings.HasPrefix(dirty.Version, "three ") {
		t.Errorf("a dirty working tree: %+v", dirty)
	}
	if again := build("git:main"); again.Identity != two.Identity {
		t.Errorf("the revision beside a dirty working tree: %+v", again)
	}
	program := build("program:" + one.File)
	if program.File != one.File || program.Identity == one.Identity || program.Version != one.Version {
		t.Errorf("the program: %+v", program)
	}

	// What is known is not built.
	known, err := Build(t.Context(), Request{Ref: Ref{Git, "text"}, Source: r.dir, Into: into, Known: func(identity string) bool { return identity == one.Identity }})
	if err != nil || known.File != "" || known.Identity != one.Identity {
		t.Errorf("a known identity: %+v, %v", known, err)
	}
	left, _ := filepath.Glob(filepath.Join(os.Getenv("XDG_CACHE_HOME"), "csiglab/builds/tmp-*"))
	if left != nil {
		t.Errorf("sources remain: %q", left)
	}
}

// What the caller has got wrong, what a revision has got wrong and what the machine lacks
// are told apart, in words.
func TestWrong(t *testing.T) {
	r := newRepository(t)
	r.commit("no source", map[string]string{"a.txt": "a"})
	r.commit("a source", lab(""))
	r.commit("does not compile", map[string]string{"cmd/csiglab/x.go": "package main\n\nvar x int = \"s\"\n"})
	r.git("tag", "compile")
	r.commit("does not start", map[string]string{"cmd/csiglab/x.go": "package main\n\nfunc init() { panic(\"boom\") }\n"})
	r.git("tag", "start")
	r.commit("newer Go", map[string]string{"go.mod": "module github.com/csiglab/csiglab\n\ngo 1.99.0\n", "cmd/csiglab/x.go": "package main\n"})
	r.git("tag", "newer")
	r.commit("unknown module", map[string]string{"go.mod": "module github.com/csiglab/csiglab\n\ngo 1.26.0\n\nrequire example.com/unknown v1.0.0\n", "cmd/csiglab/x.go": "package main\n\nimport _ \"example.com/unknown\"\n"})
	r.git("tag", "module")
	r.commit("in order", lab(""))
	t.Setenv("GOTOOLCHAIN", "local")
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "go.mod"), []byte("module github.com/csiglab/csiglab\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	notCsiglab := filepath.Join(outside, "program")
	if err := os.WriteFile(notCsiglab, []byte("#!/bin/sh\necho I am $0\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		ref    string
		source string
		class  error // nil: of the machine
		want   string
	}{
		"unknown revision":  {"git:nosuch", r.dir, ErrInput, `has no revision "nosuch"`},
		"an option":         {"git:--help", r.dir, ErrInput, `"--help" is no revision`},
		"no repository":     {"git:main", outside, ErrInput, "is in no git repository"},
		"no source":         {"git:main", "/nonexistent", ErrInput, "--csiglab /nonexistent: no such file"},
		"no folder":         {"folder:/nonexistent", r.dir, ErrInput, "no such file"},
		"a file":            {"folder:" + notCsiglab, r.dir, ErrInput, "it is no folder"},
		"an empty folder":   {"folder:" + t.TempDir(), r.dir, ErrBroken, "the folder has no go.mod"},
		"no program":        {"program:/nonexistent", r.dir, ErrInput, "no such file"},
		"a folder":          {"program:" + outside, r.dir, ErrInput, "it is no program"},
		"another program":   {"program:" + notCsiglab, r.dir, ErrInput, "it is no csiglab"},
		"before the source": {"git:main~6", r.dir, ErrBroken, "the folder has no go.mod"},
		"does not compile":  {"git:compile", r.dir, ErrBroken, "cmd/csiglab/x.go:3:13: cannot use \"s\""},
		"does not start":    {"git:start", r.dir, ErrBroken, "csiglab does not start:\npanic: boom"},
		"newer Go":          {"git:newer", r.dir, nil, "go.mod requires go >= 1.99.0 (running go "},
		"module not here":   {"git:module", r.dir, nil, "GOPROXY=off"},
	} {
		t.Run(name, func(t *testing.T) {
			into := t.TempDir()
			p, err := Build(t.Context(), Request{Ref: refOf(c.ref), Source: c.source, Into: into})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%+v, %v; want %q", p, err, c.want)
			}
			if errors.Is(err, ErrInput) != (c.class == ErrInput) || errors.Is(err, ErrBroken) != (c.class == ErrBroken) {
				t.Errorf("%v: input %v, broken %v; want %v", err, errors.Is(err, ErrInput), errors.Is(err, ErrBroken), c.class)
			}
			if left, _ := os.ReadDir(into); len(left) > 0 {
				t.Errorf("left %v", left)
			}
		})
	}
	t.Run("no git", func(t *testing.T) {
		t.Setenv("PATH", "/nonexistent")
		if _, err := openRepository(t.Context(), r.dir); err == nil || errors.Is(err, ErrInput) || !strings.Contains(err.Error(), "need the program git") {
			t.Errorf("%v", err)
		}
	})
	t.Run("interrupted", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := Build(ctx, Request{Ref: Ref{Git, "main"}, Source: r.dir, Into: t.TempDir()}); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
}

// Revisions may be of a module, which may be in a folder of its repository; other modules
// stay as they are.
func TestModules(t *testing.T) {
	r := newRepository(t)
	request := Request{With: []builder.With{{Path: "example.com/v", Version: "v1.0.0"}, {Path: "example.com/a", Folder: filepath.Join(r.dir, "algorithms/a")}, {Path: "example.com/b", Folder: "/b"}}}
	r.commit("elsewhere", map[string]string{"b/go.mod": "module example.com/b\n"})
	r.commit("there", map[string]string{"algorithms/a/go.mod": "module example.com/a\n"})
	repository, err := request.Repository(t.Context())
	if err != nil || repository.Prefix != "algorithms/a" {
		t.Fatalf("%+v, %v", repository, err)
	}
	request.Ref, request.Into = Ref{Git, "main~1"}, t.TempDir()
	if _, err := Build(t.Context(), request); !errors.Is(err, ErrBroken) || !strings.Contains(err.Error(), "the revision has no folder algorithms/a") {
		t.Errorf("%v", err)
	}
	request.With = request.With[:1]
	if _, err := Build(t.Context(), request); !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), "want --with MODULE=FOLDER") {
		t.Errorf("%v", err)
	}
}

func TestBetween(t *testing.T) {
	r := newRepository(t)
	good := r.commit("good", map[string]string{"a": "1"})
	r.commit("esc \x1b[31mred\u202e", map[string]string{"a": "2"})
	r.git("switch", "-q", "-c", "side", good)
	side := r.commit("side", map[string]string{"b": "1"})
	r.git("switch", "-q", "main")
	r.git("merge", "-q", "--no-ff", "-m", "merge", "side")
	r.commit(strings.Repeat("long ", 100), map[string]string{"a": "3"})
	repository, err := openRepository(t.Context(), r.dir)
	if err != nil {
		t.Fatal(err)
	}
	commit := func(revision string) Commit {
		t.Helper()
		c, err := repository.Commit(t.Context(), revision)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	list, err := repository.Between(t.Context(), commit(good), commit("main"))
	if err != nil {
		t.Fatal(err)
	}
	var subjects []string
	for _, c := range list {
		subjects = append(subjects, c.Subject)
	}
	want := []string{"esc �[31mred�", "merge", strings.Repeat("long ", 40) + "…"}
	if diff := cmp.Diff(subjects, want); diff != "" {
		t.Errorf("along the first parents, got - want +:\n%s", diff)
	}
	if c := list[0]; c.Author != "A Tester" || c.Date.Format("2006-01-02 15:04 -0700") != "2026-05-01 10:00 +0200" || !c.Committed.Equal(c.Date) || !strings.HasPrefix(c.Hash, c.Short) {
		t.Errorf("%+v", c)
	}
	r.git("switch", "-q", "--orphan", "alone")
	r.commit("alone", nil)
	r.git("switch", "-q", "-c", "joined", "main")
	r.git("merge", "-q", "--no-ff", "--allow-unrelated-histories", "-m", "join", "alone")
	for _, c := range []struct{ good, bad, want string }{
		{"main", good, "it is the other way round"},
		{"main", "main", "are the same commit"},
		{"alone", "main", "does not come before bad"},
		{"main~1", side, "the other way round"},
		{side, "main", "came to bad " + commit("main").Short + " by a merge, and only the first parents of " + commit("main").Short + " are searched: name one of these, such as " + commit(good).Short + ", where the branch"},
		{"alone", "joined", "came to bad " + commit("joined").Short + " by a merge, and only the first parents of " + commit("joined").Short + " are searched: name one of these, such as " + commit(good).Short},
	} {
		if list, err := repository.Between(t.Context(), commit(c.good), commit(c.bad)); !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s to %s: %v, %v; want %q", c.good, c.bad, list, err, c.want)
		}
	}
	// A shallow clone says what it lacks.
	shallow := t.TempDir()
	r.git("clone", "-q", "--depth", "1", "--branch", "main", "file://"+r.dir, shallow)
	clone, err := openRepository(t.Context(), shallow)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := clone.Commit(t.Context(), good); !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), "git fetch --unshallow") {
		t.Errorf("a shallow clone: %v", err)
	}
}

// An archive cannot write outside of its folder.
func TestUnpack(t *testing.T) {
	r := newRepository(t)
	if err := os.Symlink("/tmp", filepath.Join(r.dir, "out")); err != nil {
		t.Fatal(err)
	}
	r.commit("links", map[string]string{"deep/er/a.txt": "a"})
	if err := os.Chmod(filepath.Join(r.dir, "deep/er/a.txt"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.commit("mode", nil)
	repository, err := openRepository(t.Context(), r.dir)
	if err != nil {
		t.Fatal(err)
	}
	c, err := repository.Commit(t.Context(), "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	if err := repository.archive(t.Context(), c, to); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(to, "deep/er/a.txt")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info, err)
	}
	if target, err := os.Readlink(filepath.Join(to, "out")); err != nil || target != "/tmp" {
		t.Errorf("the link leads to %s, %v", target, err)
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close() // nothing is written
	if err := writeFile(root, "out/escaped", strings.NewReader("x"), 0o644); err == nil {
		t.Error("a file was written through the link")
		os.Remove("/tmp/escaped")
	}
}
