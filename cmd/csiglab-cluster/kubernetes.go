package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/doctor"
	"github.com/csiglab/csiglab/orchestrator/cluster"
	"github.com/csiglab/csiglab/orchestrator/compare/batch"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
)

// kubernetes implements command.Cluster; inpod.go and images.go have the rest.
type kubernetes struct {
	// connect connects to a cluster for trials. Tests replace it.
	connect func(ctx context.Context, contextName, namespace string) (batch.Cluster, error)
}

func connectBatch(ctx context.Context, contextName, namespace string) (batch.Cluster, error) {
	c, err := cluster.Connect(ctx, contextName, namespace)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// connect connects to the cluster of a place.
func connect(ctx context.Context, at command.ClusterPlace) (*cluster.Cluster, error) {
	contextName, err := cluster.Parse(at.On)
	if err != nil {
		return nil, failure.Configuration(fmt.Errorf("--on %w", err))
	}
	c, err := cluster.Connect(ctx, contextName, at.Namespace)
	if err != nil {
		return nil, classified(fmt.Errorf("--on %s: %w", at.On, err))
	}
	return c, nil
}

// classified gives an error of a cluster the class of the user's mistakes, if it is one.
func classified(err error) error {
	if errors.Is(err, cluster.ErrContext) || errors.Is(err, cluster.ErrAmbiguous) {
		return failure.Configuration(err)
	}
	return err
}

// Examine implements command.Cluster. That the cluster does not answer is a finding.
func (kubernetes) Examine(ctx context.Context, at command.ClusterPlace, image string) ([]doctor.Finding, error) {
	c, err := connect(ctx, at)
	switch {
	case errors.Is(err, cluster.ErrUnreachable), errors.Is(err, cluster.ErrForbidden):
		return []doctor.Finding{{Runtime: runtimes.Kubernetes, Name: "server", Detail: err.Error(), Fix: "look at it with kubectl version"}}, nil
	case err != nil:
		return nil, err
	}
	var id [4]byte
	rand.Read(id[:])
	found := examined{Cluster: c, Image: image, Run: "doctor-" + hex.EncodeToString(id[:])}.examine(ctx)
	return found, ctx.Err()
}

// Clean implements command.Cluster.
func (kubernetes) Clean(ctx context.Context, r command.CleanRequest) (namespace string, removed []string, err error) {
	c, err := connect(ctx, r.ClusterPlace)
	if err != nil {
		return "", nil, err
	}
	removed, err = c.Clean(ctx, r.Which, cluster.Cleaner{All: r.All, Force: r.Force, Say: r.Say})
	return c.Namespace, removed, classified(err)
}

// Runner implements command.Cluster.
func (k kubernetes) Runner(ctx context.Context, q command.RunnerRequest) (command.Runner, error) {
	contextName, err := cluster.Parse(q.On)
	if err != nil {
		return nil, failure.Configuration(fmt.Errorf("--on %w", err))
	}
	if q.Image == "" {
		return nil, failure.Configuration(fmt.Errorf("--on %s: --image is missing: the image of this csiglab, which csiglab image push REF makes", q.On))
	}
	r := &batch.Runner{Image: q.Image, ID: batch.NewID(q.Kind, q.Name), Parallel: q.Parallel, Say: q.Say}
	if q.Results != "" {
		if r.Results, err = batch.ParseResults(q.Results, q.Env); err != nil {
			return nil, failure.Configuration(fmt.Errorf("--results %w", err))
		}
	}
	if r.Cluster, err = k.connect(ctx, contextName, q.Namespace); err != nil {
		return nil, classified(fmt.Errorf("--on %s: %w", q.On, err))
	}
	return runner{r}, nil
}

type runner struct{ *batch.Runner }

// Most implements command.Runner.
func (runner) Most() int { return batch.MostTrials }

// Trial implements command.Cluster.
func (kubernetes) Trial(ctx context.Context, at command.TrialPlace) (code int, err error) {
	text := os.Getenv(batch.IndexVariable)
	index, err := strconv.Atoi(text)
	if err != nil {
		return 0, failure.Configuration(fmt.Errorf("%s is %q: this command is for the pods of csiglab sweep --on kubernetes", batch.IndexVariable, text))
	}
	return batch.Serve(ctx, batch.Place{Payload: at.Payload, Credentials: at.Credentials, Results: at.Results, Work: at.Work, Programs: at.Programs,
		Index: index, Out: at.Out, Errors: at.Errors}), nil
}
