// Command mutants measures what the tests of csiglab notice. It applies each edit of
// edits.yaml, a small change that makes the program wrong, to a copy of the checkout, builds
// the copy, and asks the unit tests, the suite standard and the self-test whether they fail.
// It is a tool for this checkout: nothing of it is in csiglab. docs/explanation/mutants.md has its results.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// options are those of the command line.
type options struct {
	work, only, ask, shard string
	table                  bool
}

func run(ctx context.Context, args []string) error {
	var o options
	f := flag.NewFlagSet("mutants", flag.ContinueOnError)
	f.StringVar(&o.work, "work", filepath.Join(os.TempDir(), "csiglab-mutants"), "folder of the copy, the programs and the results; a later call with the same folder goes on")
	f.StringVar(&o.only, "only", "", "names of edits, separated by commas")
	f.StringVar(&o.ask, "ask", strings.Join(askers, ","), "who is asked about each edit")
	f.StringVar(&o.shard, "shard", "", "I/N: every Nth edit, from the Ith of 1 to N")
	f.BoolVar(&o.table, "table", false, "run nothing; print the table of the results so far, as Markdown")
	if err := f.Parse(args); err != nil {
		return err
	}
	all, err := edits()
	if err != nil {
		return err
	}
	chosen, err := choose(all, o.only, o.shard)
	if err != nil {
		return err
	}
	for _, name := range strings.Split(o.ask, ",") {
		if !slices.Contains(askers, name) {
			return fmt.Errorf("--ask: %q is not one of %s", name, strings.Join(askers, ", "))
		}
	}
	b, err := openBench(o.work)
	if err != nil {
		return err
	}
	if o.table {
		fmt.Print(table(chosen, b.results))
		return nil
	}
	if err := b.prepare(ctx); err != nil {
		return err
	}
	for i := range chosen {
		for _, name := range strings.Split(o.ask, ",") {
			if err := b.ask(ctx, &chosen[i], name); err != nil {
				return err
			}
		}
	}
	fmt.Print(table(chosen, b.results))
	return nil
}

// choose returns the edits that --only and --shard name.
func choose(all []Edit, only, shard string) ([]Edit, error) {
	if only != "" {
		names := strings.Split(only, ",")
		for _, name := range names {
			if !slices.ContainsFunc(all, func(e Edit) bool { return e.Name == name }) {
				return nil, fmt.Errorf("--only: there is no edit %q", name)
			}
		}
		all = slices.DeleteFunc(all, func(e Edit) bool { return !slices.Contains(names, e.Name) })
	}
	if shard == "" {
		return all, nil
	}
	var at, of int
	if _, err := fmt.Sscanf(shard, "%d/%d", &at, &of); err != nil || at < 1 || at > of {
		return nil, fmt.Errorf("--shard: %q is not I/N with I from 1 to N", shard)
	}
	var part []Edit
	for i := at - 1; i < len(all); i += of {
		part = append(part, all[i])
	}
	return part, nil
}
