package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Who is asked. An edit that a suite notices changes a trace or a value, or makes a run invalid.
const (
	askSuite    = "suite"
	askSelftest = "selftest"
	askUnits    = "units"
)

var askers = []string{askSuite, askSelftest, askUnits}

// patience is the time that one question may take. What does not end is noticed.
const patience = 3 * time.Minute

// result is a line of results.jsonl.
type result struct {
	Edit    string  `json:"edit"`
	Digest  string  `json:"digest"`  // of the edit
	Program string  `json:"program"` // digest of the unchanged one
	Asked   string  `json:"asked"`
	Noticed bool    `json:"noticed"`
	By      string  `json:"by,omitempty"` // entries, checks or packages
	Seconds float64 `json:"seconds"`
}

// bench is a folder in which edits are tried.
type bench struct {
	folder   string
	checkout string // what is copied
	program  string // digest of the unchanged one
	current  string // digest of the edit that the program DIR/mutant has
	results  []result
}

func (b *bench) path(name string) string { return filepath.Join(b.folder, name) }

// openBench returns the bench of a folder, with the results that are in it.
func openBench(folder string) (*bench, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	top, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return nil, fmt.Errorf("git rev-parse: %w; call it in a checkout", err)
	}
	b := &bench{folder: folder, checkout: strings.TrimSpace(string(top))}
	text, err := os.ReadFile(b.path("results.jsonl"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for line := range bytes.Lines(text) {
		var r result
		if json.Unmarshal(line, &r) == nil { // the last line of a killed call may be cut
			b.results = append(b.results, r)
		}
	}
	return b, nil
}

// prepare copies the checkout, builds the unchanged program, and saves what the suite gives.
// The folder of the copy is the same in each call, so that the go command's cache has the rest.
func (b *bench) prepare(ctx context.Context) error {
	if err := os.MkdirAll(b.folder, 0o755); err != nil {
		return err
	}
	if err := b.copy(); err != nil {
		return err
	}
	if err := b.build(ctx, b.path("csiglab")); err != nil {
		return fmt.Errorf("the unchanged program: %w", err)
	}
	program, err := os.ReadFile(b.path("csiglab"))
	if err != nil {
		return err
	}
	b.program = fmt.Sprintf("%x", sha256.Sum256(program))[:16]
	if _, err := os.Stat(b.baseline()); err == nil {
		return nil
	}
	part := b.path("part.json")
	os.Remove(part) // of a call that was killed
	for _, args := range [][]string{{"baseline", "save", "standard", "--seeds", "1", "-o", part}, {"selftest"}} {
		text, code, err := b.call(ctx, b.path("csiglab"), args...)
		if err == nil && code != 0 {
			err = fmt.Errorf("exit code %d: %s", code, text)
		}
		if err != nil {
			return fmt.Errorf("csiglab %s with the unchanged program: %w", args[0], err)
		}
	}
	return os.Rename(part, b.baseline())
}

// baseline is the file with what the suite gives with the unchanged program.
func (b *bench) baseline() string { return b.path("baseline-" + b.program + ".json") }

// tree is the folder of the copy.
func (b *bench) tree() string { return b.path("tree") }

// copy makes the copy equal to the files of the checkout that git knows.
func (b *bench) copy() error {
	names, err := exec.Command("git", "-C", b.checkout, "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	if err := os.RemoveAll(b.tree()); err != nil {
		return err
	}
	for _, name := range strings.Split(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		from := filepath.Join(b.checkout, name)
		info, err := os.Lstat(from)
		if errors.Is(err, os.ErrNotExist) { // removed, and git does not know yet
			continue
		}
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			continue
		}
		text, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		to := filepath.Join(b.tree(), name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, text, info.Mode().Perm()); err != nil {
			return err
		}
	}
	return nil
}

// build builds csiglab from the copy.
func (b *bench) build(ctx context.Context, to string) error {
	text, code, err := b.call(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", to, "./cmd/csiglab")
	if err == nil && code != 0 {
		err = fmt.Errorf("go build: %s", text)
	}
	return err
}

// call runs a command in the copy and returns its output. A command that takes longer than
// patience has exit code -1. The error is the context's, or one of starting the command.
func (b *bench) call(ctx context.Context, name string, args ...string) (text string, code int, err error) {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(limited, name, args...)
	cmd.Dir = b.tree()
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	if cmd.Process != nil {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it has left; usually nothing
	}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", 0, ctx.Err()
	case limited.Err() != nil:
		return out.String(), -1, nil
	case err != nil && !errors.As(err, &exit):
		return "", 0, err
	}
	return out.String(), cmd.ProcessState.ExitCode(), nil
}

// known returns the result of a question, if it need not be asked again: what was noticed, and
// what was not noticed with the same program.
func (b *bench) known(e *Edit, asked string) bool {
	r := last(b.results, e, asked)
	return r != nil && (r.Noticed || r.Program == b.program)
}

// last returns the newest result of a question, or nil.
func last(results []result, e *Edit, asked string) (found *result) {
	for i := range results {
		if r := &results[i]; r.Edit == e.Name && r.Digest == e.digest() && r.Asked == asked {
			found = r
		}
	}
	return found
}

// ask applies an edit and asks somebody.
func (b *bench) ask(ctx context.Context, e *Edit, asked string) error {
	if b.known(e, asked) {
		return nil
	}
	before, after, err := e.changed(b.tree())
	if err != nil {
		return err
	}
	file := filepath.Join(b.tree(), e.File)
	packages, err := b.packages(ctx, e, asked)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, after, 0o644); err != nil {
		return err
	}
	defer os.WriteFile(file, before, 0o644) // the next call copies the checkout anew
	if asked != askUnits && b.current != e.digest() {
		if err := b.build(ctx, b.path("mutant")); err != nil {
			return fmt.Errorf("edit %s: %w", e.Name, err)
		}
		b.current = e.digest()
	}
	began := time.Now()
	r := result{Edit: e.Name, Digest: e.digest(), Program: b.program, Asked: asked}
	switch asked {
	case askSuite:
		r.By, err = b.suite(ctx, e)
	case askSelftest:
		r.By, err = b.selftest(ctx)
	default:
		r.By, err = b.units(ctx, packages)
	}
	if err != nil {
		return fmt.Errorf("edit %s: %s: %w", e.Name, asked, err)
	}
	r.Noticed, r.Seconds = r.By != "", time.Since(began).Round(100*time.Millisecond).Seconds()
	return b.write(r)
}

// write adds a line to the results.
func (b *bench) write(r result) error {
	b.results = append(b.results, r)
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(b.path("results.jsonl"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	fmt.Printf("%s: %s: %s (%.1f s)\n", r.Edit, r.Asked, orNobody(r.By), r.Seconds)
	return nil
}

func orNobody(by string) string {
	if by == "" {
		return "not noticed"
	}
	return by
}
