package bisect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/internal/checksum"
	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/compare/regress"
	"github.com/csiglab/csiglab/orchestrator/compare/revision"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/programs/builder"
	"github.com/csiglab/csiglab/orchestrator/run/campaign"
)

// Files of a search's folder, beside the journal of its trials.
const (
	PlanFile   = "bisection.json"
	StepsFile  = "steps.jsonl"
	ResultFile = "result.json"
	maxFile    = 64 << 20

	resultSchema   = 1
	planWithoutSum = 1 // of the plan and of the steps
	planSchema     = 2 // both have checksums
)

// Plan is what is searched for, as far as another process needs it to go on.
type Plan struct {
	Schema     int       `json:"schema"`
	Version    string    `json:"version"` // of the csiglab that began
	Command    []string  `json:"command"`
	Started    time.Time `json:"started"`
	Good       string    `json:"good"` // as given
	Bad        string    `json:"bad"`
	Experiment string    `json:"experiment"`
	Variant    string    `json:"variant,omitempty"`
	Set        []string  `json:"set,omitempty"`
	Metric     string    `json:"metric"`
	Better     string    `json:"better,omitempty"`
	Delta      string    `json:"delta,omitempty"`
	Seeds      int       `json:"seeds"`
	With       []string  `json:"with,omitempty"`
	Parameter  string    `json:"parameter,omitempty"`
	Resolution string    `json:"resolution,omitempty"`

	// Found when the search began.
	Repository string   `json:"repository,omitempty"`
	Commits    []string `json:"commits,omitempty"` // hashes: the good one, and those after it up to the bad one
	Content    string   `json:"content"`           // digest of the experiment's text and files
	Program    string   `json:"program,omitempty"` // identity of the program, with Parameter
}

// write writes the plan into the folder of the search.
func (p *Plan) write(folder string) error {
	p.Schema = planSchema
	return regress.WritePlanFile(folder, PlanFile, p)
}

// ReadPlan reads the plan in the folder of a search. Its error is of class
// failure.ErrInfrastructure if the file is damaged, otherwise failure.ErrConfiguration.
func ReadPlan(folder string) (*Plan, error) {
	name, p := filepath.Join(folder, PlanFile), &Plan{}
	if err := regress.ReadPlanFile(folder, PlanFile, "a search", p); err != nil {
		return nil, err
	}
	if p.Schema != planWithoutSum && p.Schema != planSchema {
		return nil, wrong("%s: schema %d; this csiglab reads %d and %d", name, p.Schema, planWithoutSum, planSchema)
	}
	if p.Experiment == "" || p.Metric == "" || (p.Parameter == "") != (len(p.Commits) > 1) {
		return nil, wrong("%s: the file is damaged", name)
	}
	return p, nil
}

// Session is a search that this process works on.
type Session struct {
	Plan        *Plan
	Folder      string
	Fresh       bool // not resumed
	Parallel    int  // runs side by side; 0: the cores
	Linked      string
	Environment []string // of the runs
	// View begins to show how far the search is.
	View func() regress.View
	// Elsewhere lets another csiglab do the whole search that has the modules of a request, if this
	// one lacks them: its error ends Prepare.
	Elsewhere func(context.Context, revision.Request) error

	texts    regress.Campaign // checks the experiment and writes its text
	campaign Campaign
	values   *Range            // with Parameter
	commits  []revision.Commit // otherwise
	request  revision.Request
	program  revision.Program // with Parameter
	steps    *os.File
	view     regress.View
}

// Prepare checks all that can be checked before something is built.
func (s *Session) Prepare(ctx context.Context) error {
	p := s.Plan
	s.request = revision.Request{Linked: s.Linked, Into: filepath.Join(s.Folder, regress.ProgramsFolder), Say: func(text string) { s.view.Say(text) }}
	var err error
	if s.request.With, err = builder.ParseWiths(p.With); err != nil {
		return wrong("%w", err)
	}
	c := &s.campaign
	if p.Parameter == "" {
		err = s.findCommits(ctx)
		c.Last, c.Prepare = len(s.commits)-1, s.prepareCommit
	} else {
		if s.values, err = ParseRange(p.Good, p.Bad, p.Resolution); err != nil {
			return wrong("--parameter %s: %w", p.Parameter, err)
		}
		c.Last, c.Prepare = s.values.Last(), s.prepareValue
	}
	if err != nil {
		return err
	}
	r := s.request
	if r.Ref = (revision.Ref{Kind: revision.Self}); s.values == nil { // the good one must build in any case
		r.Ref = revision.Ref{Kind: revision.Git, Value: s.commits[0].Hash}
	}
	if err := s.Elsewhere(ctx, r); err != nil {
		return err
	}
	if c.Question, err = campaign.Meanwhile(ctx, s.question); err != nil {
		return err
	}
	if s.Fresh {
		p.Content = c.Trial.Content
	}
	if p.Content != c.Trial.Content {
		return wrong("%s: the text or the files of the experiment have changed since the search began; begin a new one", s.Folder)
	}
	return nil
}

// findCommits finds the commits between the ends: again those with which the search began,
// if it is resumed.
func (s *Session) findCommits(ctx context.Context) error {
	p := s.Plan
	repository, err := s.repository(ctx)
	if err != nil {
		return revision.Classed(err)
	}
	ends := [2]string{p.Good, p.Bad}
	if !s.Fresh {
		ends = [2]string{p.Commits[0], p.Commits[len(p.Commits)-1]}
	}
	good, err := repository.Commit(ctx, ends[0])
	if err != nil {
		return revision.Classed(fmt.Errorf("--good: %w", err))
	}
	bad, err := repository.Commit(ctx, ends[1])
	if err != nil {
		return revision.Classed(fmt.Errorf("--bad: %w", err))
	}
	after, err := repository.Between(ctx, good, bad)
	if err != nil {
		return revision.Classed(err)
	}
	s.commits = append([]revision.Commit{good}, after...)
	if s.Fresh {
		p.Repository = repository.Top
		for _, c := range s.commits {
			p.Commits = append(p.Commits, c.Hash)
		}
	}
	for i, c := range s.commits {
		if len(s.commits) != len(p.Commits) || c.Hash != p.Commits[i] {
			return wrong("%s: the history of %s has changed since the search began; begin a new one", s.Folder, p.Repository)
		}
	}
	return nil
}

// repository opens the repository that the search began with.
func (s *Session) repository(ctx context.Context) (*revision.Repository, error) {
	if s.Fresh {
		return s.request.Repository(ctx)
	}
	s.request.Source = ""
	if len(s.Plan.With) == 0 {
		s.request.Source = s.Plan.Repository
	}
	return s.request.Repository(ctx)
}

// Run searches, and writes what it finds.
func (s *Session) Run(ctx context.Context) (*Found, error) {
	if s.Fresh {
		if err := regress.EmptyFolder(s.Folder); err != nil {
			return nil, err
		}
	}
	return s.run(ctx)
}

func (s *Session) run(ctx context.Context) (*Found, error) {
	journal, err := regress.OpenJournal(s.Folder)
	if err != nil {
		return nil, err
	}
	defer journal.Close() // every line is on the disk already
	if err := s.claim(journal); err != nil {
		return nil, err
	}
	runs := filepath.Join(s.Folder, regress.RunsFolder)
	for _, left := range []string{runs, s.request.Into} { // by a process that was killed; the journal is ours
		if err := os.RemoveAll(left); err != nil {
			return nil, failure.Infrastructure(err)
		}
	}
	defer os.RemoveAll(s.request.Into)
	s.view = s.View()
	result, err := s.search(ctx, journal)
	s.view.End()
	os.RemoveAll(runs) //nolint:errcheck // the next session removes it
	if err != nil {
		return nil, &trial.Unfinished{Err: err, Rest: fmt.Sprintf("the search is not at its end: csiglab bisect --resume %s goes on", s.Folder)}
	}
	found, err := s.describe(result)
	return found, failure.Infrastructure(err)
}

// claim writes the plan of a new search. The journal is this process's: no other one writes
// a plan after it was looked for.
func (s *Session) claim(journal *trial.Journal) error {
	if !s.Fresh {
		return nil
	}
	_, err := os.Lstat(filepath.Join(s.Folder, PlanFile))
	if err == nil || journal.Len() > 0 {
		return wrong("%s: another csiglab has begun a search in this folder; name another one", s.Folder)
	}
	return s.Plan.write(s.Folder)
}

func (s *Session) search(ctx context.Context, journal *trial.Journal) (*Result, error) {
	if err := s.texts.WriteTexts(); err != nil {
		return nil, err
	}
	c := &s.campaign
	var err error
	if c.Steps, err = s.openSteps(); err != nil {
		return nil, err
	}
	defer s.steps.Close() // every line is on the disk already
	if s.Plan.Parameter != "" {
		if err := s.build(ctx); err != nil {
			return nil, err
		}
	}
	c.Journal, c.Runner = journal, s.texts.Watched(&trial.Local{Folder: filepath.Join(s.Folder, regress.RunsFolder), Environment: trial.Environment(s.Environment)})
	if c.Parallel = s.Parallel; c.Parallel == 0 {
		c.Parallel = runtime.GOMAXPROCS(0)
	}
	if !c.Repeating {
		c.Parallel = 1
	}
	c.Judged = s.judged
	c.Progress = func(name string, done, total int) {
		s.view.Progress(regress.Progress{Done: done, Least: total, Name: name})
	}
	s.announce()
	return c.Run(ctx)
}

// announce says what there is to do.
func (s *Session) announce() {
	what := spelling.Plural(s.campaign.Last, "revision")
	if s.values != nil {
		what = spelling.Plural(s.campaign.Last, "value")
	}
	more := ""
	if n := len(s.campaign.Steps); n > 0 {
		more = fmt.Sprintf("; %s of an earlier session are kept", spelling.Plural(n, "verdict"))
	}
	s.view.Say(fmt.Sprintf("%s after good: about %s, after the two ends%s", what, spelling.Plural(Steps(s.campaign.Last), "step"), more))
}

// openSteps opens the file of the verdicts, and returns those of earlier sessions that last. A
// last line that is torn is removed.
func (s *Session) openSteps() (list []Step, err error) {
	name := filepath.Join(s.Folder, StepsFile)
	data, err := own.ReadFile(name, maxFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", name, cause.Of(err))
	}
	whole := 0
	for number := 1; ; number++ {
		length := bytes.IndexByte(data[whole:], '\n')
		if length < 0 {
			break
		}
		var step Step
		line := data[whole : whole+length+1]
		err := json.Unmarshal(line, &step)
		if err == nil && s.Plan.Schema != planWithoutSum && !checksum.Valid(line) {
			err = checksum.ErrDiffers
		}
		if err == nil && (step.Candidate < 0 || step.Candidate > s.campaign.Last) {
			err = fmt.Errorf("there is no candidate %d", step.Candidate)
		}
		if err != nil {
			return nil, failure.Infrastructure(fmt.Errorf("%s:%d: %w: %w; without this line, its candidate is judged again", name, number, trial.ErrDamaged, err))
		}
		if !s.named(step) {
			return nil, wrong("%s:%d: %q is not candidate %d of this search", name, number, oneLine(step.Name), step.Candidate)
		}
		list = append(list, step)
		whole += length + 1
	}
	if s.steps, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644); err == nil {
		err = s.steps.Truncate(int64(whole))
	}
	if err == nil {
		_, err = s.steps.Seek(int64(whole), io.SeekStart)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, cause.Of(err))
	}
	return Lasting(list), nil
}

// named reports whether a step has the name of its candidate. The short hash of a commit may
// have had another length.
func (s *Session) named(step Step) bool {
	name := s.candidate(step.Candidate).Name
	return step.Name == name || s.values == nil && len(step.Name) >= minHash && strings.HasPrefix(name, step.Name)
}

// minHash is the shortest that git makes a hash (core.abbrev).
const minHash = 4

// judged records a verdict and shows it.
func (s *Session) judged(step Step) error {
	line, err := json.Marshal(step)
	if err != nil {
		return err
	}
	if _, err = s.steps.Write(checksum.Append(line)); err == nil {
		err = s.steps.Sync()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.steps.Name(), cause.Of(err))
	}
	s.view.Say(s.stepText(&step))
	return nil
}

// build builds the program of a search over the values of a parameter.
func (s *Session) build(ctx context.Context) error {
	s.request.Ref = revision.Ref{Kind: revision.Self}
	p, err := revision.Build(ctx, s.request)
	if err != nil {
		return revision.Classed(err)
	}
	if s.program = p; s.Plan.Program == "" {
		s.Plan.Program = p.Identity
		return s.Plan.write(s.Folder)
	}
	if s.Plan.Program != p.Identity {
		return wrong("%s: this csiglab is another program than when the search began; begin a new one", s.Folder)
	}
	return nil
}

// prepareValue returns a value of the parameter as a candidate.
func (s *Session) prepareValue(_ context.Context, i int, _ func(string) bool) (Subject, func(), error) {
	v := s.values.Value(i)
	return Subject{Name: v, Program: s.program.File, Identity: s.program.Identity, Set: s.override(v)}, func() {}, nil
}

// prepareCommit builds a commit as a candidate.
func (s *Session) prepareCommit(ctx context.Context, i int, known func(string) bool) (Subject, func(), error) {
	c := s.commits[i]
	subject := Subject{Name: c.Short}
	r := s.request
	r.Ref, r.Known = revision.Ref{Kind: revision.Git, Value: c.Hash}, known
	p, err := revision.Build(ctx, r)
	if errors.Is(err, revision.ErrBroken) {
		why := strings.TrimPrefix(err.Error(), r.Ref.String()+": ")
		return subject, nil, fmt.Errorf("%w: %s%s", ErrSkip, notBuilt, why)
	}
	if err != nil {
		return subject, nil, err
	}
	subject.Program, subject.Identity = p.File, p.Identity
	return subject, func() {
		if p.File != "" {
			os.RemoveAll(filepath.Dir(p.File))
		}
	}, nil
}

// wrong returns an error of the user.
func wrong(format string, args ...any) error {
	return failure.Configuration(fmt.Errorf(format, args...))
}
