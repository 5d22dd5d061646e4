package main

import (
	"context"
	"io"

	"github.com/csiglab/csiglab/cmd/cli"
	"github.com/csiglab/csiglab/orchestrator/backend/containers"
	"github.com/csiglab/csiglab/orchestrator/labs/containerlab"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// engine is the Docker engine of this machine. It implements cli.Containers; docker.go has
// Examine.
type engine struct{}

// Exec implements cli.Containers.
func (engine) Exec(ctx context.Context, r *runs.Run, n runs.Node, command []string) (code int, err error) {
	return containers.Exec(ctx, r, n, command)
}

// Export implements cli.Containers.
func (engine) Export(g *topologies.Graph, payload units.Size) cli.Exporter {
	return exporter{containers.Export{Graph: g, Payload: payload}}
}

type exporter struct{ containers.Export }

// WriteShard implements cli.Exporter.
func (e exporter) WriteShard(w io.Writer, s cli.ExportShard) error {
	return e.Export.WriteShard(w, containerlab.Shard(s))
}
