// Package algorithmtest holds the part of the suites of package algorithm's
// tables that is the same for all: what an entry declares, and that wrong
// parameters are refused. Packages congestiontest, balancetest and aqmtest use
// it.
package algorithmtest

import (
	"strings"
	"testing"

	"github.com/csiglab/csiglab/nodes/algorithm"
)

// Choices lists the values to try an algorithm with: none, every default by
// name, and, one at a time, every other value of its enumerated and boolean
// parameters.
func Choices(s algorithm.Spec) []algorithm.Values {
	all := []algorithm.Values{{}, {}}
	for _, p := range s.Params {
		all[1][p.Name] = p.Default
		values := p.Values
		if p.Kind == algorithm.Bool {
			values = []string{"true", "false"}
		}
		for _, v := range values {
			if v != p.Default {
				all = append(all, algorithm.Values{p.Name: v})
			}
		}
	}
	return all
}

// wrong has texts that no parameter of a kind takes.
var wrong = map[algorithm.Kind][]string{
	algorithm.Bool:     {"", "maybe", "2"},
	algorithm.Number:   {"", "many", "1 2", "NaN", "Inf", "-Inf", "0x"},
	algorithm.Int:      {"", "1.5", "x"},
	algorithm.Duration: {"", "10", "10 parsecs", "us", "-1us"},
	algorithm.Size:     {"", "10", "10 gallons", "B", "-1B"},
	algorithm.Rate:     {"", "10", "10 knots", "Gbps", "-1Gbps"},
	algorithm.Enum:     {"", "no such value"},
}

// Table checks that a table finds its entries by their names, and nothing else.
func Table[T algorithm.Described](t *testing.T, table algorithm.Table[T]) {
	t.Helper()
	seen := map[string]bool{}
	for _, name := range table.Names() {
		if seen[name] {
			t.Errorf("%s is in the table twice", name)
		}
		seen[name] = true
		if found, ok := table.Lookup(name); !ok || found.Describe().Name != name {
			t.Errorf("Lookup(%q) = %q, %v", name, found.Describe().Name, ok)
		}
	}
	if found, ok := table.Lookup("no such"); ok {
		t.Errorf("Lookup(no such) = %q, want nothing", found.Describe().Name)
	}
}

// Parameters checks that an algorithm documents itself and its parameters, and
// that build, which builds it with values, refuses wrong ones with an error that
// names the algorithm and the parameter. Built reports whether it returned
// something.
func Parameters(t *testing.T, s algorithm.Spec, build func(algorithm.Values) (built bool, err error)) {
	t.Helper()
	if s.Doc == "" {
		t.Errorf("%s has no doc", s.Name)
	}
	for _, p := range s.Params {
		if p.Doc == "" {
			t.Errorf("parameter %s has no doc", p.Name)
		}
		texts := wrong[p.Kind]
		if texts == nil {
			t.Errorf("parameter %s has the unknown kind %q", p.Name, p.Kind)
		}
		for _, text := range texts {
			refused(t, s, build, p.Name, text)
		}
	}
	refused(t, s, build, "no_such_parameter", "1")
}

func refused(t *testing.T, s algorithm.Spec, build func(algorithm.Values) (bool, error), name, text string) {
	t.Helper()
	built, err := build(algorithm.Values{name: text})
	switch {
	case err == nil:
		t.Errorf("%s: %q is accepted", name, text)
	case built:
		t.Errorf("%s: %q gives an error and a result", name, text)
	case !strings.Contains(err.Error(), name) || !strings.HasPrefix(err.Error(), s.Name):
		t.Errorf("%s: %q: error %q does not name algorithm and parameter", name, text, err)
	}
}
