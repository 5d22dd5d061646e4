package expression

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Expect returns whether an expectation holds over the results, and why.
func (r *Results) Expect(e *Expr) runfolder.Expectation {
	out := runfolder.Expectation{Expr: e.Text}
	v := &evaluator{source: e.Text, scope: e.scope, from: &r.medians, seeds: func() ([]seedLookup, error) { return r.seeds, r.uneven }, notes: &out.Notes}
	root := v.evaluate(e.root)
	out.OK, out.Reason = root.truth && root.lacks == "", root.lacks
	if n := measuredSide(root); n != nil && n.lacks == "" {
		out.Value = n.number
	}
	s := &shower{evaluator: v, out: &out}
	s.truth(root, false)
	out.Text = s.text(e.root)
	slices.Sort(out.Seeds)
	out.Seeds = slices.Compact(out.Seeds)
	return out
}

// measuredSide returns the part of an expectation that is compared with a bound, or nil.
func measuredSide(r *result) *result {
	switch n := r.node; {
	case n.kind == binary && (n.word == "and" || n.word == "or"):
		return measuredSide(r.args[0])
	case isComparison(n):
		side := r.args[0]
		if constant(side.node) {
			side = r.args[1]
		}
		if typeOf(side.node) == aNumber {
			return side
		}
	case n.kind == call && n.word == "between":
		return r.args[0]
	}
	return nil
}

// Figure returns what an expectation measures, in one number: the side of its comparison that is not a
// constant, or the ratio of both sides. It takes medians, also of the condition of every_seed; nil: there is none.
func (r *Results) Figure(e *Expr) *float64 {
	n := e.root
	if n.kind == call && n.word == everySeed {
		n = n.args[0]
	}
	root := (&evaluator{source: e.Text, scope: e.scope, from: &r.medians, seeds: func() ([]seedLookup, error) { return r.seeds, r.uneven }}).evaluate(n)
	side := measuredSide(root)
	if side == nil || side.lacks != "" {
		return nil
	}
	figure := side.number
	if isComparison(n) && !constant(n.args[0]) && !constant(n.args[1]) {
		figure = root.args[0].number / root.args[1].number
	}
	if root.lacks != "" || math.IsNaN(figure) || math.IsInf(figure, 0) {
		return nil
	}
	return &figure
}

// typeOf returns the type of a node of an expression without errors.
func typeOf(n *node) valueType {
	switch {
	case n.kind == truth, n.kind == unary && n.word == "not", n.kind == binary && precedence[n.word] <= precedence["<"]:
		return aBool
	case n.kind == conditional:
		return typeOf(n.args[1])
	case isList(n):
		return aList
	case n.kind == call:
		return functions[n.word].result
	}
	return aNumber
}

// constant reports whether a node mentions no metric.
func constant(n *node) bool {
	switch n.kind {
	case name, member, text:
		return false
	case call:
		if n.word == metricByNames {
			return false
		}
	}
	return !slices.ContainsFunc(n.args, func(a *node) bool { return !constant(a) })
}

// shower writes the values of an expression's parts into its source.
type shower struct {
	*evaluator
	out     *runfolder.Expectation
	inserts []insert
	seed    *uint64
}

type insert struct {
	at   int
	text string
}

// truth shows a condition. judged says that it is a part of a larger one, so that its own
// outcome is shown.
func (s *shower) truth(r *result, judged bool) {
	n := r.node
	switch {
	case n.kind == truth:
		return
	case n.kind == binary && (n.word == "and" || n.word == "or"):
		s.truth(r.args[0], true)
		s.truth(r.args[1], true)
		return
	case n.kind == unary:
		s.truth(r.args[0], true)
		return
	case n.kind == conditional:
		s.truth(r.args[0], true)
		chosen := r.args[2]
		if r.args[0].value.truth {
			chosen = r.args[1]
		}
		s.truth(chosen, false)
		return
	case isComparison(n) && typeOf(n.args[0]) == aBool:
		s.truth(r.args[0], true)
		s.truth(r.args[1], true)
	case isComparison(n), n.kind == call && n.word == "between":
		s.sides(r.args)
	case n.kind == call && n.word == everySeed:
		s.every(r)
	}
	if judged && r.lacks == "" {
		s.insert(n, fmt.Sprintf(" (%v)", r.value.truth))
	}
}

// sides shows numbers that are compared with one another.
func (s *shower) sides(args []*result) {
	var numbers []float64
	for _, a := range args {
		numbers = append(numbers, a.number)
	}
	digits := digitsFor(numbers)
	for _, a := range args {
		s.side(a, digits)
	}
}

// side shows one number, and adds what it is made of to the operands.
func (s *shower) side(r *result, digits int) {
	n := r.node
	if constant(n) {
		return
	}
	s.operands(r)
	if r.lacks != "" {
		s.insert(n, " (absent)")
		return
	}
	note := ""
	if r.metric != "" {
		note = r.metric
	}
	if n.kind == call && functions[n.word].seeds {
		note = strings.TrimPrefix(note+", seed "+strconv.FormatUint(r.seed, 10), ", ")
	}
	if note != "" {
		note = " (" + note + ")"
	}
	s.insert(n, " = "+format(r.number, digits)+note)
}

// operands adds a part and those below it, except those that are constant.
func (s *shower) operands(r *result) {
	n := r.node
	if constant(n) {
		return
	}
	o := runfolder.Operand{Expr: s.of(n), Metric: r.metric, Seed: s.seed}
	switch {
	case r.lacks != "":
	case isList(n):
		o.Count = len(r.list)
	default:
		v := r.number
		o.Value = &v
	}
	overSeeds := n.kind == call && functions[n.word].seeds
	if overSeeds && r.lacks == "" {
		o.Seed = &r.seed
	}
	same := func(other runfolder.Operand) bool {
		return other.Expr == o.Expr && (other.Seed == nil) == (o.Seed == nil) && (o.Seed == nil || *o.Seed == *other.Seed)
	}
	if typeOf(n) != aBool && !slices.ContainsFunc(s.out.Operands, same) {
		s.out.Operands = append(s.out.Operands, o)
	}
	within := *s
	if overSeeds {
		within.seed = &r.seed
	}
	for _, a := range r.args {
		within.operands(a)
	}
}

// maxShown is how many seeds in which every_seed fails are shown with their values.
const maxShown = 2

// every shows in which seeds the condition of every_seed does not hold.
func (s *shower) every(r *result) {
	var texts []string
	for i, one := range r.over {
		s.out.Seeds = append(s.out.Seeds, one.seed)
		if i >= maxShown {
			continue
		}
		within := &shower{evaluator: s.evaluator, out: s.out, seed: &r.over[i].seed}
		within.truth(one.result, false)
		texts = append(texts, fmt.Sprintf("seed %d: %s", one.seed, within.text(one.node)))
	}
	if more := len(r.over) - maxShown; more > 0 {
		texts = append(texts, fmt.Sprintf("and in %d more", more))
	}
	if len(texts) > 0 {
		s.insert(r.node, " (not in "+strings.Join(texts, "; ")+")")
	}
}

func (s *shower) insert(n *node, text string) { s.inserts = append(s.inserts, insert{n.to, text}) }

// text returns the source of a node with the inserts, in one line.
func (s *shower) text(n *node) string {
	slices.SortStableFunc(s.inserts, func(a, b insert) int { return cmp.Compare(a.at, b.at) })
	var b strings.Builder
	at := n.open
	for _, i := range s.inserts {
		b.WriteString(s.source[at:i.at])
		b.WriteString(i.text)
		at = i.at
	}
	b.WriteString(s.source[at:n.close])
	return strings.Join(strings.Fields(b.String()), " ")
}

// leastDigits is how many significant digits a value has at least.
const leastDigits = 6

// digitsFor returns with how many significant digits numbers are written, so that those
// that differ are written differently; -1: all.
func digitsFor(numbers []float64) int {
	for i, a := range numbers {
		for _, b := range numbers[:i] {
			if a != b && format(a, leastDigits) == format(b, leastDigits) {
				return -1
			}
		}
	}
	return leastDigits
}

// format returns a number as text, whole numbers with all their digits.
func format(v float64, digits int) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	if digits > 0 && math.Abs(v) >= 1e6 && math.Abs(v) < 1e15 {
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'g', digits, 64)
}
