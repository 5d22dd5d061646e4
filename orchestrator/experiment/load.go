package experiment

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/internal/lines"
	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/experiment/expression"
)

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
	// Seeds is the number of seeds to run; 0 is as many as the experiment has. Fewer are
	// the first ones; more go on with the numbers after the greatest one.
	Seeds int
	// Variants are the names of the variants to run, none of them twice; empty is all.
	// The others are left out of the Set, with the expectations and the published
	// figures that name them.
	Variants []string
	// Runtime is where nodes run if neither the file nor an override says it: with the
	// experiment's clock, or without one in the runtime's first. Under clock wall, where the
	// runtime has a part in the results, it counts for a Lab alone. RuntimeAt is where it was
	// given.
	Runtime, RuntimeAt string
	Lab                bool // a containerlab topology file stands for a lab, not for a run
	Tables             Tables
	// AnySize accepts a fabric that is too large to run, of a kind whose size is known
	// without building it.
	AnySize bool
	// Names returns the names of metrics of each variant of a set. It is called when
	// nothing but expressions is wrong, so that their errors are found together, and
	// before variants are left out. nil: metrics are checked later.
	Names func(*Set) ([]expression.Names, error)
}

// Override is a value for a path.
type Override struct {
	Path   string
	Value  string // a YAML value
	Origin string // how messages name it, such as "--set hosts.cc=nscc"
	Dir    string // that the names of files in Value are relative to; "": the working directory
}

// ParseSet splits "path=value" of an option such as --set.
func ParseSet(option, text string) (Override, error) {
	path, value, ok := strings.Cut(text, "=")
	o := Override{Path: strings.TrimSpace(path), Value: value, Origin: option + " " + text}
	if dotted := dots(o.Path); !ok || dotted == "" || strings.Contains(dotted, "..") || strings.Trim(dotted, ".") != dotted {
		return o, &Error{File: o.Origin, Msg: "want path=value, such as hosts.cc.csig=none"}
	}
	return o, nil
}

// ParseSets is ParseSet of several texts. The error joins those of all that are wrong.
func ParseSets(option string, texts []string) ([]Override, error) {
	list, errs := make([]Override, len(texts)), make([]error, len(texts))
	for i, text := range texts {
		list[i], errs[i] = ParseSet(option, text)
	}
	return list, errors.Join(errs...)
}

// Set is an experiment with its variants.
type Set struct {
	Source   string      // path, or the name of an embedded experiment
	Base     *Experiment // without a variant's overrides; its Variants has each variant's difference from it
	Variants []Resolved  // at least one
	// Notes name the expectations and published figures that are left out because of
	// Options.Variants, and the overrides that some variants have no parameter for.
	Notes []string

	Reduced bool // to some of the variants of the file

	// Implied is the text of the experiment that a containerlab topology file stands for. It is
	// one in the folder of that file. "": Source is an experiment.
	Implied string

	// Files are the files and folders that the variants read beside the experiment, with
	// absolute names, in alphabetical order.
	Files []string
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
	data, dir, implied, err := text(nameOrPath, opts.Lab)
	if err != nil {
		return nil, err
	}
	source := nameOrPath
	if implied {
		source = "the experiment of " + nameOrPath
	}
	set, err := Parse(source, dir, data, opts)
	if err == nil && implied {
		set.Implied = string(data)
	}
	return set, err
}

// Text returns the text of the experiment of that name, or at that path, as it is, and
// the folder that the names of its files are relative to, for Parse. The folder of an
// embedded experiment that reads no files is "". A containerlab topology file stands for a
// run (see Set.Implied). Its error is an Errors or an *Error.
func Text(nameOrPath string) (data []byte, dir string, err error) {
	data, dir, _, err = text(nameOrPath, false)
	return data, dir, err
}

func text(nameOrPath string, lab bool) (data []byte, dir string, implied bool, err error) {
	if slices.Contains(Names(), nameOrPath) {
		if data, dir, err = embedded(nameOrPath); err != nil {
			return nil, "", false, &Error{File: nameOrPath, Msg: err.Error()}
		}
		return data, dir, false, nil
	}
	if data, err = readFile(nameOrPath); err == nil && isClab(nameOrPath, data) {
		implied = true
		data, err = imply(nameOrPath, lab)
	}
	return data, filepath.Dir(nameOrPath), implied, err
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
	f, err := lines.Open(path, maxFile)
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
// the folder that the names of its files are relative to. It reports all mistakes that
// it can find at once.
func Parse(source, dir string, data []byte, opts Options) (*Set, error) {
	file, errs := parseTree(data, origin{file: source, dir: dir}, false)
	switch {
	case file == nil:
		return nil, errs
	case file.kind != mapping:
		return nil, append(errs, file.at.error("", fmt.Sprintf("want a mapping, got %v", file.kind), ""))
	}
	normalise(file, "")
	r := &resolver{source: source, opts: opts, base: file, compiled: map[compiledKey][]*expression.Error{}, files: map[string]bool{}}
	r.collect(errs...)
	layers, more := parseLayers(opts)
	r.collect(more...)
	declared, more := parseVariants(file.get("variants"))
	r.collect(more...)
	r.declared = declared
	r.sweep, more = parseSweep(file.get("sweep"))
	r.collect(more...)
	file.remove("sweep") // no variant has it
	r.override(layers)
	if err := fitRuntime(r.base, layers, opts); err != nil {
		r.collect(err)
	}
	return r.resolve()
}

// resolver puts the layers of an experiment together and collects what is wrong.
type resolver struct {
	source   string
	opts     Options
	base     *tree // the file, and what changes all variants
	declared []declaredVariant
	sweep    *Sweep
	general  []layer // overrides of the base and of all variants
	notes    []string
	compiled map[compiledKey][]*expression.Error
	files    map[string]bool // that variants read

	errs        Errors
	expressions Errors // what is wrong with expressions, apart from errs
	listed      map[Error]bool
}

// collect adds errors that are not there yet: those of the base are those of most
// variants too.
func (r *resolver) collect(errs ...*Error) { r.errs = append(r.errs, r.unlisted(errs)...) }

// unlisted returns the errors that are not there yet.
func (r *resolver) unlisted(errs []*Error) (fresh []*Error) {
	if r.listed == nil {
		r.listed = map[Error]bool{}
	}
	for _, e := range errs {
		if !r.listed[*e] {
			r.listed[*e] = true
			fresh = append(fresh, e)
		}
	}
	return fresh
}

// wrong returns the errors in the order of the file, then those of the other origins;
// nil if there are none but those of expressions.
func (r *resolver) wrong() error {
	if len(r.errs) == 0 {
		return nil
	}
	return sortErrors(r.source, slices.Concat(r.errs, r.expressions))
}

// sortErrors sorts errors by their lines in the source, those of other origins last.
// Those of one line keep their order.
func sortErrors(source string, errs Errors) Errors {
	slices.SortStableFunc(errs, func(a, b *Error) int {
		if first, second := a.File == source, b.File == source; first != second {
			if first {
				return -1
			}
			return 1
		}
		return a.Line - b.Line
	})
	return errs
}

// resolve decodes the base and every variant.
func (r *resolver) resolve() (*Set, error) {
	values := r.base.values()
	if total := values * len(r.declared); total > maxValues {
		r.collect(&Error{File: r.source, Msg: fmt.Sprintf("%d variants of %d values each are too many; the most is %d values in all", len(r.declared), values, maxValues)})
		return nil, r.wrong()
	}
	r.lead()
	trees := make([]*tree, len(r.declared)) // nil: as the base, or wrong
	for i := range r.declared {
		if v := &r.declared[i]; v.changes() && len(r.errs) < maxListed { // no message lists more
			t, errs := v.merge(r.base)
			r.collect(errs...)
			if len(errs) == 0 {
				trees[i] = t
			}
		}
	}
	r.reach(trees)
	whole, node := r.decode(r.base)
	set := &Set{Source: r.source, Base: whole, Notes: r.notes}
	for i := range r.declared {
		switch v := &r.declared[i]; {
		case !v.changes():
			same := *whole
			set.Variants = append(set.Variants, Resolved{v.name, &same, node})
		case trees[i] != nil && len(r.errs) < maxListed:
			resolved, node := r.decode(trees[i])
			set.Variants = append(set.Variants, Resolved{v.name, resolved, node})
		}
	}
	chosen, err := r.choose()
	if err != nil {
		r.collect(err)
	}
	if err := r.wrong(); err != nil {
		return nil, err
	}
	whole.Sweep = r.sweep
	text := encode(reflect.ValueOf(whole).Elem(), "")
	for i, v := range set.Variants {
		own := map[string]any{}
		if r.declared[i].changes() {
			diff(text, encode(reflect.ValueOf(v.Experiment).Elem(), ""), "", own)
		}
		whole.Variants = append(whole.Variants, Variant{v.Name, own})
	}
	if len(r.expressions) > 0 {
		return nil, set.wrongExpressions(sortErrors(r.source, r.expressions), r.opts)
	}
	if len(chosen) > 0 {
		if err := set.checkWhole(r.opts.Names); err != nil {
			return nil, err
		}
	}
	set.keep(chosen)
	for i := range set.Variants {
		set.Variants[i].Experiment.Baseline = "" // it has no variants
	}
	set.Files = slices.Sorted(maps.Keys(r.files))
	return set, nil
}

// decode returns the experiment of a tree, and the tree's nodes by path.
func (r *resolver) decode(t *tree) (*Experiment, map[string]*tree) {
	d := &decoder{tables: r.opts.Tables, anySize: r.opts.AnySize, root: t, node: map[string]*tree{}, compiled: r.compiled, files: r.files}
	e := defaults()
	d.decode(t, reflect.ValueOf(e).Elem(), "")
	if len(d.errs) < maxListed {
		d.derive(e)
		d.check(e, r.declared)
		d.setSeeds(e, r.opts.Seeds)
	}
	r.collect(d.errs...)
	r.expressions = append(r.expressions, r.unlisted(d.expressions)...)
	return e, d.node
}
