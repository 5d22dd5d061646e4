// Package batch performs trials on a cluster: many at a time, as the indices of an Indexed
// Job, each a pod that runs csiglab once. Runner is the side of the user, Serve that of the
// pod.
//
//	trial.All ──▶ Runner ── Job, ConfigMap ──▶ pods: Serve ──▶ csiglab run
//	                 ◀── outcomes, one line of each pod's log ──┘
package batch

import (
	"context"

	"github.com/csiglab/csiglab/orchestrator/cluster"
	"github.com/csiglab/csiglab/orchestrator/trial"
)

// Runner is a trial.Runner whose trials run in a cluster. It collects the trials that are
// asked for at about the same time, and makes one Job of them.
type Runner struct {
	Cluster *cluster.Cluster
	Image   string
	ID      string // of the sweep or campaign
	Results string // where whole run folders go: pvc:NAME, s3://BUCKET/PREFIX; empty: nowhere
	// Say receives remarks for the user, from several goroutines at once; may be nil.
	Say func(text string)
}

// Run implements trial.Runner.
func (r *Runner) Run(ctx context.Context, t trial.Trial) (trial.Outcome, error) {
	panic("not built yet")
}

// Close removes what the runner has made in the cluster.
func (r *Runner) Close(ctx context.Context) error { panic("not built yet") }

// Serve is the whole of a pod of a trial. It returns the exit code.
func Serve(ctx context.Context) int { panic("not built yet") }
