package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/section/variants"
)

// Several compares two sides and more with the first one, A.
type Several struct {
	Schema int `json:"schema"` // the constant
	// Comparisons are of B, C and so on, with A. All metrics that are compared with one case of A share
	// the confidence.
	Comparisons []*Comparison `json:"comparisons"`

	sides []string // arguments of the command line, by letter
}

// several compares the sides. The error is an *Error.
func (s *Sides) several() (*Several, error) {
	all := &Several{Schema: Schema}
	var pairs [][][2]*Case
	for i, o := range s.all {
		all.sides = append(all.sides, strings.TrimSuffix(o.name+":"+o.variant, ":"))
		if i == 0 {
			continue
		}
		d := s.designOf(i)
		d.side = letter(i)
		c, of, err := d.measure(s.all[0].measured, o.measured)
		if err != nil {
			return nil, err
		}
		all.Comparisons, pairs = append(all.Comparisons, c), append(pairs, of)
	}
	for _, g := range all.groups() {
		s.design.judge(slices.DeleteFunc(slices.Clone(g.of), func(c *CaseComparison) bool { return c == nil }))
	}
	for i, c := range all.Comparisons {
		d := s.designOf(i + 1)
		c.end(pairs[i], &d)
	}
	return all, nil
}

// Any reports whether a comparison has a metric.
func (s *Several) Any() bool { return slices.ContainsFunc(s.Comparisons, (*Comparison).Any) }

// group is a case of A with those that are compared with it.
type group struct {
	of []*CaseComparison // by comparison; nil: this side has no such case
}

// groups returns the cases of A that are compared, in the order in which sides have them.
func (s *Several) groups() (all []group) {
	index := map[string]int{}
	for k, c := range s.Comparisons {
		for i := range c.Cases {
			one := &c.Cases[i]
			key := fmt.Sprintf("%q %q", one.Point, one.VariantA)
			at, ok := index[key]
			if !ok {
				at = len(all)
				index[key], all = at, append(all, group{make([]*CaseComparison, len(s.Comparisons))})
			}
			all[at].of[k] = one
		}
	}
	return all
}

// title names a group.
func (s *Several) title(g *group) string {
	one, named := s.first(g), false
	names := []string{one.VariantA + " of A"}
	for k, other := range g.of {
		if other != nil {
			named = named || other.VariantA != other.VariantB
			names = append(names, other.VariantB+" of "+s.Comparisons[k].named())
		}
	}
	point := (&Case{Point: one.Point}).pointName()
	switch {
	case !named && point != "":
		return one.Name
	case !named:
		return "Variant " + one.VariantA
	case point != "":
		return point + ": " + strings.Join(names, ", ")
	}
	return "Variant " + strings.Join(names, ", ")
}

// first returns one of the comparisons of a group.
func (s *Several) first(g *group) *CaseComparison {
	return g.of[slices.IndexFunc(g.of, func(c *CaseComparison) bool { return c != nil })]
}

// says tells what came out of a group.
func (s *Several) says(g *group) string {
	var seeds, outcomes []string
	for k, one := range g.of {
		if one == nil {
			continue
		}
		c := s.Comparisons[k]
		if text := c.seedsText(one); !slices.Contains(seeds, text) {
			seeds = append(seeds, text)
		}
		outcomes = append(outcomes, c.named()+" "+c.outcomeText(one))
	}
	if len(seeds) == 1 {
		return seeds[0] + ": " + strings.Join(outcomes, "; ")
	}
	for i, k := 0, 0; k < len(g.of); k++ {
		if one := g.of[k]; one != nil {
			outcomes[i] += " (" + s.Comparisons[k].seedsText(one) + ")"
			i++
		}
	}
	return strings.Join(outcomes, "; ")
}

// help says what would turn inconclusive metrics of a group into others.
func (s *Several) help(g *group) string {
	for k, one := range g.of {
		if one != nil {
			if text := caseHelp(s.Comparisons[k], one); text != "" {
				return text
			}
		}
	}
	return ""
}

// telling ranks groups as tellingCase ranks cases.
func (g *group) telling() (most int) {
	for _, one := range g.of {
		if one != nil {
			most = max(most, tellingCase(one))
		}
	}
	return most
}

// level is that of the side with the most to say.
func (g *group) level() (most section.Level) {
	most = section.Quiet
	for _, one := range g.of {
		if one != nil {
			most = max(most, level(one))
		}
	}
	return most
}

// banner is the comparison in short.
func (s *Several) banner() section.Banner {
	b := section.Banner{State: section.Good}
	var texts []string
	for _, c := range s.Comparisons {
		own := banner(c)
		if own.State == section.Bad || own.State == section.Warn && b.State == section.Good {
			b.State = own.State
		}
		counts, identical := c.counts()
		text := c.named() + " " + outcomeCounts(func(o variants.Effect) int { return counts[o] })
		if identical > 0 && identical == len(c.Cases) {
			text = c.named() + " has the same traces, " + strings.TrimPrefix(text, c.named()+" ")
		}
		texts = append(texts, text)
	}
	b.Headline = "Against A: " + strings.Join(texts, "; ")
	return b
}

// notes are those of all comparisons, each once.
func (s *Several) notes() (all []string) {
	for _, c := range s.Comparisons {
		for _, note := range c.Notes {
			if !slices.Contains(all, note) {
				all = append(all, note)
			}
		}
	}
	return all
}

// overall returns the means over all cases, by metric and comparison, nil where there is none: those
// that are worse first, then by size.
func (s *Several) overall() (names []string, of map[string][]*Overall) {
	of = map[string][]*Overall{}
	for k, c := range s.Comparisons {
		for i := range c.Overall {
			o := &c.Overall[i]
			if of[o.Name] == nil {
				names, of[o.Name] = append(names, o.Name), make([]*Overall, len(s.Comparisons))
			}
			of[o.Name][k] = o
		}
	}
	first := func(name string) *Overall {
		all := slices.DeleteFunc(slices.Clone(of[name]), func(o *Overall) bool { return o == nil })
		return slices.MinFunc(all, func(a, b *Overall) int { return a.telling(b) })
	}
	slices.SortStableFunc(names, func(a, b string) int { return first(a).telling(first(b)) })
	return names, of
}

// row is a metric of a group.
type row struct {
	of []*MetricComparison // by comparison; nil: it has none
}

// most returns the comparison that says the most.
func (r *row) most() (most *MetricComparison) {
	for _, m := range r.of {
		if m != nil && (most == nil || telling(m, most) < 0) {
			most = m
		}
	}
	return most
}

// rows returns the metrics of a group, the most telling first.
func (g *group) rows() []row {
	var all []row
	index := map[string]int{}
	for k, one := range g.of {
		if one == nil {
			continue
		}
		for i := range one.Metrics {
			m := &one.Metrics[i]
			at, ok := index[m.Name]
			if !ok {
				at = len(all)
				index[m.Name], all = at, append(all, row{make([]*MetricComparison, len(g.of))})
			}
			all[at].of[k] = m
		}
	}
	slices.SortStableFunc(all, func(a, b row) int { return telling(a.most(), b.most()) })
	return all
}

// same reports whether a metric is the same on all sides.
func (r *row) same() bool { return r.most().Outcome == variants.Same }

// important orders metrics as those of a page.
func (r *row) important(o *row) int {
	a, b := r.most(), o.most()
	return cmp.Or(cmp.Compare(slices.Index(Effects, a.Outcome), slices.Index(Effects, b.Outcome)), cmp.Compare(importance(a), importance(b)))
}

// base prints A's value.
func (r *row) base() string {
	a, _ := metricValues(r.most())
	return a
}
