package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/csiglab/csiglab/cmd/csiglab/doctor"
	"github.com/csiglab/csiglab/orchestrator/cluster"
	"github.com/csiglab/csiglab/orchestrator/runtimes"
)

// where is a cluster that a command looks at or cleans, in place of this machine.
type where struct{ on, namespace string }

func (w *where) flags(cmd *cobra.Command, does string) {
	f := cmd.Flags()
	f.StringVar(&w.on, "on", "", does+" a `CLUSTER` instead: kubernetes, or kubernetes:CONTEXT of the kubeconfig")
	f.StringVar(&w.namespace, "namespace", "", "`NAME` of the cluster's namespace, with --on (default: that of the context)")
}

// only refuses flags that go with --on, or without it, alone.
func (w *where) only(f *pflag.FlagSet, with, without []string) error {
	on := f.Changed("on")
	for _, name := range with {
		if f.Changed(name) && !on {
			return usage("--%s goes with --on kubernetes", name)
		}
	}
	for _, name := range without {
		if f.Changed(name) && on {
			return usage("--%s and --on exclude each other", name)
		}
	}
	return nil
}

// connect connects to the cluster.
func (w *where) connect(ctx context.Context) (*cluster.Cluster, error) {
	contextName, err := cluster.Parse(w.on)
	if err != nil {
		return nil, usage("--on %w", err)
	}
	c, err := cluster.Connect(ctx, contextName, w.namespace)
	if err != nil {
		return nil, clusterFailure(fmt.Errorf("--on %s: %w", w.on, err))
	}
	return c, nil
}

// clusterFailure gives an error of a cluster its exit code.
func clusterFailure(err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return infrastructure(errors.New("interrupted"))
	case errors.Is(err, cluster.ErrContext), errors.Is(err, cluster.ErrAmbiguous):
		return &exitError{exitUsage, err}
	}
	return infrastructure(err)
}

// examine returns what doctor finds of a cluster. That it does not answer is a finding.
func (w *where) examine(ctx context.Context, image string) ([]doctor.Finding, error) {
	c, err := w.connect(ctx)
	switch {
	case errors.Is(err, cluster.ErrUnreachable), errors.Is(err, cluster.ErrForbidden):
		return []doctor.Finding{{Runtime: runtimes.Kubernetes, Name: "server", Detail: err.Error(), Fix: "look at it with kubectl version"}}, nil
	case err != nil:
		return nil, err
	}
	var id [4]byte
	rand.Read(id[:])
	found := doctor.Cluster{Cluster: c, Image: image, Run: "doctor-" + hex.EncodeToString(id[:])}.Examine(ctx)
	if ctx.Err() != nil {
		return nil, clusterFailure(context.Canceled)
	}
	return found, nil
}

// cleanCluster removes what runs have left in a cluster.
func (a *app) cleanCluster(ctx context.Context, w *where, which string, how cluster.Cleaner) error {
	c, err := w.connect(ctx)
	if err != nil {
		return err
	}
	how.Say = a.say
	removed, err := c.Clean(ctx, which, how)
	var text strings.Builder
	for _, what := range removed {
		fmt.Fprintln(&text, "removed", what)
	}
	if err == nil && len(removed) == 0 {
		fmt.Fprintf(&text, "nothing to remove in namespace %s\n", c.Namespace)
	}
	printed := a.print(text.String())
	if err != nil {
		return clusterFailure(err)
	}
	return printed
}
