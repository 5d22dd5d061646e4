package experiments

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/choose"
	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/perform"
	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
)

func runCommand(a *command.App) *cobra.Command {
	var r perform.Flags
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
		Args:              command.AtMostOne("an experiment"),
		ValidArgsFunction: choose.CompleteExperiments,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("resume") {
				return resume(a, cmd, folder, &r, args)
			}
			set, err := r.Load(a, cmd, args)
			if err != nil {
				return err
			}
			choose.SayImplied(a, set, args)
			if n := set.Base.Sweep.Points(); set.Base.Sweep != nil && len(r.At) == 0 {
				a.Notes([]string{fmt.Sprintf("%s has a sweep of %s, which csiglab sweep runs; this is a run without it", set.Base.Name, spelling.Plural(n, "point"))})
			}
			return perform.Run(a, cmd, set, &r)
		},
	}
	r.Selection.FileFlags(cmd)
	r.MoreFlags(cmd)
	r.VariantFlag(cmd)
	r.AtFlag(cmd)
	r.AddFlags(cmd)
	r.ProcessFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&r.Trace, "trace", "", "none: leave out the trace hash, which compares runs packet by packet, for sweeps (clock virtual; default: full)")
	f.BoolVar(&r.NoReport, trial.NoReportFlag, false, "write no report.html; csiglab report writes it later")
	f.StringVar(&folder, "resume", "", "do the runs that `RUN` lacks, the folder of a run that was interrupted, failed or was killed")
	f.BoolVar(&r.Options.CheckParity, "check-parity", false, "run in virtual time too and compare the traces")
	f.StringArrayVar(&r.Options.Inject, "inject", nil, "lose or damage a frame, for tests: `drop=LINK:N` or flip=LINK:N (real frames)")
	return cmd
}
