package trial

import (
	"context"
	"sync"
)

// All performs trials and returns their outcomes, in the order of the trials. What the
// journal has is not run again; j may be nil. Trials begin in their order, as many at once
// as parallel says, at least one. progress is called when a trial has ended, with the number
// of those that have, never twice at once; it may be nil. The error is the first of the
// runner or the journal, or the context's; then no further trial begins, and All returns when
// those under way have ended.
func All(ctx context.Context, r Runner, j *Journal, trials []Trial, parallel int, progress func(done, total int)) ([]Outcome, error) {
	outcomes := make([]Outcome, len(trials))
	ended := 0
	err := Each(ctx, r, j, trials, parallel, func(d Done) {
		outcomes[d.Index] = d.Outcome
		if ended++; progress != nil {
			progress(ended, len(trials))
		}
	})
	if err != nil {
		return nil, err
	}
	return outcomes, nil
}

// Done is a trial that has ended.
type Done struct {
	Index   int // in the list of trials
	Trial   Trial
	Outcome Outcome
	Kept    bool // the journal had it, or an earlier trial of the list is the same
}

// Each is as All, and hands each outcome to done instead of keeping it, in the order in which
// trials end. Calls of done do not overlap.
func Each(ctx context.Context, r Runner, j *Journal, trials []Trial, parallel int, done func(Done)) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	first, same := distinct(trials)
	groups := grouped(r, trials, first, parallel)
	var mu sync.Mutex // of next, and of calls of done
	next, ended := 0, 0
	take := func() ([]int, bool) {
		mu.Lock()
		defer mu.Unlock()
		if next == len(groups) || ctx.Err() != nil {
			return nil, false
		}
		next++
		return groups[next-1], true
	}
	tell := func(i int, out Outcome, kept bool) {
		mu.Lock()
		defer mu.Unlock()
		ended++
		done(Done{i, trials[i], out, kept})
		for _, k := range same[i] {
			done(Done{k, trials[k], out, true})
		}
	}
	var workers sync.WaitGroup
	for range max(1, min(parallel, len(groups))) {
		workers.Go(func() {
			for group, ok := take(); ok; group, ok = take() {
				if err := several(ctx, r, j, trials, group, tell); err != nil {
					stop(err)
					return
				}
			}
		})
	}
	workers.Wait()
	if ended == len(first) {
		return nil
	}
	return context.Cause(ctx)
}

// grouped returns the indexes of trials in groups that a process may share: neighbours that
// differ in their seeds alone. Every worker has several groups, so that none waits long for the
// last one.
func grouped(r Runner, trials []Trial, first []int, parallel int) (groups [][]int) {
	most := 1
	if s, ok := r.(Sharer); ok && s.Shares() {
		const groupsOfWorker, mostSeeds = 4, 8
		most = max(1, min(mostSeeds, len(first)/(groupsOfWorker*max(1, parallel))))
	}
	var before [16]byte // of the last trial, but for its seed
	for _, i := range first {
		var bare [16]byte
		if most > 1 {
			t := trials[i]
			t.Seed = 0
			bare = t.Key()
		}
		if last := len(groups) - 1; last >= 0 && len(groups[last]) < most && bare == before {
			groups[last] = append(groups[last], i)
		} else {
			groups = append(groups, []int{i})
		}
		before = bare
	}
	return groups
}

// several performs the trials of a group that the journal lacks.
func several(ctx context.Context, r Runner, j *Journal, trials []Trial, group []int, tell func(i int, out Outcome, kept bool)) error {
	var rest []int
	for _, i := range group {
		if j != nil {
			out, kept, err := j.Get(trials[i])
			if err != nil {
				return err
			}
			if kept {
				tell(i, out, true)
				continue
			}
		}
		rest = append(rest, i)
	}
	if len(rest) == 0 {
		return nil
	}
	list := make([]Trial, len(rest))
	for k, i := range rest {
		list[k] = trials[i]
	}
	outcomes, err := runAll(ctx, r, list)
	if err != nil {
		return err
	}
	for k, i := range rest {
		if j != nil {
			if err := j.Add(trials[i], outcomes[k]); err != nil {
				return err
			}
		}
		tell(i, outcomes[k], false)
	}
	return nil
}

// runAll performs trials, which differ in their seeds alone if there are several.
func runAll(ctx context.Context, r Runner, list []Trial) (outcomes []Outcome, err error) {
	if s, ok := r.(Sharer); ok && len(list) > 1 {
		return s.RunSeeds(ctx, list)
	}
	return oneByOne(ctx, r, list)
}

// oneByOne performs trials, each by itself.
func oneByOne(ctx context.Context, r Runner, list []Trial) (outcomes []Outcome, err error) {
	for _, t := range list {
		out, err := r.Run(ctx, t)
		if err != nil {
			return nil, err
		}
		outcomes = append(outcomes, out)
	}
	return outcomes, nil
}

// distinct returns the indexes of the trials that are not the same as an earlier one, and
// those of the same ones by the first of them.
func distinct(trials []Trial) (first []int, same map[int][]int) {
	index := make(map[[16]byte]int, len(trials))
	same = map[int][]int{}
	for i, t := range trials {
		key := t.Key()
		if k, ok := index[key]; ok {
			same[k] = append(same[k], i)
			continue
		}
		index[key] = i
		first = append(first, i)
	}
	return first, same
}
