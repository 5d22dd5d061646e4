package experiment

import (
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/csig"
)

// Tables are the names that other packages define. An experiment file may use these
// names and no others. A nil slice or function accepts every name, which is for
// tests.
type Tables struct {
	CC, LB, AQM, Routing []algorithm.Spec
	// Quantisers returns an error when a format has no quantiser of that name for that type of
	// signal.
	Quantisers func(format csig.Format, signal csig.Type, name string) error
}

// choice is a key whose value is an Algorithm. The tag is of such keys is the name of the choice.
type choice struct {
	path  string
	table func(*Tables) []algorithm.Spec
	of    func(*Experiment) *Algorithm
}

var choices = []choice{
	{"hosts.cc", func(t *Tables) []algorithm.Spec { return t.CC }, func(e *Experiment) *Algorithm { return &e.Hosts.CC }},
	{"hosts.lb", func(t *Tables) []algorithm.Spec { return t.LB }, func(e *Experiment) *Algorithm { return &e.Hosts.LB }},
	{"links.aqm", func(t *Tables) []algorithm.Spec { return t.AQM }, func(e *Experiment) *Algorithm { return &e.Links.AQM }},
	{"routing", func(t *Tables) []algorithm.Spec { return t.Routing }, func(e *Experiment) *Algorithm { return &e.Routing }},
}

// name returns the last part of the path: cc, lb, aqm or routing.
func (c *choice) name() string { return c.path[strings.LastIndex(c.path, ".")+1:] }

// parameter returns the algorithm that an experiment chooses, and whether it has a parameter. A name
// that no algorithm has may have any, so that the decoder says what is wrong.
func (c *choice) parameter(tables *Tables, t *tree, name string) (algorithm string, has bool) {
	algorithm = c.fallback()
	if at := t.find(c.path + ".name"); at != nil {
		algorithm = at.text
	}
	specs := c.table(tables)
	for i := range specs {
		if specs[i].Name == algorithm {
			_, has = specs[i].Param(name)
			return algorithm, has
		}
	}
	return algorithm, true
}

// fallback returns the name of the algorithm that is taken where none is named.
func (c *choice) fallback() string { return keyAt(c.path).fallback }

// ownerKey returns the key of the mapping at a path to which the other keys belong, so that
// another value of it drops them; "" without.
func ownerKey(path string) string {
	if k := keyAt(path); k.owned {
		return k.short
	}
	return ""
}

// suggestion returns what was probably meant by a text that is no value of the
// parameter, or "".
func suggestion(p algorithm.Param, text string) string {
	switch p.Kind {
	case algorithm.Bool:
		return nearestBool(text)
	case algorithm.Duration, algorithm.Size, algorithm.Rate:
		return suggestUnit(text, string(p.Kind))
	}
	return spelling.Nearest(text, p.Values)
}

func specNames(specs []algorithm.Spec) []string {
	names := make([]string, len(specs))
	for i, s := range specs {
		names[i] = s.Name
	}
	return names
}

func paramNames(params []algorithm.Param) []string {
	names := make([]string, len(params))
	for i, p := range params {
		names[i] = p.Name
	}
	return names
}

// noParameter reports a key of an algorithm that is none of its parameters. It may be
// one of another algorithm, or a key of another section.
func (d *decoder) noParameter(e entry, at, algorithm string, known []string) {
	msg := fmt.Sprintf("%s has no such parameter", algorithm)
	near := spelling.Nearest(e.name, known)
	if near == "" && len(d.errs) < maxListed {
		for _, h := range d.homes(e.name, e.value) {
			if h.fits && h.path != at {
				near = h.path
				break
			}
		}
	}
	if near == "" {
		msg += "; known: " + strings.Join(known, " ")
	}
	d.fail(e.at, at, msg, near)
}

// algorithm decodes the value of a choice at a path: a name, or a mapping with the key
// name and one key per parameter; nil is the default. Parameters that are not
// given take the table's defaults.
func (d *decoder) algorithm(t *tree, c *choice, path string) Algorithm {
	specs := c.table(&d.tables)
	a := Algorithm{Name: c.fallback(), Params: algorithm.Values{}}
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
	var spec algorithm.Spec
	if specs != nil {
		i := slices.IndexFunc(specs, func(s algorithm.Spec) bool { return s.Name == a.Name })
		if i < 0 {
			names := specNames(specs)
			msg, near := unknown("algorithm", a.Name, names).Error(), spelling.Nearest(a.Name, names)
			if near == "" {
				msg += "; one of your own needs the csiglab that csiglab build --with makes of its module"
			}
			d.failAt(join(path, "name"), msg, near)
			return a
		}
		spec = specs[i]
	}
	for _, p := range spec.Params {
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
		p, known := spec.Param(e.name)
		switch {
		case specs != nil && !known:
			d.noParameter(e, at, a.Name, append(paramNames(spec.Params), "name"))
		case e.value.kind != scalar:
			d.fail(e.value.at, at, fmt.Sprintf("want a single value, got %v", e.value.kind), "")
		case specs == nil:
			a.Params[e.name] = e.value.text
		default:
			text, err := p.Parse(e.value.text)
			if err != nil {
				d.fail(e.value.at, at, err.Error(), suggestion(p, e.value.text))
				continue
			}
			a.Params[e.name] = text
		}
	}
	return a
}
