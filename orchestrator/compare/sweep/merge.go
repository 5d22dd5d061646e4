package sweep

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
)

// ErrUnlike: under a clock with which equal runs are equal packet by packet, a trial that two
// folders have is not. One of the machines, or a file of one of the folders, is at fault.
var ErrUnlike = errors.New("a trial that two folders have differs")

// Merge makes the folder of a whole sweep from those of shards, and of parts of the same
// sweep that were interrupted. The folder is new or empty. The error wraps
// trial.ErrOtherPlan, with a text that says what differs, if they are not of one sweep. What
// the shards lack can be done afterwards. It wraps ErrUnlike if two shards have a trial with
// different traces. The caller ends with Close.
func Merge(folder string, shards []string) (*Sweep, error) {
	plans := make([]*Plan, len(shards))
	for i, shard := range shards {
		p, err := readPlan(shard)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s: %w: it has no %s", shard, ErrNoSweep, planFile)
		}
		if err != nil {
			return nil, err
		}
		if plans[i] = p; p.Digest != plans[0].Digest {
			return nil, fmt.Errorf("%s and %s: %w: %s", shards[0], shard, trial.ErrOtherPlan, difference(plans[0], p))
		}
	}
	if _, err := readPlan(folder); err == nil {
		return nil, fmt.Errorf("%s: %w; name another one", folder, ErrNotEmpty)
	}
	whole := *plans[0]
	whole.Shard = Shard{}
	s, err := Create(folder, &whole)
	if err != nil {
		return nil, err
	}
	for i, shard := range shards {
		if err := s.take(plans[i], shard); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// take adds the trials of another folder. If both have one, the numbers of one that counts
// stay.
func (s *Sweep) take(p *Plan, folder string) error {
	j, err := trial.ReadJournal(folder)
	if err != nil {
		return err
	}
	defer j.Close() // opened for reading
	if plan := j.Plan(); plan != p.Digest && j.Len() > 0 {
		return fmt.Errorf("%s: %w: its journal is of another plan than its %s", folder, trial.ErrOtherPlan, planFile)
	}
	return s.journal.Batch(func(add func(trial.Trial, trial.Outcome) error) error {
		for i := range p.Trials() {
			out, ok, err := j.Get(p.trial(i))
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			own := s.Plan.trial(i)
			old, ok, err := s.journal.Get(own)
			if err != nil {
				return err
			}
			if ok && p.Way().Has(runtimes.Repeatable) && old.Counts() && out.Counts() && old.TraceHash != out.TraceHash {
				return fmt.Errorf("%s: %w: seed %d of variant %q at point (%s) has trace %s, and %s elsewhere", folder, ErrUnlike, own.Seed, own.Variant, words(own.Set), out.TraceHash, old.TraceHash)
			}
			if !ok || !old.Counts() && out.Counts() {
				if err := add(own, out); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// difference says what differs between two plans.
func difference(a, b *Plan) string {
	switch {
	case a.Name != b.Name:
		return fmt.Sprintf("experiments %s and %s", a.Name, b.Name)
	case a.Content != b.Content:
		return "the experiment's file, or one that it reads, differs"
	case a.Identity != b.Identity:
		return fmt.Sprintf("other programs, csiglab %s and %s; build one and copy it", a.Version, b.Version)
	case len(a.Points) != len(b.Points):
		return fmt.Sprintf("%d and %d points", len(a.Points), len(b.Points))
	case len(a.Variants) != len(b.Variants) || len(a.Seeds) != len(b.Seeds):
		return fmt.Sprintf("%d and %d variants, %d and %d seeds", len(a.Variants), len(b.Variants), len(a.Seeds), len(b.Seeds))
	}
	return "other points, values, variants or seeds"
}
