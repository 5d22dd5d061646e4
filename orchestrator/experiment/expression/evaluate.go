package expression

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/wildcard"
)

// value is what a node comes to.
type value struct {
	number float64
	truth  bool
	list   []float64
	names  []string // of the metrics in list
	metric string   // that a minimum or a maximum is the value of, if there is one
	lacks  string   // why there is no value; then the rest means nothing
}

// result is what a node and those below it came to. All of them are evaluated, also
// where the outcome does not depend on them.
type result struct {
	node *node
	value
	args []*result
	seed uint64       // of a minimum or maximum over the seeds
	over []seedResult // of every_seed: the seeds in which the condition does not hold
}

// seedResult is the argument of every_seed in one seed.
type seedResult struct {
	seed uint64
	*result
}

// Run is the metrics of one run of a variant. It is read only.
type Run struct {
	Seed    uint64
	Metrics map[string]float64
}

// lookup is where metrics come from.
type lookup interface {
	// metric returns the value of a metric, or why there is none.
	metric(variant, name string) (v float64, lacks string)
	// match returns the metrics that match a pattern, in the order of their names.
	// partial are those that match and have no median, as not every seed has them.
	match(variant, pattern string) (values []float64, names, partial []string)
}

// evaluator evaluates trees. seeds has the metrics of each seed in expectations.
type evaluator struct {
	source string
	scope  Scope
	from   lookup
	seeds  func() ([]seedLookup, error)
	notes  *[]string // nil: none are kept
}

type seedLookup struct {
	seed uint64
	lookup
}

func (e *evaluator) evaluate(n *node) *result {
	r := &result{node: n}
	switch n.kind {
	case literal:
		r.number = n.number
	case truth:
		r.truth = n.word == "true"
	case text: // the argument of an aggregate: of the only variant
		variant := ""
		if e.scope.Expectation {
			variant = e.scope.Variants[0]
		}
		r.value = e.metric(variant, n.word)
	case name:
		r.value = e.metric("", n.word)
	case member:
		r.value = e.metric(n.args[0].word, n.args[1].word)
	case call:
		e.call(r)
	default:
		for _, a := range n.args {
			r.args = append(r.args, e.evaluate(a))
		}
		e.operate(r)
	}
	return r
}

func (e *evaluator) metric(variant, metric string) (v value) {
	if wildcard.In(metric) {
		var partial []string
		if v.list, v.names, partial = e.from.match(variant, metric); len(partial) > 0 && e.notes != nil {
			*e.notes = append(*e.notes, leftOut(variant, metric, partial))
		}
		return v
	}
	v.number, v.lacks = e.from.metric(variant, metric)
	return v
}

// maxListed is how many metrics or seeds a message lists.
const maxListed = 5

// leftOut says which metrics of a variant a pattern left out.
func leftOut(variant, pattern string, names []string) string {
	list := strings.Join(names[:min(len(names), maxListed)], ", ")
	if more := len(names) - maxListed; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%q of variant %s leaves out %s, which not every seed has", pattern, variant, list)
}

// operate computes an operator from its operands.
func (e *evaluator) operate(r *result) {
	a := r.args[0].value
	if a.lacks != "" {
		r.lacks = a.lacks
		return
	}
	n := r.node
	switch {
	case n.kind == conditional && a.truth:
		r.value = r.args[1].value
	case n.kind == conditional:
		r.value = r.args[2].value
	case n.word == "not":
		r.truth = !a.truth
	case n.kind == unary:
		r.number = a.number
		if n.word == "-" {
			r.number = -a.number
		}
	case n.word == "and" && !a.truth, n.word == "or" && a.truth:
		r.truth = a.truth
	default:
		b := r.args[1].value
		if r.lacks = b.lacks; r.lacks == "" {
			e.combine(r, a, b)
		}
	}
}

// combine computes an operator between two values.
func (e *evaluator) combine(r *result, a, b value) {
	x, y := a.number, b.number
	switch r.node.word {
	case "and", "or":
		r.truth = b.truth
	case "==":
		r.truth = x == y && a.truth == b.truth
	case "!=":
		r.truth = x != y || a.truth != b.truth
	case "<":
		r.truth = x < y
	case "<=":
		r.truth = x <= y
	case ">":
		r.truth = x > y
	case ">=":
		r.truth = x >= y
	case "+":
		e.set(r, x+y)
	case "-":
		e.set(r, x-y)
	case "*":
		e.set(r, x*y)
	case "/":
		if y == 0 {
			r.lacks = fmt.Sprintf("%s divides by zero", e.of(r.node))
			return
		}
		e.set(r, x/y)
	case "%":
		if y == 0 {
			r.lacks = fmt.Sprintf("%s divides by zero", e.of(r.node))
			return
		}
		e.set(r, math.Mod(x, y))
	case "**":
		e.set(r, math.Pow(x, y))
	}
}

// set sets a number, which must be finite.
func (e *evaluator) set(r *result, number float64) {
	if math.IsNaN(number) || math.IsInf(number, 0) {
		r.lacks = fmt.Sprintf("%s is not a finite number", e.of(r.node))
		return
	}
	r.number = number
}

// of returns the source of a node, in one line.
func (e *evaluator) of(n *node) string {
	return strings.Join(strings.Fields(e.source[n.from:n.to]), " ")
}

func (e *evaluator) call(r *result) {
	n := r.node
	f := functions[n.word]
	switch {
	case n.word == metricByNames && e.scope.Expectation:
		r.value = e.metric(n.args[0].word, n.args[1].word)
		return
	case n.word == metricByNames:
		r.value = e.metric("", n.args[0].word)
		return
	case f.seeds:
		e.overSeeds(r)
		return
	}
	args := make([]value, len(n.args))
	for i, a := range n.args {
		one := e.evaluate(a)
		r.args, args[i] = append(r.args, one), one.value
		if one.lacks != "" && r.lacks == "" {
			r.lacks = one.lacks
		}
	}
	switch {
	case r.lacks != "":
	case f.aggregate != nil:
		e.aggregate(r, f, args)
	default:
		for i := range args {
			if f.args[i] != aList {
				continue
			}
			if !isList(n.args[i]) {
				args[i].list = []float64{args[i].number}
			}
			if len(args[i].list) == 0 {
				r.lacks = e.of(n) + noValues
				return
			}
		}
		v := f.of(args)
		r.truth = v.truth
		e.set(r, v.number)
	}
}

// noValues ends the reason why a function of a list has no value.
const noValues = " has no values, as the runs have no metric that matches"

// isList reports whether a node is a pattern, whose list may be empty.
func isList(n *node) bool {
	switch n.kind {
	case text:
		return wildcard.In(n.word)
	case member:
		return wildcard.In(n.args[1].word)
	case call:
		return n.word == metricByNames && wildcard.In(n.args[len(n.args)-1].word)
	case conditional:
		return isList(n.args[1])
	}
	return false
}

// aggregate computes a function of numbers and lists.
func (e *evaluator) aggregate(r *result, f function, args []value) {
	var values []float64
	var names []string
	for i, a := range args {
		if isList(r.node.args[i]) {
			if len(args) == 1 {
				values, names = a.list, a.names // shared: not to be changed
				break
			}
			values, names = append(values, a.list...), append(names, a.names...)
			continue
		}
		values, names = append(values, a.number), append(names, "")
	}
	if len(values) == 0 && !f.empty {
		r.lacks = e.of(r.node) + noValues
		return
	}
	e.set(r, f.aggregate(values))
	if f.picks && r.lacks == "" && len(values) > 1 {
		r.metric = names[slices.Index(values, r.number)]
	}
}

// overSeeds computes the argument of a function for each seed.
func (e *evaluator) overSeeds(r *result) {
	n := r.node
	seeds, err := e.seeds()
	if err != nil {
		r.lacks = fmt.Sprintf("%s: %v", n.word, err)
		return
	}
	first, failed := true, false
	for _, s := range seeds {
		one := (&evaluator{source: e.source, scope: e.scope, from: s.lookup}).evaluate(n.args[0])
		if n.word == everySeed {
			if one.lacks != "" || !one.truth {
				r.over = append(r.over, seedResult{s.seed, one})
				failed = failed || one.lacks == ""
				r.lacks = cmp.Or(r.lacks, one.lacks)
			}
			continue
		}
		if one.lacks != "" {
			*r = result{node: n, value: value{lacks: one.lacks}, args: []*result{one}, seed: s.seed}
			return
		}
		if first || n.word == minOverSeeds && one.number < r.number || n.word == maxOverSeeds && one.number > r.number {
			r.number, r.seed, r.args = one.number, s.seed, []*result{one}
			first = false
		}
	}
	if failed { // whatever the seeds that lack something would say
		r.lacks = ""
	}
	r.truth = n.word == everySeed && len(r.over) == 0 // of a condition
}

// Absent is a derived metric that a run lacks.
type Absent struct {
	Name   string
	Reason string // such as "trims / drops divides by zero"
}

// Named is a derived metric.
type Named struct {
	Name string
	*Expr
}

// Derive computes the derived metrics of one run from its metrics, in order, so that
// one may use those before it. It returns them, and those that the run lacks because
// they are made of a metric that the run lacks, or come to no finite number.
func Derive(derived []Named, metrics map[string]float64, why Why) (values map[string]float64, absent []Absent) {
	all := make(map[string]float64, len(metrics)+len(derived))
	maps.Copy(all, metrics)
	values = make(map[string]float64, len(derived))
	from := &runLookup{runs: map[string]map[string]float64{"": all}, why: why}
	for _, d := range derived {
		r := (&evaluator{source: d.Text, from: from}).evaluate(d.root)
		if r.lacks != "" {
			absent = append(absent, Absent{d.Name, r.lacks})
			continue
		}
		values[d.Name] = r.number
		from.add(d.Name, r.number)
	}
	return values, absent
}
