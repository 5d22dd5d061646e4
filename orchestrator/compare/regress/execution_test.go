package regress

import (
	"strings"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/programs/builder"
)

// TestUnknownExecution: where the sources differ and what ran of them cannot be known, a note says so.
func TestUnknownExecution(t *testing.T) {
	was, is := []builder.Function{}, []builder.Function{{Package: "p", Name: "New"}}
	for _, c := range []struct {
		name          string
		before, after []builder.Function
		with          []string
		want          string
	}{
		{"in real time", was, is, nil, "experiment iperf3 runs in real time"},
		{"with modules", was, is, []string{"m"}, "modules were built in"},
		{"the same source", is, is, nil, ""},
		{"a program as it is", nil, is, nil, ""},
	} {
		s := &Session{Plan: &Plan{}}
		s.Plan.Candidate.With = c.with
		s.campaign.Baseline.functions, s.campaign.Candidate.functions = c.before, c.after
		s.campaign.cells = []*cell{{clock: runtimes.Wall, result: verdict.Experiment{Name: "iperf3"}}}
		var d verdict.Document
		if err := s.execution(t.Context(), &d, t.TempDir()); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(d.Notes, "\n"); (got == "") != (c.want == "") || !strings.Contains(got, c.want) || d.Execution != nil {
			t.Errorf("%s: notes %q, want %q", c.name, got, c.want)
		}
	}
}
