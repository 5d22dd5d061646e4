// Package algorithmtest holds the part of the suites of package algorithm's
// tables that is the same for all: what an entry declares, and that wrong
// parameters are refused. Packages congestiontest, balancetest and aqmtest use
// it. Their messages say what is missing and where it goes, for whoever writes a new
// algorithm.
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
			if v == p.Default {
				continue
			}
			choice := algorithm.Values{p.Name: v}
			if p.With != nil {
				choice[p.With.Param] = p.With.Values[0]
			}
			all = append(all, choice)
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
			t.Errorf("%s is in the table twice: give one of the two another Spec.Name", name)
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

// Declared checks what a Spec says of an algorithm. It returns whether the algorithm can
// be built by what is declared.
func Declared(t *testing.T, s algorithm.Spec) (sound bool) {
	t.Helper()
	lacks, sound := s.Lacks()
	for _, lack := range lacks {
		t.Error(lack)
	}
	return sound
}

// Build calls build, and ends the test with words where it fails, returns nothing or
// panics, as a Reader does that is asked for what is not declared.
func Build[T any](t *testing.T, s algorithm.Spec, values algorithm.Values, build func() (T, error)) T {
	t.Helper()
	built, lack := algorithm.BuildLacks(s, values, build)
	if lack != "" {
		t.Fatal(lack)
	}
	return built
}

// Allocations checks that a step of the packet path allocates nothing. It counts many
// steps together, because some of them may be the kind that allocates.
func Allocations(t *testing.T, s algorithm.Spec, what string, step func()) {
	t.Helper()
	const steps = 1000
	if n := testing.AllocsPerRun(10, func() {
		for range steps {
			step()
		}
	}); n != 0 {
		t.Errorf("%s makes %v allocations per %d %ss, want 0: the path of a packet must not allocate; keep what is needed in the state", s.Name, n, steps, what)
	}
}

// Parameters checks that build, which builds it with values, refuses wrong ones with an error that
// names the algorithm and the parameter. Built reports whether it returned
// something.
func Parameters(t *testing.T, s algorithm.Spec, build func(algorithm.Values) (built bool, err error)) {
	t.Helper()
	for _, p := range s.Params {
		for _, text := range wrong[p.Kind] {
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
		t.Errorf("parameter %s of %s takes %q, which is none of its kind: New must build by algorithm.Build, which checks the values first", name, s.Name, text)
	case built:
		t.Errorf("parameter %s of %s: %q gives an error and a result; return one of them", name, s.Name, text)
	case !strings.Contains(err.Error(), name) || !strings.HasPrefix(err.Error(), s.Name):
		t.Errorf("parameter %s of %s: the error of %q, %q, does not name both; refuse a value by Fail of the reader, or by Param.Check", name, s.Name, text, err)
	}
}
