package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/run/campaign"
	"github.com/csiglab/csiglab/orchestrator/run/predict"
	"github.com/csiglab/csiglab/reports"
)

// runFlags are the flags of run and demo.
type runFlags struct {
	selection
	options campaign.Options
	json    bool
	// noReport leaves out report.html.
	noReport bool
	probe    bool // the run is part of a measurement of the machine, and does not measure it
	// after is called when results have been printed. Its text is printed too; with json as
	// a message. It may be nil.
	after func(ctx context.Context, folder, report string, read *reports.Report) (string, error)
}

func (r *runFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&r.options.Out, "out", "", "the run's folder, new or empty `DIR` (default: runs/NAME-TIME)")
	f.IntVar(&r.options.Parallel, "parallel", 0, "cores: for runs side by side, or for one large run (clock virtual; default: all)")
	f.BoolVar(&r.json, "json", false, "print summary.json on standard output and nothing else there")
	r.forceFlag(cmd)
}

func (r *runFlags) forceFlag(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&r.options.Force, "force", false, "run even what is predicted not to fit in memory")
	f.BoolVar(&r.probe, predict.ProbeFlag, false, "do not measure this machine")
	f.Lookup(predict.ProbeFlag).Hidden = true
}

// processFlags are for runs with real frames.
func (r *runFlags) processFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&r.options.Payload, "payload", campaign.PayloadFull, "full frames, or elide: headers only (real frames)")
	f.IntVar(&r.options.Shards, "shards", 1, "cut the fabric into `N` parts: processes of this machine (runtime netns) or pods (runtime kubernetes)")
	f.StringVar(&r.options.Remote.Context, "context", "", "`CONTEXT` of the kubeconfig (runtime kubernetes; default: the current one)")
	f.StringVar(&r.options.Remote.Namespace, "namespace", "", "namespace `NS` of the cluster (runtime kubernetes; default: that of the context)")
	f.StringVar(&r.options.Remote.Image, "image", "", "image `REF` with csiglab (runtime kubernetes); csiglab image makes it")
	f.StringVar(&r.options.Processes, "processes", string(backend.ProcessPerNode), "a process for each node, one for all, or for all switches (runtime netns; the last with clock wall)")
}

func (a *app) run() *cobra.Command {
	var r runFlags
	var folder string
	cmd := &cobra.Command{
		Use:   "run [EXPERIMENT]",
		Short: "Run an experiment: a file, or the name of one that is built in",
		Long: "Run an experiment: a file, or the name of one that is built in.\n" +
			"Without one, --topology and --workload give the files of a run with the reference simulator's defaults.\n" +
			"With --resume, do what a run that was interrupted has left.",
		Example: "  csiglab run three-flow\n" +
			"  csiglab run three-flow --runtime netns --clock lockstep --seeds 1 --check-parity\n" +
			"  csiglab run three-flow --variant csig --seed 7\n" +
			"  csiglab run --topology x.topo --workload y.cm --csig max-delay --set links.trim=false\n" +
			"  csiglab run --resume runs/three-flow-20260501-100000-00000",
		Args:              atMostOne("an experiment"),
		ValidArgsFunction: completeExperiments,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("resume") {
				return a.resume(cmd, folder, &r, args)
			}
			set, err := r.load(a, cmd, args)
			if err != nil {
				return err
			}
			if n := set.Base.Sweep.Points(); set.Base.Sweep != nil {
				a.notes([]string{fmt.Sprintf("%s has a sweep of %s, which csiglab sweep runs; this is a run without it", set.Base.Name, spelling.Plural(n, "point"))})
			}
			return a.perform(cmd, set, &r)
		},
	}
	r.selection.flags(cmd)
	r.moreFlags(cmd)
	r.variantFlag(cmd)
	r.flags(cmd)
	r.processFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&r.trace, "trace", "", "none: leave out the trace hash, which compares runs packet by packet, for sweeps (clock virtual; default: full)")
	f.BoolVar(&r.noReport, trial.NoReportFlag, false, "write no report.html; csiglab report writes it later")
	f.StringVar(&folder, "resume", "", "do the runs that `RUN` lacks, the folder of a run that was interrupted, failed or was killed")
	f.BoolVar(&r.options.CheckParity, "check-parity", false, "run in virtual time too and compare the traces")
	f.StringArrayVar(&r.options.Inject, "inject", nil, "lose or damage a frame, for tests: `drop=LINK:N` or flip=LINK:N (real frames)")
	return cmd
}

// check refuses options that do not go with the experiment, and leaves out wishes that do not.
func (r *runFlags) check(a *app, cmd *cobra.Command, set *experiment.Set) (err error) {
	o := &r.options
	if err := choice("payload", o.Payload, campaign.PayloadFull, campaign.PayloadElide); err != nil {
		return err
	}
	if err := choice("processes", o.Processes, string(backend.ProcessPerNode), string(backend.OneProcess), string(backend.SwitchProcess)); err != nil {
		return err
	}
	if o.Shards < 1 && cmd.Flags().Changed("shards") {
		return usage("--shards %d: want at least 1", o.Shards)
	}
	if o.CheckParity && set.Base.Telemetry.Untraced() {
		return usage("--check-parity compares trace hashes, and this run leaves them out (--trace none, or telemetry.trace_hash: none): want one of the two")
	}
	way := set.Base.Way()
	for {
		needs := campaign.Needs(set, *o, way)
		if r.dilation != "" {
			needs = append(needs, runtimes.Need{Option: "dilation", Of: runtimes.RealTime,
				Else: fmt.Sprintf("--dilation %s: needs --clock %s; %s has no wall seconds", r.dilation, runtimes.Wall, way.Clock)})
		}
		n := way.Unmet(needs)
		if n == nil {
			break
		}
		flag := cmd.Flag(n.Option)
		if flag == nil || !a.wish(flag) {
			return usage("%s", n.Else)
		}
		if err := flag.Value.Set(flag.DefValue); err != nil {
			return usage("--%s: %w", n.Option, err)
		}
	}
	if way.Has(runtimes.Cluster) {
		if o.Remote.Image == "" {
			return usage("--runtime %s: name the image with csiglab by --image REF; csiglab image push makes one", way.Runtime)
		}
		if o.Identity, err = trial.Identity(""); err != nil {
			return infrastructure(err)
		}
	}
	return r.checkParallel(cmd)
}

func (r *runFlags) checkParallel(cmd *cobra.Command) error {
	if r.options.Parallel < 0 || r.options.Parallel == 0 && cmd.Flags().Changed("parallel") {
		return usage("--parallel %d: want at least 1", r.options.Parallel)
	}
	return nil
}
