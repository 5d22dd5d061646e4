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
	var mu sync.Mutex // of next, and of calls of done
	next, ended := 0, 0
	take := func() (i int, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		if next == len(first) || ctx.Err() != nil {
			return 0, false
		}
		next++
		return first[next-1], true
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
	for range max(1, min(parallel, len(first))) {
		workers.Go(func() {
			r, end := inTurn(r)
			defer end()
			for i, ok := take(); ok; i, ok = take() {
				out, kept, err := one(ctx, r, j, trials[i])
				if err != nil {
					stop(err)
					return
				}
				tell(i, out, kept)
			}
		})
	}
	workers.Wait()
	if ended == len(first) {
		return nil
	}
	return context.Cause(ctx)
}

// inTurn returns a runner of trials one after the other, and what ends it.
func inTurn(r Runner) (Runner, func()) {
	if t, ok := r.(InTurner); ok {
		return t.InTurn()
	}
	return r, func() {}
}

// one performs a trial if the journal lacks it.
func one(ctx context.Context, r Runner, j *Journal, t Trial) (out Outcome, kept bool, err error) {
	if j != nil {
		if out, kept, err = j.Get(t); err != nil || kept {
			return out, kept, err
		}
	}
	if out, err = r.Run(ctx, t); err == nil && j != nil {
		err = j.Add(t, out)
	}
	return out, false, err
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
