package builder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/csiglab/csiglab/internal/own"
)

// source is csiglab's own source.
type source struct {
	folder  string // absolute
	version string // for csiglab version
	words   string
}

// findSource returns the source of csiglab: what was asked for, or that which this
// program was built from.
func (b *build) findSource(ctx context.Context) (source, error) {
	if asked := b.Request.Source; asked != "" {
		if strings.HasPrefix(asked, "v") && !strings.ContainsRune(asked, '/') {
			if _, err := os.Stat(asked); err != nil {
				return b.download(ctx, asked)
			}
		}
		s, why := b.checkout(ctx, asked)
		if why != "" {
			return s, input("--csiglab %s: %s", asked, why)
		}
		return s, nil
	}
	var tried []string
	for _, place := range b.places() {
		s, why := b.checkout(ctx, place.folder)
		if why == "" {
			return s, nil
		}
		tried = append(tried, fmt.Sprintf("  %s, %s: %s", place.folder, place.what, why))
	}
	if info, ok := debug.ReadBuildInfo(); ok && isRelease(info.Main) {
		s, err := b.download(ctx, info.Main.Version)
		if err == nil {
			return s, nil
		}
		tried = append(tried, fmt.Sprintf("  version %s, which this program was built from: %v", info.Main.Version, err))
	}
	if len(tried) > 0 {
		tried = append([]string{". Tried:"}, tried...)
	}
	return source{}, input("csiglab's own source is not found; --csiglab names its folder, or a version such as v1.2.3%s", strings.Join(tried, "\n"))
}

// isRelease reports whether a module is a published version of csiglab.
func isRelease(m debug.Module) bool {
	return m.Path == modulePath && strings.HasPrefix(m.Version, "v") && !strings.Contains(m.Version, "+") && m.Replace == nil
}

// place is a folder where csiglab's source may be.
type place struct{ folder, what string }

// places returns the folders where the source may be from which this program was built.
func (b *build) places() (list []place) {
	if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) { // not with -trimpath
		list = append(list, place{filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(file)))), "from which this program was built"})
	}
	if b.Linked != "" {
		list = append(list, place{b.Linked, "from which this program was built"})
	}
	if self, err := os.Executable(); err == nil {
		if folder, ok := above(filepath.Dir(self)); ok {
			list = append(list, place{folder, "above this program"})
		}
	}
	if here, err := os.Getwd(); err == nil {
		if folder, ok := above(here); ok {
			list = append(list, place{folder, "above the working directory"})
		}
	}
	return list
}

// above returns the nearest folder, from dir upwards, with a go.mod.
func above(dir string) (string, bool) {
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, true
		}
		if dir == filepath.Dir(dir) {
			return "", false
		}
		dir = filepath.Dir(dir)
	}
}

// checkout returns the source in a folder, or why there is none.
func (b *build) checkout(ctx context.Context, folder string) (s source, why string) {
	if why := missing(folder); why != "" {
		return s, why
	}
	absolute, err := filepath.Abs(folder)
	if err == nil {
		absolute, err = filepath.EvalSymlinks(absolute)
	}
	if err != nil {
		return s, err.Error()
	}
	path, err := b.moduleOf(ctx, absolute)
	switch {
	case err != nil:
		return s, err.Error()
	case path != modulePath:
		return s, fmt.Sprintf("the folder has the module %s, not %s", path, modulePath)
	}
	if b.Anonymous {
		return source{folder: absolute, words: "csiglab"}, ""
	}
	version := b.tool.describe(ctx, absolute)
	return source{folder: absolute, version: version, words: fmt.Sprintf("csiglab %s in %s", version, absolute)}, ""
}

// describe returns the version of a checkout as make build does.
func (t *tool) describe(ctx context.Context, folder string) string {
	cmd := exec.CommandContext(ctx, "git", "-C", folder, "describe", "--tags", "--always", "--dirty")
	cmd.SysProcAttr = t.group.attributes()
	out, err := cmd.Output()
	if err != nil {
		return "dev"
	}
	return strings.TrimSpace(string(out))
}

// download returns the source of a version, from the module cache or the network.
func (b *build) download(ctx context.Context, version string) (source, error) {
	out, err := b.online(ctx, true, call{dir: b.work.Dir, args: []string{"mod", "download", "-json", modulePath + "@" + version}})
	var found struct{ Dir, Version, Error string }
	var failed *toolError
	if errors.As(err, &failed) && json.Unmarshal(failed.stdout, &found) == nil && found.Error != "" {
		return source{}, classify(fmt.Errorf("--csiglab %s: no such version: %s", version, found.Error), err)
	}
	if err != nil {
		return source{}, classify(fmt.Errorf("--csiglab %s: %w", version, err), err)
	}
	if err := json.Unmarshal(out, &found); err != nil {
		return source{}, fmt.Errorf("go mod download: %w", err)
	}
	return source{folder: found.Dir, version: found.Version, words: "csiglab " + found.Version}, nil
}

// Source returns the folder of csiglab's own source for a command about its revisions: what
// asked names, as in Request.Source, or else the checkout above the working directory, or
// else what Build takes. linked is Request.Linked.
func Source(ctx context.Context, asked, linked string) (folder string, err error) {
	work, remove, err := Temporary()
	if err != nil {
		return "", err
	}
	defer remove()
	b := &build{Request: Request{Source: asked, Linked: linked, Say: func(string) {}}, work: &own.Temporary{Dir: work}}
	if b.tool, err = findTool(work); err != nil {
		return "", err
	}
	defer b.tool.group.close()
	if here, err := os.Getwd(); err == nil && asked == "" {
		if dir, ok := above(here); ok {
			if s, why := b.checkout(ctx, dir); why == "" {
				return s.folder, nil
			}
		}
	}
	s, err := b.findSource(ctx)
	return s.folder, err
}
