package sweep

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/internal/wildcard"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/expression"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
)

// wanted are the patterns of metrics that no run is known to have yet. It may be used from
// several goroutines.
type wanted struct {
	mu   sync.Mutex
	left []string
	near map[string]string // a metric whose name is like the pattern
}

func newWanted(patterns []string) *wanted {
	return &wanted{left: slices.Clone(patterns), near: map[string]string{}}
}

// look takes out the patterns that match a metric which runs of an experiment can have.
func (w *wanted) look(set *experiment.Set) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.left) == 0 {
		return nil
	}
	variants, err := measure.NamesOfSet(set)
	if err != nil {
		return err
	}
	var derived []string
	for _, m := range set.Base.Derived {
		derived = append(derived, m.Name)
	}
	w.left = slices.DeleteFunc(w.left, func(pattern string) bool {
		return slices.ContainsFunc(derived, func(name string) bool { return wildcard.Match(pattern, name) }) ||
			slices.ContainsFunc(variants, func(names expression.Names) bool { return matches(names, pattern) })
	})
	for _, pattern := range w.left {
		w.near[pattern] = spelling.Nearest(pattern, derived)
		for _, names := range variants {
			if w.near[pattern] == "" {
				w.near[pattern] = names.Nearest(pattern)
			}
		}
	}
	return nil
}

// matches reports whether a pattern matches one of some names.
func matches(names expression.Names, pattern string) bool {
	if !wildcard.In(pattern) {
		return names.Has(pattern)
	}
	for range names.Match(pattern) {
		return true
	}
	return false
}

// missing returns the error of the first pattern that is left, nil if there is none.
func (w *wanted) missing() error {
	if len(w.left) == 0 {
		return nil
	}
	return noMetric(w.left[0], w.near[w.left[0]])
}

// noMetric is the error of a pattern. near is a metric whose name is like it; "": none.
func noMetric(pattern, near string) error {
	if strings.Contains(pattern, ",") {
		return fmt.Errorf("--metric: no run has a metric %q; give --metric once for each pattern", pattern)
	}
	return fmt.Errorf("--metric: no run has a metric %q%s", pattern, spelling.Hint(near))
}
