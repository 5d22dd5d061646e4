package campaign

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"path/filepath"
	"slices"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/internal/wildcard"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/expression"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
)

// Again evaluates expectations over the runs of a folder.
type Again struct {
	Folder string
	Expect []string             // in place of those of the folder, if there are any
	Derive []experiment.Derived // computed for each run before, beside those of the folder
}

// Evaluated are the outcomes of expectations over the runs of a folder.
type Evaluated struct {
	Valid        bool
	Reasons      []string // why the runs are not valid
	Expectations []runfolder.Expectation
}

// Evaluate evaluates the expectations; the folder is not changed. Its error wraps
// failure.ErrConfiguration if an expression is wrong, and lists everything that is. Errors
// of the folder are those of runfolder.Open.
func (a Again) Evaluate() (*Evaluated, error) {
	folder, err := runfolder.Open(a.Folder)
	if err != nil {
		return nil, err
	}
	runs := runsOf(folder)
	known, err := knownOf(folder, runs)
	if err != nil {
		return nil, err
	}
	var errs experiment.Errors
	var derived []expression.Named
	for i, m := range a.Derive {
		origin := fmt.Sprintf("--derived %s=%s", m.Name, m.Expr)
		switch taken := slices.ContainsFunc(known, func(k *expression.Known) bool { return k.Check(m.Name) == nil }); {
		case expression.IsFunction(m.Name) || taken:
			errs = append(errs, &experiment.Error{File: origin, Msg: fmt.Sprintf("the name %q is taken", m.Name)})
			continue
		case !experiment.IsDerivedName(m.Name):
			errs = append(errs, &experiment.Error{File: origin, Msg: fmt.Sprintf("%q is no name of a derived metric; want letters, digits and _", m.Name)})
			continue
		}
		var later []string
		for _, l := range a.Derive[i+1:] {
			later = append(later, l.Name)
		}
		e, wrong := expression.Compile(m.Expr, expression.Scope{})
		wrong = append(wrong, expression.CheckDerived(m.Name, e, later, known).Errors...)
		errs = append(errs, inOption(origin, wrong)...)
		derived = append(derived, expression.Named{Name: m.Name, Expr: e})
	}
	expect, wrong := a.compile(folder, known)
	if errs = append(errs, wrong...); len(errs) > 0 {
		return nil, failure.Configuration(errs)
	}
	var mentioned []string
	for _, d := range derived {
		mentioned = append(mentioned, d.Metrics()...)
	}
	for _, e := range expect {
		mentioned = append(mentioned, e.Metrics()...)
	}
	if err := addDetails(folder, runs, mentioned); err != nil {
		return nil, err
	}
	lacking := map[string]string{} // derived metrics that a run lacks, and why
	for _, variant := range slices.Sorted(maps.Keys(runs)) {
		for _, r := range runs[variant] {
			values, absent := expression.Derive(derived, r.Metrics, measure.WhyAbsent)
			maps.Copy(r.Metrics, values)
			for _, a := range absent {
				lacking[a.Name] = cmp.Or(lacking[a.Name], a.Reason)
			}
		}
	}
	why := func(metric string) string { return cmp.Or(lacking[metric], measure.WhyAbsent(metric)) }
	return &Evaluated{Valid: folder.Summary.Valid, Reasons: folder.Summary.Reasons, Expectations: evaluate(expect, runs, why)}, nil
}

// compile returns the expectations, or what is wrong with them.
func (a Again) compile(folder *runfolder.Folder, known []*expression.Known) (expect []*expression.Expr, errs experiment.Errors) {
	texts, origin := a.Expect, "--expect "
	if len(texts) == 0 {
		texts, origin = folder.Manifest.Expectations, "expectation of the folder: "
	}
	scope := expression.Scope{Expectation: true}
	for _, v := range folder.Manifest.Variants {
		scope.Variants = append(scope.Variants, v.Name)
	}
	for _, text := range texts {
		e, wrong := expression.Compile(text, scope)
		if e != nil {
			wrong = append(wrong, expression.CheckExpectation(e, known)...)
		}
		errs = append(errs, inOption(origin+text, wrong)...)
		expect = append(expect, e)
	}
	return expect, errs
}

// inOption places the errors of an expression in the option that has it.
func inOption(origin string, wrong []*expression.Error) (errs experiment.Errors) {
	for _, one := range wrong {
		errs = append(errs, &experiment.Error{File: origin, Msg: one.Msg, Suggestion: one.Suggestion})
	}
	return errs
}

// addDetails adds the metrics that summary.json lacks and that expressions mention, by
// name or pattern, from the table of metrics.
func addDetails(folder *runfolder.Folder, runs map[string][]expression.Run, mentioned []string) error {
	for row, err := range folder.Metrics() {
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(mentioned, func(pattern string) bool { return wildcard.Match(pattern, row.Name) }) {
			continue
		}
		for _, r := range runs[row.Variant] {
			if r.Seed == row.Seed {
				r.Metrics[row.Name] = row.Value
			}
		}
	}
	return nil
}

// runsOf returns the metrics of the runs of each variant that summary.json has, in the
// order of the seeds.
func runsOf(folder *runfolder.Folder) map[string][]expression.Run {
	runs := map[string][]expression.Run{}
	for name, v := range folder.Summary.Variants {
		for _, r := range v.Runs {
			runs[name] = append(runs[name], expression.Run{Seed: r.Seed, Metrics: r.Metrics})
		}
	}
	return runs
}

// knownOf returns the names of metrics of each variant of a folder, as the manifest has
// them: those that its runs have, and those that they could have had as far as the
// experiment of the folder can still be compiled.
func knownOf(folder *runfolder.Folder, runs map[string][]expression.Run) ([]*expression.Known, error) {
	planned := map[string]expression.Names{}
	var derived []experiment.Derived // which runs may lack
	file := filepath.Join(folder.Dir, runfolder.ExperimentFile)
	if text, err := folder.Experiment(); err == nil {
		if set, err := experiment.Parse(file, folder.Dir, text, experiment.Options{Tables: experiment.StandardTables()}); err == nil {
			if names, err := measure.NamesOfSet(set); err == nil {
				derived = set.Base.Derived
				for i := range names {
					planned[set.Variants[i].Name] = names[i]
				}
			}
		}
	}
	details := map[string]map[string]bool{} // of variants, where the plan does not say
	if len(planned) == 0 {
		for row, err := range folder.Metrics() {
			if err != nil {
				return nil, err
			}
			if details[row.Variant] == nil {
				details[row.Variant] = map[string]bool{}
			}
			details[row.Variant][row.Name] = true
		}
	}
	var known []*expression.Known
	for _, v := range folder.Manifest.Variants {
		n := &folderNames{planned: planned[v.Name], had: map[string]bool{}}
		maps.Copy(n.had, details[v.Name])
		for _, r := range runs[v.Name] {
			for name := range r.Metrics {
				n.had[name] = true
			}
		}
		known = append(known, expression.NewKnown(v.Name, n, len(folder.Manifest.Variants) > 1))
	}
	for _, d := range derived {
		e, _ := expression.Compile(d.Expr, expression.Scope{})
		expression.CheckDerived(d.Name, e, nil, known)
	}
	return known, nil
}

// folderNames are the names of metrics that runs of a folder have, and those that they
// could have had. It implements expression.Names.
type folderNames struct {
	planned expression.Names // nil if they are not known
	had     map[string]bool
}

func (n *folderNames) Has(name string) bool {
	return n.had[name] || n.planned != nil && n.planned.Has(name)
}

func (n *folderNames) Lacks(name string) string {
	if n.planned == nil {
		return ""
	}
	return n.planned.Lacks(name)
}

func (n *folderNames) Nearest(text string) string {
	if n.planned != nil {
		if near := n.planned.Nearest(text); near != "" {
			return near
		}
	}
	return spelling.Nearest(text, slices.Sorted(maps.Keys(n.had)))
}

func (n *folderNames) Match(pattern string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, name := range slices.Sorted(maps.Keys(n.had)) {
			if wildcard.Match(pattern, name) && !yield(name) {
				return
			}
		}
		if n.planned == nil {
			return
		}
		for name := range n.planned.Match(pattern) {
			if !n.had[name] && !yield(name) {
				return
			}
		}
	}
}
