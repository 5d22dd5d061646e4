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

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/perform"
	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/reports"
	"github.com/csiglab/csiglab/reports/chart"
	"github.com/spf13/pflag"
)

// figuresIndex is the file that lists the figures of a folder.
const figuresIndex = "index.json"

// figuresOf is what the index says.
type figuresOf struct {
	WrittenBy string       `json:"writtenBy"` // figuresWriter, which marks the folder's files as csiglab's
	Run       string       `json:"run"`
	Colours   string       `json:"colours"` // light, dark or print
	Size      string       `json:"size"`    // page, one, two or slide
	Figures   []figureFile `json:"figures"` // by name
}

// figureFile is one figure and its files. Those of formats that were not asked for are "".
type figureFile struct {
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
func (f *figureFile) files() map[chart.Format]*string {
	return map[chart.Format]*string{chart.SVG: &f.SVG, chart.PNG: &f.PNG, chart.PDF: &f.PDF, chart.PGF: &f.PGF, chart.CSV: &f.CSV}
}

const figuresWriter = "csiglab report --figures"

// figureFlags say which figures "report" writes, and how.
type figureFlags struct {
	dir      string
	formats  []string
	size     string
	colours  string
	fontSize float64
	titles   bool
	dark     bool
}

// pageFigures writes figures as the page has them into a folder.
func pageFigures(dir string) *figureFlags {
	return &figureFlags{dir: dir, formats: defaultFormats, size: "page"}
}

var defaultFormats = []string{"svg", "png"}

// Words of the flags, by their values.
var (
	figureSizes   = map[string]chart.Size{"page": chart.Page, "one": chart.OneColumn, "two": chart.TwoColumns, "slide": chart.Slide}
	figureColours = map[string]*chart.Palette{"light": chart.Light, "dark": chart.Dark, "print": chart.Print}
)

func (f *figureFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.dir, "figures", "", "write each figure of the report into `DIR` instead, with its numbers as CSV and an index")
	flags.StringSliceVar(&f.formats, "format", defaultFormats, "the `FORMATS` of --figures: svg, png, pdf, pgf")
	flags.StringVar(&f.size, "size", "page", "the `SIZE` of --figures: page, one or two columns of a paper (88 and 181 mm, without titles), or slide (16:9)")
	flags.StringVar(&f.colours, "colours", "", "the `COLOURS` of --figures: light, dark, or print, which a grey print tells apart; print for columns, else light")
	flags.Float64Var(&f.fontSize, "font-size", 0, "the size of letters of --figures in `POINTS`; 8 in columns, 12 on slides")
	flags.BoolVar(&f.titles, "titles", false, "write --figures in columns with their titles and captions, too")
	flags.BoolVar(&f.dark, "dark", false, "the same as --colours dark")
}

// figureOthers are the names of the flags that need --figures.
var figureOthers = []string{"format", "size", "colours", "font-size", "titles", "dark"}

// layout returns the formats and the layout that the flags say.
func (f *figureFlags) layout() (formats []chart.Format, o chart.Layout, err error) {
	known := []string{"svg", "png", "pdf", "pgf", "csv"}
	for _, name := range f.formats {
		if !slices.Contains(known, name) {
			return nil, o, command.Usage("--format %s: want some of %s", name, strings.Join(known, ", "))
		}
		if format := chart.Format(name); !slices.Contains(formats, format) {
			formats = append(formats, format)
		}
	}
	if !slices.Contains(formats, chart.CSV) {
		formats = append(formats, chart.CSV)
	}
	size, ok := figureSizes[f.size]
	if !ok {
		return nil, o, command.Usage("--size %s: want page, one, two or slide", f.size)
	}
	if f.dark && f.colours != "" {
		return nil, o, command.Usage("--dark and --colours exclude each other")
	}
	palette, ok := figureColours[f.palette()]
	if !ok {
		return nil, o, command.Usage("--colours %s: want light, dark or print", f.colours)
	}
	if f.fontSize != 0 && !(f.fontSize >= 4 && f.fontSize <= 40) {
		return nil, o, command.Usage("--font-size %v: want 4 to 40 points", f.fontSize)
	}
	return formats, chart.Layout{Size: size, FontSize: f.fontSize, Palette: palette, Titled: f.titles}, nil
}

// palette returns the name of the colours.
func (f *figureFlags) palette() string {
	switch {
	case f.dark:
		return "dark"
	case f.colours == "" && (f.size == "one" || f.size == "two"):
		return "print"
	}
	return cmp.Or(f.colours, "light")
}

// writeFigures writes each figure of a run's report into a folder, with an index. The folder
// gets all files or none. A file of another origin is not replaced.
func writeFigures(ctx context.Context, a *command.App, run string, flags *figureFlags) error {
	if _, _, err := flags.layout(); err != nil {
		return err
	}
	report, err := command.Interruptible(ctx, func() (*reports.Report, error) {
		report, err := perform.Analyse(run, nil)
		if err != nil {
			return nil, command.FolderError(err)
		}
		return report, nil
	})
	if err != nil {
		return err
	}
	index, err := figuresInto(ctx, report, flags)
	if err != nil {
		return err
	}
	var names strings.Builder
	for i := range index.Figures {
		fmt.Fprintf(&names, "%s\n", filepath.Join(flags.dir, index.Figures[i].first()))
	}
	return cmp.Or(a.Print(names.String()), lacking(run, report))
}

// first returns the first of a figure's files that is a picture, or else the numbers.
func (f *figureFile) first() string { return cmp.Or(f.SVG, f.PDF, f.PGF, f.PNG, f.CSV) }

// figuresInto writes the figures of a report. It ends after the figure at hand when ctx does.
// Its errors have exit codes.
func figuresInto(ctx context.Context, report *reports.Report, flags *figureFlags) (_ *figuresOf, err error) {
	formats, layout, err := flags.layout()
	if err != nil {
		return nil, err
	}
	dir, figures := flags.dir, report.Figures()
	slices.SortFunc(figures, func(a, b *chart.Figure) int { return strings.Compare(a.ID, b.ID) })
	index := &figuresOf{WrittenBy: figuresWriter, Run: report.Name, Colours: flags.palette(), Size: flags.size, Figures: []figureFile{}}
	for _, f := range figures {
		one := figureFile{Name: f.ID, Title: f.Title, Caption: f.Caption}
		for _, format := range formats {
			*one.files()[format] = f.ID + "." + string(format)
		}
		index.Figures = append(index.Figures, one)
	}
	old, err := checkFigures(dir, index)
	if err != nil {
		return nil, err
	}
	texts := map[string][]byte{}
	for i, f := range figures {
		for _, format := range formats {
			if err := ctx.Err(); err != nil {
				return nil, command.Infrastructure(errors.New("interrupted"))
			}
			var text bytes.Buffer
			if err := f.Write(&text, format, layout); err != nil {
				return nil, command.Infrastructure(fmt.Errorf("--figures %s: %w", dir, err))
			}
			texts[*index.Figures[i].files()[format]] = text.Bytes()
		}
	}
	text, err := json.MarshalIndent(index, "", "  ")
	if err != nil {
		return nil, command.Infrastructure(err)
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
		return nil, command.Usage("--figures %s: %w", dir, cause.Of(err))
	}
	if err := ctx.Err(); err != nil {
		return nil, command.Infrastructure(errors.New("interrupted"))
	}
	if err := placeFigures(dir, texts, old); err != nil {
		return nil, command.Infrastructure(fmt.Errorf("--figures %s: %w", dir, cause.Of(err)))
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

// files returns the names of the figures' files.
func (f *figuresOf) files() (names []string) {
	for i := range f.Figures {
		for _, name := range f.Figures[i].files() {
			if *name != "" {
				names = append(names, *name)
			}
		}
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
		return nil, command.Usage("--figures %s: %w", dir, cause.Of(err))
	case !info.IsDir():
		return nil, command.Usage("--figures %s: not a folder", dir)
	}
	var before figuresOf
	const mostIndex = 4 << 20
	if info, err := os.Lstat(filepath.Join(dir, figuresIndex)); err == nil && info.Mode().IsRegular() && info.Size() < mostIndex {
		if text, err := os.ReadFile(filepath.Join(dir, figuresIndex)); err == nil && json.Unmarshal(text, &before) == nil && before.WrittenBy == figuresWriter {
			for _, name := range before.files() {
				info, err := os.Lstat(filepath.Join(dir, name))
				if filepath.Base(name) == name && (err != nil || info.Mode().IsRegular()) && isFigure(name) {
					old = append(old, name)
				}
			}
			old = append(old, figuresIndex)
		}
	}
	for _, name := range append(index.files(), figuresIndex) {
		if info, err := os.Lstat(filepath.Join(dir, name)); err == nil && !(slices.Contains(old, name) && info.Mode().IsRegular()) {
			return nil, command.Usage("--figures %s: %s is there and is not of csiglab report --figures; name another folder, or remove it", dir, name)
		}
	}
	return old, nil
}

// isFigure reports whether a file has the name of a figure's.
func isFigure(name string) bool {
	return slices.Contains(chart.Formats, chart.Format(strings.TrimPrefix(filepath.Ext(name), ".")))
}
