package labs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/choose"
	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/orchestrator/programs"
	"github.com/csiglab/csiglab/orchestrator/programs/builder"
)

// temporaryLeft removes the temporary folders that killed commands of this user have left,
// and says in words what it has removed.
func temporaryLeft() (removed []string, err error) {
	servers, err1 := own.RemoveLeft("", own.ServerFolders)
	for _, folder := range servers {
		removed = append(removed, "the folder of a server that was killed: "+folder)
	}
	builds, err2 := builder.RemoveLeft()
	others, err3 := own.RemoveLeft("", own.Scratch)
	for _, folder := range append(builds, others...) {
		removed = append(removed, "the temporary folder of a command that was killed: "+folder)
	}
	return removed, errors.Join(err1, err2, err3)
}

func cleanCommand(a *command.App) *cobra.Command {
	var how runs.Cleaner
	var w command.Where
	cmd := command.AsksEngine(&cobra.Command{
		Use:   "clean [LAB]",
		Short: "Remove what labs and runs left behind when they were killed; folders stay",
		Long: "Remove what runs left behind when they were killed: processes, network namespaces, containers and state.\n" +
			"The run's folder stays. LAB is an id, the beginning of one, or an experiment's name. Runs that are still\n" +
			"under way are left alone; --all ends those of this user too. Foreign runs, of another csiglab on the same\n" +
			"Docker engine, are removed only with --force. --force LAB removes that run, whatever its state.\n\n" +
			"With --on, remove what runs left in a namespace of a Kubernetes cluster instead: Jobs, pods, ConfigMaps and\n" +
			"Secrets. There LAB is an id, and foreign runs are those of other machines.",
		Example: "  csiglab clean\n" +
			"  csiglab clean --on kubernetes",
		Args:              command.AtMostOne("one run"),
		ValidArgsFunction: choose.CompleteLabs(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			id := ""
			if len(args) == 1 {
				if how.All {
					return command.Usage("run %q and --all exclude each other", args[0])
				}
				id = args[0]
			}
			if err := w.Only(cmd.Flags(), []string{"namespace"}, nil); err != nil {
				return err
			}
			if cmd.Flags().Changed("on") {
				return cleanCluster(cmd.Context(), a, command.CleanRequest{ClusterPlace: a.Place(&w), Which: id, All: how.All, Force: how.Force})
			}
			if inContainers, err := a.InContainers(cmd.Context()); err != nil {
				return command.Infrastructure(err)
			} else if inContainers && a.Work.Become != nil { // what is left of these runs must not be forgotten
				if err := a.Lacks(programs.Lab); err != nil {
					return err
				}
			}
			how.Say = a.Say
			removed, err := a.Work.Clean(cmd.Context(), id, how)
			if id == "" && err == nil {
				var folders []string
				folders, err = temporaryLeft()
				removed = append(removed, folders...)
			}
			var text strings.Builder
			for _, what := range removed {
				fmt.Fprintln(&text, "removed", what)
			}
			if err == nil && len(removed) == 0 {
				fmt.Fprintln(&text, "nothing to remove")
			}
			printed := a.Print(text.String())
			if err != nil {
				return choose.LabError(err)
			}
			return printed
		},
	})
	cmd.Flags().BoolVar(&how.All, "all", false, "every run of this user, also those under way")
	w.Flags(cmd, "clean")
	cmd.Flags().BoolVar(&how.Force, "force", false, "foreign runs too, or LAB whatever its state")
	return cmd
}

// cleanCluster removes what runs have left in a cluster.
func cleanCluster(ctx context.Context, a *command.App, r command.CleanRequest) error {
	r.Say = a.Say
	namespace, removed, err := a.Linked.Cluster.Clean(ctx, r)
	var text strings.Builder
	for _, what := range removed {
		fmt.Fprintln(&text, "removed", what)
	}
	if err == nil && len(removed) == 0 {
		fmt.Fprintf(&text, "nothing to remove in namespace %s\n", namespace)
	}
	printed := a.Print(text.String())
	if err != nil {
		return command.ClusterFailure(err)
	}
	return printed
}
