package reports

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
	"github.com/csiglab/csiglab/reports/section"
)

// ReadStory has the story of Read, and a section is marked as it is.
func TestReadStory(t *testing.T) {
	f := readingtest.ThreeFlow().Folder(t, nil)
	whole, err := Read(f, measure.Meaning)
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	f.OnRows = func(more int) { rows += more }
	short, err := ReadStory(f, measure.Meaning)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(short.Story(), whole.Story()); diff != "" || len(whole.Story()) < 2 {
		t.Errorf("story %q, want that of the whole report %s", short.Story(), diff)
	}
	if all := reading.Rows(f); int64(rows) >= all {
		t.Errorf("the story read %d rows, as many as the whole report with its %d", rows, all)
	}
	for i, s := range whole.sections {
		if _, tells := s.(section.Teller); tells != sections[i].tells {
			t.Errorf("section %T: tells %t in the list, want %t", s, sections[i].tells, tells)
		}
	}
}
