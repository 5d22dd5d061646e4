package regress

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/suites"
)

// FindSuite reads a suite: a file, or the name of one that is built in.
func FindSuite(nameOrPath string) (*Suite, error) {
	dir := ""
	data, ok := suites.Text(nameOrPath)
	if !ok || !slices.Contains(suites.Names(), nameOrPath) {
		info, err := os.Stat(nameOrPath)
		if err == nil && info.IsDir() {
			return nil, wrong("%s: a folder; name a file in it", nameOrPath)
		}
		if errors.Is(err, os.ErrNotExist) && slices.Contains(experiment.Names(), nameOrPath) {
			return nil, notSuite(nameOrPath)
		}
		if errors.Is(err, os.ErrNotExist) {
			return nil, wrong("%s: no such file, nor an embedded suite; embedded: %s%s", nameOrPath, strings.Join(suites.Names(), " "), spelling.Hint(spelling.Nearest(nameOrPath, suites.Names())))
		}
		if data, err = own.ReadFile(nameOrPath, MaxSuite); err != nil {
			return nil, wrong("%s: %w", nameOrPath, cause.Of(err))
		}
		if dir, err = filepath.Abs(filepath.Dir(nameOrPath)); err != nil {
			return nil, failure.Infrastructure(err)
		}
	}
	s, err := ReadSuite(nameOrPath, dir, data)
	if err != nil && ofExperiment.Match(data) {
		return nil, notSuite(nameOrPath)
	}
	if err != nil {
		return nil, failure.Configuration(err)
	}
	return s, nil
}

// ofExperiment matches keys that an experiment has at its top, and a suite never has.
var ofExperiment = regexp.MustCompile(`(?m)^(topology|workload|jobs)\s*:`)

// notSuite returns the error of an experiment in place of a suite.
func notSuite(name string) error {
	return wrong("%s is an experiment and not a suite: csiglab regress --experiment %[1]s --metric METRIC --delta 5%% compares it", name)
}
