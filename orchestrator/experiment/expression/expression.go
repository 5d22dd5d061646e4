// Package expression compiles, checks and evaluates the expressions over metrics that
// an experiment has: derived metrics, which are numbers, and expectations, which hold or
// fail. It knows no experiment and no plan: who uses it says which metrics there are
// (Names) and gives their values. Compile finds all errors of form and type; Known finds
// metrics that no run can have; both know the place of each error.
//
//	text ── Compile ─▶ Expr ── Known.Check* ─▶ Expr ── Derive, Expect ─▶ values, Outcome
package expression

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/internal/wildcard"
)

// Error is one thing that is wrong with an expression.
type Error struct {
	Line, Column int // in the expression; the line from 1, the column from 0, in characters
	Msg          string
	Suggestion   string // what was probably meant; may be empty
}

// Error returns the message with the suggestion.
func (e *Error) Error() string { return e.Msg + spelling.Hint(e.Suggestion) }

// placed returns an error at an offset of a source, in bytes.
func placed(source string, at int, msg, suggestion string) *Error {
	before := source[:at]
	line := strings.LastIndexByte(before, '\n') + 1
	return &Error{1 + strings.Count(before, "\n"), utf8.RuneCountInString(before[line:]), msg, suggestion}
}

// Names is the metrics that runs of one variant can have.
type Names interface {
	// Has reports whether a run can have a metric of this name.
	Has(name string) bool
	// Lacks returns why no run has a metric that other variants may have; "" if the
	// name is none of a metric. It takes patterns too.
	Lacks(name string) string
	// Nearest returns the name, or for a pattern the pattern, that was probably meant;
	// it may be "".
	Nearest(text string) string
	// Match yields the names that match a pattern (package wildcard).
	Match(pattern string) iter.Seq[string]
}

// Scope says what the names in an expression mean.
type Scope struct {
	// Expectation: the expression holds or fails, and its metrics are those of the
	// variants. Otherwise it is a number made of metrics of one run.
	Expectation bool
	Variants    []string // of an expectation
}

// Expr is an expression without errors of form and type. It is read only.
type Expr struct {
	Text  string
	scope Scope
	root  *node
	refs  []ref
}

// ref is a mention of a metric, or of several by a pattern.
type ref struct {
	variant string // "" in a derived metric
	name    string
	at      int // offset of the mention
}

// Compile returns the expression of a text, and everything that is wrong with its form
// and its types, in the order of the text. With errors it can only be checked further;
// it is nil if the text has no form.
func Compile(source string, scope Scope) (*Expr, []*Error) {
	if len(source) > maxBytes {
		return nil, []*Error{placed(source, 0, fmt.Sprintf("an expression of %d bytes is too long; the most is %d", len(source), maxBytes), "")}
	}
	root, err := parse(source)
	if err != nil {
		return nil, []*Error{err}
	}
	c := &checker{source: source, scope: scope}
	want := aNumber
	if scope.Expectation {
		want = aBool
	}
	c.want(root, want)
	if len(c.errs) > 0 {
		slices.SortStableFunc(c.errs, func(a, b *Error) int {
			return (a.Line-b.Line)*1_000_000 + a.Column - b.Column
		})
	}
	return &Expr{source, scope, root, c.refs}, c.errs
}

// Metrics returns the names and patterns of metrics that the expression mentions,
// whatever the variant.
func (e *Expr) Metrics() []string {
	var names []string
	for _, r := range e.refs {
		names = append(names, r.name)
	}
	return names
}

// Variants returns the variants that the expression mentions, in its order.
func (e *Expr) Variants() (names []string) {
	for _, r := range e.refs {
		if r.variant != "" && !slices.Contains(names, r.variant) {
			names = append(names, r.variant)
		}
	}
	return names
}

// Known is the names of the metrics of one variant's runs, the derived ones included.
type Known struct {
	variant string
	names   Names
	several bool              // there are other variants
	derived []string          // in order
	lacks   map[string]string // derived metrics that runs lack, and why
	// counts has how many metrics match each pattern that is mentioned, and values is the sum over
	// all mentions.
	counts map[string]int
	values int
}

// Limits of the patterns of an experiment: different ones, and metrics of a variant's run that
// all mentions of patterns stand for together. Evaluating so many takes about a second a run.
const (
	maxPatterns = 1000
	maxMatches  = 20_000_000
)

// take counts a mention of a pattern. It returns the limit that the mention exceeds, "" if none.
func (k *Known) take(pattern string) (limit string) {
	count, ok := k.counts[pattern]
	if !ok {
		if len(k.counts) == maxPatterns {
			return fmt.Sprintf("the expressions have more than %d different patterns", maxPatterns)
		}
		for _, d := range k.derived {
			if wildcard.Match(pattern, d) {
				count++
			}
		}
		for range k.names.Match(pattern) {
			if count++; k.values+count > maxMatches {
				break
			}
		}
		k.counts[pattern] = count
	}
	if k.values += count; k.values > maxMatches {
		return fmt.Sprintf("the patterns in expressions stand for more than %d metrics of a run, all mentions together", maxMatches)
	}
	return ""
}

// NewKnown returns the names of a variant, which has no derived metrics yet. several
// says that there are other variants, so that messages name it.
func NewKnown(variant string, names Names, several bool) *Known {
	return &Known{variant: variant, names: names, several: several, lacks: map[string]string{}, counts: map[string]int{}}
}

// missing returns what is wrong with a name or a pattern: "" if a run can have such a
// metric, otherwise why not; the reason is empty where it is no name of a metric at all.
func (k *Known) missing(name string) (known bool, lacks string) {
	if wildcard.In(name) {
		match := func(derived string) bool { return wildcard.Match(name, derived) && k.lacks[derived] == "" }
		if slices.ContainsFunc(k.derived, match) {
			return true, ""
		}
		for range k.names.Match(name) {
			return true, ""
		}
		return false, k.names.Lacks(name)
	}
	if slices.Contains(k.derived, name) {
		return k.lacks[name] == "", k.lacks[name]
	}
	if k.names.Has(name) {
		return true, ""
	}
	return false, k.names.Lacks(name)
}

// Check returns the error of a metric that no run of the variant has, without a place;
// nil if runs can have it.
func (k *Known) Check(name string) *Error {
	of := ""
	if k.several {
		of = " of variant " + k.variant
	}
	return k.check(name, of)
}

// check returns the error of a metric. of says of which variant it should be.
func (k *Known) check(name, of string) *Error {
	known, lacks := k.missing(name)
	switch {
	case known:
		return nil
	case lacks != "":
		return &Error{Msg: fmt.Sprintf("variant %s has no metric %q: %s", k.variant, name, lacks)}
	}
	near := spelling.Nearest(name, k.derived)
	if near == "" {
		near = k.names.Nearest(name)
	}
	if wildcard.In(name) {
		return &Error{Msg: fmt.Sprintf("no metric%s matches %q", of, name), Suggestion: near}
	}
	return &Error{Msg: fmt.Sprintf("unknown metric %q%s", name, of), Suggestion: near}
}

// CheckExpectation returns what is wrong with the metrics of an expectation. known has
// every variant of its scope.
func CheckExpectation(e *Expr, known []*Known) (errs []*Error) {
	for _, r := range e.refs {
		for _, k := range known {
			if k.variant != r.variant {
				continue
			}
			if err := k.Check(r.name); err != nil {
				errs = append(errs, placed(e.Text, r.at, err.Msg, err.Suggestion))
			} else if wildcard.In(r.name) {
				if limit := k.take(r.name); limit != "" {
					return append(errs, placed(e.Text, r.at, limit, ""))
				}
			}
		}
	}
	return errs
}

// Derivation is what there is to know of a derived metric before a run.
type Derivation struct {
	Errors []*Error
	// Lacks is why no variant has the metric, if that is because of what it is made of.
	Lacks string
}

// CheckDerived checks the metrics that a derived one is made of and adds it to the names
// of every variant. Runs of some variants may lack what it is made of; then they lack it
// too. later are the names of the derived metrics that come after it. e is nil if its
// text has no form.
func CheckDerived(name string, e *Expr, later []string, known []*Known) (d Derivation) {
	if len(known) == 0 { // of a damaged folder
		return d
	}
	lacking := make([]string, len(known))
	if e != nil {
		for _, r := range e.refs {
			have := false
			var wrong *Error
			for i, k := range known {
				ok, lacks := k.missing(r.name)
				have = have || ok
				if ok {
					if !wildcard.In(r.name) {
						continue
					}
					if limit := k.take(r.name); limit != "" {
						return Derivation{Errors: append(d.Errors, placed(e.Text, r.at, limit, ""))}
					}
					continue
				}
				lacking[i] = "it has no " + r.name
				if lacks != "" {
					lacking[i] += ", as " + lacks
				}
				if wrong == nil || lacks == "" {
					wrong = k.check(r.name, "")
				}
			}
			if have {
				continue
			}
			if slices.Contains(later, r.name) {
				wrong = &Error{Msg: fmt.Sprintf("%q comes later; a derived metric is made of those before it", r.name)}
			} else if r.name == name {
				wrong = &Error{Msg: fmt.Sprintf("%q is made of itself", name)}
			}
			d.Errors = append(d.Errors, placed(e.Text, r.at, wrong.Msg, wrong.Suggestion))
		}
	}
	if !slices.Contains(lacking, "") {
		d.Lacks = lacking[0]
	}
	for i, k := range known {
		k.derived = append(k.derived, name)
		if lacking[i] != "" && len(d.Errors) == 0 {
			k.lacks[name] = lacking[i]
		}
	}
	return d
}
