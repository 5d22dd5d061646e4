// Package builder compiles csiglab and the node programs, together with Go modules that
// register algorithms and kinds if there are any. It calls the go command on csiglab's own source, with a
// go.mod that has the modules, and with a file in each main package that imports them.
// What it has built it keeps in the user's cache folder, by the content of all source
// files. It is a part of the command csiglab; it runs nothing but the go command, git and
// the csiglab that it has built.
package builder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/nodes/modules"
)

// ErrInput is the class of errors that the caller's input causes: the modules, their
// source, the names. Other errors are of the machine.
var ErrInput = errors.New("input")

type inputError struct{ error }

func (e inputError) Is(target error) bool { return target == ErrInput }
func (e inputError) Unwrap() error        { return e.error }

func input(format string, args ...any) error { return inputError{fmt.Errorf(format, args...)} }

// Request is what to build.
type Request struct {
	With   []With
	Also   []string // names of programs to build beside csiglab and those of nodes
	Source string   // csiglab's own: a folder or a version; empty: Find finds it
	Linked string   // folder that the linker has recorded as csiglab's source; may be empty
	Output string   // file of the new csiglab
	// Anonymous leaves the place and the version of csiglab's source out of the programs:
	// equal sources give equal programs with one key, wherever they are.
	Anonymous bool
	// Cover are the import paths of packages of which csiglab is to say what it executed, in
	// the folder that the variable GOCOVERDIR names. No other program is built then. Not with With.
	Cover []string
	// Known reports whether nothing has to be built for a key; nil: always build.
	Known func(key string) bool
	Say   func(text string)
}

// Result is what was built.
type Result struct {
	Key      string // of everything that is compiled, the Go toolchain and the flags
	Output   string // file of the new csiglab; empty: Request.Known knows the key
	Programs string // folder of its node programs
	Source   string // csiglab's own, in words
	Modules  []Described
	Cached   bool // taken from the cache
	Took     time.Duration
	// Functions are those of csiglab's own source and of modules in folders.
	Functions []Function
}

// Described is a module in a program, with what it has registered. It is part of what
// csiglab version --json prints.
type Described struct {
	modules.Module
	Registers []modules.Entry `json:"registers"`
}

// Contents returns what the modules of this program have registered.
func Contents() []Described {
	list := []Described{}
	for _, m := range modules.Compiled() {
		list = append(list, Described{m, m.Entries()})
	}
	return list
}

// Build builds. When ctx ends, it removes what it has begun and returns ctx's error.
func Build(ctx context.Context, r Request) (*Result, error) {
	started := time.Now()
	if r.Say == nil {
		r.Say = func(string) {}
	}
	cache, err := openCache()
	if err != nil {
		return nil, err
	}
	b := &build{Request: r, cache: cache}
	if b.work, err = cache.temporary(); err != nil {
		return nil, fmt.Errorf("cache folder: %w", cause.Of(err))
	}
	defer b.work.Remove()
	result, err := b.do(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	result.Took = time.Since(started)
	return result, nil
}

// build is a build under way.
type build struct {
	Request
	cache  *cache
	work   *own.Temporary
	tool   *tool
	source source
	with   []resolved
	// programs are the main packages that the source has, by folder.
	programs []string
}

func (b *build) do(ctx context.Context) (result *Result, err error) {
	if b.tool, err = findTool(b.work.Dir); err != nil {
		return nil, err
	}
	defer b.tool.group.close()
	if b.source, err = b.findSource(ctx); err != nil {
		return nil, err
	}
	if b.programs = programsOf(b.source.folder, programs...); !slices.Contains(b.programs, programs[0]) {
		return nil, input("%s has no %s", b.source.words, programs[0])
	}
	if len(b.Cover) > 0 {
		b.programs = b.programs[:1]
	}
	for _, name := range b.Also {
		also := programsOf(b.source.folder, "cmd/"+name)
		if len(also) == 0 {
			return nil, input("%s has no program %s", b.source.words, name)
		}
		b.programs = append(b.programs, also...)
	}
	if err := b.resolve(ctx); err != nil {
		return nil, err
	}
	content, err := b.list(ctx)
	if err != nil {
		return nil, err
	}
	if b.Known != nil && b.Known(content.key) {
		return &Result{Key: content.key, Source: b.source.words, Functions: content.functions}, nil
	}
	entry := b.cache.entry(content.key)
	release, err := entry.lock(ctx, func() { b.Say("another csiglab build builds the same; waiting for it") })
	if err != nil {
		return nil, err
	}
	defer release()
	result = &Result{Key: content.key, Output: b.Output, Source: b.source.words, Functions: content.functions}
	if result.Modules, err = entry.install(b.Output); err == nil {
		result.Cached = true
	} else {
		if !errors.Is(err, errNotCached) {
			return nil, err
		}
		b.Say("compiling " + b.withNames(b.source.words))
		described, err := b.compile(ctx, content)
		if err != nil {
			return nil, err
		}
		if err := entry.store(b.work.Path("programs"), described); err != nil {
			return nil, fmt.Errorf("cache folder: %w", cause.Of(err))
		}
		b.cache.addSums(b.work.Path("go.sum"))
		if result.Modules, err = entry.install(b.Output); err != nil {
			return nil, err
		}
	}
	b.cache.prune(entry)
	result.Programs = ProgramsFolder(b.Output)
	return result, nil
}

// withNames returns what with the names of the modules, if there are any.
func (b *build) withNames(what string) string {
	for i, w := range b.with {
		what += map[bool]string{true: " with ", false: ", "}[i == 0] + w.module.Path
	}
	return what
}

// ProgramsFolder returns the folder of the node programs of a csiglab that was built here,
// given by its file.
func ProgramsFolder(csiglab string) string { return csiglab + modules.ProgramsSuffix }

// Missing says in words that a file or folder of the input is not there, or returns "".
func missing(path string) string {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return cause.Of(err).Error()
	case !info.IsDir():
		return "it is no folder"
	}
	return ""
}
