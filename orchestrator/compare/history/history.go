// Package history reads what regress and baseline save keep of revisions: folders of verdicts,
// and files in git. Package reports/history shows it.
package history

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/orchestrator/compare/regress"
	"github.com/csiglab/csiglab/orchestrator/compare/revision"
	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
)

// Bounds of what is read.
const (
	mostText      = 64 << 20 // bytes of a verdict or a baseline file
	mostRevisions = 1000
)

// Read returns the revisions that arguments name, in order of time, and notes for people. An argument
// is the folder of a verdict, a folder with such folders, a verdict.json, or a baseline file; of a
// file in git, all versions are revisions. Errors about arguments are of class
// failure.ErrConfiguration.
func Read(ctx context.Context, arguments []string) (all []verdict.Revision, notes []string, err error) {
	for _, argument := range arguments {
		of, note, err := read(ctx, argument)
		switch {
		case ctx.Err() != nil:
			return nil, nil, ctx.Err()
		case err != nil:
			return nil, nil, failure.Configuration(err)
		case note != "":
			notes = append(notes, note)
		}
		if all = append(all, of...); len(all) > mostRevisions {
			return nil, nil, failure.Configuration(fmt.Errorf("%d revisions and more: name at most %d", len(all), mostRevisions))
		}
	}
	slices.SortStableFunc(all, func(a, b verdict.Revision) int { return a.Date.Compare(b.Date) })
	return all, notes, nil
}

// read returns the revisions of an argument.
func read(ctx context.Context, argument string) (all []verdict.Revision, note string, err error) {
	info, err := os.Stat(argument)
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("%s: %w", argument, cause.Of(err))
	case !info.IsDir():
		return ofFile(ctx, argument)
	}
	names := []string{filepath.Join(argument, verdict.FileName)}
	if _, err := os.Lstat(names[0]); err != nil {
		if names, err = filepath.Glob(filepath.Join(escaped(argument), "*", verdict.FileName)); err != nil {
			return nil, "", fmt.Errorf("%s: %w", argument, err)
		}
	}
	for _, name := range names {
		text, err := own.ReadFile(name, mostText)
		if err != nil {
			return nil, "", fmt.Errorf("%s: %w", name, cause.Of(err))
		}
		r, err := ofVerdict(name, text)
		if err != nil {
			return nil, "", err
		}
		all = append(all, r)
	}
	if len(all) == 0 {
		return nil, "", fmt.Errorf("%s: neither it nor a folder in it has a %s; name folders of csiglab regress, or files of csiglab baseline save", argument, verdict.FileName)
	}
	return all, "", nil
}

// escaped returns a path for filepath.Glob that matches itself alone.
func escaped(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// ofFile reads all versions of a verdict.json or a baseline file.
func ofFile(ctx context.Context, name string) (all []verdict.Revision, note string, err error) {
	versions, shallow, err := revision.Versions(ctx, name, mostText)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", name, cause.Of(err))
	}
	if shallow {
		note = name + ": the repository is a shallow clone, and older versions are missing; git fetch --unshallow gets them"
	}
	for _, v := range versions {
		at := name
		if v.Commit.Short != "" {
			at += " as of " + v.Commit.Short
		}
		r, err := ofText(at, &v)
		if err != nil {
			return nil, "", err
		}
		all = append(all, r)
	}
	return all, note, nil
}

// ofText reads a version of a verdict.json or a baseline file.
func ofText(name string, v *revision.Version) (verdict.Revision, error) {
	var is struct{ Candidate json.RawMessage }
	if err := json.Unmarshal(v.Text, &is); err == nil && is.Candidate != nil {
		return ofVerdict(name, v.Text)
	}
	s, err := regress.ParseStored(name, v.Text)
	if err != nil {
		return verdict.Revision{}, err
	}
	r := ofStored(s)
	r.Date = v.Date
	r.Name = cmp.Or(v.Commit.Short, s.Version, s.Label)
	return r, nil
}

// ofVerdict returns the candidate of a verdict.
func ofVerdict(name string, text []byte) (r verdict.Revision, err error) {
	var d verdict.Document
	if err := json.Unmarshal(text, &d); err != nil {
		return r, fmt.Errorf("%s: it is no verdict: %w", name, err)
	}
	switch {
	case d.Schema != verdict.Schema:
		return r, fmt.Errorf("%s: it has schema %d, and this csiglab knows %d", name, d.Schema, verdict.Schema)
	case d.Started.IsZero() || d.Outcome == "":
		return r, fmt.Errorf("%s: it is no verdict: it has no time or no outcome", name)
	}
	r = verdict.Revision{Name: nameOf(&d.Candidate), Source: name, Suite: d.Suite, Date: d.Started, Against: nameOf(&d.Baseline), Outcome: d.Outcome}
	if !d.Candidate.Date.IsZero() {
		r.Date = d.Candidate.Date
	}
	for i := range d.Experiments {
		e := &d.Experiments[i]
		c := verdict.Cell{Name: strings.TrimSuffix(e.Name+"/"+e.Variant, "/"), Clock: e.Clock}
		for k := range e.Metrics {
			m := &e.Metrics[k]
			if m.Outcome == verdict.Fail {
				r.Failed = append(r.Failed, c.Name+" "+m.Name)
			}
			kept := verdict.Kept{Name: m.Name, Unit: m.Unit, Better: m.Better, Outcome: m.Outcome, Values: map[uint64]float64{}}
			for _, p := range m.Pairs {
				kept.Values[p.Seed] = p.Candidate
			}
			if len(kept.Values) > 0 { // expectations and promises have none
				c.Metrics = append(c.Metrics, kept)
			}
		}
		r.Cells = append(r.Cells, c)
	}
	return r, nil
}

// nameOf names a side by its revision: self by the version that ran.
func nameOf(s *verdict.Side) string {
	name := s.Label
	if s.Kind == regress.KindSelf && s.Build != "" {
		name = s.Build
	}
	if len(s.Set) > 0 {
		name += " with " + strings.Join(s.Set, " ")
	}
	return name
}

// ofStored returns the revision of a baseline file, without its name and date.
func ofStored(s *regress.Stored) verdict.Revision {
	r := verdict.Revision{Source: s.File, Suite: s.Suite}
	for i := range s.Cells {
		of := &s.Cells[i]
		c := verdict.Cell{Name: of.Name, Clock: of.Clock, Definition: strings.Join(slices.Concat([]string{of.Content}, of.Set), " ")}
		for k, metric := range of.Metrics {
			kept := verdict.Kept{Name: metric, Values: map[uint64]float64{}}
			for _, run := range of.Runs {
				if v := run.Values[k]; !math.IsNaN(v) {
					kept.Values[run.Seed] = v
				}
			}
			c.Metrics = append(c.Metrics, kept)
		}
		r.Cells = append(r.Cells, c)
	}
	return r
}
