package runs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Finder finds and removes the processes and containers of runs on this machine, by
// the id that they carry.
type Finder interface {
	// Find adds to each run of the list its processes or containers. It may append
	// runs that are not on the list; they are dead.
	Find(ctx context.Context, runs []Run) ([]Run, error)
	// Remove removes the processes or containers of a run, of any backend, and
	// returns in words what it removed. It may be repeated.
	Remove(ctx context.Context, r Run) (removed []string, err error)
}

// List returns this user's runs, the oldest first: those under way, and those
// whose holder is gone.
func List(ctx context.Context, finders ...Finder) ([]Run, error) {
	if err := checkFolder(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	files, err := filepath.Glob(filepath.Join(folder(), "*.json"))
	if err != nil {
		return nil, err
	}
	var runs []Run
	for _, file := range files {
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var r Run
		if err == nil {
			err = json.Unmarshal(text, &r)
		}
		if err != nil {
			return nil, fmt.Errorf("list runs: %s: %w", file, err)
		}
		runs = append(runs, r)
	}
	for _, b := range finders {
		if runs, err = b.Find(ctx, runs); err != nil {
			return nil, fmt.Errorf("list runs: %w", err)
		}
	}
	for i := range runs {
		switch r := &runs[i]; {
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

// Clean removes the remains of the runs whose holder is gone: of all of them or, if
// which is not empty, of the one with that id or name. It finds remains by the run's
// id, needs no file of an experiment and may be repeated; an unknown run is not an
// error. It returns in words what it removed. If all is set, it first ends runs whose
// holder lives. Otherwise it does not touch them, and returns an error if which names
// one.
func Clean(ctx context.Context, which string, all bool, finders ...Finder) (removed []string, err error) {
	runs, err := List(ctx, finders...)
	if err != nil {
		return nil, err
	}
	if which != "" {
		chosen, err := Find(runs, which)
		var unknown *UnknownError
		switch {
		case errors.As(err, &unknown):
			return nil, nil
		case err != nil:
			return nil, err
		case chosen.State != Dead && !all:
			return nil, fmt.Errorf("run %s is under way (process %d); end it first, or clean --all", chosen.ID, chosen.PID)
		}
		runs = []Run{chosen}
	}
	for _, r := range runs {
		if r.State != Dead && !all {
			continue
		}
		more, err := clean(ctx, r, finders)
		removed = append(removed, more...)
		if err != nil {
			return removed, fmt.Errorf("clean run %s: %w", r.ID, err)
		}
	}
	return removed, nil
}

// clean ends the holder of a run, if it lives, and removes the run's remains.
func clean(ctx context.Context, r Run, finders []Finder) (removed []string, err error) {
	if r.State != Dead {
		if err := r.end(ctx); err != nil {
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
	if _, err := os.Stat(file(r.ID)); errors.Is(err, fs.ErrNotExist) {
		return removed, nil
	}
	if err := forget(r.ID); err != nil {
		return removed, err
	}
	return append(removed, "the entry of run "+r.ID), nil
}

// endTime is how long a holder may take to end before it is killed. To remove the
// containers of a large fabric takes that long.
const endTime = 20 * time.Second

// end ends the holder of a run. It signals through a pidfd, so that no other process
// that has got the same PID meanwhile is hit.
func (r *Run) end(ctx context.Context) error {
	if r.PID == os.Getpid() {
		return errors.New("it is this process's own")
	}
	p, err := os.FindProcess(r.PID)
	if err != nil {
		return nil // gone
	}
	defer p.Release()
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if !r.alive() {
			return nil
		}
		if !r.visible() {
			return fmt.Errorf("process %d, which holds it, is not visible from here", r.PID)
		}
		if err := p.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("end process %d: %w", r.PID, err)
		}
		for deadline := time.Now().Add(endTime); r.alive() && time.Now().Before(deadline); {
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

// up reports whether a lab can be asked to end. It can once all its nodes run.
func (r *Run) up() bool {
	_, err := os.Stat(socket(r.ID))
	return err == nil
}

// alive reports whether the holder of a run lives. A program of a run does not see the
// holder's process and learns it from the lock.
func (r *Run) alive() bool { return r.visible() || r.Ticks != 0 && locked(r.ID) }

// visible reports whether this process sees the holder's process, which then lives.
func (r *Run) visible() bool { return r.Ticks != 0 && ticksOf(r.PID) == r.Ticks }

// ticksOf returns when a process started, in ticks since boot (proc(5), fields 3 and
// 22). It returns 0 when the process is gone or a zombie.
func ticksOf(pid int) uint64 {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const state, start = 0, 19 // fields before the name's end are cut off
	if len(fields) <= start || fields[state] == "Z" || fields[state] == "X" {
		return 0
	}
	ticks, err := strconv.ParseUint(fields[start], 10, 64)
	if err != nil {
		return 0
	}
	return ticks
}
