package experiments

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/perform"
	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
)

// An interrupted "--figures" leaves nothing.
func TestInterruptedFigures(t *testing.T) {
	read, err := perform.Analyse(readingtest.ThreeFlow().Folder(t, nil).Dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	above := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = figuresInto(ctx, drawn{read.Name, read.Figures()}, pageFigures(filepath.Join(above, "a", "b")))
	if left, bad := os.ReadDir(above); err == nil || command.ExitCode(err) != command.ExitInfrastructure || err.Error() != "interrupted" || bad != nil || len(left) != 0 {
		t.Errorf("interrupted: %v, %v; left %v", err, bad, left)
	}
	_, err = (&demonstration{}).lookAt(ctx, above, "report.html", read)
	if want := "csiglab report " + above + " --figures " + above + "/figures writes its figures"; err == nil || command.ExitCode(err) != command.ExitInfrastructure || !strings.Contains(err.Error(), want) {
		t.Errorf("interrupted demo: %v, want %q", err, want)
	}
	if left, err := os.ReadDir(above); err != nil || len(left) != 0 {
		t.Errorf("interrupted demo: %v, left %v", err, left)
	}
}

// endsAfter is a context that ends after so many looks at it.
type endsAfter struct {
	context.Context
	looks *int
}

func (c endsAfter) Err() error {
	if *c.looks--; *c.looks < 0 {
		return context.Canceled
	}
	return nil
}

// Ctrl-C while "--figures" draws: when the command has ended, nothing is left.
func TestReportFiguresInterrupted(t *testing.T) {
	checkout.SkipLong(t)
	checkout.SkipSlowRace(t)
	folder := readingtest.ThreeFlow().Folder(t, nil).Dir
	numbers, err := perform.Analyse(folder, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "figures")
	looks := 2
	_, err = figuresInto(endsAfter{t.Context(), &looks}, drawn{numbers.Name, numbers.Figures()}, pageFigures(dir))
	if _, left := os.Lstat(dir); err == nil || err.Error() != "interrupted" || command.ExitCode(err) != command.ExitInfrastructure || !errors.Is(left, fs.ErrNotExist) {
		t.Fatalf("%v; folder: %v", err, left)
	}
	if _, err = figuresInto(t.Context(), drawn{numbers.Name, numbers.Figures()}, pageFigures(dir)); err != nil {
		t.Errorf("again: %v", err)
	}
}
