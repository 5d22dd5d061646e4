package experiments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/perform"
	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/compare"
	"github.com/csiglab/csiglab/reports/figures"
	"github.com/spf13/pflag"
)

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
	flags.StringVar(&f.dir, "figures", "", "write each figure of the report into `DIR` instead, with its numbers as CSV and an index, and remove older ones there")
	flags.StringSliceVar(&f.formats, "format", defaultFormats, "the `FORMATS` of --figures: svg, png, pdf, pgf")
	flags.StringVar(&f.size, "size", "page", "the `SIZE` of --figures: page, one or two columns of a paper (88 and 181 mm, without titles), or slide (16:9)")
	flags.StringVar(&f.colours, "colours", "", "the `COLOURS` of --figures: light, dark, or print, which a grey print tells apart; print for columns, else light")
	flags.Float64Var(&f.fontSize, "font-size", 0, "the size of letters of --figures in `POINTS`; 8 in columns, 9 to 12 on slides")
	flags.BoolVar(&f.titles, "titles", false, "write --figures in columns with their titles and captions, too")
	flags.BoolVar(&f.dark, "dark", false, "the same as --colours dark")
}

// figureOthers are the names of the flags that need --figures.
var figureOthers = []string{"format", "size", "colours", "font-size", "titles", "dark"}

// options returns what the flags say.
func (f *figureFlags) options() (o figures.Options, err error) {
	known := []string{"svg", "png", "pdf", "pgf", "csv"}
	for _, name := range f.formats {
		if !slices.Contains(known, name) {
			return o, command.Usage("--format %s: want some of %s", name, strings.Join(known, ", "))
		}
		if format := chart.Format(name); !slices.Contains(o.Formats, format) {
			o.Formats = append(o.Formats, format)
		}
	}
	if !slices.Contains(o.Formats, chart.CSV) {
		o.Formats = append(o.Formats, chart.CSV)
	}
	size, ok := figureSizes[f.size]
	if !ok {
		return o, command.Usage("--size %s: want page, one, two or slide", f.size)
	}
	if f.dark && f.colours != "" {
		return o, command.Usage("--dark and --colours exclude each other")
	}
	palette, ok := figureColours[f.palette()]
	if !ok {
		return o, command.Usage("--colours %s: want light, dark or print", f.colours)
	}
	if f.fontSize != 0 && !(f.fontSize >= 4 && f.fontSize <= 40) {
		return o, command.Usage("--font-size %v: want 4 to 40 points", f.fontSize)
	}
	o.Layout = chart.Layout{Size: size, FontSize: f.fontSize, Palette: palette, Titled: f.titles}
	o.Dir, o.Colours, o.Size = f.dir, f.palette(), f.size
	return o, nil
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

// writeFigures writes each figure of a report of a run or a sweep into a folder, with an index. The folder
// gets all files or none. A file of another origin is not replaced.
func writeFigures(ctx context.Context, a *command.App, folder string, flags *figureFlags) error {
	if _, err := flags.options(); err != nil {
		return err
	}
	var missing error
	drawn, err := command.Interruptible(ctx, func() (drawn, error) {
		if compare.IsSweep(folder) {
			s, err := readSweep(folder)
			if err != nil {
				return drawn{}, err
			}
			return drawn{s.Plan.Name, s.Figures()}, nil
		}
		report, err := perform.Analyse(folder, nil)
		if err != nil {
			return drawn{}, err
		}
		missing = lacking(folder, report)
		return drawn{report.Name, report.Figures()}, nil
	})
	if err != nil {
		return command.FolderError(err)
	}
	index, err := figuresInto(ctx, drawn, flags)
	if err != nil {
		return err
	}
	var names strings.Builder
	for i := range index.Figures {
		fmt.Fprintf(&names, "%s\n", filepath.Join(flags.dir, index.Figures[i].First()))
	}
	return cmp.Or(a.Print(names.String()), missing)
}

// drawn is a run or a sweep with its figures.
type drawn struct {
	name    string
	figures []*chart.Figure
}

// figuresInto writes figures. Its errors have exit codes.
func figuresInto(ctx context.Context, of drawn, flags *figureFlags) (*figures.Index, error) {
	o, err := flags.options()
	if err != nil {
		return nil, err
	}
	index, err := figures.Write(ctx, of.name, of.figures, o)
	var wrong *figures.FolderError
	switch {
	case err == nil:
		return index, nil
	case errors.Is(err, context.Canceled):
		return nil, command.Infrastructure(errors.New("interrupted"))
	case errors.As(err, &wrong):
		return nil, command.Usage("--figures %s: %w", flags.dir, err)
	}
	return nil, command.Infrastructure(fmt.Errorf("--figures %s: %w", flags.dir, err))
}
