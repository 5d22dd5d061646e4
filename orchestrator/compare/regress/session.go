package regress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/orchestrator/compare/revision"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
)

// Folders in that of a session, which are removed at its end.
const (
	ProgramsFolder = "programs" // that were built; they come from the cache of builds again
	RunsFolder     = "runs"     // run folders under way
)

// Session is a regression, or the saving of a baseline, that this process works on.
type Session struct {
	Plan   *Plan
	Folder string
	Fresh  bool // not resumed
	// Baseline and Candidate are the flags of the sides, of a session that is not resumed.
	Baseline, Candidate SideFlags
	Parallel            int // runs side by side under clock virtual; 0: the cores
	Version             string
	Builds              Builds
	Say                 func(text string)
	Work
	// Forms are the files of a verdict.
	Forms func(*verdict.Document) ([]verdict.File, error)

	made     bool // the folder was not there before
	campaign Campaign
}

// Work says how the trials of a session are performed and shown.
type Work struct {
	Runner      trial.Runner // elsewhere, which bounds its trials to Most; nil: this machine
	Most        int
	Close       func() // ends Runner; may be nil
	Environment []string
	View        func() View
}

// View shows how far a campaign is.
type View struct {
	Progress func(Progress)
	Say      func(text string)
	End      func()
}

// begin gives the campaign its runner, with folders for the runs of this machine.
func (w *Work) begin(c *Campaign, folder string) (end func()) {
	if w.Runner == nil {
		c.Runner = &trial.Local{Folder: folder, Environment: w.Environment}
		return func() {}
	}
	c.Runner, c.Parallel, c.Elsewhere = w.Runner, w.Most, true
	return w.Close
}

// Prepare checks all that can be checked before programs are built.
func (s *Session) Prepare() (err error) {
	c := &s.campaign
	*c = Campaign{Suite: &s.Plan.Suite, Filter: s.Plan.Filter, Folder: s.Folder, Version: s.Version, Command: s.Plan.Command,
		Arguments: s.Plan.Arguments, Strict: s.Plan.Strict, Started: s.Plan.Started, Before: s.Plan.Before(s.Folder), Parallel: cmp.Or(s.Parallel, runtime.GOMAXPROCS(0))}
	if c.Machine, err = os.Hostname(); err != nil {
		return failure.Infrastructure(err)
	}
	for side, spec := range s.sides() {
		if *side, err = newSide(spec); err != nil {
			return err
		}
	}
	if err := c.Prepare(); err != nil {
		return err
	}
	contents := c.Contents()
	if s.Fresh {
		s.Plan.Contents = contents
	}
	return s.Plan.Same(s.Folder, contents)
}

func (s *Session) sides() map[*Side]*Spec {
	return map[*Side]*Spec{&s.campaign.Baseline: &s.Plan.Baseline, &s.campaign.Candidate: &s.Plan.Candidate}
}

// Run builds the programs, runs the trials, and writes the verdict.
func (s *Session) Run(ctx context.Context) (*verdict.Document, error) {
	if s.Fresh {
		_, err := os.Lstat(s.Folder)
		s.made = errors.Is(err, os.ErrNotExist)
		if err := EmptyFolder(s.Folder); err != nil {
			return nil, err
		}
	}
	journal, err := OpenJournal(s.Folder)
	if err != nil {
		return nil, err
	}
	defer journal.Close() // every line is on the disk already
	programs := filepath.Join(s.Folder, ProgramsFolder)
	removePrograms := true
	defer func() {
		if removePrograms {
			os.RemoveAll(programs) //nolint:errcheck // the next session removes them
		}
	}()
	began := time.Now()
	s.Plan.Sessions = append(s.Plan.Sessions, Period{Began: began.UTC()})
	if s.Fresh { // a build that is killed can be resumed
		if err := s.Plan.Write(s.Folder); err != nil {
			s.discard(journal, programs)
			return nil, failure.Infrastructure(err)
		}
	}
	if err := s.build(ctx, programs); err != nil {
		if s.Fresh {
			s.discard(journal, programs)
		}
		if errors.Is(err, context.Canceled) {
			err = failure.Infrastructure(errors.New("interrupted before the first run"))
		}
		return nil, err
	}
	c := &s.campaign
	c.Building = time.Since(began)
	if err := s.Plan.Write(s.Folder); err != nil {
		return nil, failure.Infrastructure(err)
	}
	c.Journal = journal
	runs := filepath.Join(s.Folder, RunsFolder)
	os.RemoveAll(runs)       //nolint:errcheck // what a session that was killed has left
	defer os.RemoveAll(runs) //nolint:errcheck // the next session does it
	defer s.Work.begin(c, runs)()
	view := s.View()
	c.Progress, c.Say = view.Progress, view.Say
	document, err := c.Run(ctx)
	view.End()
	if err == nil {
		counting := time.Now()
		if err = s.execution(ctx, document, programs); err == nil {
			err = c.power(ctx, document)
		}
		document.Seconds += time.Since(counting).Seconds()
	}
	s.Plan.Sessions[len(s.Plan.Sessions)-1].Ended = time.Now().UTC()
	if err != nil {
		removePrograms = !errors.Is(err, trial.ErrNoProgram) // the message names them, for the image
		s.Plan.Write(s.Folder)                               //nolint:errcheck // the time of this session is lost
		return nil, s.unfinished(err, journal.Len())
	}
	if err := s.Plan.Write(s.Folder); err != nil {
		return nil, s.unfinished(err, journal.Len())
	}
	if err := s.writeForms(document); err != nil {
		return nil, s.unfinished(failure.Infrastructure(err), journal.Len())
	}
	return document, nil
}

// Save builds the program of the baseline, runs the trials, and returns their values. Folder is
// for what is needed meanwhile.
func (s *Session) Save(ctx context.Context) (*Stored, error) {
	interrupted := func(err error) error {
		if errors.Is(err, context.Canceled) {
			err = failure.Infrastructure(errors.New("interrupted; nothing is written"))
		}
		return err
	}
	if s.campaign.Baseline.Stored != nil {
		return nil, wrong("--baseline %s: these values are stored already", s.Baseline.Text)
	}
	if err := s.build(ctx, filepath.Join(s.Folder, ProgramsFolder)); err != nil {
		return nil, interrupted(err)
	}
	c := &s.campaign
	defer s.Work.begin(c, filepath.Join(s.Folder, RunsFolder))()
	view := s.View()
	c.Progress = view.Progress
	stored, err := c.Save(ctx)
	view.End()
	return stored, interrupted(err)
}

// discard removes what a regression without a run has written into its folder, and the
// folder unless the user had made it.
func (s *Session) discard(journal *trial.Journal, programs string) {
	// The first error was reported; what stays is resumed or removed by the user.
	os.RemoveAll(programs)                                //nolint:errcheck // as above
	os.Remove(filepath.Join(s.Folder, PlanFile))          //nolint:errcheck // as above
	os.Remove(filepath.Join(s.Folder, trial.JournalFile)) //nolint:errcheck // as above
	journal.Close()                                       //nolint:errcheck // as above
	if s.made {
		os.Remove(s.Folder) //nolint:errcheck // as above
	}
}

// build completes the sides.
func (s *Session) build(ctx context.Context, into string) error {
	for _, one := range []struct {
		side  *Side
		spec  *Spec
		flags SideFlags
	}{{&s.campaign.Baseline, &s.Plan.Baseline, s.Baseline}, {&s.campaign.Candidate, &s.Plan.Candidate, s.Candidate}} {
		first := s.Fresh
		if !first && one.spec.Identity == "" && one.side.Stored == nil { // the session before was killed during its build
			first, one.flags.Text, one.flags.Set = true, one.spec.Side, one.spec.Set
		}
		if err := one.side.build(ctx, one.spec, into, &s.Builds); err != nil {
			return err
		}
		if first {
			one.spec.Flags = one.flags.arguments(one.spec)
		}
		one.side.Flags = one.spec.Flags
	}
	s.noteStale(ctx)
	return nil
}

// noteStale notes that this csiglab is another one than the checkout has, where it is
// compared with another program.
func (s *Session) noteStale(ctx context.Context) {
	b, c := &s.campaign.Baseline, &s.campaign.Candidate
	if b.Identity == c.Identity {
		return
	}
	for _, side := range []*Side{b, c} {
		if side.Kind != KindSelf || side.Program != "" {
			continue
		}
		if why := revision.Stale(ctx, s.Builds.Linked); why != "" {
			side.Notes = []string{"self may lack what is to be compared: " + why + "; build it again, or compare folder:DIR"}
			s.Say(side.Notes[0])
		}
		return
	}
}

// unfinished says how to go on after an error.
func (s *Session) unfinished(err error, trials int) error {
	kept := "1 run has ended and is"
	if trials != 1 {
		kept = fmt.Sprintf("%d runs have ended and are", trials)
	}
	return &trial.Unfinished{Err: err, Rest: fmt.Sprintf("the regression is incomplete: %s kept in %s; csiglab regress --resume %[2]s does the rest", kept, s.Folder)}
}

// OpenJournal opens the journal of a folder. That another process works on it is a mistake of
// the user, and so is the folder of another user.
func OpenJournal(folder string) (*trial.Journal, error) {
	journal, err := trial.OpenJournal(folder)
	switch {
	case errors.Is(err, trial.ErrBusy), errors.Is(err, own.ErrForeign):
		return nil, failure.Configuration(err)
	case err != nil:
		return nil, failure.Infrastructure(err)
	}
	return journal, nil
}

// writeForms writes the verdict in all its forms.
func (s *Session) writeForms(d *verdict.Document) error {
	files, err := s.Forms(d)
	if err != nil {
		return err
	}
	for _, f := range files {
		name := filepath.Join(s.Folder, f.Name)
		if err := own.WriteFile(name, f.Data, 0o644); err != nil {
			return fmt.Errorf("%s: %w", name, cause.Of(err))
		}
	}
	return nil
}

// EmptyFolder refuses a folder that has something in it, and makes one that is not there.
func EmptyFolder(folder string) error {
	root, err := own.Folder(folder)
	if err != nil {
		return wrong("--out %s: %w", folder, cause.Of(err))
	}
	defer root.Close() // nothing is written through it
	list, err := os.ReadDir(folder)
	if err != nil {
		return wrong("--out %s: %w", folder, cause.Of(err))
	}
	list = slices.DeleteFunc(list, func(entry os.DirEntry) bool { // of a campaign that was killed before it wrote its plan
		info, err := entry.Info()
		return err == nil && entry.Name() == trial.JournalFile && info.Mode().IsRegular() && info.Size() == 0
	})
	if len(list) == 0 {
		return nil
	}
	for _, entry := range list {
		if entry.Name() == PlanFile {
			return wrong("--out %s: it has a regression; csiglab regress --resume %[1]s goes on with it", folder)
		}
	}
	return wrong("--out %s: the folder is not empty", folder)
}
