package experiment

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/units"
)

// node is a JSON object of a JSON schema.
type node map[string]any

// JSONSchema returns the schema of experiment files, in the dialect draft-07 of JSON Schema,
// which editors use to complete keys and to mark errors. It has what the tags of keys say, and
// the algorithms of the tables. What compares several values with each other, such as a host's
// number with the size of the fabric, only csiglab validate checks.
func JSONSchema(t Tables) map[string]any {
	b := schemaBuilder{tables: t, definitions: node{}}
	root := b.value(allKeys()[0])
	root["$schema"], root["title"] = "http://json-schema.org/draft-07/schema#", "csiglab experiment"
	root["definitions"] = b.definitions
	return root
}

// schemaBuilder makes the schemas of keys.
type schemaBuilder struct {
	tables      Tables
	definitions node // by path of the key, with partialOf before it where partial is set
	// partial: of an override, whose mappings have some of the keys and change no others. Lists
	// are replaced as a whole.
	partial bool
}

const partialOf = "partial:"

// reference returns a schema that refers to that of a key.
func (b schemaBuilder) reference(k *key) node {
	name := k.path
	if b.partial {
		name = partialOf + name
	}
	if _, known := b.definitions[name]; !known {
		b.definitions[name] = b.value(k)
	}
	return node{"$ref": "#/definitions/" + strings.NewReplacer("[", "%5B", "]", "%5D").Replace(name)}
}

// value returns the schema of the value of a key.
func (b schemaBuilder) value(k *key) node {
	n := b.form(k)
	if meaning := k.meaning(); meaning != "" {
		n["description"] = meaning
	}
	return n
}

// form returns the schema of the value of a key without its description.
func (b schemaBuilder) form(k *key) node {
	item := keysByPath()[k.path+"[]"]
	switch {
	case k.path == "variants":
		variant := b.overrides(fixed, func(n node) node { return n })
		variant["type"] = []string{"object", "null"}
		return node{"type": "object", "additionalProperties": variant}
	case k.path == "sweep":
		excluded := slices.Collect(maps.Keys(unswept))
		return node{"type": "object", "additionalProperties": false, "properties": node{
			"grid": b.overrides(excluded, func(n node) node { return node{"type": "array", "items": n} }),
			"list": node{"type": "array", "items": b.overrides(excluded, func(n node) node { return n })},
			// Values may be $words, which no schema of a path allows.
			"axes":  node{"type": "object", "additionalProperties": node{"type": []string{"array", "object"}}},
			"judge": node{"type": "object"},
		}}
	case k.rule.table != nil:
		return b.choice(k.rule.table)
	case item != nil:
		list := node{"type": "array", "items": schemaBuilder{b.tables, b.definitions, false}.reference(item)}
		if isSeeds(k.path) {
			return node{"anyOf": []node{list, {"type": "string", "pattern": `^[0-9]+\.\.[0-9]+$`}}}
		}
		return list
	case k.value.Kind() == reflect.Struct:
		return b.mapping(k)
	case k.value.Kind() == reflect.Map:
		return b.pairs(k)
	}
	return k.scalar()
}

// mapping returns the schema of a value that is a mapping with given keys, or the value of its
// short key, or an item in the short form of its list.
func (b schemaBuilder) mapping(k *key) node {
	properties, required, kindNames := node{}, []string{}, []string{}
	for _, m := range members(k.value) {
		child := keyAt(join(k.path, m.key))
		properties[m.key] = b.reference(child)
		if child.required && len(child.unless) == 0 {
			required = append(required, m.key)
		}
		if child.kind != nil {
			kindNames = append(kindNames, m.key)
		}
	}
	object := node{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 && !b.partial {
		object["required"] = required
	}
	if len(kindNames) > 0 && k.path != workloadSection && !b.partial { // which may have none beside applications
		var one []node
		for _, name := range kindNames {
			one = append(one, node{"required": []string{name}})
		}
		object["oneOf"] = one
	}
	list := keyAt(strings.TrimSuffix(k.path, "[]"))
	switch {
	case k.short != "":
		return node{"anyOf": []node{b.reference(keyAt(join(k.path, k.short))), object}}
	case k.path != list.path && list.kind != nil && list.kind.Short != nil:
		return node{"anyOf": []node{{"type": "string"}, object}}
	}
	return object
}

// pairs returns the schema of a mapping whose keys are names.
func (b schemaBuilder) pairs(k *key) node {
	var value node
	switch k.value.Elem().Kind() {
	case reflect.Slice:
		value = node{"type": "array", "items": node{"type": anyScalar}}
	case reflect.Int:
		value = node{"type": "integer"}
	default:
		value = node{"type": anyScalar}
	}
	return node{"type": "object", "additionalProperties": value}
}

// overrides returns the schema of a mapping from paths to values, each as wrap has it, without
// the paths below some top-level keys.
func (b schemaBuilder) overrides(without []string, wrap func(node) node) node {
	b.partial = true
	properties, patterns := node{}, node{}
	for _, k := range allKeys()[1:] {
		if top, _, _ := strings.Cut(strings.ReplaceAll(k.path, "[", "."), "."); slices.Contains(without, top) {
			continue
		}
		b.override(k.path, wrap(b.reference(k)), properties, patterns)
		if k.value.Kind() == reflect.Map {
			patterns["^"+regexp.QuoteMeta(k.path)+`\..+$`] = wrap(node{})
		}
		if k.rule.table == nil {
			continue
		}
		b.override(join(k.path, "name"), wrap(node{"enum": specNames(k.rule.table.table(&b.tables))}), properties, patterns)
		for _, spec := range k.rule.table.table(&b.tables) {
			for _, p := range spec.Params {
				b.override(join(k.path, p.Name), wrap(parameter(p)), properties, patterns)
			}
		}
	}
	return node{"type": "object", "additionalProperties": false, "properties": properties, "patternProperties": patterns}
}

// override enters the schema of a path, whose indexes may have any number.
func (b schemaBuilder) override(path string, n node, properties, patterns node) {
	if !strings.Contains(path, "[]") {
		properties[path] = n
		return
	}
	patterns["^"+strings.ReplaceAll(regexp.QuoteMeta(path), `\[\]`, `(\.[0-9]+|\[[0-9]+\])`)+"$"] = n
}

// choice returns the schema of an algorithm: its name, or a mapping with its parameters.
func (b schemaBuilder) choice(c *choice) node {
	var names []node
	properties := node{}
	for _, spec := range c.table(&b.tables) {
		names = append(names, node{"const": spec.Name, "description": spec.Doc})
		for _, p := range spec.Params {
			if _, known := properties[p.Name]; !known {
				properties[p.Name] = parameter(p)
			}
		}
	}
	name := node{"anyOf": names}
	properties["name"] = name
	return node{"anyOf": []node{name, {"type": "object", "additionalProperties": false, "properties": properties}}}
}

// parameter returns the schema of a parameter of an algorithm.
func parameter(p algorithm.Param) node {
	n := node{}
	switch p.Kind {
	case algorithm.Bool:
		n["type"] = "boolean"
	case algorithm.Enum:
		n["enum"] = p.Values
	case algorithm.Int, algorithm.Number:
		n["type"] = "number"
	case algorithm.Duration:
		n = withUnit(reflect.TypeFor[units.Duration]())
	case algorithm.Size:
		n = withUnit(reflect.TypeFor[units.Size]())
	case algorithm.Rate:
		n = withUnit(reflect.TypeFor[units.Rate]())
	}
	if p.Default == algorithm.Auto && p.Kind != algorithm.Enum {
		n = node{"anyOf": []node{n, {"const": algorithm.Auto}}}
	}
	n["description"] = p.Doc
	return withDefault(n, p.Default)
}

// withDefault adds the default of a value to its schema, as the type that it has in YAML; none
// for "".
func withDefault(n node, text string) node {
	var value any = text
	switch n["type"] {
	case "boolean":
		value = text == "true"
	case "integer", "number":
		number, err := strconv.ParseFloat(text, 64)
		if err != nil { // hexadecimal
			return n
		}
		value = number
	}
	if text != "" {
		n["default"] = value
	}
	return n
}

// anyScalar is the types of a text, which YAML may take for a number or a bool.
var anyScalar = []string{"string", "number", "boolean"}

// unitsOf has the units of types whose values are numbers with units, as a regular expression.
var unitsOf = map[reflect.Type]string{
	reflect.TypeFor[units.Duration](): "ps|ns|us|µs|ms|s|min|h",
	reflect.TypeFor[units.Size]():     "B|kB|MB|GB|TB|KiB|MiB|GiB",
	reflect.TypeFor[units.Rate]():     "[bB][pP][sS]|[kKmMgGtT][bB][pP][sS]",
}

// withUnit returns the schema of a number with its unit.
func withUnit(t reflect.Type) node {
	return node{"type": "string", "pattern": `^\s*[-+]?[0-9.]+\s*(` + unitsOf[t] + `)\s*$`}
}

// scalar returns the schema of a single value.
func (k *key) scalar() (n node) {
	r := k.rule
	switch {
	case unitsOf[k.value] != "":
		n = withUnit(k.value)
	case r.enum != nil:
		n = node{"enum": r.enum()}
	case readsText(k.value):
		n = node{"type": anyScalar}
	case k.value.Kind() == reflect.Bool:
		n = node{"type": "boolean"}
	case k.value.Kind() == reflect.Float64:
		n = node{"type": "number"}
	case k.value.Kind() == reflect.String:
		n = node{"type": anyScalar}
		if r.pattern != nil {
			n["pattern"] = r.pattern().String()
		}
	default:
		n = node{"type": "integer", "minimum": r.min}
		if r.max != 0 {
			n["maximum"] = r.max
		}
	}
	fallback := k.defaultText()
	if r.word == "" {
		return withDefault(n, fallback)
	}
	also := []node{n, {"const": r.word}}
	if fallback != r.word {
		withDefault(n, fallback)
		return node{"anyOf": also}
	}
	return node{"anyOf": also, "default": fallback}
}
