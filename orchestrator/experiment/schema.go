package experiment

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/csiglab/csiglab/nodes/algorithm"
)

// DefaultLinks returns the links of an experiment whose file does not mention them.
func DefaultLinks() Links { return defaults().Links }

// defaults returns an experiment whose file has no keys.
func defaults() *Experiment {
	e := &Experiment{}
	d := decoder{tables: StandardTables()}
	d.fill(nil, reflect.ValueOf(e).Elem(), "")
	return e
}

// fixed are the top-level keys that a variant cannot change, because the
// variants of an experiment share them.
var fixed = []string{"schema", "name", "description", "variants", "baseline", "sweep", "seeds", "derived", "expect", "robust", "tuned", "published", "runtime", "clock", "wall", "telemetry"}

func unknown(what, text string, known []string) error {
	return fmt.Errorf("unknown %s %q; known: %s", what, text, strings.Join(known, " "))
}

// key is a key of the experiment file, or the items of a list: what the tags of its field
// say.
type key struct {
	path     string // [] stands for an index
	value    reflect.Type
	loose    bool     // in a mapping that need not be there: of a kind, of an item or behind a pointer
	kind     *Kind    // whose name the key is; nil elsewhere
	rule     Rule     // of a single value
	required bool     // it has no default
	unless   []string // keys of the same mapping, of which one may stand in its place
	fallback string   // as in the file; "" without
	doc      string   // one line
	// short is the key of the mapping that is the value whose value may stand in place of the
	// mapping; "" without. owned says that the other keys belong to it, so that another value
	// drops them.
	short string
	owned bool
}

// form returns what the value is.
func (k *key) form() kind {
	switch k.value.Kind() {
	case reflect.Struct, reflect.Map:
		return mapping
	case reflect.Slice:
		return sequence
	}
	return scalar
}

// allKeys returns the keys of the experiment file, those of a mapping before the keys
// below them, with the items of lists and, first, the file itself. The parameters of
// algorithms are in tables; see Tables.
var allKeys = sync.OnceValue(func() []*key {
	root := &key{value: reflect.TypeFor[Experiment]()}
	keys, err := root.below()
	if err != nil {
		panic("experiment: " + err.Error()) // registration and tests exclude it
	}
	return append([]*key{root}, keys...)
})

// schema returns allKeys without the file itself and without items.
var schema = sync.OnceValue(func() []*key {
	return slices.DeleteFunc(slices.Clone(allKeys()), func(k *key) bool { return k.path == "" || strings.HasSuffix(k.path, "[]") })
})

// keysByPath has allKeys by path.
var keysByPath = sync.OnceValue(func() map[string]*key {
	byPath := make(map[string]*key)
	for _, k := range allKeys() {
		byPath[k.path] = k
	}
	return byPath
})

// keyAt returns the key of a path, with indexes or with [] in their places. It is one that
// says nothing where the schema has none.
func keyAt(path string) *key {
	if k := keysByPath()[general(path)]; k != nil {
		return k
	}
	return &key{}
}

// below returns the keys below a key. Its error is about their tags.
func (k *key) below() (list []*key, err error) {
	t, loose := k.value, k.loose
	for t.Kind() == reflect.Pointer {
		t, loose = t.Elem(), true
	}
	k.value, k.loose = t, loose
	add := func(child *key) error {
		keys, err := child.below()
		list = append(append(list, child), keys...)
		return err
	}
	switch {
	case t == reflect.TypeFor[Algorithm]():
		k.short, k.owned = "name", true
	case t == reflect.TypeFor[*Sweep]().Elem(), k.path == "variants":
	case t.Kind() == reflect.Slice:
		return list, add(&key{path: k.path + "[]", value: t.Elem(), loose: true, rule: k.rule})
	case t.Kind() == reflect.Struct:
		given := keysOf(t)
		for i, m := range members(t) {
			if slices.Index(given, m.key) != i {
				return list, fmt.Errorf("%v: key %s: two fields have it", t, m.key)
			}
			child := &key{path: join(k.path, m.key), value: m.kind, loose: true}
			if m.of != nil {
				child.kind, child.doc = &m.of.Kind, m.of.Value
				child.rule, err = newRule(m.of.Is, m.kind)
			} else {
				child.value, child.loose = t.Field(m.field).Type, loose
				err = child.read(t.Field(m.field), k)
			}
			if i := slices.IndexFunc(child.unless, func(other string) bool { return !slices.Contains(given, other) }); err == nil && i >= 0 {
				err = fmt.Errorf("the tag unless names %s, which is no key of the mapping", child.unless[i])
			}
			if err == nil {
				err = add(child)
			}
			if err != nil {
				return list, fmt.Errorf("%v: key %s: %w", t, m.key, err)
			}
		}
	}
	return list, nil
}

// read reads the tags of a field of a mapping. It says the mapping if the key is short for it.
func (k *key) read(field reflect.StructField, of *key) (err error) {
	name, words, _ := strings.Cut(field.Tag.Get("yaml"), ",")
	for word := range strings.SplitSeq(words, ",") {
		switch word {
		case "":
		case "required":
			k.required = true
		case "short", "owner":
			of.short, of.owned = name, word == "owner"
		default:
			return fmt.Errorf("the tag yaml has the word %q, which means nothing", word)
		}
	}
	if keys := field.Tag.Get("unless"); keys != "" {
		k.unless = strings.Fields(keys)
	}
	k.fallback, k.doc = field.Tag.Get("default"), field.Tag.Get("doc")
	if k.rule, err = newRule(field.Tag.Get("is"), field.Type); err != nil || k.rule.table != nil {
		return err
	}
	value, defaults := field.Type, []string{k.fallback}
	switch {
	case k.fallback == "":
		return nil
	case value.Kind() == reflect.Slice:
		value, defaults = value.Elem(), strings.Fields(k.fallback)
	case value.Kind() == reflect.Pointer:
		value = value.Elem()
	}
	for _, text := range defaults {
		if err := k.rule.read(text, reflect.New(value).Elem()); err != nil {
			return fmt.Errorf("default %q: %w", k.fallback, err)
		}
	}
	return nil
}

// member is a key of a mapping, and the field of the struct that it sets.
type member struct {
	key   string
	field int
	kind  reflect.Type // of the value, if the field takes a value of one of several kinds; nil otherwise
	of    *registered  // that kind
}

// membersOf has what members has returned, by type.
var membersOf sync.Map

// members returns the keys of a struct type, in order.
func members(t reflect.Type) []member {
	if list, ok := membersOf.Load(t); ok {
		return list.([]member)
	}
	var list []member
	for i := range t.NumField() {
		field := t.Field(i)
		if section, ok := sectionOf(field.Type); ok {
			for j := range kinds[section] {
				k := &kinds[section][j]
				list = append(list, member{k.Name, i, k.value, k})
			}
		} else if name, _, _ := strings.Cut(field.Tag.Get("yaml"), ","); name != "" {
			list = append(list, member{key: name, field: i})
		}
	}
	membersOf.Store(t, list)
	return list
}

// keysOf returns the YAML keys of a struct type, in order.
func keysOf(t reflect.Type) []string {
	var keys []string
	for _, m := range members(t) {
		keys = append(keys, m.key)
	}
	return keys
}

// Paths returns the dotted paths of all single values of an experiment outside
// lists, the parameters of the algorithms included: what an environment
// variable can set.
func Paths(tables Tables) []string {
	var paths []string
	for _, k := range schema() {
		within, _, _ := strings.Cut(k.path, ".")
		if strings.Contains(k.path, "[]") || within == "variants" || within == "sweep" {
			continue
		}
		if k.form() == scalar || k.short != "" && k.rule.table == nil {
			paths = append(paths, k.path) // of a mapping the short key alone
		}
	}
	for _, c := range choices {
		paths = append(paths, c.path, join(c.path, "name"))
		for _, spec := range c.table(&tables) {
			for _, p := range spec.Params {
				if path := join(c.path, p.Name); !slices.Contains(paths, path) {
					paths = append(paths, path)
				}
			}
		}
	}
	for _, signal := range signals() {
		paths = append(paths, "csig.quantisers."+signal, "csig.second.quantisers."+signal)
	}
	return append(paths, "seeds")
}

// AutoPaths returns the paths of all values that may be auto, the parameters of the
// algorithms included, in order; [] stands for an index.
func AutoPaths(tables Tables) []string {
	var paths []string
	for _, k := range schema() {
		if r := k.rule; r.word == algorithm.Auto || r.enum != nil && slices.Contains(r.enum(), algorithm.Auto) {
			paths = append(paths, k.path)
		}
	}
	for _, c := range choices {
		for _, spec := range c.table(&tables) {
			for _, p := range spec.Params {
				if p.Default == algorithm.Auto {
					paths = append(paths, join(c.path, p.Name))
				}
			}
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// CheckName returns an error if a text cannot be the name of an experiment.
func CheckName(name string) error {
	if r := vocabulary["name"]; !r.allows(name) {
		return fmt.Errorf("the name %q is not %s", name, r.want)
	}
	return nil
}

// IsKey reports whether experiments have a key, or keys below it: hosts, hosts.cc, seeds.
func IsKey(key string) bool {
	top, _, _ := strings.Cut(key, ".")
	for _, k := range schema() {
		if k.path == top || strings.HasPrefix(k.path, top+".") || strings.HasPrefix(k.path, top+"[") {
			return true
		}
	}
	return false
}
