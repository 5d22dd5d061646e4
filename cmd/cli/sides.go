package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/nodes/modules"
	"github.com/csiglab/csiglab/orchestrator/compare/regress"
	"github.com/csiglab/csiglab/orchestrator/compare/revision"
	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/programs/builder"
)

// sideFlags are the flags that name a side of a comparison.
type sideFlags struct {
	name string // of the flag: baseline or candidate
	text string
	set  []string
}

// spec checks the flags and returns where the side comes from: files by absolute names, so
// that another process finds them from anywhere. with are the modules of both sides.
func (s *sideFlags) spec(with []string) (regress.Spec, error) {
	kind, value, err := regress.ParseSide(s.text, func(name string) bool {
		info, err := os.Stat(name)
		return err == nil && !info.IsDir()
	})
	if err != nil {
		return regress.Spec{}, command.Usage("--%s: %w", s.name, err)
	}
	switch kind {
	case regress.KindFolder, regress.KindProgram, regress.KindStored, regress.KindFile:
		if kind == regress.KindFile && slices.Contains(experiment.Names(), value) {
			break
		}
		if value, err = filepath.Abs(value); err != nil {
			return regress.Spec{}, command.Infrastructure(err)
		}
	}
	if len(s.set) > 0 && kind == regress.KindStored {
		return regress.Spec{}, command.Usage("--%s-set %s: --%s %s has values that are stored; they do not change", s.name, s.set[0], s.name, s.text)
	}
	for _, text := range s.set {
		if _, err := experiment.ParseSet("--"+s.name+"-set", text); err != nil {
			return regress.Spec{}, command.Misuse(err)
		}
	}
	side := kind
	if kind != regress.KindSelf {
		side += ":" + value
	}
	p := regress.Spec{Side: side, Set: s.set, With: with}
	if len(s.set) > 0 {
		if p.Dir, err = os.Getwd(); err != nil {
			return regress.Spec{}, command.Infrastructure(err)
		}
	}
	return p, nil
}

// arguments returns the flags that give the side of a spec again: revisions by their hash.
func (s *sideFlags) arguments(spec *regress.Spec) (list []string) {
	text := s.text
	if hash, ok := strings.CutPrefix(spec.Side, regress.KindGit+":"); ok {
		text = regress.KindGit + ":" + hash[:min(len(hash), 12)]
	}
	if text != regress.KindSelf {
		list = append(list, "--"+s.name, text)
	}
	for _, text := range s.set {
		list = append(list, "--"+s.name+"-set", text)
	}
	return list
}

// newSide returns the side of a spec, as far as it is known without its program.
func newSide(spec *regress.Spec) (regress.Side, error) {
	kind, value, err := regress.ParseSide(spec.Side, func(string) bool { return false })
	if err != nil {
		return regress.Side{}, command.Usage("%w", err)
	}
	s := regress.Side{Side: verdict.Side{Label: spec.Side, Kind: kind, Set: spec.Set}, Dir: spec.Dir}
	switch kind {
	case regress.KindFile:
		s.Experiment = value
	case regress.KindStored:
		stored, err := regress.ReadStored(value)
		if err != nil {
			return s, command.Misuse(err)
		}
		s = stored.Side()
	}
	return s, nil
}

// buildSide completes a side by its program, which is built if need be. Programs go into a
// folder that the caller removes.
func buildSide(ctx context.Context, a *command.App, s *regress.Side, spec *regress.Spec, into string) error {
	if s.Stored != nil {
		spec.Label = s.Label
		return nil
	}
	_, value, _ := regress.ParseSide(spec.Side, func(string) bool { return false }) // newSide has checked it
	r := revision.Request{Ref: revision.Ref{Kind: revision.Kind(s.Kind), Value: value}, Linked: command.SourceFolder, Into: into}
	if s.Kind == regress.KindFile {
		r.Ref = revision.Ref{Kind: revision.Self}
	}
	var err error
	if r.With, err = parseWith(spec.With); err != nil {
		return err
	}
	shown := newBuildProgress(a.Stderr, r.Ref.String(), buildElsewhere)
	r.Say = shown.say
	p, err := revision.Build(ctx, r)
	shown.close()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, revision.ErrInput), errors.Is(err, revision.ErrBroken):
		return command.Misuse(err)
	case err != nil:
		return command.Infrastructure(err)
	}
	s.Identity, s.Build = p.Identity, p.Version
	if s.Kind != regress.KindSelf && s.Kind != regress.KindFile || len(spec.With) > 0 {
		s.Program = p.File
	}
	if s.Kind != regress.KindFile {
		s.Label = p.Label
	}
	if p.Commit != "" {
		spec.Side = regress.KindGit + ":" + p.Commit
	}
	if spec.Label == "" {
		spec.Label = s.Label
	}
	s.Label = spec.Label
	switch {
	case spec.Identity == "":
		spec.Identity = p.Identity
	case spec.Identity != p.Identity:
		return command.Usage("%s is another program than when the regression began; begin a new one", spec.Label)
	}
	return nil
}

// modulesApart refuses to compare this csiglab, which has these modules, with one that is
// built without them: the difference could be theirs.
func modulesApart(p *regress.Plan, compiled []modules.Module) error {
	if len(compiled) == 0 || len(p.Baseline.With) > 0 {
		return nil
	}
	sides := [2]*regress.Spec{&p.Baseline, &p.Candidate}
	for i, s := range sides {
		kind, _, _ := strings.Cut(s.Side, ":")
		other, _, _ := strings.Cut(sides[1-i].Side, ":")
		if (kind == regress.KindGit || kind == regress.KindFolder) && (other == regress.KindSelf || other == regress.KindFile) {
			return command.Usage("--%s %s would be built without the module %s, which this csiglab has: with --with %[3]s=FOLDER both sides have it, and revisions are of that folder; or compare two programs by program:FILE",
				[2]string{"baseline", "candidate"}[i], s.Side, compiled[0].Path)
		}
	}
	return nil
}

// absoluteWith makes the folders of modules absolute.
func absoluteWith(with []string) (list []string, err error) {
	for _, text := range with {
		w, err := builder.ParseWith(text)
		if err != nil {
			return nil, command.Usage("--with %s: %w", text, err)
		}
		if w.Folder != "" {
			folder, err := filepath.Abs(w.Folder)
			if err != nil {
				return nil, command.Infrastructure(err)
			}
			text = fmt.Sprintf("%s=%s", w.Path, folder)
		}
		list = append(list, text)
	}
	return list, nil
}
