package experiments

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/perform"
	"github.com/csiglab/csiglab/cmd/cli/settings"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/run/campaign"
)

// withResume are the flags of run that go with --resume. All others say what a new run
// is to be.
var withResume = []string{"resume", "parallel", "json", "force", trial.NoReportFlag, "help"}

// checkResume refuses what would change the experiment of a folder that is resumed.
func checkResume(a *command.App, cmd *cobra.Command, folder string, args []string) (err error) {
	if folder == "" {
		return command.Usage("--resume: name the folder of a run")
	}
	if len(args) > 0 {
		return command.Usage("experiment %q and --resume %s exclude each other: a run that is resumed has the experiment of its folder", args[0], folder)
	}
	if err := dropSettings(a, cmd); err != nil {
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
			err = command.Usage("%s and --resume %s exclude each other: a run that is resumed goes on as it was begun", from, folder)
		}
	})
	for _, pair := range a.Env {
		name, _, _ := strings.Cut(pair, "=")
		if err == nil && strings.HasPrefix(name, "CSIGLAB_") && !slices.Contains(command.Reserved(), name) {
			err = command.Usage("environment variable %s and --resume %s exclude each other: a run that is resumed goes on as it was begun", name, folder)
		}
	}
	return err
}

// resume does the runs that a folder lacks, and prints the results of all.
func resume(a *command.App, cmd *cobra.Command, folder string, r *perform.Flags, args []string) error {
	if err := checkResume(a, cmd, folder, args); err != nil {
		return err
	}
	if err := r.CheckParallel(cmd); err != nil {
		return err
	}
	return perform.Show(cmd.Context(), a, r, func() (*campaign.Result, error) {
		return campaign.Resume(cmd.Context(), folder, r.Options)
	})
}

// dropSettings takes a person's settings from the flags of a run that is resumed: it goes on
// as it was begun.
func dropSettings(a *command.App, cmd *cobra.Command) error {
	for _, s := range settings.All() {
		f := command.OfSetting(cmd, s.Flag)
		if f == nil || !a.Wish(f) || slices.Contains(withResume, s.Flag) {
			continue
		}
		if err := f.Value.Set(f.DefValue); err != nil {
			return command.Usage("--%s: %w", s.Flag, err)
		}
	}
	return nil
}
