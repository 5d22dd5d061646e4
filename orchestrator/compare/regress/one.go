package regress

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
)

// OneFlags is a suite of one experiment, as flags describe it.
type OneFlags struct {
	Experiment        string
	Variants, Set     []string
	Metrics           []string
	Delta, Of, Better string
}

// Suite checks the flags and returns the suite. The error wraps failure.ErrConfiguration.
func (s *OneFlags) Suite() (*Suite, error) {
	switch {
	case len(s.Metrics) == 0:
		return nil, wrong("--experiment %s: --metric is missing, such as --metric fct_us.p99", s.Experiment)
	case s.Delta == "":
		return nil, wrong("--experiment %s: --delta is missing: the smallest effect that matters, such as --delta 5%%", s.Experiment)
	}
	if err := ParseOf(s.Of); err != nil {
		return nil, wrong("--of: %w", err)
	}
	rule := Rule{Of: s.Of}
	var err error
	if s.Better != "" {
		if rule.Better, err = ParseBetter(s.Better); err != nil {
			return nil, wrong("--better: %w", err)
		}
	}
	if _, err := experiment.ParseSets("--set", s.Set); err != nil {
		return nil, failure.Configuration(err)
	}
	var rules []Rule
	for _, metric := range s.Metrics {
		if slices.ContainsFunc(rules, func(other Rule) bool { return other.Metric == metric }) {
			return nil, wrong("--metric %s is given twice", metric)
		}
		if rule.Delta, rule.Absolute, err = ParseDeltaOf(metric, s.Delta); err != nil {
			return nil, wrong("--delta: %w", err)
		}
		rule.Metric = metric
		rules = append(rules, rule)
	}
	path := s.Experiment
	if !slices.Contains(experiment.Names(), path) {
		if path, err = filepath.Abs(path); err != nil {
			return nil, failure.Infrastructure(err)
		}
	}
	dir := "" // of files that Set names
	if len(s.Set) > 0 {
		if dir, err = os.Getwd(); err != nil {
			return nil, failure.Infrastructure(err)
		}
	}
	one := One(path, s.Variants, s.Set, DefaultSeeds, rules)
	one.Entries[0].Dir = dir
	return one, nil
}
