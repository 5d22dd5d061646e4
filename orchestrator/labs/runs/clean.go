package runs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"time"
)

// Cleaner removes the remains of runs. The zero value removes those of dead runs.
type Cleaner struct {
	// All ends runs of this user whose holder lives. It does not touch a foreign run.
	All bool
	// Force removes foreign runs too, and the run that Clean names whatever its state.
	// Holders may take a few seconds to end.
	Force bool
	// Say receives what Clean leaves alone and what it waits for; may be nil.
	Say func(text string)
}

// Clean is Cleaner.Clean without Force.
func Clean(ctx context.Context, which string, all bool, finders ...Finder) (removed []string, err error) {
	return Cleaner{All: all}.Clean(ctx, which, finders...)
}

// Clean removes the remains of the runs whose holder is gone, and damaged entries: of all
// of them or, if which is not empty, of the one with that id or name. It finds remains by
// the run's id, needs no file of an experiment and may be repeated; an unknown run is not
// an error. It returns in words what it removed. It returns an error if which names a run
// whose holder lives, or a foreign run, unless All or Force permits to end it.
func (c Cleaner) Clean(ctx context.Context, which string, finders ...Finder) (removed []string, err error) {
	list, err := List(ctx, finders...)
	if err != nil {
		return nil, err
	}
	damaged, err := ListDamaged()
	if err != nil {
		return nil, err
	}
	if which != "" {
		chosen, err := Find(list, which)
		damaged = slices.DeleteFunc(damaged, func(d Damaged) bool { return d.ID != which })
		var unknown *UnknownError
		switch {
		case errors.As(err, &unknown):
			list = nil
		case err != nil:
			return nil, err
		default:
			if err := c.permits(&chosen, true); err != nil {
				return nil, err
			}
			list = []Run{chosen}
		}
	}
	var errs []error
	for _, r := range list {
		if which == "" && c.permits(&r, false) != nil {
			if r.State == Foreign {
				c.say("left alone: run %s of another csiglab, since %s; csiglab clean --force %s removes it", r.ID, r.Started.Format(time.DateTime), r.ID)
			}
			continue
		}
		more, err := c.clean(ctx, r, finders)
		removed = append(removed, more...)
		if err != nil {
			errs = append(errs, fmt.Errorf("clean run %s: %w", r.ID, err))
		}
		if ctx.Err() != nil {
			return removed, errors.Join(errs...)
		}
	}
	for _, d := range damaged {
		more, err := c.cleanDamaged(ctx, d, finders)
		removed, errs = append(removed, more...), append(errs, err)
	}
	more, err := tidy()
	return append(removed, more...), errors.Join(append(errs, err)...)
}

func (c Cleaner) say(format string, args ...any) {
	if c.Say != nil {
		c.Say(fmt.Sprintf(format, args...))
	}
}

// permits returns an error if a run is not to be removed. named says whether the user has
// named the run.
func (c Cleaner) permits(r *Run, named bool) error {
	switch {
	case r.State == Dead || c.Force && (r.State == Foreign || named):
		return nil
	case r.State == Foreign:
		return fmt.Errorf("run %s is of another csiglab and may be under way; csiglab clean --force %s removes it", r.ID, r.ID)
	case c.All:
		return nil
	}
	return fmt.Errorf("run %s is under way (process %d); end it first, or clean --all", r.ID, r.PID)
}

// clean ends the holder of a run, if it lives, and removes the run's remains.
func (c Cleaner) clean(ctx context.Context, r Run, finders []Finder) (removed []string, err error) {
	if r.PID != 0 && r.alive() { // 0: not known, of a damaged entry
		if err := c.end(ctx, &r); err != nil {
			return nil, err
		}
		removed = append(removed, fmt.Sprintf("run %s, which was under way", r.ID))
	}
	for _, b := range finders {
		more, err := b.Remove(ctx, r)
		removed = append(removed, more...)
		if err != nil {
			return removed, err
		}
	}
	RemoveMetricsFolder(r.NodeFolder)
	if _, err := os.Lstat(file(r.ID)); errors.Is(err, fs.ErrNotExist) {
		return removed, nil
	}
	if err := forget(r.ID); err != nil {
		return removed, err
	}
	return append(removed, "the entry of run "+r.ID), nil
}

// cleanDamaged removes a damaged entry. The entry does not say whether its run is under
// way; the run's lock and the processes that carry its id do.
func (c Cleaner) cleanDamaged(ctx context.Context, d Damaged, finders []Finder) (removed []string, err error) {
	if n := len(Processes()[d.ID]); !c.Force && (n > 0 || lockedLife(d.ID) == Lives) {
		return nil, fmt.Errorf("entry %w; its run is under way, with %d processes; csiglab clean --force %s ends it", d, n, d.ID)
	}
	if c.Force && isID(d.ID) {
		killed, err := Kill(d.ID)
		if err == nil {
			removed, err = c.clean(ctx, Run{ID: d.ID}, finders)
		}
		if removed = append(killed, removed...); err != nil {
			return removed, fmt.Errorf("clean run %s: %w", d.ID, err)
		}
		return removed, nil
	}
	if err := forget(d.ID); err != nil {
		return nil, err
	}
	return []string{"the damaged entry " + d.File}, nil
}

// Times in which a holder ends.
const (
	// endTime is how long a holder may take to end before it is killed. To remove the
	// containers of a large fabric takes that long.
	endTime = 20 * time.Second
	// forcedTime is the same with Force.
	forcedTime = 3 * time.Second
	// sayAfter is after how long the user is told what csiglab waits for.
	sayAfter = 3 * time.Second
)

// end ends the holder of a run. It signals through a pidfd, so that no other process
// that has got the same PID meanwhile is hit. A holder that is stopped cannot end in
// order, and is killed at once.
func (c Cleaner) end(ctx context.Context, r *Run) error {
	if r.PID == os.Getpid() {
		return errors.New("it is this process's own")
	}
	if r.owner().Life() == LifeUnknown {
		return fmt.Errorf("process %d, which holds it, is not visible from here", r.PID)
	}
	p, err := os.FindProcess(r.PID)
	if err != nil {
		return nil // gone
	}
	defer p.Release()
	patience := endTime
	if c.Force {
		patience = forcedTime
	}
	said := time.Now().Add(sayAfter)
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if !r.alive() {
			return nil
		}
		if err := p.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("end process %d: %w", r.PID, err)
		}
		for deadline := time.Now().Add(patience); r.alive() && time.Now().Before(deadline); {
			if s == syscall.SIGTERM && Stopped(r.PID) {
				break
			}
			if now := time.Now(); now.After(said) {
				c.say("run %s: waiting for its process %d to end, at most %v more", r.ID, r.PID, time.Until(deadline).Round(time.Second))
				said = now.Add(time.Hour)
			}
			select {
			case <-time.After(10 * time.Millisecond):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
	if r.alive() {
		return fmt.Errorf("process %d does not end", r.PID)
	}
	return nil
}
