package main

import (
	"context"
	"io"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/orchestrator/backend/containers"
	"github.com/csiglab/csiglab/orchestrator/labs/containerlab"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// engine is the Docker engine of this machine. It implements command.Containers; docker.go has
// Examine.
type engine struct{}

// Exec implements command.Containers.
func (engine) Exec(ctx context.Context, r *runs.Run, n runs.Node, command []string) (code int, err error) {
	return containers.Exec(ctx, r, n, command)
}

// Export implements command.Containers.
func (engine) Export(g *topologies.Graph, payload units.Size) command.Exporter {
	return exporter{containers.Export{Graph: g, Payload: payload}}
}

type exporter struct{ containers.Export }

// WriteShard implements command.Exporter.
func (e exporter) WriteShard(w io.Writer, s command.ExportShard) error {
	return e.Export.WriteShard(w, containerlab.Shard(s))
}
