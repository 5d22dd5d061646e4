package runfolder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/metrics"
)

// Errors of OpenStopped.
var (
	ErrComplete = errors.New("the run is complete")
	ErrBusy     = errors.New("another csiglab is writing it now")
	// ErrNotResumable is wrapped by the errors about an incomplete folder that does not
	// say enough to go on with it.
	ErrNotResumable = errors.New("it cannot be resumed")
)

// claim is a folder that this process writes, and no other.
type claim struct {
	root *os.Root // of the folder; what is written goes through it
	lock *os.File // the folder, locked
}

// release lets other processes write the folder. A claim may be incomplete.
func (c *claim) release() error {
	var err error
	if c.lock != nil {
		err = c.lock.Close() // unlocks it
	}
	if c.root != nil {
		err = errors.Join(err, c.root.Close())
	}
	return err
}

// lockFolder locks a folder for as long as the file that it returns is open. The error
// wraps ErrBusy if another process has locked it. A file system without locks is not
// locked.
func lockFolder(dir string, root *os.Root) (*os.File, error) {
	f, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		f.Close()
		return nil, fmt.Errorf("%s: %w", dir, ErrBusy)
	case err != nil && !errors.Is(err, unix.ENOLCK) && !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.EBADF) && !errors.Is(err, unix.ENOSYS):
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return f, nil
}

// Stopped is an incomplete run folder that is locked and has not been changed yet. The
// caller ends it with Resume or Close.
type Stopped struct {
	Dir        string
	Manifest   Manifest // as it was left; Missing lacks no run that has not finished
	Experiment []byte   // text of the experiment file

	claim
	parts []runKey        // that have finished, in the order of Manifest.Variants and seeds
	all   []VariantSeeds  // all runs of the folder
	has   map[runKey]bool // the same; true: has finished
}

// OpenStopped opens the folder of a run that was interrupted, failed or was killed. The
// error wraps fs.ErrNotExist, ErrForeign or ErrDamaged as that of Open, ErrNotOwn as that
// of Create, and one of the errors above.
func OpenStopped(dir string) (*Stopped, error) {
	s := &Stopped{Dir: dir}
	if err := s.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("open run folder %s: %w", dir, err), s.Close())
	}
	return s, nil
}

func (s *Stopped) open() (err error) {
	if err := (&Folder{Dir: s.Dir}).readManifest(); err != nil { // also if it is locked
		return err
	}
	if s.root, err = own.Folder(s.Dir); err != nil {
		return err
	}
	if s.lock, err = lockFolder(s.Dir, s.root); err != nil {
		return err
	}
	f := &Folder{Dir: s.Dir}
	if err := f.readManifest(); err != nil {
		return err
	}
	m := &f.Manifest
	switch {
	case m.Complete:
		return ErrComplete
	case m.Options.Held:
		return fmt.Errorf("%w: %w", ErrNotResumable, ErrLab)
	case m.unbegun():
		return fmt.Errorf("%w: csiglab was killed before its first run began; the same command with --out %s begins it anew", ErrNotResumable, s.Dir)
	case m.Missing == nil || m.Files[ExperimentFile] == FileDigest{}:
		return fmt.Errorf("%w: it does not say which runs are missing", ErrNotResumable)
	}
	if s.Experiment, err = f.Experiment(); err != nil {
		return err
	}
	s.Manifest = *m
	return s.findParts()
}

// findParts finds the runs that have finished, and checks their parts.
func (s *Stopped) findParts() error {
	entries, err := fs.ReadDir(s.root.FS(), partsFolder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	finished := map[runKey]bool{}
	for _, e := range entries {
		key, ok := runOfPart(e.Name())
		if !ok {
			continue
		}
		finished[key] = true
		name := path.Join(partsFolder, e.Name())
		file, err := s.root.Open(name)
		if err != nil {
			return err
		}
		err = checkPart(file)
		file.Close() // opened for reading
		if err != nil {
			return fmt.Errorf("%s: %w; without this file its run is done again", name, err)
		}
	}
	seeds := map[string][]uint64{} // of all runs, by variant
	for _, v := range s.Manifest.Missing {
		seeds[v.Variant] = append(seeds[v.Variant], v.Seeds...)
	}
	for _, r := range s.Manifest.Runs {
		seeds[r.Variant] = append(seeds[r.Variant], r.Seed)
	}
	s.Manifest.Missing, s.has = nil, map[runKey]bool{}
	for _, v := range s.Manifest.Variants {
		missing := VariantSeeds{Variant: v.Name}
		slices.Sort(seeds[v.Name])
		all := VariantSeeds{v.Name, slices.Compact(seeds[v.Name])}
		if len(all.Seeds) > 0 {
			s.all = append(s.all, all)
		}
		for _, seed := range all.Seeds {
			key := runKey{v.Name, seed}
			s.has[key] = finished[key]
			if finished[key] {
				s.parts = append(s.parts, key)
			} else {
				missing.Seeds = append(missing.Seeds, seed)
			}
			delete(finished, key)
		}
		if len(missing.Seeds) > 0 {
			s.Manifest.Missing = append(s.Manifest.Missing, missing)
		}
	}
	for key := range finished {
		return fmt.Errorf("%s: %w: %s does not name its run", partName(key.variant, key.seed, runSuffix), ErrDamaged, ManifestFile)
	}
	return nil
}

// Has reports whether a run is one of the folder, and whether it has finished.
func (s *Stopped) Has(variant string, seed uint64) (finished, ok bool) {
	finished, ok = s.has[runKey{variant, seed}]
	return finished, ok
}

// Close leaves the folder as it is.
func (s *Stopped) Close() error { return s.release() }

// Resume makes the tables of the runs that have finished, and returns the Writer for the
// others. The Stopped is the Writer's afterwards, also if there is an error: the caller
// does not close it.
func (s *Stopped) Resume() (*Writer, error) {
	w := &Writer{dir: s.Dir, claim: s.claim, lookups: map[string]*lookup{}, runs: map[runKey]bool{}, manifest: s.Manifest}
	if err := w.resume(s); err != nil {
		return nil, errors.Join(fmt.Errorf("resume run folder %s: %w", s.Dir, err), w.close())
	}
	return w, nil
}

func (w *Writer) resume(s *Stopped) (err error) {
	w.reset()
	w.manifest.Missing = s.all
	w.manifest.Files = map[string]FileDigest{ExperimentFile: s.Manifest.Files[ExperimentFile]}
	w.manifest.Resumed = append(slices.Clone(w.manifest.Resumed), time.Now().UTC().Truncate(time.Millisecond))
	if err := w.writeManifest(); err != nil {
		return err
	}
	w.removeTables()
	if err := w.removeBegun(); err != nil {
		return err
	}
	if w.log, err = w.root.OpenFile(LogFile, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644); err != nil {
		return err
	}
	if err := w.createTables(); err != nil {
		return err
	}
	for _, key := range s.parts {
		f, err := w.putPart(key)
		if err != nil {
			return err
		}
		w.enter(f)
	}
	return nil
}

// removeBegun removes the parts of runs that did not finish.
func (w *Writer) removeBegun() error {
	if err := w.root.Mkdir(partsFolder, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	entries, err := fs.ReadDir(w.root.FS(), partsFolder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if path.Ext(e.Name()) == begunSuffix {
			if err := w.root.Remove(path.Join(partsFolder, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// putPart puts the rows of a finished run into the tables and returns the run.
func (w *Writer) putPart(key runKey) (f FinishedRun, err error) {
	name := partName(key.variant, key.seed, runSuffix)
	file, err := w.root.Open(name)
	if err != nil {
		return f, err
	}
	defer file.Close() // opened for reading
	n := &names{lookup: w.lookupOf(key.variant), variant: key.variant, seed: key.seed, window: metrics.Absent}
	rows := func(flows func([]Flow), windows func(*metrics.Batch) error) (FinishedRun, []metrics.NodeTotals, error) {
		return readPart(file, flows, windows)
	}
	if f, _, err = w.putRows(n, w.manifest.FirstFlows(key.variant), rows, nil); err != nil {
		return f, fmt.Errorf("%s: %w", name, cause.Of(err))
	}
	if f.Run.Variant != key.variant || f.Run.Seed != key.seed {
		return f, fmt.Errorf("%s: %w: it is of variant %s, seed %d", name, ErrDamaged, f.Run.Variant, f.Run.Seed)
	}
	return f, nil
}

// rebuild makes the tables again, of the runs that have finished.
func (w *Writer) rebuild() error {
	w.closeTables() //nolint:errcheck // the files are removed
	w.removeTables()
	w.tables, w.torn = nil, nil
	if err := w.createTables(); err != nil {
		return err
	}
	for _, f := range w.finished {
		if _, err := w.putPart(runKey{f.Run.Variant, f.Run.Seed}); err != nil {
			return err
		}
	}
	return nil
}

// Salvage makes the tables and the summary of the runs that have finished in the folder of
// a csiglab that was killed, as Writer.Abort would have. Its error is one of OpenStopped,
// or one of the disk.
func Salvage(dir string) error {
	s, err := OpenStopped(dir)
	if err != nil {
		return err
	}
	if len(s.parts) == 0 {
		return errors.Join(fmt.Errorf("run folder %s: %w: no run has finished", dir, ErrIncomplete), s.Close())
	}
	reason, resumed := s.Manifest.Reason, s.Manifest.Resumed
	w, err := s.Resume()
	if err != nil {
		return err
	}
	w.manifest.Resumed = resumed
	return w.Abort(reason)
}
