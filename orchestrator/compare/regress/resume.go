package regress

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/internal/checksum"
	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
)

// PlanFile is the file in a campaign's folder that says what is compared.
const PlanFile = "regression.json"

// Versions of PlanFile. Both are read.
const (
	planWithoutSum = 1
	planSchema     = 2 // ends with a checksum
)

// maxPlan is the most bytes that the file of a plan may have.
const maxPlan = 64 << 20

// Plan is what a campaign compares, as far as another process needs it to go on.
type Plan struct {
	Schema    int      `json:"schema"`
	Version   string   `json:"version"` // of the csiglab that began
	Command   []string `json:"command"`
	Arguments []string `json:"arguments"` // see Campaign.Arguments
	Suite     Suite    `json:"suite"`
	Filter    Filter   `json:"filter"`
	Baseline  Spec     `json:"baseline"`
	Candidate Spec     `json:"candidate"`
	// Contents are the digests of the experiments' texts and files, by cell.
	Contents           map[string][2]string `json:"contents"`
	AcceptInconclusive bool                 `json:"acceptInconclusive,omitempty"`
	Strict             bool                 `json:"strict,omitempty"` // see Campaign.Strict

	Started  time.Time `json:"started"`
	Sessions []Period  `json:"sessions"`
}

// Spec says where a side comes from.
type Spec struct {
	Side     string   `json:"side"` // as given, but revisions by their hash and files by absolute names
	Set      []string `json:"set,omitempty"`
	Dir      string   `json:"dir,omitempty"` // that names of files in Set are relative to
	With     []string `json:"with,omitempty"`
	Identity string   `json:"identity"` // of the program that it led to
	Label    string   `json:"label"`
	Flags    []string `json:"flags,omitempty"` // see verdict.Side
}

// Period is the time in which one process worked on a campaign.
type Period struct {
	Began time.Time `json:"began"`
	Ended time.Time `json:"ended,omitzero"` // zero: it was killed
}

// Write writes the plan into a campaign's folder, atomically.
func (p *Plan) Write(folder string) error {
	p.Schema = planSchema
	return WritePlanFile(folder, PlanFile, p)
}

// WritePlanFile writes what is done in a folder into one of its files, atomically, with a
// checksum. Its error is of class failure.ErrInfrastructure.
func WritePlanFile(folder, file string, plan any) error {
	data, err := json.MarshalIndent(plan, "", "  ")
	if err == nil {
		err = own.WriteFile(filepath.Join(folder, file), checksum.Append(data), 0o644)
	}
	if err != nil {
		return failure.Infrastructure(fmt.Errorf("%s: %w", folder, cause.Of(err)))
	}
	return nil
}

// ReadPlan reads the plan of a campaign's folder. Its error is of class
// failure.ErrInfrastructure if the file is damaged, otherwise failure.ErrConfiguration.
func ReadPlan(folder string) (*Plan, error) {
	p := &Plan{}
	if err := ReadPlanFile(folder, PlanFile, "a regression", p); err != nil {
		return nil, err
	}
	if err := p.check(); err != nil {
		return nil, wrong("%s: %w", filepath.Join(folder, PlanFile), err)
	}
	return p, nil
}

// ReadPlanFile reads strictly what WritePlanFile has written; what names that which is done in
// the folder. A plan of schema 1 needs no checksum. The error has the place. It is of class
// failure.ErrInfrastructure and wraps trial.ErrDamaged if the file is damaged; otherwise it is of
// class failure.ErrConfiguration.
func ReadPlanFile(folder, file, what string, plan any) error {
	name := filepath.Join(folder, file)
	data, err := own.ReadFile(name, maxPlan)
	if errors.Is(err, fs.ErrNotExist) {
		return wrong("%s: not the folder of %s: it has no %s", folder, what, file)
	}
	if err != nil {
		return wrong("%s: %w", name, cause.Of(err))
	}
	whole := checksum.Valid(data)
	if whole {
		data = checksum.Object(data)
	} else if json.Valid(data) && !hasNoSum(data) {
		return failure.Infrastructure(fmt.Errorf("%s: %w: %w", name, trial.ErrDamaged, checksum.ErrDiffers))
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(plan); err != nil {
		line, column := placeOf(data, d.InputOffset())
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			line, column = placeOf(data, syntax.Offset-1)
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("the file ends too soon")
		}
		if err = fmt.Errorf("%s:%d:%d: %w", name, line, column, err); whole || hasNoSum(data) {
			return failure.Configuration(err)
		}
		return failure.Infrastructure(fmt.Errorf("%w: %w", err, trial.ErrDamaged))
	}
	return nil
}

// hasNoSum reports whether a plan is of the schema that had no checksum.
func hasNoSum(data []byte) bool {
	var p struct {
		Schema int `json:"schema"`
	}
	return json.Unmarshal(data, &p) == nil && p.Schema == planWithoutSum
}

// placeOf returns the line and column of an offset.
func placeOf(data []byte, offset int64) (line, column int) {
	before := data[:max(0, min(int64(len(data)), offset))]
	return 1 + bytes.Count(before, []byte{'\n'}), len(before) - bytes.LastIndexByte(before, '\n')
}

// check refuses what no csiglab writes, and what would make the campaign panic or run for
// ever.
func (p *Plan) check() error {
	s := &p.Suite
	switch {
	case p.Schema != planWithoutSum && p.Schema != planSchema:
		return fmt.Errorf("schema %d; this csiglab reads %d and %d", p.Schema, planWithoutSum, planSchema)
	case !namePattern().MatchString(s.Name) || len(s.Entries) == 0 || len(s.Entries) > maxEntries,
		!(s.Confidence > 0 && s.Confidence < 1), !(s.FalseFail > 0 && s.FalseFail < 1), p.Filter.Seeds < 0 || p.Filter.Seeds > maxSeeds:
		return errors.New("the suite is damaged")
	}
	for _, e := range s.Entries {
		if !namePattern().MatchString(e.Name) || e.Seeds.First < 1 || e.Seeds.First > e.Seeds.Most || e.Seeds.Most > maxSeeds || len(e.Rules) == 0 || len(e.Rules) > maxRules {
			return fmt.Errorf("the entry %q of the suite is damaged", clip(e.Name))
		}
		for _, r := range e.Rules {
			if _, err := parseOf(r.Of); err != nil || !(r.Delta > 0) || r.Better != "" && !slices.Contains(directions, string(r.Better)) {
				return fmt.Errorf("the metric %q of the suite's entry %s is damaged", clip(r.Metric), e.Name)
			}
		}
	}
	return nil
}

// Same refuses experiments with other texts or files than the plan has, and a plan that
// lacks some of them. Its error is of class failure.ErrConfiguration.
func (p *Plan) Same(folder string, contents map[string][2]string) error {
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		if was, ok := p.Contents[name]; !ok {
			return wrong("%s: %s lacks the digests of %s; begin a new regression", folder, PlanFile, name)
		} else if was != contents[name] {
			return wrong("%s: the text or the files of %s have changed since the regression began; begin a new one", folder, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Contents)) {
		if _, ok := contents[name]; !ok {
			return wrong("%s: %s has an experiment %q that the suite has not got; begin a new regression", folder, PlanFile, clip(name))
		}
	}
	return nil
}

// Before returns the time that earlier sessions took. One that was killed ended with the
// last trial of the journal.
func (p *Plan) Before(folder string) (d time.Duration) {
	for _, s := range p.Sessions {
		end := s.Ended
		if end.IsZero() {
			if info, err := os.Stat(filepath.Join(folder, trial.JournalFile)); err == nil {
				end = info.ModTime()
			}
		}
		d += max(0, end.Sub(s.Began))
	}
	return d
}
