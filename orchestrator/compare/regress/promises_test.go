package regress

import (
	"strings"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
)

// TestPromises: a candidate that alone breaks a promise of csiglab, under as many seeds as
// chance does not explain, fails. Retrying would be in vain. Everything else is invalid.
func TestPromises(t *testing.T) {
	every := func(uint64) bool { return true }
	lossless := []string{"lossless"}
	for _, test := range []struct {
		name                string
		baseline, candidate func(seed uint64) bool // breaks it
		failed              []string
		suite               string
		want                verdict.Outcome
		seeds               int
	}{
		{"the candidate alone", nil, every, lossless, fakeSuite, verdict.Fail, 16}, // 3 x 2^-8 is more than 0.02/4
		{"its crash", nil, every, []string{trial.Crash}, fakeSuite, verdict.Fail, 16},
		{"half of its seeds", nil, func(s uint64) bool { return s%2 == 0 }, lossless, fakeSuite, verdict.Fail, 32},
		{"one of its seeds", nil, func(s uint64) bool { return s == 2 }, lossless, fakeSuite, verdict.Invalid, 32},
		{"both sides", every, every, lossless, fakeSuite, verdict.Invalid, 8},
		{"the baseline alone", every, nil, lossless, fakeSuite, verdict.Invalid, 8},
		{"frames were lost too", nil, every, []string{"conservation", "frames"}, fakeSuite, verdict.Invalid, 8},
		{"no check is named", nil, every, nil, fakeSuite, verdict.Invalid, 8},
		{"under clock wall", nil, every, []string{"conservation"}, wallSuite, verdict.Invalid, 10},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &noisy{noise: 0.01, after: func(x trial.Trial, out *trial.Outcome) error {
				breaks := test.baseline
				if x.Identity == "candidate" {
					breaks = test.candidate
				}
				if breaks != nil && breaks(x.Seed) {
					*out = trial.Outcome{Exit: 3, Failed: test.failed, Reasons: []string{"tor0 dropped 3 packets"}}
				}
				return nil
			}}
			d := run(t, fakeCampaign(t, test.suite, r))
			e := d.Experiments[0]
			if d.Outcome != test.want || e.Outcome != test.want || len(e.Seeds) != test.seeds {
				t.Errorf("%s, want %s, after %d seeds, want %d: %+v", e.Outcome, test.want, len(e.Seeds), test.seeds, e)
			}
			if failed := test.want == verdict.Fail; failed && (len(e.Metrics) != 1 || e.Metrics[0].By != byChecks || len(e.Reasons) > 0 || e.Change != verdict.Worse || e.Differ == 0 ||
				!strings.Contains(e.Metrics[0].Reason, "("+test.failed[0]+") under") || !strings.Contains(e.Metrics[0].Reason, "tor0 dropped 3 packets")) {
				t.Errorf("%+v", e)
			}
		})
	}
}

// TestNoReasonToMove: a metric that has no reason to move fails in both directions, and its verdict
// asks for the reason. Of a metric with a direction the better one passes.
func TestNoReasonToMove(t *testing.T) {
	for _, test := range []struct {
		effect float64
		better string
		want   verdict.Outcome
	}{
		{-0.4, "same", verdict.Fail}, {0.4, "same", verdict.Fail}, {0, "same", verdict.Pass},
		{-0.4, "lower", verdict.Pass}, {0.4, "lower", verdict.Fail},
	} {
		text := strings.Replace(fakeSuite, "fct_us.mean: 5%", "fct_us.mean: {delta: 5%, better: "+test.better+"}", 1)
		d := run(t, fakeCampaign(t, text, &noisy{noise: 0.01, effects: map[string]float64{"fct_us.mean": test.effect}}))
		m := d.Experiments[0].Metrics[0]
		asks := strings.Contains(m.Reason, "no reason to move")
		if m.Outcome != test.want || d.Outcome != test.want || asks != (test.better == "same" && test.want == verdict.Fail) {
			t.Errorf("%v, %s: %s, want %s: %q", test.effect, test.better, m.Outcome, test.want, m.Reason)
		}
	}
}
