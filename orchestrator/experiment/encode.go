package experiment

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/internal/lazy"
	"github.com/csiglab/csiglab/nodes/algorithm"
)

// Marshal returns the resolved experiment as YAML, every default written out
// and the variants as their differences from it, without the sweep. Parse of the text
// gives an Experiment that is equal but for that, and equal variants.
func (e *Experiment) Marshal() ([]byte, error) { return e.MarshalWith(nil) }

// Remark returns what stands as a comment behind a value auto: what the value became; ""
// for no comment. The path is that of the experiment, such as
// topology.fat_tree.tiers[0].oversubscribed. variant is "" in the part that all variants
// share.
type Remark func(variant, path string) string

// MarshalWith returns what Marshal does, with comments behind values auto. nil: without.
func (e *Experiment) MarshalWith(remark Remark) ([]byte, error) {
	t := encode(reflect.ValueOf(e).Elem(), "")
	t.remark("", "", remark)
	if len(e.Variants) > 0 {
		variants := &tree{kind: mapping}
		for _, v := range e.Variants {
			set := &tree{kind: mapping}
			for _, path := range slices.Sorted(maps.Keys(v.Set)) {
				value, err := fromAny(v.Set[path])
				if err != nil {
					return nil, fmt.Errorf("variant %s: %s: %w", v.Name, path, err)
				}
				value.remark(v.Name, path, remark)
				set.put(path, origin{}, value)
			}
			variants.put(v.Name, origin{}, set)
		}
		t.put("variants", origin{}, variants)
	}
	var b bytes.Buffer
	write(&b, t, 0)
	return b.Bytes(), nil
}

// Autos returns the paths at which the experiment has the value auto.
func (e *Experiment) Autos() map[string]bool {
	paths := map[string]bool{}
	encode(reflect.ValueOf(e).Elem(), "").remark("", "", func(_, at string) string {
		paths[at] = true
		return ""
	})
	return paths
}

// remark sets the comments of the values auto in a tree.
func (t *tree) remark(variant, path string, remark Remark) {
	if remark == nil {
		return
	}
	switch {
	case t.kind == scalar && t.text == algorithm.Auto:
		t.comment = strings.ReplaceAll(remark(variant, path), "\n", " ")
	case t.kind == mapping:
		for _, e := range t.keys {
			e.value.remark(variant, join(path, e.name), remark)
		}
	case t.kind == sequence:
		for i, item := range t.items {
			item.remark(variant, fmt.Sprintf("%s[%d]", path, i), remark)
		}
	}
}

// encode is the inverse of decode. It leaves out empty texts, lists and mappings and
// unset pointers: reading a file without them gives the same experiment.
func encode(v reflect.Value, path string) *tree {
	r := keyAt(path).rule
	plain := func(text string) *tree { return &tree{kind: scalar, text: text} }
	if a, ok := v.Interface().(Algorithm); ok {
		t := &tree{kind: mapping}
		t.put("name", origin{}, &tree{kind: scalar, text: a.Name, quoted: !bare(a.Name)})
		for _, p := range slices.Sorted(maps.Keys(a.Params)) {
			t.put(p, origin{}, plain(a.Params[p]))
		}
		return t
	}
	if v.CanInt() && r.word != "" && v.Int() == r.special {
		return plain(r.word)
	}
	switch v.Kind() {
	case reflect.Pointer:
		return encode(v.Elem(), path)
	case reflect.Struct:
		t := &tree{kind: mapping}
		for _, m := range members(v.Type()) {
			field := v.Field(m.field)
			if m.kind != nil {
				if field = field.Elem(); !field.IsValid() || field.Type() != m.kind {
					continue // another kind, or none
				}
			}
			if empty(field) || (m.key == "variants" || m.key == "sweep") && path == "" {
				continue
			}
			t.put(m.key, origin{}, encode(field, join(path, m.key)))
		}
		return t
	case reflect.Map:
		t := &tree{kind: mapping}
		for _, key := range sortedKeys(v) {
			t.put(key, origin{}, encode(v.MapIndex(reflect.ValueOf(key)), join(path, key)))
		}
		return t
	case reflect.Slice:
		t := &tree{kind: sequence}
		for i := range v.Len() {
			t.items = append(t.items, encode(v.Index(i), fmt.Sprintf("%s[%d]", path, i)))
		}
		return t
	case reflect.String:
		return &tree{kind: scalar, text: v.String(), quoted: !bare(v.String())}
	case reflect.Float64:
		return plain(strconv.FormatFloat(v.Float(), 'g', -1, 64))
	}
	if _, ok := v.Interface().(fmt.Stringer); ok && r.enum != nil {
		text := fmt.Sprint(v.Interface())
		return &tree{kind: scalar, text: text, quoted: !bare(text)}
	}
	if r.hex {
		return plain(fmt.Sprintf("0x%04X", v.Uint()))
	}
	return plain(fmt.Sprint(v.Interface())) // numbers, bool and, by String, values with units
}

// sortedKeys returns the keys of a map whose keys are texts.
func sortedKeys(v reflect.Value) []string {
	var keys []string
	for _, k := range v.MapKeys() {
		keys = append(keys, k.String())
	}
	slices.Sort(keys)
	return keys
}

func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.String:
		return v.IsZero() || v.Kind() != reflect.Pointer && v.Len() == 0
	}
	return false
}

// diff adds to set the overrides that turn the text a of an experiment into b, by path.
// Merging them over a gives exactly b.
func diff(a, b *tree, path string, set map[string]any) {
	if a != nil && a.kind == mapping && b.kind == mapping {
		named := ownerKey(path)
		whole := named != "" && a.get(named).text != b.get(named).text
		for _, e := range a.keys { // a key of the base that is gone cannot be written as an override
			whole = whole || named != "" && b.get(e.name) == nil
		}
		if !whole {
			for _, e := range a.keys { // a list that became empty is left out of the text
				if b.get(e.name) == nil && e.value.kind == sequence && !slices.Contains(alternatives(path), e.name) {
					set[join(path, e.name)] = []any{}
				}
			}
			for _, e := range b.keys {
				diff(a.get(e.name), e.value, join(path, e.name), set)
			}
			return
		}
	}
	if want := toAny(b); a == nil || !reflect.DeepEqual(toAny(a), want) {
		set[path] = want
	}
}

func toAny(t *tree) any {
	switch t.kind {
	case mapping:
		m := make(map[string]any, len(t.keys))
		for _, e := range t.keys {
			m[e.name] = toAny(e.value)
		}
		return m
	case sequence:
		list := make([]any, len(t.items))
		for i, item := range t.items {
			list[i] = toAny(item)
		}
		return list
	}
	return t.text
}

func fromAny(v any) (*tree, error) {
	switch v := v.(type) {
	case string:
		return &tree{kind: scalar, text: v, quoted: !bare(v) && !plainNumber().MatchString(v)}, nil
	case map[string]any:
		t := &tree{kind: mapping}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			value, err := fromAny(v[key])
			if err != nil {
				return nil, err
			}
			t.put(key, origin{}, value)
		}
		return t, nil
	case []any:
		t := &tree{kind: sequence}
		for _, item := range v {
			value, err := fromAny(item)
			if err != nil {
				return nil, err
			}
			t.items = append(t.items, value)
		}
		return t, nil
	}
	return nil, fmt.Errorf("a %T cannot be written", v)
}

var (
	plainText   = lazy.Regexp(`^[A-Za-z_/][A-Za-z0-9_./-]*$`)
	plainNumber = lazy.Regexp(`^(true|false|-?[0-9][0-9A-Za-z.+-]*)$`)
)

// bare reports whether a text without quotes is read back as the same text.
func bare(text string) bool {
	switch strings.ToLower(text) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n":
		return false
	}
	return plainText().MatchString(text)
}

func write(b *bytes.Buffer, t *tree, indent int) {
	pad := strings.Repeat("  ", indent)
	switch t.kind {
	case mapping:
		for _, e := range t.keys {
			b.WriteString(pad + quote(e.name, !bare(e.name)) + ":")
			writeValue(b, e.value, indent+1)
		}
	case sequence:
		for _, item := range t.items {
			if item.kind != mapping || len(item.keys) == 0 {
				b.WriteString(pad + "-")
				writeValue(b, item, indent+1)
				continue
			}
			var inner bytes.Buffer
			write(&inner, item, indent+1)
			b.WriteString(pad + "- " + strings.TrimPrefix(inner.String(), pad+"  "))
		}
	}
}

func writeValue(b *bytes.Buffer, t *tree, indent int) {
	switch {
	case t.kind == scalar:
		b.WriteString(" " + quote(t.text, t.quoted))
		if t.comment != "" {
			b.WriteString(" # " + t.comment)
		}
		b.WriteString("\n")
	case t.kind == mapping && len(t.keys) == 0:
		b.WriteString(" {}\n")
	case t.kind == sequence && len(t.items) == 0:
		b.WriteString(" []\n")
	default:
		b.WriteString("\n")
		write(b, t, indent)
	}
}

func quote(text string, quoted bool) string {
	if quoted {
		return strconv.Quote(text)
	}
	return text
}
