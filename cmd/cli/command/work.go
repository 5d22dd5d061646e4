package command

import (
	"context"
	"io"

	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/orchestrator/run/campaign"
	"github.com/csiglab/csiglab/orchestrator/run/packets"
	"github.com/csiglab/csiglab/orchestrator/run/predict"
	"github.com/csiglab/csiglab/reports"
)

// Work is what the commands do beyond printing, by its subject. Tests replace parts of it.
type Work struct {
	Campaigns
	Labs
	Captures

	// Become puts another program in the place of this one; nil: nothing does.
	Become func(ctx context.Context, a *App, program string) error
}

// Campaigns do runs and predict them.
type Campaigns struct {
	Run      func(context.Context, *experiment.Set, campaign.Options) (*campaign.Result, error)
	Validate func(*experiment.Set, predict.Visit) (*predict.Validation, error)
	Report   func(ctx context.Context, folder string, progress func(share float64)) (file string, read *reports.Report, err error)
}

// Labs begin, list and end what outlives a command.
type Labs struct {
	List    func(context.Context) ([]runs.Run, error)
	Damaged func() ([]runs.Damaged, error)
	Clean   func(ctx context.Context, which string, how runs.Cleaner) ([]string, error)
	Enter   func(r *runs.Run, n runs.Node, command, env []string) (code int, err error)
	Start   func(ctx context.Context, args, env []string, stderr io.Writer) (id string, err error)
	Down    func(ctx context.Context, r runs.Run, say func(text string)) (runs.Report, error)
}

// Captures write packets of runs and labs.
type Captures struct {
	Recapture func(packets.Recapture, context.Context, io.Writer) error
	Live      func(packets.Live, context.Context, io.Writer) (*packets.Captured, error)
}
