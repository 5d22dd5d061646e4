package regress

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/compare/revision"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/programs/builder"
)

// coveredSeed is the seed under which the candidate runs once more, to say what it executes.
const coveredSeed = 1

// mostNamed is how many functions a note names.
const mostNamed = 8

// execution adds to a verdict which functions the candidate changes and which of them no run
// executed. It builds the candidate once more, so that it counts what it executes in packages
// that changed, and runs all of the suite under one seed on this machine. It does so if both
// sides were built from source, without modules, and all experiments run in virtual time. That it
// cannot although the sources differ is a note, unless the context has ended.
func (s *Session) execution(ctx context.Context, d *verdict.Document, into string) error {
	c := &s.campaign
	changed := builder.Changed(c.Baseline.functions, c.Candidate.functions)
	if c.Baseline.functions == nil || c.Candidate.functions == nil || len(changed) == 0 {
		return nil
	}
	unknown := func(why string) {
		d.Notes = append(d.Notes, "it is not known what the runs executed of the code that changed: "+why)
	}
	if len(s.Plan.Candidate.With) > 0 {
		unknown("modules were built in")
		return nil
	}
	var trials []trial.Trial
	for _, one := range c.cells {
		if !one.way().Has(runtimes.SideBySide) {
			unknown(fmt.Sprintf("experiment %s runs in real time", one.result.Name))
			return nil
		}
		trials = append(trials, c.trial(one, 1, coveredSeed))
	}
	not, err := s.notExecuted(ctx, changed, trials, into)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		unknown(err.Error())
		return nil
	}
	d.Execution = &verdict.Execution{Changed: len(changed), NotRun: []string{}}
	for i := range not {
		d.Execution.NotRun = append(d.Execution.NotRun, not[i].String())
	}
	slices.Sort(d.Execution.NotRun)
	if text := untested(d.Execution); text != "" {
		d.Notes = append(d.Notes, text)
	}
	return nil
}

// untested says which functions changed and were not executed; "" if all were.
func untested(x *verdict.Execution) string {
	if len(x.NotRun) == 0 {
		return ""
	}
	named, more := x.NotRun, ""
	if n := len(named) - mostNamed; n > 0 {
		named, more = named[:mostNamed], fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("of %s that the candidate changes, no run of the suite executed %d, so that the verdict is not about them: %s%s",
		spelling.Plural(x.Changed, "function"), len(x.NotRun), strings.Join(named, ", "), more)
}

// notExecuted returns those of the functions that no trial executes.
func (s *Session) notExecuted(ctx context.Context, changed []builder.Function, trials []trial.Trial, into string) ([]builder.Function, error) {
	r, err := s.Plan.Candidate.request()
	if err != nil {
		return nil, err
	}
	for _, f := range changed {
		if !slices.Contains(r.Cover, f.Package) {
			r.Cover = append(r.Cover, f.Package)
		}
	}
	slices.Sort(r.Cover)
	r.Linked, r.Into = s.Builds.Linked, into
	say, end := s.Builds.View(r.Ref.String() + " that counts what it executes")
	r.Say = say
	p, err := revision.Build(ctx, r)
	end()
	if err != nil {
		return nil, err
	}
	counts, err := filepath.Abs(filepath.Join(into, "executed"))
	if err == nil {
		err = os.MkdirAll(counts, 0o755)
	}
	if err != nil {
		return nil, failure.Infrastructure(fmt.Errorf("%s: %w", into, cause.Of(err)))
	}
	for i := range trials {
		trials[i].Program, trials[i].Identity = p.File, p.Identity
	}
	environment := s.Work.Environment
	if environment == nil {
		environment = os.Environ()
	}
	local := &trial.Local{Folder: filepath.Join(into, "runs"), Environment: append(slices.Clone(environment), "GOCOVERDIR="+counts)}
	if err := trial.Each(ctx, local, nil, trials, max(1, s.campaign.Parallel), func(trial.Done) {}); err != nil {
		return nil, err
	}
	return builder.NotExecuted(ctx, counts, changed)
}
