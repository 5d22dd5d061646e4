package experiment

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/spelling"
)

// home is a place in the schema where a key may have been meant to be.
type home struct {
	path  string
	fits  bool // the value is one for this key
	given bool // the experiment has the mapping around it
	loose bool // see key
}

// homes returns where a key with a value may have been meant to be, the most probable
// place first: the value fits, then the mapping around the key is there.
func (d *decoder) homes(key string, value *tree) (list []home) {
	add := func(path string, fits, loose bool) {
		parent, _, _ := cutLast(strings.ReplaceAll(path, "[]", ".0"), ".")
		given := parent == "" || d.root.find(parent) != nil
		list = append(list, home{path, fits, given, loose})
	}
	for _, k := range schema() {
		if k.path == key || strings.HasSuffix(k.path, "."+key) {
			fits := k.form() == value.kind
			if table := k.rule.table; table != nil && value.kind == scalar {
				fits = slices.Contains(specNames(table.table(&d.tables)), value.text)
			} else if fits && value.kind == scalar {
				msg, _ := d.value(value, reflect.New(k.value).Elem(), k.rule)
				fits = msg == ""
			}
			add(k.path, fits, k.loose)
		}
	}
	for _, c := range choices {
		for _, spec := range c.table(&d.tables) {
			if p, ok := spec.Param(key); ok && !slices.ContainsFunc(list, func(h home) bool { return h.path == join(c.path, key) }) {
				_, err := p.Parse(value.text)
				add(join(c.path, key), value.kind == scalar && err == nil, false)
			}
		}
	}
	rank := func(h home) int {
		switch {
		case !h.fits:
			return 3
		case h.given:
			return 0
		case !h.loose:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(list, func(a, b home) int { return cmp.Compare(rank(a), rank(b)) })
	return list
}

// cutLast cuts a text at the last separator. Without one, all of it is after.
func cutLast(text, separator string) (before, after string, found bool) {
	if i := strings.LastIndex(text, separator); i >= 0 {
		return text[:i], text[i+len(separator):], true
	}
	return "", text, false
}

// misplaced returns the message about an unknown key of a mapping, with the place where
// it goes if the schema has a key of that name or one like it.
func (d *decoder) misplaced(path string, e entry, keys []string) (msg, suggestion string) {
	msg = fmt.Sprintf("unknown key %q", e.name)
	if near := spelling.Within(e.name, keys, 1); near != "" {
		return msg, near
	}
	if whole := join(path, e.name); strings.Contains(e.name, ".") && d.known(brackets(dots(whole))) {
		nested := strings.ReplaceAll(e.name, ".", ": {") + ": " + e.value.short() + strings.Repeat("}", strings.Count(e.name, "."))
		return msg + "; paths with dots are for variants and --set, in a file keys stand within each other", nested
	}
	if found := d.homes(e.name, e.value); len(found) > 0 {
		if found[0].path == e.name {
			return fmt.Sprintf("unknown key %q here; it goes to the top level", e.name), ""
		}
		return msg + others(found), found[0].path
	}
	if near := spelling.Nearest(e.name, keys); near != "" {
		return msg, near
	}
	if near := spelling.Within(e.name, keyNames(), 1); near != "" && len(e.name) > 3 {
		return msg, d.homes(near, e.value)[0].path
	}
	return unknown("key", e.name, keys).Error(), ""
}

// others returns the part of a message that names the places besides the first that
// are as probable.
func others(found []home) string {
	const most = 3
	var paths []string
	for _, h := range found[1:] {
		if h.fits && h.given == found[0].given && h.loose == found[0].loose {
			paths = append(paths, h.path)
		}
	}
	switch n := len(paths); {
	case n == 0 || !found[0].fits:
		return ""
	case n > most:
		paths = append(paths[:most], fmt.Sprintf("%d more", n-most))
	}
	return "; also possible: " + strings.Join(paths, ", ")
}

// known reports whether the schema or a table of algorithms has a path.
func (d *decoder) known(path string) bool {
	parent, name, _ := cutLast(path, ".")
	for _, c := range choices {
		for _, spec := range c.table(&d.tables) {
			if _, ok := spec.Param(name); ok && parent == c.path {
				return true
			}
		}
	}
	return keysByPath()[path] != nil
}

// keyNames returns the names of all keys of the schema.
func keyNames() (names []string) {
	for _, k := range schema() {
		_, name, _ := cutLast(k.path, ".")
		names = append(names, name)
	}
	return names
}

// short returns a value for a message: the text of a single value, otherwise a sign
// that it has more parts.
func (t *tree) short() string {
	if t.kind == scalar && len(t.text) < 40 {
		return t.text
	}
	return "…"
}
