package perform

import (
	"fmt"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/run/campaign"
)

// Of very many notes the first are printed, and where the others are; a run without a folder has
// no other place for them.
func TestFirstNotes(t *testing.T) {
	var notes []string
	for i := range 200 {
		notes = append(notes, fmt.Sprint("note ", i))
	}
	for _, c := range []struct {
		notes  int
		folder string
		want   int
		last   string
	}{
		{3, "runs/x", 3, "note 2"},
		{31, "runs/x", 31, "note 30"},
		{200, "runs/x", 31, "170 more notes are in the report and in runs/x/log.jsonl"},
		{200, "", 200, "note 199"},
	} {
		got := firstNotes(&campaign.Result{Notes: notes[:c.notes], Folder: c.folder})
		if len(got) != c.want || got[len(got)-1] != c.last {
			t.Errorf("of %d notes %d are printed, the last %q; want %d and %q", c.notes, len(got), got[len(got)-1], c.want, c.last)
		}
	}
}
