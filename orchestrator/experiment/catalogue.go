package experiment

import (
	"cmp"
	"encoding"
	"fmt"
	"reflect"
	"strings"

	"github.com/csiglab/csiglab/internal/tagdoc"
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/units"
)

// Section is a table of names that an experiment file may use, as csiglab list
// prints it.
type Section struct {
	Name    string // cc, lb, aqm, routing, signals, topologies, workloads, jobs
	Path    string // of the key that takes one of the names: hosts.cc, topology
	Default string // the entry that is taken where none is named; empty if one must be
	// Algorithms says that the entries are algorithms, with parameters as keys.
	Algorithms bool
	Entries    []Entry
}

// Entry is a name of a section.
type Entry struct {
	Name string     `json:"name"`
	Doc  string     `json:"doc"` // one line
	Keys []EntryKey `json:"keys"`
	// Module is the Go module that has registered the entry; empty: csiglab has it itself.
	Module string `json:"module,omitempty"`
}

// EntryKey is a key that goes with a name: a parameter of an algorithm, or a key of
// a kind of topology or workload.
type EntryKey struct {
	Path     string `json:"key"`  // below the name, such as tiers[].rate
	Type     string `json:"type"` // as in docs/reference/experiment.md: number, rate, time, size, bool, name, text, file or list
	Required bool   `json:"required,omitempty"`
	Default  string `json:"default,omitempty"` // empty without
	Range    string `json:"range,omitempty"`   // what the value may be, in words; empty: not listed
	Doc      string `json:"doc"`               // one line
}

// Library returns the embedded experiments as a section; their entries have no keys.
func Library() Section {
	s := Section{Name: "experiments"}
	for _, name := range Names() {
		data, err := library.ReadFile("library/" + name + ".yaml")
		if err != nil {
			panic("experiment: " + err.Error())
		}
		t, errs := parseTree(data, origin{file: name}, false)
		if errs != nil {
			panic("experiment: " + errs.Error())
		}
		s.Entries = append(s.Entries, Entry{Name: name, Doc: t.get("description").text, Keys: []EntryKey{}})
	}
	return s
}

// Catalogue returns every section, in the order of the tables.
func Catalogue(t Tables) []Section {
	var list []Section
	for _, c := range choices {
		s := Section{Name: c.name(), Path: c.path, Default: c.fallback(), Algorithms: true}
		for _, spec := range c.table(&t) {
			s.Entries = append(s.Entries, algorithmEntry(spec))
		}
		list = append(list, s)
	}
	list = append(list, signalSection())
	for _, s := range []Section{{Name: "topologies", Path: topologySection}, {Name: "workloads", Path: workloadSection}, {Name: "jobs", Path: jobSection}} {
		for _, k := range kinds[s.Path] {
			s.Entries = append(s.Entries, kindEntry(s.Path, k))
		}
		list = append(list, s)
	}
	return list
}

// signalSection returns the types of signal.
func signalSection() Section {
	s := Section{Name: "signals", Path: "csig.signal", Default: csig.Delay.String()}
	for _, t := range csig.KnownTypes() {
		d := t.Definition()
		doc := fmt.Sprintf("%s (T %d, in %s)", d.Doc, uint8(t), cmp.Or(d.Unit.String(), "units"))
		s.Entries = append(s.Entries, Entry{Name: d.Name, Doc: doc, Keys: []EntryKey{}, Module: d.Module})
	}
	return s
}

func algorithmEntry(spec algorithm.Spec) Entry {
	e := Entry{Name: spec.Name, Doc: spec.Doc, Keys: []EntryKey{}, Module: spec.Module}
	for _, p := range spec.Params {
		e.Keys = append(e.Keys, EntryKey{
			Path: p.Name, Type: paramType(p.Kind), Required: p.Default == "", Default: p.Default,
			Range: strings.Join(p.Values, ", "), Doc: p.Doc,
		})
	}
	return e
}

// paramType returns the documentation's word for the kind of a parameter.
func paramType(k algorithm.Kind) string {
	switch k {
	case algorithm.Int, algorithm.Number:
		return "number"
	case algorithm.Duration:
		return "time"
	case algorithm.Enum:
		return "name"
	}
	return string(k)
}

// kindEntry returns the kind of a section.
func kindEntry(section string, k registered) Entry {
	e := Entry{Name: k.Name, Doc: k.Doc, Keys: []EntryKey{}, Module: k.module}
	root := join(section, k.Name)
	for _, key := range schema() {
		path, found := strings.CutPrefix(key.path, root)
		if !found || path != "" && path[0] != '.' && path[0] != '[' {
			continue
		}
		if key.doc == "" || key.value.Kind() == reflect.Struct && key.short == "" { // what is in a list; a mapping, whose keys follow
			continue
		}
		e.Keys = append(e.Keys, EntryKey{
			Path: strings.TrimPrefix(path, "."), Type: key.word(), Required: key.required, Default: key.defaultText(), Range: key.rule.text(key.value), Doc: tagdoc.Markdown(key.doc),
		})
	}
	return e
}

// defaultText returns the value of a key that is not given, as in the file: of a mapping that its
// short key may stand for, the value of this key.
func (k *key) defaultText() string {
	if k.fallback == "" && k.short != "" && k.rule.table == nil {
		return keyAt(join(k.path, k.short)).fallback
	}
	return k.fallback
}

// meaning returns what a key means, as Markdown: of the name of a kind, what the kind is.
func (k *key) meaning() string {
	if k.kind != nil {
		return tagdoc.Markdown(strings.TrimSuffix(k.kind.Doc+"; "+k.kind.Value, "; "))
	}
	return tagdoc.Markdown(k.doc)
}

// word returns the documentation's word for the type of a key.
func (k *key) word() string {
	t, r := k.value, k.rule
	switch {
	case r.table != nil:
		return "name or mapping"
	case t == reflect.TypeFor[units.Duration]():
		return "time"
	case t == reflect.TypeFor[units.Size]():
		return "size"
	case t == reflect.TypeFor[units.Rate]():
		return "rate"
	case r.file:
		return "file"
	case r.enum != nil:
		return "name"
	case readsText(t):
		return "text"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "bool"
	case reflect.String:
		return "text"
	case reflect.Slice:
		return "list"
	case reflect.Struct, reflect.Map:
		if k.short != "" {
			return "name or mapping"
		}
		return "mapping"
	}
	return "number"
}

// readsText reports whether values of a type read their text themselves.
func readsText(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// text returns what a value of the type may be, in words; empty for a value that
// the type alone describes.
func (r Rule) text(t reflect.Type) string {
	v := reflect.New(t).Elem()
	number := func(n int64) string {
		v.SetInt(n)
		return fmt.Sprint(v.Interface()) // with its unit
	}
	var text string
	switch {
	case r.enum != nil:
		return strings.Join(r.enum(), ", ")
	case r.want != "":
		return r.want
	case readsText(t):
		return ""
	case v.CanInt() && r.max != 0:
		text = number(r.min) + " to " + number(r.max)
	case v.CanInt():
		text = number(r.min) + " or more"
	case v.CanUint():
		text = fmt.Sprint(r.min, " or more")
	}
	if r.word != "" {
		text += " or " + r.word
	}
	return text
}
