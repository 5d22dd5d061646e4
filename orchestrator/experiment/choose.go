package experiment

import (
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"

	"github.com/csiglab/csiglab/internal/spelling"
)

// choose returns the names of the variants to run, nil for all.
func (r *resolver) choose() ([]string, *Error) {
	names := r.variantNames()
	for i, name := range r.opts.Variants {
		e := &Error{File: fmt.Sprintf("--variant %q", name)}
		switch {
		case !slices.Contains(names, name):
			e.Msg, e.Suggestion = unknown("variant", name, names).Error(), spelling.Nearest(name, names)
		case slices.Contains(r.opts.Variants[:i], name):
			e.Msg = "the variant is given twice"
		default:
			continue
		}
		return nil, e
	}
	return r.opts.Variants, nil
}

// keep leaves out all variants but those of the given names, and the expectations and
// published figures that name one of the others. With no name it keeps everything.
func (s *Set) keep(names []string) {
	if len(names) == 0 {
		return
	}
	var without []string
	for _, v := range s.Variants {
		if !slices.Contains(names, v.Name) {
			without = append(without, v.Name)
		}
	}
	skip := func(what string, i int, text string, variants []string) {
		s.Notes = append(s.Notes, fmt.Sprintf("skipped: %s[%d], %s, because variant %s does not run", what, i, shorten(text), strings.Join(variants, ", ")))
	}
	var expect []string
	for i, text := range s.Base.Expect {
		if named := variantsIn(text, without); len(named) > 0 {
			skip("expect", i, text, named)
		} else {
			expect = append(expect, text)
		}
	}
	var published []Published
	for i, p := range s.Base.Published {
		if slices.Contains(without, p.Variant) {
			skip("published", i, p.Metric+" of "+p.Variant, []string{p.Variant})
		} else {
			published = append(published, p)
		}
	}
	s.Variants = slices.DeleteFunc(s.Variants, func(v Resolved) bool { return slices.Contains(without, v.Name) })
	s.Base.Variants = slices.DeleteFunc(s.Base.Variants, func(v Variant) bool { return slices.Contains(without, v.Name) })
	s.Base.Expect, s.Base.Published = expect, published
	for _, v := range s.Variants {
		v.Experiment.Expect, v.Experiment.Published = expect, published
	}
}

// variantsIn returns those of the names that an expectation uses as names of variants:
// name.metric, name["metric"] or m("name", "metric").
func variantsIn(text string, names []string) (used []string) {
	parsed, err := parser.Parse(text)
	if err != nil {
		return nil // it has been compiled before
	}
	ast.Walk(&parsed.Node, visitor(func(n ast.Node) {
		name := ""
		switch n := n.(type) {
		case *ast.IdentifierNode:
			name = n.Value
		case *ast.CallNode:
			if callee, ok := n.Callee.(*ast.IdentifierNode); ok && callee.Value == "m" && len(n.Arguments) == 2 {
				if argument, ok := n.Arguments[0].(*ast.StringNode); ok {
					name = argument.Value
				}
			}
		}
		if slices.Contains(names, name) && !slices.Contains(used, name) {
			used = append(used, name)
		}
	}))
	return used
}

// visitor calls a function for each node of an expression.
type visitor func(ast.Node)

// Visit implements ast.Visitor.
func (v visitor) Visit(node *ast.Node) { v(*node) }
