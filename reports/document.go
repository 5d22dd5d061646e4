package reports

import (
	"io"
	"slices"

	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/page"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/section/cluster"
	"github.com/csiglab/csiglab/reports/section/completion"
	"github.com/csiglab/csiglab/reports/section/fabric"
	"github.com/csiglab/csiglab/reports/section/jobs"
	"github.com/csiglab/csiglab/reports/section/rates"
	"github.com/csiglab/csiglab/reports/section/runs"
	"github.com/csiglab/csiglab/reports/words"
)

// Document returns the report as it is shown. Its texts are plain.
func (r *Report) Document() *page.Document {
	d := &page.Document{Title: r.Name, Story: r.Story()}
	if r.Description != "" {
		d.About = []string{r.Description}
	}
	d.Banner, d.Notes = runs.NewBanner(&r.Facts), runs.Notes(&r.Facts)
	for i := range r.Variants {
		d.Variants = append(d.Variants, r.Variants[i].Name)
	}
	if of, ok := Of[*fabric.Section](r); ok {
		if f := of.First(); f != nil {
			d.First = append(d.First, page.Picture{Figure: f, Marks: of.Badges(), Map: of.Map()})
		}
	}
	main := r.mainFigure()
	if main != nil {
		d.First = append(d.First, page.Picture{Figure: main})
	}
	if texts := r.Findings(); len(texts) > 0 {
		d.Parts = append(d.Parts, section.Part{ID: "findings", Title: "Findings", Says: "What limits the flows, who suffers and what variants change, in words and with reasons.", Blocks: []section.Block{section.List(texts)}})
	}
	for _, s := range r.sections {
		for _, p := range s.Parts() {
			p.Blocks = slices.DeleteFunc(slices.Clone(p.Blocks), func(b section.Block) bool {
				f, ok := b.(*chart.Figure)
				return ok && main != nil && f.ID == main.ID // it is on the first screen
			})
			d.Parts = append(d.Parts, p)
		}
	}
	return words.Plain(d)
}

// mainFigure returns the chart of the first screen: of runs with jobs how long their steps
// take, or else the distribution of completion times where there are many flows, or the rate
// of the slowest flow; nil without.
func (r *Report) mainFigure() *chart.Figure {
	if of, ok := Of[*jobs.Section](r); ok {
		var leading []string
		if shared, ok := Of[*cluster.Section](r); ok {
			leading = shared.Leading()
		}
		if f := of.First(leading...); f != nil {
			return f
		}
	}
	if of, ok := Of[*completion.Section](r); ok {
		if f := of.First(); f != nil {
			return f
		}
	}
	if of, ok := Of[*rates.Section](r); ok {
		return of.First()
	}
	return nil
}

// WriteHTML writes the report as one HTML file that needs no network and is complete without
// script.
func (r *Report) WriteHTML(w io.Writer) error { return r.Document().WriteHTML(w) }

// WriteMarkdown writes the report without pictures.
func (r *Report) WriteMarkdown(w io.Writer) error { return r.Document().WriteMarkdown(w) }

// Figures returns the figures of the report in the order of the page. Their IDs are fit for
// names of files, each once.
func (r *Report) Figures() []*chart.Figure { return r.Document().Figures() }
