package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/run/campaign"
)

// withResume are the flags of run that go with --resume. All others say what a new run
// is to be.
var withResume = []string{"resume", "parallel", "json", "force", trial.NoReportFlag, "help"}

// checkResume refuses what would change the experiment of a folder that is resumed.
func (a *app) checkResume(cmd *cobra.Command, folder string, args []string) (err error) {
	if folder == "" {
		return usage("--resume: name the folder of a run")
	}
	if len(args) > 0 {
		return usage("experiment %q and --resume %s exclude each other: a run that is resumed has the experiment of its folder", args[0], folder)
	}
	if err := a.dropSettings(cmd); err != nil {
		return err
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		// A variable of the environment sets a flag that is not changed on the command line.
		list, isList := f.Value.(pflag.SliceValue)
		set := f.Value.String() != f.DefValue && (!isList || len(list.GetSlice()) > 0)
		if err == nil && (f.Changed || set) && !slices.Contains(withResume, f.Name) {
			from := "--" + f.Name
			if !f.Changed {
				from = "environment variable CSIGLAB_" + strings.ToUpper(f.Name)
			}
			err = usage("%s and --resume %s exclude each other: a run that is resumed goes on as it was begun", from, folder)
		}
	})
	for _, pair := range a.env {
		name, _, _ := strings.Cut(pair, "=")
		if err == nil && strings.HasPrefix(name, "CSIGLAB_") && !slices.Contains(reserved(), name) {
			err = usage("environment variable %s and --resume %s exclude each other: a run that is resumed goes on as it was begun", name, folder)
		}
	}
	return err
}

// resume does the runs that a folder lacks, and prints the results of all.
func (a *app) resume(cmd *cobra.Command, folder string, r *runFlags, args []string) error {
	if err := a.checkResume(cmd, folder, args); err != nil {
		return err
	}
	if err := r.checkParallel(cmd); err != nil {
		return err
	}
	return a.show(cmd.Context(), r, func() (*campaign.Result, error) {
		return a.lab.resume(cmd.Context(), folder, r.options)
	})
}
