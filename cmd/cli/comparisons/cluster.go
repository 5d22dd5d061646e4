package comparisons

import (
	"context"
	"fmt"
	"time"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/programs"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// clusterFlags are the flags of commands that run trials on a cluster.
type clusterFlags struct {
	command.Where
	image, results string
}

// clusterFlagNames are the names of the flags.
var clusterFlagNames = []string{"on", "namespace", "image", "results"}

func (c *clusterFlags) flags(cmd *cobra.Command) {
	c.Where.Flags(cmd, "run on")
	f := cmd.Flags()
	f.StringVar(&c.image, "image", "", "`REF` of the image of this csiglab, with --on; csiglab image push makes it")
	f.StringVar(&c.results, "results", "", "keep whole run folders in a `STORE`, with --on: pvc:NAME, or s3://BUCKET/PREFIX with the credentials of AWS_ACCESS_KEY_ID and so on")
}

// clusterRunner returns the runner of a cluster, nil without --on. Nothing is made there before the
// first trial. kind and name are those of the sweep or campaign. The caller ends with
// closeRunner.
func clusterRunner(ctx context.Context, a *command.App, f *pflag.FlagSet, c *clusterFlags, kind, name string, parallel int) (command.Runner, error) {
	if err := c.Only(f, clusterFlagNames[1:], nil); err != nil || !f.Changed("on") {
		return nil, err
	}
	if a.InFile("parallel") { // cores of this machine, and not pods
		parallel = 0
	}
	r, err := a.Linked.Cluster.Runner(ctx, command.RunnerRequest{ClusterPlace: a.Place(&c.Where), Image: c.image, Results: c.results, Kind: kind, Name: name, Parallel: parallel, Env: a.Env, Say: a.Say})
	if err != nil {
		return nil, command.ClusterFailure(err)
	}
	return r, nil
}

// removeTime bounds how long the removal of a Job may take.
const removeTime = 90 * time.Second

// closeRunner removes what a runner has made, also after Ctrl-C. What it cannot remove it
// says: the numbers are there.
func closeRunner(ctx context.Context, a *command.App, r command.Runner) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTime)
	defer cancel()
	if err := r.Close(ctx); err != nil {
		a.Say(fmt.Sprintf("%v; csiglab clean --on kubernetes removes it", err))
	}
}

// trialCommand is the command of the pods of trials.
func trialCommand(a *command.App) *cobra.Command {
	place := command.TrialPlace{Out: a.Stdout, Errors: a.Stderr}
	cmd := command.Needs(&cobra.Command{
		Use:    trial.PodCommand,
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			code, err := a.Linked.Cluster.Trial(cmd.Context(), place)
			if err != nil {
				return command.ClusterFailure(err)
			}
			if code != command.ExitOK {
				return &command.ExitError{Code: code}
			}
			return nil
		},
	}, programs.Cluster)
	f := cmd.Flags()
	f.StringVar(&place.Payload, "payload", "", "`FILE` with the trials")
	f.Lookup("payload").Annotations = map[string][]string{command.NoSetting: nil}
	f.StringVar(&place.Work, "work", "", "`DIR` for inputs and the run folder")
	f.StringVar(&place.Results, "results", "", "`DIR` of a claim")
	f.StringVar(&place.Credentials, "credentials", "", "`DIR` of a Secret")
	f.StringVar(&place.Programs, "programs", "", "`DIR` of other csiglabs")
	return cmd
}
