package regress

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
)

// document returns the verdict of all cells.
func (c *Campaign) document() *verdict.Document {
	c.correct()
	d := &verdict.Document{
		Schema: verdict.Schema, Suite: c.Suite.Name, Version: c.Version, Command: c.Command, Machine: c.Machine, Started: c.Started,
		Baseline: c.Baseline.Side, Candidate: c.Candidate.Side,
		Design:      verdict.Design{Confidence: c.Suite.Confidence, FalseFail: c.Suite.FalseFail, Metrics: c.metrics()},
		Strict:      c.Strict,
		Experiments: []verdict.Experiment{},
		Notes:       c.notes(),
	}
	var outcomes []verdict.Outcome
	for _, one := range c.cells {
		one.result.Reproduce = c.reproduce(one)
		one.result.File = c.fileOf(one)
		d.Experiments = append(d.Experiments, one.result)
		d.Counts.Add(one.result.Change)
		outcomes = append(outcomes, one.result.Outcome)
	}
	d.Outcome = verdict.Of(outcomes...)
	return d
}

// fileOf returns the experiment's file, "" for embedded ones.
func (c *Campaign) fileOf(one *cell) string {
	for i, s := range c.sides() {
		if _, embedded := c.texts[one.file[i]]; s.Stored == nil && !embedded {
			return one.file[i]
		}
	}
	return ""
}

// notes are what a reader should know of the whole.
func (c *Campaign) notes() (notes []string) {
	if b, s := &c.Baseline, &c.Candidate; b.Stored == nil && b.Identity == s.Identity && b.Experiment == s.Experiment && slices.Equal(b.Set, s.Set) {
		notes = append(notes, "baseline and candidate are the same program with the same experiments; this compares it with itself")
	}
	for _, one := range c.cells {
		if one.note != "" {
			notes = append(notes, one.note)
		}
	}
	notes = append(append(append(notes, c.Baseline.Notes...), c.Candidate.Notes...), c.unbuilt()...)
	return append(notes, c.Unfit()...)
}

// Unfit says which metrics have too few seeds to pass or to fail by statistics.
func (c *Campaign) Unfit() (notes []string) {
	for _, one := range c.cells {
		if one.result.Identical || len(one.result.Reasons) > 0 {
			continue
		}
		most := one.looks[len(one.looks)-1]
		for i := range one.rules {
			if pass, fail := c.plan(one, &one.rules[i]).Fewest(); most < max(pass, fail) {
				notes = append(notes, fmt.Sprintf("%s: %d seeds are too few for %s, whatever its values are: to pass by statistics takes %d, to fail %d", one.name(), most, one.rules[i].Metric, pass, fail))
				break
			}
		}
	}
	return notes
}

// reproduce returns a command that compares the two sides in one cell alone.
func (c *Campaign) reproduce(one *cell) string {
	args := []string{"csiglab", "regress"}
	switch {
	case slices.Contains(c.Arguments, "--experiment"): // has no --only
		for i := 0; i < len(c.Arguments); i++ {
			if c.Arguments[i] == "--variant" {
				i++
				continue
			}
			args = append(args, c.Arguments[i])
		}
		if one.several {
			args = append(args, "--variant", one.variant)
		}
	case len(c.Suite.Entries) > 1 || len(c.Filter.Only) > 0 || len(c.cells) > 1:
		args = append(append(args, c.Arguments...), "--only", one.name())
	default:
		args = append(args, c.Arguments...)
	}
	for _, s := range c.sides() {
		args = append(args, s.Flags...)
	}
	if c.Filter.Seeds > 0 {
		args = append(args, "--seeds", strconv.Itoa(c.Filter.Seeds))
	}
	if c.Strict {
		args = append(args, "--strict")
	}
	for i, a := range args {
		args[i] = spelling.ShellWord(a)
	}
	return strings.Join(args, " ")
}

// summary says how a cell went, in a line.
func (c *cell) summary() string {
	outcome := c.outcome()
	text := string(outcome)
	switch {
	case outcome == verdict.Inconclusive:
		text = "undecided"
	case c.result.Identical && outcome == verdict.Pass:
		text += ", the runs are identical"
	case outcome == verdict.Pass && c.deterministic():
		text = "changed, but not worse,"
	}
	return fmt.Sprintf("%s: %s after %d seeds", c.name(), text, len(c.result.Seeds))
}
