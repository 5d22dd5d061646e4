// Package sweep runs an experiment at many points: every variant with every seed at each of
// them, as trials of package trial. A sweep has a folder, which makes it resumable, and can
// be cut into shards that other machines run. What it gives is one table,
// results.parquet, whose bytes do not depend on how the sweep was cut or interrupted.
//
//	Request.Plan ──▶ Plan: points x variants x seeds ──▶ Create ──▶ Sweep.Run ──▶ Sweep.Finish
//	                                    Open, Merge ──▶ Sweep ──┘
package sweep

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/run/predict"
)

// maxTrials is the most trials of a sweep.
const maxTrials = 1_000_000

// Versions of sweep.json. Both are read.
const (
	planWithoutSum = 1
	planSchema     = 2 // ends with a checksum
)

// Plan is what a sweep runs; it is sweep.json.
type Plan struct {
	Schema     int       `json:"schema"`
	Name       string    `json:"name"`    // of the experiment
	Version    string    `json:"version"` // of csiglab
	Command    []string  `json:"command"`
	Started    time.Time `json:"started"`
	Experiment string    `json:"experiment"` // a name, or an absolute path
	Identity   string    `json:"identity"`   // of csiglab, see trial.Trial
	Content    string    `json:"content"`    // digest of the experiment and of Files
	Files      []File    `json:"files,omitempty"`
	Given      []string  `json:"given,omitempty"` // overrides of all points, PATH=VALUE
	Set        []string  `json:"set,omitempty"`   // the same with absolute names of files
	Clock      string    `json:"clock"`           // of the points; the last of runtimes.Clocks that one has
	Paths      []string  `json:"paths"`           // that points change
	Points     []Point   `json:"points"`
	Variants   []string  `json:"variants"`
	Seeds      []uint64  `json:"seeds"`
	// Judge is what the page of the sweep compares; it decides nothing about results.
	Judge *experiment.Judge `json:"judge,omitempty"`
	// Metrics are patterns of those that the table has; none: those of Judge, or all.
	Metrics []string `json:"metrics,omitempty"`
	// Axes is how many of the first of Paths are names of axes of the experiment.
	Axes   int    `json:"axes,omitempty"`
	Parts  []Part `json:"parts,omitempty"` // by point; none: every variant with every seed at each
	Digest string `json:"digest"`          // of what decides about the results; all shards have the same
	Shard  Shard  `json:"shard,omitzero"`
}

// File is a file or folder that a sweep reads, with the digest of its content.
type File = trial.File

// Point is a point of a sweep.
type Point struct {
	Values []string `json:"values"` // by Plan.Paths, as given; "": the point leaves the path alone
	Set    []string `json:"set"`    // PATH=VALUE in their order, with absolute names of files
	// Weight is what a run of the point is predicted to take, in any unit.
	Weight float64 `json:"weight"`
	// Same names an earlier point for each variant that is the same there, as what differs
	// between the points does not reach it: its trials are those of that point.
	Same map[string]int `json:"same,omitempty"`
	// Refused is why the experiment cannot be run at the point (Request.Lenient).
	Refused string `json:"refused,omitempty"`
}

// sameAsFirst reports whether a variant is at the point what it is at the first one.
func (pt *Point) sameAsFirst(variant string) bool {
	at, ok := pt.Same[variant]
	return ok && at == 0
}

// Part is the variants and the seeds that are run at a point.
type Part struct {
	Variants []string `json:"variants"`
	Seeds    []uint64 `json:"seeds"`
}

// Shard is the part of a sweep that one process runs; the zero value is all of it.
type Shard struct {
	Index int `json:"index,omitempty"` // from 1
	Of    int `json:"of,omitempty"`
}

// String returns the shard as i/n, or "" for all.
func (s Shard) String() string {
	if s.Of == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Index, s.Of)
}

// ParseShard reads I/N; "" is the whole sweep.
func ParseShard(text string) (Shard, error) {
	if text == "" {
		return Shard{}, nil
	}
	i, n, ok := strings.Cut(text, "/")
	index, err1 := strconv.Atoi(i)
	of, err2 := strconv.Atoi(n)
	if !ok || err1 != nil || err2 != nil || index < 1 || index > of {
		return Shard{}, failure.Configuration(fmt.Errorf("--shard %q: want I/N, from 1/N to N/N", text))
	}
	return Shard{Index: index, Of: of}, nil
}

// has reports whether the shard has a trial. Neighbours are in different shards, since they
// often take equally long.
func (s Shard) has(trial int) bool { return s.Of == 0 || trial%s.Of == s.Index-1 }

// Request says what to sweep.
type Request struct {
	Experiment string // a name, or a path
	// Options are those of all points. The environment must not change experiments.
	Options experiment.Options
	// Points replace those of the experiment's key sweep; nil keeps them.
	Points *experiment.Sweep
	// At are the values of axes to which the points are restricted, as AXIS=VALUE,VALUE.
	At       []string
	Identity string
	Version  string
	Command  []string
	Started  time.Time
	Shard    Shard
	Parallel int // points that are validated at once
	// Metrics are Plan.Metrics. A pattern that matches no metric which a run can have is an error.
	Metrics []string
	// Parts are what is run at each point; nil: every variant with every seed.
	Parts []Part
	// Lenient keeps a point at which the experiment is wrong, without a trial
	// (Point.Refused), and lets points change what Options give. It needs Parts.
	Lenient bool
}

// PointError is what is wrong with a point.
type PointError struct {
	Point int
	Set   []string // PATH=VALUE
	More  int      // further points with the same error
	Err   error
}

func (e *PointError) Error() string {
	text := words(e.Set)
	if text == "" {
		text = "the experiment as it is"
	}
	if e.More > 0 {
		text += fmt.Sprintf("; and %d more", e.More)
	}
	return fmt.Sprintf("point %d (%s): %v", e.Point, text, e.Err)
}

// words returns the values of a point for a message; long ones are cut.
func words(set []string) string {
	const most = 100
	short := make([]string, len(set))
	for i, s := range set {
		if short[i] = s; len(s) > most {
			short[i] = strings.ToValidUTF8(s[:most], "") + "…"
		}
	}
	return strings.Join(short, ", ")
}

// Unwrap returns the error of the point.
func (e *PointError) Unwrap() error { return e.Err }

// Plan loads the experiment and validates all points. The error is the context's, an error of
// experiment.Load, or joins a *PointError for each of the first wrong points; all of class
// failure.ErrConfiguration.
func (r *Request) Plan(ctx context.Context) (*Plan, error) {
	text, dir, err := experiment.Text(r.Experiment)
	if err != nil {
		return nil, failure.Configuration(err)
	}
	base, err := experiment.Parse(r.Experiment, dir, text, r.Options)
	if err != nil {
		return nil, failure.Configuration(err)
	}
	points, err := cmp.Or(r.Points, base.Base.Sweep).At("--at", r.At)
	if err != nil {
		return nil, failure.Configuration(err)
	}
	if err := r.check(points); err != nil {
		return nil, failure.Configuration(err)
	}
	p := &Plan{
		Schema: planSchema, Name: base.Base.Name, Version: r.Version, Command: r.Command, Experiment: r.Experiment, Identity: r.Identity,
		Started: r.Started, Shard: r.Shard, Clock: base.Base.Clock, Paths: append([]string{}, points.Paths()...), Points: make([]Point, points.Points()), Seeds: base.Base.Seeds,
		Metrics: r.Metrics,
	}
	for _, v := range base.Variants {
		p.Variants = append(p.Variants, v.Name)
	}
	if points != nil {
		p.Judge, p.Axes = points.Judge, len(points.Axes)
	}
	p.Parts = slices.Clone(r.Parts)
	if n := len(p.Points) * len(p.Variants) * len(p.Seeds); n > maxTrials {
		return nil, failure.Configuration(fmt.Errorf("%d points, %d variants and %d seeds are %d trials; the most is %d", len(p.Points), len(p.Variants), len(p.Seeds), n, maxTrials))
	}
	for _, o := range r.Options.Override {
		if o.Path != "seeds" { // a trial has its own
			p.Given, p.Set = append(p.Given, o.Path+"="+o.Value), append(p.Set, argument(o.Absolute()))
		}
	}
	reads, err := r.validate(ctx, p, points, text, dir)
	if err != nil {
		return nil, err
	}
	if err := p.content(ctx, r.Experiment, text, reads); err != nil {
		return nil, err
	}
	p.Digest = p.digest()
	if r.Shard.Of > p.Trials() {
		return nil, failure.Configuration(fmt.Errorf("--shard %s: the sweep has only %s", r.Shard, spelling.Plural(p.Trials(), "trial")))
	}
	return p, nil
}

// check refuses points that cannot be put beside the overrides of all points.
func (r *Request) check(points *experiment.Sweep) error {
	if points == nil {
		return nil
	}
	if err := points.Check(); err != nil {
		return err
	}
	for _, path := range points.Changed() {
		for _, o := range r.Options.Override {
			if o.Path == path && !r.Lenient {
				return fmt.Errorf("%s and the points give the same value; want one of them", o.Origin)
			}
		}
	}
	return nil
}

func argument(o experiment.Override) string { return o.Path + "=" + o.Value }

// maxWrong is how many different errors of points are named.
const maxWrong = 10

// validate fills in the points and returns the files that they read.
func (r *Request) validate(ctx context.Context, p *Plan, points *experiment.Sweep, text []byte, dir string) (reads []string, err error) {
	wrong := make([]error, len(p.Points))
	files, clocks, texts := make([][]string, len(p.Points)), make([]string, len(p.Points)), make([]variantTexts, len(p.Points))
	next := make(chan int)
	metrics := newWanted(r.Metrics)
	var workers sync.WaitGroup
	for range max(1, min(r.Parallel, len(p.Points))) {
		workers.Go(func() {
			for i := range next {
				files[i], clocks[i], texts[i], wrong[i] = r.point(&p.Points[i], points, i, text, dir, metrics)
			}
		})
	}
	for i := range p.Points {
		if ctx.Err() == nil {
			next <- i
		}
	}
	close(next)
	workers.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for i := range wrong {
		if r.Lenient && wrong[i] != nil {
			p.Points[i].Refused, p.Parts[i], wrong[i] = wrong[i].Error(), Part{}, nil
		}
	}
	if err := p.wrong(wrong); err != nil {
		return nil, err
	}
	if err := metrics.missing(); err != nil {
		return nil, failure.Configuration(err)
	}
	if err := p.distinct(); err != nil {
		return nil, failure.Configuration(err)
	}
	if r.Parts == nil {
		p.same(texts)
	}
	for i := range p.Points {
		for _, name := range files[i] {
			if !slices.Contains(reads, name) {
				reads = append(reads, name)
			}
		}
		if slices.Index(runtimes.Clocks(), clocks[i]) > slices.Index(runtimes.Clocks(), p.Clock) {
			p.Clock = clocks[i]
		}
	}
	return reads, nil
}

// distinct refuses a point that is there twice: its trials would be rows of two points.
func (p *Plan) distinct() error {
	first := make(map[string]int, len(p.Points))
	for i := range p.Points {
		key := strings.Join(p.Points[i].Values, "\x00")
		if k, ok := first[key]; ok {
			return &PointError{Point: i, Set: p.Points[i].Set, Err: fmt.Errorf("it is the same as point %d", k)}
		}
		first[key] = i
	}
	return nil
}

// variantTexts are digests of the experiment that each variant is at a point.
type variantTexts map[string][sha256.Size]byte

// same finds the variants that are the same at several points.
func (p *Plan) same(texts []variantTexts) {
	type variantText struct {
		name string
		text [sha256.Size]byte
	}
	first := map[variantText]int{}
	for i := range p.Points {
		for name, text := range texts[i] {
			at, ok := first[variantText{name, text}]
			switch {
			case !ok:
				first[variantText{name, text}] = i
			case p.Points[i].Same == nil:
				p.Points[i].Same = map[string]int{name: at}
			default:
				p.Points[i].Same[name] = at
			}
		}
	}
}

// Place returns the folder of a sweep to which nobody gives one.
func (p *Plan) Place() string {
	folder := trial.Place("sweeps", p.Name, p.Started)
	if p.Shard.Of > 0 {
		folder += fmt.Sprintf("-%dof%d", p.Shard.Index, p.Shard.Of)
	}
	return folder
}

// wrong joins the errors of the points. The same error of several is there once.
func (p *Plan) wrong(list []error) error {
	var errs []error
	byText := map[string]*PointError{}
	more := 0
	for i, err := range list {
		if err == nil {
			continue
		}
		e := byText[err.Error()]
		switch {
		case e != nil:
			e.More++
		case len(errs) == maxWrong:
			more++
		default:
			e = &PointError{Point: i, Set: p.Points[i].Set, Err: err}
			byText[err.Error()], errs = e, append(errs, e)
		}
	}
	if more > 0 {
		errs = append(errs, fmt.Errorf("and %d more of the %d points are wrong", more, len(p.Points)))
	}
	return failure.Configuration(errors.Join(errs...)) // nil if there are none
}

// startHops is how many packet-hops take as long as the start and the end of a trial
// (docs/explanation/performance.md, #simulator).
const startHops = 500_000

// point fills in a point and validates the experiment there. It returns the files that it
// reads, its clock and its variants.
func (r *Request) point(pt *Point, points *experiment.Sweep, i int, text []byte, dir string, metrics *wanted) (files []string, clock string, texts variantTexts, err error) {
	overrides := points.Point(i)
	pt.Values = points.Values(i)
	pt.Set = []string{}
	for _, o := range overrides {
		pt.Set = append(pt.Set, argument(o.Absolute()))
	}
	opts := r.Options
	opts.Names = nil // of the experiment as it is; predict.Validate checks the metrics
	opts.Override = slices.Concat(opts.Override, overrides)
	set, err := experiment.Parse(r.Experiment, dir, text, opts)
	if err != nil {
		return nil, "", nil, err
	}
	v, err := predict.Validate(set, nil)
	if err != nil {
		return nil, "", nil, err
	}
	if err := metrics.look(set); err != nil {
		return nil, "", nil, err
	}
	pt.Weight = startHops + float64(v.PacketHops)
	if set.Base.Way().Has(runtimes.RealTime) {
		pt.Weight = v.WallSeconds
	}
	texts = variantTexts{}
	for i := range set.Variants {
		text, err := set.Variants[i].Experiment.Marshal()
		if err != nil {
			return nil, "", nil, err
		}
		texts[set.Variants[i].Name] = sha256.Sum256(text)
	}
	return set.Files, set.Base.Clock, texts, nil
}

// Way is how the trials run.
func (p *Plan) Way() runtimes.Way { return runtimes.Way{Clock: p.Clock} }

// content records the files that the sweep reads, with their digests.
func (p *Plan) content(ctx context.Context, nameOrPath string, text []byte, reads []string) error {
	all := sha256.New()
	sum := sha256.Sum256(text)
	fmt.Fprintf(all, "experiment %x\n", sum)
	if !slices.Contains(experiment.Names(), nameOrPath) {
		file, err := filepath.Abs(nameOrPath)
		if err != nil {
			return failure.Infrastructure(err)
		}
		p.Experiment = file
		p.Files = []File{{Name: file, SHA256: hex.EncodeToString(sum[:])}}
	}
	for _, name := range reads {
		digest, err := trial.Digest(ctx, name)
		if err != nil {
			return failure.Infrastructure(err)
		}
		fmt.Fprintf(all, "file %s\n", digest)
		p.Files = append(p.Files, File{Name: name, SHA256: digest})
	}
	p.Content = hex.EncodeToString(all.Sum(nil)[:16])
	return nil
}

// digest returns a digest of what decides about the results: neither of where files are, nor
// of how the sweep is cut.
func (p *Plan) digest() string {
	values := make([][]string, len(p.Points))
	for i := range p.Points {
		values[i] = p.Points[i].Values
	}
	all := []any{p.Schema, p.Name, p.Identity, p.Content, p.Given, p.Paths, values, p.Variants, p.Seeds}
	if p.Parts != nil {
		all = append(all, p.Parts)
	}
	text, err := json.Marshal(all)
	if err != nil {
		panic("sweep: " + err.Error()) // texts and numbers
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// part returns what is run at a point.
func (p *Plan) part(point int) Part {
	if p.Parts == nil {
		return Part{p.Variants, p.Seeds}
	}
	return p.Parts[point]
}

// trials returns the number of trials of a part.
func (r Part) trials() int { return len(r.Variants) * len(r.Seeds) }

// Trials returns the number of trials of all shards.
func (p *Plan) Trials() (n int) {
	if p.Parts == nil {
		return len(p.Points) * len(p.Variants) * len(p.Seeds)
	}
	for _, part := range p.Parts {
		n += part.trials()
	}
	return n
}

// place is which trial one is. Trials are by point, then variant, then seed.
type place struct {
	point   int
	variant string
	seed    uint64
	last    bool // of the variant at the point
}

// place returns the place of a trial.
func (p *Plan) place(i int) place {
	point := 0
	if p.Parts == nil {
		n := len(p.Variants) * len(p.Seeds)
		point, i = i/n, i%n
	}
	for p.Parts != nil && i >= p.Parts[point].trials() {
		i -= p.Parts[point].trials()
		point++
	}
	part := p.part(point)
	n := len(part.Seeds)
	return place{point, part.Variants[i/n], part.Seeds[i%n], i%n == n-1}
}

// trial returns a trial.
func (p *Plan) trial(i int) trial.Trial {
	at := p.place(i)
	if same, ok := p.Points[at.point].Same[at.variant]; ok {
		at.point = same
	}
	return trial.Trial{
		Identity: p.Identity, Experiment: p.Experiment, Content: p.Content,
		Set: slices.Concat(p.Set, p.Points[at.point].Set), Variant: at.variant, Seed: at.seed,
	}
}

// check returns an error if a plan that was read makes no sense.
func (p *Plan) check() error {
	switch {
	case p.Schema != planWithoutSum && p.Schema != planSchema:
		return fmt.Errorf("it is of schema %d, and this csiglab reads %d and %d", p.Schema, planWithoutSum, planSchema)
	case len(p.Points) == 0 || len(p.Variants) == 0 || len(p.Seeds) == 0:
		return errors.New("it has no trials")
	case p.Parts != nil && len(p.Parts) != len(p.Points):
		return fmt.Errorf("it has %d parts for %d points", len(p.Parts), len(p.Points))
	case len(p.Points) > maxTrials || len(p.Variants) > maxTrials || len(p.Seeds) > maxTrials || len(p.Points)*len(p.Variants) > maxTrials || p.Trials() > maxTrials:
		return errors.New("it has too many trials")
	case p.Shard != (Shard{}) && (p.Shard.Index < 1 || p.Shard.Index > p.Shard.Of):
		return fmt.Errorf("it is shard %v", p.Shard)
	}
	for i := range p.Points {
		if len(p.Points[i].Values) != len(p.Paths) {
			return fmt.Errorf("point %d has %d values for %d paths", i, len(p.Points[i].Values), len(p.Paths))
		}
		for variant, at := range p.Points[i].Same {
			if at < 0 || at >= i {
				return fmt.Errorf("variant %s of point %d is that of point %d", variant, i, at)
			}
		}
	}
	if p.Digest != p.digest() {
		return errors.New("its digest is another")
	}
	return nil
}
