package reports

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"gonum.org/v1/plot/vg"

	"github.com/csiglab/csiglab/reports/analysis"
)

// The page consists of templates: page.tmpl names the others in their order. Sections
// that belong together are one template in one file.
//
//go:embed page/*.tmpl
var pageParts embed.FS

//go:embed page/style.css
var baseStyle string

//go:embed page/pictures.css
var pictureStyle string

var pageStyle = baseStyle + pictureStyle

// The script is its files in the order of their names, in one function. Its names are
// seen by all files, and by nothing else.
//
//go:embed script/*.js
var scriptParts embed.FS

var (
	pageScript = sync.OnceValue(func() string { return joinScript(scriptParts) })

	pageTemplate = sync.OnceValue(func() *template.Template {
		return template.Must(template.New("page.tmpl").Funcs(template.FuncMap{
			"swatch": swatch,
			"inc":    func(i int) int { return i + 1 },
			"labelled": func(name string, t table) table {
				t.Label = name
				return t
			},
			"style":  func() template.CSS { return template.CSS(pageStyle) },
			"script": func() template.HTML { return template.HTML("<script>" + pageScript() + "</script>") },
			"policy": func() string { return contentPolicy(pageScript()) },
		}).ParseFS(pageParts, "page/*.tmpl"))
	})
)

func joinScript(parts embed.FS) string {
	var b strings.Builder
	b.WriteString("(() => {\n'use strict';\n")
	names, err := fs.Glob(parts, "script/*.js")
	for _, name := range names {
		text, readErr := parts.ReadFile(name)
		err = errors.Join(err, readErr)
		b.Write(text)
	}
	if err != nil {
		panic("reports: script: " + err.Error()) // it is embedded
	}
	b.WriteString("})();\n")
	return b.String()
}

// contentPolicy returns the page's content security policy: it loads nothing, and runs
// nothing but the script, which may be empty.
func contentPolicy(script string) string {
	source := ""
	if script != "" {
		sum := sha256.Sum256([]byte(script))
		source = " script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "';"
	}
	return "default-src 'none'; style-src 'unsafe-inline'; img-src data:;" + source + " base-uri 'none'; form-action 'none'"
}

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

// WriteHTML writes the report as one HTML file that needs no network. It is complete
// without script; with it the charts and tables answer to the reader. The page follows the reader's choice of light or dark and prints light.
// A drawing in more is used for the chart of its ID, before the package's own.
func WriteHTML(w io.Writer, r *analysis.Result, more ...Drawing) error {
	r = plain(r)
	v := struct {
		*page
		Fabric *fabric
		Times  *stepTimes  // of the first screen of runs with jobs
		Main   *drawnChart // of the first screen of others
		Drawn  []drawnChart
		// Signatures and Pictures are drawn below the first screen and below the charts.
		Signatures, Pictures []picture

		Data template.HTML // of all figures, for the script
	}{page: newPage(r), Fabric: newFabric(r)}
	var overTime *fabricMap
	if v.Fabric != nil {
		overTime = newFabricMap(r)
		v.Fabric.Map = overTime
	}
	charts, err := drawCharts(r, more)
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	main := mainChart(charts)
	figures := []figureData{}
	if v.Times = newStepTimes(r); v.Times != nil {
		main = -1
		figures = append(figures, v.Times.data)
	}
	for i, c := range charts {
		for k := range c.Panels {
			c.Panels[k].figure = fmt.Sprintf("%s-%d", c.ID, k)
			figures = append(figures, c.Panels[k].data())
		}
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
	v.Signatures, v.Pictures = allPictures(r)
	for _, p := range slices.Concat(v.Signatures, v.Pictures) {
		figures = append(figures, p.data...)
	}
	if v.Data, err = dataBlock(figures, overTime); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	if err := pageTemplate().Execute(w, v); err != nil {
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
	return template.HTML(fmt.Sprintf(`<svg class="swatch" viewBox="0 0 26 12" aria-hidden="true"><line x1="0" y1="6" x2="26" y2="6" stroke="var(%s)" stroke-width="2.2" style="stroke-dasharray:%s"/></svg>`,
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
