package experiment

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/expression"
)

//go:embed library/*.yaml
var library embed.FS

// Names returns the names of the embedded experiments, in alphabetical order.
func Names() []string {
	entries, err := fs.ReadDir(library, "library")
	if err != nil {
		panic("experiment: no library: " + err.Error())
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ".yaml")
	}
	slices.Sort(names) // the files' order is that with .yaml
	return names
}

// Options are the layers above the file, and the tables of names.
type Options struct {
	// Override are values by path that win over the file, its variants
	// included, later ones over earlier ones. The path "variants.NAME.PATH"
	// changes one variant alone.
	Override []Override
	// Env is the environment as of os.Environ. CSIGLAB_<PATH>, the path in upper
	// case with _ for . and -, wins over the file and loses to Override. Other
	// variables that begin with CSIGLAB_ are errors, except those in Reserved.
	Env      []string
	Reserved []string // names of variables that are not the experiment's
	Seeds    int      // use only the first so many seeds; 0 is all
	Tables   Tables
	// Names returns the names of metrics of each variant of a set. It is called when
	// nothing but expressions is wrong, so that their errors are found together. nil:
	// metrics are checked later.
	Names func(*Set) ([]expression.Names, error)
}

// Override is a value for a path.
type Override struct {
	Path   string
	Value  string // a YAML value
	Origin string // how messages name it, such as "--set hosts.cc=nscc"
}

// ParseSet splits "path=value" of an option such as --set.
func ParseSet(option, text string) (Override, error) {
	path, value, ok := strings.Cut(text, "=")
	o := Override{Path: strings.TrimSpace(path), Value: value, Origin: option + " " + text}
	if !ok || o.Path == "" || strings.Contains(o.Path, "..") || strings.Trim(o.Path, ".") != o.Path {
		return o, &Error{File: o.Origin, Msg: "want path=value, such as hosts.cc.csig=none"}
	}
	return o, nil
}

// Set is an experiment with its variants.
type Set struct {
	Source   string      // path, or the name of an embedded experiment
	Base     *Experiment // without a variant's overrides; its Variants has each variant's difference from it
	Variants []Resolved  // at least one
}

// Resolved is one variant as a whole experiment. Its Variants is nil; what
// variants share (seeds, expectations, ...) is the same in each.
type Resolved struct {
	Name       string
	Experiment *Experiment
	node       map[string]*tree // what was given, by path
}

// At returns err with the place that the value of a path has in the file. It is for
// errors that show only after loading, when the parts of a fabric are put together.
// The result is an *Error.
func (r *Resolved) At(path string, err error) error {
	if r.node == nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	d := decoder{node: r.node}
	d.failAt(path, err.Error(), "")
	return d.errs[0]
}

// Load reads the experiment of that name, or at that path, and resolves it. Its
// error is an Errors or an *Error.
func Load(nameOrPath string, opts Options) (*Set, error) {
	if slices.Contains(Names(), nameOrPath) {
		data, err := library.ReadFile("library/" + nameOrPath + ".yaml")
		if err != nil {
			panic("experiment: " + err.Error())
		}
		return Parse(nameOrPath, "", data, opts)
	}
	data, err := readFile(nameOrPath)
	if err != nil {
		return nil, err
	}
	return Parse(nameOrPath, filepath.Dir(nameOrPath), data, opts)
}

func readFile(path string) ([]byte, error) {
	fail := func(msg, suggestion string) ([]byte, error) {
		return nil, &Error{File: path, Msg: msg, Suggestion: suggestion}
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		suggestion := spelling.Nearest(path, Names())
		if suggestion == "" {
			suggestion = nearestFile(path)
		}
		return fail("no such file, nor an embedded experiment; embedded: "+strings.Join(Names(), " "), suggestion)
	case err != nil:
		return fail(cause.Of(err).Error(), "")
	case info.IsDir():
		return fail("a directory; name a file in it", "")
	}
	f, err := openRegular(path, maxFile)
	if err != nil {
		return fail(err.Error(), "")
	}
	defer f.Close() // opened for reading
	data, err := io.ReadAll(f)
	if err != nil {
		return fail(cause.Of(err).Error(), "")
	}
	return data, nil
}

// Parse resolves the text of an experiment. source is its name in messages, dir
// the folder that the names of its files are relative to.
func Parse(source, dir string, data []byte, opts Options) (*Set, error) {
	file, err := parseTree(data, origin{file: source, dir: dir}, false)
	if err != nil {
		return nil, err
	}
	if file.kind != mapping {
		return nil, &Error{File: source, Line: file.at.line, Column: file.at.column, Msg: fmt.Sprintf("want a mapping, got %v", file.kind)}
	}
	normalise(file)
	layers, err := parseLayers(opts)
	if err != nil {
		return nil, err
	}
	declared, err := parseVariants(file.get("variants"))
	if err != nil {
		return nil, err
	}
	base := file.clone()
	for _, l := range layers {
		if name, path, ok := splitVariant(l.path); ok {
			i := slices.IndexFunc(declared, func(v declaredVariant) bool { return v.name == name })
			if i < 0 {
				names := make([]string, len(declared))
				for j, v := range declared {
					names[j] = v.name
				}
				return nil, &Error{File: l.value.at.file, Path: l.path, Msg: unknown("variant", name, names).Error(), Suggestion: spelling.Nearest(name, names)}
			}
			declared[i].later = append(declared[i].later, layer{path, l.at, l.value})
			declared[i].overridden = true
			continue
		}
		if err := base.merge(l.path, l.at, l.value); err != nil {
			return nil, err
		}
		for i := range declared {
			declared[i].later = append(declared[i].later, l)
		}
	}
	if err := fitRuntime(base, layers); err != nil {
		return nil, err
	}
	return resolve(source, base, declared, opts)
}

// layer is one override, parsed.
type layer struct {
	path  string
	at    origin // of the path
	value *tree
}

// declaredVariant is a variant with its own overrides and those that win over
// them.
type declaredVariant struct {
	name       string
	own        []layer
	later      []layer
	overridden bool // later has one that is for this variant alone
}

// changes reports whether the variant may differ from the base.
func (v *declaredVariant) changes() bool { return len(v.own) > 0 || v.overridden }

func splitVariant(path string) (name, rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, "variants.")
	if !ok {
		return "", "", false
	}
	name, rest, ok = strings.Cut(rest, ".")
	return name, rest, ok
}

// parseLayers returns the environment's values, then the overrides.
func parseLayers(opts Options) ([]layer, error) {
	var layers []layer
	variables := map[string]string{}
	var names []string
	for _, path := range Paths(opts.Tables) {
		name := "CSIGLAB_" + strings.NewReplacer(".", "_", "-", "_").Replace(strings.ToUpper(path))
		variables[name] = path
		names = append(names, name)
	}
	var named []Override
	for _, pair := range slices.Sorted(slices.Values(opts.Env)) {
		name, value, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, "CSIGLAB_") || slices.Contains(opts.Reserved, name) {
			continue
		}
		path, ok := variables[name]
		if !ok {
			return nil, &Error{File: "environment variable " + name, Msg: "sets nothing that an experiment has", Suggestion: spelling.Nearest(name, names)}
		}
		o := Override{Path: path, Value: value, Origin: "environment variable " + name}
		if strings.HasSuffix(path, ".name") { // before the parameters that it would start afresh
			named = slices.Insert(named, 0, o)
		} else {
			named = append(named, o)
		}
	}
	for _, o := range append(named, opts.Override...) {
		value, err := parseTree([]byte(o.Value), origin{file: o.Origin}, true)
		if err != nil {
			return nil, err
		}
		if value.kind == null {
			return nil, &Error{File: o.Origin, Path: o.Path, Msg: "the value is empty"}
		}
		layers = append(layers, layer{o.Path, value.at, nest(o.Path, value)})
	}
	return layers, nil
}

// nest normalises a value that stands at a path.
func nest(path string, value *tree) *tree {
	short := false
	for section := range kinds {
		short = short || path == section
		for _, k := range kinds[section] {
			short = short || path == join(section, k.Name)
		}
	}
	if !short {
		return value
	}
	names := strings.Split(path, ".")
	whole := &tree{kind: mapping}
	if err := whole.overlay("", names, value.at, value); err != nil {
		return value
	}
	normalise(whole)
	for _, name := range names {
		whole = whole.get(name)
	}
	return whole
}

// normalise expands the items that are written in the short form of a kind, so
// that overrides can reach into them.
func normalise(t *tree) {
	for section := range kinds {
		for _, k := range kinds[section] {
			list := t.get(section).get(k.Name)
			if k.Short == nil || list == nil {
				continue
			}
			for i, item := range list.items {
				if long := expand(item, k.Short); long != nil {
					list.items[i] = long
				}
			}
		}
	}
}

// expand returns the mapping that a text is short for, or nil.
func expand(t *tree, short func(string) []KeyText) *tree {
	if t.kind != scalar {
		return nil
	}
	keys := short(t.text)
	if keys == nil {
		return nil
	}
	long := &tree{kind: mapping, at: t.at}
	for _, k := range keys {
		long.keys = append(long.keys, entry{k.Key, t.at, &tree{kind: scalar, at: t.at, text: k.Text}})
	}
	return long
}

func parseVariants(t *tree) ([]declaredVariant, error) {
	if t == nil {
		return []declaredVariant{{name: "run"}}, nil
	}
	if t.kind != mapping || len(t.keys) == 0 {
		return nil, &Error{File: t.at.file, Line: t.at.line, Column: t.at.column, Path: "variants",
			Msg: fmt.Sprintf("want a mapping from each variant's name to its overrides, got %v", t.kind)}
	}
	if n := len(t.keys); n > maxVariants {
		return nil, &Error{File: t.at.file, Line: t.at.line, Column: t.at.column, Path: "variants", Msg: fmt.Sprintf("%d variants are too many; the most is %d", n, maxVariants)}
	}
	var errs Errors
	var list []declaredVariant
	for _, e := range t.keys {
		v := declaredVariant{name: e.name}
		path := "variants." + e.name
		bad := func(at origin, path, msg, suggestion string) {
			errs = append(errs, &Error{File: at.file, Line: at.line, Column: at.column, Path: path, Msg: msg, Suggestion: suggestion})
		}
		switch {
		case !namePattern.MatchString(e.name):
			bad(e.at, path, fmt.Sprintf("%q is not %s", e.name, rules["name"].want), "")
		case e.value.kind != mapping && e.value.kind != null:
			bad(e.value.at, path, fmt.Sprintf("want a mapping from paths to values, got %v", e.value.kind), "")
		}
		for _, o := range e.value.keys {
			top, _, _ := strings.Cut(o.name, ".")
			if slices.Contains(fixed, top) {
				bad(o.at, path+"."+o.name, fmt.Sprintf("a variant cannot change %s, which all variants share", top), "")
				continue
			}
			value := nest(o.name, o.value)
			value.mark(path + ".")
			at := o.at
			at.via = path + "."
			v.own = append(v.own, layer{o.name, at, value})
		}
		list = append(list, v)
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return list, nil
}

// resolve decodes the base and every variant.
func resolve(source string, base *tree, declared []declaredVariant, opts Options) (*Set, error) {
	values := base.values()
	if total := values * len(declared); total > maxValues {
		return nil, &Error{File: source, Msg: fmt.Sprintf("%d variants of %d values each are too many; the most is %d values in all", len(declared), values, maxValues)}
	}
	compiled := map[compiledKey][]*expression.Error{}
	whole, node, errs, expressions := decodeTree(base, declared, opts, compiled)
	if len(errs) > 0 {
		errs = append(errs, expressions...)
		sortErrors(errs)
		return nil, errs
	}
	set := &Set{Source: source, Base: whole}
	listed := map[Error]bool{}
	for _, v := range declared {
		if !v.changes() {
			same := *whole
			set.Variants = append(set.Variants, Resolved{v.name, &same, node})
			continue
		}
		t := base.clone()
		for _, l := range slices.Concat(v.own, v.later) {
			if err := t.merge(l.path, l.at, l.value); err != nil {
				return nil, err
			}
		}
		resolved, node, more, _ := decodeTree(t, declared, opts, compiled)
		for _, e := range more {
			if !listed[*e] {
				listed[*e] = true
				errs = append(errs, e)
			}
		}
		set.Variants = append(set.Variants, Resolved{v.name, resolved, node})
	}
	if len(errs) > 0 {
		errs = append(errs, expressions...)
		sortErrors(errs)
		return nil, errs
	}
	text := encode(reflect.ValueOf(whole).Elem(), "")
	for i, v := range set.Variants {
		own := map[string]any{}
		if declared[i].changes() {
			diff(text, encode(reflect.ValueOf(v.Experiment).Elem(), ""), "", own)
		}
		whole.Variants = append(whole.Variants, Variant{v.Name, own})
	}
	if len(expressions) > 0 {
		return nil, set.unnamed(expressions, opts)
	}
	return set, nil
}

// decodeTree returns an experiment, what was given by path, and what is wrong: apart,
// what is wrong with expressions, which all variants share.
func decodeTree(t *tree, declared []declaredVariant, opts Options, compiled map[compiledKey][]*expression.Error) (*Experiment, map[string]*tree, Errors, Errors) {
	d := &decoder{tables: opts.Tables, node: map[string]*tree{}, compiled: compiled}
	e := defaults()
	d.decode(t, reflect.ValueOf(e).Elem(), "")
	if len(d.errs) == 0 {
		d.derive(e)
		d.check(e, declared)
		d.cutSeeds(e, opts.Seeds)
	}
	sortErrors(d.errs)
	sortErrors(d.expressions)
	return e, d.node, d.errs, d.expressions
}

// sortErrors sorts errors by line; those of one line keep their order.
func sortErrors(errs Errors) {
	slices.SortStableFunc(errs, func(a, b *Error) int {
		if a.File != b.File || a.Line == b.Line {
			return 0
		}
		return a.Line - b.Line
	})
}
