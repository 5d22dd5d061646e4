package experiment

import (
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/experiment/expression"
)

// choose returns the names of the variants to run, nil for all.
func (r *resolver) choose() ([]string, *Error) {
	names := r.variantNames()
	for i, name := range r.opts.Variants {
		e := &Error{File: fmt.Sprintf("--variant %q", name)}
		switch {
		case !slices.Contains(names, name):
			e.Msg, e.Suggestion = "no such variant; known: "+strings.Join(names, " "), spelling.Nearest(name, names)
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
	scope := s.expectationScope()
	var expect []string
	for i, text := range s.Base.Expect {
		if named := variantsIn(text, scope, without); len(named) > 0 {
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
	s.Reduced = true
	s.Variants = slices.DeleteFunc(s.Variants, func(v Resolved) bool { return slices.Contains(without, v.Name) })
	s.Base.Variants = slices.DeleteFunc(s.Base.Variants, func(v Variant) bool { return slices.Contains(without, v.Name) })
	if slices.Contains(without, s.Base.Baseline) {
		s.Base.Baseline = ""
	}
	s.expectOnly(expect, published)
}

// expectOnly leaves some of what is expected and published of the set.
func (s *Set) expectOnly(expect []string, published []Published) {
	s.Base.Expect, s.Base.Published, s.Base.Robust = expect, published, kept(s.Base.Robust, expect)
	for _, v := range s.Variants {
		v.Experiment.Expect, v.Experiment.Published, v.Experiment.Robust = expect, published, s.Base.Robust
	}
}

// variantsIn returns those of the names that an expectation uses as names of variants.
func variantsIn(text string, scope expression.Scope, names []string) []string {
	e, _ := expression.Compile(text, scope)
	return slices.DeleteFunc(e.Variants(), func(variant string) bool { return !slices.Contains(names, variant) })
}

// Single reduces a set to one run: of a variant, with the first seed, without what compares
// runs or wants them to end by themselves.
func (s *Set) Single(variant int) {
	name := s.Variants[variant].Name
	s.Variants = s.Variants[variant : variant+1]
	s.Base.Seeds = s.Base.Seeds[:1]
	s.Variants[0].Experiment.Seeds = s.Base.Seeds
	for _, e := range []*Experiment{s.Base, s.Variants[0].Experiment} {
		e.Expect, e.Robust = nil, nil
	}
	s.Base.Published = slices.DeleteFunc(slices.Clone(s.Base.Published), func(p Published) bool { return p.Variant != name })
}
