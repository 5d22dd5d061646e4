// Package stress finds out which expectations of an experiment hold with seeds that nobody
// has looked at, and with one thing changed at a time: the rate of links, their delay, the
// MTU, queues, the format of tags, how many packets are tagged. It is a sweep (package sweep)
// whose points are these settings, and a judgement of what the sweep has measured, made by
// the code that judges a run.
//
//	Request.Plan ──▶ Plan: settings ──▶ sweep.Sweep ──▶ Plan.Judge ──▶ Result
package stress

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/compare/sweep"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/expression"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
)

// Defaults of a Request. Seeds from DefaultFrom on are ones that few experiments were made with.
const (
	DefaultSeeds        = 10
	DefaultSettingSeeds = 3
	DefaultFrom         = 101
)

// Request says what to stress.
type Request struct {
	Experiment string // a name, or a path
	// Options are those of all settings. The environment must not change experiments.
	Options  experiment.Options
	Identity string
	Version  string
	Command  []string
	Parallel int // settings that are validated at once

	Seeds        int      // unseen ones; at least 1
	From         uint64   // the first of them; those of the experiment are left out
	SettingSeeds int      // of these, how many are run at each other setting; at least 1
	Settings     []string // as in the key robust; empty: all
	Promised     bool     // only what the experiment promises
}

// Plan is what is run to judge the expectations of an experiment.
type Plan struct {
	Sweep *sweep.Plan // nil: there is nothing to run

	set      *experiment.Set
	seeds    []uint64 // unseen
	few      int      // of seeds, at settings other than the seeds
	settings []Setting
	points   []int // by setting; -1: it changes no variant
	expect   []expectation
}

// expectation is an expectation of the experiment.
type expectation struct {
	text     string
	compiled *expression.Expr
}

// Plan loads the experiment, finds out what each setting changes, and validates it there.
// What the reader refuses under a setting is no error. The errors are those of
// sweep.Request.Plan.
func (r *Request) Plan(ctx context.Context) (*Plan, error) {
	text, dir, err := experiment.Text(r.Experiment)
	if err != nil {
		return nil, failure.Configuration(err)
	}
	set, err := experiment.Parse(r.Experiment, dir, text, r.Options)
	if err != nil {
		return nil, failure.Configuration(err)
	}
	names, err := r.settings(set.Base.Tuned)
	if err != nil {
		return nil, failure.Configuration(err)
	}
	seen := slices.Clone(set.Base.Seeds)
	for _, t := range set.Base.Tuned {
		seen = append(seen, t.Seeds...)
	}
	p := &Plan{set: set, seeds: unseen(seen, r.From, r.Seeds), few: min(r.SettingSeeds, r.Seeds)}
	for i, e := range set.Expressions().Expect {
		p.expect = append(p.expect, expectation{set.Base.Expect[i], e})
	}
	for _, name := range names {
		if r.Promised && !slices.ContainsFunc(p.expect, func(e expectation) bool { return set.Base.Promised(e.text, name) }) {
			continue
		}
		s, err := settingOf(set, name)
		if err != nil {
			return nil, failure.Configuration(fmt.Errorf("%s: %w", name, err))
		}
		p.settings = append(p.settings, s)
	}
	return p, p.plan(ctx, r)
}

// settings returns the names of the settings to run, in the order of the table. Those of the key
// tuned come last; without a name they are left out.
func (r *Request) settings(tuned []experiment.Tuned) (names []string, err error) {
	known := experiment.StressSettings("all")
	if len(r.Settings) == 0 {
		return known, nil
	}
	var chosen []string
	for _, t := range tuned {
		for _, by := range experiment.TunedFactors {
			chosen = append(chosen, t.Setting(by))
		}
	}
	all := slices.Concat(known, chosen)
	for _, name := range r.Settings {
		some := experiment.StressSettings(name)
		switch {
		case name == experiment.TunedSetting:
			some = chosen
		case slices.Contains(chosen, name):
			some = []string{name}
		case some == nil:
			known = append(known, experiment.TunedSetting)
			return nil, fmt.Errorf("unknown setting %q; known: %s%s", name, strings.Join(known, ", "), spelling.Hint(spelling.Nearest(name, append(all, experiment.TunedSetting))))
		}
		names = append(names, some...)
	}
	return slices.DeleteFunc(all, func(name string) bool { return !slices.Contains(names, name) }), nil
}

// unseen returns the first n seeds from one on that an experiment neither has nor was tuned on.
func unseen(own []uint64, from uint64, n int) (seeds []uint64) {
	for seed := from; len(seeds) < n; seed++ {
		if !slices.Contains(own, seed) {
			seeds = append(seeds, seed)
		}
	}
	return seeds
}

// plan makes the sweep. Point 0 changes nothing; it has the unseen seeds, and the variants
// that other settings leave alone.
func (p *Plan) plan(ctx context.Context, r *Request) (err error) {
	points := &experiment.Sweep{List: [][]experiment.Override{{}}}
	base := sweep.Part{Seeds: p.seeds[:p.few]}
	parts := []sweep.Part{base}
	for _, s := range p.settings {
		part := sweep.Part{Seeds: p.seeds[:p.few]}
		for _, e := range p.expect {
			if r.Promised && !p.set.Base.Promised(e.text, s.Name) {
				continue
			}
			changed, same := p.mentioned(e, s)
			if len(changed) == 0 {
				continue
			}
			add(&part.Variants, changed)
			add(&base.Variants, same)
		}
		if s.Name == experiment.SeedsSetting {
			base.Seeds = p.seeds
			add(&base.Variants, part.Variants)
			p.points = append(p.points, 0)
			continue
		}
		if len(part.Variants) == 0 {
			p.points = append(p.points, -1)
			continue
		}
		p.points = append(p.points, len(parts))
		points.List, parts = append(points.List, s.Overrides), append(parts, part)
	}
	if len(base.Variants) == 0 {
		base.Seeds = nil
	}
	parts[0] = base
	if !slices.ContainsFunc(parts, func(part sweep.Part) bool { return len(part.Variants) > 0 }) {
		return nil
	}
	request := sweep.Request{
		Experiment: r.Experiment, Points: points, Parts: parts, Lenient: true,
		Identity: r.Identity, Version: r.Version, Command: r.Command, Parallel: r.Parallel, Options: r.Options,
	}
	request.Options.Seeds = 0
	request.Options.Override = slices.DeleteFunc(slices.Clone(r.Options.Override), func(o experiment.Override) bool { return o.Path == "seeds" })
	request.Options.Override = append(request.Options.Override, experiment.Override{Path: "seeds", Value: list(p.seeds), Origin: "the unseen seeds"})
	p.Sweep, err = request.Plan(ctx)
	if err == nil && p.Sweep.Points[0].Refused != "" {
		err = failure.Configuration(errors.New(p.Sweep.Points[0].Refused))
	}
	return err
}

// mentioned returns the variants that an expectation mentions: those that a setting changes,
// and the others. The seeds change all.
func (p *Plan) mentioned(e expectation, s Setting) (changed, same []string) {
	for _, v := range e.compiled.Variants() {
		if s.Unchanged[v] == "" {
			changed = append(changed, v)
		} else {
			same = append(same, v)
		}
	}
	return changed, same
}

// add adds to a list what it lacks.
func add(to *[]string, more []string) {
	for _, v := range more {
		if !slices.Contains(*to, v) {
			*to = append(*to, v)
		}
	}
}

// list returns numbers as a YAML list.
func list(seeds []uint64) string {
	var texts []string
	for _, s := range seeds {
		texts = append(texts, strconv.FormatUint(s, 10))
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// Name returns the name of the experiment.
func (p *Plan) Name() string { return p.set.Base.Name }

// Clock returns the clock of the experiment.
func (p *Plan) Clock() string { return p.set.Base.Clock }

// Weight returns what all runs are predicted to take, in any unit.
func (p *Plan) Weight() (sum float64) {
	if p.Sweep == nil {
		return 0
	}
	for i, part := range p.Sweep.Parts {
		sum += p.Sweep.Points[i].Weight * float64(len(part.Variants)*len(part.Seeds))
	}
	return sum
}
