package process

import (
	"encoding/gob"

	_ "github.com/csiglab/csiglab/metrics/tables" // lists of records
	"github.com/csiglab/csiglab/workloads/collective"
	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/msccl"
	"github.com/csiglab/csiglab/workloads/pipeline"
	"github.com/csiglab/csiglab/workloads/simai"
	"github.com/csiglab/csiglab/workloads/trace"
	"github.com/csiglab/csiglab/workloads/training"
)

// sources has a value of each type of graph.Source that a Spec may hold. Package gob has to
// know them, in the process that sends a Spec and in the one that receives it.
var sources = []graph.Source{
	new(graph.Static),
	new(graph.Scaled),
	new(collective.Source),
	new(msccl.Source),
	new(pipeline.Source),
	new(simai.Source),
	new(trace.Source),
	new(training.Source),
	new(training.ProfileSource),
}

func init() {
	for _, s := range sources {
		gob.Register(s)
	}
}
