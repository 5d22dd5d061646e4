package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/internal/checksum"
	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/orchestrator/compare/results"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
)

// Names in the folder of a sweep.
const (
	planFile = "sweep.json"
	runsDir  = "runs" // run folders that are kept
	workDir  = "work" // run folders under way
)

// maxPlan is the most bytes of sweep.json.
const maxPlan = 1 << 30

// Errors of folders; test with errors.Is. Those of package trial come too.
var (
	ErrNotEmpty = errors.New("the folder is not empty")
	ErrNoSweep  = errors.New("this is not the folder of a sweep")
	// ErrChanged: a file that the experiment reads is another one than when the sweep began.
	ErrChanged = trial.ErrFileChanged
)

// PlaceError gives an error of making a folder, which the user has chosen, class
// failure.ErrConfiguration, unless the machine is at fault.
func PlaceError(err error) error {
	for _, class := range []error{own.ErrForeign, fs.ErrPermission, fs.ErrNotExist, unix.ENOTDIR, unix.EROFS, unix.ENAMETOOLONG, unix.ELOOP, unix.EINVAL} {
		if errors.Is(err, class) {
			return placeError{fmt.Errorf("%w; choose another folder with --out", err)}
		}
	}
	return err
}

// placeError is of class failure.ErrConfiguration alone.
type placeError struct{ error }

func (e placeError) Is(target error) bool { return target == failure.ErrConfiguration }

// Sweep is the folder of a sweep that this process works on.
type Sweep struct {
	Plan    *Plan
	Folder  string
	journal *trial.Journal
}

// Create makes the folder of a sweep, or goes on with the one of the same plan and shard. The
// folder is new, empty, or of that sweep; otherwise the error wraps ErrNotEmpty or
// trial.ErrOtherPlan. The caller ends with Close.
func Create(folder string, p *Plan) (*Sweep, error) {
	old, err := readPlan(folder)
	switch {
	case err == nil && (old.Digest != p.Digest || old.Shard != p.Shard):
		return nil, fmt.Errorf("%s: %w; name a new one, or go on with that sweep: csiglab sweep --resume %s", folder, trial.ErrOtherPlan, folder)
	case err == nil:
		s, err := open(folder, old)
		if err != nil {
			return nil, err
		}
		if err := s.Choose(p.Metrics); err != nil {
			return nil, errors.Join(err, s.Close())
		}
		return s, nil
	case errors.Is(err, fs.ErrNotExist):
		entries, err := os.ReadDir(folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: %w", folder, cause.Of(err))
		}
		if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() != trial.JournalFile }) {
			return nil, fmt.Errorf("%s: %w; name another one", folder, ErrNotEmpty)
		}
	default:
		return nil, err
	}
	s, err := open(folder, p)
	if err != nil {
		return nil, err
	}
	if err := s.savePlan(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Sweep) savePlan() error {
	text, err := json.Marshal(s.Plan)
	if err == nil {
		err = own.WriteFile(filepath.Join(s.Folder, planFile), checksum.Append(text), 0o644)
	}
	if err != nil {
		return failure.Infrastructure(fmt.Errorf("%s: %w", s.Folder, cause.Of(err)))
	}
	return nil
}

// Choose replaces the plan's patterns of metrics (Plan.Metrics).
func (s *Sweep) Choose(patterns []string) error {
	if slices.Equal(patterns, s.Plan.Metrics) {
		return nil
	}
	s.Plan.Metrics = patterns
	return s.savePlan()
}

// WriteTable writes the table of a sweep's folder from the trials that have ended, also while
// another process runs more. It leaves a table alone that is not older than they are. The error
// wraps ErrNoSweep, or trial.ErrDamaged. It returns the plan of the sweep.
func WriteTable(folder string) (*Plan, error) {
	p, err := ReadPlan(folder)
	if err != nil {
		return nil, err
	}
	return p, writeTable(folder, p)
}

func writeTable(folder string, p *Plan) error {
	ended, err := os.Stat(filepath.Join(folder, trial.JournalFile))
	if errors.Is(err, fs.ErrNotExist) { // a copy of the results alone
		return nil
	}
	if err != nil {
		return err
	}
	if table, err := os.Stat(filepath.Join(folder, results.File)); err == nil && !table.ModTime().Before(ended.ModTime()) {
		return nil
	}
	j, err := trial.ReadJournal(folder)
	if err != nil {
		return err
	}
	defer j.Close() // opened for reading
	_, err = (&Sweep{Plan: p, Folder: folder, journal: j}).Finish(Key)
	return err
}

// Open opens the folder of a sweep to do what it lacks. The error wraps ErrNoSweep if it is
// none, trial.ErrDamaged if its plan is, and ErrChanged if the experiment is another one by now.
func Open(ctx context.Context, folder string) (*Sweep, error) {
	p, err := ReadPlan(folder)
	if err != nil {
		return nil, err
	}
	for _, f := range p.Files {
		digest, err := trial.Digest(ctx, f.Name)
		if err != nil {
			return nil, err
		}
		if digest != f.SHA256 {
			return nil, fmt.Errorf("%s: %w", f.Name, ErrChanged)
		}
	}
	return open(folder, p)
}

func open(folder string, p *Plan) (*Sweep, error) {
	j, err := trial.OpenJournal(folder)
	if err != nil {
		return nil, err
	}
	s := &Sweep{Plan: p, Folder: folder, journal: j}
	if err := j.Claim(p.Digest); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	// Of a sweep that was killed; nobody else is at work here.
	os.RemoveAll(s.Work()) //nolint:errcheck // a trial finds out
	return s, nil
}

// readPlan reads sweep.json of a folder. The error wraps fs.ErrNotExist if there is none, and
// trial.ErrDamaged, or ErrNoSweep if it is of a csiglab that this one cannot read.
func readPlan(folder string) (*Plan, error) {
	name := filepath.Join(folder, planFile)
	data, err := own.ReadFile(name, maxPlan)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", folder, fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	p, whole := &Plan{}, checksum.Valid(data)
	err = json.Unmarshal(data, p)
	if err == nil && !whole && p.Schema != planWithoutSum {
		err = checksum.ErrDiffers
	}
	if err == nil {
		err = p.check()
	}
	switch {
	case err != nil && whole:
		return nil, fmt.Errorf("%s: %w: %w", name, ErrNoSweep, err)
	case err != nil:
		return nil, fmt.Errorf("%s: %w: %w", name, trial.ErrDamaged, err)
	}
	return p, nil
}

// ReadPlan reads the plan of a sweep's folder. The error wraps ErrNoSweep or trial.ErrDamaged.
func ReadPlan(folder string) (*Plan, error) {
	p, err := readPlan(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w: it has no %s", folder, ErrNoSweep, planFile)
	}
	return p, err
}

// Close removes what trials have left and lets other processes work on the folder.
func (s *Sweep) Close() error {
	os.RemoveAll(s.Work()) //nolint:errcheck // the next process removes it
	return s.journal.Close()
}

// Work returns the folder for the run folders under way.
func (s *Sweep) Work() string { return filepath.Join(s.Folder, workDir) }

// Runs returns the folder for the run folders that are kept.
func (s *Sweep) Runs() string { return filepath.Join(s.Folder, runsDir) }

// Done returns how many trials of the shard have ended, and how many it has.
func (s *Sweep) Done() (done, total int) {
	for i := range s.Plan.Trials() {
		if s.Plan.Shard.has(i) {
			total++
			if s.journal.Has(s.Plan.trial(i)) {
				done++
			}
		}
	}
	return done, total
}

// Progress is how far a sweep is.
type Progress struct {
	Done, Total int
	Invalid     int // of Done, those whose numbers do not count
	// Share of the work that is done, by the predicted times of the trials.
	Share float64
	// Left is about how long the rest takes; 0: not known yet.
	Left time.Duration
}

// Run performs the trials of the shard that the folder lacks, so many at once. progress may be
// nil; its calls do not overlap. The error is that of trial.All, or wraps ErrChanged.
func (s *Sweep) Run(ctx context.Context, r trial.Runner, parallel int, progress func(Progress)) error {
	var trials []trial.Trial
	var weights []float64
	whole := 0.0
	for i := range s.Plan.Trials() {
		if s.Plan.Shard.has(i) {
			weight := max(s.Plan.Points[s.Plan.place(i).point].Weight, 1e-9)
			trials, weights, whole = append(trials, s.Plan.trial(i)), append(weights, weight), whole+weight
		}
	}
	now := Progress{Total: len(trials)}
	kept, fresh, ended, began := 0.0, 0.0, 0, time.Now()
	return trial.Each(ctx, trial.Watch(r, s.Plan.Files), s.journal, trials, parallel, func(d trial.Done) {
		now.Done++
		if !d.Outcome.Counts() {
			now.Invalid++
		}
		if d.Kept {
			kept += weights[d.Index]
		} else {
			fresh += weights[d.Index]
			ended++
		}
		now.Share = min(1, (kept+fresh)/whole)
		if ended > 2*parallel { // the first ones are slow, and others are under way
			now.Left = time.Duration(float64(time.Since(began)) * max(0, whole-kept-fresh) / fresh)
		}
		if progress != nil {
			progress(now)
		}
	})
}
