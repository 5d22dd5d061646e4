// Package revision turns what a comparison names into a csiglab program to run: a git
// revision or a folder of csiglab or of an algorithm module, a program, or this program
// itself. It calls git and package builder, and knows nothing of experiments. It is a part
// of the command csiglab.
package revision

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/programs"
	"github.com/csiglab/csiglab/orchestrator/programs/builder"
)

// Classes of errors. Errors of neither class are of the machine, such as no network, a full
// disk, no program git, or a Go toolchain that is too old.
var (
	// ErrInput: what was asked for does not exist, such as a revision or a folder.
	ErrInput = errors.New("input")
	// ErrBroken: the revision or folder exists and gives no program that starts.
	ErrBroken = errors.New("it does not build")
)

type classified struct {
	error
	class error
}

func (e classified) Is(target error) bool { return target == e.class }
func (e classified) Unwrap() error        { return e.error }

// Classed gives an error of this package its class of package failure; the context's stays.
func Classed(err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, ErrInput), errors.Is(err, ErrBroken):
		return failure.Configuration(err)
	}
	return failure.Infrastructure(err)
}

func input(format string, args ...any) error {
	return classified{fmt.Errorf(format, args...), ErrInput}
}

// Kind is how a program is named.
type Kind string

// Kinds.
const (
	Self   Kind = "self"    // this program; with modules, this program's source with them
	Git    Kind = "git"     // a revision
	Folder Kind = "folder"  // a working tree as it stands
	File   Kind = "program" // a csiglab
)

// Ref names a program.
type Ref struct {
	Kind  Kind
	Value string // the revision, folder or file; empty with Self
}

// String returns the name as the user writes it.
func (r Ref) String() string {
	if r.Kind == Self {
		return string(Self)
	}
	return string(r.Kind) + ":" + r.Value
}

// Request is which program is wanted.
type Request struct {
	Ref Ref
	// With are modules to compile in. If there are any, Git and Folder are a revision and a
	// folder of the first one of them that is a folder; all others are built as they stand.
	With   []builder.With
	Source string // csiglab's own source: a folder; empty: the checkout above the working directory, or that of this program
	Linked string // folder that the linker has recorded as csiglab's source; may be empty
	// Into is the folder for the program, in a folder of its own there. The caller removes
	// it. Self without modules, and File, need none.
	Into string
	// Known reports whether the programs of an identity need not be there any more; nil:
	// they are wanted always.
	Known func(identity string) bool
	// Named puts the version and the place of csiglab's source into the program, as csiglab
	// build does. Such a program can build others. Its identity depends on both.
	Named bool
	Cover []string          // see builder.Request
	Say   func(text string) // what takes long; may be nil
}

// Program is a csiglab to run.
type Program struct {
	File     string    // absolute; empty: Request.Known knows the identity
	Identity string    // of the content: programs of one identity are interchangeable
	Label    string    // for people, such as git:main (4be1c2f9a)
	Version  string    // what the program says of itself
	Commit   string    // full hash of the revision; empty if it is none
	Date     time.Time // when it was committed; zero if it is none
	// Functions are those of the source, of a program that was built.
	Functions []builder.Function
}

// Build returns the program that a request names. What was built before from the same
// source comes from the cache of builds. Two revisions with the same source have one
// identity, and so have a revision and a folder. When ctx ends, it returns ctx's error.
func Build(ctx context.Context, r Request) (Program, error) {
	if r.Say == nil {
		r.Say = func(string) {}
	}
	p, err := build(ctx, r)
	if err == nil && p.File != "" && p.Version == "" {
		p.Version, err = version(ctx, p.File)
	}
	if ctx.Err() != nil {
		return Program{}, ctx.Err()
	}
	if err != nil {
		return Program{}, fmt.Errorf("%s: %w", r.Ref, err)
	}
	return p, nil
}

func build(ctx context.Context, r Request) (Program, error) {
	switch r.Ref.Kind {
	case Self:
		if len(r.With) > 0 {
			return compile(ctx, r, "", Program{Label: "self"})
		}
		file, err := programs.Core()
		if err != nil {
			return Program{}, err
		}
		return program(file, "self")
	case File:
		return program(r.Ref.Value, r.Ref.String())
	case Folder:
		if err := checkFolder(r.Ref.Value); err != nil {
			return Program{}, err
		}
		return compile(ctx, r, r.Ref.Value, Program{Label: r.Ref.String() + state(ctx, r.Ref.Value)})
	case Git:
		return fromGit(ctx, r)
	}
	return Program{}, input("%q is no kind of program", r.Ref.Kind)
}

// program returns the program in a file.
func program(file, label string) (Program, error) {
	file, err := filepath.Abs(file)
	if err != nil {
		return Program{}, err
	}
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return Program{}, input("%w", cause.Of(err))
	case !info.Mode().IsRegular() || info.Mode()&0o111 == 0:
		return Program{}, input("it is no program: want an executable file")
	}
	identity, err := trial.FileIdentity(file)
	if err != nil {
		return Program{}, input("%w", err)
	}
	return Program{File: file, Identity: identity, Label: label}, nil
}

func checkFolder(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return input("%w", cause.Of(err))
	case !info.IsDir():
		return input("it is no folder")
	}
	return nil
}

// varied returns the index of the module whose revisions or folders are built; -1: it is
// csiglab itself.
func (r *Request) varied() (int, error) {
	if len(r.With) == 0 {
		return -1, nil
	}
	i := slices.IndexFunc(r.With, func(w builder.With) bool { return w.Folder != "" })
	if i < 0 {
		return 0, input("--with %s is a version: want --with MODULE=FOLDER, the repository that has the revisions", r.With[0].Path)
	}
	return i, nil
}

// compile builds csiglab with folder in place of csiglab's source or of the module that is
// varied; an empty folder changes nothing.
func compile(ctx context.Context, r Request, folder string, p Program) (Program, error) {
	b := builder.Request{With: slices.Clone(r.With), Source: r.Source, Linked: r.Linked, Anonymous: !r.Named, Cover: r.Cover, Say: r.Say}
	if r.Known != nil {
		b.Known = func(key string) bool { return r.Known(identity(key)) }
	}
	if i, err := r.varied(); folder != "" {
		switch {
		case err != nil:
			return p, err
		case i < 0:
			b.Source = folder
		default:
			b.With[i].Folder = folder
		}
	}
	if err := os.MkdirAll(r.Into, 0o755); err != nil {
		return p, fmt.Errorf("%s: %w", r.Into, cause.Of(err))
	}
	dir, err := os.MkdirTemp(r.Into, "program-")
	if err != nil {
		return p, fmt.Errorf("%s: %w", r.Into, cause.Of(err))
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return p, err
	}
	b.Output = filepath.Join(dir, "csiglab")
	result, err := builder.Build(ctx, b)
	if err == nil && result.Output != "" {
		p.File, err = result.Output, beside(result)
	}
	if err != nil {
		os.RemoveAll(dir)
		return p, classify(err)
	}
	if p.File == "" {
		os.RemoveAll(dir)
	}
	p.Identity, p.Functions = identity(result.Key), result.Functions
	return p, nil
}

func identity(key string) string { return "source-" + key }

// beside puts links to the node programs beside csiglab, where early revisions look for
// them.
func beside(r *builder.Result) error {
	files, err := os.ReadDir(r.Programs)
	if err != nil {
		return err
	}
	for _, file := range files {
		target := filepath.Join(filepath.Base(r.Programs), file.Name())
		if err := os.Symlink(target, filepath.Join(filepath.Dir(r.Output), file.Name())); err != nil {
			return err
		}
	}
	return nil
}

// ofTheMachine are parts of what the go command says when another machine could build.
var ofTheMachine = []string{"GOPROXY=off", "GOTOOLCHAIN", "toolchain not available", "(running go "}

// classify tells a source that does not build from a machine that cannot build.
func classify(err error) error {
	if !errors.Is(err, builder.ErrInput) {
		return err
	}
	for _, part := range ofTheMachine {
		if strings.Contains(err.Error(), part) {
			return err
		}
	}
	return classified{err, ErrBroken}
}

// startTime is how long a program may take to say its version.
const startTime = 20 * time.Second

// version returns what a program says of itself, and checks that it is a csiglab.
func version(ctx context.Context, file string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, file, "version")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = time.Second
	cmd.Env = slices.DeleteFunc(os.Environ(), func(pair string) bool { return strings.HasPrefix(pair, "CSIGLAB_") })
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	runtime.LockOSThread() // Pdeathsig is about the thread
	defer runtime.UnlockOSThread()
	out, err := cmd.Output()
	text, ok := strings.CutPrefix(string(out), "csiglab ")
	if err != nil || !ok {
		said, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
		if said == "" && err != nil {
			said = err.Error()
		}
		return "", input("it is no csiglab: csiglab version prints csiglab and the version; this one says %q", shown(said))
	}
	first, _, _ := strings.Cut(text, "\n")
	name, _, _ := strings.Cut(first, ", ")
	return shown(name), nil
}
