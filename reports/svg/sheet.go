package svg

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/lazy"
)

// Scheme is a choice of colours.
type Scheme int

// The schemes of a sheet.
const (
	Light Scheme = iota
	Dark
)

// Sheet is what drawings need of a page's style sheet: its variables in both schemes,
// and the rules whose selectors are names and classes.
type Sheet struct {
	variables [2]map[string]string
	rules     []rule
}

// rule is a selector with the declarations that it stands before.
type rule struct {
	path   []compound // from the ancestor to the element
	weight int        // a greater one wins; of two of the same weight the later one
	style  style
}

// compound is a name, or "", with classes that an element must have.
type compound struct {
	name    string
	classes []string
}

// style are declarations.
type style map[string]string

// properties are those that matter to a drawing.
var properties = []string{
	"display", "fill", "fill-opacity", "font-family", "font-size", "font-weight", "opacity", "paint-order", "shape-rendering",
	"stroke", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "stroke-opacity", "stroke-width", "text-anchor", "dominant-baseline",
}

// text returns the declarations as a style attribute has them.
func (s style) text() string {
	var parts []string
	for _, p := range properties {
		if v, ok := s[p]; ok {
			parts = append(parts, p+":"+v)
		}
	}
	return strings.Join(parts, ";")
}

var (
	comment  = lazy.Regexp(`(?s)/\*.*?\*/`)
	simple   = lazy.Regexp(`^([a-z][a-z0-9]*)?((?:\.[A-Za-z][\w-]*)*)$`)
	variable = lazy.Regexp(`var\((--[\w-]+)\)`)
)

// ParseSheet reads a style sheet. It takes the variables of :root and, for Dark, those of
// :root in a @media rule that asks for prefers-color-scheme: dark. It passes over all
// other rules in @media, and over selectors that it does not support.
func ParseSheet(css string) (*Sheet, error) {
	s := &Sheet{variables: [2]map[string]string{{}, {}}}
	if err := s.read(comment().ReplaceAllString(css, ""), Light, true); err != nil {
		return nil, fmt.Errorf("style sheet: %w", err)
	}
	for name, value := range s.variables[Light] {
		if _, ok := s.variables[Dark][name]; !ok {
			s.variables[Dark][name] = value
		}
	}
	return s, nil
}

// read reads rules. rules says whether those of elements count, or variables alone.
func (s *Sheet) read(css string, scheme Scheme, rules bool) error {
	for {
		selectors, rest, ok := strings.Cut(css, "{")
		if !ok {
			return nil
		}
		depth, end := 1, 0
		for ; end < len(rest) && depth > 0; end++ {
			switch rest[end] {
			case '{':
				depth++
			case '}':
				depth--
			}
		}
		if depth > 0 {
			return errors.New("a rule has no end")
		}
		body := rest[:end-1]
		css = rest[end:]
		selectors = strings.TrimSpace(selectors)
		switch {
		case strings.HasPrefix(selectors, "@media") && strings.Contains(selectors, "prefers-color-scheme: dark"):
			if err := s.read(body, Dark, false); err != nil {
				return err
			}
		case strings.HasPrefix(selectors, "@"):
		case selectors == ":root":
			for name, value := range declarations(body) {
				if strings.HasPrefix(name, "--") {
					s.variables[scheme][name] = value
				}
			}
		case rules:
			s.add(selectors, body)
		}
	}
}

func declarations(body string) style {
	all := style{}
	for _, d := range strings.Split(body, ";") {
		if name, value, ok := strings.Cut(d, ":"); ok {
			all[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	return all
}

func (s *Sheet) add(selectors, body string) {
	own := style{}
	for name, value := range declarations(body) {
		if slices.Contains(properties, name) {
			own[name] = value
		}
	}
	if len(own) == 0 {
		return
	}
	for _, selector := range strings.Split(selectors, ",") {
		r := rule{style: own}
		for _, part := range strings.Fields(selector) {
			m := simple().FindStringSubmatch(part)
			if m == nil {
				r.path = nil
				break
			}
			c := compound{name: m[1]}
			if m[2] != "" {
				c.classes = strings.Split(m[2][1:], ".")
			}
			r.weight += 100 * len(c.classes)
			if c.name != "" {
				r.weight++
			}
			r.path = append(r.path, c)
		}
		if r.path != nil {
			s.rules = append(s.rules, r)
		}
	}
}

func (c *compound) matches(e *element) bool {
	return (c.name == "" || c.name == e.name) && !slices.ContainsFunc(c.classes, func(class string) bool { return !slices.Contains(e.classes, class) })
}

// matches reports whether the rule is for an element with these ancestors, the root first.
func (r *rule) matches(e *element, above []*element) bool {
	at := len(r.path) - 1
	if !r.path[at].matches(e) {
		return false
	}
	at--
	for i := len(above) - 1; i >= 0 && at >= 0; i-- {
		if r.path[at].matches(above[i]) {
			at--
		}
	}
	return at < 0
}

// apply gives an element and those in it their styles.
func (s *Sheet) apply(e *element, above []*element, scheme Scheme) {
	var found []*rule
	for i := range s.rules {
		if s.rules[i].matches(e, above) {
			found = append(found, &s.rules[i])
		}
	}
	slices.SortStableFunc(found, func(a, b *rule) int { return cmp.Compare(a.weight, b.weight) })
	e.style = style{}
	for _, r := range found {
		for name, value := range r.style {
			e.style[name] = s.resolve(value, scheme)
		}
	}
	for name, value := range declarations(e.inline) {
		if slices.Contains(properties, name) {
			e.style[name] = s.resolve(value, scheme)
		}
	}
	for i := range e.attrs {
		e.attrs[i].Value = s.resolve(e.attrs[i].Value, scheme)
	}
	above = append(above, e)
	for _, c := range e.children {
		s.apply(c, above, scheme)
	}
}

// resolve replaces variables by their values.
func (s *Sheet) resolve(value string, scheme Scheme) string {
	if !strings.Contains(value, "var(") {
		return value
	}
	return variable().ReplaceAllStringFunc(value, func(text string) string {
		if v, ok := s.variables[scheme][variable().FindStringSubmatch(text)[1]]; ok {
			return v
		}
		return text
	})
}
