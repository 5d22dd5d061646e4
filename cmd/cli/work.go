package cli

import (
	"context"
	"io"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/holder"
	"github.com/csiglab/csiglab/cmd/cli/perform"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/orchestrator/programs"
	"github.com/csiglab/csiglab/orchestrator/run/campaign"
	"github.com/csiglab/csiglab/orchestrator/run/packets"
	"github.com/csiglab/csiglab/orchestrator/run/predict"
)

func newWork(linked command.Linked) command.Work {
	elsewhere := holder.Elsewhere{
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
		Campaigns: command.Campaigns{Run: campaign.Run, Validate: predict.Validate, Report: perform.WriteReport},
		Labs:      command.Labs{List: holder.List, Damaged: runs.ListDamaged, Clean: holder.Clean, Enter: elsewhere.Enter, Start: holder.Start, Down: runs.Down},
		Captures:  command.Captures{Recapture: packets.Recapture.Write, Live: packets.Live.Write},
	}
}
