package telemetry

import (
	"context"
	"time"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/orchestrator/programs"
	"github.com/spf13/cobra"
)

// exportFlags are the flags of export.
type exportFlags struct {
	openMetrics string
	load        loadFlags
	start       string
	perfetto    perfettoFlags
}

func exportCommand(a *command.App) *cobra.Command {
	var e exportFlags
	cmd := &cobra.Command{
		Use:   "export RUN",
		Short: "Write a run's folder in a format of another tool",
		Long: "Write a run's folder in a format of another tool.\n" +
			"--openmetrics is for Prometheus: promtool tsdb create-blocks-from openmetrics FILE DIR makes blocks of its storage.\n" +
			"--perfetto is for ui.perfetto.dev: jobs, ranks, collectives and messages as slices, queues as counters.",
		Example: "  csiglab export runs/three --openmetrics three.om\n  csiglab export runs/step --perfetto step.json --variant csig",
		Args:    command.One("a run's folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			trace, err := e.perfetto.chosen(cmd.Flags())
			switch {
			case err != nil:
				return err
			case trace && e.openMetrics != "":
				return command.Usage("--openmetrics and --perfetto exclude each other")
			case trace:
				return exportPerfetto(cmd.Context(), a, args[0], &e.perfetto)
			case e.openMetrics == "":
				return command.Usage("name what to write: --openmetrics FILE or --perfetto FILE")
			}
			return exportOpenMetrics(cmd.Context(), a, args[0], &e)
		},
	}
	f := cmd.Flags()
	f.StringVar(&e.openMetrics, "openmetrics", "", "write its series in the text format OpenMetrics into the `FILE`; - is standard output")
	f.StringVar(&e.start, "start", "", "the `TIME` of model time 0 with --openmetrics, such as 2026-05-01T10:00:00Z (default: 2000-01-01T00:00:00Z, as csiglab serve has it)")
	e.load.flags(f)
	e.perfetto.flags(f)
	f.Lookup("openmetrics").Annotations = map[string][]string{command.NoSetting: nil}
	return cmd
}

// exportOpenMetrics writes a run's series in OpenMetrics.
func exportOpenMetrics(ctx context.Context, a *command.App, folder string, e *exportFlags) error {
	o := e.load.options()
	if e.start != "" {
		var err error
		if o.Start, err = time.Parse(time.RFC3339, e.start); err != nil {
			return command.Usage("--start %q: want a time such as 2026-05-01T10:00:00Z", e.start)
		}
	}
	if err := a.Lacks(programs.Serve); err != nil {
		return err
	}
	to := a.Output(e.openMetrics)
	to.Flag = "--openmetrics"
	summary, err := a.Linked.Server.WriteOpenMetrics(ctx, folder, o, to)
	if err := to.End(err); err != nil {
		return serverError(ctx, err)
	}
	a.Say(summary)
	return nil
}
