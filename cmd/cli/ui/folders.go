package ui

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/compare/results"
	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
)

// kind is what a folder is of.
type kind struct{ what, file string }

// kinds are the kinds of folders that are listed, each with the file that makes it one.
var kinds = []kind{
	{"run", runfolder.ManifestFile},
	{"verdict", verdict.FileName}, // of csiglab regress
	{"sweep", "sweep.json"},
	{"sweep", results.File}, // that csiglab sweep --merge wrote
}

// Bounds of the list.
const (
	mostFolders = 20_000 // names that are looked at
	mostEntries = 2000   // lines that are kept in memory
)

// found is a folder that is listed.
type found struct {
	kind
	name, path string
	changed    time.Time
	mark       string // another one when the folder has changed
}

// folders reads the list. It may be used by several goroutines.
type folders struct {
	dir string

	mu    sync.Mutex
	known map[string]entry // of folders that are complete, by mark
}

// find returns the folders, the one that was changed last at the front. Symbolic links are
// not followed, and not listed. cut says that there are more names than mostFolders.
func (f *folders) find() (list []found, cut bool, err error) {
	dir, err := os.Open(f.dir)
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", f.dir, cause.Of(err))
	}
	defer dir.Close() // opened for reading
	entries, err := dir.ReadDir(mostFolders)
	if err != nil && !errors.Is(err, io.EOF) { // EOF: the folder is empty
		return nil, false, fmt.Errorf("%s: %w", f.dir, cause.Of(err))
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		path := filepath.Join(f.dir, e.Name())
		for _, k := range kinds {
			if info, err := os.Lstat(filepath.Join(path, k.file)); err == nil && info.Mode().IsRegular() {
				list = append(list, found{kind: k, name: e.Name(), path: path, changed: info.ModTime(), mark: markOf(path, info)})
				break
			}
		}
	}
	slices.SortFunc(list, func(a, b found) int { return cmp.Or(b.changed.Compare(a.changed), strings.Compare(a.name, b.name)) })
	return list, len(entries) == mostFolders, nil
}

// markOf returns what changes with a folder: its file and its summary are written anew when
// anything else in it is.
func markOf(path string, info fs.FileInfo) string {
	mark := fmt.Sprintf("%s\x00%d %d", path, info.Size(), info.ModTime().UnixNano())
	if s, err := os.Lstat(filepath.Join(path, runfolder.SummaryFile)); err == nil {
		mark += fmt.Sprintf(" %d %d", s.Size(), s.ModTime().UnixNano())
	}
	return mark
}

// State is how it is with a folder.
type State struct {
	Class string // good, warn, bad, or "" for neither
	Word  string
	Why   string
}

// entry is a line of the list.
type entry struct {
	Name, Shown     string // of the folder, and how the page shows it
	Experiment      string
	Started         time.Time // zero: not known
	Took            time.Duration
	Variants, Seeds int
	Bytes           int64
	State           State
	Opens, Compares bool // it has a page; it can be compared
	Busy            bool // a csiglab is writing it now
	complete        bool // it will not change by itself
}

// entry returns the line of a folder. A folder that cannot be read is a line that says so.
func (f *folders) entry(of *found) entry {
	f.mu.Lock()
	e, ok := f.known[of.mark]
	f.mu.Unlock()
	if ok {
		return e
	}
	e = entry{Name: of.name, Shown: plain(of.name)}
	switch {
	case !utf8.ValidString(of.name) || strings.ContainsFunc(of.name, unicode.IsControl):
		e.State = State{"warn", "not shown", "its name has characters that an address cannot have"}
		return e
	case of.what == "run":
		e.run(of.path)
	case of.what == "verdict":
		e.Opens, e.Started, e.State.Word = true, of.changed, "verdict"
	default:
		e.Compares, e.Started, e.State.Word = true, of.changed, "sweep"
	}
	if e.complete {
		f.mu.Lock()
		if len(f.known) >= mostEntries || f.known == nil {
			f.known = map[string]entry{}
		}
		f.known[of.mark] = e
		f.mu.Unlock()
	}
	return e
}

// run fills in the line of a run's folder.
func (e *entry) run(path string) {
	f, err := runfolder.OpenUnchecked(path)
	if errors.Is(err, runfolder.ErrIncomplete) || err == nil && !f.Manifest.Complete {
		e.incomplete(path, f)
		return
	}
	if err != nil {
		e.State = State{"bad", "damaged", reason(path, err)}
		if errors.Is(err, runfolder.ErrForeign) {
			e.State.Word = "not readable"
		}
		return
	}
	e.manifest(&f.Manifest)
	e.Opens, e.Compares, e.complete = true, f.Summary.Valid, true
	failed := 0
	for _, x := range f.Summary.Expectations {
		if !x.OK {
			failed++
		}
	}
	switch n := len(f.Summary.Expectations); {
	case !f.Summary.Valid:
		e.State = State{"bad", "not valid", plain(strings.Join(f.Summary.Reasons[:min(1, len(f.Summary.Reasons))], ""))}
	case failed > 0:
		e.State = State{"bad", "failed", fmt.Sprintf("%d of %d expectations failed", failed, n)}
	case n > 0:
		e.State = State{"good", "passed", fmt.Sprintf("%d of %d expectations held", n, n)}
	default:
		e.State = State{"", "done", "no expectations"}
	}
}

// incomplete fills in the line of a folder that lacks runs. f is nil if it has no tables.
func (e *entry) incomplete(path string, f *runfolder.Folder) {
	p, err := runfolder.ReadProgress(path)
	if err != nil {
		e.State = State{"bad", "damaged", reason(path, err)}
		return
	}
	e.manifest(&p.Manifest)
	e.Busy, e.Opens = p.Busy, f != nil && !p.Busy
	if !e.Opens {
		e.Bytes = 0 // the manifest does not know yet
	}
	switch {
	case p.Busy && p.Runs > 0:
		e.State = State{"", "running", fmt.Sprintf("%d of %d runs have finished", p.Finished, p.Runs)}
	case p.Busy:
		e.State = State{"", "running", ""}
	default:
		e.State = State{"warn", "incomplete", plain(p.Manifest.Reason)}
		if p.Runs > 0 {
			e.State.Why = fmt.Sprintf("%d of %d runs; %s", p.Finished, p.Runs, e.State.Why)
		}
	}
}

// manifest fills in what a manifest says.
func (e *entry) manifest(m *runfolder.Manifest) {
	e.Experiment, e.Started, e.Variants = plain(m.Name), m.Started, len(m.Variants)
	if !m.Finished.IsZero() {
		e.Took = m.Finished.Sub(m.Started)
	}
	seeds := map[uint64]bool{}
	for _, r := range m.Runs {
		seeds[r.Seed] = true
	}
	for _, v := range m.Missing {
		for _, seed := range v.Seeds {
			seeds[seed] = true
		}
	}
	e.Seeds = len(seeds)
	for _, file := range m.Files {
		e.Bytes += file.Bytes
	}
}

// reason returns an error of a run's folder without the name of the folder.
func reason(path string, err error) string {
	return plain(strings.TrimPrefix(err.Error(), "open run folder "+path+": "))
}

// mostText is how many characters a text of a folder may have on the page.
const mostText = 200

// plain returns a text that a stranger may have written without what could change the text
// around it, and not too long.
func plain(text string) string {
	n := 0
	text = strings.Map(func(c rune) rune {
		if n++; n > mostText {
			return -1
		}
		if !unicode.IsPrint(c) {
			return unicode.ReplacementChar
		}
		return c
	}, text)
	if n > mostText {
		text += "…"
	}
	return text
}
