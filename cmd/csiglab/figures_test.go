package main

import (
	"bytes"
	"encoding/json"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/reports/analysis/analysistest"
)

// "csiglab report RUN --figures DIR" writes all figures with an index, replaces those of
// its own, and nothing else.
func TestReportFigures(t *testing.T) {
	folder := analysistest.ThreeFlow().Folder(t, nil).Dir
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
	if code != exitOK {
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
		if text, err := os.ReadFile(filepath.Join(dir, f.SVG)); err != nil || !bytes.HasPrefix(text, []byte("<?xml")) || f.Title == "" || f.Caption == "" {
			t.Errorf("%+v: %.30q, %v", f, text, err)
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
	if code, stdout, stderr := csiglab(&fakeLab{}, nil, "report", folder, "--figures", dir, "--dark"); code != exitOK {
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
	if code, _, stderr := csiglab(&fakeLab{}, nil, "report", folder, "--figures", other); code != exitUsage || !strings.Contains(stderr, "fabric.svg is there") {
		t.Errorf("a file of somebody else: exit %d: %s", code, stderr)
	}
	if files, err := os.ReadDir(other); err != nil || len(files) != 1 {
		t.Errorf("files %v, %v", files, err)
	}
	for want, args := range map[string][]string{
		"--figures excludes": {folder, "--figures", other, "--json"},
		"--dark needs":       {folder, "--dark"},
		"not a folder":       {folder, "--figures", filepath.Join(other, "fabric.svg")},
		"name a folder":      {folder, "--figures", ""},
		"no such file":       {filepath.Join(other, "none"), "--figures", filepath.Join(other, "new")},
	} {
		if code, stdout, stderr := csiglab(&fakeLab{}, nil, append([]string{"report"}, args...)...); code != exitUsage || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit %d: %s%s, want %q", args, code, stdout, stderr, want)
		}
	}
}
