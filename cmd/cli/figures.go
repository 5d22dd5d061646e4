package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/internal/own"
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
	return cmp.Or(a.print(names.String()), lacking(run, numbers))
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
	texts := map[string][]byte{}
	for i := range figures {
		if err := ctx.Err(); err != nil {
			return nil, infrastructure(errors.New("interrupted"))
		}
		if err := drawFigure(texts, &figures[i]); err != nil {
			return nil, infrastructure(fmt.Errorf("--figures %s: %w", dir, err))
		}
	}
	text, err := json.MarshalIndent(index, "", "  ")
	if err != nil {
		return nil, infrastructure(err)
	}
	texts[figuresIndex] = append(text, '\n')
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
	if err := ctx.Err(); err != nil {
		return nil, infrastructure(errors.New("interrupted"))
	}
	if err := placeFigures(dir, texts, old); err != nil {
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

// placeFigures writes the index and the files that it lists into dir, and removes the other
// old ones. After an error, dir is as it was. At each moment an index in dir lists all figures
// there, so that also after a kill they can be written again.
func placeFigures(dir string, texts map[string][]byte, old []string) (err error) {
	files := append([]string{figuresIndex}, slices.DeleteFunc(slices.Sorted(maps.Keys(texts)), func(name string) bool { return name == figuresIndex })...)
	parts := map[string]*own.Part{}
	defer func() {
		for _, part := range parts {
			part.Discard()
		}
	}()
	for _, name := range files { // a full disk is found here
		part, err := own.Create(filepath.Join(dir, name), 0o644)
		if err != nil {
			return err
		}
		parts[name] = part
		if _, err := part.Write(texts[name]); err != nil {
			return err
		}
	}
	saved := map[string][]byte{}
	for _, name := range old {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			saved[name] = text
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	var changed []string
	defer func() {
		if err == nil {
			return
		}
		for _, name := range slices.Backward(changed) {
			place := filepath.Join(dir, name)
			if text, is := saved[name]; is {
				err = errors.Join(err, own.WriteFile(place, text, 0o644))
			} else {
				err = errors.Join(err, os.Remove(place))
			}
		}
	}()
	for name := range saved {
		if slices.Contains(files, name) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			return err
		}
		changed = append(changed, name)
	}
	for _, name := range files {
		if err := parts[name].Commit(); err != nil {
			return err
		}
		changed = append(changed, name)
	}
	return nil
}

// drawFigure adds a figure's files to texts.
func drawFigure(texts map[string][]byte, f *reports.Figure) error {
	var text, picture bytes.Buffer
	if err := f.Drawing.WriteSVG(&text); err != nil {
		return err
	}
	if err := f.Drawing.WritePNG(&picture, figureScale); err != nil {
		return fmt.Errorf("figure %s: %w", f.Name, err)
	}
	texts[f.Name+".svg"], texts[f.Name+".png"] = text.Bytes(), picture.Bytes()
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
