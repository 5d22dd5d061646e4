package experiment

import (
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/spelling"
)

// declaredVariant is a variant with its own overrides and those that win over
// them.
type declaredVariant struct {
	name  string
	own   []layer
	later []layer
}

// changes reports whether the variant may differ from the base.
func (v *declaredVariant) changes() bool {
	return len(v.own) > 0 || slices.ContainsFunc(v.later, func(l layer) bool { return l.variant })
}

// merge returns the base with the variant's overrides.
func (v *declaredVariant) merge(base *tree) (t *tree, errs Errors) {
	t = base.clone()
	for _, layers := range [][]layer{v.own, v.later} {
		before := t.clone()
		for _, l := range layers {
			if err := t.merge(l.path, l.at, l.value); err != nil {
				errs = append(errs, err)
			}
		}
		if len(errs) > 0 {
			return t, errs
		}
		fromFile := len(layers) > 0 && layers[0].at.line > 0
		for _, e := range lost(before, t, layers, !fromFile) {
			if strings.HasPrefix(e.Path, "variants."+v.name+".") { // others have been reported for all variants
				errs = append(errs, e)
			}
		}
	}
	return t, errs
}

// parseVariants reads the key variants of a file, or the value of an override of that
// path. nil stands for the one variant of an experiment without the key.
func parseVariants(t *tree) (list []declaredVariant, errs Errors) {
	const path = "variants"
	bad := func(at origin, path, msg string) {
		errs = append(errs, at.error(path, msg, ""))
	}
	switch {
	case t == nil:
		return []declaredVariant{{name: "run"}}, nil
	case t.kind == broken:
	case t.kind != mapping:
		bad(t.at, path, fmt.Sprintf("want a mapping from each variant's name to its overrides, got %v", t.kind))
	case len(t.keys) == 0:
		bad(t.at, path, "the mapping is empty; want a mapping from each variant's name to its overrides")
	case len(t.keys) > maxVariants:
		bad(t.at, path, fmt.Sprintf("%d variants are too many; the most is %d", len(t.keys), maxVariants))
	default:
		for _, e := range t.keys {
			v := declaredVariant{name: e.name}
			if !vocabulary["name"].allows(e.name) {
				bad(e.at, join(path, e.name), fmt.Sprintf("%q is not %s", e.name, vocabulary["name"].want))
			}
			own, more := variantLayers(e.name, e.at, e.value)
			v.own, errs = own, append(errs, more...)
			list = append(list, v)
		}
	}
	return list, errs
}

// variantLayers returns the overrides of a variant's mapping; null is an empty one.
func variantLayers(name string, at origin, t *tree) (layers []layer, errs Errors) {
	path := join("variants", name)
	bad := func(at origin, path, msg string) {
		errs = append(errs, at.error(path, msg, ""))
	}
	switch t.kind {
	case null, broken:
		return nil, nil
	case mapping:
	default:
		bad(t.at, path, fmt.Sprintf("want a mapping from paths to values, got %v", t.kind))
		return nil, errs
	}
	for _, e := range t.keys {
		l := layer{path: dots(e.name), at: e.at, value: e.value, variant: true}
		top, _, _ := strings.Cut(l.path, ".")
		switch {
		case slices.Contains(fixed, top):
			bad(e.at, join(path, e.name), fmt.Sprintf("a variant cannot change %s, which all variants share", top))
			continue
		case e.value.kind == mapping && len(e.value.keys) == 0:
			bad(e.at, join(path, e.name), "an empty mapping changes nothing")
			continue
		}
		normalise(l.value, brackets(l.path))
		l.value.mark(path + ".")
		l.at.via = path + "."
		layers = append(layers, l)
	}
	return layers, errs
}

// overrideVariants applies a layer of the path variants, variants.NAME or
// variants.NAME.PATH. The first replaces all variants, the second changes a variant or
// adds one.
func (r *resolver) overrideVariants(l layer) {
	bad := func(msg, suggestion string) {
		r.collect(&Error{File: l.at.file, Path: l.path, Msg: msg, Suggestion: suggestion})
	}
	if l.path == "variants" {
		list, errs := parseVariants(l.value)
		r.collect(errs...)
		for _, v := range r.declared {
			for _, earlier := range v.later {
				if earlier.variant {
					r.collect(&Error{File: earlier.at.file, Path: earlier.at.via + earlier.path,
						Msg: fmt.Sprintf("has no effect: %s comes later and replaces all variants", l.name())})
				}
			}
		}
		for i := range list { // they win over what has been given before
			list[i].own, list[i].later = nil, list[i].own
		}
		r.declared = list
		return
	}
	name, path, within := strings.Cut(strings.TrimPrefix(l.path, "variants."), ".")
	i := slices.IndexFunc(r.declared, func(v declaredVariant) bool { return v.name == name })
	value := l.value
	if within {
		value = &tree{kind: mapping, at: l.at, keys: []entry{{path, l.at, l.value}}}
	}
	switch {
	case i < 0 && within:
		names := r.variantNames()
		bad(unknown("variant", name, names).Error(), spelling.Nearest(name, names))
		return
	case i >= 0 && len(value.keys) == 0 && value.kind == mapping:
		bad(fmt.Sprintf("an empty mapping changes nothing; the variant %s is there already", name), "")
		return
	case i < 0 && !vocabulary["name"].allows(name):
		bad(fmt.Sprintf("%q is not %s", name, vocabulary["name"].want), "")
		return
	case i < 0 && len(r.declared) == maxVariants:
		bad(fmt.Sprintf("%d variants are too many; the most is %d", maxVariants+1, maxVariants), "")
		return
	}
	layers, errs := variantLayers(name, l.at, value)
	r.collect(errs...)
	if i < 0 {
		r.declared, i = append(r.declared, declaredVariant{name: name}), len(r.declared)
	}
	r.declared[i].later = append(r.declared[i].later, layers...)
}

// lead moves the baseline before the other variants: results are compared with those of the first.
func (r *resolver) lead() {
	t := r.base.get("baseline")
	if t == nil || t.kind != scalar || t.text == "" {
		return // the decoder says what is wrong
	}
	i := slices.IndexFunc(r.declared, func(v declaredVariant) bool { return v.name == t.text })
	if i < 0 {
		names := r.variantNames()
		r.collect(t.at.error("baseline", unknown("variant", t.text, names).Error(), spelling.Nearest(t.text, names)))
		return
	}
	v := r.declared[i]
	r.declared = slices.Insert(slices.Delete(r.declared, i, i+1), 0, v)
}

func (r *resolver) variantNames() []string {
	names := make([]string, len(r.declared))
	for i, v := range r.declared {
		names[i] = v.name
	}
	return names
}
