package command

import (
	"context"
	"errors"

	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Where is a cluster that a command looks at or cleans, in place of this machine.
type Where struct{ On, namespace string }

// Flags adds the flags that choose the cluster. does is what the command does there.
func (w *Where) Flags(cmd *cobra.Command, does string) {
	f := cmd.Flags()
	f.StringVar(&w.On, "on", "", does+" a `CLUSTER` instead: kubernetes, or kubernetes:CONTEXT of the kubeconfig")
	f.StringVar(&w.namespace, "namespace", "", "`NAME` of the cluster's namespace, with --on (default: that of the context)")
}

// Only refuses flags that go with --on, or without it, alone.
func (w *Where) Only(f *pflag.FlagSet, with, without []string) error {
	on := f.Changed("on")
	for _, name := range with {
		if f.Changed(name) && !on {
			return Usage("--%s goes with --on kubernetes", name)
		}
	}
	for _, name := range without {
		if f.Changed(name) && on {
			return Usage("--%s and --on exclude each other", name)
		}
	}
	return nil
}

// ClusterFailure gives an error of a cluster its exit code.
func ClusterFailure(err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return Infrastructure(errors.New("interrupted"))
	case errors.Is(err, failure.ErrConfiguration):
		return Misuse(err)
	}
	return Infrastructure(err)
}
