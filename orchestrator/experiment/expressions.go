package experiment

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Expressions are those of package expr without its built-in functions. The
// functions are those below. In a derived metric a name is a metric of the same
// run, and m("rate_gbps.1-10") one whose name is not an identifier. In an
// expectation baseline.fairness_ratio, baseline["rate_gbps.1-10"] and
// m("baseline", "rate_gbps.1-10") are a variant's median over the seeds; within
// every_seed(…), min_over_seeds(…) and max_over_seeds(…) they are the value of
// one seed, and the argument is computed for each seed in turn.

type scope uint8

const (
	derivedScope scope = iota
	expectScope
	seedScope // within an over-seeds function
)

// functions are available in every scope.
var functions = map[string]any{
	"mean": func(v ...float64) (float64, error) {
		s, err := total(v)
		return s / float64(len(v)), err
	},
	"sum": func(v ...float64) (float64, error) { return total(v) },
	"min": func(v ...float64) (float64, error) {
		_, err := total(v)
		return slices.Min(append(v, math.Inf(1))), err
	},
	"max": func(v ...float64) (float64, error) {
		_, err := total(v)
		return slices.Max(append(v, math.Inf(-1))), err
	},
	"median": func(v ...float64) (float64, error) { _, err := total(v); return runfolder.Median(v), err },
	"abs":    math.Abs,
	"between": func(value, low, high float64) bool {
		return low <= value && value <= high
	},
}

func total(v []float64) (float64, error) {
	if len(v) == 0 {
		return 0, errors.New("a mean, sum, min, max or median needs at least one number")
	}
	var sum float64
	for _, x := range v {
		sum += x
	}
	return sum, nil
}

// overSeeds are the functions whose argument is computed per seed.
var overSeeds = []string{"every_seed", "min_over_seeds", "max_over_seeds"}

// exprError is an error of compile and its place: line from 1, column from 0.
type exprError struct {
	line, column int
	msg          string
	suggestion   string
}

func (e *exprError) Error() string {
	return e.msg + spelling.Hint(e.suggestion)
}

// compiled is an expression ready to run. perSeed are the arguments of its
// over-seeds functions, which call them by index; value is the side of the
// comparison that is measured, or nil.
type compiled struct {
	program *vm.Program
	perSeed []*vm.Program
	value   *vm.Program
}

// compile checks an expression. variants are the names that an expectation may
// use. Its error is an *exprError.
func compile(text string, in scope, variants []string) (*compiled, error) {
	c := &compiled{}
	p := &patcher{scope: in, variants: variants, out: c}
	options := []expr.Option{
		expr.DisableAllBuiltins(), expr.Optimize(false), expr.Patch(p),
		expr.Env(environment(in, nil, nil)),
	}
	if in == expectScope {
		options = append(options, expr.AsBool())
	} else {
		options = append(options, expr.AsFloat64())
	}
	program, err := expr.Compile(text, options...)
	if p.err != nil {
		return nil, p.err
	}
	if err != nil {
		return nil, p.explain(err)
	}
	c.program = program
	if in == expectScope {
		if measured := measuredSide(program.Node()); measured != nil {
			options[len(options)-1] = expr.AsFloat64()
			options[2] = expr.Patch(&patcher{done: true})
			// A side that is not a number, such as a comparison of bools, has no value to show.
			if c.value, err = expr.Compile(measured.String(), options...); err != nil {
				c.value = nil
			}
		}
	}
	return c, nil
}

// compileSeed compiles the argument of an over-seeds function, whose names are
// patched already.
func compileSeed(text string, option expr.Option) (*vm.Program, error) {
	return expr.Compile(text, expr.DisableAllBuiltins(), expr.Optimize(false), option, expr.Env(environment(seedScope, nil, nil)))
}

// environment returns the functions of a scope. metric looks a metric up; the
// variant is "" for a derived metric.
func environment(in scope, metric func(variant, name string) (float64, error), seeds func(function string, index int) (any, error)) map[string]any {
	env := maps.Clone(functions)
	if in == derivedScope {
		env["m"] = func(name string) (float64, error) { return metric("", name) }
	} else {
		env["m"] = metric
	}
	if in == expectScope {
		env["every_seed"] = func(i int) (bool, error) {
			v, err := seeds("every_seed", i)
			ok, _ := v.(bool)
			return ok, err
		}
		for _, name := range overSeeds[1:] {
			env[name] = func(i int) (float64, error) {
				v, err := seeds(name, i)
				number, _ := v.(float64)
				return number, err
			}
		}
	}
	return env
}

// patcher turns names into calls of m, and the arguments of over-seeds
// functions into programs.
type patcher struct {
	scope    scope
	variants []string
	out      *compiled
	done     bool // the text has been patched before
	err      *exprError
}

// Visit implements ast.Visitor; children come before their parents.
func (p *patcher) Visit(node *ast.Node) {
	if p.done || p.err != nil {
		return
	}
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		if p.scope == derivedScope && n.Value != "m" && functions[n.Value] == nil {
			ast.Patch(node, metricCall(n.Value))
		}
	case *ast.MemberNode:
		variant, ok1 := n.Node.(*ast.IdentifierNode)
		metric, ok2 := n.Property.(*ast.StringNode)
		if p.scope == expectScope && ok1 && ok2 {
			p.variant(n.Node, variant.Value)
			ast.Patch(node, metricCall(variant.Value, metric.Value))
		}
	case *ast.CallNode:
		p.call(n)
	}
}

func metricCall(arguments ...string) ast.Node {
	call := &ast.CallNode{Callee: &ast.IdentifierNode{Value: "m"}}
	for _, a := range arguments {
		call.Arguments = append(call.Arguments, &ast.StringNode{Value: a})
	}
	return call
}

func (p *patcher) variant(at ast.Node, name string) {
	if !slices.Contains(p.variants, name) {
		p.fail(at, unknown("variant", name, p.variants).Error(), spelling.Nearest(name, p.variants))
	}
}

func (p *patcher) fail(at ast.Node, msg, suggestion string) {
	p.err = &exprError{line: 1, column: at.Location().From, msg: msg, suggestion: suggestion}
}

func (p *patcher) call(n *ast.CallNode) {
	if metric, ok := n.Callee.(*ast.CallNode); ok && p.scope == derivedScope { // patched as if it were a metric
		if name, ok := metric.Arguments[0].(*ast.StringNode); ok {
			p.fail(n, fmt.Sprintf("unknown function %q", name.Value), spelling.Nearest(name.Value, slices.Sorted(maps.Keys(functions))))
		}
		return
	}
	callee, ok := n.Callee.(*ast.IdentifierNode)
	if !ok || p.scope != expectScope {
		return
	}
	if callee.Value == "m" && len(n.Arguments) == 2 {
		if name, ok := n.Arguments[0].(*ast.StringNode); ok {
			p.variant(name, name.Value)
		}
		return
	}
	if !slices.Contains(overSeeds, callee.Value) || len(n.Arguments) != 1 {
		return
	}
	kind := expr.AsFloat64()
	if callee.Value == "every_seed" {
		kind = expr.AsBool()
	}
	program, err := compileSeed(n.Arguments[0].String(), kind)
	if err != nil {
		p.fail(n, callee.Value+": "+p.explain(err).msg, "")
		return
	}
	n.Arguments[0] = &ast.IntegerNode{Value: len(p.out.perSeed)}
	p.out.perSeed = append(p.out.perSeed, program)
}

// explain turns an error of package expr into ours.
func (p *patcher) explain(err error) *exprError {
	var wrong *file.Error
	if !errors.As(err, &wrong) {
		return &exprError{line: 1, msg: err.Error()}
	}
	e := &exprError{line: wrong.Line, column: wrong.Column, msg: strings.ToLower(wrong.Message[:1]) + wrong.Message[1:]}
	if name, ok := strings.CutPrefix(wrong.Message, "unknown name "); ok {
		known := slices.Sorted(maps.Keys(environment(p.scope, nil, nil)))
		if slices.Contains(p.variants, name) {
			e.msg = fmt.Sprintf("%s is a variant; write %s.METRIC", name, name)
		} else {
			e.suggestion = spelling.Nearest(name, append(known, p.variants...))
		}
	}
	return e
}

// measuredSide returns the part of an expectation that is compared with a
// bound, or nil.
func measuredSide(n ast.Node) ast.Node {
	switch n := n.(type) {
	case *ast.BinaryNode:
		switch n.Operator {
		case "and", "&&", "or", "||":
			return measuredSide(n.Left)
		case "<", "<=", ">", ">=", "==", "!=":
			if constant(n.Left) {
				return n.Right
			}
			return n.Left
		}
	case *ast.CallNode:
		if callee, ok := n.Callee.(*ast.IdentifierNode); ok && callee.Value == "between" {
			return n.Arguments[0]
		}
	}
	return nil
}

func constant(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.ConstantNode:
		return true
	case *ast.UnaryNode:
		return constant(n.Node)
	}
	return false
}

// EvalDerived computes the derived metrics of one run from its metrics, in
// order, so that one may use those before it, and returns them. An unknown
// metric and a result that is not a finite number are errors that name the
// derived metric.
func EvalDerived(derived []Derived, metrics map[string]float64) (map[string]float64, error) {
	known := maps.Clone(metrics)
	out := make(map[string]float64, len(derived))
	env := environment(derivedScope, func(_, name string) (float64, error) { return lookup(known, "", name) }, nil)
	for _, m := range derived {
		c, err := compile(m.Expr, derivedScope, nil)
		if err != nil {
			return nil, fmt.Errorf("derived metric %s: %w", m.Name, err)
		}
		v, err := number(c.program, env)
		if err != nil {
			return nil, fmt.Errorf("derived metric %s: %w", m.Name, err)
		}
		out[m.Name] = v
		if known == nil {
			known = map[string]float64{}
		}
		known[m.Name] = v
	}
	return out, nil
}

// ErrUnknownMetric is wrapped by errors about a metric that a run does not have.
var ErrUnknownMetric = errors.New("unknown metric")

func lookup(metrics map[string]float64, prefix, name string) (float64, error) {
	v, ok := metrics[name]
	if ok {
		return v, nil
	}
	if near := spelling.Nearest(name, slices.Sorted(maps.Keys(metrics))); near != "" {
		return 0, fmt.Errorf("%w %q (did you mean %q?)", ErrUnknownMetric, prefix+name, prefix+near)
	}
	return 0, fmt.Errorf("%w %q", ErrUnknownMetric, prefix+name)
}

func number(program *vm.Program, env map[string]any) (float64, error) {
	v, err := run(program, env)
	if err != nil {
		return 0, err
	}
	f := v.(float64) // AsFloat64
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, fmt.Errorf("the result is %v", f)
	}
	return f, nil
}

// run strips the place from package expr's errors, which quote the source.
func run(program *vm.Program, env map[string]any) (any, error) {
	v, err := expr.Run(program, env)
	var wrong *file.Error
	if errors.As(err, &wrong) {
		if wrong.Prev != nil {
			return nil, wrong.Prev
		}
		return nil, errors.New(wrong.Message)
	}
	return v, err
}

// Expectation is an assertion and whether it held.
type Expectation struct {
	Expr string `json:"expr"`
	OK   bool   `json:"ok"`
	// Value is the side of the comparison that is not the bound, or nil when
	// there is none or it is not a finite number.
	Value any `json:"value"`
	// Err says why the expression could not be computed; OK is then false.
	Err string `json:"error,omitempty"`
}

// EvalExpect checks assertions over the metrics of every variant's runs, which
// are in the order of the seeds.
func EvalExpect(exprs []string, runs map[string][]map[string]float64) []Expectation {
	variants := slices.Sorted(maps.Keys(runs))
	medians := make(map[string]map[string]float64, len(runs))
	for _, v := range variants {
		medians[v] = mediansOf(runs[v])
	}
	out := make([]Expectation, len(exprs))
	for i, text := range exprs {
		out[i] = evalExpect(text, variants, medians, runs)
	}
	return out
}

// mediansOf returns, for each metric that every run has, the median over the
// runs.
func mediansOf(runs []map[string]float64) map[string]float64 {
	medians := map[string]float64{}
	if len(runs) == 0 {
		return medians
	}
	for name := range runs[0] {
		values := make([]float64, 0, len(runs))
		for _, r := range runs {
			if v, ok := r[name]; ok {
				values = append(values, v)
			}
		}
		if len(values) == len(runs) {
			medians[name] = runfolder.Median(values)
		}
	}
	return medians
}

func evalExpect(text string, variants []string, medians map[string]map[string]float64, runs map[string][]map[string]float64) Expectation {
	e := Expectation{Expr: text}
	c, err := compile(text, expectScope, variants)
	if err != nil {
		e.Err = err.Error()
		return e
	}
	env := environment(expectScope,
		func(variant, name string) (float64, error) { return lookup(medians[variant], variant+".", name) },
		func(function string, index int) (any, error) { return c.over(function, index, runs) })
	v, err := run(c.program, env)
	if err != nil {
		e.Err = err.Error()
		return e
	}
	e.OK = v.(bool) // AsBool
	if c.value != nil {
		if n, err := number(c.value, env); err == nil {
			e.Value = n
		} else {
			e.OK, e.Err = false, err.Error()
		}
	}
	return e
}

// over computes the argument of an over-seeds function for each seed.
func (c *compiled) over(function string, index int, runs map[string][]map[string]float64) (any, error) {
	seeds := -1
	for variant, list := range runs {
		if seeds >= 0 && len(list) != seeds {
			return nil, fmt.Errorf("%s: variant %s has %d runs, another %d", function, variant, len(list), seeds)
		}
		seeds = len(list)
	}
	if seeds <= 0 {
		return nil, fmt.Errorf("%s: no runs", function)
	}
	var best float64
	for i := range seeds {
		env := environment(seedScope, func(variant, name string) (float64, error) {
			return lookup(runs[variant][i], variant+".", name)
		}, nil)
		if function == "every_seed" {
			v, err := run(c.perSeed[index], env)
			if err != nil || v == false {
				return false, err
			}
			continue
		}
		v, err := number(c.perSeed[index], env)
		if err != nil {
			return nil, err
		}
		switch {
		case i == 0:
			best = v
		case function == "min_over_seeds":
			best = min(best, v)
		default:
			best = max(best, v)
		}
	}
	if function == "every_seed" {
		return true, nil
	}
	return best, nil
}
