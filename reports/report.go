// Package reports makes the report of a run folder: it reads the folder for a list of sections
// and renders what they show, as one offline HTML file, as Markdown, as JSON and as figures.
// A section is a folder below reports/section; the list is all that names it here.
package reports

import (
	"fmt"

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
	"github.com/csiglab/csiglab/reports/section/nics"
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

// sections is the page: its sections in order, and which of them are a section.Teller.
var sections = []struct {
	build section.New
	tells bool
}{
	{variants.New, true}, {cluster.New, true}, {fairness.New, true}, {rates.New, false}, {jobs.New, true}, {blame.New, true},
	{signature.New, false}, {sharing.New, false}, {collectives.New, false}, {completion.New, true}, {queues.New, false},
	{utilisation.New, false}, {nics.New, false}, {heatmap.New, false}, {shift.New, false}, {named.New, false}, {truth.New, false}, {control.New, false},
	{detection.New, true}, {faults.New, true}, {programs.New, false}, {fabric.New, false}, {metrics.New, false}, {runs.New, true},
}

// Report is a run folder, read for all sections.
type Report struct {
	*reading.Reading
	sections []section.Section
}

// Read reads a run folder, whose metrics have the units of a meaning, for the sections of this
// package and for more. Errors wrap runfolder.ErrDamaged when a table cannot be read.
func Read(f *runfolder.Folder, of meaning.Of, more ...section.New) (*Report, error) {
	var all []section.New
	for _, s := range sections {
		all = append(all, s.build)
	}
	return read(f, of, append(all, more...))
}

// ReadStory is as Read for a report of which only the facts and the story are wanted: it has no
// other sections than those that tell it, and reads no other tables.
func ReadStory(f *runfolder.Folder, of meaning.Of) (*Report, error) {
	var tellers []section.New
	for _, s := range sections {
		if s.tells {
			tellers = append(tellers, s.build)
		}
	}
	return read(f, of, tellers)
}

func read(f *runfolder.Folder, of meaning.Of, sections []section.New) (r *Report, err error) {
	r = &Report{}
	if r.Reading, err = reading.Open(f, of); err == nil {
		err = r.read(sections)
	}
	if err != nil {
		return nil, fmt.Errorf("read run: %w", err)
	}
	return r, nil
}

func (r *Report) read(sections []section.New) error {
	var readers []reading.Reader
	for _, build := range sections {
		s := build(r.Reading)
		r.sections, readers = append(r.sections, s), append(readers, s)
	}
	if err := r.Survey(readers...); err != nil {
		return err
	}
	if err := r.Finish(readers...); err != nil {
		return err
	}
	for _, s := range r.sections {
		if err := s.Settle(); err != nil {
			return err
		}
	}
	return nil
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
