package perform

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/choose"
	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/run/campaign"
	"github.com/csiglab/csiglab/reports"
)

// Flags are the flags of run and demo.
type Flags struct {
	choose.Selection
	Options campaign.Options
	JSON    bool
	// NoReport leaves out report.html.
	NoReport bool
	// After is called when results have been printed. Its text is printed too; with JSON as
	// a message. It may be nil.
	After func(ctx context.Context, folder, report string, read *reports.Report) (string, error)
}

// AddFlags adds the flags that run and demo have.
func (r *Flags) AddFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&r.Options.Out, "out", "", "the run's folder, new or empty `DIR` (default: runs/NAME-TIME)")
	f.IntVar(&r.Options.Parallel, "parallel", 0, "cores: for runs side by side, or for one large run (clock virtual; default: all)")
	f.BoolVar(&r.JSON, "json", false, "print summary.json on standard output and nothing else there")
	f.BoolVar(&r.Options.Nowhere, trial.NowhereFlag, false, "make no run folder")
	f.Lookup(trial.NowhereFlag).Hidden = true
	r.ForceFlag(cmd)
}

// ForceFlag adds the flags about predictions.
func (r *Flags) ForceFlag(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&r.Options.Force, "force", false, "run even what is predicted not to fit in memory")
	f.Bool(trial.ProbeFlag, false, "read no files of settings")
	f.Lookup(trial.ProbeFlag).Hidden = true
}

// ProcessFlags are for runs with real frames.
func (r *Flags) ProcessFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&r.Options.Payload, "payload", campaign.PayloadFull, "full frames, or elide: headers only (real frames)")
	f.IntVar(&r.Options.Shards, "shards", 1, "cut the fabric into `N` parts: processes of this machine (runtime netns) or pods (runtime kubernetes)")
	f.StringVar(&r.Options.Remote.Context, "context", "", "`CONTEXT` of the kubeconfig (runtime kubernetes; default: the current one)")
	f.StringVar(&r.Options.Remote.Namespace, "namespace", "", "namespace `NS` of the cluster (runtime kubernetes; default: that of the context)")
	f.StringVar(&r.Options.Remote.Image, "image", "", "image `REF` with csiglab (runtime kubernetes); csiglab image makes it")
	f.StringVar(&r.Options.Processes, "processes", string(backend.ProcessPerNode), "a process for each node, one for all, or for all switches (runtime netns; the last with clock wall)")
}

// Check refuses options that do not go with the experiment, and leaves out wishes that do not.
func (r *Flags) Check(a *command.App, cmd *cobra.Command, set *experiment.Set) (err error) {
	o := &r.Options
	if err := command.Choice("payload", o.Payload, campaign.PayloadFull, campaign.PayloadElide); err != nil {
		return err
	}
	if err := command.Choice("processes", o.Processes, string(backend.ProcessPerNode), string(backend.OneProcess), string(backend.SwitchProcess)); err != nil {
		return err
	}
	if o.Shards < 1 && cmd.Flags().Changed("shards") {
		return command.Usage("--shards %d: want at least 1", o.Shards)
	}
	if o.CheckParity && set.Base.Telemetry.Untraced() {
		return command.Usage("--check-parity compares trace hashes, and this run leaves them out (--trace none, or telemetry.trace_hash: none): want one of the two")
	}
	way := set.Base.Way()
	for {
		needs := campaign.Needs(set, *o, way)
		if r.Dilation != "" {
			needs = append(needs, runtimes.Need{Option: "dilation", Of: runtimes.RealTime,
				Else: fmt.Sprintf("--dilation %s: needs --clock %s; %s has no wall seconds", r.Dilation, runtimes.Wall, way.Clock)})
		}
		n := way.Unmet(needs)
		if n == nil {
			break
		}
		flag := cmd.Flag(n.Option)
		if flag == nil || !a.Wish(flag) {
			return command.Usage("%s", n.Else)
		}
		if err := flag.Value.Set(flag.DefValue); err != nil {
			return command.Usage("--%s: %w", n.Option, err)
		}
	}
	if way.Has(runtimes.Cluster) {
		if o.Remote.Image == "" {
			return command.Usage("--runtime %s: name the image with csiglab by --image REF; csiglab image push makes one", way.Runtime)
		}
		if o.Identity, err = trial.Identity(""); err != nil {
			return command.Infrastructure(err)
		}
	}
	return r.CheckParallel(cmd)
}

// CheckParallel refuses numbers of cores below 1.
func (r *Flags) CheckParallel(cmd *cobra.Command) error {
	if r.Options.Parallel < 0 || r.Options.Parallel == 0 && cmd.Flags().Changed("parallel") {
		return command.Usage("--parallel %d: want at least 1", r.Options.Parallel)
	}
	return nil
}
