package regress

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/nodes/modules"
	"github.com/csiglab/csiglab/orchestrator/compare/revision"
	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/programs/builder"
)

// SideFlags are the flags that name a side of a comparison.
type SideFlags struct {
	Name string // of the flag: baseline or candidate
	Text string
	Set  []string
}

// Spec checks the flags and returns where the side comes from: files by absolute names, so
// that another process finds them from anywhere. with are the modules of both sides.
func (s *SideFlags) Spec(with []string) (Spec, error) {
	kind, value, err := ParseSide(s.Text, func(name string) bool {
		info, err := os.Stat(name)
		return err == nil && !info.IsDir()
	})
	if err != nil {
		return Spec{}, wrong("--%s: %w", s.Name, err)
	}
	switch kind {
	case KindFolder, KindProgram, KindStored, KindFile:
		if kind == KindFile && slices.Contains(experiment.Names(), value) {
			break
		}
		if value, err = filepath.Abs(value); err != nil {
			return Spec{}, failure.Infrastructure(err)
		}
	}
	if len(s.Set) > 0 && kind == KindStored {
		return Spec{}, wrong("--%s-set %s: --%s %s has values that are stored; they do not change", s.Name, s.Set[0], s.Name, s.Text)
	}
	for _, text := range s.Set {
		if _, err := experiment.ParseSet("--"+s.Name+"-set", text); err != nil {
			return Spec{}, failure.Configuration(err)
		}
	}
	side := kind
	if kind != KindSelf {
		side += ":" + value
	}
	p := Spec{Side: side, Set: s.Set, With: with}
	if len(s.Set) > 0 {
		if p.Dir, err = os.Getwd(); err != nil {
			return Spec{}, failure.Infrastructure(err)
		}
	}
	return p, nil
}

// arguments returns the flags that give the side of a spec again: revisions by their hash. What is built
// into both sides is with the candidate.
func (s *SideFlags) arguments(spec *Spec) (list []string) {
	text := s.Text
	if hash, ok := strings.CutPrefix(spec.Side, KindGit+":"); ok {
		text = KindGit + ":" + hash[:min(len(hash), 12)]
	}
	if text != KindSelf {
		list = append(list, "--"+s.Name, text)
	}
	for _, text := range s.Set {
		list = append(list, "--"+s.Name+"-set", text)
	}
	if s.Name == sideNames[1] {
		for _, module := range spec.With {
			list = append(list, "--with", module)
		}
	}
	return list
}

// newSide returns the side of a spec, as far as it is known without its program.
func newSide(spec *Spec) (Side, error) {
	kind, value, err := ParseSide(spec.Side, func(string) bool { return false })
	if err != nil {
		return Side{}, wrong("%w", err)
	}
	s := Side{Side: verdict.Side{Label: spec.Side, Kind: kind, Set: spec.Set}, Dir: spec.Dir}
	switch kind {
	case KindFile:
		s.Experiment = value
	case KindStored:
		stored, err := ReadStored(value)
		if err != nil {
			return s, failure.Configuration(err)
		}
		s = stored.Side()
	}
	return s, nil
}

// Builds says how programs are built.
type Builds struct {
	Linked string // see revision.Request
	// View begins to show a build, and returns what shows a line above that and what ends it.
	View func(what string) (say func(string), end func())
}

// build completes a side by its program, which is built if need be. Programs go into a
// folder that the caller removes.
func (s *Side) build(ctx context.Context, spec *Spec, into string, by *Builds) error {
	if s.Stored != nil {
		spec.Label = s.Label
		return nil
	}
	r, err := spec.request()
	if err != nil {
		return err
	}
	r.Linked, r.Into = by.Linked, into
	say, end := by.View(r.Ref.String())
	r.Say = say
	p, err := revision.Build(ctx, r)
	end()
	if err != nil {
		return revision.Classed(err)
	}
	s.Identity, s.Build, s.Date, s.functions = p.Identity, p.Version, p.Date, p.Functions
	if s.Kind != KindSelf && s.Kind != KindFile || len(spec.With) > 0 {
		s.Program = p.File
	}
	if s.Kind != KindFile {
		s.Label = p.Label
	}
	if p.Commit != "" {
		spec.Side = KindGit + ":" + p.Commit
	}
	if spec.Label == "" {
		spec.Label = s.Label
	}
	s.Label = spec.Label
	switch {
	case spec.Identity == "":
		spec.Identity = p.Identity
	case spec.Identity != p.Identity:
		return wrong("%s is another program than when the regression began; begin a new one", spec.Label)
	}
	return nil
}

// request returns which program a spec asks for.
func (p *Spec) request() (r revision.Request, err error) {
	kind, value, _ := ParseSide(p.Side, func(string) bool { return false }) // newSide has checked it
	r.Ref = revision.Ref{Kind: revision.Kind(kind), Value: value}
	if kind == KindFile {
		r.Ref = revision.Ref{Kind: revision.Self}
	}
	if r.With, err = builder.ParseWiths(p.With); err != nil {
		return r, failure.Configuration(err)
	}
	return r, nil
}

// ModulesApart refuses to compare this csiglab, which has these modules, with one that is
// built without them: the difference could be theirs.
func ModulesApart(p *Plan, compiled []modules.Module) error {
	if len(compiled) == 0 || len(p.Baseline.With) > 0 {
		return nil
	}
	sides := [2]*Spec{&p.Baseline, &p.Candidate}
	for i, s := range sides {
		kind, _, _ := strings.Cut(s.Side, ":")
		other, _, _ := strings.Cut(sides[1-i].Side, ":")
		if (kind == KindGit || kind == KindFolder) && (other == KindSelf || other == KindFile) {
			return wrong("--%s %s would be built without the module %s, which this csiglab has: with --with %[3]s=FOLDER both sides have it, and revisions are of that folder; or compare two programs by program:FILE",
				[2]string{"baseline", "candidate"}[i], s.Side, compiled[0].Path)
		}
	}
	return nil
}
