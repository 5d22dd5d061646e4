package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/page"
	"github.com/csiglab/csiglab/reports/section"
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
		if f := of.First(); f != nil {
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
func (r *Report) Figures() (figures []*chart.Figure) {
	d := r.Document()
	seen := map[string]int{}
	add := func(f *chart.Figure) {
		own := *f
		if seen[f.ID]++; seen[f.ID] > 1 {
			own.ID = fmt.Sprintf("%s-%d", f.ID, seen[f.ID])
			seen[own.ID]++
		}
		figures = append(figures, &own)
	}
	for i := range d.First {
		f := d.First[i].Figure
		if marks := d.First[i].Marks; len(marks) > 0 {
			own := *f
			var texts []string
			for k, m := range marks {
				texts = append(texts, fmt.Sprintf("%d: %s, %s.", k+1, m.Name, m.Value))
			}
			own.Caption = strings.TrimSpace(own.Caption + " " + strings.Join(texts, " "))
			f = &own
		}
		add(f)
	}
	var blocks func([]section.Block)
	blocks = func(list []section.Block) {
		for _, b := range list {
			switch b := b.(type) {
			case *chart.Figure:
				if b != nil {
					add(b)
				}
			case section.Fold:
				blocks(b.Blocks)
			}
		}
	}
	for i := range d.Parts {
		blocks(d.Parts[i].Blocks)
	}
	return figures
}
