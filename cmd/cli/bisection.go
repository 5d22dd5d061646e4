package cli

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
	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/compare/bisect"
	"github.com/csiglab/csiglab/orchestrator/compare/regress"
	"github.com/csiglab/csiglab/orchestrator/compare/revision"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/programs/builder"
)

// Files of a search's folder, beside the journal of its trials.
const (
	bisectPlanFile   = "bisection.json"
	bisectStepsFile  = "steps.jsonl"
	bisectResultFile = "result.json"
	bisectSchema     = 1
	maxBisectFile    = 64 << 20
)

// bisectPlan is what is searched for, as far as another process needs it to go on.
type bisectPlan struct {
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
func (p *bisectPlan) write(folder string) error {
	p.Schema = bisectSchema
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	if err := own.WriteFile(filepath.Join(folder, bisectPlanFile), append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("%s: %w", folder, cause.Of(err))
	}
	return nil
}

// readBisectPlan reads the plan in the folder of a search.
func readBisectPlan(folder string) (*bisectPlan, error) {
	name := filepath.Join(folder, bisectPlanFile)
	data, err := own.ReadFile(name, maxBisectFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: not the folder of a search: it has no %s", folder, bisectPlanFile)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, cause.Of(err))
	}
	p := &bisectPlan{}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(p); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("the file ends too soon")
		}
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if p.Schema != bisectSchema {
		return nil, fmt.Errorf("%s: schema %d; this csiglab reads %d", name, p.Schema, bisectSchema)
	}
	if p.Experiment == "" || p.Metric == "" || (p.Parameter == "") != (len(p.Commits) > 1) {
		return nil, fmt.Errorf("%s: the file is damaged", name)
	}
	return p, nil
}

// bisection is a search under way.
type bisection struct {
	*app
	plan   *bisectPlan
	flags  *bisectFlags
	folder string
	fresh  bool // not resumed

	texts    regress.Campaign // checks the experiment and writes its text
	campaign bisect.Campaign
	values   *bisect.Range     // with Parameter
	commits  []revision.Commit // otherwise
	request  revision.Request
	program  revision.Program // with Parameter
	steps    *os.File
	bar      *campaignProgress
}

// prepare checks all that can be checked before something is built.
func (s *bisection) prepare(ctx context.Context) error {
	p := s.plan
	s.request = revision.Request{Linked: sourceFolder, Into: filepath.Join(s.folder, regress.ProgramsFolder), Say: func(text string) { s.bar.line(text) }}
	var err error
	if s.request.With, err = builder.ParseWiths(p.With); err != nil {
		return usage("%w", err)
	}
	c := &s.campaign
	if p.Parameter == "" {
		err = s.findCommits(ctx)
		c.Last, c.Prepare = len(s.commits)-1, s.prepareCommit
	} else {
		if s.values, err = bisect.ParseRange(p.Good, p.Bad, p.Resolution); err != nil {
			return usage("--parameter %s: %w", p.Parameter, err)
		}
		c.Last, c.Prepare = s.values.Last(), s.prepareValue
	}
	if err != nil {
		return err
	}
	if err := s.handOver(ctx); err != nil {
		return err
	}
	c.Question, err = interruptible(ctx, s.question)
	if err != nil {
		return comparisonError(err)
	}
	if s.fresh {
		p.Content = c.Trial.Content
	}
	if p.Content != c.Trial.Content {
		return usage("%s: the text or the files of the experiment have changed since the search began; begin a new one", s.folder)
	}
	return nil
}

// errHandedOver says that another csiglab has done the command.
var errHandedOver = errors.New("handed over")

// handOver hands the command over to a csiglab with the modules, of the good revision: that
// one must build in any case.
func (s *bisection) handOver(ctx context.Context) error {
	r := s.request
	if r.Ref = (revision.Ref{Kind: revision.Self}); s.values == nil {
		r.Ref = revision.Ref{Kind: revision.Git, Value: s.commits[0].Hash}
	}
	done, err := s.app.handOver(ctx, r)
	if done && err == nil {
		err = errHandedOver
	}
	return err
}

// findCommits finds the commits between the ends: again those with which the search began,
// if it is resumed.
func (s *bisection) findCommits(ctx context.Context) error {
	p := s.plan
	repository, err := s.repository(ctx)
	if err != nil {
		return revision.Classed(err)
	}
	ends := [2]string{p.Good, p.Bad}
	if !s.fresh {
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
	if s.fresh {
		p.Repository = repository.Top
		for _, c := range s.commits {
			p.Commits = append(p.Commits, c.Hash)
		}
	}
	for i, c := range s.commits {
		if len(s.commits) != len(p.Commits) || c.Hash != p.Commits[i] {
			return usage("%s: the history of %s has changed since the search began; begin a new one", s.folder, p.Repository)
		}
	}
	return nil
}

// repository opens the repository that the search began with.
func (s *bisection) repository(ctx context.Context) (*revision.Repository, error) {
	if s.fresh {
		return s.request.Repository(ctx)
	}
	s.request.Source = ""
	if len(s.plan.With) == 0 {
		s.request.Source = s.plan.Repository
	}
	return s.request.Repository(ctx)
}

// run searches, and prints what it finds.
func (s *bisection) run(ctx context.Context) error {
	journal, err := regress.OpenJournal(s.folder)
	if err != nil {
		return comparisonError(err)
	}
	defer journal.Close() // every line is on the disk already
	if err := s.claim(journal); err != nil {
		return err
	}
	runs := filepath.Join(s.folder, regress.RunsFolder)
	for _, left := range []string{runs, s.request.Into} { // by a process that was killed; the journal is ours
		if err := os.RemoveAll(left); err != nil {
			return infrastructure(err)
		}
	}
	defer os.RemoveAll(s.request.Into)
	s.bar = s.newCampaignProgress()
	result, err := s.search(ctx, journal)
	s.bar.close()
	os.RemoveAll(runs) //nolint:errcheck // the next session removes it
	if err != nil {
		err = comparisonError(err)
		if code := exitCode(err); code == exitInfrastructure {
			err = &exitError{code, fmt.Errorf("%w\nthe search is not at its end: csiglab bisect --resume %s goes on", err, s.folder)}
		}
		return err
	}
	found, err := s.describe(result)
	if err != nil {
		return infrastructure(err)
	}
	if s.flags.json {
		err = s.printJSON(found)
	} else {
		err = s.print(s.text(found, result))
	}
	if err == nil && len(result.Candidates) > 1 {
		err = &exitError{code: exitInconclusive}
	}
	return err
}

// claim writes the plan of a new search. The journal is this process's: no other one writes
// a plan after it was looked for.
func (s *bisection) claim(journal *trial.Journal) error {
	if !s.fresh {
		return nil
	}
	_, err := os.Lstat(filepath.Join(s.folder, bisectPlanFile))
	if err == nil || journal.Len() > 0 {
		return usage("%s: another csiglab has begun a search in this folder; name another one", s.folder)
	}
	if err := s.plan.write(s.folder); err != nil {
		return infrastructure(err)
	}
	return nil
}

func (s *bisection) search(ctx context.Context, journal *trial.Journal) (*bisect.Result, error) {
	if err := s.texts.WriteTexts(); err != nil {
		return nil, err
	}
	c := &s.campaign
	var err error
	if c.Steps, err = s.openSteps(); err != nil {
		return nil, err
	}
	defer s.steps.Close() // every line is on the disk already
	if s.plan.Parameter != "" {
		if err := s.build(ctx); err != nil {
			return nil, err
		}
	}
	c.Journal, c.Runner = journal, s.texts.Watched(&trial.Local{Folder: filepath.Join(s.folder, regress.RunsFolder), Environment: trial.Environment(s.env)})
	if c.Parallel = s.flags.parallel; c.Parallel == 0 {
		c.Parallel = runtime.GOMAXPROCS(0)
	}
	if !c.Repeating {
		c.Parallel = 1
	}
	c.Judged = s.judged
	c.Progress = func(name string, done, total int) {
		s.bar.update(regress.Progress{Done: done, Least: total, Name: name})
	}
	s.announce()
	return c.Run(ctx)
}

// announce says what there is to do.
func (s *bisection) announce() {
	what := spelling.Plural(s.campaign.Last, "revision")
	if s.values != nil {
		what = spelling.Plural(s.campaign.Last, "value")
	}
	more := ""
	if n := len(s.campaign.Steps); n > 0 {
		more = fmt.Sprintf("; %s of an earlier session are kept", spelling.Plural(n, "verdict"))
	}
	s.bar.line(fmt.Sprintf("%s after good: about %s, after the two ends%s", what, spelling.Plural(bisect.Steps(s.campaign.Last), "step"), more))
}

// openSteps opens the file of the verdicts, and returns those of earlier sessions that last. A
// last line that is torn is removed.
func (s *bisection) openSteps() (list []bisect.Step, err error) {
	name := filepath.Join(s.folder, bisectStepsFile)
	data, err := own.ReadFile(name, maxBisectFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", name, cause.Of(err))
	}
	whole := 0
	for number := 1; ; number++ {
		length := bytes.IndexByte(data[whole:], '\n')
		if length < 0 {
			break
		}
		var step bisect.Step
		if err := json.Unmarshal(data[whole:whole+length], &step); err != nil || step.Candidate < 0 || step.Candidate > s.campaign.Last {
			return nil, usage("%s:%d: the file is damaged; without this line, its candidate is judged again", name, number)
		}
		if !s.named(step) {
			return nil, usage("%s:%d: %q is not candidate %d of this search", name, number, oneLine(step.Name), step.Candidate)
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
	return bisect.Lasting(list), nil
}

// named reports whether a step has the name of its candidate. The short hash of a commit may
// have had another length.
func (s *bisection) named(step bisect.Step) bool {
	name := s.candidate(step.Candidate).Name
	return step.Name == name || s.values == nil && len(step.Name) >= minHash && strings.HasPrefix(name, step.Name)
}

// minHash is the shortest that git makes a hash (core.abbrev).
const minHash = 4

// judged records a verdict and shows it.
func (s *bisection) judged(step bisect.Step) error {
	line, err := json.Marshal(step)
	if err != nil {
		return err
	}
	if _, err = s.steps.Write(append(line, '\n')); err == nil {
		err = s.steps.Sync()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.steps.Name(), cause.Of(err))
	}
	s.bar.line(s.stepText(&step))
	return nil
}

// build builds the program of a search over the values of a parameter.
func (s *bisection) build(ctx context.Context) error {
	s.request.Ref = revision.Ref{Kind: revision.Self}
	p, err := revision.Build(ctx, s.request)
	if err != nil {
		return revision.Classed(err)
	}
	if s.program = p; s.plan.Program == "" {
		s.plan.Program = p.Identity
		return s.plan.write(s.folder)
	}
	if s.plan.Program != p.Identity {
		return usage("%s: this csiglab is another program than when the search began; begin a new one", s.folder)
	}
	return nil
}

// prepareValue returns a value of the parameter as a candidate.
func (s *bisection) prepareValue(_ context.Context, i int, _ func(string) bool) (bisect.Subject, func(), error) {
	v := s.values.Value(i)
	return bisect.Subject{Name: v, Program: s.program.File, Identity: s.program.Identity, Set: s.override(v)}, func() {}, nil
}

// prepareCommit builds a commit as a candidate.
func (s *bisection) prepareCommit(ctx context.Context, i int, known func(string) bool) (bisect.Subject, func(), error) {
	c := s.commits[i]
	subject := bisect.Subject{Name: c.Short}
	r := s.request
	r.Ref, r.Known = revision.Ref{Kind: revision.Git, Value: c.Hash}, known
	p, err := revision.Build(ctx, r)
	if errors.Is(err, revision.ErrBroken) {
		why := strings.TrimPrefix(err.Error(), r.Ref.String()+": ")
		return subject, nil, fmt.Errorf("%w: %s%s", bisect.ErrSkip, notBuilt, why)
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
