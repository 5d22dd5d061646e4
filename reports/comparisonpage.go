package reports

import (
	"fmt"
	"html/template"
	"io"
	"slices"

	"github.com/csiglab/csiglab/reports/analysis"
)

// maxOverlaid is how many cases of a comparison have charts on its page.
const maxOverlaid = 4

// drawnCase is a case of a comparison and its figures.
type drawnCase struct {
	comparedCase
	Sentence string
	Effects  []picture
	Drawn    []drawnChart
	Pictures []picture
	LeftOut  []string
}

// WriteComparisonHTML writes a comparison of two folders as one HTML file that needs no
// network. overlays has the figures of the cases, in their order; it may be shorter.
func WriteComparisonHTML(w io.Writer, c *analysis.FolderComparison, overlays []analysis.Overlay) error {
	c = plain(c)
	overlays = *plain(&overlays)
	p := newComparisonPage(c)
	v := struct {
		*comparisonPage
		FolderA, FolderB string
		Drawn            []drawnCase
		Rule             string
		Data             template.HTML // of all figures, for the script
	}{comparisonPage: p, FolderA: c.A.Folder, FolderB: c.B.Folder, Rule: comparisonRule(c)}
	figures := []figureData{}
	for i := range p.Cases {
		d := drawnCase{comparedCase: p.Cases[i], Sentence: capital(p.Cases[i].Text)}
		if effects, ok := effectsPicture(c, &c.Cases[i], d.ID); ok {
			d.Effects = []picture{effects}
		}
		switch {
		case i < min(len(overlays), maxOverlaid):
			more, err := d.overlay(&overlays[i])
			if err != nil {
				return fmt.Errorf("write comparison: %w", err)
			}
			figures = append(figures, more...)
		case i < len(overlays):
			d.LeftOut = []string{"the figures of this variant; name it to see them, as in csiglab compare A:VARIANT B:VARIANT"}
		}
		v.Drawn = append(v.Drawn, d)
	}
	var err error
	if v.Data, err = dataBlock(figures, nil); err == nil {
		err = pageTemplate().ExecuteTemplate(w, "comparison.tmpl", v)
	}
	if err != nil {
		return fmt.Errorf("write comparison: %w", err)
	}
	return nil
}

// overlay draws the figures of a case and returns their data for the script.
func (d *drawnCase) overlay(o *analysis.Overlay) (figures []figureData, err error) {
	d.LeftOut = o.LeftOut
	charts, err := drawCharts(o.Result, overlayDrawings(o))
	if err != nil {
		return nil, err
	}
	for _, c := range charts {
		c.ID = d.ID + "-" + c.ID // cases have the same charts
		for k := range c.Panels {
			c.Panels[k].figure = fmt.Sprintf("%s-%d", c.ID, k)
			figures = append(figures, c.Panels[k].data())
		}
		drawn, err := drawChart(c, false)
		if err != nil {
			return nil, err
		}
		d.Drawn = append(d.Drawn, drawn)
	}
	for _, p := range slices.Concat(signatureChanges(o, d.ID), heatmapChanges(o, d.ID)) {
		d.Pictures = append(d.Pictures, p)
		figures = append(figures, p.data...)
	}
	return figures, nil
}
