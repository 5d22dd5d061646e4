package experiment

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/internal/spelling"
)

// layer is one override, parsed.
type layer struct {
	path    string // with dots; see dots
	at      origin // of the path
	value   *tree
	variant bool // it changes one variant alone
}

// name returns how messages name the layer.
func (l *layer) name() string {
	if l.at.line > 0 {
		return l.at.via + l.path
	}
	return l.at.file
}

// leaves returns the paths of the single values and lists that a layer sets.
func (l *layer) leaves() (paths []string) {
	var walk func(path string, t *tree)
	walk = func(path string, t *tree) {
		if t.kind != mapping {
			paths = append(paths, path)
			return
		}
		for _, e := range t.keys {
			walk(join(path, e.name), e.value)
		}
	}
	walk(l.path, l.value)
	return paths
}

// parseLayers returns the environment's values, then the overrides.
func parseLayers(opts Options) (layers []layer, errs Errors) {
	given, errs := fromEnvironment(opts)
	for _, o := range append(given, opts.Override...) {
		value, wrong := parseTree([]byte(o.Value), origin{file: o.Origin, dir: o.Dir}, true)
		errs = append(errs, wrong...)
		switch {
		case len(wrong) > 0:
			continue
		case value.kind == null:
			errs = append(errs, &Error{File: o.Origin, Path: o.Path, Msg: "the value is empty"})
			continue
		case value.kind == mapping && len(value.keys) == 0 && !isVariant(dots(o.Path)):
			errs = append(errs, &Error{File: o.Origin, Path: o.Path, Msg: "an empty mapping changes nothing"})
			continue
		}
		l := layer{path: dots(o.Path), at: value.at, value: value}
		normalise(value, brackets(l.path))
		layers = append(layers, l)
	}
	return layers, errs
}

// isVariant reports whether a path is that of a whole variant, which may have no
// values.
func isVariant(path string) bool {
	name, ok := strings.CutPrefix(path, "variants.")
	return ok && !strings.Contains(name, ".")
}

// fromEnvironment returns the overrides of Options.Env.
func fromEnvironment(opts Options) (list []Override, errs Errors) {
	underscores := strings.NewReplacer(".", "_", "-", "_")
	variable := func(path string) string { return "CSIGLAB_" + underscores.Replace(strings.ToUpper(path)) }
	variables := map[string]string{}
	var names []string
	for _, path := range Paths(opts.Tables) {
		name := variable(path)
		variables[name] = path
		names = append(names, name)
	}
	for _, pair := range slices.Sorted(slices.Values(opts.Env)) {
		name, value, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, "CSIGLAB_") || slices.Contains(opts.Reserved, name) {
			continue
		}
		path, ok := variables[name]
		if !ok {
			e := &Error{File: "environment variable " + name, Msg: "sets nothing that an experiment has", Suggestion: spelling.Within(name, names, 1)}
			end := strings.TrimPrefix(name, "CSIGLAB")
			whole := slices.IndexFunc(schema(), func(k *key) bool { return variable(k.path) == name })
			part := slices.IndexFunc(names, func(n string) bool { return strings.HasSuffix(n, end) })
			switch {
			case whole >= 0:
				e.Msg = fmt.Sprintf("%s is %v; a variable sets single values, and CSIGLAB_SEEDS", schema()[whole].path, schema()[whole].form())
				e.Suggestion = "--set " + schema()[whole].path + "=…"
			case strings.HasPrefix(name, "CSIGLAB_VARIANTS_"):
				e.Msg, e.Suggestion = "a variable cannot change one variant alone", "--set variants.NAME.PATH=VALUE"
			case e.Suggestion == "" && part >= 0:
				e.Suggestion = names[part]
			case e.Suggestion == "":
				e.Suggestion = spelling.Nearest(name, names)
			}
			errs = append(errs, e)
			continue
		}
		o := Override{Path: path, Value: value, Origin: "environment variable " + name}
		if strings.HasSuffix(path, ".name") { // before the parameters that it would start afresh
			list = slices.Insert(list, 0, o)
		} else {
			list = append(list, o)
		}
	}
	return list, errs
}

// override applies the layers to the base, or to the variants that they name.
func (r *resolver) override(layers []layer) {
	before := r.base
	var general []layer
	for _, l := range layers {
		if l.path == "variants" || strings.HasPrefix(l.path, "variants.") {
			r.overrideVariants(l)
			continue
		}
		if l.path == "sweep" || strings.HasPrefix(l.path, "sweep.") {
			r.collect(&Error{File: l.at.file, Path: l.path, Msg: "an override cannot change the points; give others with --grid or --list of csiglab sweep"})
			continue
		}
		next := r.base.clone() // an override that fails leaves nothing behind
		if err := next.merge(l.path, l.at, l.value); err != nil {
			r.collect(err)
			continue
		}
		r.base = next
		general = append(general, l)
		for i := range r.declared {
			r.declared[i].later = append(r.declared[i].later, l)
		}
	}
	r.collect(lost(before, r.base, general, true)...)
	r.general = general
}

// reach takes an override of an algorithm's parameter out of the variants, and of the base, whose
// algorithm has no such parameter, if the algorithm of another variant has it. trees are those of
// the variants, nil where one is as the base.
func (r *resolver) reach(trees []*tree) {
	for i := range r.general {
		l := &r.general[i]
		k := slices.IndexFunc(choices, func(c choice) bool {
			param, ok := strings.CutPrefix(l.path, c.path+".")
			return ok && param != "name" && !strings.Contains(param, ".")
		})
		if k < 0 {
			continue
		}
		c, param := &choices[k], l.path[len(choices[k].path)+1:]
		reached, lack := false, []*tree{}
		var notes []string
		for j, t := range trees {
			t = cmp.Or(t, r.base)
			algorithm, has := c.parameter(&r.opts.Tables, t, param)
			if reached = reached || has; !has {
				lack = append(lack, t)
				notes = append(notes, fmt.Sprintf("%s changes nothing of variant %s: %s has no such parameter", l.name(), r.declared[j].name, algorithm))
			}
		}
		if !reached {
			continue // which the decoder says
		}
		if _, has := c.parameter(&r.opts.Tables, r.base, param); !has {
			lack = append(lack, r.base)
		}
		for _, t := range lack {
			t.find(c.path).remove(param) // the base may be there more than once
		}
		r.notes = append(r.notes, notes...)
	}
}

// lost returns an error for each value of a layer that a layer after it removes, so
// that it has no effect. before is the tree without the layers, after the one with all
// of them. With again set, a later layer may give the value of the same path again.
func lost(before, after *tree, layers []layer, again bool) (errs Errors) {
	last := map[string]int{} // path -> the last layer that gives a whole value there
	leaves := make([][]string, len(layers))
	for i := range layers {
		leaves[i] = layers[i].leaves()
		for _, path := range leaves[i] {
			last[path] = i
		}
	}
	for i := range layers {
		for _, path := range leaves[i] {
			by := -1
			for p := path; p != "" && by < 0; p = p[:max(0, strings.LastIndexByte(p, '.'))] {
				if j, ok := last[p]; ok && j > i && (p != path || !again) {
					by = j
				}
			}
			if by < 0 && after.find(path) == nil && len(errs) < maxListed {
				by = remover(before, layers, path, i)
			}
			if by < 0 {
				continue
			}
			l, culprit := layers[i], layers[by]
			e := l.at.error(l.at.via+path, "", "")
			switch {
			case culprit.at.line > 0 && slices.Contains(leaves[by], path):
				e.Msg = "the value is given twice; the other is in line " + strconv.Itoa(culprit.at.line)
			case culprit.at.line > 0:
				e.Msg = fmt.Sprintf("has no effect: %s, in line %d, comes later and replaces it", culprit.path, culprit.at.line)
			default:
				e.Msg = fmt.Sprintf("has no effect: %s comes later and replaces it", culprit.name())
			}
			errs = append(errs, e)
			break // one message for a layer
		}
	}
	return errs
}

// remover returns the layer that removes the path that layer i sets, or -1.
func remover(before *tree, layers []layer, path string, i int) int {
	t := before.clone()
	for j, l := range layers {
		if t.merge(l.path, l.at, l.value) != nil {
			return -1 // it is reported where the layers are applied
		}
		if j > i && t.find(path) == nil {
			return j
		}
	}
	return -1
}

// normalise expands the items that are written in the short form of a kind, so that
// overrides can reach into them. path is that of t, as general returns it.
func normalise(t *tree, path string) {
	for section := range kinds {
		for _, k := range kinds[section] {
			if list := join(section, k.Name); k.Short != nil {
				expand(t, path, list, k.Short)
			}
		}
	}
}

// expand expands the items of a list that are in or below t.
func expand(t *tree, path, list string, short func(string) []KeyText) {
	switch {
	case path == list+"[]":
		keys := []KeyText(nil)
		if t.kind == scalar {
			keys = short(t.text)
		}
		if keys == nil {
			return
		}
		long := &tree{kind: mapping, at: t.at, whole: true}
		for _, k := range keys {
			long.keys = append(long.keys, entry{k.Key, t.at, &tree{kind: scalar, at: t.at, text: k.Text}})
		}
		*t = *long
	case path == list:
		for _, item := range t.items {
			expand(item, path+"[]", list, short)
		}
	case path == "" || strings.HasPrefix(list, path+"."):
		for _, e := range t.keys {
			expand(e.value, join(path, e.name), list, short)
		}
	}
}
