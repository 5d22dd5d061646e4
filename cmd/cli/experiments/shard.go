package experiments

import (
	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/parts"
)

// shardCommand runs one part of a run: in a pod, or as a process that run --shards starts.
func shardCommand(a *command.App) *cobra.Command {
	var pod bool
	var digest string
	var options parts.Options
	cmd := &cobra.Command{
		Use:    parts.Command,
		Short:  "Run one part of a run, for run --shards",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if !pod {
				return command.Infrastructure(parts.ServeLocal(cmd.Context(), nil))
			}
			if options.Identity, err = trial.Identity(""); err != nil {
				return command.Infrastructure(err)
			}
			return command.Infrastructure(parts.ServePod(cmd.Context(), options, digest))
		},
	}
	f := cmd.Flags()
	f.BoolVar(&pod, "pod", false, "wait for csiglab on the port of shards")
	f.StringVar(&digest, "key-digest", "", "`SHA256` of the key that csiglab shows, with --pod")
	f.StringVar(&options.Listen, "listen", "", "`HOST:PORT` for other shards")
	f.StringVar(&options.Folder, "folder", "", "`DIR` for the files of the run")
	f.BoolVar(&options.Tunnels, "tunnels", false, "make tunnels for clock wall")
	return cmd
}
