package cli

import (
	"context"
	"io"

	"github.com/csiglab/csiglab/cmd/cli/labs"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/orchestrator/programs"
	"github.com/csiglab/csiglab/orchestrator/run/campaign"
	"github.com/csiglab/csiglab/orchestrator/run/packets"
	"github.com/csiglab/csiglab/orchestrator/run/predict"
	"github.com/csiglab/csiglab/reports"
)

// lab is what the commands do beyond printing, by its subject. Tests replace parts of it.
type lab struct {
	campaigns
	labRuns
	captures

	// self returns csiglab itself as a process; nil: the machine cannot be measured.
	self predict.Command

	// become puts another program in the place of this one; nil: nothing does.
	become func(ctx context.Context, a *app, program string) error
}

// campaigns do runs and predict them.
type campaigns struct {
	run      func(context.Context, *experiment.Set, campaign.Options) (*campaign.Result, error)
	resume   func(ctx context.Context, folder string, opts campaign.Options) (*campaign.Result, error)
	validate func(context.Context, *experiment.Set, predict.Options) (*predict.Validation, error)
	report   func(ctx context.Context, folder string, progress func(share float64)) (file string, read *reports.Report, err error)
}

// labRuns begin, list and end what outlives a command.
type labRuns struct {
	list    func(context.Context) ([]runs.Run, error)
	damaged func() ([]runs.Damaged, error)
	clean   func(ctx context.Context, which string, how runs.Cleaner) ([]string, error)
	enter   func(r *runs.Run, n runs.Node, command, env []string) (code int, err error)
	start   func(ctx context.Context, args, env []string, stderr io.Writer) (id string, err error)
	down    func(ctx context.Context, r runs.Run, say func(text string)) (runs.Report, error)
}

// captures write packets of runs and labs.
type captures struct {
	recapture func(packets.Recapture, context.Context, io.Writer) error
	live      func(packets.Live, context.Context, io.Writer) (*packets.Captured, error)
}

func newLab(linked Linked) lab {
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
	return lab{
		campaigns: campaigns{campaign.Run, campaign.Resume, predict.Validate, writeReport},
		labRuns:   labRuns{labs.List, runs.ListDamaged, labs.Clean, elsewhere.Enter, labs.Start, runs.Down},
		captures:  captures{packets.Recapture.Write, packets.Live.Write},
		self:      self,
	}
}
