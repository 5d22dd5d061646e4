package sweep

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
)

// Work says how trials are performed.
type Work struct {
	Runner      trial.Runner // elsewhere; nil: this machine
	Parallel    int          // trials at once; 0, on this machine: one per core, or one where they would change each other
	Keep        bool         // the run folders of this machine
	Environment []string     // of the processes
	Say         func(text string)
	// View begins to show how far the trials are, and returns what ends that.
	View func() (update func(Progress), end func())
}

// Words are those of messages about a sweep.
type Words struct {
	Head  string // what is run
	Noun  string // of a trial
	Whole string // what is incomplete when it ends early
	Rest  string // where the trials are kept, and what does the rest
}

// words returns the words of a sweep of its own.
func (s *Sweep) words() Words {
	p := s.Plan
	head := fmt.Sprintf("%s: %s x %s x %s", p.Name, spelling.Plural(len(p.Points), "point"), spelling.Plural(len(p.Variants), "variant"), spelling.Plural(len(p.Seeds), "seed"))
	if shard := p.Shard.String(); shard != "" {
		head += ", shard " + shard
	}
	for _, v := range p.Variants {
		if len(p.Points) > 1 && !slices.ContainsFunc(p.Points[1:], func(pt Point) bool { return !pt.sameAsFirst(v) }) {
			head += fmt.Sprintf("; variant %s is the same at all points and runs once with each seed", v)
		}
	}
	return Words{Head: head, Noun: "trial", Whole: "the sweep", Rest: fmt.Sprintf(" in %s; csiglab sweep --resume %[1]s does the rest", s.Folder)}
}

// Perform performs the trials that the folder lacks. Its error says how to go on.
func (s *Sweep) Perform(ctx context.Context, w Work) error { return s.PerformAs(ctx, w, s.words()) }

// PerformAs is as Perform, for what is made of a sweep and has other words.
func (s *Sweep) PerformAs(ctx context.Context, w Work, words Words) error {
	done, total := s.Done()
	rest := ""
	if done > 0 {
		rest = fmt.Sprintf("; %d have ended already", done)
	}
	w.Say(fmt.Sprintf("%s: %s%s", words.Head, spelling.Plural(total, words.Noun), rest))
	if w.Runner == nil {
		local := &trial.Local{Folder: s.Work(), Environment: w.Environment, Together: s.Plan.Way().Has(runtimes.SideBySide)}
		if w.Keep {
			local.Folder, local.Keep = s.Runs(), true
		}
		w.Runner, w.Parallel = local, atOnce(w.Parallel, s.Plan.Way())
	}
	update, end := w.View()
	err := s.Run(ctx, w.Runner, w.Parallel, update)
	end()
	if err == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	done, total = s.Done()
	return fmt.Errorf("%w\n%s is incomplete: %d of %s have ended and are kept%s", err, words.Whole, done, spelling.Plural(total, words.Noun), words.Rest)
}

// atOnce returns how many runs on this machine go on at a time: those asked for, without a number
// one per core, or one where they would change each other.
func atOnce(asked int, w runtimes.Way) int {
	switch {
	case asked > 0:
		return asked
	case w.Has(runtimes.SideBySide):
		return runtime.NumCPU()
	}
	return 1
}

// CheckProgram refuses to go on with a sweep of another program.
func (s *Sweep) CheckProgram(identity, version string) error {
	if identity == s.Plan.Identity {
		return nil
	}
	return failure.Configuration(fmt.Errorf("%s: the sweep was begun with another program, csiglab %s, and this is %s; one table has the numbers of one program", s.Folder, s.Plan.Version, version))
}

// Ended returns how to go on where a sweep is not whole, and nil otherwise.
func (s *Summary) Ended() error {
	if s.Done == s.Trials {
		return nil
	}
	return failure.Infrastructure(fmt.Errorf("%s is incomplete: %d of %s are missing; csiglab sweep --resume %s does them", s.Folder, s.Trials-s.Done, spelling.Plural(s.Trials, "trial"), s.Folder))
}
