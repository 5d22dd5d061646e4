package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/csiglab/csiglab/orchestrator/batch"
	"github.com/csiglab/csiglab/orchestrator/cluster"
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
func (a *app) clusterRunner(ctx context.Context, f *pflag.FlagSet, c *clusterFlags, kind, name string, parallel int) (*batch.Runner, error) {
	if err := c.only(f, clusterFlagNames[1:], nil); err != nil || !f.Changed("on") {
		return nil, err
	}
	contextName, err := cluster.Parse(c.on)
	if err != nil {
		return nil, usage("--on %w", err)
	}
	if c.image == "" {
		return nil, usage("--on %s: --image is missing: the image of this csiglab, which csiglab image push REF makes", c.on)
	}
	r := &batch.Runner{Image: c.image, ID: batch.NewID(kind, name), Parallel: parallel, Say: a.say}
	if c.results != "" {
		if r.Results, err = batch.ParseResults(c.results, a.env); err != nil {
			return nil, usage("--results %w", err)
		}
	}
	if r.Cluster, err = a.lab.connect(ctx, contextName, c.namespace); err != nil {
		return nil, clusterFailure(fmt.Errorf("--on %s: %w", c.on, err))
	}
	return r, nil
}

// connectCluster connects to a cluster for trials.
func connectCluster(ctx context.Context, contextName, namespace string) (batch.Cluster, error) {
	c, err := cluster.Connect(ctx, contextName, namespace)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// removeTime bounds how long the removal of a Job may take.
const removeTime = 90 * time.Second

// closeRunner removes what a runner has made, also after Ctrl-C. What it cannot remove it
// says: the numbers are there.
func (a *app) closeRunner(ctx context.Context, r *batch.Runner) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTime)
	defer cancel()
	if err := r.Close(ctx); err != nil {
		a.say(fmt.Sprintf("%v; csiglab clean --on kubernetes removes it", err))
	}
}

// trial is the command of the pods of trials.
func (a *app) trial() *cobra.Command {
	place := batch.Place{Out: a.stdout, Errors: a.stderr}
	cmd := &cobra.Command{
		Use:    batch.Command,
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text := os.Getenv(batch.IndexVariable)
			var err error
			if place.Index, err = strconv.Atoi(text); err != nil {
				return usage("%s is %q: this command is for the pods of csiglab sweep --on kubernetes", batch.IndexVariable, text)
			}
			if code := batch.Serve(cmd.Context(), place); code != exitOK {
				return &exitError{code: code}
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&place.Payload, "payload", "", "`FILE` with the trials")
	f.StringVar(&place.Work, "work", "", "`DIR` for inputs and the run folder")
	f.StringVar(&place.Results, "results", "", "`DIR` of a claim")
	f.StringVar(&place.Credentials, "credentials", "", "`DIR` of a Secret")
	f.StringVar(&place.Programs, "programs", "", "`DIR` of other csiglabs")
	return cmd
}
