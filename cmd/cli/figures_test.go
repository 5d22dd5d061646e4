package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/perform"
	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
)

// "csiglab report RUN --figures DIR" writes all figures with an index, replaces those of
// its own, and nothing else.
func TestReportFigures(t *testing.T) {
	checkout.SkipLong(t)
	checkout.SkipSlowRace(t)
	folder := readingtest.ThreeFlow().Folder(t, nil).Dir
	dir := filepath.Join(t.TempDir(), "a", "figures")
	read := func() (index figuresOf) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, figuresIndex))
		if err == nil {
			err = json.Unmarshal(text, &index)
		}
		if err != nil {
			t.Fatal(err)
		}
		return index
	}
	code, stdout, stderr := csiglab(&fakeLab{}, nil, "report", folder, "--figures", dir)
	if code != command.ExitOK {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	index := read()
	if !slices.IsSortedFunc(index.Figures, func(a, b figureFile) int { return strings.Compare(a.Name, b.Name) }) || len(index.Figures) < 7 || index.Colours != "light" {
		t.Errorf("index %+v", index)
	}
	if !strings.HasPrefix(stdout, filepath.Join(dir, index.Figures[0].SVG)+"\n") {
		t.Errorf("output %s", stdout)
	}
	for _, f := range index.Figures {
		picture, err := os.ReadFile(filepath.Join(dir, f.PNG))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := png.Decode(bytes.NewReader(picture)); err != nil {
			t.Errorf("%s: %v", f.PNG, err)
		}
		if text, err := os.ReadFile(filepath.Join(dir, f.CSV)); err != nil || bytes.Count(text, []byte("\n")) < 2 || f.PDF != "" {
			t.Errorf("%+v: numbers %.60q, %v", f, text, err)
		}
		if text, err := os.ReadFile(filepath.Join(dir, f.SVG)); err != nil || !bytes.HasPrefix(text, []byte("<?xml")) || f.Title == "" || f.Caption == "" {
			t.Errorf("%+v: %.30q, %v", f, text, err)
		}
	}

	// For a paper: one column, as PDF and PGF, in colours that a grey print tells apart.
	paper := filepath.Join(t.TempDir(), "paper")
	if code, stdout, stderr := csiglab(&fakeLab{}, nil, "report", folder, "--figures", paper, "--format", "pdf,pgf", "--size", "one"); code != command.ExitOK || !strings.Contains(stdout, filepath.Join(paper, "fabric.pdf")+"\n") {
		t.Fatalf("paper: exit %d: %s%s", code, stdout, stderr)
	}
	for name, begins := range map[string]string{"fabric.pdf": "%PDF-", "slowest.pgf": "", "slowest.csv": "", "fabric.svg": "none", figuresIndex: "{"} {
		text, err := os.ReadFile(filepath.Join(paper, name))
		if begins == "none" != errors.Is(err, fs.ErrNotExist) || err == nil && !bytes.HasPrefix(text, []byte(begins)) {
			t.Errorf("paper: %s: %.40q, %v", name, text, err)
		}
	}

	// Again, dark: its own files are replaced, those that are no longer listed are removed.
	old := index
	old.Figures = append(old.Figures, figureFile{Name: "gone", SVG: "gone.svg", PNG: "../gone.png"})
	text, err := json.Marshal(old)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{figuresIndex: string(text), "gone.svg": "x", "mine.txt": "mine", "../gone.png": "mine"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if code, stdout, stderr := csiglab(&fakeLab{}, nil, "report", folder, "--figures", dir, "--dark"); code != command.ExitOK {
		t.Fatalf("again: exit %d: %s%s", code, stdout, stderr)
	}
	if again := read(); again.Colours != "dark" || len(again.Figures) != len(index.Figures) {
		t.Errorf("again: index %+v", again)
	}
	for name, want := range map[string]bool{"gone.svg": false, "mine.txt": true, "../gone.png": true} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %t", name, err, want)
		}
	}

	// A file of somebody else stays, and nothing is written beside it.
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "fabric.svg"), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := csiglab(&fakeLab{}, nil, "report", folder, "--figures", other); code != command.ExitUsage || !strings.Contains(stderr, "fabric.svg is there") {
		t.Errorf("a file of somebody else: exit %d: %s", code, stderr)
	}
	if files, err := os.ReadDir(other); err != nil || len(files) != 1 {
		t.Errorf("files %v, %v", files, err)
	}
	for want, args := range map[string][]string{
		"--figures excludes":        {folder, "--figures", other, "--json"},
		"--dark needs --figures":    {folder, "--dark"},
		"--format needs --figures":  {folder, "--format", "pdf"},
		"want some of svg, png":     {folder, "--figures", other, "--format", "svg,jpeg"},
		"--size three: want page":   {folder, "--figures", other, "--size", "three"},
		"--colours red: want light": {folder, "--figures", other, "--colours", "red"},
		"exclude each other":        {folder, "--figures", other, "--colours", "print", "--dark"},
		"want 4 to 40 points":       {folder, "--figures", other, "--font-size", "1"},
		"not a folder":              {folder, "--figures", filepath.Join(other, "fabric.svg")},
		"name a folder":             {folder, "--figures", ""},
		"no such file":              {filepath.Join(other, "none"), "--figures", filepath.Join(other, "new")},
	} {
		if code, stdout, stderr := csiglab(&fakeLab{}, nil, append([]string{"report"}, args...)...); code != command.ExitUsage || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit %d: %s%s, want %q", args, code, stdout, stderr, want)
		}
	}
}

// An interrupted "--figures" leaves nothing, and files that cannot be placed leave the folder
// as it was.
func TestFiguresAllOrNone(t *testing.T) {
	read, err := perform.Analyse(readingtest.ThreeFlow().Folder(t, nil).Dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	above := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = figuresInto(ctx, read, pageFigures(filepath.Join(above, "a", "b")))
	if left, bad := os.ReadDir(above); err == nil || command.ExitCode(err) != command.ExitInfrastructure || err.Error() != "interrupted" || bad != nil || len(left) != 0 {
		t.Errorf("interrupted: %v, %v; left %v", err, bad, left)
	}
	_, err = lookAt(ctx, (&command.App{}), above, "report.html", read)
	if want := "csiglab report " + above + " --figures " + above + "/figures writes its figures"; err == nil || command.ExitCode(err) != command.ExitInfrastructure || !strings.Contains(err.Error(), want) {
		t.Errorf("interrupted demo: %v, want %q", err, want)
	}
	if left, err := os.ReadDir(above); err != nil || len(left) != 0 {
		t.Errorf("interrupted demo: %v, left %v", err, left)
	}

	dir := t.TempDir()
	for _, name := range []string{"index.json", "a.svg", "gone.svg"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("old"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// A file cannot take the place of a folder, which is found when others are in place.
	if err := os.MkdirAll(filepath.Join(dir, "c.svg", "in it"), 0o755); err != nil {
		t.Fatal(err)
	}
	texts := map[string][]byte{"index.json": []byte("new"), "a.svg": []byte("new"), "b.svg": []byte("new"), "c.svg": []byte("new")}
	if err := placeFigures(dir, texts, []string{"a.svg", "gone.svg", "index.json"}); err == nil {
		t.Fatal("no error about a file that cannot be placed")
	}
	if err := os.RemoveAll(filepath.Join(dir, "c.svg")); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 3 {
		t.Errorf("%v, %v", left, err)
	}
	for _, f := range left {
		if text, err := os.ReadFile(filepath.Join(dir, f.Name())); err != nil || string(text) != "old" {
			t.Errorf("%s: %q, %v", f.Name(), text, err)
		}
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
	_, err = figuresInto(endsAfter{t.Context(), &looks}, numbers, pageFigures(dir))
	if _, left := os.Lstat(dir); err == nil || err.Error() != "interrupted" || command.ExitCode(err) != command.ExitInfrastructure || !errors.Is(left, fs.ErrNotExist) {
		t.Fatalf("%v; folder: %v", err, left)
	}
	if code, _, stderr := csiglab(&fakeLab{}, nil, "report", folder, "--figures", dir); code != command.ExitOK {
		t.Errorf("again: exit %d: %s", code, stderr)
	}
}
