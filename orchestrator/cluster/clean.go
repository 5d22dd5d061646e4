package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Cleaner removes what runs have left in the namespace of a cluster. The zero value removes
// what runs of this machine have left whose csiglab is gone.
type Cleaner struct {
	All   bool              // runs of this machine whose csiglab is under way too: they end with an error
	Force bool              // runs of other machines too, and the run that Clean names whatever its state
	Say   func(text string) // receives what Clean leaves alone; may be nil
}

// ErrAmbiguous says that several runs have an id that begins as the user wrote.
var ErrAmbiguous = errors.New("the id is not the only one that begins so")

// Clean removes what runs have left: all or, if which is not empty, the one with that id or
// with an id that begins so. It may be repeated; an unknown run is not an error. It returns
// what it removed, in words. If which names a run that is not to be removed without All or
// Force, the error wraps ErrRefused.
func (c *Cluster) Clean(ctx context.Context, which string, how Cleaner) (removed []string, err error) {
	list, err := c.Find(ctx)
	if err != nil {
		return nil, err
	}
	if which != "" {
		if list, err = named(list, which); err != nil {
			return nil, err
		}
	}
	var errs []error
	for _, r := range list {
		switch reason := how.leaves(&r, which != ""); {
		case reason != "" && which != "":
			return nil, fmt.Errorf("%w: remove run %s: %s", ErrRefused, r.Run, reason)
		case reason != "":
			if how.Say != nil {
				how.Say(fmt.Sprintf("left alone: run %s: %s", r.Run, reason))
			}
			continue
		}
		if err := c.Remove(ctx, r.Run); err != nil {
			errs = append(errs, err)
			continue
		}
		for _, o := range r.Objects {
			removed = append(removed, fmt.Sprintf("%s of run %s", o, r.Run))
		}
	}
	return removed, errors.Join(errs...)
}

// named returns the run with an id, or the only one whose id begins so.
func named(list []remains, which string) ([]remains, error) {
	var found []remains
	var ids []string
	for _, r := range list {
		if r.Run == which {
			return []remains{r}, nil
		}
		if strings.HasPrefix(r.Run, which) {
			found, ids = append(found, r), append(ids, r.Run)
		}
	}
	if len(found) > 1 {
		slices.Sort(ids)
		return nil, fmt.Errorf("run %q: %w: %s", which, ErrAmbiguous, strings.Join(ids, ", "))
	}
	return found, nil
}

// leaves returns why a run is not to be removed, empty if it is. named says that the user
// has named it.
func (how Cleaner) leaves(r *remains, named bool) string {
	force := fmt.Sprintf("csiglab clean --on kubernetes --force %s removes it", r.Run)
	switch {
	case !r.Lives, how.Force && (named || !r.Here):
		return ""
	case !r.Here:
		return r.holder() + "; " + force
	case how.All:
		return ""
	}
	return r.holder() + "; end it first, or " + force
}
