package trial

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
)

// ErrFileChanged: a file that the experiment reads is another one than when the campaign
// began.
var ErrFileChanged = errors.New("the file was changed since the trials began")

// File is a file or folder that trials read.
type File struct {
	Name   string `json:"name"`   // absolute
	SHA256 string `json:"sha256"` // see Digest
}

// Digest returns the SHA-256 of a file, or of the files of a folder with their names.
func Digest(ctx context.Context, name string) (string, error) {
	sum := sha256.New()
	err := filepath.WalkDir(name, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case path == name && !entry.IsDir():
			return addFile(sum, path)
		case entry.IsDir():
			return nil
		}
		relative, err := filepath.Rel(name, path)
		if err != nil {
			return err
		}
		part := sha256.New()
		err = addFile(part, path)
		fmt.Fprintf(sum, "%q %x\n", relative, part.Sum(nil))
		return err
	})
	if err != nil {
		return "", fmt.Errorf("read %s: %w", name, cause.Of(err))
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func addFile(w io.Writer, name string) error {
	file, err := own.Input(name, 1<<40) // a named pipe would wait for ever
	if err != nil {
		return err
	}
	defer file.Close() // opened for reading
	_, err = io.Copy(w, file)
	return err
}

// stamp returns a text that changes when a file, or one in a folder, is written or replaced.
// It reads no content. Names that are not there are part of it.
func stamp(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		filepath.WalkDir(name, func(path string, _ fs.DirEntry, err error) error { //nolint:errcheck // the function returns none
			var info fs.FileInfo
			if err == nil {
				info, err = os.Stat(path)
			}
			if err != nil {
				fmt.Fprintf(&b, "%q none\n", path)
				return nil
			}
			var inode uint64
			if s, ok := info.Sys().(*syscall.Stat_t); ok {
				inode = s.Ino
			}
			fmt.Fprintf(&b, "%q %d %d %d\n", path, info.Size(), info.ModTime().UnixNano(), inode)
			return nil
		})
	}
	return b.String()
}

// watched is a runner that ends the campaign when a file is changed.
type watched struct {
	Runner
	files []File

	mu   sync.Mutex
	seen []string // stamps of files that had their content; "": not looked at yet
}

// Watch returns a runner that ends the campaign with an error that wraps ErrFileChanged when
// one of the files that the trials read has another content than its digest says: later
// trials would be of another experiment.
func Watch(r Runner, files []File) Runner {
	return &watched{Runner: r, files: files, seen: make([]string, len(files))}
}

// Run implements Runner.
func (w *watched) Run(ctx context.Context, t Trial) (Outcome, error) {
	return w.run(ctx, w.Runner, t)
}

func (w *watched) run(ctx context.Context, r Runner, t Trial) (Outcome, error) {
	if err := w.check(ctx); err != nil {
		return Outcome{}, err
	}
	out, err := r.Run(ctx, t)
	if err == nil {
		err = w.check(ctx) // while it was read
	}
	return out, err
}

// InTurn implements InTurner.
func (w *watched) InTurn() (Runner, func()) {
	r, end := inTurn(w.Runner)
	return runnerFunc(func(ctx context.Context, t Trial) (Outcome, error) { return w.run(ctx, r, t) }), end
}

// runnerFunc is a Runner.
type runnerFunc func(ctx context.Context, t Trial) (Outcome, error)

// Run implements Runner.
func (f runnerFunc) Run(ctx context.Context, t Trial) (Outcome, error) { return f(ctx, t) }

func (w *watched) check(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, f := range w.files {
		now := stamp(f.Name)
		if now == w.seen[i] {
			continue
		}
		if digest, err := Digest(ctx, f.Name); err != nil || digest != f.SHA256 {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return failure.Configuration(fmt.Errorf("%s: %w", f.Name, ErrFileChanged))
		}
		w.seen[i] = now // written anew, with the same content
	}
	return nil
}
