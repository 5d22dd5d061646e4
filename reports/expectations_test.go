package reports

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/analysis/analysistest"
)

// A failed expectation stands at the top with both sides in full, and in the table with
// what it is made of.
func TestFailedExpectations(t *testing.T) {
	fair, least := 0.8, 2.5
	seed := uint64(2)
	failed := runfolder.Expectation{Expr: `csig["fct_us.p99"] < baseline["fct_us.p99"]`, Text: `csig["fct_us.p99"] = 1244.31 < baseline["fct_us.p99"] = 1190.02`, Value: 1244.31,
		Operands: []runfolder.Operand{{Expr: `csig["fct_us.p99"]`, Value: &fair}, {Expr: "fair", Value: &fair, Seed: &seed}, {Expr: `"rate_gbps.*"`, Count: 3}}}
	absent := runfolder.Expectation{Expr: "csig.x < 1", Text: "csig.x (absent) < 1", Reason: "csig has no x in seed 3", Operands: []runfolder.Operand{{Expr: "csig.x"}}}
	holds := runfolder.Expectation{Expr: "a > 2", Text: "a = 2.5 > 2", OK: true, Value: least, Operands: []runfolder.Operand{{Expr: "b", Value: &least}}, Notes: []string{"c is left out"}}
	r := build(t, analysistest.ThreeFlow().Folder(t, func(_ *runfolder.Manifest, s *runfolder.Summary) {
		s.Expectations = []runfolder.Expectation{failed, absent, holds}
	}))
	want := [][]string{
		{`csig["fct_us.p99"] = 1244.31 < baseline["fct_us.p99"] = 1190.02`, `✗ failed: with fair = 0.8 in seed 2, 3 values of "rate_gbps.*"`},
		{"csig.x (absent) < 1", "✗ failed: csig has no x in seed 3"},
		{"a = 2.5 > 2", "✓ holds: note: c is left out"},
	}
	if d := cmp.Diff(texts(&r.Expectations), want); d != "" {
		t.Errorf("expectations (-got +want):\n%s", d)
	}
	if d := cmp.Diff(r.Verdict.Reasons, []string{`✗ csig["fct_us.p99"] = 1244.31 < baseline["fct_us.p99"] = 1190.02`, "✗ csig.x (absent) < 1: csig has no x in seed 3"}); d != "" {
		t.Errorf("reasons (-got +want):\n%s", d)
	}
	r = build(t, analysistest.ThreeFlow().Folder(t, func(_ *runfolder.Manifest, s *runfolder.Summary) {
		s.Expectations = []runfolder.Expectation{absent, absent, absent, absent}
	}))
	if got := r.Verdict.Reasons; len(got) != 4 || got[3] != "and 1 more" {
		t.Errorf("reasons %q", got)
	}
}
