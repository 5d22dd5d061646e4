// Package reports makes the report of a run folder: it reads the folder for a list of sections
// and renders what they show, as one offline HTML file, as Markdown, as JSON and as figures.
// A section is a folder below reports/section; the list is all that names it here.
package reports

import (
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/metrics/meaning"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/section/blame"
	"github.com/csiglab/csiglab/reports/section/cluster"
	"github.com/csiglab/csiglab/reports/section/collectives"
	"github.com/csiglab/csiglab/reports/section/completion"
	"github.com/csiglab/csiglab/reports/section/control"
	"github.com/csiglab/csiglab/reports/section/detection"
	"github.com/csiglab/csiglab/reports/section/fabric"
	"github.com/csiglab/csiglab/reports/section/fairness"
	"github.com/csiglab/csiglab/reports/section/faults"
	"github.com/csiglab/csiglab/reports/section/heatmap"
	"github.com/csiglab/csiglab/reports/section/jobs"
	"github.com/csiglab/csiglab/reports/section/metrics"
	"github.com/csiglab/csiglab/reports/section/named"
	"github.com/csiglab/csiglab/reports/section/programs"
	"github.com/csiglab/csiglab/reports/section/queues"
	"github.com/csiglab/csiglab/reports/section/rates"
	"github.com/csiglab/csiglab/reports/section/runs"
	"github.com/csiglab/csiglab/reports/section/sharing"
	"github.com/csiglab/csiglab/reports/section/shift"
	"github.com/csiglab/csiglab/reports/section/signature"
	"github.com/csiglab/csiglab/reports/section/truth"
	"github.com/csiglab/csiglab/reports/section/utilisation"
	"github.com/csiglab/csiglab/reports/section/variants"
)

// sections is the page: its sections in order.
var sections = []section.New{
	variants.New, cluster.New, fairness.New, rates.New, jobs.New, blame.New, signature.New, sharing.New, collectives.New,
	completion.New, queues.New, utilisation.New, heatmap.New, shift.New, named.New, truth.New, control.New,
	detection.New, faults.New, programs.New, fabric.New, metrics.New, runs.New,
}

// Report is a run folder, read for all sections.
type Report struct {
	*reading.Reading
	sections []section.Section
}

// Read reads a run folder, whose metrics have the units of a meaning, for the sections of this
// package and for more. Errors wrap runfolder.ErrDamaged when a table cannot be read.
func Read(f *runfolder.Folder, of meaning.Of, more ...section.New) (*Report, error) {
	r, err := read(f, of, more)
	if err != nil {
		return nil, fmt.Errorf("read run: %w", err)
	}
	return r, nil
}

func read(f *runfolder.Folder, of meaning.Of, more []section.New) (*Report, error) {
	folder, err := reading.Open(f, of)
	if err != nil {
		return nil, err
	}
	r := &Report{Reading: folder}
	var readers []reading.Reader
	for _, build := range slices.Concat(sections, more) {
		s := build(folder)
		r.sections, readers = append(r.sections, s), append(readers, s)
	}
	if err := folder.Survey(readers...); err != nil {
		return nil, err
	}
	if err := folder.Finish(readers...); err != nil {
		return nil, err
	}
	for _, s := range r.sections {
		if err := s.Settle(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Of returns the section of a type, such as *fabric.Section. It reports whether the report has it.
func Of[S section.Section](r *Report) (found S, ok bool) {
	for _, s := range r.sections {
		if found, ok = s.(S); ok {
			return found, true
		}
	}
	return found, false
}

// Findings returns sentences that say what limits the flows, who suffers and what variants
// change.
func (r *Report) Findings() (all []string) {
	for _, s := range r.sections {
		if f, ok := s.(section.Finder); ok {
			all = append(all, f.Findings()...)
		}
	}
	return all
}

// Story returns the sentences of the first screen.
func (r *Report) Story() []string {
	var story section.Story
	for _, s := range r.sections {
		if t, ok := s.(section.Teller); ok {
			t.Tell(&story)
		}
	}
	return story.Sentences()
}
