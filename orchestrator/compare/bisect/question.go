package bisect

import (
	"errors"

	"github.com/csiglab/csiglab/metrics/meaning"
	"github.com/csiglab/csiglab/orchestrator/compare/regress"
	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
)

// question checks the experiment and the metric, and returns what is asked of each candidate.
func (s *Session) question() (Question, error) {
	p := s.Plan
	q := Question{Metric: p.Metric, Seeds: p.Seeds}
	if p.Seeds < 1 || p.Seeds > 1000 {
		return q, wrong("--seeds %d: want 1 to 1000", p.Seeds)
	}
	rule := regress.Rule{Metric: p.Metric, Delta: 1, Of: "median", Better: verdict.Lower}
	var given []error
	var err error
	if p.Delta != "" {
		if q.Delta, q.Absolute, err = regress.ParseDeltaOf(p.Metric, p.Delta); err != nil {
			return q, wrong("--delta: %w", err)
		}
	}
	switch better := measure.Meaning(p.Metric).Better; {
	case p.Better != "":
		if rule.Better, err = regress.ParseBetter(p.Better); err != nil {
			return q, wrong("--better: %w", err)
		}
		if rule.Better == verdict.Same {
			return q, wrong("--better same: a search needs lower or higher; without --better it looks for what the bad end has and the good one has not")
		}
		q.Better = map[verdict.Better]Direction{verdict.Lower: Lower, verdict.Higher: Higher}[rule.Better]
	case better != meaning.Neutral:
		q.Better = map[meaning.Better]Direction{meaning.Lower: Lower, meaning.Higher: Higher}[better]
	}
	for _, text := range p.Set {
		_, err := experiment.ParseSet("--set", text)
		given = append(given, err)
	}
	if err := errors.Join(given...); err != nil {
		return q, failure.Configuration(err)
	}
	var variants []string
	if p.Variant != "" {
		variants = []string{p.Variant}
	}
	rule.Delta = 0.01 // any: this campaign is not run
	s.texts = regress.Campaign{
		Suite: regress.One(p.Experiment, variants, p.Set, regress.DefaultSeeds, []regress.Rule{rule}), Folder: s.Folder,
		Baseline: regress.Side{Side: verdict.Side{Kind: regress.KindSelf}}, Candidate: regress.Side{Side: verdict.Side{Kind: regress.KindSelf}},
	}
	if p.Parameter != "" {
		s.texts.Baseline.Set, s.texts.Candidate.Set = s.override(p.Good), s.override(p.Bad)
	}
	if err := s.texts.Prepare(); err != nil {
		return q, err
	}
	single, err := s.texts.Single()
	if err != nil {
		return q, err
	}
	q.Trial, q.Repeating = single.Trial, single.Deterministic
	return q, nil
}

func (s *Session) override(value string) []string { return []string{s.Plan.Parameter + "=" + value} }
