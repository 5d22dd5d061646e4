package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/experiment/expression"
)

// results checks the expressions over metrics, and the published figures, as far as that
// does not need the names of metrics (see Set.CheckMetrics).
func (d *decoder) results(e *Experiment, declared []declaredVariant) {
	names := make([]string, len(declared))
	for i, v := range declared {
		names[i] = v.name
	}
	if n := max(len(e.Derived), len(e.Expect)); n > maxExpressions {
		path := "derived"
		if len(e.Expect) == n {
			path = "expect"
		}
		d.failAt(path, fmt.Sprintf("%d expressions are too many; the most is %d", n, maxExpressions), "")
		return
	}
	derived := map[string]bool{}
	for i, m := range e.Derived {
		path := fmt.Sprintf("derived[%d]", i)
		if derived[m.Name] || expression.IsFunction(m.Name) {
			d.failAt(path+".name", fmt.Sprintf("the name %q is taken", m.Name), "")
		}
		derived[m.Name] = true
		d.expression(path+".expr", m.Expr, expression.Scope{})
	}
	for i, text := range e.Expect {
		d.expression(fmt.Sprintf("expect[%d]", i), text, expression.Scope{Expectation: true, Variants: names})
	}
	d.promises(e)
	for i, p := range e.Published {
		path := fmt.Sprintf("published[%d]", i)
		if !slices.Contains(names, p.Variant) {
			d.failAt(path+".variant", unknown("variant", p.Variant, names).Error(), spelling.Nearest(p.Variant, names))
		}
		if p.Low >= p.High {
			d.failAt(path+".low", fmt.Sprintf("the band is empty: low %v is not below high %v", p.Low, p.High), "")
		}
	}
}

// IsDerivedName reports whether a derived metric may have a name.
func IsDerivedName(name string) bool { return vocabulary["metric"].allows(name) }

// compiledKey is an expression in its scope; all expectations have the same.
type compiledKey struct {
	text        string
	expectation bool
}

// expression checks the form and the types of an expression.
func (d *decoder) expression(path, text string, scope expression.Scope) {
	if d.checking && !d.sound(path) {
		return
	}
	key := compiledKey{text, scope.Expectation}
	wrong, known := d.compiled[key]
	if !known {
		_, wrong = expression.Compile(text, scope)
		d.compiled[key] = wrong
	}
	for _, one := range wrong {
		d.expressions = append(d.expressions, within(d.node, path, one))
	}
}

// within returns an error of an expression with its place in the file: that of the
// expression, and the place within it where the file has the expression as it is.
func within(nodes map[string]*tree, path string, wrong *expression.Error) *Error {
	node := nodes[path]
	if node == nil {
		return &Error{Path: path, Msg: wrong.Msg, Suggestion: wrong.Suggestion}
	}
	at := node.at
	if at.line > 0 && node.verbatim && wrong.Line == 1 {
		at.column += wrong.Column
		if node.quoted {
			at.column++
		}
	}
	return at.error(at.via+path, wrong.Msg, wrong.Suggestion)
}

// Expressions are the compiled expressions of a set.
type Expressions struct {
	Derived []expression.Named // without those that have errors
	Expect  []*expression.Expr // likewise
}

// Expressions returns the derived metrics and the expectations, which Load has checked.
func (s *Set) Expressions() (x Expressions) {
	for _, m := range s.Base.Derived {
		if e, wrong := expression.Compile(m.Expr, expression.Scope{}); len(wrong) == 0 {
			x.Derived = append(x.Derived, expression.Named{Name: m.Name, Expr: e})
		}
	}
	scope := s.expectationScope()
	for _, text := range s.Base.Expect {
		if e, wrong := expression.Compile(text, scope); len(wrong) == 0 {
			x.Expect = append(x.Expect, e)
		}
	}
	return x
}

// expectationScope returns the scope of expectations. It has all declared variants, also
// where the set is reduced to some.
func (s *Set) expectationScope() expression.Scope {
	scope := expression.Scope{Expectation: true}
	for _, v := range s.Base.Variants {
		scope.Variants = append(scope.Variants, v.Name)
	}
	return scope
}

// MentionedMetrics returns the names of metrics that derived metrics, expectations and
// published figures mention, and the patterns (internal/wildcard), in no order.
func (s *Set) MentionedMetrics() []string {
	x := s.Expressions()
	var names []string
	for _, d := range x.Derived {
		names = append(names, d.Metrics()...)
	}
	for _, e := range x.Expect {
		names = append(names, e.Metrics()...)
	}
	for _, p := range s.Base.Published {
		names = append(names, p.Metric)
	}
	return names
}

// CheckMetrics refuses expressions and published figures with metrics that no run can
// have. names has those of each variant, as s.Variants. Its error is an Errors with
// everything that is wrong with the expressions. A set that is reduced to some of its
// variants loses the derived metrics that only the others have, with a note.
func (s *Set) CheckMetrics(names []expression.Names) error {
	known := make([]*expression.Known, len(s.Variants))
	for i := range s.Variants {
		known[i] = expression.NewKnown(s.Variants[i].Name, names[i], len(s.Base.Variants) > 1)
	}
	nodes := s.Variants[0].node
	var errs Errors
	add := func(path string, wrong []*expression.Error) {
		for _, one := range wrong {
			errs = append(errs, within(nodes, path, one))
		}
	}
	errs = append(errs, s.checkDerived(known)...)
	s.skipPackets(known)
	scope := s.expectationScope()
	for i, text := range s.Base.Expect {
		if len(errs) > maxListed { // no message lists more
			break
		}
		path := given(nodes, "expect", i, func(at string) bool { return nodes[at].text == text })
		e, wrong := expression.Compile(text, scope)
		add(path, wrong)
		if e != nil {
			add(path, expression.CheckExpectation(e, known))
		}
	}
	for i, p := range s.Base.Published {
		k := slices.IndexFunc(s.Variants, func(v Resolved) bool { return v.Name == p.Variant })
		if k < 0 {
			continue
		}
		if wrong := known[k].Check(p.Metric); wrong != nil {
			path := given(nodes, "published", i, func(at string) bool {
				variant, metric := nodes[at+".variant"], nodes[at+".metric"]
				return variant != nil && metric != nil && variant.text == p.Variant && metric.text == p.Metric
			})
			wrong.Line = 2 // not within the value
			add(path+".metric", []*expression.Error{wrong})
		}
	}
	if len(errs) == 0 {
		return nil
	}
	slices.SortStableFunc(errs, inOrder)
	return errs
}

// flowOnly reports whether no variant has packets.
func (s *Set) flowOnly() bool {
	return !slices.ContainsFunc(s.Variants, func(v Resolved) bool { return v.Experiment.Fidelity != Flow })
}

// skipPackets takes out the expectations that no run without packets can meet, of an experiment
// that was written for packets, with a note.
func (s *Set) skipPackets(known []*expression.Known) {
	if !s.flowOnly() {
		return
	}
	scope := s.expectationScope()
	kept := slices.DeleteFunc(slices.Clone(s.Base.Expect), func(text string) bool {
		e, _ := expression.Compile(text, scope)
		return e != nil && slices.ContainsFunc(expression.CheckExpectation(e, known), func(wrong *expression.Error) bool {
			return strings.Contains(wrong.Msg, NoPackets)
		})
	})
	published := slices.DeleteFunc(slices.Clone(s.Base.Published), func(p Published) bool {
		return slices.ContainsFunc(known, func(k *expression.Known) bool {
			wrong := k.Check(p.Metric)
			return wrong != nil && strings.Contains(wrong.Msg, NoPackets)
		})
	})
	if skipped := len(s.Base.Expect) + len(s.Base.Published) - len(kept) - len(published); skipped > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("skipped: %d expectations and published figures, which runs without packets cannot have (fidelity: flow)", skipped))
	}
	s.expectOnly(kept, published)
}

// checkDerived checks the derived metrics and adds their names to known.
func (s *Set) checkDerived(known []*expression.Known) (errs Errors) {
	reduced := s.Reduced || len(s.Variants) < len(s.Base.Variants) || s.flowOnly()
	nodes := s.Variants[0].node
	var later []string
	for _, m := range s.Base.Derived {
		later = append(later, m.Name)
	}
	var kept []Derived
	for i, m := range s.Base.Derived {
		if len(errs) > maxListed {
			break
		}
		path := given(nodes, "derived", i, func(at string) bool { return nodes[at+".name"] != nil && nodes[at+".name"].text == m.Name }) + ".expr"
		e, wrong := expression.Compile(m.Expr, expression.Scope{})
		d := expression.CheckDerived(m.Name, e, later[i+1:], known)
		if reduced && len(wrong) == 0 && d.Lacks != "" {
			s.Notes = append(s.Notes, fmt.Sprintf("skipped: the derived metric %s, because variant %s cannot have it: %s", m.Name, s.Variants[0].Name, d.Lacks))
			continue
		}
		kept = append(kept, m)
		for _, one := range slices.Concat(wrong, d.Errors) {
			errs = append(errs, within(nodes, path, one))
		}
	}
	s.Base.Derived = kept
	for _, v := range s.Variants {
		v.Experiment.Derived = kept
	}
	return errs
}

// checkWhole checks the metrics in expressions of a set before it is reduced to some of its
// variants: afterwards a misspelt metric could be one of the others. A fabric that cannot
// be built is reported later, if its variant is not left out. namesOf may be nil.
func (s *Set) checkWhole(namesOf func(*Set) ([]expression.Names, error)) error {
	if namesOf == nil || len(s.Base.Derived)+len(s.Base.Expect)+len(s.Base.Published) == 0 {
		return nil
	}
	names, err := namesOf(s)
	if err != nil {
		return nil
	}
	return s.CheckMetrics(names)
}

// given returns the path of an item of a list as the file has it: a set that is reduced
// to some variants lacks items before it.
func given(nodes map[string]*tree, list string, index int, is func(path string) bool) string {
	at := func(i int) string { return fmt.Sprintf("%s[%d]", list, i) }
	for i := index; nodes[at(i)] != nil; i++ {
		if is(at(i)) {
			return at(i)
		}
	}
	return at(index)
}

// inOrder compares the places of two errors of one file.
func inOrder(a, b *Error) int {
	if a.File != b.File {
		return 0
	}
	return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
}

// wrongExpressions returns the errors of expressions in a set that is right otherwise, with those
// of the metrics in them if these can be known.
func (s *Set) wrongExpressions(expressions Errors, opts Options) error {
	if opts.Names == nil {
		return expressions
	}
	names, err := opts.Names(s)
	if err != nil {
		return expressions // what is wrong with the fabric shows when these are right
	}
	var all Errors
	if errors.As(s.CheckMetrics(names), &all) {
		return all
	}
	return expressions
}
