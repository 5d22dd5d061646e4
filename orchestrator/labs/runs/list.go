package runs

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Finder finds and removes the processes and containers of runs on this machine, by
// the id that they carry.
type Finder interface {
	// Find adds to each run of the list its processes or containers. It may append
	// runs that are not on the list: those whose State it sets to Foreign belong to
	// another csiglab, the others are dead.
	Find(ctx context.Context, runs []Run) ([]Run, error)
	// Remove removes the processes or containers of a run, of any backend, and
	// returns in words what it removed. It may be repeated.
	Remove(ctx context.Context, r Run) (removed []string, err error)
}

// ListDamaged returns the entries of the list that cannot be read.
func ListDamaged() ([]Damaged, error) {
	_, damaged, err := entries()
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	return damaged, nil
}

// List returns this user's runs, the oldest first: those under way, those whose holder
// is gone, and those of others that the finders know. It leaves out damaged entries.
func List(ctx context.Context, finders ...Finder) ([]Run, error) {
	runs, _, err := entries()
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	for i := range runs {
		if runs[i].life() == LifeUnknown {
			runs[i].State = Foreign
		}
	}
	for _, b := range finders {
		if runs, err = b.Find(ctx, runs); err != nil {
			return nil, fmt.Errorf("list runs: %w", err)
		}
	}
	for i := range runs {
		switch r := &runs[i]; {
		case r.State == Foreign:
		case !r.alive():
			r.State = Dead
		case r.Held && r.up():
			r.State = Held
		default:
			r.State = Running
		}
	}
	slices.SortFunc(runs, func(a, b Run) int {
		return cmp.Or(a.Started.Compare(b.Started), strings.Compare(a.ID, b.ID))
	})
	return runs, nil
}

// up reports whether a lab can be asked to end. It can once all its nodes run.
func (r *Run) up() bool {
	_, err := os.Stat(socket(r.ID))
	return err == nil
}

// alive reports whether the holder of a run is known to live.
func (r *Run) alive() bool { return r.life() == Lives }

// life returns the life of the run's holder. Where its process cannot be seen, as by the
// programs of a run, the run's lock shows it.
func (r *Run) life() Life {
	if l := r.owner().Life(); l != LifeUnknown {
		return l
	}
	return lockedLife(r.ID)
}
