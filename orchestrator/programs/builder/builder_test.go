package builder

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/nodes/modules"
)

func TestParseWith(t *testing.T) {
	for text, want := range map[string]With{
		"example.com/a":        {Path: "example.com/a"},
		"example.com/a@v1.2.3": {Path: "example.com/a", Version: "v1.2.3"},
		"example.com/a=../a=b": {Path: "example.com/a", Folder: "../a=b"},
		"example.com/a=/x@y":   {},
	} {
		if got, err := ParseWith(text); err != nil && want != (With{}) || got != want && want != (With{}) {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":                              "want MODULE",
		"./a":                           "want MODULE=FOLDER",
		"=a":                            "want MODULE",
		"example.com/a=":                "the folder after = is missing",
		"example.com/a@":                "the version after @ is missing",
		"example.com/a@v1=./a":          "a folder has no version",
		"github.com/csiglab/csiglab=./": "--csiglab chooses its source",
	} {
		if got, err := ParseWith(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v; want an error with %q", text, got, err, want)
		}
	}
}

// write writes the files of a folder and returns it.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// ownCache gives the test a cache of builds of its own. The go command keeps its cache, and
// asks nobody for modules.
func ownCache(t *testing.T) {
	t.Helper()
	checkout.NeedModules(t)
	t.Setenv("GOPROXY", "off")
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", strings.TrimSpace(string(out)))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
}

// Input that is wrong is refused before anything is compiled, as the caller's fault, and
// leaves nothing in the cache.
func TestWrongInput(t *testing.T) {
	ownCache(t)
	const mod = "module example.com/a\n\ngo 1.26.0\n"
	here := checkout.Repository(t)
	whole := write(t, map[string]string{"go.mod": mod, "a.go": "package a\n"})
	for name, c := range map[string]struct {
		with   []With
		source string
		want   string
	}{
		"no folder":         {[]With{{Path: "example.com/a", Folder: "/nonexistent"}}, here, "--with example.com/a=/nonexistent: no such file or directory"},
		"a file":            {[]With{{Path: "example.com/a", Folder: filepath.Join(whole, "go.mod")}}, here, "it is no folder"},
		"no module":         {[]With{{Path: "example.com/a", Folder: write(t, nil)}}, here, "the folder has no go.mod"},
		"another module":    {[]With{{Path: "example.com/b", Folder: whole}}, here, "the folder has the module example.com/a; want --with example.com/a="},
		"twice":             {[]With{{Path: "example.com/a", Folder: whole}, {Path: "example.com/a", Folder: whole}}, here, "--with example.com/a is there twice"},
		"no package":        {[]With{{Path: "example.com/a", Folder: write(t, map[string]string{"go.mod": mod, "sub/a.go": "package a\n"})}}, here, "has no Go package in its first folder"},
		"tests alone":       {[]With{{Path: "example.com/a", Folder: write(t, map[string]string{"go.mod": mod, "a_test.go": "package a\n"})}}, here, "has no Go package in its first folder"},
		"an unknown import": {[]With{{Path: "example.com/a", Folder: write(t, map[string]string{"go.mod": mod, "a.go": "package a\n\nimport _ \"nosuchpackage\"\n"})}}, here, "package nosuchpackage is not in std"},
		"another source":    {[]With{{Path: "example.com/a", Folder: whole}}, whole, "the folder has the module example.com/a, not github.com/csiglab/csiglab"},
		"no source":         {[]With{{Path: "example.com/a", Folder: whole}}, "/nonexistent", "--csiglab /nonexistent: no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			output := filepath.Join(t.TempDir(), "mine")
			_, err := Build(t.Context(), Request{With: c.with, Source: c.source, Output: output})
			if err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, ErrInput) {
				t.Errorf("error %v, of the input %v; want %q", err, errors.Is(err, ErrInput), c.want)
			}
			if left, _ := filepath.Glob(output + "*"); left != nil {
				t.Errorf("left %q", left)
			}
		})
	}
	if left, _ := filepath.Glob(filepath.Join(os.Getenv("XDG_CACHE_HOME"), "csiglab/builds", temporaryPrefix+"*")); left != nil {
		t.Errorf("temporary files remain: %q", left)
	}
}

// The source is found by where this program is built from, and the error says what was
// tried.
func TestFindSource(t *testing.T) {
	tool, err := findTool(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer tool.group.close()
	b := &build{tool: tool}
	s, err := b.findSource(t.Context())
	if here := checkout.Repository(t); err != nil || s.folder != here {
		t.Errorf("found %+v, %v; want %s", s, err, here)
	}
	b.Request.Source = t.TempDir()
	if _, err := b.findSource(t.Context()); err == nil || !strings.Contains(err.Error(), "no go.mod") {
		t.Errorf("an empty folder: %v", err)
	}
}

// fill stores three programs in a cache under a key.
func fill(t *testing.T, c *cache, key, text string) entry {
	t.Helper()
	folder := write(t, map[string]string{"csiglab": text, "csig-host": "host " + text, "csig-switch": "switch " + text})
	moved, err := os.MkdirTemp(c.dir, temporaryPrefix)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(folder, filepath.Join(moved, "programs")); err != nil {
		t.Fatal(err)
	}
	e := c.entry(key)
	if err := e.store(filepath.Join(moved, "programs"), []Described{{Module: modules.Module{Path: "example.com/" + text}}}); err != nil {
		t.Fatal(err)
	}
	return e
}

func TestCache(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	c, err := openCache()
	if err != nil {
		t.Fatal(err)
	}
	output := filepath.Join(t.TempDir(), "mine")
	if _, err := c.entry("a1").install(output); !errors.Is(err, errNotCached) {
		t.Errorf("an empty cache: %v", err)
	}
	e := fill(t, c, "a1", "one")
	described, err := e.install(output)
	if err != nil || len(described) != 1 || described[0].Path != "example.com/one" {
		t.Fatalf("%v, %v", described, err)
	}
	for file, want := range map[string]string{output: "one", output + ".programs/csig-host": "host one", output + ".programs/csig-switch": "switch one"} {
		if got, err := os.ReadFile(file); string(got) != want {
			t.Errorf("%s: %q, %v", file, got, err)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("%s: %v, %v", file, info, err)
		}
	}
	// A damaged file is found by its hash.
	if err := os.WriteFile(filepath.Join(e.dir, "csig-host"), []byte("host oNe"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := e.install(output); !errors.Is(err, errNotCached) {
		t.Errorf("a damaged entry: %v", err)
	}
	// What a build has left that was killed is removed; that of a live one stays.
	live, err := c.temporary()
	if err != nil {
		t.Fatal(err)
	}
	defer live.Remove()
	dead := filepath.Join(c.dir, temporaryPrefix+"dead")
	if err := os.Mkdir(dead, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := openCache(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dead); err == nil {
		t.Error("the folder of a dead build remains")
	}
	if _, err := os.Stat(live.Dir); err != nil {
		t.Errorf("the folder of a live build: %v", err)
	}
	// The entries that were used last are kept.
	var kept []string
	for i := range maxEntries + 2 {
		key := string(rune('b' + i))
		at := time.Now().Add(time.Duration(i) * time.Second)
		if err := os.Chtimes(fill(t, c, key, key).dir, at, at); err != nil {
			t.Fatal(err)
		}
		if i >= 2 {
			kept = append(kept, key)
		}
	}
	c.prune(c.entry("i"))
	var got []string
	list, _ := os.ReadDir(c.dir)
	for _, d := range list {
		if d.IsDir() && !strings.HasPrefix(d.Name(), temporaryPrefix) {
			got = append(got, d.Name())
		}
	}
	if diff := cmp.Diff(got, kept); diff != "" {
		t.Errorf("entries, got - want +:\n%s", diff)
	}
}

// Of two builds of the same key, one waits for the other, and stops when it is
// interrupted.
func TestLock(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	c, err := openCache()
	if err != nil {
		t.Fatal(err)
	}
	e := c.entry("a1")
	release, err := e.lock(t.Context(), func() { t.Error("waits for nobody") })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := e.lock(ctx, cancel); !errors.Is(err, context.Canceled) {
		t.Errorf("the second is interrupted: %v", err)
	}
	second, err := e.lock(t.Context(), func() { release() })
	if err != nil {
		t.Fatal(err)
	}
	second()
}
