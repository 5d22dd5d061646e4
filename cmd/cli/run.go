package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/campaign"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/predict"
	"github.com/csiglab/csiglab/orchestrator/runtimes"
	"github.com/csiglab/csiglab/orchestrator/trial"
	"github.com/csiglab/csiglab/reports/analysis"
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
	after func(ctx context.Context, folder, report string, numbers *analysis.Result) (string, error)
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
				a.notes([]string{fmt.Sprintf("%s has a sweep of %s, which csiglab sweep runs; this is a run without it", set.Base.Name, plural(n, "point"))})
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

// check refuses options that do not go with the experiment.
func (r *runFlags) check(a *app, cmd *cobra.Command, set *experiment.Set) error {
	if a.inFile("processes") && set.Base.Clock != runtimes.Wall && (r.options.Shards > 1 || r.options.Processes == string(backend.SwitchProcess)) {
		r.options.Processes = string(backend.ProcessPerNode)
	}
	if err := choice("payload", r.options.Payload, campaign.PayloadFull, campaign.PayloadElide); err != nil {
		return err
	}
	if err := choice("processes", r.options.Processes, string(backend.ProcessPerNode), string(backend.OneProcess), string(backend.SwitchProcess)); err != nil {
		return err
	}
	for _, flag := range []string{"payload", "processes"} {
		switch {
		case !cmd.Flags().Changed(flag) || set.Base.Runtime == runtimes.Netns || set.Base.Runtime == runtimes.Kubernetes:
		case set.Base.Runtime == runtimes.Inproc:
			return usage("--%s %s: needs --runtime %s; the runtime %s has no frames and no processes of nodes",
				flag, cmd.Flag(flag).Value, runtimes.Netns, set.Base.Runtime)
		case flag == "processes" && r.options.Processes != string(backend.ProcessPerNode):
			return usage("--processes %s: needs --runtime %s; a container holds one node", r.options.Processes, runtimes.Netns)
		}
	}
	if err := r.checkShards(cmd, set); err != nil {
		return err
	}
	if r.dilation != "" && set.Base.Clock != runtimes.Wall {
		return usage("--dilation %s: needs --clock %s; %s has no wall seconds", r.dilation, runtimes.Wall, set.Base.Clock)
	}
	if r.options.Processes == string(backend.SwitchProcess) && set.Base.Clock != runtimes.Wall {
		return usage("--processes %s: needs --clock %s; %s is exact with a process for each node", r.options.Processes, runtimes.Wall, set.Base.Clock)
	}
	if r.options.CheckParity && set.Base.Telemetry.Untraced() {
		return usage("--check-parity compares trace hashes, and this run leaves them out (--trace none, or telemetry.trace_hash: none): want one of the two")
	}
	if r.options.CheckParity && set.Base.Clock == runtimes.Wall {
		return usage("--check-parity: clock %s does not claim the trace of a virtual run; use --clock %s", runtimes.Wall, runtimes.Lockstep)
	}
	return r.checkParallel(cmd)
}

// checkShards refuses parts of a run that the runtime does not have, and flags of another
// runtime. With parts, it notes which csiglab this is.
func (r *runFlags) checkShards(cmd *cobra.Command, set *experiment.Set) (err error) {
	runtime, clock := set.Base.Runtime, set.Base.Clock
	switch n := r.options.Shards; {
	case n < 1 && cmd.Flags().Changed("shards"):
		return usage("--shards %d: want at least 1", n)
	case n > 1 && clock == runtimes.Virtual:
		return usage("--shards %d: clock %s runs in one process of one machine; want --runtime %s or %s", n, clock, runtimes.Netns, runtimes.Kubernetes)
	case n > 1 && runtime != runtimes.Netns && runtime != runtimes.Kubernetes:
		return usage("--shards %d: runtime %s does not cut runs; want --runtime %s or %s", n, runtime, runtimes.Netns, runtimes.Kubernetes)
	case n > 1 && runtime == runtimes.Netns && clock == runtimes.Wall:
		return usage("--shards %d: clock %s in parts needs a network for each, of machines or pods; one machine needs no shards: leave them out, or use --runtime %s", n, clock, runtimes.Kubernetes)
	}
	if n := r.options.Shards; n > 1 && clock == runtimes.Lockstep && r.options.Processes != string(backend.ProcessPerNode) {
		return usage("--processes %s: with --shards %d and clock %s, every node needs a process of its own", r.options.Processes, n, clock)
	}
	if runtime != runtimes.Kubernetes {
		for _, flag := range []string{"context", "namespace", "image"} {
			if cmd.Flags().Changed(flag) {
				return usage("--%s %s: needs --runtime %s; runtime %s uses no cluster", flag, cmd.Flag(flag).Value, runtimes.Kubernetes, runtime)
			}
		}
		return nil
	}
	if r.options.Remote.Image == "" {
		return usage("--runtime %s: name the image with csiglab by --image REF; csiglab image push makes one", runtime)
	}
	if r.options.Identity, err = trial.Identity(""); err != nil {
		return infrastructure(err)
	}
	return nil
}

func (r *runFlags) checkParallel(cmd *cobra.Command) error {
	if r.options.Parallel < 0 || r.options.Parallel == 0 && cmd.Flags().Changed("parallel") {
		return usage("--parallel %d: want at least 1", r.options.Parallel)
	}
	return nil
}
