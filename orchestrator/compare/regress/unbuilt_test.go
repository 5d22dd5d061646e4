package regress

import (
	"strings"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/compare/trial"
)

// TestUnbuilt: where no run differs, the verdict says that a program which was not built for
// the campaign may lack the change. Where one differs, and between two built programs, it
// does not.
func TestUnbuilt(t *testing.T) {
	for _, c := range []struct {
		baseline, candidate string
		differ, want        bool
	}{
		{KindGit, KindSelf, false, true},
		{KindProgram, KindFolder, false, true},
		{KindGit, KindFolder, false, false},
		{KindGit, KindSelf, true, false},
	} {
		r := &noisy{after: func(t trial.Trial, out *trial.Outcome) error {
			out.TraceHash, out.Metrics = "same", map[string]float64{}
			for _, m := range fakeMetrics {
				out.Metrics[m] = 100
			}
			if c.differ && strings.HasSuffix(t.Identity, "candidate") {
				out.TraceHash = "another"
			}
			return nil
		}}
		campaign := fakeCampaign(t, fakeSuite, r)
		campaign.Baseline.Kind, campaign.Candidate.Kind, campaign.Candidate.Program = c.baseline, c.candidate, ""
		campaign.Candidate.Notes = []string{"of the caller"}
		notes := strings.Join(run(t, campaign).Notes, "\n")
		if strings.Contains(notes, "no run differs") != c.want || !strings.Contains(notes, "of the caller") {
			t.Errorf("%+v: %s", c, notes)
		}
	}
}
