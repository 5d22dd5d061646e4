package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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

// clusterFailure gives an error of a cluster its exit code.
func clusterFailure(err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return infrastructure(errors.New("interrupted"))
	case errors.Is(err, failure.ErrConfiguration):
		return misuse(err)
	}
	return infrastructure(err)
}

// cleanCluster removes what runs have left in a cluster.
func (a *app) cleanCluster(ctx context.Context, r CleanRequest) error {
	r.Say = a.say
	namespace, removed, err := a.linked.Cluster.Clean(ctx, r)
	var text strings.Builder
	for _, what := range removed {
		fmt.Fprintln(&text, "removed", what)
	}
	if err == nil && len(removed) == 0 {
		fmt.Fprintf(&text, "nothing to remove in namespace %s\n", namespace)
	}
	printed := a.print(text.String())
	if err != nil {
		return clusterFailure(err)
	}
	return printed
}
