package experiments

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/perform"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/run/campaign"
	"github.com/csiglab/csiglab/reports"
	"github.com/csiglab/csiglab/reports/figures"
)

// demonstration is an entry of the table of demos.
type demonstration struct {
	experiment string
	seeds      int      // 0: those of the experiment
	intro      []string // lines
	look       bool     // it names at its end what to look at
}

// demonstrations is the table of demos. The first is the one without a name.
var demonstrations = []demonstration{
	{experiment: "three-flow", intro: []string{
		"Three flows on an oversubscribed fat tree: the victim 1->10 crosses two bottlenecks,",
		"0->2 and 9->10 one each. How many times the victim's rate do they get? Published:",
		"5:1 with NSCC alone, 2.3:1 when CSIG reports the largest delay on the path to it.",
	}},
	{experiment: "training-step", seeds: 1, look: true, intro: []string{
		"One step of a GPT on 64 GPUs, three times: gradients stay on their rails (rails), cross an",
		"oversubscribed spine (spread), and the same with CSIG (csig). Nothing is opened.",
	}},
}

// dashboardOfSteps is the address of the dashboard of training steps in a Grafana on this
// machine.
const dashboardOfSteps = "http://localhost:3000/d/csiglab-training"

func demoCommand(a *command.App) *cobra.Command {
	var r perform.Flags
	var names []string
	for _, d := range demonstrations {
		names = append(names, d.experiment)
	}
	cmd := &cobra.Command{
		Use:   "demo [" + strings.Join(names, "|") + "]",
		Short: "Run a demonstration: three-flow against its published figures, or one step of a training job",
		Long: "Run a demonstration.\n\n" +
			"three-flow, without a name: three flows and two bottlenecks, compared with the published figures.\n" +
			"training-step: one step of a GPT without and with CSIG. It names three things to look at; docs/how-to/demo.md\n" +
			"is a talk about them.",
		Example:   "  csiglab demo\n  csiglab demo training-step --out runs/talk",
		Args:      command.AtMostOne("a demo"),
		ValidArgs: names,
		RunE: func(cmd *cobra.Command, args []string) error {
			d := &demonstrations[0]
			if len(args) > 0 {
				if d = demoOf(args[0]); d == nil {
					return command.Usage("unknown demo %q%s; known: %s", args[0], command.DidYouMean(args[0], names), strings.Join(names, " "))
				}
			}
			set, err := experiment.Load(d.experiment, experiment.Options{
				Env: a.Env, Reserved: command.Reserved(), Seeds: d.seeds, Tables: experiment.StandardTables(),
			})
			if err != nil {
				return command.Misuse(err)
			}
			for _, line := range d.intro {
				fmt.Fprintln(a.Stderr, line)
			}
			if d.look {
				r.After = func(ctx context.Context, folder, report string, read *reports.Report) (string, error) {
					return lookAt(ctx, a, folder, report, read)
				}
			}
			return perform.Run(a, cmd, set, &r)
		},
	}
	r.AddFlags(cmd)
	r.Options.Payload, r.Options.Processes = campaign.PayloadFull, string(backend.ProcessPerNode)
	return cmd
}

func demoOf(name string) *demonstration {
	for i := range demonstrations {
		if demonstrations[i].experiment == name {
			return &demonstrations[i]
		}
	}
	return nil
}

// lookAt writes the figures of a run into its folder and returns the three things to look
// at.
func lookAt(ctx context.Context, a *command.App, folder, report string, read *reports.Report) (string, error) {
	dir := filepath.Join(folder, perform.FiguresFolder)
	index, err := figuresInto(ctx, read, pageFigures(dir))
	if err != nil {
		return "", fmt.Errorf("%w\nthe run is whole; %s writes its figures", err, perform.FiguresCommand(folder))
	}
	figure := figures.IndexFile
	for _, f := range index.Figures {
		if strings.HasPrefix(f.Name, "signature") && !strings.HasPrefix(f.Name, "signature-available") {
			figure = f.SVG
			break
		}
	}
	return fmt.Sprintf(`
Three things to look at:
1. %s
   the report, in a browser; needs no network
2. %s
   the signature: which links are busy when in the step; for slides, there is a PNG beside it
3. csiglab serve %s
   serves the run to Grafana, which then has the dashboards at %s
   (docs/how-to/demo.md: what to say at each picture, and how the dashboards get there)
`, report, filepath.Join(dir, figure), folder, dashboardOfSteps), nil
}
