package variants

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
)

// The legend says what a variant has that the first one has not.
func TestLegend(t *testing.T) {
	at := func(start float64, ranks ...int32) []runfolder.Job {
		return []runfolder.Job{{Name: "gpt", Ranks: ranks, StartUS: start}}
	}
	delay := &runfolder.Parameters{Flows: []runfolder.FlowClass{{CCParameters: map[string]string{"csig": "max-delay"}}}}
	m := &runfolder.Manifest{
		Jobs: at(0, 0, 1),
		Variants: []runfolder.Variant{
			{Name: "rails", CC: "nscc", LB: "reps", AQM: "red", CSIG: "none"},
			{Name: "both", CC: "nscc", LB: "csig-weighted", AQM: "red", CSIG: "wide", Parameters: delay, Jobs: at(0, 1, 0)},
			{Name: "alone", CC: "swift", LB: "reps", AQM: "none", CSIG: "compact", Jobs: at(50, 0, 1)},
		},
		Runs: []runfolder.Run{{Variant: "rails"}, {Variant: "both"}, {Variant: "alone", Faults: []runfolder.Fault{{What: "link a-b is down"}}}},
	}
	s := &Section{r: &reading.Reading{Manifest: m}}
	var got [][]string
	for _, row := range s.legend().Rows {
		var cells []string
		for _, c := range row.Cells {
			cells = append(cells, c.Text)
		}
		got = append(got, cells)
	}
	want := [][]string{
		{"rails", "nscc", "reps", "none", "–"},
		{"both", "nscc", "csig-weighted", "wide tags, max-delay in congestion control", "Ranks on other hosts than in rails"},
		{"alone", "swift", "reps", "compact tags", "Jobs start at other times than in rails; AQM none; other faults than rails"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("legend (-want +got):\n%s", diff)
	}
}
