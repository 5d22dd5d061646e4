package experiment

import (
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/lazy"
	"github.com/csiglab/csiglab/internal/spelling"
)

// Axis is a key of sweep.axes: a dimension of the points whose values have names. A value stands
// for any number of overrides.
type Axis struct {
	Name   string
	Values []AxisValue
}

// AxisValue is a value of an axis.
type AxisValue struct {
	Name  string
	set   []entry // paths
	words []entry // that values of other axes may write as $word
}

// Judge is the key sweep.judge: what the page of the sweep compares.
type Judge struct {
	// Between are the axes whose combinations are rivals. Those of the other axes are the cells in
	// which they are compared.
	Between []string `json:"between"`
	// Baseline are the values, by axis, of the rivals that the others are measured against.
	Baseline map[string][]string `json:"baseline,omitempty"`
	// Sides are what the baseline and the others are called, such as "without CSIG"; none, or two.
	Sides   []string       `json:"sides,omitempty"`
	Metrics []JudgedMetric `json:"metrics"`
}

// JudgedMetric is a metric with its title.
type JudgedMetric struct {
	Name  string `json:"name"`
	Title string `json:"title"`
}

// axisValueName is what values of axes may be called: words that need no quotes in a shell.
var axisValueName = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9+:._/-]{0,63}$`)

// parseAxes reads a mapping from the names of axes to their values.
func parseAxes(t *tree, at string) (axes []Axis, errs Errors) {
	if t.kind == broken {
		return nil, nil
	}
	if t.kind != mapping || len(t.keys) == 0 {
		return nil, Errors{t.at.error(at, "want a mapping from names of axes to their values, such as rate: [100Gbps, 400Gbps]", "")}
	}
	for _, e := range t.keys {
		axis := Axis{Name: e.name}
		where := join(at, e.name)
		bad := func(at origin, path, msg string) { errs = append(errs, at.error(path, msg, "")) }
		if rule := vocabulary["group"]; !rule.allows(e.name) || slices.Contains([]string{"point", "variant", "seed", "outcome", "reason"}, e.name) {
			bad(e.at, where, fmt.Sprintf("%q is not %s, or is another column of the table", e.name, rule.want))
		}
		add := func(at origin, v AxisValue) {
			switch {
			case !axisValueName().MatchString(v.Name):
				bad(at, where, fmt.Sprintf("%q is no name of a value: want letters, digits and + : . _ / -", v.Name))
			case slices.ContainsFunc(axis.Values, func(o AxisValue) bool { return o.Name == v.Name }):
				bad(at, where, fmt.Sprintf("the value %s is given twice", v.Name))
			}
			axis.Values = append(axis.Values, v)
		}
		switch {
		case e.value.kind == sequence && len(e.value.items) > 0:
			for _, item := range e.value.items {
				if item.kind != scalar {
					bad(item.at, where, fmt.Sprintf("want a single value, got %v; values of several keys need names, such as name: {path: value}", item.kind))
					continue
				}
				add(item.at, AxisValue{Name: item.text, words: []entry{{e.name, item.at, item}}})
			}
		case e.value.kind == mapping && len(e.value.keys) > 0:
			for _, named := range e.value.keys {
				v, more := parseAxisValue(named, join(where, named.name))
				errs = append(errs, more...)
				add(named.at, v)
			}
		case e.value.kind != broken:
			bad(e.value.at, where, "want a list of values, or a mapping from their names to what they set")
		}
		axes = append(axes, axis)
	}
	if len(errs) == 0 {
		errs = checkWords(axes, at)
	}
	return axes, errs
}

// parseAxisValue reads what a value of an axis sets; nothing sets nothing.
func parseAxisValue(e entry, at string) (v AxisValue, errs Errors) {
	v.Name = e.name
	switch e.value.kind {
	case broken, null:
		return v, nil
	case mapping:
	default:
		return v, Errors{e.value.at.error(at, "want a mapping from paths to values", "")}
	}
	for _, set := range e.value.keys {
		word, is := strings.CutPrefix(set.name, "$")
		msg, suggestion := "", ""
		if !is {
			msg, suggestion = checkSweptPath(set.name)
		}
		switch {
		case msg != "":
			errs = append(errs, set.at.error(join(at, set.name), msg, suggestion))
		case set.value.kind == broken:
		case set.value.kind == null:
			errs = append(errs, set.at.error(join(at, set.name), "the key has no value", ""))
		case is:
			v.words = append(v.words, entry{word, set.at, set.value})
		default:
			v.set = append(v.set, set)
		}
	}
	return v, errs
}

// checkWords refuses a $word that not every point defines once, and a path to which values of two
// axes give different values.
func checkWords(axes []Axis, at string) (errs Errors) {
	defined := map[string]int{} // by word: the axes that define it in each value
	var words []string
	for _, axis := range axes {
		count := map[string]int{}
		for _, v := range axis.Values {
			for _, w := range v.words {
				count[w.name]++
			}
		}
		for word, n := range count {
			if n == len(axis.Values) {
				defined[word]++
				words = append(words, word)
			}
		}
	}
	slices.Sort(words)
	type setter struct {
		axis int
		text string
		at   origin
	}
	first := map[string]setter{}
	for i, axis := range axes {
		for _, v := range axis.Values {
			for _, set := range v.set {
				set.value.eachWord(func(t *tree, word string) {
					if defined[word] != 1 {
						near := spelling.Nearest(word, words)
						if near != "" {
							near = "$" + near
						}
						errs = append(errs, t.at.error(join(join(at, axis.Name), v.Name), fmt.Sprintf("%s has no meaning at each point: want a word that every value of one axis defines", t.text), near))
					}
				})
				path, text := dots(set.name), inline(set.value)
				other, ok := first[path]
				if ok && other.axis != i && other.text != text {
					errs = append(errs, set.at.error(join(at, axis.Name), fmt.Sprintf("another axis sets %s to another value: %s", set.name, other.text), ""))
				}
				if !ok {
					first[path] = setter{i, text, set.at}
				}
			}
		}
	}
	return errs
}

// eachWord calls visit with the scalars that are a $word.
func (t *tree) eachWord(visit func(t *tree, word string)) {
	if word, ok := strings.CutPrefix(t.text, "$"); ok && t.kind == scalar && !t.quoted {
		visit(t, word)
	}
	for _, e := range t.keys {
		e.value.eachWord(visit)
	}
	for _, item := range t.items {
		item.eachWord(visit)
	}
}

// overridesOf returns the overrides that values of axes stand for together.
func overridesOf(values []*AxisValue) (list []Override) {
	for _, v := range values {
		for _, e := range v.set {
			t := e.value.clone()
			t.eachWord(func(at *tree, word string) {
				for _, v := range values {
					for _, w := range v.words {
						if w.name == word {
							*at = *w.value.clone()
						}
					}
				}
			})
			o := Override{Path: e.name, Value: inline(t), Origin: e.value.place(), Dir: e.value.at.dir}
			if !slices.ContainsFunc(list, func(p Override) bool { return dots(p.Path) == dots(o.Path) }) { // an equal one
				list = append(list, o)
			}
		}
	}
	return list
}

// parseJudge reads the key sweep.judge.
func parseJudge(t *tree, at string, axes []Axis) (j *Judge, errs Errors) {
	bad := func(at origin, path, msg, suggestion string) {
		errs = append(errs, at.error(path, msg, suggestion))
	}
	j = &Judge{}
	if t.kind != mapping {
		bad(t.at, at, "want a mapping with the keys between, baseline, sides and metrics", "")
		return nil, errs
	}
	values := func(e entry, path string, known []string) (list []string) {
		for _, item := range e.value.items {
			if !slices.Contains(known, item.text) {
				bad(item.at, path, unknown("value", item.text, known).Error(), spelling.Nearest(item.text, known))
			}
			list = append(list, item.text)
		}
		if len(list) == 0 {
			bad(e.value.at, path, "want a list", "")
		}
		return list
	}
	var names []string
	for _, axis := range axes {
		names = append(names, axis.Name)
	}
	for _, e := range t.keys {
		path := join(at, e.name)
		switch e.name {
		case "between":
			j.Between = values(e, path, names)
		case "baseline":
			j.Baseline = map[string][]string{}
			for _, b := range e.value.keys {
				i := slices.Index(names, b.name)
				if i < 0 {
					bad(b.at, join(path, b.name), unknown("axis", b.name, names).Error(), spelling.Nearest(b.name, names))
					continue
				}
				j.Baseline[b.name] = values(b, join(path, b.name), axes[i].names())
			}
		case "sides":
			for _, item := range e.value.items {
				j.Sides = append(j.Sides, item.text)
			}
			if len(j.Sides) != 2 {
				bad(e.value.at, path, "want what the baseline and the others are called: two texts", "")
			}
		case "metrics":
			for _, m := range e.value.keys {
				j.Metrics = append(j.Metrics, JudgedMetric{Name: m.name, Title: m.value.text})
			}
		default:
			keys := []string{"between", "baseline", "sides", "metrics"}
			bad(e.at, path, unknown("key", e.name, keys).Error(), spelling.Nearest(e.name, keys))
		}
	}
	if len(errs) == 0 && (len(j.Between) == 0 || len(j.Metrics) == 0) {
		bad(t.at, at, "want the keys between, the axes that compete, and metrics, from names to titles", "")
	}
	for name := range j.Baseline {
		if !slices.Contains(j.Between, name) {
			bad(t.at, join(at, "baseline"), fmt.Sprintf("%s is not one of the axes between which the sweep judges", name), "")
		}
	}
	return j, errs
}

// names returns the names of the values.
func (a *Axis) names() (list []string) {
	for _, v := range a.Values {
		list = append(list, v.Name)
	}
	return list
}

// At returns the sweep with some values of axes alone, as AXIS=VALUE,VALUE.
func (s *Sweep) At(option string, texts []string) (*Sweep, error) {
	if len(texts) == 0 {
		return s, nil
	}
	if s == nil || len(s.Axes) == 0 {
		return nil, &Error{File: option + " " + texts[0], Msg: "the experiment's sweep has no axes"}
	}
	chosen := *s
	chosen.Axes = slices.Clone(s.Axes)
	var names []string
	for _, axis := range s.Axes {
		names = append(names, axis.Name)
	}
	for _, text := range texts {
		name, list, ok := strings.Cut(text, "=")
		i := slices.Index(names, name)
		if !ok || i < 0 {
			return nil, &Error{File: option + " " + text, Msg: "want AXIS=VALUE,VALUE of the axes " + strings.Join(names, " "), Suggestion: spelling.Nearest(name, names)}
		}
		axis := Axis{Name: name}
		wanted := strings.Split(list, ",")
		known := s.Axes[i].names()
		for _, value := range wanted {
			if !slices.Contains(known, value) {
				return nil, &Error{File: option + " " + text, Msg: unknown("value", value, known).Error(), Suggestion: spelling.Nearest(value, known)}
			}
		}
		for _, v := range s.Axes[i].Values {
			if slices.Contains(wanted, v.Name) {
				axis.Values = append(axis.Values, v)
			}
		}
		chosen.Axes[i] = axis
	}
	return &chosen, nil
}

// LoadSweep returns the key sweep of an experiment, nil without one.
func LoadSweep(nameOrPath string) (*Sweep, error) {
	data, dir, err := Text(nameOrPath)
	if err != nil {
		return nil, err
	}
	file, errs := parseTree(data, origin{file: nameOrPath, dir: dir}, false)
	if len(errs) > 0 {
		return nil, errs
	}
	s, errs := parseSweep(file.get("sweep"))
	if len(errs) > 0 {
		return nil, errs
	}
	return s, nil
}
