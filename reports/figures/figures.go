// Package figures writes the figures of a report into a folder, as pictures and numbers, with an
// index of them. The folder gets all files or none, and no file of another origin is replaced.
package figures

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
	"github.com/csiglab/csiglab/reports/chart"
)

// IndexFile is the file that lists the figures of a folder.
const IndexFile = "index.json"

// Index is what that file says.
type Index struct {
	WrittenBy string `json:"writtenBy"` // writer, which marks the folder's files as csiglab's
	Run       string `json:"run"`
	Colours   string `json:"colours"` // light, dark or print
	Size      string `json:"size"`    // page, one, two or slide
	Figures   []File `json:"figures"` // by name
}

// File is one figure and its files. Those of formats that were not asked for are "".
type File struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Caption string `json:"caption"`
	SVG     string `json:"svg,omitempty"`
	PNG     string `json:"png,omitempty"`
	PDF     string `json:"pdf,omitempty"`
	PGF     string `json:"pgf,omitempty"`
	CSV     string `json:"csv,omitempty"` // the numbers
}

// files returns the places of the names of files, by format.
func (f *File) files() map[chart.Format]*string {
	return map[chart.Format]*string{chart.SVG: &f.SVG, chart.PNG: &f.PNG, chart.PDF: &f.PDF, chart.PGF: &f.PGF, chart.CSV: &f.CSV}
}

const writer = "csiglab report --figures"

// FolderError says why a folder cannot take the figures.
type FolderError struct{ err error }

func (e *FolderError) Error() string { return e.err.Error() }
func (e *FolderError) Unwrap() error { return e.err }

// Options say where figures go, and how they look.
type Options struct {
	Dir     string
	Formats []chart.Format // CSV among them
	Layout  chart.Layout
	Colours string // the name of Layout.Palette, for the index
	Size    string // that of Layout.Size
}

// First returns the first of a figure's files that is a picture, or else the numbers.
func (f *File) First() string { return cmp.Or(f.SVG, f.PDF, f.PGF, f.PNG, f.CSV) }

// Write writes the figures of a run or a sweep of a name. It ends after the figure at hand when ctx
// does. The error is ctx's, a *FolderError, or one of writing.
func Write(ctx context.Context, name string, figures []*chart.Figure, o Options) (_ *Index, err error) {
	slices.SortFunc(figures, func(a, b *chart.Figure) int { return strings.Compare(a.ID, b.ID) })
	index := &Index{WrittenBy: writer, Run: name, Colours: o.Colours, Size: o.Size, Figures: []File{}}
	for _, f := range figures {
		one := File{Name: f.ID, Title: f.Title, Caption: f.Caption}
		for _, format := range o.Formats {
			*one.files()[format] = f.ID + "." + string(format)
		}
		index.Figures = append(index.Figures, one)
	}
	old, err := check(o.Dir, index)
	if err != nil {
		return nil, &FolderError{err}
	}
	texts := map[string][]byte{}
	for i, f := range figures {
		for _, format := range o.Formats {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			var text bytes.Buffer
			if err := f.Write(&text, format, o.Layout); err != nil {
				return nil, err
			}
			texts[*index.Figures[i].files()[format]] = text.Bytes()
		}
	}
	text, err := json.MarshalIndent(index, "", "  ")
	if err != nil {
		return nil, err
	}
	texts[IndexFile] = append(text, '\n')
	made := missing(o.Dir)
	defer func() {
		for _, name := range made {
			if err != nil {
				os.Remove(name) // if it is empty
			}
		}
	}()
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, &FolderError{cause.Of(err)}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := place(o.Dir, texts, old); err != nil {
		return nil, cause.Of(err)
	}
	return index, nil
}

// missing returns dir and the folders above it that are not there, the lowest first.
func missing(dir string) (all []string) {
	for dir = filepath.Clean(dir); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			return all
		}
		all = append(all, dir)
	}
}

// place writes the index and the files that it lists into dir, and removes the other
// old ones. After an error, dir is as it was. At each moment an index in dir lists all figures
// there, so that also after a kill they can be written again.
func place(dir string, texts map[string][]byte, old []string) (err error) {
	files := append([]string{IndexFile}, slices.DeleteFunc(slices.Sorted(maps.Keys(texts)), func(name string) bool { return name == IndexFile })...)
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

// files returns the names of the figures' files.
func (f *Index) files() (names []string) {
	for i := range f.Figures {
		for _, name := range f.Figures[i].files() {
			if *name != "" {
				names = append(names, *name)
			}
		}
	}
	return names
}

// check refuses a folder with files that a new index would replace and that are
// not of an older one. It returns the files of the older one.
func check(dir string, index *Index) (old []string, err error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, cause.Of(err)
	case !info.IsDir():
		return nil, errors.New("not a folder")
	}
	var before Index
	const mostIndex = 4 << 20
	if info, err := os.Lstat(filepath.Join(dir, IndexFile)); err == nil && info.Mode().IsRegular() && info.Size() < mostIndex {
		if text, err := os.ReadFile(filepath.Join(dir, IndexFile)); err == nil && json.Unmarshal(text, &before) == nil && before.WrittenBy == writer {
			for _, name := range before.files() {
				info, err := os.Lstat(filepath.Join(dir, name))
				if filepath.Base(name) == name && (err != nil || info.Mode().IsRegular()) && isFigure(name) {
					old = append(old, name)
				}
			}
			old = append(old, IndexFile)
		}
	}
	for _, name := range append(index.files(), IndexFile) {
		if info, err := os.Lstat(filepath.Join(dir, name)); err == nil && !(slices.Contains(old, name) && info.Mode().IsRegular()) {
			return nil, fmt.Errorf("%s is there and is not of csiglab report --figures; name another folder, or remove it", name)
		}
	}
	return old, nil
}

// isFigure reports whether a file has the name of a figure's.
func isFigure(name string) bool {
	return slices.Contains(chart.Formats, chart.Format(strings.TrimPrefix(filepath.Ext(name), ".")))
}
