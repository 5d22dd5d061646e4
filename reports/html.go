package reports

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"gonum.org/v1/plot/vg"

	"github.com/csiglab/csiglab/reports/analysis"
)

//go:embed report.html.tmpl
var pageText string

var pageTemplate = template.Must(template.New("report").Funcs(template.FuncMap{"swatch": swatch}).Parse(pageText))

// WriteHTML writes the report as one HTML file that needs no network and no
// script. The page follows the reader's choice of light or dark and prints light.
// A drawing in more is used for the chart of its ID, before the package's own.
func WriteHTML(w io.Writer, r *analysis.Result, more ...Drawing) error {
	type panel struct {
		Panel
		SVG template.HTML
	}
	type chart struct {
		Chart
		Columns int
		Drawn   []panel
	}
	v := struct {
		*page
		Drawn []chart
	}{page: newPage(r)}
	charts, err := drawCharts(r, more)
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	for _, c := range charts {
		drawn := chart{Chart: c, Columns: columns(c)}
		for _, p := range c.Panels {
			svg, err := drawPanel(p, drawn.Columns)
			if err != nil {
				return fmt.Errorf("write report: %w", err)
			}
			drawn.Drawn = append(drawn.Drawn, panel{p, svg})
		}
		v.Drawn = append(v.Drawn, drawn)
	}
	if err := pageTemplate.Execute(w, v); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// columns returns the number of panels in a row.
func columns(c Chart) int {
	switch n := len(c.Panels); {
	case n == 4:
		return 2
	case n > 3:
		return 3
	default:
		return n
	}
}

// swatch returns a legend's sample of a line or of a bar's part.
func swatch(k Key) template.HTML {
	if k.Bar {
		return template.HTML(fmt.Sprintf(`<svg class="swatch" viewBox="0 0 26 12" aria-hidden="true"><rect x="5" y="0" width="16" height="12" rx="2" fill="var(%s)"/></svg>`, partPaint(k.Style).variable()))
	}
	s := lineStyle(k.Style)
	return template.HTML(fmt.Sprintf(`<svg class="swatch" viewBox="0 0 26 12" aria-hidden="true"><line x1="0" y1="6" x2="26" y2="6" stroke="var(%s)" stroke-width="2.2" stroke-dasharray="%s"/></svg>`,
		s.Color.(paint).variable(), dashArray(s.Dashes)))
}

func dashArray(dashes []vg.Length) string {
	if len(dashes) == 0 {
		return "none"
	}
	parts := make([]string, len(dashes))
	for i, d := range dashes {
		parts[i] = fmt.Sprintf("%g", float64(d))
	}
	return strings.Join(parts, " ")
}
