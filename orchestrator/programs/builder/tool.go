package builder

import (
	"bytes"
	"cmp"
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
)

// tool is the go command.
type tool struct {
	path  string
	env   []string
	group *group
}

// ownVariables are those of the caller's environment that the builder sets itself.
var ownVariables = []string{"GOFLAGS", "GOWORK", "GO111MODULE", "CGO_ENABLED", "GOOS", "GOARCH", "GOTMPDIR", "PWD"}

// findTool returns the go command, whose temporary files go to a folder. The caller closes
// its group.
func findTool(temporary string) (*tool, error) {
	path, err := exec.LookPath("go")
	if err != nil {
		path = "/usr/local/go/bin/go"
		if _, err := os.Stat(path); err != nil {
			return nil, errors.New("csiglab build needs a Go toolchain, and there is no program go on PATH; https://go.dev/dl has it")
		}
	}
	env := slices.DeleteFunc(os.Environ(), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return slices.Contains(ownVariables, name)
	})
	env = append(env, "GOFLAGS=-mod=mod", "GOWORK=off", "GO111MODULE=on", "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+runtime.GOARCH, "GOTMPDIR="+temporary)
	group, err := newGroup()
	if err != nil {
		return nil, err
	}
	return &tool{path, env, group}, nil
}

// call is a call of the go command.
type call struct {
	dir  string
	args []string
	env  []string // beside the tool's
}

// toolError is a call that has failed.
type toolError struct {
	text   string
	stdout []byte
}

func (e *toolError) Error() string { return e.text }

// endTime is how long the go command has to end after an interrupt.
const endTime = 5 * time.Second

// run calls the go command and returns what it prints on standard output. The error has
// what it prints on standard error.
func (t *tool) run(ctx context.Context, c call) ([]byte, error) {
	cmd := exec.CommandContext(ctx, t.path, c.args...)
	cmd.Dir, cmd.Env = c.dir, append(slices.Clip(t.env), append(c.env, "PWD="+c.dir)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.SysProcAttr = t.group.attributes()
	cmd.Cancel = func() error { return t.group.signal(syscall.SIGINT) }
	cmd.WaitDelay = endTime
	err := cmd.Run()
	if ctx.Err() != nil {
		return nil, ctx.Err() // what is left ends when the group is closed; usually nothing
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil, &toolError{tidy(cmp.Or(stderr.String(), stdout.String())), stdout.Bytes()}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.path, err)
	}
	return stdout.Bytes(), nil
}

// maxLines is how many lines of the go command an error has.
const maxLines = 40

// tidy returns what the go command says without what is only about its own work.
func tidy(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if line == "" || strings.HasPrefix(line, "go: downloading ") || strings.HasPrefix(line, "go: finding ") || strings.HasPrefix(line, "go: added ") || strings.HasPrefix(line, "go: upgraded ") {
			continue
		}
		lines = append(lines, line)
	}
	if more := len(lines) - maxLines; more > 0 {
		lines = append(lines[:maxLines], fmt.Sprintf("and %d more lines", more))
	}
	return strings.Join(lines, "\n")
}

// machineFaults are parts of what the go command says when the machine is the cause.
var machineFaults = []string{"dial tcp", "no such host", "i/o timeout", "connection refused", "connection reset", "no space left on device", "TLS handshake", "disk quota exceeded", "cannot allocate memory", "signal: killed"}

// classify gives an error the class ErrInput, unless the go command says in said that the
// machine is the cause.
func classify(err, said error) error {
	var failed *toolError
	if !errors.As(said, &failed) {
		return err
	}
	for _, part := range machineFaults {
		if strings.Contains(failed.text, part) {
			return err
		}
	}
	return inputError{err}
}

// online makes a call without the network first, if offline says that this may do, and
// then with it.
func (b *build) online(ctx context.Context, offline bool, c call) ([]byte, error) {
	if offline {
		without := c
		without.env = append(slices.Clip(c.env), "GOPROXY=off")
		out, err := b.tool.run(ctx, without)
		if err == nil || ctx.Err() != nil || !wantsNetwork(err) {
			return out, err
		}
		b.Say("some modules are not on this machine; fetching them")
	}
	return b.tool.run(ctx, c)
}

// wantsNetwork reports whether the go command has failed for lack of what it may fetch.
func wantsNetwork(err error) bool {
	text := err.Error()
	return strings.Contains(text, "GOPROXY=off") || strings.Contains(text, "missing go.sum entry") || strings.Contains(text, "sum.golang.org") || strings.Contains(text, "dial tcp")
}

// within returns the name of a file in the source or in a module, as seen from there.
func (b *build) within(file string) string {
	folders := []string{b.source.folder}
	for _, r := range b.with {
		folders = append(folders, r.folder)
	}
	for _, folder := range folders {
		if relative, err := filepath.Rel(folder, file); err == nil && filepath.IsLocal(relative) {
			return relative
		}
	}
	return file
}

// shown returns the lines of the go command with the names of files as the caller would
// write them.
func (b *build) shown(text string) string {
	here, err := os.Getwd()
	if err != nil {
		here = "/"
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		file, rest, ok := strings.Cut(line, ".go:")
		if !ok {
			continue
		}
		if !filepath.IsAbs(file) {
			file = filepath.Join(b.source.folder, file)
		}
		if b.Anonymous {
			lines[i] = b.within(file) + ".go:" + rest
			continue
		}
		if relative, err := filepath.Rel(here, file); err == nil && len(relative) < len(file) {
			file = relative
		}
		lines[i] = file + ".go:" + rest
	}
	return strings.Join(lines, "\n")
}
