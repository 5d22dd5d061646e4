package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/programs"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// clusterFlags are the flags of commands that run trials on a cluster.
type clusterFlags struct {
	where
	image, results string
}

// clusterFlagNames are the names of the flags.
var clusterFlagNames = []string{"on", "namespace", "image", "results"}

func (c *clusterFlags) flags(cmd *cobra.Command) {
	c.where.flags(cmd, "run on")
	f := cmd.Flags()
	f.StringVar(&c.image, "image", "", "`REF` of the image of this csiglab, with --on; csiglab image push makes it")
	f.StringVar(&c.results, "results", "", "keep whole run folders in a `STORE`, with --on: pvc:NAME, or s3://BUCKET/PREFIX with the credentials of AWS_ACCESS_KEY_ID and so on")
}

// clusterRunner returns the runner of a cluster, nil without --on. Nothing is made there before the
// first trial. kind and name are those of the sweep or campaign. The caller ends with
// closeRunner.
func (a *app) clusterRunner(ctx context.Context, f *pflag.FlagSet, c *clusterFlags, kind, name string, parallel int) (Runner, error) {
	if err := c.only(f, clusterFlagNames[1:], nil); err != nil || !f.Changed("on") {
		return nil, err
	}
	if a.inFile("parallel") { // cores of this machine, and not pods
		parallel = 0
	}
	r, err := a.linked.Cluster.Runner(ctx, RunnerRequest{ClusterPlace: a.place(&c.where), Image: c.image, Results: c.results, Kind: kind, Name: name, Parallel: parallel, Env: a.env, Say: a.say})
	if err != nil {
		return nil, clusterFailure(err)
	}
	return r, nil
}

// removeTime bounds how long the removal of a Job may take.
const removeTime = 90 * time.Second

// closeRunner removes what a runner has made, also after Ctrl-C. What it cannot remove it
// says: the numbers are there.
func (a *app) closeRunner(ctx context.Context, r Runner) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTime)
	defer cancel()
	if err := r.Close(ctx); err != nil {
		a.say(fmt.Sprintf("%v; csiglab clean --on kubernetes removes it", err))
	}
}

// trial is the command of the pods of trials.
func (a *app) trial() *cobra.Command {
	place := TrialPlace{Out: a.stdout, Errors: a.stderr}
	cmd := needs(&cobra.Command{
		Use:    trial.PodCommand,
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			code, err := a.linked.Cluster.Trial(cmd.Context(), place)
			if err != nil {
				return clusterFailure(err)
			}
			if code != exitOK {
				return &exitError{code: code}
			}
			return nil
		},
	}, programs.Cluster)
	f := cmd.Flags()
	f.StringVar(&place.Payload, "payload", "", "`FILE` with the trials")
	f.Lookup("payload").Annotations = map[string][]string{noSetting: nil}
	f.StringVar(&place.Work, "work", "", "`DIR` for inputs and the run folder")
	f.StringVar(&place.Results, "results", "", "`DIR` of a claim")
	f.StringVar(&place.Credentials, "credentials", "", "`DIR` of a Secret")
	f.StringVar(&place.Programs, "programs", "", "`DIR` of other csiglabs")
	return cmd
}
