package page

import (
	"html/template"

	"github.com/csiglab/csiglab/reports/chart"
)

// drawing returns a chart's drawing at a width, as an svg element that names its figure.
func drawing(c chart.Chart, width float64, figure string) template.HTML {
	return template.HTML(c.Draw(width).SVG(figure))
}

// dataOf returns what the script knows of a chart, nil if that is nothing.
func dataOf(c chart.Chart, figure string) any {
	data := c.Data()
	if data == nil {
		return nil
	}
	all := map[string]any{"id": figure}
	for name, value := range *data {
		all[name] = value
	}
	return all
}

func keys(legend []chart.Key) (views []keyView) {
	for _, k := range legend {
		views = append(views, keyView{Swatch: template.HTML(k.Swatch), Name: k.Name})
	}
	return views
}
