package runfolder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Progress is how far the runs of a folder have come.
type Progress struct {
	Manifest       Manifest // as it is now
	Finished, Runs int      // how many runs have finished, and how many the folder is to have; Runs 0: it does not say
	Busy           bool     // a csiglab is writing the folder now
}

// ReadProgress reads how far the runs of a folder have come, and changes nothing in it. Its
// errors are those of Open, apart from ErrIncomplete.
func ReadProgress(dir string) (*Progress, error) {
	f := &Folder{Dir: dir}
	if err := f.readManifest(); err != nil {
		return nil, fmt.Errorf("open run folder %s: %w", dir, err)
	}
	p := &Progress{Manifest: f.Manifest, Finished: len(f.Manifest.Runs), Runs: len(f.Manifest.Runs)}
	if f.Manifest.Complete {
		return p, nil
	}
	for _, v := range f.Manifest.Missing {
		p.Runs += len(v.Seeds)
	}
	parts := 0
	entries, err := os.ReadDir(filepath.Join(dir, partsFolder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open run folder %s: %w", dir, err)
	}
	for _, e := range entries {
		if _, ok := runOfPart(e.Name()); ok {
			parts++
		}
	}
	p.Finished = min(max(p.Finished, parts), p.Runs)
	p.Busy = busy(dir)
	return p, nil
}

// busy reports whether a writer has locked a folder. Its own lock, which writers do not
// wait for, lasts for a moment.
func busy(dir string) bool {
	f, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer f.Close() // unlocks it
	return errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}
