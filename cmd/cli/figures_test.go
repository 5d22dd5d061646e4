package cli

import (
	"bytes"
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
	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/reports/figures"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
)

// "csiglab report RUN --figures DIR" writes all figures with an index, replaces those of
// its own, and nothing else.
func TestReportFigures(t *testing.T) {
	checkout.SkipLong(t)
	checkout.SkipSlowRace(t)
	folder := readingtest.ThreeFlow().Folder(t, nil).Dir
	dir := filepath.Join(t.TempDir(), "a", "figures")
	read := func() (index figures.Index) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, figures.IndexFile))
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
	if !slices.IsSortedFunc(index.Figures, func(a, b figures.File) int { return strings.Compare(a.Name, b.Name) }) || len(index.Figures) < 7 || index.Colours != "light" {
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
	for name, begins := range map[string]string{"fabric.pdf": "%PDF-", "slowest.pgf": "", "slowest.csv": "", "fabric.svg": "none", figures.IndexFile: "{"} {
		text, err := os.ReadFile(filepath.Join(paper, name))
		if begins == "none" != errors.Is(err, fs.ErrNotExist) || err == nil && !bytes.HasPrefix(text, []byte(begins)) {
			t.Errorf("paper: %s: %.40q, %v", name, text, err)
		}
	}

	// Again, dark: its own files are replaced, those that are no longer listed are removed.
	old := index
	old.Figures = append(old.Figures, figures.File{Name: "gone", SVG: "gone.svg", PNG: "../gone.png"})
	text, err := json.Marshal(old)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{figures.IndexFile: string(text), "gone.svg": "x", "mine.txt": "mine", "../gone.png": "mine"} {
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
		"--figures and ":                                       {folder, "--figures", other, "--json"},
		"--dark needs --figures":                               {folder, "--dark"},
		"--format needs --figures":                             {folder, "--format", "pdf"},
		"want some of svg, png":                                {folder, "--figures", other, "--format", "svg,jpeg"},
		"--size three: want page":                              {folder, "--figures", other, "--size", "three"},
		"--colours red: want light":                            {folder, "--figures", other, "--colours", "red"},
		"exclude each other":                                   {folder, "--figures", other, "--colours", "print", "--dark"},
		"want 4 to 40 points":                                  {folder, "--figures", other, "--font-size", "1"},
		`argument "big" for "--font-size" flag: want a number`: {folder, "--figures", other, "--font-size", "big"},
		"not a folder":                                         {folder, "--figures", filepath.Join(other, "fabric.svg")},
		"name a folder":                                        {folder, "--figures", ""},
		"no such file":                                         {filepath.Join(other, "none"), "--figures", filepath.Join(other, "new")},
	} {
		if code, stdout, stderr := csiglab(&fakeLab{}, nil, append([]string{"report"}, args...)...); code != command.ExitUsage || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit %d: %s%s, want %q", args, code, stdout, stderr, want)
		}
	}
}
