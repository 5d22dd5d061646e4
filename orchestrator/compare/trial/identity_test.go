package trial

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

// Programs of one clean commit have one identity wherever they were built; with changes, or
// with a module of a folder, the file decides.
func TestIdentity(t *testing.T) {
	info := func(change func(*debug.BuildInfo)) (string, bool) {
		i := &debug.BuildInfo{
			GoVersion: "go1.26", Path: "x/cmd/csiglab", Main: debug.Module{Path: "x"},
			Deps:     []*debug.Module{{Path: "y", Version: "v1", Sum: "h1:a"}},
			Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "4be1c2f"}, {Key: "vcs.modified", Value: "false"}, {Key: "-ldflags", Value: "-X main.sourceFolder=/a"}, {Key: "GOARCH", Value: "amd64"}},
		}
		change(i)
		var b bytes.Buffer
		whole := describe(&b, i)
		return b.String(), whole
	}
	base, whole := info(func(*debug.BuildInfo) {})
	if !whole {
		t.Error("a clean commit is not all there is to know")
	}
	for what, c := range map[string]struct {
		change func(*debug.BuildInfo)
		same   bool
		whole  bool
	}{
		"place":   {func(i *debug.BuildInfo) { i.Settings[2].Value = "-X main.sourceFolder=/b" }, true, true},
		"commit":  {func(i *debug.BuildInfo) { i.Settings[0].Value = "0000000" }, false, true},
		"Go":      {func(i *debug.BuildInfo) { i.GoVersion = "go1.27" }, false, true},
		"module":  {func(i *debug.BuildInfo) { i.Deps[0].Sum = "h1:b" }, false, true},
		"machine": {func(i *debug.BuildInfo) { i.Settings[3].Value = "arm64" }, false, true},
		"changes": {func(i *debug.BuildInfo) { i.Settings[1].Value = "true" }, true, false},
		"no git":  {func(i *debug.BuildInfo) { i.Settings = nil }, false, false},
		"folder":  {func(i *debug.BuildInfo) { i.Deps[0].Replace = &debug.Module{Path: "../y"} }, false, false},
	} {
		if text, whole := info(c.change); (text == base) != c.same || whole != c.whole {
			t.Errorf("another %s: the same %v, whole %v; want %v, %v", what, text == base, whole, c.same, c.whole)
		}
	}
	file := filepath.Join(t.TempDir(), "script")
	ids := map[string]bool{}
	for _, text := range []string{"#!/bin/sh\n", "#!/bin/sh\n:\n"} {
		if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		id, err := Identity(file)
		if err != nil || !strings.HasPrefix(id, "file-") || ids[id] {
			t.Errorf("%s, %v", id, err)
		}
		ids[id] = true
	}
	if id, err := Identity(""); err != nil || len(id) < 20 {
		t.Errorf("of this program: %s, %v", id, err)
	}
	if _, err := Identity(filepath.Join(t.TempDir(), "absent")); err == nil {
		t.Error("an absent program has an identity")
	}
}
