package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/csiglab/csiglab/orchestrator/batch"
	"github.com/csiglab/csiglab/orchestrator/cluster"
	"github.com/csiglab/csiglab/orchestrator/failure"
)

// kubernetesName is the kind of cluster that --on names.
const kubernetesName = "kubernetes"

// clusterFlags are the flags of commands that run trials on a cluster.
type clusterFlags struct {
	on, namespace, image, results string
}

// clusterFlagNames are their names.
var clusterFlagNames = []string{"on", "namespace", "image", "results"}

func (c *clusterFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&c.on, "on", "", "run on a `CLUSTER`: "+kubernetesName+", or "+kubernetesName+":CONTEXT of the kubeconfig; --parallel is then the most pods at a time")
	f.StringVar(&c.namespace, "namespace", "", "`NAME` of the cluster's namespace, with --on (default: that of the context)")
	f.StringVar(&c.image, "image", "", "`REF` of the image of this csiglab, with --on; see csiglab image push")
	f.StringVar(&c.results, "results", "", "keep whole run folders in `STORE`, with --on: pvc:NAME, or s3://BUCKET/PREFIX with the credentials of AWS_ACCESS_KEY_ID and so on")
}

// parseOn returns the context that --on names.
func parseOn(text string) (contextName string, err error) {
	kind, contextName, named := strings.Cut(text, ":")
	if kind != kubernetesName || named && contextName == "" {
		return "", usage("--on %q: want %s, or %[2]s:CONTEXT%s", text, kubernetesName, didYouMean(kind, []string{kubernetesName}))
	}
	return contextName, nil
}

// runner returns the runner of a cluster, nil without --on. Nothing is made there before the
// first trial. kind and name are those of the sweep or campaign. The caller ends with
// closeRunner.
func (a *app) clusterRunner(ctx context.Context, f *pflag.FlagSet, c *clusterFlags, kind, name string, parallel int) (*batch.Runner, error) {
	if !f.Changed("on") {
		for _, flag := range clusterFlagNames {
			if f.Changed(flag) {
				return nil, usage("--%s goes with --on %s", flag, kubernetesName)
			}
		}
		return nil, nil
	}
	contextName, err := parseOn(c.on)
	if err != nil {
		return nil, err
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
		return nil, clusterError(fmt.Errorf("--on %s: %w", c.on, err))
	}
	return r, nil
}

// clusterError gives an error of a cluster its exit code.
func clusterError(err error) error {
	switch {
	case errors.Is(err, cluster.ErrContext), errors.Is(err, failure.ErrConfiguration):
		return &exitError{exitUsage, err}
	case interrupted(err):
		return infrastructure(errors.New("interrupted"))
	}
	return infrastructure(err)
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
		a.say(fmt.Sprintf("%v; csiglab clean --on %s removes it", err, kubernetesName))
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
				return usage("%s is %q: this command is for the pods of csiglab sweep --on %s", batch.IndexVariable, text, kubernetesName)
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
