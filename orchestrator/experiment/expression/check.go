package expression

import (
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/internal/wildcard"
)

// valueType is the type of an expression.
type valueType uint8

const (
	aNumber valueType = iota
	aBool
	aList    // of numbers: the metrics that match a pattern
	anything // of something that is wrong, and reported
)

// described are the types as messages name them.
var described = [...]string{aNumber: "a number", aBool: "true or false", aList: "a list of numbers"}

// checker finds the types in a tree, the metrics that it mentions and everything that
// is wrong.
type checker struct {
	source string
	scope  Scope
	seed   bool // within a function over seeds
	refs   []ref
	errs   []*Error
}

// fail reports an error. It returns the type of the node, about which there is
// nothing more to say.
func (c *checker) fail(n *node, suggestion, format string, args ...any) valueType {
	c.errs = append(c.errs, placed(c.source, n.from, fmt.Sprintf(format, args...), suggestion))
	return anything
}

// source of a node, as it is written.
func (c *checker) of(n *node) string { return c.source[n.from:n.to] }

// want reports a node that is of another type.
func (c *checker) want(n *node, want valueType) {
	switch got := c.check(n); {
	case got == want || got == anything:
	case got == aList && want == aNumber:
		c.fail(n, "", "%s is a list of numbers, of the metrics that match it; put %s around it", c.of(n), aggregates)
	default:
		c.fail(n, "", "%s is %s; want %s", c.of(n), described[got], described[want])
	}
}

// check returns the type of a node.
func (c *checker) check(n *node) valueType {
	switch n.kind {
	case literal:
		return aNumber
	case truth:
		return aBool
	case text:
		return c.fail(n, "", "%s is a text; %s", c.of(n), c.howToName(n.word))
	case name:
		return c.name(n)
	case member:
		return c.member(n)
	case call:
		return c.call(n)
	case unary:
		want := aNumber
		if n.word == "not" {
			want = aBool
		}
		c.want(n.args[0], want)
		return want
	case binary:
		return c.binary(n)
	}
	c.want(n.args[0], aBool)
	yes, no := c.check(n.args[1]), c.check(n.args[2])
	switch {
	case yes == anything || no == anything:
		return anything
	case yes != no:
		return c.fail(n.args[2], "", "%s is %s, but %s is %s; both sides of : are of one type",
			c.of(n.args[2]), described[no], c.of(n.args[1]), described[yes])
	}
	return yes
}

// howToName returns how a metric is written.
func (c *checker) howToName(metric string) string {
	form := fmt.Sprintf("m(%q)", metric)
	if c.scope.Expectation {
		form = fmt.Sprintf("%s[%q]", c.example(), metric)
	}
	if wildcard.In(metric) {
		return fmt.Sprintf("the metrics that match it are max(%s) and so on", form)
	}
	return "a metric is " + form
}

// example returns the variant that messages write.
func (c *checker) example() string {
	if len(c.scope.Variants) == 0 {
		return "VARIANT"
	}
	return c.scope.Variants[len(c.scope.Variants)-1]
}

// metric records a mention and returns its type.
func (c *checker) metric(at *node, variant, metric string) valueType {
	c.refs = append(c.refs, ref{variant, metric, at.from})
	if wildcard.In(metric) {
		return aList
	}
	return aNumber
}

func (c *checker) name(n *node) valueType {
	switch {
	case IsFunction(n.word):
		return c.fail(n, "", "%s is a function; write %s(…)", n.word, n.word)
	case !c.scope.Expectation:
		return c.metric(n, "", n.word)
	case slices.Contains(c.scope.Variants, n.word):
		return c.fail(n, "", "%s is a variant; write %s.METRIC", n.word, n.word)
	case len(c.scope.Variants) == 1:
		return c.fail(n, "", "unknown name %q; a metric is %s.%s", n.word, c.example(), n.word)
	}
	return c.fail(n, spelling.Nearest(n.word, slices.Concat(functionNames(c.scope), c.scope.Variants)),
		"unknown name %q; a metric is VARIANT.%s", n.word, n.word)
}

// variant reports a variant that there is not.
func (c *checker) variant(n *node, variant string) bool {
	if slices.Contains(c.scope.Variants, variant) {
		return true
	}
	c.fail(n, spelling.Nearest(variant, c.scope.Variants), "unknown variant %q; known: %s", variant, strings.Join(c.scope.Variants, " "))
	return false
}

func (c *checker) member(n *node) valueType {
	of, metric := n.args[0], n.args[1]
	if !c.scope.Expectation {
		return c.fail(n, "", "%s is no metric; one whose name is not an identifier is m(%q)", c.of(n), strings.ReplaceAll(c.of(n), `"`, ""))
	}
	switch {
	case of.kind != name:
		return c.fail(of, "", "%s is no variant; a metric is VARIANT[\"METRIC\"]", c.of(of))
	case metric.kind != text:
		return c.fail(metric, "", "%s is no name of a metric; write it in quotation marks", c.of(metric))
	case !c.variant(of, of.word):
		return anything
	}
	return c.metric(n, of.word, metric.word)
}

func (c *checker) binary(n *node) valueType {
	left, right := n.args[0], n.args[1]
	switch n.word {
	case "and", "or":
		c.want(left, aBool)
		c.want(right, aBool)
		return aBool
	case "==", "!=", "<", "<=", ">", ">=":
		c.compare(n, left, right)
		return aBool
	case "-":
		if hyphen := c.hyphenated(n); hyphen {
			return anything
		}
	}
	c.want(left, aNumber)
	c.want(right, aNumber)
	return aNumber
}

// compare checks the sides of a comparison.
func (c *checker) compare(n, left, right *node) {
	if isComparison(left) && left.open == left.from && n.word != "==" && n.word != "!=" {
		c.check(left)
		c.check(right)
		c.fail(n, "", "comparisons make no chain; write between(%s, …) or two of them with and", c.of(left.args[1]))
		return
	}
	a, b := c.check(left), c.check(right)
	switch {
	case a == anything || b == anything:
	case a == aList || b == aList:
		list := left
		if a != aList {
			list = right
		}
		c.fail(list, "", "%s is a list of numbers, of the metrics that match it; put %s around it", c.of(list), aggregates)
	case a != b:
		c.fail(n, "", "%s is %s and %s is %s; they cannot be compared", c.of(left), described[a], c.of(right), described[b])
	case a == aBool && n.word != "==" && n.word != "!=":
		c.fail(n, "", "%s is %s; %s compares numbers", c.of(left), described[a], n.word)
	}
}

func isComparison(n *node) bool { return n.kind == binary && precedence[n.word] == precedence["<"] }

// hyphenated reports a variant whose name has hyphens, which the expression takes for
// minus signs: csig-wide.share.
func (c *checker) hyphenated(n *node) bool {
	if !c.scope.Expectation || n.args[1].kind != member {
		return false
	}
	words := strings.ReplaceAll(c.source[n.from:n.args[1].args[0].to], " ", "")
	if !slices.Contains(c.scope.Variants, words) {
		return false
	}
	c.fail(n, "", "the name of variant %s contains a minus sign; write m(%q, %q)", words, words, n.args[1].args[1].word)
	return true
}

func (c *checker) call(n *node) valueType {
	f, ok := functions[n.word]
	switch {
	case !ok:
		for _, a := range n.args {
			if a.kind != text {
				c.check(a)
			}
		}
		return c.fail(n, spelling.Nearest(n.word, functionNames(c.scope)), "unknown function %q", n.word)
	case n.word == metricByNames:
		return c.byNames(n)
	case f.seeds:
		return c.overSeeds(n, f)
	case f.aggregate != nil:
		if len(n.args) == 0 {
			return c.fail(n, "", "%s() has no values; %s(1, 2) and %s(%s) have some", n.word, n.word, n.word, c.pattern())
		}
		for _, a := range n.args {
			if c.values(a) == aBool {
				c.fail(a, "", "%s is %s; want %s, or a list", c.of(a), described[aBool], described[aNumber])
			}
		}
		return aNumber
	case len(n.args) != len(f.args):
		return c.fail(n, "", "%s has %d arguments; want %d: %s", n.word, len(n.args), len(f.args), signatures[n.word])
	}
	for i, a := range n.args {
		if f.args[i] != aList {
			c.want(a, f.args[i])
			continue
		}
		if c.values(a) == aBool {
			c.fail(a, "", "%s is %s; want %s", c.of(a), described[aBool], described[aList])
		}
	}
	if p := n.args[len(n.args)-1]; n.word == "percentile" && p.kind == literal && p.number > 100 {
		c.fail(p, "", "%s is no percentile; want 0 to 100", c.of(p))
	}
	return f.result
}

// signatures are how functions with arguments of their own are called.
var signatures = map[string]string{
	"abs": "abs(x)", "between": "between(x, low, high)", "percentile": `percentile("METRICS.*", p)`,
	everySeed: everySeed + "(condition)", minOverSeeds: minOverSeeds + "(x)", maxOverSeeds: maxOverSeeds + "(x)",
}

// pattern returns a pattern as messages write it.
func (c *checker) pattern() string {
	if c.scope.Expectation && len(c.scope.Variants) != 1 {
		return c.example() + `["rate_gbps.*"]`
	}
	return `"rate_gbps.*"`
}

// values returns the type of what may be a list: the argument of an aggregate. There a
// text is a metric, or those that match it, where only one variant can be meant.
func (c *checker) values(n *node) valueType {
	if n.kind != text {
		return c.check(n)
	}
	switch {
	case !c.scope.Expectation:
		return c.metric(n, "", n.word)
	case len(c.scope.Variants) == 1:
		return c.metric(n, c.scope.Variants[0], n.word)
	}
	return c.fail(n, "", "%s of which variant? Write %s[%q]", c.of(n), c.example(), n.word)
}

// byNames checks m("METRIC"), in expectations m("VARIANT", "METRIC").
func (c *checker) byNames(n *node) valueType {
	want, form := 1, `m("METRIC")`
	if c.scope.Expectation {
		want, form = 2, `m("VARIANT", "METRIC")`
	}
	if len(n.args) != want {
		return c.fail(n, "", "m has %d arguments; want %d: %s", len(n.args), want, form)
	}
	for _, a := range n.args {
		if a.kind != text {
			return c.fail(a, "", "%s is no name; write it in quotation marks: %s", c.of(a), form)
		}
	}
	if !c.scope.Expectation {
		return c.metric(n.args[0], "", n.args[0].word)
	}
	if !c.variant(n.args[0], n.args[0].word) {
		return anything
	}
	return c.metric(n.args[1], n.args[0].word, n.args[1].word)
}

func (c *checker) overSeeds(n *node, f function) valueType {
	switch {
	case !c.scope.Expectation:
		return c.fail(n, "", "%s belongs into expectations; a derived metric is of one seed", n.word)
	case c.seed:
		return c.fail(n, "", "%s is within another function over seeds", n.word)
	case len(n.args) != 1:
		return c.fail(n, "", "%s has %d arguments; want 1: %s", n.word, len(n.args), signatures[n.word])
	}
	c.seed = true
	c.want(n.args[0], f.args[0])
	c.seed = false
	return f.result
}
