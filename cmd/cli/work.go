package cli

import (
	"context"
	"io"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/labs"
	"github.com/csiglab/csiglab/cmd/cli/perform"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/orchestrator/programs"
	"github.com/csiglab/csiglab/orchestrator/run/campaign"
	"github.com/csiglab/csiglab/orchestrator/run/packets"
	"github.com/csiglab/csiglab/orchestrator/run/predict"
)

func newWork(linked command.Linked) command.Work {
	elsewhere := labs.Elsewhere{
		InContainer: func(context.Context, *runs.Run, runs.Node, []string) (int, error) {
			return 0, programs.Elsewhere(programs.Lab)
		},
		InPod: func(context.Context, *runs.Shard, []string, io.Reader, io.Writer, io.Writer) (int, error) {
			return 0, programs.Elsewhere(programs.Cluster)
		},
	}
	if linked.Containers != nil {
		elsewhere.InContainer = linked.Containers.Exec
	}
	if linked.Cluster != nil {
		elsewhere.InPod = linked.Cluster.InPod
	}
	return command.Work{
		Campaigns: command.Campaigns{Run: campaign.Run, Resume: campaign.Resume, Validate: predict.Validate, Report: perform.WriteReport},
		Labs:      command.Labs{List: labs.List, Damaged: runs.ListDamaged, Clean: labs.Clean, Enter: elsewhere.Enter, Start: labs.Start, Down: runs.Down},
		Captures:  command.Captures{Recapture: packets.Recapture.Write, Live: packets.Live.Write},
		Self:      perform.Self,
	}
}
