// Package algorithmtest holds the part of the suites of package algorithm's
// tables that is the same for all: what an entry declares, and that wrong
// parameters are refused. Packages congestiontest, balancetest and aqmtest use
// it. Their messages say what is missing and where it goes, for whoever writes a new
// algorithm.
package algorithmtest

import (
	"maps"
	"regexp"
	"slices"
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

// Forms of names: of algorithms, and of parameters, which are keys of an experiment file
// beside the key name.
var (
	algorithmName = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
	parameterName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
)

// Declared checks what a Spec says of an algorithm. It returns whether the algorithm can
// be built by what is declared.
func Declared(t *testing.T, s algorithm.Spec) (sound bool) {
	t.Helper()
	sound = true
	if !algorithmName.MatchString(s.Name) {
		t.Errorf("Spec.Name is %q; experiment files name an algorithm by lower-case letters, digits and -, such as nscc", s.Name)
	}
	if s.Doc == "" {
		t.Errorf("%s has no doc: set Spec.Doc to one line, which csiglab list prints", s.Name)
	}
	seen := map[string]bool{}
	for _, p := range s.Params {
		if !parameterName.MatchString(p.Name) || p.Name == "name" || seen[p.Name] {
			t.Errorf("a parameter of %s is called %q; want a name of its own of lower-case letters, digits and _, and not name, which chooses the algorithm", s.Name, p.Name)
		}
		seen[p.Name] = true
		if p.Doc == "" {
			t.Errorf("parameter %s of %s has no doc: set Param.Doc to one line, which csiglab list prints", p.Name, s.Name)
		}
		sound = checkDefault(t, s, p) && sound
	}
	return sound
}

// checkDefault checks the kind of a parameter and its default.
func checkDefault(t *testing.T, s algorithm.Spec, p algorithm.Param) bool {
	t.Helper()
	if wrong[p.Kind] == nil {
		t.Errorf("parameter %s of %s has the unknown kind %q: set Param.Kind to one of %q", p.Name, s.Name, p.Kind, slices.Sorted(maps.Keys(wrong)))
		return false
	}
	if p.Kind == algorithm.Enum && len(p.Values) == 0 {
		t.Errorf("parameter %s of %s has no values: list them in Param.Values", p.Name, s.Name)
		return false
	}
	if p.Default == "" {
		t.Errorf("parameter %s of %s has no default: set Param.Default, because an experiment need not set the parameter", p.Name, s.Name)
		return false
	}
	kind := p
	kind.Default = ""
	if _, err := kind.Parse(p.Default); err != nil && p.Default != algorithm.Auto {
		t.Errorf("the default of parameter %s of %s, %q, is none of its kind and not the word %s: %v", p.Name, s.Name, p.Default, algorithm.Auto, err)
		return false
	}
	return true
}

// Build calls build, and ends the test with words where it fails, returns nothing or
// panics, as a Reader does that is asked for what is not declared.
func Build[T any](t *testing.T, s algorithm.Spec, values algorithm.Values, build func() (T, error)) T {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Fatalf("Build of %s panics with the parameters %v: %v; a parameter that Build reads is declared in Spec.Params, and read by the method of its Kind", s.Name, values, p)
		}
	}()
	built, err := build()
	switch {
	case err != nil:
		t.Fatalf("Build of %s refuses the parameters %v, of which each is a default or one of the declared values: %v", s.Name, values, err)
	case any(built) == nil:
		t.Fatalf("Build of %s returns nil: return what was built, or call Fail of the reader", s.Name)
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
