package experiment

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/units"
)

// Tables are the names that other packages define: the experiment file may use
// these and no others. A nil slice or function accepts every name, which is for
// tests that do not care.
type Tables struct {
	CC, LB []AlgorithmSpec
	// Quantisers returns an error when a format (compact, wide) has no quantiser
	// of that name for that signal type.
	Quantisers func(format, signal, name string) error
}

// AlgorithmSpec is one algorithm of a table.
type AlgorithmSpec struct {
	Name   string
	Doc    string
	Params []ParamSpec
}

// ParamSpec is one parameter of an algorithm.
type ParamSpec struct {
	Name    string
	Kind    ParamKind
	Values  []string // of an Enum
	Default string   // may be a word instead of the kind, such as auto; "" is no default
	Doc     string
	// Check tests what the kind does not, on a text of the kind that is not the
	// default; nil for nothing.
	Check func(text string) error
}

// ParamKind is the type of a parameter's text.
type ParamKind string

// Kinds of parameter.
const (
	Bool     ParamKind = "bool"
	Number   ParamKind = "number" // a real number
	Int      ParamKind = "int"
	Duration ParamKind = "duration"
	Size     ParamKind = "size"
	Rate     ParamKind = "rate"
	Enum     ParamKind = "enum"
)

// parse checks a parameter's text and returns it in its canonical form, in
// which equal values have equal texts.
func (p *ParamSpec) parse(text string) (canonical, suggestion string, err error) {
	canonical, suggestion, err = p.parseKind(text)
	if err == nil && p.Check != nil && text != p.Default {
		return canonical, "", p.Check(canonical)
	}
	return canonical, suggestion, err
}

func (p *ParamSpec) parseKind(text string) (canonical, suggestion string, err error) {
	if text == p.Default {
		return text, "", nil // it may be a word, such as auto
	}
	switch p.Kind {
	case Bool:
		if text != "true" && text != "false" {
			return "", nearestBool(text), fmt.Errorf("%q is not true or false", text)
		}
		return text, "", nil
	case Int:
		v, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return "", "", fmt.Errorf("%q is not a whole number", text)
		}
		return strconv.FormatInt(v, 10), "", nil
	case Number:
		v, err := parseNumber(text)
		if err != nil {
			return "", "", err
		}
		return strconv.FormatFloat(v, 'g', -1, 64), "", nil
	case Duration:
		v, err := units.ParseDuration(text)
		return v.String(), suggestUnit(text, "duration"), err
	case Size:
		v, err := units.ParseSize(text)
		return v.String(), suggestUnit(text, "size"), err
	case Rate:
		v, err := units.ParseRate(text)
		return v.String(), suggestUnit(text, "rate"), err
	case Enum:
		if !slices.Contains(p.Values, text) {
			return "", spelling.Nearest(text, p.Values), unknown("value", text, p.Values)
		}
		return text, "", nil
	}
	panic("experiment: parameter " + p.Name + " has the unknown kind " + string(p.Kind))
}

func specNames(specs []AlgorithmSpec) []string {
	names := make([]string, len(specs))
	for i, s := range specs {
		names[i] = s.Name
	}
	return names
}

func paramNames(params []ParamSpec) []string {
	names := make([]string, len(params))
	for i, p := range params {
		names[i] = p.Name
	}
	return names
}

// algorithm decodes hosts.cc and hosts.lb: a name, or a mapping with the key
// name and one key per parameter. Parameters that are not given take the
// table's defaults.
func (d *decoder) algorithm(t *tree, path string, specs []AlgorithmSpec, fallback string) Algorithm {
	a := Algorithm{Name: fallback, Params: map[string]string{}}
	var given []entry
	switch {
	case t == nil:
	case t.kind == scalar:
		a.Name = t.text
	case t.kind == mapping:
		given = t.keys
		if name := t.get("name"); name != nil {
			d.node[join(path, "name")] = name
			a.Name = name.text
		}
	default:
		d.fail(t.at, path, fmt.Sprintf("want an algorithm's name or a mapping, got %v", t.kind), "")
		return a
	}
	index := slices.IndexFunc(specs, func(s AlgorithmSpec) bool { return s.Name == a.Name })
	if index < 0 && specs != nil {
		names := specNames(specs)
		d.failAt(join(path, "name"), unknown("algorithm", a.Name, names).Error(), spelling.Nearest(a.Name, names))
		return a
	}
	var params []ParamSpec
	if specs != nil {
		params = specs[index].Params
	}
	for _, p := range params {
		if p.Default != "" {
			a.Params[p.Name] = p.Default
		}
	}
	for _, e := range given {
		if e.name == "name" {
			continue
		}
		at := join(path, e.name)
		d.node[at] = e.value
		i := slices.IndexFunc(params, func(p ParamSpec) bool { return p.Name == e.name })
		switch {
		case specs != nil && i < 0:
			names := paramNames(params)
			d.fail(e.at, at, fmt.Sprintf("%s has no such parameter", a.Name), spelling.Nearest(e.name, names))
		case e.value.kind != scalar:
			d.fail(e.value.at, at, fmt.Sprintf("want a single value, got %v", e.value.kind), "")
		case specs == nil:
			a.Params[e.name] = e.value.text
		default:
			text, suggestion, err := params[i].parse(e.value.text)
			if err != nil {
				d.fail(e.value.at, at, err.Error(), suggestion)
				continue
			}
			a.Params[e.name] = text
		}
	}
	return a
}
