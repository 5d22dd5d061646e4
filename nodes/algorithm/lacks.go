package algorithm

import (
	"fmt"
	"slices"
	"strings"
)

// Kinds returns the kinds of parameter, sorted.
func Kinds() []Kind { return []Kind{Bool, Duration, Enum, Int, Number, Rate, Size} }

// Identifier reports whether a text has the form of the names that become keys of
// experiment files or parts of metrics: lower-case letters, digits and the joint (_ or -),
// a letter first.
func Identifier(text string, joint byte) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case c >= 'a' && c <= 'z':
		case i > 0 && (c >= '0' && c <= '9' || c == joint):
		default:
			return false
		}
	}
	return text != ""
}

// Lacks returns what the spec lacks, in sentences that say where it goes. sound reports
// whether the algorithm can be built by what is declared.
func (s Spec) Lacks() (lacks []string, sound bool) {
	sound = true
	lack := func(format string, args ...any) { lacks = append(lacks, fmt.Sprintf(format, args...)) }
	if !Identifier(s.Name, '-') {
		lack("Spec.Name is %q; experiment files name an algorithm by lower-case letters, digits and -, such as nscc", s.Name)
	}
	if s.Doc == "" {
		lack("%s has no doc: set Spec.Doc to one line, which csiglab list prints", s.Name)
	}
	seen := map[string]bool{}
	for _, p := range s.Params {
		if !Identifier(p.Name, '_') || p.Name == "name" || seen[p.Name] {
			lack("a parameter of %s is called %q; want a name of its own of lower-case letters, digits and _, and not name, which chooses the algorithm", s.Name, p.Name)
		}
		seen[p.Name] = true
		if p.Doc == "" {
			lack("parameter %s of %s has no doc: set Param.Doc to one line, which csiglab list prints", p.Name, s.Name)
		}
		if text := s.wrongDefault(p); text != "" {
			lacks, sound = append(lacks, text), false
		}
	}
	return lacks, sound
}

// BuilderLacks is Lacks of an algorithm whose Build returns what built says, such as "a
// policy"; has reports whether it has a Build. sound is false without one, too.
func (s Spec) BuilderLacks(has bool, built string) (lacks []string, sound bool) {
	lacks, sound = s.Lacks()
	if !has {
		return append(lacks, fmt.Sprintf("%s has no Build: set Algorithm.Build to a function that returns %s", s.Name, built)), false
	}
	return lacks, sound
}

// wrongDefault returns what is wrong with the kind of a parameter or with its default, ""
// if nothing is.
func (s Spec) wrongDefault(p Param) string {
	switch {
	case !slices.Contains(Kinds(), p.Kind):
		return fmt.Sprintf("parameter %s of %s has the unknown kind %q: set Param.Kind to one of %q", p.Name, s.Name, p.Kind, Kinds())
	case p.Kind == Enum && len(p.Values) == 0:
		return fmt.Sprintf("parameter %s of %s has no values: list them in Param.Values", p.Name, s.Name)
	case p.Default == "":
		return fmt.Sprintf("parameter %s of %s has no default: set Param.Default, because an experiment need not set the parameter", p.Name, s.Name)
	}
	kind := p
	kind.Default = ""
	if _, err := kind.Parse(p.Default); err != nil && p.Default != Auto {
		return fmt.Sprintf("the default of parameter %s of %s, %q, is none of its kind and not the word %s: %v", p.Name, s.Name, p.Default, Auto, err)
	}
	return ""
}

// BuildLacks calls build, which builds the algorithm with the values, and returns what
// was built, or what is wrong in a sentence: build fails, returns nothing or panics, as a
// Reader does that is asked for what is not declared.
func BuildLacks[T any](s Spec, values Values, build func() (T, error)) (built T, lack string) {
	defer func() {
		if p := recover(); p != nil {
			lack = fmt.Sprintf("Build of %s panics with the parameters %v: %v", s.Name, values, p)
			if text := fmt.Sprint(p); strings.HasPrefix(text, "algorithm: ") {
				lack += "; a parameter that Build reads is declared in Spec.Params, and read by the method of its Kind"
			}
		}
	}()
	built, err := build()
	switch {
	case err != nil:
		lack = fmt.Sprintf("Build of %s refuses the parameters %v, of which each is a default or one of the declared values: %v", s.Name, values, err)
	case any(built) == nil:
		lack = fmt.Sprintf("Build of %s returns nil: return what was built, or call Fail of the reader", s.Name)
	}
	return built, lack
}

// Taken returns a sentence if a table has an algorithm of this name that no module has
// registered.
func Taken[T Described](t Table[T], name string) []string {
	if e, ok := t.Lookup(name); ok && e.Describe().Module == "" {
		return []string{fmt.Sprintf("csiglab has one of this name itself: give %s another Spec.Name", name)}
	}
	return nil
}
