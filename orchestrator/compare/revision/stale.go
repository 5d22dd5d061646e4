package revision

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/csiglab/csiglab/orchestrator/programs"
	"github.com/csiglab/csiglab/orchestrator/programs/builder"
)

// Stale says in what this program differs from the checkout of its source: the checkout is
// of another commit, or has changes that the program was built without. It returns "" if
// they agree, or if there is no checkout to compare with. linked is Request.Linked.
func Stale(ctx context.Context, linked string) string {
	folder, err := builder.Source(ctx, "", linked)
	if err != nil {
		return ""
	}
	file, err := programs.Core()
	if err != nil {
		return ""
	}
	stat, err := os.Stat(file)
	if err != nil {
		return ""
	}
	b := built{at: stat.ModTime()}
	if info, err := buildinfo.ReadFile(file); err == nil {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.commit = s.Value
			case "vcs.modified":
				b.modified = s.Value == "true"
			}
		}
	}
	return b.stale(ctx, folder)
}

// built is what a program was built from.
type built struct {
	commit   string // full hash; empty: not known
	modified bool   // the working tree had changes
	at       time.Time
}

// sources match the files that a program is built from. Without tests: they change no
// program.
var sources = []string{"--", "*.go", "*.s", "*.yaml", "go.mod", "go.sum", ":(exclude)*_test.go", ":(exclude)*/testdata/*"}

// stale is Stale for the checkout in a folder.
func (b *built) stale(ctx context.Context, folder string) string {
	list := func(args ...string) (names []string, err error) {
		out, err := git(ctx, folder, append(args, sources...)...)
		for name := range strings.SplitSeq(string(out), "\x00") {
			if name != "" {
				names = append(names, name)
			}
		}
		return names, err
	}
	untracked, err := list("ls-files", "-z", "--others", "--exclude-standard")
	if err != nil {
		return "" // no repository
	}
	var names []string
	if b.commit == "" {
		names, err = list("ls-files", "-z")
	} else {
		names, err = list("diff", "-z", "--name-only", "--no-ext-diff", "--relative", b.commit)
	}
	if err != nil {
		return fmt.Sprintf("it was built from commit %.12s, which %s does not have", b.commit, shown(folder))
	}
	for _, name := range append(names, untracked...) {
		info, err := os.Stat(filepath.Join(folder, name))
		if newer := err == nil && info.ModTime().After(b.at); newer || b.commit != "" && !b.modified {
			return fmt.Sprintf("%s of %s was changed since it was built", shown(name), shown(folder))
		}
	}
	return ""
}
