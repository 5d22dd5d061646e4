// Package chart is a stand-in for the package of this name that another branch makes.
package chart

import (
	"encoding/json"
	"strings"
)

// Figure is a figure of one or more panels.
type Figure struct {
	ID, Title, Caption string
	Legend             []Key
	Columns            int
	Panels             []Panel
}

// Key is an entry of a legend.
type Key struct {
	Name   string
	Swatch string // SVG
}

// Panel is one drawing of a figure.
type Panel struct {
	Title, Subtitle, Variant string
	Chart                    Chart
}

// Chart draws itself, and has data.
type Chart interface {
	Draw(width float64) *Drawing
	Data() *Data
}

// Drawing is a drawing.
type Drawing struct{ Text string }

// SVG returns the drawing as an svg element that names its figure.
func (d *Drawing) SVG(figure string) string {
	return strings.Replace(d.Text, `data-figure=""`, `data-figure="`+figure+`"`, 1)
}

// Data is what the page's script knows of a chart: figureData of package reports.
type Data map[string]json.RawMessage
