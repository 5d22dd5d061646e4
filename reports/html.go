package reports

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"github.com/csiglab/csiglab/reports/analysis"
)

//go:embed report.html.tmpl
var pageText string

var pageTemplate = template.Must(template.New("report").Funcs(template.FuncMap{"swatch": swatch, "inc": func(i int) int { return i + 1 }}).Parse(pageText))

// Sizes of the drawings of the first screen, beside each other and, on a narrow
// window, below each other.
const (
	firstWidth, fabricHeight, mainHeight              = 600, 330, 390
	narrowWidth, narrowFabricHeight, narrowMainHeight = 390, 210, 216
)

// drawnPanel is a panel and its drawing.
type drawnPanel struct {
	Panel
	SVG    template.HTML
	Narrow template.HTML // the same for a narrow window; only of the main chart
}

// drawnChart is a chart and the drawings of its panels.
type drawnChart struct {
	Chart
	Columns int
	Drawn   []drawnPanel
}

// WriteHTML writes the report as one HTML file that needs no network and no
// script. The page follows the reader's choice of light or dark and prints light.
// A drawing in more is used for the chart of its ID, before the package's own.
func WriteHTML(w io.Writer, r *analysis.Result, more ...Drawing) error {
	v := struct {
		*page
		Fabric *fabric
		Main   *drawnChart // of the first screen
		Drawn  []drawnChart
	}{page: newPage(r), Fabric: newFabric(r)}
	charts, err := drawCharts(r, more)
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	main := mainChart(charts)
	for i, c := range charts {
		drawn, err := drawChart(c, i == main)
		if err != nil {
			return fmt.Errorf("write report: %w", err)
		}
		if i == main {
			v.Main = &drawn
		} else {
			v.Drawn = append(v.Drawn, drawn)
		}
	}
	if err := pageTemplate.Execute(w, v); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

func drawChart(c Chart, main bool) (drawnChart, error) {
	drawn := drawnChart{Chart: c, Columns: columns(c)}
	for _, p := range c.Panels {
		var d drawnPanel
		var err error
		if main {
			d.SVG, err = drawPanel(p, firstWidth, mainHeight)
			if err == nil {
				d.Narrow, err = drawPanel(p, narrowWidth, narrowMainHeight)
			}
		} else {
			d.SVG, err = drawPanel(p, width(drawn.Columns), lineHeight)
		}
		if err != nil {
			return drawn, err
		}
		d.Panel = p
		drawn.Drawn = append(drawn.Drawn, d)
	}
	return drawn, nil
}

// mainChart returns the index of the chart of the first screen: the distribution of
// completion times where there are many flows, or else the rate of the slowest flow,
// or else the first one of one panel. It is -1 when there is none.
func mainChart(charts []Chart) int {
	for _, id := range []string{"fct", "slowest"} {
		if i := slices.IndexFunc(charts, func(c Chart) bool { return c.ID == id }); i >= 0 {
			return i
		}
	}
	return slices.IndexFunc(charts, func(c Chart) bool { return len(c.Panels) == 1 })
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
