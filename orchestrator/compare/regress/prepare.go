package regress

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/metrics/meaning"
	"github.com/csiglab/csiglab/orchestrator/compare/statistics"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/expression"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
)

// Filter leaves entries of a suite out, and changes the seeds of those that stay.
type Filter struct {
	Only  []string // NAME or NAME/VARIANT; empty: all
	Seeds int      // the most seeds of every entry; 0: those of the suite
}

// cell is one variant of an entry: what is decided on its own.
type cell struct {
	entry   *Entry
	variant string
	several bool // the experiment has more variants
	clock   string
	file    [2]string // of the experiment, for the programs of both sides
	content [2]string // digests of the experiment's text and files
	rules   []judged
	looks   []int

	result verdict.Experiment
	kept   []string // reasons of the metrics that hold whatever the outcome is, by rule
	note   string   // what a reader should know of the runs; empty: nothing
}

// judged is a rule with what is known of its metric.
type judged struct {
	Rule
	unit string
}

// name returns NAME/VARIANT, or NAME for an experiment with one variant.
func (c *cell) name() string {
	if !c.several {
		return c.entry.Name
	}
	return c.entry.Name + "/" + c.variant
}

// deterministic reports whether equal trials give equal values.
func (c *cell) deterministic() bool { return c.way().Has(runtimes.Repeatable) }

// way is how its trials run.
func (c *cell) way() runtimes.Way { return runtimes.Way{Clock: c.clock} }

// wrong returns an error of the campaign's input.
func wrong(format string, args ...any) error {
	return failure.Configuration(fmt.Errorf(format, args...))
}

// prepare returns the cells of the suite that stay, and checks them.
func (c *Campaign) prepare() error {
	var errs []error
	used := make([]bool, len(c.Filter.Only))
	if err := errors.Join(c.checkFiles(), c.storedOverrides()); err != nil {
		return err
	}
	for i := range c.Suite.Entries {
		e := c.Suite.Entries[i]
		variants, whole := c.chosen(e.Name, used)
		if len(variants) == 0 && !whole {
			continue
		}
		if n := c.Filter.Seeds; n > 0 {
			e.Seeds = Seeds{First: min(e.Seeds.First, n), Most: n}
		}
		cells, err := c.cellsOf(&e, variants, whole)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		c.cells = append(c.cells, cells...)
	}
	var names []string
	for _, e := range c.Suite.Entries {
		names = append(names, e.Name)
	}
	for i, only := range c.Filter.Only {
		if !used[i] {
			name, _, _ := strings.Cut(only, "/")
			errs = append(errs, wrong("--only %s: the suite %s has no such experiment%s; it has %s", only, c.Suite.Name, spelling.Hint(spelling.Nearest(name, names)), strings.Join(names, " ")))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return errors.Join(c.checkPlans(), c.checkStored())
}

// checkFiles refuses an experiment in place of those of a suite that has several.
func (c *Campaign) checkFiles() error {
	n := 0
	for _, e := range c.Suite.Entries {
		if variants, whole := c.chosen(e.Name, make([]bool, len(c.Filter.Only))); whole || len(variants) > 0 {
			n++
		}
	}
	for i, s := range c.sides() {
		if s.Experiment != "" && n > 1 {
			return wrong("--%s file:%s takes the place of one experiment, and the suite %s has %d; choose one with --only", sideNames[i], s.Experiment, c.Suite.Name, n)
		}
	}
	return nil
}

// chosen returns which variants of an entry stay; whole: all that the entry has. It marks
// the names of Filter.Only that it used.
func (c *Campaign) chosen(name string, used []bool) (variants []string, whole bool) {
	if len(c.Filter.Only) == 0 {
		return nil, true
	}
	for i, only := range c.Filter.Only {
		first, variant, ok := strings.Cut(only, "/")
		if first != name {
			continue
		}
		used[i] = true
		if !ok {
			whole = true
		} else {
			variants = append(variants, variant)
		}
	}
	return variants, whole
}

// cellsOf returns the cells of an entry.
func (c *Campaign) cellsOf(e *Entry, only []string, whole bool) ([]*cell, error) {
	var file, content [2]string
	var set *experiment.Set
	var names []expression.Names
	clock := ""
	var loaded *experiment.Set
	var known []expression.Names
	var err error
	for i, s := range c.sides() {
		if b := &c.Baseline; i == 0 || err != nil || b.Experiment != s.Experiment || !slices.Equal(b.Set, s.Set) {
			loaded, known, err = load(e, s, sideNames[i])
		}
		switch {
		case err != nil && s.knows():
			return nil, failure.Configuration(fmt.Errorf("%s of %s, as the %s runs it: %w", e.Name, c.Suite.Name, sideNames[i], err))
		case err == nil && set == nil:
			set, names = loaded, known
		}
		if err == nil && (clock == "" || loaded.Base.Way().Has(runtimes.RealTime)) {
			clock = loaded.Base.Clock
		}
		if s.Stored != nil {
			continue
		}
		source := e.Experiment
		if s.Experiment != "" {
			source = s.Experiment
		}
		if file[i], content[i], err = c.give(source, loaded); err != nil {
			return nil, err
		}
	}
	if set == nil {
		_, _, err := load(e, c.sides()[0], sideNames[0])
		return nil, wrong("%s of %s: this csiglab has to know an experiment to compare its metrics: %w", e.Name, c.Suite.Name, err)
	}
	variants, err := variantsOf(e, set, only, whole)
	if err != nil {
		return nil, err
	}
	var cells []*cell
	var errs []error
	for _, v := range variants {
		one := &cell{entry: e, variant: v, several: len(set.Variants) > 1, clock: clock, file: file, content: content}
		one.looks = statistics.Looks(e.Seeds.First, e.Seeds.Most)
		i := slices.IndexFunc(set.Variants, func(r experiment.Resolved) bool { return r.Name == v })
		known := expression.NewKnown(v, names[i], len(set.Variants) > 1)
		for _, r := range e.Rules {
			j, err := ruleOf(&r, known, set)
			if err != nil {
				errs = append(errs, r.wrong(e, err))
				continue
			}
			one.rules = append(one.rules, j)
		}
		cells = append(cells, one)
	}
	return cells, errors.Join(errs...)
}

// wrong places an error at the rule.
func (r *Rule) wrong(e *Entry, err error) error {
	if r.node == nil {
		return wrong("%s: metric %q: %w", e.Name, r.Metric, err)
	}
	return failure.Configuration(r.node.Wrong(err.Error(), ""))
}

// variantsOf returns the variants of an entry that are run.
func variantsOf(e *Entry, set *experiment.Set, only []string, whole bool) (variants []string, err error) {
	var all []string
	for _, v := range set.Variants {
		all = append(all, v.Name)
	}
	variants = all
	if len(e.Variants) > 0 {
		variants = e.Variants
	}
	for _, v := range variants {
		if !slices.Contains(all, v) {
			return nil, e.fail("variants", fmt.Sprintf("%s has no variant %q; it has %s", e.Experiment, v, strings.Join(all, " ")), spelling.Nearest(v, all))
		}
	}
	for _, v := range only {
		if !slices.Contains(variants, v) {
			return nil, wrong("--only %s/%s: the suite has no such variant%s; it has %s", e.Name, v, spelling.Hint(spelling.Nearest(v, variants)), strings.Join(variants, " "))
		}
	}
	if !whole {
		variants = slices.DeleteFunc(slices.Clone(variants), func(v string) bool { return !slices.Contains(only, v) })
	}
	return variants, nil
}

// fail returns an error at the place of a key of the entry.
func (e *Entry) fail(key, msg, suggestion string) error {
	if e.node == nil {
		return wrong("%s: %s%s", e.Name, msg, spelling.Hint(suggestion))
	}
	n := e.node
	if value := n.Get(key); value != nil {
		n = value
	}
	return failure.Configuration(n.Wrong(msg, suggestion))
}

// load returns the experiment of an entry as a side will run it, as far as this csiglab
// knows it, and the names of its variants' metrics.
func load(e *Entry, s *Side, name string) (*experiment.Set, []expression.Names, error) {
	list, err := overrides(e, s, name)
	if err != nil {
		return nil, nil, err
	}
	opts := experiment.Options{Tables: experiment.StandardTables(), Override: list}
	source := e.Experiment
	if s.Experiment != "" {
		source = s.Experiment
	}
	set, err := experiment.Load(source, opts)
	if err != nil {
		return nil, nil, err
	}
	names, err := measure.NamesOfSet(set)
	return set, names, err
}

// overrides returns those of an entry and of a side; name is the side's.
func overrides(e *Entry, s *Side, name string) (list []experiment.Override, err error) {
	for _, from := range []struct {
		set         []string
		option, dir string
	}{{e.Set, "set of " + e.Name, e.Dir}, {s.Set, "--" + name + "-set", s.Dir}} {
		for _, text := range from.set {
			o, err := experiment.ParseSet(from.option, text)
			if err != nil {
				return nil, err
			}
			o.Dir = from.dir
			list = append(list, o)
		}
	}
	return list, nil
}

// arguments returns the overrides of an entry and of a side for a program that runs in
// another folder: with the names of files made absolute.
func arguments(e *Entry, s *Side) (list []string) {
	overrides, _ := overrides(e, s, "") // load has checked them
	given := slices.Concat(e.Set, s.Set)
	for i, o := range overrides {
		if absolute := o.Absolute(); absolute.Value != o.Value {
			given[i] = o.Path + "=" + absolute.Value
		}
	}
	return given
}

// ruleOf completes a rule.
func ruleOf(r *Rule, known *expression.Known, set *experiment.Set) (judged, error) {
	derived := slices.ContainsFunc(set.Base.Derived, func(d experiment.Derived) bool { return d.Name == r.Metric })
	if !derived {
		if err := known.Check(r.Metric); err != nil {
			return judged{}, err
		}
	}
	j := judged{Rule: *r}
	m := measure.Meaning(r.Metric)
	if derived { // its name says the unit, but not what is better
		m.Better = meaning.Neutral
	}
	j.unit = m.Unit
	if j.Better == "" {
		if j.Better = verdict.Better(m.Better.String()); j.Better == "" {
			return j, fmt.Errorf("it is not known whether less or more of %s is better; say which: better: lower, or better: higher; or better: same, if it has no reason to move", r.Metric)
		}
	}
	return j, nil
}

// give returns the file of an experiment's text that both programs can read, and the
// digest of the text and of the files that it names. The text of an embedded experiment
// will be written into the campaign's folder: programs of other revisions have other texts.
// set is nil for what this csiglab cannot load.
func (c *Campaign) give(source string, set *experiment.Set) (file, content string, err error) {
	data, dir, err := experiment.Text(source)
	if err != nil {
		return "", "", failure.Configuration(err)
	}
	h := sha256.New()
	fmt.Fprintf(h, "%d\n%s", len(data), data)
	var files []string
	if set != nil {
		files = set.Files
	}
	if err := c.watch(source, data, files); err != nil { // before the digest: what changes in between is found
		return "", "", err
	}
	for _, f := range files {
		digest, err := trial.Digest(context.Background(), f) // Prepare has no context
		if err != nil {
			return "", "", failure.Configuration(fmt.Errorf("experiment %s: %w", source, err))
		}
		fmt.Fprintf(h, "%q %s\n", filepath.Base(f), digest)
	}
	content = fmt.Sprintf("%x", h.Sum(nil)[:16])
	if !slices.Contains(experiment.Names(), source) {
		if file, err = filepath.Abs(source); err != nil {
			return "", "", err
		}
		return file, content, nil
	}
	if file, err = filepath.Abs(filepath.Join(c.Folder, textFolder, source+".yaml")); err != nil {
		return "", "", err
	}
	if c.texts == nil {
		c.texts = map[string]embedded{}
	}
	c.texts[file] = embedded{data, dir}
	return file, content, nil
}

// textFolder is the folder of the texts of embedded experiments, in that of a campaign.
const textFolder = "experiments"

// embedded is the text of an embedded experiment, and the folder of its files; "" without.
type embedded struct {
	data []byte
	dir  string
}

// writeTexts writes the texts of embedded experiments into the campaign's folder, with the
// files that they name. Its error is of class failure.ErrInfrastructure.
func (c *Campaign) writeTexts() error {
	for _, file := range slices.Sorted(maps.Keys(c.texts)) {
		text := c.texts[file]
		err := os.MkdirAll(filepath.Dir(file), 0o755)
		if err == nil && text.dir != "" {
			err = copyTree(filepath.Dir(file), text.dir)
		}
		if err == nil {
			err = own.WriteFile(file, text.data, 0o644)
		}
		if err != nil {
			return failure.Infrastructure(fmt.Errorf("%s: %w", file, cause.Of(err)))
		}
	}
	return nil
}

// copyTree copies the files of a folder into another one.
func copyTree(to, from string) error {
	return filepath.WalkDir(from, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		target := filepath.Join(to, relative)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return own.WriteFile(target, data, 0o644)
	})
}
