package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/reports"
	"github.com/csiglab/csiglab/reports/analysis"
	"github.com/csiglab/csiglab/reports/svg"
)

// figuresIndex is the file that lists the figures of a folder.
const figuresIndex = "index.json"

// figureScale is the number of pixels of a PNG for a unit of the drawing.
const figureScale = 2

// figuresOf is what the index says.
type figuresOf struct {
	WrittenBy string       `json:"writtenBy"` // figuresWriter, which marks the folder's files as csiglab's
	Run       string       `json:"run"`
	Colours   string       `json:"colours"` // light or dark
	Figures   []figureFile `json:"figures"` // by name
}

// figureFile is one figure and its files.
type figureFile struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Caption string `json:"caption"`
	SVG     string `json:"svg"`
	PNG     string `json:"png"`
}

const figuresWriter = "csiglab report --figures"

// writeFigures writes each figure of a run's report into a folder, as SVG and as PNG,
// with an index. The folder gets all files or none. A file of another origin is not
// replaced.
func (a *app) writeFigures(ctx context.Context, run, dir string, dark bool) error {
	numbers, err := interruptible(ctx, func() (*analysis.Result, error) {
		numbers, err := analyse(run, nil)
		if err != nil {
			return nil, folderError(err)
		}
		return numbers, nil
	})
	if err != nil {
		return err
	}
	index, err := figuresInto(ctx, numbers, dir, dark)
	if err != nil {
		return err
	}
	var names strings.Builder
	for _, f := range index.Figures {
		fmt.Fprintf(&names, "%s\n", filepath.Join(dir, f.SVG))
	}
	return a.print(names.String())
}

// figuresInto writes the figures of a report. It ends after the figure at hand when ctx does.
// Its errors have exit codes.
func figuresInto(ctx context.Context, numbers *analysis.Result, dir string, dark bool) (_ *figuresOf, err error) {
	scheme, colours := svg.Light, "light"
	if dark {
		scheme, colours = svg.Dark, "dark"
	}
	figures, err := reports.Figures(numbers, scheme)
	if err != nil {
		return nil, infrastructure(err)
	}
	slices.SortFunc(figures, func(a, b reports.Figure) int { return strings.Compare(a.Name, b.Name) })
	index := &figuresOf{WrittenBy: figuresWriter, Run: numbers.Name, Colours: colours, Figures: []figureFile{}}
	for _, f := range figures {
		index.Figures = append(index.Figures, figureFile{f.Name, f.Title, f.Caption, f.Name + ".svg", f.Name + ".png"})
	}
	old, err := checkFigures(dir, index)
	if err != nil {
		return nil, err
	}
	made := missingFolders(dir)
	defer func() {
		for _, name := range made {
			if err != nil {
				os.Remove(name) // if it is empty
			}
		}
	}()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, usage("--figures %s: %w", dir, cause.Of(err))
	}
	fresh, err := os.MkdirTemp(dir, ".figures-")
	if err != nil {
		return nil, usage("--figures %s: %w", dir, cause.Of(err))
	}
	defer os.RemoveAll(fresh)
	for i := range figures {
		if err := ctx.Err(); err != nil {
			return nil, infrastructure(errors.New("interrupted"))
		}
		if err := writeFigure(fresh, &figures[i]); err != nil {
			return nil, infrastructure(fmt.Errorf("--figures %s: %w", dir, err))
		}
	}
	text, err := json.MarshalIndent(index, "", "  ")
	if err != nil {
		return nil, infrastructure(err)
	}
	if err := os.WriteFile(filepath.Join(fresh, figuresIndex), append(text, '\n'), 0o644); err != nil {
		return nil, infrastructure(fmt.Errorf("--figures %s: %w", dir, cause.Of(err)))
	}
	if err := ctx.Err(); err != nil {
		return nil, infrastructure(errors.New("interrupted"))
	}
	if err := placeFigures(fresh, dir, index.files(), old); err != nil {
		return nil, infrastructure(fmt.Errorf("--figures %s: %w", dir, cause.Of(err)))
	}
	return index, nil
}

// missingFolders returns dir and the folders above it that are not there, the lowest first.
func missingFolders(dir string) (missing []string) {
	for dir = filepath.Clean(dir); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			return missing
		}
		missing = append(missing, dir)
	}
}

// placeFigures moves the index and the files that it lists from fresh into dir, and removes
// the other old ones. After an error, dir is as it was. At each moment an index in dir lists
// all figures there, so that also after a kill they can be written again.
func placeFigures(fresh, dir string, files, old []string) (err error) {
	saved, err := os.MkdirTemp(fresh, "saved-")
	if err != nil {
		return err
	}
	var undo []func() error
	defer func() {
		if err == nil {
			return
		}
		for _, f := range slices.Backward(undo) {
			err = errors.Join(err, f())
		}
	}()
	files = append([]string{figuresIndex}, files...)
	for _, name := range old {
		place := filepath.Join(dir, name)
		text, err := os.ReadFile(place)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(saved, name), text, 0o644)
		}
		if err != nil {
			return err
		}
	}
	restore := func(name string) {
		place := filepath.Join(dir, name)
		undo = append(undo, func() error {
			err := os.Rename(filepath.Join(saved, name), place)
			if errors.Is(err, fs.ErrNotExist) {
				err = os.Remove(place)
			}
			return err
		})
	}
	for _, name := range old {
		if slices.Contains(files, name) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, name)); err == nil {
			restore(name)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, name := range files {
		if err := os.Rename(filepath.Join(fresh, name), filepath.Join(dir, name)); err != nil {
			return err
		}
		restore(name)
	}
	return nil
}

func writeFigure(dir string, f *reports.Figure) error {
	var text, picture bytes.Buffer
	if err := f.Drawing.WriteSVG(&text); err != nil {
		return err
	}
	if err := f.Drawing.WritePNG(&picture, figureScale); err != nil {
		return fmt.Errorf("figure %s: %w", f.Name, err)
	}
	for ext, data := range map[string][]byte{".svg": text.Bytes(), ".png": picture.Bytes()} {
		if err := os.WriteFile(filepath.Join(dir, f.Name+ext), data, 0o644); err != nil {
			return cause.Of(err)
		}
	}
	return nil
}

// files returns the names of the figures' files.
func (f *figuresOf) files() []string {
	var names []string
	for _, one := range f.Figures {
		names = append(names, one.SVG, one.PNG)
	}
	return names
}

// checkFigures refuses a folder with files that a new index would replace and that are
// not of an older one. It returns the files of the older one.
func checkFigures(dir string, index *figuresOf) (old []string, err error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, usage("--figures %s: %w", dir, cause.Of(err))
	case !info.IsDir():
		return nil, usage("--figures %s: not a folder", dir)
	}
	var before figuresOf
	const mostIndex = 4 << 20
	if info, err := os.Lstat(filepath.Join(dir, figuresIndex)); err == nil && info.Mode().IsRegular() && info.Size() < mostIndex {
		if text, err := os.ReadFile(filepath.Join(dir, figuresIndex)); err == nil && json.Unmarshal(text, &before) == nil && before.WrittenBy == figuresWriter {
			for _, name := range before.files() {
				info, err := os.Lstat(filepath.Join(dir, name))
				if filepath.Base(name) == name && (err != nil || info.Mode().IsRegular()) && (strings.HasSuffix(name, ".svg") || strings.HasSuffix(name, ".png")) {
					old = append(old, name)
				}
			}
			old = append(old, figuresIndex)
		}
	}
	for _, name := range append(index.files(), figuresIndex) {
		if info, err := os.Lstat(filepath.Join(dir, name)); err == nil && !(slices.Contains(old, name) && info.Mode().IsRegular()) {
			return nil, usage("--figures %s: %s is there and is not of csiglab report --figures; name another folder, or remove it", dir, name)
		}
	}
	return old, nil
}
